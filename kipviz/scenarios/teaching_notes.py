"""The teaching material of a scenario: notes on what to watch for, and checkpoints.

A note belongs to a beat of the story and is shown while that beat is played. A checkpoint names a
goal of `kipviz.lessons.goals`, which is checked on the learner's own run.
"""

from __future__ import annotations

from kipviz.core.values import Value


class Watch(Value, frozen=True):
    """A note about what to watch during a beat; in a story without beats, from the start on."""

    beat: int
    text: str


class Checkpoint(Value, frozen=True):
    """Something that the learner should have seen or done, and the goal that determines whether it is so."""

    text: str
    goal: str
