"""KIP-932: share groups as Kafka ships them, without transactions."""

from __future__ import annotations

from kipviz.cluster.spec import ApplicationSpec
from kipviz.messages.share_groups import AcknowledgeType
from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    SAW_ACKNOWLEDGEMENT_REFUSED,
    SAW_LOADED_AGAIN,
    SAW_RELEASED_BY_CLOSE,
    TOOK_APP_1_CRASH,
    TOOK_CRASH,
    TOOK_MEMBER_CRASH,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.setting import (
    share_app,
    share_spec,
)

ACCEPT, RELEASE = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE
KAFKA = ("kafka",)
DELIVERED = Checkpoint("saw a record in a member's hands for the second time", "delivered twice")
CRASHED = Checkpoint("took a branch in which Broker 5 crashes", "broker crashed")
MOVED_ON = Checkpoint("saw the start offset (SPSO) move", "start offset moved")


def worker(name: str, **changes: object) -> ApplicationSpec:
    """Give a member of the share group that acknowledges every record (explicit mode)."""
    return share_app(name, program=programs.WORK, explicit=True).but(**changes)


def polls(name: str) -> tuple[str, ...]:
    """Let a member poll, and wait until it has what there is."""
    return (f"{name} goes on", "quiet", f"{name} goes on")


def commits(name: str) -> tuple[str, ...]:
    """Let a member acknowledge its batch and call commitSync()."""
    return (f"{name} goes on", f"{name} goes on", "quiet", f"{name} goes on")


THREE_MEMBERS = Scenario(
    "kip-932-three-members",
    "Three members, one partition",
    "A share group has no owner of a partition: three members read src-0 at the same time, each "
    "its own records, and finish in any order.",
    "KIP-932, Share group membership and In-flight records",
    share_spec(
        worker("app-1"), worker("app-2"), worker("app-3"), values=("a", "b", "c", "d", "e", "f")
    ),
    (
        Beat(
            "app-1 polls",
            "Broker 5 leads src-0. It reads what is durable from the share coordinator on Broker 7, "
            "and gives M1 offsets 100 and 101, each under an acquisition lock.",
            polls("app-1"),
        ),
        Beat(
            "app-2 and app-3 poll",
            "Their fetches begin behind what M1 holds: M2 gets 102 and 103, M3 gets 104 and 105. "
            "In a regular consumer group two of the three would be idle.",
            (*polls("app-2"), *polls("app-3")),
        ),
        Beat(
            "app-3 is done first",
            "It acknowledges 104 and 105. Broker 5 has that written by the share coordinator "
            "before it says yes. But the start offset stays at 100.",
            commits("app-3"),
        ),
        Beat(
            "app-1 is done",
            "100 and 101 are ACKNOWLEDGED, so the start offset moves to 102 and no further: M2 "
            "still holds that one.",
            commits("app-1"),
        ),
        Beat(
            "app-2 is done",
            "Now nothing is left in flight, and the start offset jumps to 106. Memory holds the "
            "span between the two ends only.",
            commits("app-2"),
        ),
    ),
    ("app-1", "app-2", "app-3", "B5"),
    KAFKA,
    Question(
        2,
        "app-3 has acknowledged 104 and 105, and that is durable. Where is the start offset then?",
        (
            Choice("at 106", False, "100 to 103 are still in the hands of M1 and M2."),
            Choice(
                "at 100",
                True,
                "Right: the start offset (SPSO) moves only over records that are done, from the "
                "front. What is done behind it is remembered one by one.",
            ),
            Choice("at 104", False, "The start offset stands before the first record not done."),
        ),
    ),
    watch=(
        Watch(1, "Watch the records on Broker 5: each one has its own state, count and holder."),
        Watch(2, "The batch that goes to Broker 7 covers 104 and 105 only, with the start at 100."),
        Watch(4, "Watch all records leave Broker 5's memory at once."),
    ),
    checkpoints=(
        Checkpoint("saw two members hold records of one partition", "two members hold"),
        MOVED_ON,
        CRASHED,
    ),
)

