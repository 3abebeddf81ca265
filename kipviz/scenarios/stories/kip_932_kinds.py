"""KIP-932: one id, two kinds of group: a share consumer whose group.id a regular group has."""

from __future__ import annotations

from kipviz.scenarios import programs
from kipviz.scenarios.material import Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import member, spec_of
from kipviz.scenarios.stories.kip_932 import CRASHED, KAFKA, worker
from kipviz.scenarios.stories.setting import GROUP

NAME_TAKEN = Scenario(
    "kip-932-name-taken",
    "A share consumer takes the group.id of a regular group",
    "A team moves to share groups and leaves group.id as it was. The regular group is there, and its offsets "
    "are: the share consumer is told GROUP_ID_NOT_FOUND, of a group that everybody can list.",
    "KIP-932, ShareGroupHeartbeat; GroupMetadataManager.getOrMaybeCreateShareGroup",
    spec_of(
        member("app-1", program=programs.READ),
        worker("app-2", group_id=GROUP, protocol="share"),
    ),
    (
        Beat(
            "app-1 is in the group",
            "C1 joins my-group-4 by the consumer protocol (KIP-848). It is a group of type consumer now.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-2 asks for the same name",
            "Its first poll() sends ShareGroupHeartbeat with epoch 0. Broker 4 looks the group up, finds one of "
            "another type, and makes none: an id is one group.",
            ("app-2 goes on", "quiet"),
        ),
        Beat(
            "poll() throws",
            "GroupIdNotFoundException, and the consumer is in its fatal state. Nothing tells the type but the "
            "broker's message: 'is not a share group'.",
            ("app-2 goes on",),
        ),
        Beat(
            "app-1 does not notice",
            "Nothing was written to the log of the group.",
            ("the heartbeat interval of app-1/consumer is over", "quiet"),
        ),
    ),
    ("app-1", "app-2", "B4"),
    KAFKA,
    Question(
        1,
        "my-group-4 is a regular group with one member. What is a share consumer of that name told?",
        (
            Choice(
                "it joins: the group has members of both kinds",
                False,
                "A group shares out partitions or records, not both.",
            ),
            Choice(
                "GROUP_ID_NOT_FOUND",
                True,
                "Right: there is no share group of that name, and none can be made while the regular one is "
                "there. Another group.id helps, or deleting the old group first.",
            ),
            Choice(
                "INCONSISTENT_GROUP_PROTOCOL",
                False,
                "That is what a classic consumer is told, the other way round.",
            ),
        ),
    ),
    watch=(
        Watch(1, "Watch the log of the group's coordinator: this heartbeat appends nothing."),
        Watch(2, "Watch the state of the share consumer: what could it do but give up?"),
    ),
    checkpoints=(
        CRASHED,
        Checkpoint("saw an id refused that a group of another kind has", "name taken"),
    ),
)

STORIES: tuple[Scenario, ...] = (NAME_TAKEN,)
