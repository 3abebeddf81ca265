"""Whatever a reader wishes of a line, the answer comes: a course of bounded length, or one sentence.

A wish that follows the rest of a run lets the cluster act by itself meanwhile. Clients that ask again at once
would do that without end where the message that helps them is held back.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import pytest

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.alternative_run import FOLLOW_MAX, GO_ON_MAX, Course
from kipviz.cluster.actions import ClusterAction
from kipviz.scenarios.library import LIBRARY
from kipviz.widgets.lab import open_run
from kipviz.widgets.stepping import whatif

TOLD = [story for story in LIBRARY if story.beats]
# The longest story has fewer steps than this; what a wish adds to them is bounded.
STEPS_MAX = FOLLOW_MAX + GO_ON_MAX + 2_000
# A course of this many steps has left every circle that the wishes of the library run into.
USUAL_MAX = 1_500


class Counted:
    """Counts the steps that courses take, and ends one that does not end by itself."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps = 0
        takes = Course.take

        def take(course: Course, action: ClusterAction) -> None:
            self.steps += 1
            assert self.steps <= STEPS_MAX, "this wish does not end"
            takes(course, action)

        monkeypatch.setattr(Course, "take", take)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


def wishes_at(here: whatif.Standing, dice: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every wish at a step that follows what comes after it."""
    yield "skip", {}
    yield "move", {"to": dice.randint(1, here.last), "where": dice.choice(("before", "after"))}
    for number in _in_flight(here):
        yield "hold", {"message": f"m{number}"}
        yield "delay", {"message": f"m{number}", "after": "quiet"}
        if here.at < here.last:
            later = dice.randint(here.at + 1, here.last)
            yield "delay", {"message": f"m{number}", "after": later}
    yield "change", {"settings": [dice.choice(("crash_broker=3", "delivery_count_limit=2"))]}


def _in_flight(here: whatif.Standing) -> list[int]:
    wire = here.wire(here.at)
    return [n for n in range(1, wire.sent + 1) if wire.place_of(n) is not None]


def wish_all(name: str, at: range | list[int], counted: Counted, dice: random.Random) -> int:
    """Make every wish at some steps of a story; give the largest number of steps that one took."""
    run = runs.play(name)
    path = tuple(run.trace.line)
    most = 0
    for step in at:
        here = whatif.Standing(run, path, step, ())
        for kind, command in wishes_at(here, dice):
            counted.steps = 0
            with suppress(ValueError):
                getattr(whatif, kind)(here, command)
            most = max(most, counted.steps)
    return most


@pytest.mark.parametrize(
    "part", [0, 2, *(pytest.param(part, marks=pytest.mark.thorough) for part in (1, 3))]
)
def test_wishes_at_a_step_of_every_story_end(part: int, counted: Counted) -> None:
    dice = random.Random(part)
    for story in islice(TOLD, part, None, 4):
        last = len(runs.play(story.name).trace.line) - 1
        steps = [dice.randint(1, last)]
        assert wish_all(story.name, steps, counted, dice) <= USUAL_MAX, story.name


@pytest.mark.thorough
@pytest.mark.parametrize("name", [story.name for story in TOLD])
def test_every_wish_at_every_step_of_a_story_ends(name: str, counted: Counted) -> None:
    last = len(runs.play(name).trace.line) - 1
    assert wish_all(name, range(1, last + 1), counted, random.Random(name)) <= USUAL_MAX


@pytest.mark.parametrize(
    ("name", "step", "message"),
    [
        ("kip-1310-flink-producer", 27, ""),
        ("kip-1289-corner-7", 30, ""),
        ("pain-timed-out", 21, "m11"),
        ("kip-890-empty-abort", 24, "m12"),
    ],
)
def test_a_client_that_asks_again_at_once_is_followed_round_its_circle_once(
    name: str, step: int, message: str, counted: Counted
) -> None:
    stepper = open_run(name)
    stepper.step = step
    _ = stepper.hold(message) if message else stepper.skip()
    assert 0 < counted.steps <= 200
    assert stepper.known_branches[-1]["missing"] or message