SLOW_MEMBER = Scenario(
    "kip-932-slow-member",
    "A slow member loses its lock",
    "app-1 takes longer than group.share.record.lock.duration.ms. Its records go to app-2, and what "
    "app-1 says of them afterwards is refused.",
    "KIP-932, Acquisition lock and ShareAcknowledge",
    share_spec(worker("app-1"), worker("app-2")),
    (
        Beat(
            "app-1 polls, and works",
            "M1 holds 100 and 101, delivery count 1. The lock of 30 seconds runs from now on, and "
            "nothing that M1 does in its own process is seen by the broker.",
            polls("app-1"),
        ),
        Beat(
            "The lock runs out",
            "Broker 5 takes both records back in memory at once and writes that to the share "
            "coordinator. Nobody tells app-1.",
            ("the lock of src-0@100 runs out", "quiet"),
        ),
        Beat(
            "app-2 polls",
            "The records that came back are delivered again, with delivery count 2.",
            polls("app-2"),
        ),
        Beat(
            "app-1 is done at last",
            "commitSync() sends ACCEPT for both. Broker 5 compares holder and state of each, and "
            "refuses all of it with INVALID_RECORD_STATE: the outputs of app-1 exist, and the "
            "records will be worked on twice. Share groups deliver at least once.",
            commits("app-1"),
        ),
        Beat(
            "app-2 is done",
            "Its ACCEPT is taken. Had it failed, the third delivery would be next; after "
            "group.share.delivery.count.limit, 5, a record is archived.",
            commits("app-2"),
        ),
    ),
    ("app-1", "app-2", "B5", "B7"),
    KAFKA,
    Question(
        3,
        "app-1 accepts both records while M2 holds them. What does its commitSync() come to?",
        (
            Choice("they are ACKNOWLEDGED: they were processed", False, "M1 holds nothing."),
            Choice(
                "INVALID_RECORD_STATE, and nothing changes",
                True,
                "Right: only the holder may acknowledge. M1 was not told when it lost them.",
            ),
            Choice(
                "100 is refused, 101 is taken", False, "A request is taken whole or not at all."
            ),
        ),
    ),
    watch=(
        Watch(
            1, "In the memory of Broker 5 the two records are AVAILABLE before any write is done."
        ),
        Watch(3, "commitSync() returns without an exception: the error is in its result."),
    ),
    checkpoints=(
        Checkpoint("saw a lock run out", "lock ran out"),
        DELIVERED,
        SAW_ACKNOWLEDGEMENT_REFUSED,
    ),
)

RENEWED = Scenario(
    "kip-932-renew",
    "Asking for more time: RENEW",
    "The same slow member, but it says so: RENEW starts the acquisition lock again, and the broker "
    "has nothing to write for that.",
    "KIP-1222, Acquisition lock renewal in share consumer",
    share_spec(worker("app-1", program=programs.RENEW), worker("app-2")),
    (
        Beat("app-1 polls", "M1 holds 100 and 101 under the lock named 100.", polls("app-1")),
        Beat(
            "acknowledge(record, RENEW), commitSync()",
            "Broker 5 puts both records under a new lock. The timer of the old one is cancelled: it "
            "is no longer among what can happen. No request goes to the share coordinator, because "
            "ACQUIRED is never durable.",
            commits("app-1"),
        ),
        Beat(
            "poll() gives the same records",
            "The records that were renewed come back to the application, from the client's own "
            "memory. New ones are not asked for meanwhile.",
            ("app-1 goes on", "app-1 goes on"),
        ),
        Beat(
            "app-2 polls in vain",
            "Both records are held, so its fetch waits at Broker 5.",
            ("app-2 goes on", "quiet"),
        ),
        Beat(
            "app-1 is done",
            "ACCEPT in time: one delivery, one acknowledgement.",
            commits("app-1"),
        ),
    ),
    ("app-1", "app-2", "B5", "B7"),
    KAFKA,
    Question(
        1,
        "What does Broker 5 have to make durable when a lock is renewed?",
        (
            Choice(
                "nothing",
                True,
                "Right: that a record is held, and how long, is known in memory alone. A crash of "
                "Broker 5 gives everything back.",
            ),
            Choice("the new deadline", False, "No deadline is ever written."),
            Choice("a delivery count of 2", False, "A renewal is no delivery."),
        ),
    ),
    watch=(
        Watch(1, "Look at the name of the lock among the choices before and after."),
        Watch(3, "Let the new lock run out on a branch: app-2 gets both records at once."),
    ),
    checkpoints=(
        Checkpoint("saw a lock renewed", "lock renewed"),
        MOVED_ON,
        TOOK_APP_1_CRASH,
    ),
)

