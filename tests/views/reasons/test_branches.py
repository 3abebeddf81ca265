"""A branch sends only what differs: put on its line it is the whole line, told anew."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.runs import Run
from kipviz.cluster.actions import (
    ClusterAction,
    CrashBroker,
    CrashClient,
    StartBroker,
    StartClient,
)
from kipviz.cluster.world import World, broker_host
from kipviz.views.choices import FAULTS, choice_id
from kipviz.views.payload import payload
from kipviz.widgets.pages.payload import read, read_branch
from kipviz.widgets.stepping.lines import Lab
from tests.views.page import (
    branch_line,
    down_at,
    main_line,
    on_wire_at,
    picture,
    wire_of,
)

Part = dict[str, Any]
LEFT_ALONE = "left alone, the run breaks it"


def accident(lab: Lab, world: World, turn: int) -> ClusterAction:
    """An accident that is possible in a world, of another kind each turn."""
    kinds: dict[str, ClusterAction] = {}
    for action in lab.model.enabled(world):
        if action.KIND in FAULTS:
            kinds.setdefault(type(action).__name__, action)
    return list(kinds.values())[turn % len(kinds)]


def make_branch(lab: Lab, branch: int, step: int, turn: int) -> tuple[Part, ClusterAction]:
    """Take an accident at a step of a line; give the branch that the page is sent."""
    world = lab.run_at(branch, step).trace.world
    action = accident(lab, world, turn)
    command = {"do": "take", "choice": choice_id(action), "branch": branch, "step": step}
    return lab.respond(command)["branch"], action


def anew(lab: Lab, run: Run) -> Part:
    """The line on which the lab's trace stands, told from its start as if it were the main one."""
    return main_line(payload(run.scenario, run.design, lab.model, lab.trace, ())[0])


def check(branch: Part, line: Part, whole: Part) -> None:
    assert len(line["steps"]) == len(whole["steps"]) == branch["at"] + 1 + len(branch["steps"])
    for step in range(len(whole["steps"])):
        shown, real = picture(line, step), picture(whole, step)
        if step == branch["at"] and LEFT_ALONE in str(shown["verdicts"]):
            # The end of its parent says what comes of it when it is left alone; here it is not.
            del shown["verdicts"], real["verdicts"]
        assert shown == real, f"at step {step}"


@pytest.mark.parametrize(
    ("name", "under"),
    [
        ("kip-1289-share-commit", "repaired"),
        ("kip-1289-share-commit", "as-written"),
        ("kip-1289-group-abort", "repaired"),
    ],
)
def test_a_branch_at_any_step_shows_what_the_whole_line_told_anew_shows(
    name: str, under: str
) -> None:
    run = runs.play(name, under)
    lab = Lab(run)
    known, main = read(lab.payload), main_line(lab.payload)
    kinds = set()
    for step in range(len(main["steps"])):
        branch, action = make_branch(lab, 0, step, turn=step)
        kinds.add(type(action).__name__)
        read_branch(branch, known)
        assert (branch["parent"], branch["at"]) == (0, step)
        check(branch, branch_line(main, branch), anew(lab, run))
    assert len(kinds) >= 5


@pytest.mark.parametrize("turn", range(4))
def test_a_branch_of_a_branch_shows_what_the_whole_line_told_anew_shows(turn: int) -> None:
    run = runs.play("kip-1289-share-commit", "repaired")
    lab = Lab(run)
    line = main_line(lab.payload)
    at, number = 12 + 5 * turn, 0
    for depth in range(3):
        branch, _ = make_branch(lab, number, at, turn + depth)
        line, number = branch_line(line, branch), branch["id"]
        check(branch, line, anew(lab, run))
        at = at + 1 + len(branch["steps"]) // 2
    assert number == 3


def test_a_repair_on_a_branch_of_a_branch_ends_what_the_first_one_began() -> None:
    run = runs.play("kip-1289-share-commit", "repaired")
    lab = Lab(run)
    line, number, at = main_line(lab.payload), 0, 25
    accidents = (
        (CrashBroker(5), {"B5"}),
        (CrashClient("app-1"), {"B5", "app-1"}),
        (StartBroker(5), {"app-1"}),
        (StartClient("app-1"), set()),
    )
    for action, down in accidents:
        command = {"choice": choice_id(action), "branch": number, "step": at}
        branch = lab.respond(command)["branch"]
        line, number = branch_line(line, branch), branch["id"]
        check(branch, line, anew(lab, run))
        at = len(line["steps"]) - 1
        assert down_at(line, at) == down


def test_a_branch_that_leaves_a_branch_before_it_began_is_told_from_the_main_line() -> None:
    run = runs.play("kip-1289-share-commit", "repaired")
    lab = Lab(run)
    main = main_line(lab.payload)
    first, _ = make_branch(lab, 0, 20, turn=0)
    early, _ = make_branch(lab, first["id"], 8, turn=1)
    check(early, branch_line(branch_line(main, first), early), anew(lab, run))


def test_a_branch_carries_its_suffix_and_nothing_of_what_was_before() -> None:
    run = runs.play("kip-1289-share-commit", "repaired")
    lab = Lab(run)
    branch, _ = make_branch(lab, 0, 30, turn=0)
    assert all(row["from"] > 30 for row in branch["rows"])
    assert all(note["step"] > 30 for note in branch["notes"])
    assert all(verdict["from"] > 30 for verdict in branch["verdicts"])
    assert all(choice["from"] >= 30 for choice in branch["choices"])
    assert len(branch["rows"]) < len(lab.payload["rows"])


def test_on_a_branch_the_wire_and_the_hosts_are_those_of_its_worlds() -> None:
    run = runs.play("kip-1289-share-commit", "repaired")
    lab = Lab(run)
    main = main_line(lab.payload)
    downs = set()
    for step in range(0, len(main["steps"]), 3):
        branch, _ = make_branch(lab, 0, step, turn=0)
        line = branch_line(main, branch)
        path = [lab.trace.node(n) for n in lab.trace.line]
        for k, node in enumerate(path):
            world = node.world
            wire = wire_of(world)
            assert len(on_wire_at(line, k)) == wire.total()
            real = {broker_host(b) for b in run.model.spec.brokers if b not in world.up}
            real |= {name for name, app in world.applications.items() if not app.alive}
            assert down_at(line, k) == real
            downs |= real
    assert downs


def test_a_branch_tells_a_message_that_is_lost_as_lost() -> None:
    run = runs.play("kip-1289-share-commit", "repaired")
    lab = Lab(run)
    main = main_line(lab.payload)
    step = next(
        k
        for k in range(len(main["steps"]))
        if any(m["label"] == "EndTxn COMMIT" for m in on_wire_at(main, k))
    )
    world = lab.run_at(0, step).trace.world
    lose = next(
        a
        for a in lab.model.enabled(world)
        if type(a).__name__ == "LoseConnection" and (a.source, a.broker) == ("app-1/producer", 1)
    )
    branch = lab.respond({"do": "take", "choice": choice_id(lose), "branch": 0, "step": step})[
        "branch"
    ]
    (message,) = [
        m for m in branch["messages"] if m["label"] == "EndTxn COMMIT" and m["sent"] <= step
    ]
    assert (message["arrived"], message["lost"]) == (None, step + 1)
