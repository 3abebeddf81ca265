"""KIP-389: a limit of members for each group (group.max.size), and who finds the group full."""

from __future__ import annotations

from kipviz.brokers.settings import BrokerSettings
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_DEATH, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import spec_of
from kipviz.scenarios.stories.kip_62 import FIRST_GENERATION, classic

JOIN = ("app-1 goes on", "quiet", "app-2 goes on", "quiet", FIRST_GENERATION, FIRST_GENERATION)

FULL = Scenario(
    "kip-389-full",
    "A full group turns its own static member away",
    "A group may have two members and has two, both static. One process dies and is started again at once, as "
    "static membership is made for. There is no room for it: its place is taken, by itself.",
    "KIP-389, KIP-345; GroupMetadataManager.acceptJoiningMember. With KIP-848: KAFKA-20601",
    spec_of(
        classic("app-1", instance_id="node-1", program=programs.READ),
        classic("app-2", instance_id="node-2", program=programs.READ),
    ).but(settings=BrokerSettings(group_max_size=2)),
    (
        Beat(
            "node-1 and node-2 join",
            "Two members, and group.max.size is 2.",
            (*JOIN, "quiet", "app-1 goes on", "app-2 goes on"),
        ),
        Beat(
            "app-1 dies, and is started again",
            "For Broker 4 node-1.1 is there until its session is over. The new process asks to join without a "
            "member id, under the name node-1.",
            ("app-1 crashes", "app-1 starts", "app-1 goes on", "until JoinGroup arrives at B4"),
        ),
        Beat(
            "GROUP_MAX_SIZE_REACHED",
            "Whether there is room is asked first, and of the member id alone: who has none is somebody new. That "
            "node-1 would take its own place, and nobody's besides, is looked at behind that. poll() throws.",
            ("quiet",),
        ),
        Beat(
            "45 seconds later",
            "The session of node-1.1 is over. Two things that static membership is to avoid: src-0 was read by "
            "nobody for that long, and now the group rebalances.",
            (
                "the session of node-1.1 in * runs out at B4",
                "app-1 goes on",
                "app-1 crashes",
                "app-1 starts",
                "app-1 goes on",
                "quiet",
            ),
        ),
    ),
    ("app-1", "app-2", "B4", "B5"),
    ("kafka",),
    Question(
        2,
        "node-1 comes back into a group that is full, and of which it is a member. What does Broker 4 say?",
        (
            Choice(
                "it takes its place, as always",
                False,
                "That would be KIP-345, and it is so with KIP-848 since KAFKA-20601.",
            ),
            Choice(
                "the group is full",
                True,
                "Right: a process that was started again has no member id, and is counted as somebody new.",
            ),
            Choice(
                "the older one is fenced",
                False,
                "It would be, if there were room for one more: then the name is looked at.",
            ),
        ),
    ),
    watch=(
        Watch(
            2,
            "What helps: group.max.size above the number of processes by as many as may be restarted at a time.",
        ),
        Watch(
            3,
            "A dynamic member has the same wait, and nobody promised it anything else: a group that is as large as "
            "it may be has no room for a crash.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw somebody turned away from a full group", "group full"),
        SAW_DEATH,
    ),
)

STORIES: tuple[Scenario, ...] = (FULL,)