ORDER = Scenario(
    "kip-932-release-order",
    "A released record comes back, out of order",
    "app-1 cannot process offset 100 now and releases it. It comes back with the next poll, after "
    "records that stand behind it: nothing is left of the order of the log.",
    "KIP-932, Acknowledgement types and In-flight records",
    share_spec(
        worker(
            "app-1",
            program=programs.worker(
                ((100, RELEASE), (-1, ACCEPT)),
                "acknowledge(record, busy(record) ? RELEASE : ACCEPT); // 100 is busy",
            ),
        ),
        worker("app-2"),
        values=("a", "b", "c", "d"),
    ),
    (
        Beat("app-1 polls", "M1 holds 100 and 101.", polls("app-1")),
        Beat(
            "RELEASE 100, ACCEPT 101",
            "One request, two verdicts, one write. 101 is done although 100 is not.",
            commits("app-1"),
        ),
        Beat(
            "app-2 polls",
            "A fetch begins at the first free record. M2 gets 100, for the second time, and then 102, "
            "new from the log.",
            polls("app-2"),
        ),
        Beat(
            "app-2 accepts both",
            "101 was processed before 100: the order of a partition is not kept by a share group. "
            "The start offset can move now.",
            commits("app-2"),
        ),
    ),
    ("app-1", "app-2", "B5", "B7"),
    KAFKA,
    Question(
        2,
        "app-2 asks for two records. Which ones does it get?",
        (
            Choice(
                "100 and 102",
                True,
                "Right: what came back goes first, what is done is left out, the rest is new.",
            ),
            Choice("102 and 103", False, "Returned records go before new ones."),
            Choice("100 and 101", False, "101 is ACKNOWLEDGED and never delivered again."),
        ),
    ),
    watch=(
        Watch(1, "The start offset stays at 100 after this write, although 101 is done."),
        Watch(2, "Delivery counts differ in one answer: 2 for offset 100, 1 for offset 102."),
    ),
    checkpoints=(
        DELIVERED,
        MOVED_ON,
        TOOK_CRASH,
    ),
)

