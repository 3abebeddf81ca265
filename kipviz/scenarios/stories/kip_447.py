"""KIP-447: who keeps a zombie of a regular group from committing, and who waits for whom."""

from __future__ import annotations

from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    SAW_GONE,
    SAW_LSO,
    SAW_PENDING,
    SAW_ZOMBIE_REFUSED,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import (
    APP_1_READS,
    HEARD_NO_MORE,
    OLD_STANDS_STILL,
    commits,
    member,
    spec_of,
    up_to_send,
)

LANES = ("app-1", "app-2", "B4", "B3")

STAGED = Beat(
    "sendOffsetsToTransaction(): offset 102 is pending",
    "The group's new offset is in the log of Broker 4, as part of the open transaction. The committed "
    "offset is still none.",
    ("app-1 goes on", "quiet", "app-1 goes on"),
)
TAKES_OVER = Beat(
    "app-2 takes over",
    "C2 joins and gets both partitions: C1 is no member any more, so nobody has to give up anything. "
    "It asks where the group left off in src-0.",
    (
        "app-2 goes on",
        "quiet",
        "app-2 goes on",
        "app-2 goes on",
        "quiet",
    ),
)

RACE = Scenario(
    "kip-447-race",
    "The old owner is still committing: the new one has to wait",
    "A member drops out of its group while its offset is pending in an open transaction. Whoever "
    "takes over must not start from the old offset, because the old owner may still commit.",
    "KIP-447, OffsetFetch version 7: RequireStable, UNSTABLE_OFFSET_COMMIT",
    spec_of(member("app-1"), member("app-2")),
    (
        APP_1_READS,
        STAGED,
        HEARD_NO_MORE,
        TAKES_OVER,
        Beat(
            "app-2 backs off and asks again",
            "UNSTABLE_OFFSET_COMMIT once more. It can go on like this until the transaction of app-1 "
            "ends, at the latest by its time-out.",
            ("maybe the retry back-off of app-2/consumer is over", "quiet"),
        ),
        Beat(
            "app-1 wakes up and commits",
            "EndTxn asks for the transactional id and its epoch, not for the group: the zombie "
            "commits what it had staged while it was a member, and that is right.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-2 asks again: 102",
            "The pending offset became the committed one with the marker. app-2 goes on behind b, "
            "and reads c and d of src-1: nothing is processed twice.",
            ("maybe the retry back-off of app-2/consumer is over", "quiet", "app-2 goes on"),
        ),
        Beat(
            "app-2 writes and commits what it has read",
            "c and d, because it waited. Played under 'before-447' it has read a and b by now, and "
            "commits their outputs for the second time.",
            (
                "app-2 goes on",
                "app-2 goes on",
                "quiet",
                *commits("app-2"),
            ),
        ),
    ),
    LANES,
    ("kafka", "before-447", "kip-447-group-id"),
    Question(
        3,
        "C2 asks for the group's offset in src-0. What does Broker 4 answer?",
        (
            Choice(
                "none: nothing is committed yet",
                False,
                "So it was before KIP-447. app-2 would process a and b, app-1 might still commit "
                "them, and they would be out twice.",
            ),
            Choice("102", False, "Nobody knows yet whether 102 will count."),
            Choice(
                "UNSTABLE_OFFSET_COMMIT",
                True,
                "Right: 102 is pending, and either answer could turn out to be wrong.",
            ),
        ),
    ),
    watch=(
        Watch(
            3,
            "Broker 4 would know an answer: nothing is committed. It gives none, because RequireStable "
            "asks for what cannot change any more. A Java consumer always asks so.",
        ),
        Watch(
            5,
            "C1 is no member any more, and its commit goes through. The group is asked in "
            "sendOffsetsToTransaction() only; that is why the wait of app-2 is needed.",
        ),
    ),
    checkpoints=(
        SAW_GONE,
        Checkpoint("saw a consumer wait for a pending offset", "told unstable"),
        Checkpoint("took a branch in which the transaction of app-1 times out", "timed out"),
    ),
)

