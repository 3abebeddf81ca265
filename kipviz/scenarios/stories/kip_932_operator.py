"""KIP-932: what an operator does with a share group, and who learns of it."""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.cluster.spec import ApplicationSpec, ClusterSpec, Placement
from kipviz.records.placement import CONSUMER_OFFSETS
from kipviz.scenarios.material import (
    SAW_ACKNOWLEDGEMENT_REFUSED,
    SAW_LOADED_AGAIN,
    TOOK_CRASH,
    Checkpoint,
    Watch,
)
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_664 import operator
from kipviz.scenarios.stories.kip_932 import KAFKA, MOVED_ON, commits, worker
from kipviz.scenarios.stories.setting import (
    PLAYGROUND,
    SHARE_GROUP,
    SHARE_PLACEMENTS,
    TOPIC_IDS,
    home,
)

TOOL = f"kafka-share-groups.sh --group {SHARE_GROUP}"
OF_MEMBERS = (*SHARE_PLACEMENTS, Placement(home(CONSUMER_OFFSETS, SHARE_GROUP), 1, (7,)))
OPERATES = ("operator goes on", "quiet", "operator goes on")
RESET = Checkpoint("saw a share-partition begin anew", "state reset")
BEATS = "the heartbeat interval of app-1/member is over"
JOINS = ("app-1 goes on", "quiet", BEATS, "quiet", "app-1 goes on")


def describe() -> Line:
    """Ask where the group stands."""
    return Line(f"{TOOL} --describe --offsets", Call.LIST_SHARE_GROUP_OFFSETS, target=SHARE_GROUP)


def reset(offset: int, partition: str = "src-0") -> Line:
    """Have the group begin at an offset; an operator who is refused goes on with the next line."""
    return Line(
        f"{TOOL} --reset-offsets --topic src --to-offset {offset} --execute",
        Call.ALTER_SHARE_GROUP_OFFSETS,
        target=f"{SHARE_GROUP} {partition}={offset}",
    )


def catching(*lines: Line) -> tuple[Line, ...]:
    """Let a program go on with the next line whatever a call comes to, and end behind the last."""
    return tuple(
        line.but(then=at + 1, on_error=at + 1) if at + 1 < len(lines) else line
        for at, line in enumerate(lines)
    )


def operated(*applications: ApplicationSpec, values: tuple[str, ...] = ("a", "b")) -> ClusterSpec:
    """Give the cluster of a share group whose members join it, with an operator."""
    return ClusterSpec(
        (1, 3, 5, 7),
        OF_MEMBERS,
        applications,
        (("src-0", 100, values),),
        TOPIC_IDS,
        PLAYGROUND,
    )


REWIND = Scenario(
    "kip-932-reset",
    "Once more from the start: an operator resets a share group",
    "Records were processed wrongly, and an operator wants them again. The group has to be empty, its "
    "state is made anew, and whoever still has the old one in memory is fenced.",
    "KIP-932, AlterShareGroupOffsets and DescribeShareGroupOffsets; KIP-1226, lag",
    operated(
        worker("app-1", protocol="share", max_records=2),
        operator(catching(describe(), reset(100), reset(100), describe())),
        values=("a", "b", "c"),
    ),
    (
        Beat("app-1 joins, and gets src-0", "M1 holds 100 and 101, at member epoch 3.", JOINS),
        Beat(
            "It accepts both",
            "Broker 7 has both as ACKNOWLEDGED, and Broker 5 moves the start offset to 102.",
            commits("app-1"),
        ),
        Beat(
            "--describe: a lag that is behind",
            "Broker 1 coordinates the group and knows nothing of offsets: it asks Broker 7 for a "
            "summary, and the leader of src-0 for its end. The start offset there is still 100, and 2 "
            "records behind it are done: lag 1.",
            OPERATES,
        ),
        Beat(
            "--reset-offsets is refused",
            "M1 is in the group: NON_EMPTY_GROUP. Nothing was asked of anybody.",
            OPERATES,
        ),
        Beat(
            "app-1 dies, and is given up",
            "Its session of 45 s runs out on Broker 1, which takes M1 out: the group is empty, and its "
            "epoch goes up to 4. Broker 5 has dropped src-0 with the last connection of the group.",
            ("app-1 crashes", "quiet", "the session of M1 in g1 runs out at B1", "quiet"),
        ),
        Beat(
            "--reset-offsets works",
            "Broker 1 has the state of src-0 made anew: InitializeShareGroupState with the group's epoch, "
            "4, as state epoch, and 100 as start offset. What was acknowledged there is gone.",
            OPERATES,
        ),
        Beat(
            "--describe: all of it again",
            "Start offset 100, and nothing behind it is done: the lag is 3, every record that there is.",
            OPERATES,
        ),
        Beat(
            "app-1 starts again",
            "Another member, and the same records: delivery count 1, as if nobody had ever had them.",
            ("app-1 starts", "app-1 goes on", "quiet", "app-1 goes on"),
        ),
    ),
    ("operator", "app-1", "B1", "B7"),
    KAFKA,
    Question(
        3,
        "M1 is idle, and everything it had is acknowledged. May the operator reset the group?",
        (
            Choice(
                "no: a member is in it",
                True,
                "Right: the group coordinator looks at members, and at nothing else. It does not know "
                "whether a record is in anybody's hands.",
            ),
            Choice("yes: no record is held", False, "Who holds what is known to Broker 5 alone."),
            Choice("yes, a reset waits", False, "The refusal comes at once."),
        ),
    ),
    watch=(
        Watch(2, "Follow the question: the coordinator of the group, then that of the state."),
        Watch(
            5,
            "In __share_group_state a snapshot with a higher state epoch and no batches replaces all "
            "that was there.",
        ),
        Watch(
            6, "The new state says that none is done, so the lag is known before a leader writes."
        ),
    ),
    checkpoints=(
        RESET,
        MOVED_ON,
        TOOK_CRASH,
    ),
)