LEADER_CHANGE = Scenario(
    "kip-932-leader-change",
    "A new leader, and what the share coordinator remembers",
    "src-0 moves to another broker in the middle of the work. Acknowledgements are durable, locks "
    "and their delivery counts are not.",
    "KIP-932, Share-partition leader change; share group state",
    share_spec(
        worker(
            "app-1",
            max_records=4,
            program=(
                programs.WORK[0],
                programs.WORK[1].but(
                    text="acknowledge(100, ACCEPT); acknowledge(101, RELEASE);",
                    verdicts=((100, ACCEPT), (101, RELEASE)),
                ),
                programs.WORK[2].but(then=3),
                programs.WORK[1].but(text="acknowledge(102, ACCEPT);", verdicts=((102, ACCEPT),)),
                programs.WORK[2].but(then=4),
            ),
        ),
        worker("app-2", max_records=4),
        values=("a", "b", "c", "d"),
    ),
    (
        Beat("app-1 polls", "M1 holds 100 to 103, delivery count 1.", polls("app-1")),
        Beat(
            "ACCEPT 100, RELEASE 101",
            "Both are written by the share coordinator on Broker 7. 102 and 103 stay in the hands of "
            "M1: ACQUIRED is never written.",
            commits("app-1"),
        ),
        Beat(
            "src-0 moves to Broker 3",
            "Broker 5 forgets the share-partition. Broker 3 knows nothing of it yet.",
            ("src-0 moves to B3",),
        ),
        Beat(
            "app-2 polls",
            "Broker 3 reads the durable state with its own leader epoch, which fences Broker 5 for "
            "good. It finds 101 free with one delivery, and nothing of 102 and 103: those are "
            "delivered as if for the first time.",
            polls("app-2"),
        ),
        Beat(
            "app-1 acknowledges 102",
            "The request goes to Broker 5, where the record is from. There the session still is, but no "
            "such share-partition: UNKNOWN_TOPIC_OR_PARTITION, whatever app-1 has done with the record.",
            commits("app-1"),
        ),
    ),
    ("app-1", "app-2", "B3", "B7"),
    KAFKA,
    Question(
        3,
        "With which delivery counts does Broker 3 deliver 101, 102 and 103 to app-2?",
        (
            Choice("2, 2 and 2", False, "Nobody wrote that M1 held 102 and 103."),
            Choice(
                "2, 1 and 1",
                True,
                "Right: the RELEASE of 101 is durable with its count; a lock that was only held is "
                "forgotten, and with it the attempt.",
            ),
            Choice("1, 1 and 1", False, "The RELEASE of 101 was durable, with its delivery count."),
        ),
    ),
    watch=(
        Watch(
            2, "Watch the card of src-0 on Broker 5 go: locks, counts of held records, sessions."
        ),
        Watch(
            3, "The answer to ReadShareGroupState has one batch for 101 and none for 102 and 103."
        ),
    ),
    checkpoints=(
        SAW_LOADED_AGAIN,
        DELIVERED,
        SAW_ACKNOWLEDGEMENT_REFUSED,
    ),
)

CLOSE = Scenario(
    "kip-932-close",
    "Leaving in good order, and being cut off",
    "close() gives the records back at once, and so does a connection that breaks. A member behind "
    "a cut network keeps them until the lock runs out.",
    "KIP-932, Share sessions: closing, and Acquisition lock",
    share_spec(worker("app-1", program=programs.POLL_AND_CLOSE), worker("app-2"), worker("app-3")),
    (
        Beat("app-1 polls", "M1 holds 100 and 101.", polls("app-1")),
        Beat(
            "close()",
            "The last request of the session carries epoch -1. Broker 5 gives back what M1 holds, "
            "as if it had said RELEASE, and answers.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat("app-2 polls", "It gets both at once, delivery count 2.", polls("app-2")),
        Beat(
            "app-2 is cut off",
            "No packet passes between app-2 and Broker 5, and nobody closed the connection. For "
            "Broker 5 the member is merely slow.",
            ("B5 and app-2 are cut apart", "app-3 goes on", "quiet"),
        ),
        Beat(
            "The lock runs out",
            "Only now app-3 gets the records. That is what the lock is for: it bounds how long a "
            "silent member can hold anything.",
            ("the lock of src-0@100 runs out", "quiet", "app-3 goes on"),
        ),
    ),
    ("app-1", "app-2", "app-3", "B5"),
    KAFKA,
    Question(
        3,
        "app-2 is cut off from Broker 5 while it holds both records. When does app-3 get them?",
        (
            Choice(
                "when the acquisition lock runs out",
                True,
                "Right: the connection still counts as open, so the session does.",
            ),
            Choice("at once", False, "Broker 5 has not noticed anything."),
            Choice(
                "when the group coordinator misses M2's heartbeats",
                False,
                "It never tells the share-partition leader: only a session's end or the lock does.",
            ),
        ),
    ),
    watch=(
        Watch(
            1, "The start offset does not move, and the delivery count stays 1: no new delivery."
        ),
        Watch(3, "Look for the session of M2 on Broker 5: it is still there."),
    ),
    checkpoints=(
        SAW_RELEASED_BY_CLOSE,
        Checkpoint("saw a lock run out", "lock ran out"),
        TOOK_MEMBER_CRASH,
    ),
)

STORIES: tuple[Scenario, ...] = (
    THREE_MEMBERS,
    SLOW_MEMBER,
    RENEWED,
    ORDER,
    LEADER_CHANGE,
    CLOSE,
)
