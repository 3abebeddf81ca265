"""KIP-1289: what an operator, the group's members and the upkeep of a log do to a pending vote.

The text says nothing of any of it. Each story is the smallest cluster in which it shows.
"""

from __future__ import annotations

from kipviz.brokers.settings import BrokerSettings, GroupConfig
from kipviz.clients.application import Call, Line
from kipviz.cluster.spec import ApplicationSpec, ClusterSpec, Placement
from kipviz.records.placement import CONSUMER_OFFSETS
from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    BROUGHT_TO_END,
    SAW_HALF,
    SAW_LOADED_AGAIN,
    SAW_PRUNED,
    SAW_STAGED,
    TOOK_CRASH,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.beats import BEGIN
from kipviz.scenarios.stories.kip_664 import operator
from kipviz.scenarios.stories.kip_932_operator import RESET, catching, reset
from kipviz.scenarios.stories.kip_1289 import SMALL
from kipviz.scenarios.stories.kip_1289_findings import SMALL_ABORT, SMALL_REJECT, TOGETHER
from kipviz.scenarios.stories.setting import (
    PLAYGROUND,
    SHARE_GROUP,
    SHARE_PLACEMENTS,
    STATE_BY_KEY,
    TOPIC_IDS,
    home,
    share_app,
)

BEATS = "the heartbeat interval of app-1/member is over"
OF_GROUP = Placement(home(CONSUMER_OFFSETS, SHARE_GROUP), 1, (7,))
OPERATES = ("operator goes on", "quiet", "operator goes on")

_POLL, _BEGIN, _SEND, _STAGED, _COMMIT = programs.SHARE_LOOP[1:6]
# A process that is told to end: it leaves its group, and then commits what it has staged.
SHUT_DOWN: tuple[Line, ...] = (
    programs.INIT,
    _POLL,
    *(line.but(on_error=-1) for line in (_BEGIN, _SEND, _STAGED)),
    Line("shareConsumer.close();", Call.CLOSE_CONSUMER),
    _COMMIT.but(then=7, on_error=-1),
)
READS: tuple[Line, ...] = (_POLL.but(then=0),)
JOINS = Beat(
    "consumer.poll(): app-1 joins, and gets src-0",
    "M1 joins with its first poll(); the state of src-0 is made, src-0 is assigned, and offset 100 is "
    "delivered.",
    ("app-1 goes on", "quiet", BEATS, "quiet", "app-1 goes on"),
)
STAGES = Beat(
    "Output and vote",
    "The output is in output-A-0, the vote in the log of Broker 7; both wait for the transaction.",
    ("app-1 goes on", "app-1 goes on", "quiet", "app-1 goes on", "quiet"),
)


def _joined(
    *applications: ApplicationSpec, placements: tuple[Placement, ...] = SHARE_PLACEMENTS
) -> ClusterSpec:
    return ClusterSpec(
        (1, 3, 5, 7),
        (*placements, OF_GROUP),
        applications,
        (("src-0", 100, ("a",)),),
        TOPIC_IDS,
        PLAYGROUND,
    )


SMALL_RESET = Scenario(
    "kip-1289-small-reset",
    "A reset while a vote is pending",
    "A process leaves its group and then commits. In between the group is empty, and an operator may "
    "reset it, with a vote of it in the log.",
    "KIP-1289, which does not mention it (finding X13); KIP-932, AlterShareGroupOffsets",
    _joined(
        share_app(max_records=1, program=SHUT_DOWN, protocol="share"),
        operator(catching(reset(100), reset(100))),
    ),
    (
        BEGIN[0],
        JOINS,
        STAGES,
        Beat(
            "consumer.close()",
            "M1 leaves. The vote is not the member's to give back: record 100 stays TX_PENDING.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "--reset-offsets --to-offset 100",
            "For Broker 1 the group is empty. Broker 7 has a vote of it, whose transaction is open; "
            "the design says what it answers.",
            OPERATES,
        ),
        Beat(
            "producer.commitTransaction()",
            "The output becomes visible. Watch what becomes of the vote.",
            ("app-1 goes on", "quiet", "maybe B5 refreshes src-0", "quiet", "app-1 goes on"),
        ),
        Beat(
            "--reset-offsets once more",
            "No vote is pending any more, and the reset is what it should be: record 100 was processed, "
            "and is to be processed again.",
            OPERATES,
        ),
    ),
    ("app-1", "operator", "B5", "B7"),
    ("repaired", "finding-X13"),
    Question(
        4,
        "A vote of the group is pending, and the operator resets it. What should Broker 7 say?",
        (
            Choice(
                "not now: CONCURRENT_TRANSACTIONS",
                True,
                "Right, in the repaired design: who has voted yes has to be able to commit, so the "
                "reset waits until the transaction is over.",
            ),
            Choice(
                "yes, and drop the vote",
                False,
                "Then the transaction commits without it: the output is visible, and Broker 5 keeps a "
                "vote that no log has, until it looks, reads another state epoch and begins anew.",
            ),
        ),
    ),
    watch=(
        Watch(4, "Compare the state epoch at Broker 7 before and after, and look for the vote."),
        Watch(5, "What does Broker 5 read when it looks, and what becomes of record 100 then?"),
    ),
    checkpoints=(SAW_STAGED, RESET, BROUGHT_TO_END),
)

