"""KIP-1319: TxnOffsetCommit names topics by their ids, and where a producer has those ids from."""

from __future__ import annotations

from kipviz.cluster.spec import ClusterSpec, Remade
from kipviz.scenarios.material import SAW_NEW_BEGINNING, SAW_PENDING, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import group_app, group_spec

LANES = ("app-1", "B4", "B5", "B3")
NEW_ID = "AAAAAAAAAAAAAAAAAAAABQ"
OLD = ("src-0", 0, ("a", "b", "c", "d"))
NEW = Remade("src", NEW_ID, ("e", "f", "g", "h", "i"))


def _spec(version: int) -> ClusterSpec:
    """Give the cluster: producers look topics up, and src may be deleted and made again."""
    return group_spec(group_app()).but(
        records=(OLD,), look_up_topics=True, txn_offset_commit=version, remade=(NEW,)
    )


GOES = "app-1 goes on"
POLLS = (GOES, "quiet", GOES)
SENDS = (GOES, GOES, "quiet")
FIRST = Beat(
    "app-1 has read a and b, and sent their outputs",
    "It gets its producer id, polls two records of src-0, begins a transaction and sends.",
    (*POLLS, *POLLS, *SENDS),
)
COMMITS = Beat(
    "The first transaction commits",
    "Offset 2 of src-0 is the group's.",
    (GOES, "quiet", GOES),
)
SECOND = Beat(
    "app-1 has read c and d, and sent their outputs",
    "The second transaction is open.",
    (*POLLS, *SENDS),
)
REMADE = Beat(
    "src is deleted and made again",
    "An operator starts afresh: a topic of the same name with another id, and the records e to i. "
    "Broker 4 deletes what the group has committed for the topic that is gone.",
    ("src is deleted and made again", "quiet"),
)
MADE_AGAIN = Checkpoint("saw a topic get another id", "topic made again")

BY_ID = Scenario(
    "kip-1319-by-id",
    "Where does a producer know the id of a topic from that it never writes to?",
    "The offsets of a transaction name their topic by its id. The producer has to look it up first, "
    "and remembers it for as long as it needs it.",
    "KIP-1319, Producer-Side: topic ID resolution; Persisting topic IDs",
    _spec(6),
    (
        FIRST,
        Beat(
            "sendOffsetsToTransaction(): look the topic up",
            "The producer writes to output-A only. It asks a broker for the id of src, and waits, "
            "within max.block.ms.",
            (GOES, "until MetadataResponse arrives at app-1/producer"),
        ),
        Beat(
            "TxnOffsetCommit version 6",
            "By id, no name. Broker 4 keeps the id with the offset: OffsetCommitValue had a place for "
            "it already.",
            ("quiet", GOES),
        ),
        COMMITS,
        SECOND,
        Beat(
            "The second time it does not ask",
            "The id is in the producer's metadata cache.",
            (GOES, "quiet", GOES),
        ),
        Beat(
            "The second transaction commits",
            "Offset 4 of src-0 is the group's.",
            (GOES, "quiet", GOES),
        ),
        Beat(
            "Five idle minutes",
            "metadata.max.idle.ms: what is not used is forgotten. The next transaction would ask again.",
            ("metadata.max.idle.ms of app-1/producer is over",),
        ),
    ),
    LANES,
    ("kafka",),
    Question(
        1,
        "The producer writes to output-A only. Does it know the id of src, which its consumer reads?",
        (
            Choice("yes, from the consumer", False, "They are two clients with a cache each."),
            Choice(
                "no, it has to ask",
                True,
                "Right: sendOffsetsToTransaction() adds src to its metadata and waits for an answer.",
            ),
            Choice("yes, from the group coordinator", False, "It has not talked to that one yet."),
        ),
    ),
    watch=(
        Watch(1, "One more round trip before the first TxnOffsetCommit: a new way to time out."),
        Watch(2, "Look at the bytes of TxnOffsetCommit: 16 bytes of id where the name used to be."),
        Watch(5, "No Metadata this time: count the messages of the two transactions."),
    ),
    checkpoints=(
        Checkpoint("saw an offset kept with the id of its topic", "topic id kept"),
        Checkpoint("saw the producer forget a topic", "topic forgotten"),
    ),
)


