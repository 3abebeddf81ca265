"""What a row claims is so: a run of its story comes through its handler, and its page shows its story.

The protocol's floors are run: what a row names there is called when its story is played under a design that
the story lists, or, where it is a message, delivered. A story without beats is a small cluster for searches,
and some of its runs come through. A program is that of an application of the story. What stands above looks at
runs from outside, and a table of data is not called: of those the row's test has to know.
"""

from __future__ import annotations

import json
import random
import re
import sys
from functools import cache
from inspect import isclass, isfunction, unwrap
from types import CodeType, FrameType
from typing import Any

import pytest

from kipviz.clients.application import Line
from kipviz.designs.catalogue import design
from kipviz.kips.library import KIPS
from kipviz.kips.row import OPEN, Row
from kipviz.messages.events import MessageDelivered
from kipviz.messages.message import Message
from kipviz.scenarios.library import scenario, searched_scenario
from tests.kips.test_kips import ROOT, resolve

RUN = ("brokers", "clients", "cluster", "designs")
TOLD = [(known.name, row) for known in KIPS for row in known.rows if row.how != OPEN]
WITH_A_STORY = [(name, row) for name, row in TOLD if row.scenario]
# How many runs of a small cluster, of how many steps, may be needed until one comes through a handler.
RUNS, STEPS = 30, 150


def codes_of(row: Row) -> frozenset[CodeType]:
    """The code of a row's handler, if it is in a floor that is run: one function, or those of a class."""
    found: Any = resolve(row.handler)
    if row.handler.partition(".")[0] not in RUN:
        return frozenset()
    parts = vars(found).values() if isclass(found) else [found]
    functions = (unwrap(part.fget if isinstance(part, property) else part) for part in parts)
    return frozenset(f.__code__ for f in functions if isfunction(f))


WANTED = frozenset(code for _, row in WITH_A_STORY for code in codes_of(row))


def play_story(name: str, under: str, called: set[CodeType]) -> set[type[Message]]:
    """The messages that arrive in a story; what is called of the wanted goes into `called`."""
    story = scenario(name)
    if not story.beats:
        walk(name, under)
        return set()
    trace, _ = story.play(design(under))
    events = (event for step in trace.line for event in trace.node(step).events)
    return {type(event.message) for event in events if isinstance(event, MessageDelivered)}


def walk(name: str, under: str) -> None:
    """Take what is possible at random in the small cluster of a story without beats."""
    model = searched_scenario(name).model(design(under))
    for seed in range(RUNS):
        dice, world = random.Random(seed), model.initial()
        for _ in range(STEPS):
            enabled = model.enabled(world)
            if not enabled:
                break
            world = model.step(world, dice.choice(enabled)).world


@cache
def run(name: str, under: str) -> tuple[frozenset[CodeType], frozenset[type[Message]]]:
    """What was called of the wanted, and which messages arrived."""
    called: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in WANTED:
            called.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        arrived = play_story(name, under, called)
    finally:
        sys.setprofile(before)
    return frozenset(called), frozenset(arrived)


def is_program(found: object) -> bool:
    return isinstance(found, tuple) and bool(found) and isinstance(found[0], Line)


@pytest.mark.parametrize(
    ("name", "row"), WITH_A_STORY, ids=[f"{name}-{row.clause}" for name, row in WITH_A_STORY]
)
def test_a_run_of_a_rows_story_comes_through_its_handler(name: str, row: Row) -> None:
    found, story = resolve(row.handler), scenario(row.scenario)
    codes = codes_of(row)
    if codes:
        assert any(codes & run(story.name, under)[0] for under in story.designs)
    elif isclass(found) and issubclass(found, Message):
        assert any(found in run(story.name, under)[1] for under in story.designs)
    elif is_program(found):
        assert found in [app.program for app in story.spec.applications]
    else:
        test = (ROOT / "tests" / row.test.partition("::")[0]).read_text(encoding="utf-8")
        assert row.handler.rpartition(".")[2] in test


# -- the page -------------------------------------------------------------------------------------

STORY = re.compile(r"(?:kip-\d+|pain)(?:-[a-z0-9]+)+")


@cache
def find_named(page: str) -> frozenset[str]:
    """The stories that a notebook names: in its words and cells, or in what those print."""
    cells = json.loads((ROOT / "notebooks" / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]
    parts = [part for cell in cells for part in (cell, *cell.get("outputs", ()))]
    texts = ("".join(part.get("source", part.get("text", ""))) for part in parts)
    return frozenset(name for text in texts for name in STORY.findall(text))


@pytest.mark.parametrize(
    ("name", "row"),
    [(name, row) for name, row in WITH_A_STORY if row.page],
    ids=[f"{name}-{row.clause}" for name, row in WITH_A_STORY if row.page],
)
def test_the_page_of_a_row_names_its_story(name: str, row: Row) -> None:
    assert row.scenario in find_named(row.page)


# -- rows that lack one of the two ---------------------------------------------------------------

# What cannot be played, and why.
NEVER_RUN = {
    "KIP-1310 2.2 Configuration": "a configuration is read, or refused, before anything runs",
    "KIP-709 FindCoordinator version 4: an array of keys": "only real clients of a served cluster send several keys",
}
# What could be, and is shown by its test alone: no story or no page has been written.
NOT_WRITTEN: frozenset[str] = frozenset({"KIP-932 share.version"})


def test_every_row_has_a_story_and_a_page_but_for_those_that_are_listed() -> None:
    lacking = {f"{name} {row.clause}" for name, row in TOLD if not (row.scenario and row.page)}
    assert set(NEVER_RUN) <= lacking <= set(NEVER_RUN) | NOT_WRITTEN
