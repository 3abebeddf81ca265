"""What a scenario is taught with: notes on what to watch for, and checkpoints.

A note belongs to a beat of the story and is shown while that beat is played. A checkpoint names a
goal of `kipviz.lessons.goals`, which is checked on the learner's own run.
"""

from __future__ import annotations

from kipviz.core.values import Value


class Watch(Value, frozen=True):
    """What to look at while a beat is played; in a story without beats, from the start on."""

    beat: int
    text: str


class Checkpoint(Value, frozen=True):
    """Something the learner is to have seen or done, and the goal that says whether it is so."""

    text: str
    goal: str