def _remade(version: int, *beats: Beat) -> tuple[Beat, ...]:
    return (
        FIRST,
        Beat(
            "The first transaction commits",
            "Its offsets went by id, and the producer knows the id of src from now on."
            if version > 5
            else "Its offsets went by name: the brokers are older than Kafka 4.4.",
            (GOES, "quiet", GOES, GOES, "quiet", GOES),
        ),
        SECOND,
        REMADE,
        *beats,
    )


BY_NAME = Scenario(
    "kip-1319-remade-v5",
    "By name: the offset of a topic that is gone lands in the one that took its name",
    "A topic is deleted and made again while a transaction is open. Up to version 5 TxnOffsetCommit "
    "says the name, and that is right for the wrong topic.",
    "KIP-1319 Motivation; TxnOffsetCommit versions 0 to 5",
    _spec(5),
    _remade(
        5,
        Beat(
            "sendOffsetsToTransaction(): src-0 at 4",
            "There is a src-0. Broker 4 takes the offset.",
            (GOES, "quiet", GOES),
        ),
        Beat(
            "app-1 commits",
            "The group has read src-0 up to 4, it says. Nobody has read e, f, g and h.",
            (GOES, "quiet", GOES),
        ),
    ),
    LANES,
    ("kafka",),
    Question(
        5,
        "The group's offset of src-0 is 4 now. Which record of the new src-0 comes first?",
        (
            Choice("e, at offset 0", False, "The group goes on from its committed offset."),
            Choice("i, at offset 4", True, "Right: e to h are lost without an error."),
            Choice("c, at offset 2", False, "c was in the topic that is gone."),
        ),
    ),
    watch=(
        Watch(3, "The tombstones in __consumer_offsets: for this topic the group has nothing now."),
        Watch(4, "TxnOffsetCommit says 'src'. Nothing in it says which src."),
    ),
    checkpoints=(MADE_AGAIN, SAW_PENDING),
)

REFUSED = Scenario(
    "kip-1319-remade",
    "By id: the offset of a topic that is gone is refused",
    "The same with version 6. The producer knows the id of the topic that it committed offsets of "
    "before, and that topic is gone.",
    "KIP-1319, Error handling: UNKNOWN_TOPIC_ID is retriable",
    _spec(6),
    _remade(
        6,
        Beat(
            "sendOffsetsToTransaction(): UNKNOWN_TOPIC_ID",
            "Broker 4 knows no topic of that id. The group coordinator is not even asked.",
            (GOES, "quiet"),
        ),
        Beat(
            "The same request again",
            "The error is retriable: after the back-off the request goes out again, with the same id.",
            ("the retry back-off of app-1/producer is over", "quiet"),
        ),
        Beat(
            "max.block.ms",
            "Nobody will ever know that id again. The call throws TimeoutException, and the application "
            "aborts. But the request is not cancelled: it goes before EndTxn, comes back, and is sent again.",
            (
                "max.block.ms of app-1/producer is over",
                GOES,
                GOES,
                "the retry back-off of app-1/producer is over",
                "quiet",
            ),
        ),
        Beat(
            "A new process",
            "abortTransaction() does not come back, and would throw TimeoutException after max.block.ms, as "
            "often as it is called. Only another producer gets out of it: initTransactions() aborts what the "
            "old one has left.",
            ("app-1 crashes", "app-1 starts", GOES, "quiet", GOES),
        ),
        Beat(
            "app-1 begins at e",
            "The new consumer asks where the group left off: nowhere, in this topic.",
            POLLS,
        ),
    ),
    LANES,
    ("kafka",),
    Question(
        4,
        "The producer sends the offset of src-0 with the id that it has. What does Broker 4 answer?",
        (
            Choice(
                "UNKNOWN_TOPIC_OR_PARTITION",
                False,
                "That is for names, and for partitions that a topic does not have.",
            ),
            Choice("UNKNOWN_TOPIC_ID", True, "Right: ids are never given twice."),
            Choice("no error", False, "So it is up to version 5."),
        ),
    ),
    watch=(
        Watch(4, "The answer comes from the broker's front desk: nothing is enlisted for it."),
        Watch(5, "It stays retriable, although no retry can help."),
        Watch(
            6,
            "Open the producer: ABORTING_TRANSACTION, and EndTxn is in its queue, behind TxnOffsetCommit.",
        ),
    ),
    checkpoints=(MADE_AGAIN, SAW_NEW_BEGINNING),
)