RESET_TOGETHER = SMALL_RESET.but(
    name="kip-1289-small-reset-together",
    title="A reset, and a vote in memory",
    sentence="The vote is in the memory of the leader, which is not told of the reset. The marker "
    "finds it, and its outcome cannot be written any more.",
    clause="KIP-1289, which does not mention it (findings X6 and X13); KIP-932, FENCED_STATE_EPOCH",
    spec=_joined(
        *SMALL_RESET.spec.applications,
        share_app("app-2", max_records=1, protocol="share", program=READS),
        placements=TOGETHER,
    ),
    beats=(
        *SMALL_RESET.beats[:4],
        Beat(
            "--reset-offsets --to-offset 100",
            "For Broker 1 the group is empty, and Broker 5, as share coordinator, has no vote to look "
            "at: it is in the memory of another role. The state epoch moves on.",
            OPERATES,
        ),
        Beat(
            "producer.commitTransaction()",
            "The marker comes to Broker 5 and finds the vote: 100 is ACKNOWLEDGED in memory. Then that "
            "is to be written, with the state epoch of before: FENCED_STATE_EPOCH. src-0 is dropped, "
            "and the coordinator was told that all is well.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-2 joins, and polls",
            "Record 100 is delivered, although its output was committed after the reset.",
            ("app-2 goes on", "quiet", BEATS.replace("app-1", "app-2"), "quiet"),
        ),
    ),
    lanes=("app-1", "operator", "app-2", "B5"),
    designs=("finding-X6",),
    question=None,
    watch=(
        Watch(4, "Who could have told the operator that a vote of this group is pending?"),
        Watch(5, "The marker is answered before the write is refused. Who learns of the refusal?"),
    ),
    checkpoints=(
        SAW_STAGED,
        RESET,
        SAW_LOADED_AGAIN,
    ),
)

