"""KIP-211: what a group has read is forgotten a week after its last member has gone."""

from __future__ import annotations

from kipviz.brokers.settings import BrokerSettings
from kipviz.scenarios.material import Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.group_setting import commits, spec_of
from kipviz.scenarios.stories.kip_62 import begins, classic

FORGOTTEN = Scenario(
    "kip-211-forgotten",
    "A week's holiday: the group's offsets are forgotten, and everything is processed again",
    "An application commits in transactions, exactly once, and is switched off for longer than "
    "offsets.retention.minutes. When it comes back there is no group and no offset.",
    "KIP-211 Revise Expiration Semantics of Consumer Group Offsets; offsets.retention.minutes",
    spec_of(classic("app-1")).but(settings=BrokerSettings(offsets_expire=True)),
    (
        Beat(
            "app-1 processes a and b, and commits",
            "Outputs and offset in one transaction: offset 102 of src-0 is the group's.",
            (*begins("app-1"), *commits("app-1")),
        ),
        Beat(
            "app-1 is switched off",
            "Its session runs out, and the group is empty: generation 2, nobody in it. From now on the "
            "retention of its offsets runs; as long as it had members it did not.",
            ("app-1 crashes", "the session of C1.1 in * runs out at B4"),
        ),
        Beat(
            "A week later",
            "Broker 4 writes a tombstone for the offset, and one for the group: nothing is pending and "
            "nobody is there.",
            ("the retention of the offsets of * runs out at B4",),
        ),
        Beat(
            "app-1 comes back, and begins at a",
            "JoinGroup makes a new group, generation 1. It asks where the group left off and is told: "
            "nowhere. auto.offset.reset says earliest.",
            (
                "app-1 starts",
                *begins("app-1"),
            ),
        ),
        Beat(
            "The outputs of a and b are committed once more",
            "Every transaction was atomic, no zombie was there, and no error was seen.",
            commits("app-1"),
        ),
    ),
    ("app-1", "B4", "B3", "B5"),
    ("kafka",),
    Question(
        3,
        "app-1 asks Broker 4 for the committed offset of src-0. What is the answer?",
        (
            Choice("102", False, "That was forgotten with the group."),
            Choice("an error", False, "A group that has committed nothing is no error."),
            Choice(
                "no error, and no offset",
                True,
                "Right: it looks the same as for a group that is new, so nobody notices.",
            ),
        ),
    ),
    watch=(
        Watch(
            2,
            "Until Kafka 2.1 it was worse: the week was counted from each commit, so a partition without "
            "new records lost its offset while the group was at work.",
        ),
        Watch(
            3,
            "With auto.offset.reset=latest nothing would be done twice: what was written in the meantime "
            "would be skipped. Only 'none' makes the application stop and ask.",
        ),
    ),
    checkpoints=(
        Checkpoint("saw a member taken out because it was silent", "member gone"),
        Checkpoint("saw an offset pending", "offset pending"),
        Checkpoint("saw the last stable offset held back", "lso held back"),
    ),
)

STORIES: tuple[Scenario, ...] = (FORGOTTEN,)
