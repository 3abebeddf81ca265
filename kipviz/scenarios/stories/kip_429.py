"""KIP-429: a rebalance in which members keep what they will get back, and what it takes to get there."""

from __future__ import annotations

from kipviz.records.classic_groups import COOPERATIVE_STICKY
from kipviz.scenarios import programs
from kipviz.scenarios.material import Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import spec_of
from kipviz.scenarios.stories.kip_62 import FIRST_GENERATION, SAW_TOLD, SAW_WAITING, classic

STICKY = (COOPERATIVE_STICKY,)
BEATS = "the heartbeat interval of app-{}/consumer is over"

COOPERATIVE = Scenario(
    "kip-429-cooperative",
    "Two rebalances instead of one, and only one partition stops",
    "A second member joins a group of cooperative consumers. The first one joins with both partitions in its "
    "hands, is told to give one up, and joins once more. The other one it never lets go.",
    "KIP-429 Incremental Cooperative Rebalancing; CooperativeStickyAssignor",
    spec_of(
        classic("app-1", program=programs.READ, assignors=STICKY, max_records=1),
        classic("app-2", program=programs.READ, assignors=STICKY, max_records=1),
    ),
    (
        Beat(
            "Generation 1: C1 has both",
            "As ever: the first JoinGroup asks for a name, the group waits for more, the leader assigns.",
            ("app-1 goes on", "quiet", FIRST_GENERATION, "quiet", "app-1 goes on"),
        ),
        Beat(
            "C2 joins, C1 hears of it",
            "The group prepares generation 2 and waits for C1, whose heartbeat is answered "
            "REBALANCE_IN_PROGRESS.",
            ("app-2 goes on", "quiet", BEATS.format(1), "quiet"),
        ),
        Beat(
            "C1 joins with both partitions in its hands",
            "In its subscription it says what it owns, and since which generation. Nothing is given up: an "
            "eager consumer would own nothing by now.",
            ("app-1 goes on", "until JoinGroup arrives at B4"),
        ),
        Beat(
            "Generation 2: src-1 is nobody's new partition yet",
            "The leader wants src-0 for C1 and src-1 for C2. But src-1 is still C1's, so it assigns it to "
            "nobody: C1 gets src-0, C2 gets nothing.",
            ("until SyncGroup* arrives at app-1/*",),
        ),
        Beat(
            "C1 gives up src-1, and joins again at once",
            "What it owned and was not assigned again it has to give up; that it has done so it says by "
            "joining. Its position in src-0 it has kept.",
            ("until JoinGroup arrives at B4", "quiet"),
        ),
        Beat(
            "Generation 3: C2 gets src-1",
            "A heartbeat tells C2 to join, too. Now nobody has to give up anything, and src-1 goes to its next "
            "owner. C1 reads b of src-0 where it was, without asking for its offset.",
            (BEATS.format(2), "quiet", "app-1 goes on", "app-2 goes on"),
        ),
    ),
    ("app-1", "app-2", "B4", "B5"),
    ("kafka",),
    Question(
        3,
        "C1 owns src-0 and src-1, C2 nothing. How does the leader assign in generation 2?",
        (
            Choice(
                "src-0 to C1, src-1 to C2",
                False,
                "C2 would begin to read src-1 while C1 may still work on it: nobody waits for anybody "
                "between two answers to SyncGroup.",
            ),
            Choice(
                "src-0 to C1, src-1 to nobody",
                True,
                "Right: what moves is taken away first, and given in the next generation.",
            ),
        ),
    ),
    watch=(
        Watch(
            2,
            "Compare 'kip-62-rebalance' at the same place: there C1 owns nothing when its JoinGroup arrives, "
            "and both partitions have to be looked up and read on from the committed offset.",
        ),
        Watch(
            4,
            "The price: three generations instead of two. With KIP-848 there would be no generation at all, "
            "and the broker would do what the leader does here.",
        ),
    ),
    checkpoints=(
        SAW_WAITING,
        SAW_TOLD,
        Checkpoint("saw a partition go to another member", "partition moved"),
    ),
)

STORIES: tuple[Scenario, ...] = (COOPERATIVE,)
