"""Operators and regular groups: KIP-229 (DeleteGroups), KIP-496 (OffsetDelete), KIP-345 (removal)."""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.scenarios import programs
from kipviz.scenarios.material import SAW_JOIN_AGAIN, SAW_OUTPUT_TWICE, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import spec_of
from kipviz.scenarios.stories.kip_62 import begins, classic
from kipviz.scenarios.stories.kip_345 import NODE_1, RESTART
from kipviz.scenarios.stories.kip_664 import operator
from kipviz.scenarios.stories.kip_932_operator import OPERATES, catching
from kipviz.scenarios.stories.late_polls import LATE, POLLED_LATE
from kipviz.scenarios.stories.setting import GROUP

TOOL = "kafka-consumer-groups.sh"
GOES = ("app-1 goes on", "quiet", "app-1 goes on")
DELETE = Line(f"{TOOL} --delete --group {GROUP}", Call.DELETE_CONSUMER_GROUPS, target=GROUP)

DELETED_IN_FLIGHT = Scenario(
    "kip-229-deleted-in-flight",
    "A group is deleted while a transaction holds its offsets",
    "Nobody is in the group, so it may be deleted. A transaction that has its offsets pending is not asked: "
    "it commits its outputs, and the offsets are gone.",
    "KIP-229 DeleteGroups; OffsetMetadataManager.deleteAllOffsets",
    spec_of(classic("app-1"), operator(catching(DELETE, DELETE))).but(budget=LATE),
    (
        Beat(
            "app-1 has sent outputs and offsets",
            "Offset 102 of src-0 is pending in its transaction: it counts when that commits.",
            (*begins("app-1"), *GOES),
        ),
        Beat(
            "--delete: NON_EMPTY_GROUP",
            "C1.1 is in the group. This is what protects a group at work.",
            OPERATES,
        ),
        Beat(
            "app-1 takes its time",
            "max.poll.interval.ms is over, and its consumer leaves. The group is empty; the transaction is "
            "open, and knows nothing of groups.",
            ("app-1/consumer polls too late", "quiet"),
        ),
        Beat(
            "--delete: done",
            "Broker 4 writes a tombstone for the offset, pending as it is, and one for the group.",
            OPERATES,
        ),
        Beat(
            "app-1 commits, and is told that all is well",
            "The markers come to output-A-0 and to __consumer_offsets. There they find nothing pending.",
            GOES,
        ),
        Beat(
            "app-1 polls, and begins at a",
            "A new group, and no offset. It processes a and b for the second time, and commits them.",
            (
                "app-1 goes on",
                "quiet",
                "the initial delay of * is over at B4",
                "quiet",
                "app-1 goes on",
                "app-1 goes on",
                "app-1 goes on",
                "quiet",
                *GOES,
                *GOES,
            ),
        ),
    ),
    ("operator", "app-1", "B4", "B3"),
    ("kafka",),
    Question(
        3,
        "The group is empty, and an offset of it is pending in an open transaction. What does DeleteGroups "
        "say?",
        (
            Choice(
                "NON_EMPTY_GROUP",
                False,
                "That is about members. A pending offset keeps a group from being forgotten by time "
                "(KIP-211), and not from an operator.",
            ),
            Choice("no error", True, "Right: what is pending is deleted with the rest."),
            Choice(
                "CONCURRENT_TRANSACTIONS",
                False,
                "That would be the careful answer. No release gives it.",
            ),
        ),
    ),
    watch=(
        Watch(
            3,
            "The tool shows no pending offsets. 'kafka-transactions.sh list' would have shown a transaction "
            "that is ongoing: look there before a group is deleted.",
        ),
        Watch(
            4,
            "commitTransaction() comes back without an error, and half of what it committed is not there.",
        ),
    ),
    checkpoints=(
        POLLED_LATE,
        SAW_OUTPUT_TWICE,
    ),
)

REMOVED = Scenario(
    "kip-345-removed",
    "A static member whose host is gone for good: an operator takes it out",
    "The process is dead, and its host will not come back. A static member keeps its partition for the whole "
    "session time-out, which operators of static members set high. removeMembersFromConsumerGroup() ends that.",
    "KIP-345 Static Membership: LeaveGroup by group.instance.id; KIP-496",
    spec_of(
        NODE_1.but(program=programs.READ),
        classic("app-2", instance_id="node-2", program=programs.READ),
        operator(
            catching(
                Line(f"{TOOL} --list --state", Call.LIST_GROUPS),
                Line(
                    f"{TOOL} --describe --members --group {GROUP}",
                    Call.DESCRIBE_CONSUMER_GROUPS,
                    target=GROUP,
                ),
                Line(
                    f"{TOOL} --delete-offsets --topic src:0 --group {GROUP}",
                    Call.DELETE_CONSUMER_GROUP_OFFSETS,
                    target=f"{GROUP} src-0",
                ),
                Line(
                    'admin.removeMembersFromConsumerGroup(group, options("node-1"));',
                    Call.REMOVE_MEMBERS,
                    target=f"{GROUP} instance=node-1",
                ),
            )
        ),
    ),
    (
        RESTART.beats[0],
        Beat(
            "The host of app-1 is gone",
            "Nobody says so to Broker 4. src-0 is node-1's, and nobody reads it.",
            ("app-1 crashes",),
        ),
        Beat(
            "--list: what there is",
            "Every broker is asked for the groups that it coordinates. One has the group: classic, Stable. "
            "Nothing in that list says that a member is dead.",
            OPERATES,
        ),
        Beat(
            "--describe --members",
            "First as a group of KIP-848: GROUP_ID_NOT_FOUND. Then as a classic one: node-1 has src-0, "
            "node-2 has src-1.",
            OPERATES,
        ),
        Beat(
            "--delete-offsets: GROUP_SUBSCRIBED_TO_TOPIC",
            "Offsets of a topic that members read are not deleted under their feet.",
            OPERATES,
        ),
        Beat(
            "removeMembersFromConsumerGroup",
            "LeaveGroup with no member id and the instance node-1: whoever has that name now is out. The "
            "group prepares generation 2 at once.",
            OPERATES,
        ),
        Beat(
            "app-2 joins generation 2 alone",
            "It gets src-0, too, and reads a and b.",
            (
                "the heartbeat interval of app-2/consumer is over",
                "quiet",
                "app-2 goes on",
                "quiet",
                "app-2 goes on",
            ),
        ),
    ),
    ("operator", "app-2", "B4", "B5"),
    ("kafka",),
    Question(
        5,
        "The operator knows the name node-1 and no member id. Is that enough?",
        (
            Choice(
                "no: the member id is what the coordinator knows a member by",
                False,
                "The id changes with each start; the name is what an operator has in the configuration.",
            ),
            Choice(
                "yes",
                True,
                "Right: with an empty member id the name means whoever has it now.",
            ),
        ),
    ),
    watch=(
        Watch(
            1,
            "Look at the timers of Broker 4: the session of node-1.1 is all that would ever take it out.",
        ),
        Watch(
            5,
            "Should app-1 come back after all, it joins as a new node-1: nothing has been forbidden to it.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw an operator take a member out", "member taken out"),
        SAW_JOIN_AGAIN,
    ),
)

STORIES: tuple[Scenario, ...] = (DELETED_IN_FLIGHT, REMOVED)