TOO_LATE = Scenario(
    "kip-1319-remade-first",
    "By id, and all the same in the wrong topic",
    "The producer looks the id up when it sends offsets of a topic for the first time. If the topic "
    "was made again since the consumer read it, that is the new topic's id.",
    "KIP-1319, Topic ID resolution: the producer's metadata, not the consumer's (our finding)",
    _spec(6),
    (
        FIRST,
        REMADE,
        Beat(
            "sendOffsetsToTransaction(): look the topic up",
            "The producer gets the id of the src that there is now.",
            (GOES, "until MetadataResponse arrives at app-1/producer"),
        ),
        Beat(
            "TxnOffsetCommit version 6: no error",
            "A good id, and an offset that was never an offset of this topic.",
            ("quiet", GOES),
        ),
        Beat(
            "app-1 commits",
            "The group has read the new src-0 up to 2, it says. e and f are lost.",
            (GOES, "quiet", GOES),
        ),
    ),
    LANES,
    ("kafka",),
    Question(
        3,
        "The offsets go out with an id. Is it the id of the topic that the records came from?",
        (
            Choice(
                "yes: the consumer gave it to the producer",
                False,
                "sendOffsetsToTransaction() is given names: TopicPartition has no id.",
            ),
            Choice(
                "no: it is what the name stands for now",
                True,
                "Right. Only an id that the producer knew before protects it.",
            ),
        ),
    ),
    watch=(
        Watch(
            2, "The consumer's fetches carried the old id. It is in its hands, and gets lost here."
        ),
        Watch(4, "The verdict 'atomic' breaks when the marker makes the offset the group's."),
    ),
    checkpoints=(MADE_AGAIN, SAW_PENDING),
)

BELOW_2 = Scenario(
    "kip-1319-remade-tv1",
    "With transaction version 1 the id stays in the producer's hand",
    "Brokers and client are Kafka 4.4.0, but transaction.version was never raised to 2. The producer "
    "looks the id up and may not send it: what KIP-1319 protects from is lost, without an error.",
    "KIP-1319, fallback; TxnOffsetCommitRequest.Builder: version 4 at most below transaction version 2 "
    "(that nothing is protected so is our finding)",
    _spec(6),
    (
        FIRST,
        Beat(
            "The first transaction commits",
            "The producer asks for the id of src and gets it. TxnOffsetCommit goes out in version 4: "
            "version 5 lets the group coordinator enlist the partition, and that is transaction version 2.",
            (GOES, "quiet", GOES, GOES, "quiet", GOES),
        ),
        SECOND,
        REMADE,
        Beat(
            "sendOffsetsToTransaction(): src-0 at 4",
            "The cache has the id of the src that is gone. The request says 'src', and there is one.",
            (GOES, "quiet", GOES),
        ),
        Beat(
            "app-1 commits",
            "The group has read the new src-0 up to 4, it says. Nobody has read e, f, g and h.",
            (GOES, "quiet", GOES),
        ),
    ),
    LANES,
    ("kafka-tv1",),
    Question(
        4,
        "The producer knows the old id, and Broker 4 takes ids. What goes out?",
        (
            Choice(
                "the old id, and it is refused",
                False,
                "So it is with transaction version 2 (kip-1319-remade).",
            ),
            Choice(
                "the name, and it is taken",
                True,
                "Right: the level of transaction.version bounds the version of the request, and the "
                "versions with ids lie above the bound.",
            ),
            Choice("both", False, "A version has names or ids, never both."),
        ),
    ),
    watch=(
        Watch(1, "MetadataResponse brings the id, and the bytes of TxnOffsetCommit have a name."),
        Watch(5, "The way out: kafka-features.sh upgrade --feature transaction.version=2."),
    ),
    checkpoints=(MADE_AGAIN, SAW_PENDING),
)

NAMES_TOO = "kafka+name_beside_id=names_too"

