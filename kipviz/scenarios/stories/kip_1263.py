"""KIP-1263: a target is kept for a while, so that what changes in a second is one change."""

from __future__ import annotations

from kipviz.brokers.settings import BrokerSettings
from kipviz.scenarios import programs
from kipviz.scenarios.material import Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import member, two_topics

READS = programs.reading("old, src")
BEATS = "the heartbeat interval of {}/consumer is over"


def _joins(name: str) -> tuple[str, ...]:
    return (f"{name} goes on", f"{name} goes on", "quiet")


INTERVAL = Scenario(
    "kip-1263-interval",
    "Three processes start within a second: one new target instead of two",
    "A group of KIP-848 makes its first target at once, and the next one not before "
    "group.consumer.assignment.interval.ms is over. Who comes meanwhile is a member, and waits.",
    "KIP-1263 group.consumer.assignment.interval.ms (4.3); GroupMetadataManager.canComputeNextTargetAssignment",
    two_topics(
        *(member(f"app-{n}", program=READS, listener=False) for n in (1, 2, 3)),
    ).but(settings=BrokerSettings(consumer_assignment_interval_ms=1_000)),
    (
        Beat(
            "C1 joins",
            "The group had no target, so it gets one at once: old-0, src-0 and src-1 are C1's. The second begins.",
            (*_joins("app-1"), "app-1 goes on"),
        ),
        Beat(
            "C2 joins",
            "The group goes to epoch 3, and its target stays that of epoch 2. C2 is a member, and is to have nothing.",
            _joins("app-2"),
        ),
        Beat(
            "C3 joins, and C1 beats",
            "Epoch 4. The heartbeat of C1 is answered as if nothing had happened: for C1 nothing has.",
            (*_joins("app-3"), BEATS.format("app-1"), "quiet"),
        ),
        Beat(
            "The second is over",
            "Nobody hears of it: a coordinator answers heartbeats, and sends nothing by itself.",
            ("the assignment interval of * is over at B4",),
        ),
        Beat(
            "C1 beats: one target for all",
            "The target of epoch 4: one partition for each of three members. C1 gives up two at once. Without the "
            "interval it would have given up one for C2, and another one for C3.",
            (BEATS.format("app-1"), "quiet"),
        ),
        Beat(
            "C2 and C3 get theirs",
            "With their next heartbeats; both have waited for a second, and not for each other.",
            (BEATS.format("app-2"), "quiet", BEATS.format("app-3"), "quiet"),
        ),
    ),
    ("app-1", "app-2", "app-3", "B4"),
    ("kafka",),
    Question(
        1,
        "C2 joins half a second after the first target was made. What is it to have?",
        (
            Choice(
                "nothing yet",
                True,
                "Right: the group's epoch goes up, and its target is of the epoch before.",
            ),
            Choice(
                "one partition, as soon as C1 has let go of it",
                False,
                "So it was up to 4.2, and so it is when the interval is 0.",
            ),
            Choice(
                "it is turned away until the second is over",
                False,
                "It is a member at once; only its share is not decided.",
            ),
        ),
    ),
    watch=(
        Watch(
            1,
            "Look at the records in __consumer_offsets: an epoch of the group, and no target. Described, the group is Assigning.",
        ),
        Watch(
            4,
            "A second for a start of many processes is little; for a group of which one member died it is a second more "
            "without its partitions. The interval can be set for each group.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw the assignment interval end", "interval over"),
        Checkpoint("saw a partition change hands", "partition moved"),
    ),
)

STORIES: tuple[Scenario, ...] = (INTERVAL,)
