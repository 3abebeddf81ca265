"""max.poll.interval.ms at the client: a consumer that works too long leaves its group by itself."""

from __future__ import annotations

from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_OUTPUT_TWICE, SAW_ZOMBIE_REFUSED, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import commits, member, spec_of, up_to_send
from kipviz.scenarios.stories.kip_62 import begins, classic
from kipviz.scenarios.stories.kip_848 import ONE_FULL
from kipviz.scenarios.stories.setting import PLAYGROUND

LATE = PLAYGROUND.but(miss_poll=2)
POLLED_LATE = Checkpoint(
    "saw a consumer leave its group because it did not poll", "polled too late"
)
GOES = ("app-1 goes on", "quiet", "app-1 goes on")

CLASSIC = Scenario(
    "kip-62-polls-too-late",
    "Too long between two calls of poll(): the consumer throws itself out",
    "A consumer beats in the background while its application works. When that takes longer than "
    "max.poll.interval.ms, the background thread leaves the group. The application hears of it last.",
    "KIP-62 max.poll.interval.ms; ConsumerCoordinator, CommitFailedException",
    spec_of(
        classic("app-1", program=programs.COPY_COMMIT_GO_ON),
        classic("app-2", program=programs.COPY_COMMIT_GO_ON),
    ).but(records=ONE_FULL, budget=LATE),
    (
        Beat(
            "app-1 processes c and d",
            "C1.1 is alone in generation 1. The outputs of c and d are committed in a transaction; the "
            "offsets are to follow by commitSync(), which is no part of it.",
            (*begins("app-1"), *GOES),
        ),
        Beat(
            "The work goes on, and on: C1 leaves",
            "Something behind the transaction takes more than five minutes. The heartbeat thread of app-1 "
            "looks at the clock, sends LeaveGroup, and beats no more. Nobody takes C1 out: it goes.",
            ("app-1/consumer polls too late", "quiet"),
        ),
        Beat(
            "app-2 takes over, and processes c and d again",
            "The group is empty, so its first member waits for the initial delay. No offset of src-1 is "
            "committed: C2 begins at c, and the outputs of c and d are committed for the second time.",
            (*begins("app-2"), "app-2 goes on", "quiet", "app-2 goes on"),
        ),
        Beat(
            "app-1: commitSync() throws CommitFailedException",
            "Without asking anybody: a consumer that is in no generation has nothing to commit in its name. "
            "Too late to help: the outputs are there.",
            ("app-1 goes on", "app-1 goes on"),
        ),
        Beat(
            "app-1 polls, and joins again",
            "As a new member: C1.1 has left. What it had is lost (onPartitionsLost), not given up.",
            ("app-1 goes on", "quiet"),
        ),
    ),
    ("app-1", "app-2", "B4", "B3"),
    ("kafka",),
    Question(
        1,
        "app-1 works for longer than max.poll.interval.ms, and beats all the time. Who takes C1 out of the "
        "group?",
        (
            Choice(
                "the coordinator, when the session runs out",
                False,
                "The session does not run out: heartbeats come until the very end.",
            ),
            Choice(
                "its own consumer",
                True,
                "Right: the client alone knows when poll() was called last, and it sends LeaveGroup.",
            ),
            Choice("C2", False, "Members of a group never talk to each other."),
        ),
    ),
    watch=(
        Watch(
            1,
            "The group is told at once, so that the others need not wait. A hung process would cost a "
            "session time-out, a slow one costs nothing but its own work.",
        ),
        Watch(
            3,
            "commitSync() sends nothing. Compare 'kip-848-polls-too-late': there the offsets are part of the "
            "transaction, and the outputs of the slow one are never read.",
        ),
    ),
    checkpoints=(
        POLLED_LATE,
        SAW_OUTPUT_TWICE,
    ),
)

MODERN = Scenario(
    "kip-848-polls-too-late",
    "Too slow, in a transaction: the offsets are refused, and nothing is there twice",
    "The same by KIP-848, with the offsets inside the transaction. The member that left is refused by the "
    "coordinator, its transaction is aborted, and who took over has done the work alone.",
    "KIP-848 max.poll.interval.ms; KIP-447 Fence zombie; AbstractMembershipManager.transitionToStale",
    spec_of(member("app-1"), member("app-2")).but(records=ONE_FULL, budget=LATE),
    (
        Beat(
            "app-1 reads c and d, and sends their outputs",
            "C1 is alone, at epoch 2. The transaction is open, the offsets are not sent yet.",
            up_to_send("app-1"),
        ),
        Beat(
            "max.poll.interval.ms is over",
            "The background thread of the consumer sends a heartbeat with epoch -1 and does not wait for its "
            "answer: C1 is STALE. The application goes on as if nothing had happened.",
            ("app-1/consumer polls too late", "quiet"),
        ),
        Beat(
            "app-2 joins, and has both partitions at once",
            "Nobody has to give anything up. It reads c and d, and commits outputs and offsets together.",
            (*up_to_send("app-2"), *commits("app-2")),
        ),
        Beat(
            "app-1: sendOffsetsToTransaction()",
            "groupMetadata() still says C1, epoch 2. The group has no such member any more: "
            "UNKNOWN_MEMBER_ID, the producer's ABORTABLE_ERROR.",
            GOES,
        ),
        Beat(
            "app-1 aborts, and polls again",
            "Its outputs of c and d are aborted. With poll() C1 loses what it had, and joins with epoch 0.",
            (*GOES, "app-1 goes on", "quiet"),
        ),
    ),
    ("app-1", "app-2", "B4", "B3"),
    ("kafka", "before-447"),
    Question(
        3,
        "app-1 sends the offsets of c and d, which app-2 has committed meanwhile. What comes of it?",
        (
            Choice(
                "they are taken: the offsets are the same",
                False,
                "Then the outputs of app-1 would be committed, too, and c and d would be there twice.",
            ),
            Choice(
                "they are refused",
                True,
                "Right: the member that they are said to be of has left. That is KIP-447's fence, and it "
                "does not matter that the member left by itself.",
            ),
        ),
    ),
    watch=(
        Watch(
            1,
            "C1 keeps what it owned until poll(), because it has a listener that has to be told. The "
            "coordinator has given it away long before.",
        ),
        Watch(
            3,
            "Played under 'before-447' the producer says no member, nobody is refused, and c and d are "
            "committed twice.",
        ),
    ),
    checkpoints=(
        POLLED_LATE,
        SAW_ZOMBIE_REFUSED,
    ),
)

STORIES: tuple[Scenario, ...] = (CLASSIC, MODERN)
