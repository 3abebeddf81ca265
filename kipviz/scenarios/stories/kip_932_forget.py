"""KIP-932: an operator has a group forget where it stands in one topic."""

from __future__ import annotations

from kipviz.clients.application import Call, Line
from kipviz.scenarios.material import Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_664 import operator
from kipviz.scenarios.stories.kip_932 import KAFKA, MOVED_ON, commits, worker
from kipviz.scenarios.stories.kip_932_operator import (
    JOINS,
    OPERATES,
    TOOL,
    catching,
    describe,
    operated,
)
from kipviz.scenarios.stories.setting import SHARE_GROUP

FORGET = Line(
    f"{TOOL} --delete-offsets --topic src",
    Call.DELETE_SHARE_GROUP_OFFSETS,
    target=f"{SHARE_GROUP} src",
)
FORGOTTEN = Scenario(
    "kip-932-forget-topic",
    "A group forgets one topic, and is a group all the same",
    "An operator deletes the offsets of a share group in a topic. The group stays, with its epoch; the state of its "
    "share-partitions goes, and with it what was acknowledged.",
    "KIP-932, DeleteShareGroupOffsets, DeleteShareGroupState",
    operated(
        worker("app-1", protocol="share", max_records=2),
        operator(catching(FORGET, FORGET, describe())),
    ),
    (
        Beat(
            "app-1 joins, and accepts both records",
            "Start offset 102.",
            (*JOINS, *commits("app-1")),
        ),
        Beat(
            "--delete-offsets is refused",
            "M1 is in the group: NON_EMPTY_GROUP.",
            OPERATES,
        ),
        Beat(
            "app-1 dies, and is given up",
            "The group is empty.",
            ("app-1 crashes", "quiet", "the session of M1 in g1 runs out at B1", "quiet"),
        ),
        Beat(
            "--delete-offsets works",
            "Broker 1 notes src as deleting in the group's own records, Broker 7 writes a tombstone for the "
            "share-partition, and then the note goes.",
            OPERATES,
        ),
        Beat(
            "--describe",
            "The group is there, and stands nowhere.",
            OPERATES,
        ),
        Beat(
            "app-1 starts again",
            "It joins the group that there is, at its next epoch. The share-partition is made anew and begins where "
            "the reset policy says: 100 and 101 once more.",
            ("app-1 starts", *JOINS),
        ),
    ),
    ("operator", "app-1", "B1", "B7"),
    KAFKA,
    Question(
        5,
        "Both records were acknowledged before the offsets were deleted. What does the next member get?",
        (
            Choice("nothing: they are done", False, "That was in the state that is gone."),
            Choice(
                "what the reset policy of the group says",
                True,
                "Right: earliest here, so both; latest, as Kafka has it, would give what is written from now on.",
            ),
        ),
    ),
    watch=(
        Watch(
            3,
            "Two logs, one after the other: first it is noted, then it is done, then the note goes.",
        ),
        Watch(5, "Compare with kip-932-delete-group: there the epochs begin anew, too."),
    ),
    checkpoints=(
        Checkpoint("saw the state of a share-partition deleted", "state deleted"),
        MOVED_ON,
    ),
)

STORIES: tuple[Scenario, ...] = (FORGOTTEN,)
