"""KIP-848 and racks: what a member says of where it is, who keeps it, and who looks at it."""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.scenarios import programs
from kipviz.scenarios.material import Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import member, spec_of
from kipviz.scenarios.stories.kip_229 import TOOL
from kipviz.scenarios.stories.kip_664 import operator
from kipviz.scenarios.stories.kip_932_operator import OPERATES
from kipviz.scenarios.stories.setting import GROUP

DESCRIBE = Line(
    f"{TOOL} --describe --members --verbose --group {GROUP}",
    Call.DESCRIBE_CONSUMER_GROUPS,
    target=GROUP,
)
RACKS = Scenario(
    "kip-848-racks",
    "A member says in which rack it is, and no assignor asks",
    "Two members in two racks. Each says so when it joins, the log keeps it and a description tells it. Who gets "
    "which partition is decided without it: the assignors of 4.4 are even and sticky, and nothing else.",
    "KIP-848 ConsumerGroupHeartbeat: RackId; UniformAssignor, RangeAssignor (4.4). By the classic protocol: KIP-881",
    spec_of(
        member("app-1", rack="east", program=programs.READ),
        member("app-2", rack="west", program=programs.READ, listener=False),
        operator((DESCRIBE,)),
    ),
    (
        Beat(
            "C1 joins, in rack east",
            "RackId is in the first heartbeat and in no later one. Broker 4 keeps it with the subscription.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "C2 joins, in rack west",
            "The target is made: src-0 is to be C1's, src-1 is to be C2's. The assignor was given the members, their topics "
            "and what they had.",
            ("app-2 goes on", "quiet"),
        ),
        Beat(
            "--describe --members",
            "ConsumerGroupDescribe tells the rack of each. Whether it fits to its partitions an operator has to see.",
            OPERATES,
        ),
        Beat(
            "C1 beats on",
            "No rack in this heartbeat: what a member has said once is kept until it joins again.",
            ("the heartbeat interval of app-1/consumer is over", "quiet"),
        ),
    ),
    ("app-1", "app-2", "B4", "operator"),
    ("kafka",),
    Question(
        1,
        "C1 is in rack east, C2 in rack west. By what does Broker 4 decide who gets src-0?",
        (
            Choice(
                "by the rack of its leader",
                False,
                "No assignor of a 4.4 broker is given racks of members.",
            ),
            Choice(
                "who had it keeps it, and everybody gets as many",
                True,
                "Right: even, then sticky. Racks decide by the classic protocol alone, where a consumer assigns (KIP-881).",
            ),
        ),
    ),
    watch=(
        Watch(
            0,
            "Look at the bytes of the first heartbeat: RackId. It is null in all others, which means: as before.",
        ),
        Watch(
            2,
            "What helps against traffic between racks: fetching from the closest replica (client.rack with a replica "
            "selector, KIP-392), whoever is assigned what. It is not part of a group, and not modelled here.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw a description that tells the rack of a member", "rack told"),
        Checkpoint("saw a heartbeat that says a rack", "rack said"),
    ),
)

STORIES: tuple[Scenario, ...] = (RACKS,)