FENCED = Scenario(
    "kip-932-reset-fences",
    "A member nobody counts any more, and a reset",
    "The coordinator has lost sight of a member that is merely slow. An operator resets the group that "
    "looks empty; the leader, which was told nothing, is fenced with its next write.",
    "KIP-932, AlterShareGroupOffsets and FENCED_STATE_EPOCH",
    operated(
        worker("app-1", protocol="share", max_records=2),
        operator(catching(reset(100), describe())),
    ),
    (
        Beat("app-1 joins, and gets src-0", "M1 holds 100 and 101.", JOINS),
        Beat(
            "M1 is not heard of",
            "It works, and its heartbeats are late. Broker 1 takes it out; Broker 5 still has its "
            "session and its locks.",
            ("the session of M1 in g1 runs out at B1", "quiet"),
        ),
        Beat(
            "--reset-offsets --to-offset 100",
            "The group has no members: it is allowed. Broker 7 now has src-0 at state epoch 4; Broker "
            "5 read it at epoch 2, and hears nothing.",
            OPERATES,
        ),
        Beat(
            "app-1 is done",
            "Its ACCEPT is good for Broker 5, which has it written with state epoch 2. Broker 7 "
            "answers FENCED_STATE_EPOCH. Broker 5 drops src-0 from memory, and M1's acknowledgement "
            "fails with NOT_LEADER_OR_FOLLOWER, although nobody else leads.",
            commits("app-1"),
        ),
        Beat(
            "app-1 beats, joins again, and polls",
            "UNKNOWN_MEMBER_ID; it joins under its old id. Broker 5 reads the new state, and delivers "
            "100 and 101 for the first time.",
            (BEATS, "quiet", "app-1 goes on", "quiet", "app-1 goes on"),
        ),
    ),
    ("operator", "app-1", "B5", "B7"),
    KAFKA,
    Question(
        3,
        "The group was reset while M1 still held 100 and 101. What becomes of its ACCEPT?",
        (
            Choice(
                "it is refused: the state epoch is an older one",
                True,
                "Right: the share coordinator compares epochs, and the leader learns of the reset by "
                "being fenced.",
            ),
            Choice("it is taken: M1 holds the locks", False, "Locks count at Broker 5 alone."),
            Choice(
                "Broker 5 was told of the reset",
                False,
                "Nobody tells it; it finds out with a write or when it reads the state again.",
            ),
        ),
    ),
    watch=(
        Watch(2, "Compare the state epoch on Broker 7 with the one that Broker 5 has in memory."),
        Watch(3, "Watch the records go with the share-partition: their locks, counts, owners."),
    ),
    checkpoints=(
        RESET,
        SAW_ACKNOWLEDGEMENT_REFUSED,
        SAW_LOADED_AGAIN,
    ),
)