BOTH = Scenario(
    "kip-1319-both",
    "A name beside each id: the alternative that was rejected",
    "What if version 6 had kept the names, for brokers that do not know an id? src is made again while a "
    "transaction is open, and then the two disagree. That the name counts is our inference: the KIP "
    "only says that both would be redundant and ambiguous.",
    "KIP-1319, Rejected Alternatives: Keeping Topic Names Alongside Topic IDs in v6",
    _spec(6),
    _remade(
        6,
        Beat(
            "sendOffsetsToTransaction(): the old id, and the name src",
            "With ids alone Broker 4 answers UNKNOWN_TOPIC_ID. With a name beside it there is something "
            "to go on with.",
            (GOES, "quiet"),
        ),
        Beat(
            "app-1 commits, if it gets that far",
            "With names, too: offset 4 of a topic of which nobody has read e, f, g and h. With ids alone "
            "the call waits, and nothing is lost.",
            (f"maybe {GOES}", "quiet", f"maybe {GOES}", "quiet", f"maybe {GOES}"),
        ),
    ),
    LANES,
    (NAMES_TOO, "kafka"),
    Question(
        4,
        "The id says the topic that is gone, the name says the one that is there. What becomes of e to h?",
        (
            Choice(
                "the id keeps them safe",
                False,
                "Only if it is all that counts: then the request is refused.",
            ),
            Choice(
                "they are lost, as by name alone",
                True,
                "Right: an id protects only where nothing else can be believed.",
            ),
            Choice("they are read twice", False, "The group goes on behind them."),
        ),
    ),
    watch=(
        Watch(4, "The answer: NONE under the alternative, UNKNOWN_TOPIC_ID as shipped."),
        Watch(5, "The verdict 'atomic' breaks when the marker makes the offset the group's."),
        Watch(5, "The bytes on screen are those of the shipped version 6, which has no names."),
    ),
    checkpoints=(MADE_AGAIN, SAW_PENDING),
)

TWO_VERSIONS = Scenario(
    "kip-1319-two-versions",
    "Two versions instead of one: the release in between",
    "What if version 6 had brought the errors of their own, and version 7 the ids? A release whose brokers "
    "know version 6 and not yet 7 says the right errors, about the wrong topic. That there would be such a "
    "release is our inference: the KIP says that one version is enough.",
    "KIP-1319, Rejected Alternatives: two versions instead of one",
    _spec(6),
    _remade(
        6,
        Beat(
            "sendOffsetsToTransaction(): version 6",
            "As shipped it has the id of the topic that is gone, and Broker 4 knows no such topic. Of the two "
            "versions it is the first: by name, and there is a src-0.",
            (GOES, "quiet"),
        ),
        Beat(
            "app-1 commits, if it gets that far",
            "Without ids: offset 4 of a topic of which nobody has read e, f, g and h. A consumer with a wrong "
            "epoch would have been told STALE_MEMBER_EPOCH; here nobody's epoch is wrong.",
            (f"maybe {GOES}", "quiet", f"maybe {GOES}", "quiet", f"maybe {GOES}"),
        ),
    ),
    LANES,
    ("kip-1319-two-versions", "kafka"),
    Question(
        4,
        "Version 6 with errors of its own and without ids: what does Broker 4 answer for the old src?",
        (
            Choice("UNKNOWN_TOPIC_ID", False, "Nothing in the request is an id."),
            Choice(
                "NONE", True, "Right: the name is that of a topic, and the member is in the group."
            ),
            Choice(
                "STALE_MEMBER_EPOCH",
                False,
                "The epoch is the member's; it is the topic that is another one.",
            ),
        ),
    ),
    watch=(
        Watch(1, "Under the alternative no Metadata goes out: no id is asked for."),
        Watch(4, "The answer: NONE under the alternative, UNKNOWN_TOPIC_ID as shipped."),
        Watch(5, "The bytes on screen are those of the shipped version 6, which has no names."),
    ),
    checkpoints=(MADE_AGAIN, SAW_PENDING),
)

STORIES: tuple[Scenario, ...] = (BY_ID, BY_NAME, REFUSED, TOO_LATE, BELOW_2, BOTH, TWO_VERSIONS)
