"""What cannot happen is listed with the reason, and the reason names what stands in the way."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.seeded_run import Task
from kipviz.core.traces.trace import Node
from kipviz.views.choices import Choices, choices
from tests.scenarios.story import nodes, play_once, under_one_design_each

REASON_MAX = 160
# A number of the world, or one of its names, or a state.
SPECIFIC = re.compile(
    r"\d|\b(app|my-txn|reader|default|operator|src|output)|\b[A-Z]{2,}(_[A-Z]+)*\b"
)


def check(model: object, path: list[Node]) -> int:
    reasons: dict[str, None] = {}
    for node in path:
        for item in choices(model, node.world, None):  # type: ignore[arg-type]
            if not item["enabled"]:
                reasons[item["why"]] = None
    for why in reasons:
        assert SPECIFIC.search(why), why
        assert len(why) < REASON_MAX, why
    return len(reasons)


@pytest.mark.parametrize(("name", "under"), under_one_design_each())
def test_every_greyed_choice_of_a_story_names_what_forbids_it(name: str, under: str) -> None:
    trace, _ = play_once(name, under)
    path = nodes(trace)
    found = check(trace.model, path)
    assert found > 2 or len(path) == 1


@pytest.mark.parametrize("seed", [1, 2])
def test_every_greyed_choice_of_a_hostile_run_names_what_forbids_it(seed: int) -> None:
    run = runs.replay(Task("kip-1289-two-members", "repaired", "hostile", seed, 250))
    assert check(run.model, [run.trace.node(node) for node in run.trace.line]) > 10


@pytest.mark.parametrize(
    ("name", "design", "seed"),
    [("kip-1289-two-members", "repaired", 1), ("kip-98-split-network", "kafka", 3)],
)
def test_what_is_remembered_from_step_to_step_is_what_a_single_world_shows(
    name: str, design: str, seed: int
) -> None:
    run = runs.replay(Task(name, design, "hostile", seed, 250))
    path = [run.trace.node(node) for node in run.trace.line]
    along = Choices(run.model)
    for node, after in pairwise(path):
        assert along.of(node.world, after.action) == choices(run.model, node.world, after.action)