DELETED = Scenario(
    "kip-932-delete-group",
    "A share group is deleted, and comes back",
    "A group is deleted with all that it knew. Whoever names it again founds another one, which begins "
    "where its reset policy says.",
    "KIP-932, DeleteShareGroupState; KIP-229, DeleteGroups",
    operated(
        worker("app-1", protocol="share", max_records=2),
        operator(
            catching(
                Line(f"{TOOL} --delete", Call.DELETE_SHARE_GROUPS, target=SHARE_GROUP),
                Line(
                    f"{TOOL} --describe --members", Call.DESCRIBE_SHARE_GROUPS, target=SHARE_GROUP
                ),
            )
        ),
    ),
    (
        Beat("app-1 joins, and gets src-0", "M1 holds 100 and 101.", JOINS),
        Beat("It accepts both", "Start offset 102; nothing is left to do.", commits("app-1")),
        Beat(
            "app-1 dies, and is given up",
            "The group is empty.",
            ("app-1 crashes", "quiet", "the session of M1 in g1 runs out at B1", "quiet"),
        ),
        Beat(
            "--delete",
            "First the states: Broker 1 notes src as deleting, and Broker 7 writes a tombstone. Only "
            "when that is done the group's own records go, three more tombstones in "
            "__consumer_offsets.",
            OPERATES,
        ),
        Beat(
            "--describe --members",
            "GROUP_ID_NOT_FOUND. The group is gone as if it had never been.",
            OPERATES,
        ),
        Beat(
            "app-1 starts again",
            "It founds g1 anew: epochs begin at 2 as they did at first, and 100 and 101 are "
            "delivered again.",
            ("app-1 starts", *JOINS),
        ),
    ),
    ("operator", "app-1", "B1", "B7"),
    KAFKA,
    Question(
        3,
        "The group is deleted. In which order does its coordinator go about it?",
        (
            Choice(
                "its own records first, then the states",
                False,
                "Then a failure would leave states of a group that nobody knows.",
            ),
            Choice(
                "the states first, then its own records",
                True,
                "Right: what is still to be deleted is noted in the group, so that a second attempt "
                "finds it.",
            ),
        ),
    ),
    watch=(
        Watch(3, "Two internal topics, and a tombstone for each thing that was known."),
        Watch(5, "Compare the state epoch with the one that src-0 had in the group's first life."),
    ),
    checkpoints=(
        Checkpoint("saw the state of a share-partition deleted", "state deleted"),
        Checkpoint("took a branch in which the share coordinator moves or dies", "broker crashed"),
        MOVED_ON,
    ),
)

UNDONE = Scenario(
    "kip-932-delete-undone",
    "A group is deleted, and its successor goes on where it stood",
    "A deleted group is to begin anew. But epochs begin anew as well, and a leader that still has the old "
    "state in memory is not fenced by a number that it had before.",
    "KIP-932, DeleteShareGroupState and state epoch (what follows from it in 4.4.0 is our inference)",
    operated(
        worker("app-1", protocol="share", max_records=2),
        worker("app-2", protocol="share", max_records=2),
        operator(
            catching(
                Line(f"{TOOL} --delete", Call.DELETE_SHARE_GROUPS, target=SHARE_GROUP), describe()
            )
        ),
        values=("a", "b", "c", "d"),
    ),
    (
        Beat("app-1 joins, and gets 100 and 101", "State epoch 2, the group's first.", JOINS),
        Beat(
            "It accepts both, and polls again",
            "Broker 5's start offset is 102. M1 holds 102 and 103, and works on them.",
            (*commits("app-1"), "app-1 goes on", "quiet", "app-1 goes on"),
        ),
        Beat(
            "M1 is not heard of, and the group is deleted",
            "Broker 1 takes M1 out, and the empty group may be deleted: tombstones in both internal "
            "topics. Broker 5 is told nothing; M1's connection and session live on.",
            ("the session of M1 in g1 runs out at B1", "quiet", *OPERATES),
        ),
        Beat(
            "app-2 founds the group anew",
            "Group epoch 2, as every first member has it, and so state epoch 2. M2 is given src-0, and "
            "asks Broker 5, which still has src-0 of g1 in memory: start offset 102, nothing is free.",
            ("app-2 goes on", "quiet", BEATS.replace("app-1", "app-2"), "quiet"),
        ),
        Beat(
            "app-1 is done",
            "Broker 5 has it written with state epoch 2 and start offset 102. To Broker 7 that is the "
            "present epoch: taken.",
            commits("app-1"),
        ),
        Beat(
            "--describe",
            "The new group has nothing left to do. 100 and 101 were never delivered to it, and no error "
            "was told to anybody: as if nothing had been deleted.",
            OPERATES,
        ),
    ),
    ("operator", "app-1", "B5", "B7"),
    KAFKA,
    Question(
        4,
        "The state of src-0 was deleted and made anew. Why is Broker 5's write not fenced?",
        (
            Choice(
                "its state epoch is that of the new state",
                True,
                "Right: with the group its epoch is forgotten, and the next life counts from the start.",
            ),
            Choice(
                "a share coordinator does not compare state epochs",
                False,
                "It does: after a reset, which raises the epoch, the same write is fenced.",
            ),
            Choice("Broker 5 has read the new state", False, "It had no reason to read again."),
        ),
    ),
    watch=(
        Watch(2, "What of the old group is left, and where? Look at Broker 5."),
        Watch(4, "Compare the state epoch of the request with the one at Broker 7."),
    ),
    checkpoints=(
        Checkpoint("saw the state of a share-partition deleted", "state deleted"),
        TOOK_CRASH,
        MOVED_ON,
    ),
)

STORIES: tuple[Scenario, ...] = (REWIND, FENCED, DELETED, UNDONE)