HELD_BACK = "quiet but * arrives at B5"
SMALL_STALE = Scenario(
    "kip-1289-small-members",
    "A second member joins while a transaction is open",
    "Whoever joins a share group bumps the epoch of every member. A staging that carries the epoch "
    "before is refused where the epoch has to be the current one, although the record is held.",
    "KIP-1289, corner case 8 (finding L)",
    _joined(
        share_app(max_records=1, protocol="share"),
        share_app("app-2", max_records=1, protocol="share", program=READS),
    ),
    (
        BEGIN[0],
        JOINS,
        Beat(
            "The output, and the call",
            "The output is written. sendShareAcknowledgementsToTransaction() takes down M1's epoch, 3; "
            "its sender has not sent anything yet.",
            ("app-1 goes on", "app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-2 joins, app-1 beats",
            "M2 bumps the group's epoch. With M1's next heartbeat Broker 1 has it at epoch 4.",
            (
                "app-2 goes on",
                "app-2/member sends ShareGroupHeartbeat",
                "ShareGroupHeartbeat arrives at B1",
                BEATS,
                "app-1/member sends ShareGroupHeartbeat",
                "ShareGroupHeartbeat arrives at B1",
            ),
        ),
        Beat(
            "TxnShareAcknowledge with the epoch before",
            "Broker 5 has record 100 as ACQUIRED by M1. Either the record's word counts, or the "
            "group's.",
            ("app-1/producer sends TxnShareAcknowledge", "quiet"),
        ),
        Beat(
            "The transaction ends",
            "It commits, or commitTransaction() throws and it has to be aborted: then 100 is worked on "
            "again, until the next member joins.",
            ("app-1 goes on", "quiet", "app-1 goes on", "quiet"),
        ),
    ),
    ("app-1", "app-2", "B1", "B5"),
    ("repaired", "finding-L"),
    Question(
        4,
        "M1 holds record 100, and its staging says epoch 3. The group has it at epoch 4. What now?",
        (
            Choice(
                "it may stage: it holds the record",
                True,
                "Right, in the repaired design, and that is how ShareAcknowledge is judged in Kafka: by "
                "the record's holder.",
            ),
            Choice(
                "STALE_MEMBER_EPOCH",
                False,
                "So the text has it. Then every join or leave aborts the open transactions of all "
                "members.",
            ),
        ),
    ),
    watch=(
        Watch(3, "Nobody lost a record, a lock or a connection. What changed for M1?"),
        Watch(4, "A share-partition leader never learns a member's epoch: whom would it ask?"),
    ),
    checkpoints=(SAW_STAGED, TOOK_CRASH),
)

BY_HAND = (
    Line("admin.describeProducers(audit-0);", Call.DESCRIBE_PRODUCERS, target="audit-0"),
    Line("admin.abortTransaction(audit-0);", Call.ABORT_BY_HAND, target="audit-0"),
)
_AUDITS = Line(
    "producer.send(audit(records));",
    Call.SEND,
    target="audit-0 position",
    on_error=7,
)
SMALL_BY_HAND = Scenario(
    "kip-1289-small-by-hand",
    "A marker of an operator, for another partition",
    "A transaction writes to two topics. An operator ends it in one of them by hand, and the marker "
    "comes to the broker that holds the vote.",
    "KIP-1289, Existing RPCs NOT changed, WriteTxnMarkers (finding X12); KIP-664, abortTransaction",
    ClusterSpec(
        (1, 3, 5, 7),
        (*TOGETHER, Placement("audit-0", 5, (3,))),
        (
            share_app(
                max_records=1,
                program=(
                    programs.INIT,
                    _POLL,
                    *(line.but(on_error=7) for line in (_BEGIN, _SEND)),
                    _AUDITS,
                    *(line.but(on_error=7) for line in (_STAGED, _COMMIT)),
                    programs.SHARE_LOOP[6],
                ),
            ),
            operator(BY_HAND),
        ),
        (("src-0", 100, ("a",)),),
        (*TOPIC_IDS, ("audit", "AAAAAAAAAAAAAAAAAAAABA")),
        PLAYGROUND,
    ),
    (
        *BEGIN[:3],
        Beat(
            "Two sends and a vote",
            "output-A-0 on Broker 3, audit-0 on Broker 5, and record 100 staged on Broker 5.",
            ("app-1 goes on", "quiet", "app-1 goes on", "quiet", "app-1 goes on", "quiet"),
        ),
        Beat(
            "An operator aborts it in audit-0",
            "Its own ABORT marker, with the epoch of the log, to Broker 5 and past the coordinator.",
            (*OPERATES, *OPERATES),
        ),
        Beat(
            "producer.commitTransaction()",
            "For Broker 1 the transaction is ONGOING on all its partitions, and it commits. Look whether "
            "the vote is still there.",
            ("app-1 goes on", "quiet", "maybe B5 refreshes src-0", "quiet", "app-1 goes on"),
        ),
    ),
    ("app-1", "operator", "B3", "B5"),
    ("repaired",),
    watch=(
        Watch(4, "The marker names audit-0 alone. Watch src-0 on the broker that it arrives at."),
        Watch(5, "Half of a transaction is aborted by hand: is it the half that was named?"),
    ),
    checkpoints=(SAW_STAGED, SAW_HALF),
)

SMALL_PRUNED = SMALL.but(
    name="kip-1289-small-pruned",
    title="A vote, and the upkeep of its log",
    sentence="The share coordinator repeats the state of what rests, and deletes what is before it. A "
    "vote may stand there.",
    clause="KIP-1289, which does not mention it (finding X16); KIP-932, Share-group state topic",
    spec=SMALL.spec.but(settings=BrokerSettings(state_upkeep=True)),
    beats=(
        *SMALL.beats[:6],
        Beat(
            "A cold snapshot",
            "Five minutes without a change of src-0: Broker 7 writes its state once more. A vote is no "
            "state yet, so the snapshot does not contain it.",
            ("the cold snapshot interval of * runs out at B7", "quiet"),
        ),
        Beat(
            "Pruning",
            "All that is before the oldest snapshot in use can be deleted. In the repaired design the "
            "vote is no part of that.",
            ("maybe the prune interval of * runs out at B7", "quiet"),
        ),
        Beat(
            "Another broker takes over the log",
            "Broker 3 reads what is left of it.",
            (f"{STATE_BY_KEY} moves to B3", "quiet"),
        ),
        Beat(
            "producer.commitTransaction()",
            "The COMMIT marker comes to Broker 3, and finds the vote, or nothing.",
            ("app-1 goes on", "quiet", "maybe B5 refreshes src-0", "quiet"),
        ),
    ),
    designs=("repaired", "finding-X16"),
    question=None,
    watch=(
        Watch(
            7, "Look at the first offset of the log of __share_group_state, and where the vote is."
        ),
        Watch(9, "Who still waits for an outcome, and is there anybody who knows it?"),
    ),
    checkpoints=(
        SAW_STAGED,
        SAW_PRUNED,
        TOOK_CRASH,
    ),
)

DEAD_LETTERS = "dlq.src"
SMALL_LETTER = SMALL_REJECT.but(
    name="kip-1289-small-letter",
    title="A rejection in a transaction, and its dead letter",
    sentence="A record is rejected in a transaction, and the group has a dead-letter queue. The letter "
    "is written by a broker, later, and in no transaction.",
    clause="KIP-1289, Motivation, 3. (finding X14); KIP-1191",
    spec=SMALL_REJECT.spec.but(
        placements=(*SHARE_PLACEMENTS, Placement(f"{DEAD_LETTERS}-0", 3, (1,))),
        topic_ids=(*TOPIC_IDS, (DEAD_LETTERS, "AAAAAAAAAAAAAAAAAAAABQ")),
        group_configs=(GroupConfig(SHARE_GROUP, dead_letter_topic=DEAD_LETTERS),),
        dead_letter_topics=(DEAD_LETTERS,),
    ),
    beats=(
        *SMALL_REJECT.beats,
        Beat(
            "The letter, at last",
            "The transaction is over. Only now does Broker 5 learn that the record is ARCHIVING, and "
            "writes the letter: a plain produce, in nobody's transaction.",
            ("maybe B5 refreshes src-0", "quiet"),
        ),
    ),
    designs=("repaired",),
    lanes=("app-1", "B3", "B5", "B7"),
    watch=(
        Watch(5, "When is the transaction complete, and when is there a letter?"),
        Watch(7, "Open the batch in dlq.src-0: has it a producer id?"),
    ),
    checkpoints=(SAW_STAGED, TOOK_CRASH),
)

SMALL_DELETED = SMALL_ABORT.but(
    name="kip-1289-small-deleted",
    title="A record is deleted while it is staged",
    sentence="Retention, or an operator, deletes the front of the source. A record of it is staged.",
    clause="KIP-1289, which does not mention it (finding X17); KIP-932, Log retention",
    spec=SMALL_ABORT.spec.but(
        records=(("src-0", 100, ("a", "b", "c")),), budget=PLAYGROUND.but(delete_records=2)
    ),
    beats=(
        *SMALL_ABORT.beats[:6],
        Beat(
            "The front of src-0 is deleted",
            "The log begins at 102 now. Nobody tells the share-partition: its start offset is still 100, "
            "and the staged record is still there.",
            ("the oldest batch of src-0 is deleted",) * 2,
        ),
        *SMALL_ABORT.beats[6:9],
        Beat(
            "consumer.poll(): the start offset follows the log",
            "The next record that Broker 5 would read is 101, in front of the log: OFFSET_OUT_OF_RANGE. So "
            "the start offset goes to 102, past the vote, and the answer is empty. The consumer asks "
            "again and has 102.",
            ("app-1 goes on", "quiet"),
        ),
        Beat(
            "The outcome comes too late",
            "The abort gives record 100 back, and there is no record 100: it ends ARCHIVED, processed by "
            "nobody.",
            ("maybe B5 refreshes src-0", "quiet"),
        ),
    ),
    designs=("repaired",),
    question=Question(
        6,
        "Record 100 is deleted from the log while it is staged, and the transaction aborts. What does "
        "the next poll() bring?",
        (
            Choice(
                "record 100 again",
                False,
                "A share-partition delivers what the log has, and the log begins at 102.",
            ),
            Choice(
                "record 102",
                True,
                "Right: no rule keeps a log from deleting what a transaction has staged.",
            ),
            Choice(
                "nothing: the vote holds the start offset back",
                False,
                "The vote keeps it from moving on by itself; the log's start moves it all the same.",
            ),
        ),
    ),
    watch=(
        Watch(6, "Who knows of the deletion: compare the start of the log and the start offset."),
        Watch(10, "Where is the start offset now, and where is the vote?"),
        Watch(11, "What becomes of a record whose outcome comes after its log has gone on?"),
    ),
    checkpoints=(
        SAW_STAGED,
        SAW_PRUNED,
    ),
)

STORIES: tuple[Scenario, ...] = (
    SMALL_RESET,
    RESET_TOGETHER,
    SMALL_STALE,
    SMALL_BY_HAND,
    SMALL_PRUNED,
    SMALL_LETTER,
    SMALL_DELETED,
)
