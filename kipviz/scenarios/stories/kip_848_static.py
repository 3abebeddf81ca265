"""KIP-848 and static members: a name that is released, and a name that is still in use."""

from __future__ import annotations

from kipviz.brokers.settings import BrokerSettings
from kipviz.scenarios import programs
from kipviz.scenarios.material import (
    SAW_GONE,
    SAW_INSTANCE_FENCED,
    SAW_ZOMBIE_REFUSED,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import (
    APP_1_READS,
    HEARD_NO_MORE,
    aborts_and_beats,
    commits,
    member,
    spec_of,
    up_to_send,
)
from kipviz.scenarios.stories.setting import PLAYGROUND

BEATS = "the heartbeat interval of {}/consumer is over"
FIRST = member("app-1", instance_id="node-1", program=programs.READ_AND_UNSUBSCRIBE)
SECOND = member("app-2", instance_id="node-2", program=programs.READ)
REFUSED = Checkpoint("saw a static member refused because its name was in use", "name in use")
JOINED = Beat(
    "node-1 and node-2 join",
    "C1 has the name node-1, C2 the name node-2. The group comes to epoch 3: src-0 is to be the one's, src-1 "
    "the other's.",
    (
        "app-1 goes on",
        "quiet",
        "app-1 goes on",
        "app-2 goes on",
        "quiet",
        BEATS.format("app-1"),
        "quiet",
    ),
)

RESTARTED = Scenario(
    "kip-848-static",
    "Stopped, or killed: what becomes of a static member's name",
    "A static member that is stopped releases its name and keeps its partitions. One that is killed releases "
    "nothing, and who comes under its name is turned away until the session is over.",
    "KIP-848 Static Membership; GroupMetadataManager.throwIfInstanceIdIsUnreleased",
    spec_of(FIRST, SECOND),
    (
        JOINED,
        Beat(
            "app-1 is stopped",
            "unsubscribe() sends epoch -2: node-1 will be back. Broker 4 writes that down and moves nothing: "
            "what node-1 has stays its own for as long as its session lasts.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-1 is started: the same member under another id",
            "C1/2 joins with node-1. It gets the place of C1 with its target; the group's epoch stays, and "
            "C2 hears nothing of it.",
            ("app-1 crashes", "app-1 starts", "app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-1 is killed",
            "No heartbeat of epoch -2. For Broker 4 the member C1/2 is there.",
            ("app-1 crashes",),
        ),
        Beat(
            "app-1 is started at once: UNRELEASED_INSTANCE_ID",
            "The name is in use, by C1/2, which nobody will ever hear of again. The error is fatal: poll() "
            "throws, and whoever starts processes has to start this one again.",
            ("app-1 starts", "app-1 goes on", "quiet"),
        ),
        Beat(
            "The session is over",
            "Broker 4 takes C1/2 out; the name is free. With the next heartbeat C2 is to have everything.",
            ("the session of C1/2 in * runs out at B4", BEATS.format("app-2"), "quiet"),
        ),
    ),
    ("app-1", "app-2", "B4", "B5"),
    ("kafka",),
    Question(
        4,
        "app-1 was killed and comes back within its session, under the same group.instance.id. What does "
        "Broker 4 do?",
        (
            Choice(
                "it lets it take its place, as the classic protocol does",
                False,
                "There the newest wins, and an older one is fenced. With KIP-848 the name has to be released.",
            ),
            Choice(
                "it refuses it",
                True,
                "Right: two processes with one name cannot throw each other out any more; the price is that "
                "a crash costs the rest of a session.",
            ),
        ),
    ),
    watch=(
        Watch(
            1,
            "Look at the record in __consumer_offsets: member epoch -2, and still src-0. Compare "
            "'kip-345-restart', where a static member says nothing at all.",
        ),
        Watch(
            4,
            "The first heartbeat of a static member is refused in the same way if only its answer was lost: "
            "nothing but its session tells the coordinator that nobody is there.",
        ),
    ),
    checkpoints=(
        REFUSED,
        SAW_GONE,
    ),
)

TWO_OF_ONE = Scenario(
    "kip-848-two-of-one",
    "Two processes with one static name and a transaction: who comes later is refused",
    "By the classic protocol a second process with the same group.instance.id throws the first one out. By KIP-848 "
    "it is turned away, until the first one is not heard of any more. Then that wakes up, with a transaction open.",
    "KIP-848 Static Membership; KIP-447: group.instance.id in TxnOffsetCommit; ConsumerGroup.validateOffsetCommit",
    spec_of(
        member("app-1", instance_id="node-1"),
        member("app-2", instance_id="node-1", listener=False),
    ),
    (
        APP_1_READS,
        Beat(
            "app-2 is started as node-1: UNRELEASED_INSTANCE_ID",
            "The name is in use, and nobody has released it. app-1 hears nothing of this; poll() of app-2 throws, "
            "and its process ends.",
            ("app-2 goes on", "quiet", "app-2 goes on", "quiet"),
        ),
        HEARD_NO_MORE,
        Beat(
            "app-2 is started once more, and does the work",
            "The name went with C1. C2/2 is a new member, at the group's next epoch; it begins at a, because "
            "nothing is pending, and commits.",
            (
                "app-2 crashes",
                "app-2 starts",
                *up_to_send("app-2"),
                *commits("app-2"),
            ),
        ),
        Beat(
            "app-1 wakes up: UNKNOWN_MEMBER_ID",
            "Its offsets say node-1, and node-1 is a member. But Broker 4 looks for C1, and there is none. The error "
            "is abortable: sendOffsetsToTransaction() throws CommitFailedException.",
            ("app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "app-1 aborts, and hears in its group that it is fenced",
            "A heartbeat is asked for its name first: node-1 is C2/2 now. That is FENCED_INSTANCE_ID, and fatal.",
            aborts_and_beats("app-1"),
        ),
    ),
    ("app-1", "app-2", "B4", "B3"),
    ("kafka", "before-447"),
    Question(
        4,
        "node-1 is a member, under the id C2/2. app-1 sends offsets as node-1, with its old id C1. What does "
        "Broker 4 say?",
        (
            Choice("no error: the name is a member's", False, "The name is not looked at here."),
            Choice(
                "FENCED_INSTANCE_ID",
                False,
                "That is what the classic protocol says, and what a heartbeat is told by KIP-848.",
            ),
            Choice(
                "UNKNOWN_MEMBER_ID",
                True,
                "Right: offsets are checked by member id and epoch. The zombie is out either way.",
            ),
        ),
    ),
    watch=(
        Watch(
            1,
            "Compare 'kip-345-two-of-one', the classic protocol: there the second process wins at once, and a process "
            "that was only slow loses its work.",
        ),
        Watch(
            4,
            "Look at the bytes of TxnOffsetCommit: GroupInstanceId is there. For a group of KIP-848 it decides nothing "
            "but this: who says a name is not taken for somebody who says nothing.",
        ),
    ),
    checkpoints=(
        REFUSED,
        SAW_ZOMBIE_REFUSED,
        SAW_INSTANCE_FENCED,
    ),
)

GOES = "{} goes on"
FULL = Scenario(
    "kip-848-full",
    "A full group: a static member has its place, and nobody else gets one",
    "A group of KIP-848 may have two members and has two. A third one is turned away. A static member that is stopped and "
    "started again has its place, which a full classic group would refuse it ('kip-389-full').",
    "KIP-848 group.consumer.max.size; GroupMetadataManager.throwIfConsumerGroupIsFull, KAFKA-20601",
    spec_of(FIRST, SECOND, member("app-3", program=programs.READ)).but(
        settings=BrokerSettings(consumer_group_max_size=2),
        budget=PLAYGROUND.but(crash_client=5),
    ),
    (
        JOINED,
        Beat(
            "app-3 wants in: GROUP_MAX_SIZE_REACHED",
            "Two members, and group.consumer.max.size is 2. The error is fatal: poll() throws, and nobody in the group "
            "has heard of C3.",
            (GOES.format("app-3"), "quiet", GOES.format("app-3")),
        ),
        Beat(
            "app-1 is stopped",
            "Epoch -2: node-1 will be back. It stays a member, so there is no room for anybody.",
            (GOES.format("app-1"), "quiet", GOES.format("app-1")),
        ),
        Beat(
            "app-3 tries again, with the same end",
            "A place that is kept is no free place.",
            ("app-3 crashes", "app-3 starts", GOES.format("app-3"), "quiet"),
        ),
        Beat(
            "app-1 is started: node-1 has its place",
            "C1/2 is an id that the group does not know. Its name is known, and that is asked before members are counted.",
            (
                "app-1 crashes",
                "app-1 starts",
                GOES.format("app-1"),
                "quiet",
                GOES.format("app-1"),
            ),
        ),
        Beat(
            "app-2 dies; when its session is over, app-3 comes in",
            "A crash frees a place after 45 s. C3/3 joins with the next attempt, and gets what node-2 had.",
            (
                "app-2 crashes",
                "the session of C2 in * runs out at B4",
                "app-3 crashes",
                "app-3 starts",
                GOES.format("app-3"),
                "quiet",
            ),
        ),
    ),
    ("app-1", "app-3", "B4", "B5"),
    ("kafka",),
    Question(
        4,
        "The group is full, and node-1 is one of its two members. Its process comes back under a new member id. "
        "What does Broker 4 say?",
        (
            Choice(
                "the group is full",
                False,
                "That is what a classic group says: there the member id alone is looked at.",
            ),
            Choice(
                "it takes the place of node-1",
                True,
                "Right: a name that the group has is a place that it has.",
            ),
            Choice(
                "the name is in use",
                False,
                "It was released with epoch -2.",
            ),
        ),
    ),
    watch=(
        Watch(
            1,
            "What helps: a limit above the number of processes by as many as are started before others have gone.",
        ),
        Watch(
            4,
            "Compare 'kip-389-full': the same two processes by the classic protocol, and 45 s without anybody.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw somebody turned away from a full group", "group full"),
        Checkpoint("saw a process die", "client crashed"),
    ),
)

STORIES: tuple[Scenario, ...] = (RESTARTED, TWO_OF_ONE, FULL)