OVERTAKEN = Beat(
    "app-2 takes over, and commits a and b",
    "Nothing is pending, so C2 reads src-0 from the beginning, processes a and b, and commits.",
    (
        *up_to_send("app-2"),
        *commits("app-2"),
    ),
)
ZOMBIE = Scenario(
    "kip-447-zombie",
    "A zombie wakes up: the group coordinator keeps it out",
    "A member drops out of its group with a transaction open. Another one takes over, and processes "
    "the same records. Then the first one goes on where it stood.",
    "KIP-447, Fence zombie: TxnOffsetCommit version 3; KIP-848 member epochs",
    spec_of(member("app-1"), member("app-2")),
    (
        APP_1_READS,
        HEARD_NO_MORE,
        OVERTAKEN,
        Beat(
            "app-1 wakes up: sendOffsetsToTransaction()",
            "It still believes that it is C1 at epoch 2. Broker 4 finds no such member and answers "
            "UNKNOWN_MEMBER_ID: CommitFailedException.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-1 has to abort",
            "Its outputs of a and b are in output-A-0, and will never be shown to anybody who reads "
            "committed records.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
    ),
    LANES,
    ("kafka", "before-447"),
    Question(
        3,
        "app-1 is a zombie, and does not know. What stops it from committing a and b once more?",
        (
            Choice(
                "the transaction coordinator: its producer is fenced",
                False,
                "The two producers have different transactional ids: neither fences the other.",
            ),
            Choice(
                "the group coordinator, when it sends its offsets",
                True,
                "Right: TxnOffsetCommit says for which member, and at which epoch.",
            ),
            Choice("nothing", False, "That is so if the producer is given the group's id only."),
        ),
    ),
    watch=(
        Watch(
            2,
            "The outputs of app-1 are in output-A-0 already, and hold the last stable offset back: "
            "what app-2 committed is not visible either, until app-1 ends.",
        ),
        Watch(
            3,
            "Look at the guards of TxnOffsetCommit: the member epoch of the request against that of "
            "the group. No other message of app-1 is checked against the group.",
        ),
    ),
    checkpoints=(
        SAW_GONE,
        SAW_ZOMBIE_REFUSED,
        SAW_LSO,
    ),
)

BARE = member("app-1", program=programs.GROUP_LOOP_BARE)
NO_METADATA = Scenario(
    "kip-447-group-id-only",
    "A zombie that nobody can see: the producer knows the group's id and no more",
    "The same as before, but the application passes the group's id instead of "
    "consumer.groupMetadata(). The zombie's commit goes through.",
    "KIP-447, ConsumerGroupMetadata; TxnOffsetCommit without a member",
    spec_of(BARE, BARE.but(name="app-2", transactional_id="my-txn-2", member_id="C2")),
    (
        APP_1_READS,
        HEARD_NO_MORE,
        OVERTAKEN,
        Beat(
            "app-1 wakes up: sendOffsetsToTransaction()",
            "The request has no member id and epoch -1. Broker 4 knows of nothing to check it "
            "against, and takes it.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-1 commits, too",
            "The outputs of a and b are committed for the second time. Played under "
            "'kip-447-init-consumer' the producer holds the consumer and cannot be told less: app-1 "
            "has to abort.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
    ),
    LANES,
    ("kafka", "kip-447-init-consumer"),
    Question(
        4,
        "app-1's offsets were taken. How often will a reader of output-A-0 see the output of a?",
        (
            Choice("once", False, "Both transactions commit, and each has an output of a."),
            Choice("twice", True, "Right: exactly once is lost without an error anywhere."),
            Choice("never", False, "Nothing was aborted."),
        ),
    ),
    watch=(
        Watch(
            3,
            "The answer is no error. The constructors of ConsumerGroupMetadata that make this easy "
            "are deprecated since Kafka 4.2.",
        ),
        Watch(4, "The verdict 'atomic' breaks at the decision, not when somebody reads."),
    ),
    checkpoints=(
        SAW_GONE,
        Checkpoint("saw an offset of a zombie pending", "offset pending"),
        SAW_LSO,
    ),
)

TASK_IDS = Scenario(
    "kip-447-task-ids",
    "How it was before: the new owner fences the old one by its name",
    "A transactional id for every task, that is, for every partition. Whoever takes over the partition "
    "takes over the name, and initTransactions() ends what the one before has left open.",
    "KIP-447 Motivation; KIP-98 initTransactions; Kafka Streams exactly_once until 2.6",
    spec_of(member("app-1"), member("app-2", transactional_id="my-txn")),
    (
        APP_1_READS,
        STAGED,
        HEARD_NO_MORE,
        Beat(
            "app-2 initialises under the same name",
            "Broker 1 finds the transaction of app-1 open, aborts it, and asks app-2 to come again; then "
            "it gives out the next epoch. Only now the consumer of app-2 asks for an offset.",
            ("app-2 goes on", "quiet", "app-2 goes on"),
        ),
        Beat(
            "app-2 reads a and b",
            "Nothing is pending any more: the ABORT marker came before the consumer asked. The group "
            "coordinator did not have to know of members.",
            ("app-2 goes on", "quiet", "app-2 goes on"),
        ),
        Beat(
            "app-1 wakes up and commits: fenced",
            "Its epoch is that of a producer who is out of office. The zombie is kept out by name, and "
            "dies of it.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "app-2", "B1", "B4"),
    ("before-447", "kafka"),
    Question(
        3,
        "app-1 has a transaction open. What does initTransactions() of app-2 do, under the same name?",
        (
            Choice("it fails", False, "Who comes later wins."),
            Choice(
                "it aborts that transaction and takes the name over",
                True,
                "Right, and it returns only when the markers are written.",
            ),
            Choice(
                "it waits until app-1 commits", False, "app-1 may never wake up: nobody would know."
            ),
        ),
    ),
    watch=(
        Watch(
            3,
            "The order matters: first initTransactions(), then the first poll(). One name for every "
            "partition is what makes it work, and what does not scale.",
        ),
        Watch(
            5,
            "app-1 learns that it is a zombie from the transaction coordinator, not from the group.",
        ),
    ),
    checkpoints=(
        SAW_GONE,
        SAW_PENDING,
        SAW_LSO,
    ),
)

OLD = member("v1", transactional_id="my-txn", member_id="C1", program=programs.GROUP_LOOP_BARE)
BETWEEN = member("v2", transactional_id="my-txn", member_id="C2")
NEW = member("v3", transactional_id="my-txn-2", member_id="C3")
TWO_BOUNCES = Scenario(
    "kip-447-two-bounces",
    "Two rolling bounces, so that nothing is processed twice",
    "From one producer per task to one per thread: the old version is fenced by its name alone, the new "
    "one by the group alone. In between stands a version that both can fence.",
    "KIP-447 Compatibility, Deprecation, and Migration Plan: two rolling bounces",
    spec_of(OLD, BETWEEN, NEW),
    (
        *OLD_STANDS_STILL,
        Beat(
            "First bounce: v2 takes over, under the same name",
            "It still has a producer per task, so initTransactions() aborts what v1 has open. But it "
            "says to the group who it is.",
            up_to_send("v2"),
        ),
        Beat(
            "v1 wakes up: fenced by its name",
            "Its offsets name no member, so the group would have taken them; but Broker 4 has them "
            "enlisted first, and that asks for the producer's epoch.",
            ("v1 goes on", "quiet", "v1 goes on"),
        ),
        Beat(
            "v2 stands still",
            "The second roll begins, and its session runs out.",
            ("the session of C2 in * runs out at B4",),
        ),
        Beat(
            "Second bounce: v3 takes over, under a name of its own",
            "One producer for the whole thread: nobody is fenced by it. It reads a and b, and commits.",
            (*up_to_send("v3"), *commits("v3")),
        ),
        Beat(
            "v2 wakes up: fenced by the group",
            "C2 is no member any more. It has to abort, and no output is there twice.",
            ("v2 goes on", "quiet", "v2 goes on", "v2 goes on", "quiet", "v2 goes on"),
        ),
    ),
    ("v1", "v2", "v3", "B4"),
    ("kafka",),
    Question(
        5,
        "Why is v3 not started while v1 may still be there?",
        (
            Choice(
                "the two do not understand each other's offsets",
                False,
                "What they commit looks the same in __consumer_offsets.",
            ),
            Choice(
                "nobody could fence v1",
                True,
                "Right: v3 has another name, and v1 tells the group no member. That is the story "
                "'kip-447-group-id-only'.",
            ),
            Choice("v3 needs newer brokers", False, "They were upgraded before the first bounce."),
        ),
    ),
    watch=(
        Watch(2, "InitProducerId under the name of v1: the epoch goes up, and v1 does not know."),
        Watch(3, "v1 is refused by its epoch. No generation and no member had a part in it."),
        Watch(6, "v2 is refused by its member. Its name is nobody else's."),
    ),
    checkpoints=(
        SAW_GONE,
        SAW_ZOMBIE_REFUSED,
        SAW_LSO,
    ),
)

BESIDE = member("app-1", program=programs.COPY_AND_COMMIT)
OFFSETS_BESIDE = Scenario(
    "kip-447-offsets-beside",
    "Outputs in a transaction, offsets beside it: at least once",
    "An application commits its outputs in a transaction, and calls commitSync() afterwards. It dies "
    "between the two.",
    "KIP-98 sendOffsetsToTransaction; OffsetCommit",
    spec_of(BESIDE, member("app-2", program=programs.COPY_AND_COMMIT)),
    (
        APP_1_READS,
        Beat(
            "app-1 commits its transaction",
            "The outputs of a and b are visible. __consumer_offsets is no participant: the group's "
            "offset is as it was.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-1 dies before commitSync()",
            "Nobody knows that a and b are done. Its session runs out.",
            ("app-1 crashes", "the session of C1 in * runs out at B4"),
        ),
        Beat(
            "app-2 takes over and begins at a",
            "There is no committed offset, and none is pending: nothing to wait for.",
            up_to_send("app-2"),
        ),
        Beat(
            "app-2 commits its transaction",
            "The outputs of a and b are committed for the second time.",
            ("app-2 goes on", "quiet", "app-2 goes on"),
        ),
        Beat(
            "app-2 calls commitSync()",
            "OffsetCommit in the name of C2: a record without a transaction, valid at once.",
            ("app-2 goes on", "quiet", "app-2 goes on"),
        ),
    ),
    LANES,
    ("kafka",),
    Question(
        3,
        "app-1 has committed its transaction and died. Where does app-2 begin?",
        (
            Choice("behind b", False, "The transaction did not contain the offset."),
            Choice("at a", True, "Right: the group has never said that it read anything."),
            Choice("it has to wait", False, "Only for pending offsets, and there is none."),
        ),
    ),
    watch=(
        Watch(1, "The participants of the transaction: output-A-0 and nothing else."),
        Watch(5, "TxnOffsetCommit and OffsetCommit write the same record; only the batch differs."),
    ),
    checkpoints=(
        SAW_GONE,
        SAW_LSO,
    ),
)

STORIES: tuple[Scenario, ...] = (
    RACE,
    ZOMBIE,
    NO_METADATA,
    OFFSETS_BESIDE,
    TASK_IDS,
    TWO_BOUNCES,
)
