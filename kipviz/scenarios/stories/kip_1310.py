"""KIP-1310: the use cases of its page, each as today's producer does it and with a TransactionSession.

The two stories of a pair have the same cluster and the same beats, so that they can be held side by
side: `kipviz compare kip-1310-share-producer --to kip-1310-share-session`.
"""

from __future__ import annotations

from kipviz.cluster.spec import ClusterSpec, Placement
from kipviz.scenarios import programs, session_programs
from kipviz.scenarios.material import (
    BROUGHT_TO_END,
    SAW_DELIVERED_TWICE,
    SAW_EARLY_RETURN,
    SAW_IN_DOUBT,
    SAW_LSO,
    SAW_OFFSET_STAGED,
    SAW_STAGED,
    TOOK_CLIENT_CRASH,
    TOOK_CRASH,
    TOOK_TIME_OUT,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories import kip_939
from kipviz.scenarios.stories.kip_1310_beats import (
    ALONE,
    BEGIN,
    BOUND,
    DRAFT,
    GROUP_POLL,
    INIT,
    MARKERS,
    PREPARED,
    RETURNS,
    SEND,
    SHARE_MARKERS,
    SHARE_POLL,
    TODAY,
    Side,
    told,
    with_session,
)
from kipviz.scenarios.stories.setting import (
    GROUP_PLACEMENTS,
    PLAYGROUND,
    TOPIC_IDS,
    group_app,
    group_spec,
    share_app,
    share_spec,
)

# -- the producer alone --------------------------------------------------------------------------

ALONE_BEATS = (INIT, GROUP_POLL, BEGIN, SEND, PREPARED, RETURNS, MARKERS)
ALONE_QUESTION = Question(
    4,
    "The producer has sent its records on its own connection, and EndTxn follows. Over how many "
    "connections does Broker 1 hear of this transaction from app-1?",
    (
        Choice("one", True, "Right: in both designs it is one, from whoever has the identity."),
        Choice("two", False, "Only one client of app-1 talks to the coordinator."),
    ),
)
ALONE_TODAY = Scenario(
    "kip-1310-produce-producer",
    "A KafkaProducer, today: identity and records in one object",
    "Produce and commit: the producer owns its transactional id, its state machine and its batches.",
    "KIP-1310 1.2, KafkaProducer (Owner); KIP-98",
    group_spec(group_app(program=programs.COPY)),
    told(TODAY, *ALONE_BEATS),
    ("app-1", "B1", "B3", "B5"),
    ("kafka",),
    ALONE_QUESTION,
    watch=(
        Watch(0, "One object has it all: the card of objects shows one producer with its sender."),
        Watch(
            5, "The answer to EndTxn gives the next epoch and resets the sequences, in one step."
        ),
    ),
    checkpoints=(SAW_LSO, SAW_EARLY_RETURN),
)
ALONE_SESSION = ALONE_TODAY.but(
    name="kip-1310-produce-session",
    title="A KafkaProducer bound to a session: two objects for one identity",
    sentence="Produce and commit: the session has the identity and ends the transaction, the "
    "producer has the sequences and the batches.",
    clause="KIP-1310 2.3",
    spec=group_spec(with_session(group_app(), session_programs.COPY)),
    beats=told(DRAFT, *ALONE_BEATS),
    designs=("repaired", "kip-1310"),
    watch=(
        Watch(0, "Two objects now, each with a connection of its own: count them in the card."),
        Watch(
            5,
            "The next epoch comes to the session. How does the producer hear of it, and who sets "
            "its sequences back to 0?",
        ),
    ),
)

# -- Kafka Streams -------------------------------------------------------------------------------

OFFSETS = Beat(
    "{who}.sendOffsetsToTransaction()",
    "TxnOffsetCommit goes to Broker 4, the group coordinator, on the connection of the {who}: the "
    "offset is pending until the marker.",
    ("app-1 goes on", "quiet", "app-1 goes on"),
)
STREAMS_BEATS = (INIT, GROUP_POLL, BEGIN, SEND, OFFSETS, PREPARED, RETURNS, MARKERS)
STREAMS_QUESTION = Question(
    4,
    "The page gives a session a dedicated connection to its coordinator. To whom does it have to "
    "talk for sendOffsetsToTransaction()?",
    (
        Choice(
            "the transaction coordinator", False, "That one does not store the group's offsets."
        ),
        Choice("the group coordinator", True, "Right: on Broker 4, a second connection."),
        Choice("the leader of the output", False, "That one has the records already."),
    ),
)
STREAMS_TODAY = Scenario(
    "kip-1310-streams-producer",
    "Kafka Streams, today: the producer carries the consumer's offsets",
    "Consume, transform, produce, with a regular group: one producer per thread, offsets in the "
    "same transaction.",
    "KIP-1310 1.2, Kafka Streams (EOS Processor); KIP-447",
    group_spec(group_app()),
    told(TODAY, *STREAMS_BEATS),
    ("app-1", "B1", "B3", "B4"),
    ("kafka",),
    STREAMS_QUESTION,
    watch=(
        Watch(4, "The producer talks to a third broker: watch it open a connection to Broker 4."),
        Watch(7, "The marker makes the pending offset the group's: COMMIT in __consumer_offsets."),
    ),
    checkpoints=(SAW_OFFSET_STAGED, SAW_EARLY_RETURN),
)
STREAMS_SESSION = STREAMS_TODAY.but(
    name="kip-1310-streams-session",
    title="Kafka Streams on a session: the session carries the offsets",
    sentence="The same loop, its lifecycle no longer bound to the batches of a producer.",
    clause="KIP-1310 2.1 sendOffsetsToTransaction",
    spec=group_spec(with_session(group_app(), session_programs.GROUP)),
    beats=told(DRAFT, *STREAMS_BEATS),
    designs=("repaired", "kip-1310"),
    watch=(
        Watch(
            4,
            "The offsets leave on the session's connection, the records on the producer's: nothing "
            "orders the two but the session itself.",
        ),
        Watch(7, "The marker makes the pending offset the group's: COMMIT in __consumer_offsets."),
    ),
    checkpoints=(SAW_OFFSET_STAGED, TOOK_TIME_OUT),
)

# -- 4.1 Flink -----------------------------------------------------------------------------------

WRITER = group_app(name="app-1", program=session_programs.WRITER)
COMMITTER = WRITER.but(
    name="app-2", program=session_programs.REFLECTION, group_id="none", member_id="C2"
)
FLINK_BEATS = (
    Beat(
        "app-1 writes, flushes, and is in the checkpoint",
        "A KafkaSink writes in transaction my-txn. The checkpoint keeps its transactional id, "
        "producer id and epoch, and then the writer's process dies.",
        (
            *("app-1 goes on", "quiet", "app-1 goes on"),
            *("app-1 goes on", "quiet", "app-1 goes on"),
            *("app-1 goes on", "app-1 goes on", "quiet"),
            "app-1 crashes",
        ),
    ),
    Beat(
        "app-2, the committer, takes the transaction up",
        "From the three values of the checkpoint, without a word to any broker.",
        ("app-2 goes on",),
    ),
    Beat(
        "{who}.commitTransaction(): PREPARE_COMMIT",
        "EndTxn carries the writer's identity: for Broker 1 it comes from the writer.",
        ("app-2 goes on", "until EndTxn arrives at B1"),
    ),
    Beat(
        "commitTransaction() returns",
        "What the dead writer wrote will be visible. A producer whose fields were set by reflection "
        "ends the transaction as version 1 does, and then asks for a new epoch before it returns.",
        ("EndTxnResponse arrives at app-2/{who}", "quiet", "app-2 goes on", "quiet"),
    ),
    Beat(
        "The committer is done", "Nothing is left for it to do.", ("maybe app-2 goes on", "quiet")
    ),
)
FLINK_QUESTION = Question(
    2,
    "The committer has asked nobody for an identity. What does Broker 1 answer to its EndTxn?",
    (
        Choice("PRODUCER_FENCED", False, "Nobody has raised the epoch of my-txn."),
        Choice("it commits", True, "Right: producer id and epoch fit, more is not looked at."),
        Choice("INVALID_TXN_STATE", False, "The transaction is ONGOING."),
    ),
)
FLINK_TODAY = Scenario(
    "kip-1310-flink-producer",
    "KIP-1310 4.1 before: Flink forces an identity into a producer",
    "A committer finishes the transaction of a dead writer with a KafkaProducer whose private "
    "fields it sets by reflection.",
    "KIP-1310 4.1, Before; FlinkKafkaInternalProducer",
    ClusterSpec(
        (1, 3, 4, 5),
        GROUP_PLACEMENTS,
        (WRITER, COMMITTER),
        (("src-0", 100, ("a", "b")),),
        TOPIC_IDS,
        PLAYGROUND,
    ),
    told(TODAY, *FLINK_BEATS),
    ("app-1", "app-2", "B1", "B3"),
    ("kafka",),
    FLINK_QUESTION,
    watch=(
        Watch(1, "No arrow: the producer's private state says IN_TRANSACTION, and it is believed."),
        Watch(
            2,
            "A whole producer for one request: sender, accumulator, serializers. Look at the card "
            "of objects.",
        ),
    ),
    checkpoints=(
        TOOK_CLIENT_CRASH,
        BROUGHT_TO_END,
    ),
)
FLINK_SESSION = FLINK_TODAY.but(
    name="kip-1310-flink-session",
    title="KIP-1310 4.1: TransactionSession.resume()",
    sentence="A committer finishes the transaction of a dead writer with a session that it resumes.",
    clause="KIP-1310 4.1, After",
    spec=FLINK_TODAY.spec.but(
        applications=(
            WRITER,
            COMMITTER.but(program=session_programs.COMMITTER, session=ALONE),
        )
    ),
    beats=told(DRAFT, *FLINK_BEATS),
    designs=("repaired", "kip-1310"),
    watch=(
        Watch(1, "No arrow either: resume() is a constructor. Who is fenced by it? Nobody."),
        Watch(2, "One EndTxn, of the version that the cluster has, from a lighter object."),
    ),
)

# -- 4.2, a share consumer and a producer in one transaction ---------------------------------------

VOTE = Beat(
    "{vote}",
    "TxnShareAcknowledge goes to Broker 5, the leader of the share-partition, from the {voter}. The "
    "vote is kept, and the two records are TX_PENDING.",
    ("app-1 goes on", "until TxnShareAcknowledge arrives at B5", "quiet"),
)
SHARE_BEATS = (INIT, SHARE_POLL, BEGIN, SEND, VOTE, PREPARED, RETURNS, SHARE_MARKERS)
SHARE_QUESTION = Question(
    4,
    "Two objects take part in this transaction, a producer and a share consumer. How many "
    "identities does the coordinator know?",
    (
        Choice("one", True, "Right: one producer id and one epoch, whoever uses them."),
        Choice("two", False, "A transactional id has one producer id and one epoch."),
    ),
)
SHARE_TODAY = Scenario(
    "kip-1310-share-producer",
    "KIP-1310 4.2, producer-coupled: the producer votes for the share consumer",
    "One transaction for a producer and a share consumer, as KIP-1289 has it: the producer sends "
    "the consumer's acknowledgements.",
    "KIP-1310 4.2 against KIP-1289 Pseudo code",
    share_spec(share_app()),
    told(TODAY, *SHARE_BEATS),
    ("app-1", "B1", "B3", "B5"),
    ("repaired",),
    SHARE_QUESTION,
    watch=(
        Watch(
            4,
            "The acknowledgement leaves on the producer's connection: watch a second arrow from "
            "app-1/producer go to Broker 5.",
        ),
        Watch(5, "EndTxn waits until nothing of the producer is unsent: one object knows it all."),
    ),
    checkpoints=(SAW_LSO, SAW_STAGED, SAW_EARLY_RETURN),
)
SHARE_SESSION = SHARE_TODAY.but(
    name="kip-1310-share-session",
    title="KIP-1310 4.2: a producer and a share consumer in one session",
    sentence="A TransactionSession has the identity; a producer and a share consumer are bound to "
    "it, and each sends its own part of the transaction.",
    clause="KIP-1310 4.2",
    spec=share_spec(with_session(share_app(), session_programs.SHARE_CONSUMER)),
    beats=told(DRAFT, *SHARE_BEATS),
    designs=("repaired", "kip-1310"),
    watch=(
        Watch(
            0,
            "A third object, with a connection of its own to Broker 1: watch who owns what in the "
            "card of objects and connections.",
        ),
        Watch(
            5,
            "EndTxn is on another connection than the records and the votes. What makes it come "
            "last? Under the page as written: nothing.",
        ),
    ),
    checkpoints=(SAW_STAGED, SAW_EARLY_RETURN, TOOK_CRASH),
)

# -- 4.4 Kafka Connect source --------------------------------------------------------------------

SOURCE_BEATS = (
    INIT,
    Beat(
        "sourceTask.poll()",
        "The external system is drawn as topic src: two records come out of it.",
        ("app-1 goes on", "quiet", "app-1 goes on"),
    ),
    BEGIN,
    SEND,
    Beat(
        "producer.send(offsetsTopic, sourceOffset)",
        "How far the task has read goes into connect-offsets-0, in the same transaction.",
        ("app-1 goes on", "quiet"),
    ),
    PREPARED,
    RETURNS,
    MARKERS,
)
SOURCE_QUESTION = Question(
    7,
    "How many COMMIT markers does this transaction need?",
    (
        Choice("one", False, "There are two partitions with records of the transaction."),
        Choice("two", True, "Right: output-A-0 and connect-offsets-0."),
    ),
)
SOURCE_TODAY = Scenario(
    "kip-1310-source-producer",
    "KIP-1310 4.4 today: a Connect source task and its producer",
    "A source task writes what it read and how far it read in one transaction of its producer.",
    "KIP-1310 4.4; KIP-618",
    group_spec(group_app(program=session_programs.SOURCE_PRODUCER)).but(
        placements=(*GROUP_PLACEMENTS, Placement("connect-offsets-0", 4, (1,)))
    ),
    told(TODAY, *SOURCE_BEATS),
    ("app-1", "B1", "B3", "B4"),
    ("kafka",),
    SOURCE_QUESTION,
    watch=(
        Watch(4, "Nothing is resumed here: the source offsets are inside the transaction."),
        Watch(7, "Both partitions get the same marker, or neither."),
    ),
    checkpoints=(SAW_LSO, TOOK_TIME_OUT),
)
SOURCE_SESSION = SOURCE_TODAY.but(
    name="kip-1310-source-session",
    title="KIP-1310 4.4: a Connect source task with a session",
    sentence="The task begins and commits on the session; its producer only sends.",
    clause="KIP-1310 4.4",
    spec=SOURCE_TODAY.spec.but(
        applications=(with_session(group_app(), session_programs.SOURCE_SESSION),)
    ),
    beats=told(DRAFT, *SOURCE_BEATS),
    designs=("repaired", "kip-1310"),
    watch=(
        Watch(4, "The same requests as before, and one connection more."),
        Watch(7, "Both partitions get the same marker, or neither."),
    ),
)

# -- 4.6 Kafka Connect sink with a share group -----------------------------------------------------

SINK = {
    TODAY: share_app(program=programs.SHARE_ABORT),
    DRAFT: with_session(share_app(), session_programs.SHARE_SINK_FAILS),
}
ACKS = {
    TODAY: VOTE,
    DRAFT: VOTE.but(
        title="session.addShareAcksToTransaction()",
        say="The session itself sends TxnShareAcknowledge to Broker 5, a connection more. The "
        "method has no member id; the request needs one.",
    ),
}


def _sink_beats(side: Side) -> tuple[Beat, ...]:
    vote = ACKS[side]
    return told(
        side,
        INIT,
        SHARE_POLL,
        BEGIN,
        SEND,
        vote,
        Beat(
            "{who}.abortTransaction()",
            "put() threw. Broker 1 logs PREPARE_ABORT; the answer comes before the markers.",
            ("app-1 goes on", "quiet but WriteTxnMarkers arrives at B*", "app-1 goes on"),
        ),
        Beat(
            "The ABORT markers",
            "The output is skipped by readers of committed data, the two records are free again.",
            ("quiet", "maybe B5 refreshes src-0", "quiet"),
        ),
        SHARE_POLL.but(
            title="shareConsumer.poll() again",
            say="The same two records, delivered for the second time.",
        ),
        BEGIN.but(title="{who}.beginTransaction() again"),
        SEND.but(title="producer.send(outputRecord) again"),
        vote.but(title=f"{vote.title} again"),
        PREPARED,
        RETURNS,
        SHARE_MARKERS,
    )


SINK_QUESTION = Question(
    7,
    "The first transaction was aborted after the records were staged. Which epoch does the second "
    "one run in?",
    (
        Choice("the same: an abort changes nothing", False, "Every end of a transaction bumps it."),
        Choice("the next one", True, "Right: the answer to EndTxn brought it."),
    ),
)
SINK_TODAY = Scenario(
    "kip-1310-sink-producer",
    "KIP-1310 4.6, producer-coupled: a Connect sink that reads from a share group",
    "A sink task puts records out and acknowledges them in one transaction of its producer; the "
    "first attempt fails and is aborted.",
    "KIP-1310 4.6; KIP-1302 (draft), KIP-1289",
    share_spec(SINK[TODAY]),
    _sink_beats(TODAY),
    ("app-1", "B1", "B3", "B5"),
    ("repaired",),
    SINK_QUESTION,
    watch=(
        Watch(
            5, "abortTransaction() has to undo two things at once: what was put out, and the vote."
        ),
        Watch(7, "The delivery count is 2 now: an abort costs an attempt."),
    ),
    checkpoints=(
        SAW_STAGED,
        SAW_DELIVERED_TWICE,
    ),
)
SINK_SESSION = SINK_TODAY.but(
    name="kip-1310-sink-session",
    title="KIP-1310 4.6: a Connect sink that reads from a share group, with a session",
    sentence="The iteration of KIP-1302 in the page's words: the session begins, stages, commits, "
    "and aborts when something throws.",
    clause="KIP-1310 4.6",
    spec=share_spec(SINK[DRAFT]),
    beats=_sink_beats(DRAFT),
    watch=(
        Watch(4, "The session opens a connection to Broker 5, which leads the share-partition."),
        Watch(
            8,
            "A second transaction of the same session: the producer needs the next epoch and "
            "sequences from 0.",
        ),
    ),
)

# -- 4.5 a custom two-phase coordinator ----------------------------------------------------------

CALL = ("app-1 goes on", "quiet", "app-1 goes on")
PHASES = (
    Beat(
        "{init}",
        "The {who} asks for an identity without a time limit: somebody else will decide.",
        CALL,
    ),
    Beat("source.poll(), {who}.beginTransaction()", "One record.", (*CALL, "app-1 goes on")),
    Beat(
        "producer.send(records)",
        "Broker 3 appends the output: the transaction is ONGOING.",
        ("app-1 goes on", "quiet"),
    ),
    Beat(
        "database.prepareTransaction(dbTxnId)",
        "The database promises both outcomes.",
        ("app-1 goes on",),
    ),
    Beat(
        "{who}.prepareTransaction()",
        "No request: everything is sent, and nothing more is accepted. No broker knows of it.",
        CALL[:1] + CALL[2:],
    ),
    Beat(
        "Kafka commits first",
        "The page's order: the outcome in Kafka is final before the database has one. A session "
        "is resumed for it, without a word to any broker.",
        (
            "app-1 goes on",
            "maybe app-1 goes on",
            "until EndTxn arrives at B1",
            "quiet",
            "app-1 goes on",
        ),
    ),
    Beat(
        "database.commitTransaction(dbTxnId)",
        "Both stores have the record. A crash before this line would leave the database in doubt, "
        "and nobody has written down what was decided.",
        ("app-1 goes on",),
    ),
)
PHASES_QUESTION = Question(
    5,
    "Both sides are prepared. Where does it stand, for a process that comes after a crash, that the "
    "outcome is 'commit'?",
    (
        Choice("in the database", False, "It is in doubt: it has promised both."),
        Choice(
            "nowhere yet", True, "Right: in this order Kafka's commit is the only record of it."
        ),
        Choice("in the coordinator's log", False, "For Broker 1 the transaction is ONGOING."),
    ),
)
PHASES_TODAY = Scenario(
    "kip-1310-two-phase-producer",
    "KIP-1310 4.5 with a producer: KIP-939's prepareTransaction()",
    "A coordinator of its own prepares Kafka and a database, and commits Kafka first.",
    "KIP-1310 4.5 with the API of KIP-939",
    kip_939.running(session_programs.TWO_PHASE_PRODUCER),
    told(TODAY, *PHASES),
    ("app-1", "B1", "B3"),
    ("kip-939",),
    PHASES_QUESTION,
    watch=(
        Watch(4, "prepareTransaction() sends nothing: PREPARED is a state of the client."),
        Watch(6, "Until here the two stores disagree. Crash app-1 in between, and look."),
    ),
    checkpoints=(
        SAW_LSO,
        SAW_IN_DOUBT,
        TOOK_CLIENT_CRASH,
    ),
)
PHASES_SESSION = PHASES_TODAY.but(
    name="kip-1310-two-phase-session",
    title="KIP-1310 4.5: a custom two-phase coordinator with a session",
    sentence="The page's own order: prepare both, resume a session, commit Kafka, then the database.",
    clause="KIP-1310 4.5",
    spec=kip_939.running(session_programs.TWO_PHASE_SESSION, session=BOUND),
    beats=told(DRAFT, *PHASES),
    designs=("repaired", "kip-1310"),
    watch=(
        Watch(
            4,
            "The session waits for its producer's batches before it is PREPARED, if it knows them.",
        ),
        Watch(
            5,
            "resume() in the same process: a second object with the same identity, IN_TRANSACTION.",
        ),
    ),
)

STORIES: tuple[Scenario, ...] = (
    ALONE_TODAY,
    ALONE_SESSION,
    STREAMS_TODAY,
    STREAMS_SESSION,
    FLINK_TODAY,
    FLINK_SESSION,
    SHARE_TODAY,
    SHARE_SESSION,
    SOURCE_TODAY,
    SOURCE_SESSION,
    SINK_TODAY,
    SINK_SESSION,
    PHASES_TODAY,
    PHASES_SESSION,
)
