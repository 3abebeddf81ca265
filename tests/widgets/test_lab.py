"""The lab behind a stepper: choices become branches, mistakes become sentences."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.checking.single_run import alternative_run
from kipviz.checking.single_run.seeded_run import Task, run
from kipviz.cluster.actions import CrashBroker, CrashClient, ExpireLock, LoseConnection, StartBroker
from kipviz.core.traces.tracefile import TraceFileError
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.views.choices import choice_id
from kipviz.widgets.comparing.side_by_side import compare
from kipviz.widgets.lab import Lab, open_run, open_seeded, open_trace, save
from kipviz.widgets.pages.line import Line, line_of
from kipviz.widgets.stepping.stepper import Stepper

SHARE, LOCK, TWO = "kip-1289-share-commit", "kip-1289-lock-expiry", "kip-1289-two-members"


def lab_of(stepper: Stepper) -> Lab:
    lab: Lab = stepper.lab
    return lab


def line(stepper: Stepper) -> Line:
    """The line that the reader is on: a reopened run brings its branches with it."""
    branches = [*stepper.payload["branches"], *stepper.branches]
    return line_of(stepper.payload, branches, stepper.branch)


def step_titled(stepper: Stepper, title: str) -> int:
    """The step at which a big step ends."""
    return next(big["to"] - 1 for big in stepper.payload["bigs"] if big["title"] == title)


def take(stepper: Stepper, action: Any) -> Stepper:
    return stepper.take(choice_id(action))


# -- opening -----------------------------------------------------------------------------------


def test_a_run_opens_at_its_start_with_all_its_steps() -> None:
    stepper = open_run(SHARE)
    assert (stepper.step, stepper.branch) == (0, 0)
    assert stepper.payload["design"]["name"] == "repaired"
    assert len(stepper.payload["steps"]) == lab_of(stepper).trace.depth + 1


def test_a_run_opens_under_its_own_design_or_another_one() -> None:
    assert open_run(LOCK).payload["design"]["name"] == "finding-D"
    under = "repaired+lock_expiry=back_to_available"
    assert open_run(LOCK, under).payload["design"]["name"] == under


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: open_run("kip-0"), "there is no scenario 'kip-0'; nearest are"),
        (lambda: open_run(SHARE, "x"), "there is no design 'x'; nearest are"),
        (lambda: open_run(SHARE, "as-written-local"), "is not possible now; possible: "),
        (lambda: compare(SHARE, "repaired", "x"), "there is no design 'x'"),
        (lambda: open_seeded(TWO, "repaired", "stormy", 1), "there is no fault profile 'stormy'"),
        (lambda: open_seeded(TWO, "repaired", "calm", "1"), "a seed must be a whole number"),
    ],
)
def test_what_cannot_be_opened_is_answered_with_one_sentence(ask: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=r".") as wrong:
        ask()
    assert sentence in str(wrong.value)
    assert "\n" not in str(wrong.value)


# -- branches ----------------------------------------------------------------------------------


def test_a_fault_makes_a_branch_that_goes_on_until_the_next_word_is_a_persons() -> None:
    stepper = open_run(SHARE)
    stepper.step = step_titled(stepper, "commitTransaction() returns")
    at = stepper.step
    take(stepper, CrashBroker(5))
    (branch,) = stepper.branches
    assert (branch["id"], branch["parent"], branch["at"]) == (1, 0, at)
    assert (stepper.branch, stepper.step) == (1, at + 1)
    assert line(stepper).steps[at + 1]["sentence"].startswith("Broker 5 crashes.")
    assert len(branch["steps"]) > 1
    model, world = lab_of(stepper).model, lab_of(stepper).trace.world
    assert {a.KIND for a in model.enabled(world)}.isdisjoint({"deliver", "load", "sender"})


def test_a_fault_on_a_branch_makes_a_branch_of_the_branch() -> None:
    stepper = open_run(SHARE)
    stepper.step = step_titled(stepper, "TX_PENDING")
    take(stepper, CrashBroker(5))
    take(stepper, StartBroker(5))
    take(stepper, CrashClient("app-1"))
    assert [(b["id"], b["parent"]) for b in stepper.branches] == [(1, 0), (2, 1), (3, 2)]
    words = [step["sentence"] for step in line(stepper).steps]
    told = [
        w for w in words if w.startswith(("Broker 5 crashes", "Broker 5 restarts", "app-1 crashes"))
    ]
    assert len(told) == 3
    assert len(line_of(stepper.payload, stepper.branches, 0).steps) == 43


def test_the_main_line_stays_as_it_was() -> None:
    stepper = open_run(SHARE)
    before = line_of(stepper.payload, [], 0)
    stepper.step = 20
    take(stepper, LoseConnection("app-1/producer", 1))
    stepper.branch, stepper.step = 0, 30
    take(stepper, CrashBroker(7))
    assert [b["parent"] for b in stepper.branches] == [0, 0]
    assert line_of(stepper.payload, stepper.branches, 0) == before


def test_the_step_that_was_taken_anyway_makes_no_branch() -> None:
    stepper = open_run(SHARE)
    (taken,) = [item for item in line(stepper).choices_at(0) if item["taken"]]
    stepper.take(taken["id"])
    assert (stepper.step, stepper.branches) == (1, [])


def test_under_finding_d_the_lock_breaks_the_property_on_a_branch_that_the_repaired_one_keeps() -> (
    None
):
    key = "g1:AAAAAAAAAAAAAAAAAAAAAg:0"
    verdicts = {}
    for name in ("finding-D", "repaired"):
        stepper = open_run(SHARE, name)
        stepper.step = step_titled(stepper, "commitTransaction() returns")
        (lock,) = [
            item for item in line(stepper).choices_at(stepper.step) if "ExpireLock" in item["id"]
        ]
        assert lock["enabled"] == (name == "finding-D")
        if lock["enabled"]:
            stepper.take(lock["id"])
            assert choice_id(ExpireLock(5, key, 100)) == lock["id"]
        else:
            with pytest.raises(ValueError, match=r"cannot happen: .*TX_PENDING"):
                stepper.take(lock["id"])
        last = line(stepper)
        verdicts[name] = {v["property"]: v["state"] for v in last.verdicts_at(stepper.step)}
    assert verdicts["finding-D"]["atomic"] == "broken"
    assert verdicts["repaired"]["atomic"] == "holds"


# -- what the page may ask wrongly -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ({"choice": choice_id(StartBroker(5))}, "that is not possible here: broker 5 is running"),
        ({"choice": choice_id(StartBroker(9))}, "that is not possible here: there is no broker 9"),
        ({"choice": "{}"}, "'{}' is not an action of a cluster: "),
        ({"choice": "<b>"}, "'<b>' is not an action of a cluster: "),
        ({"choice": 5}, "5 is not an action of a cluster: "),
        ({"step": 43}, "there is no step 43 on this line; it has 0 to 42"),
        ({"step": -1}, "there is no step -1 on this line; it has 0 to 42"),
        ({"step": "3"}, "there is no step '3' on this line; it has 0 to 42"),
        ({"branch": 7}, "there is no line 7; there are 0"),
    ],
)
def test_a_wrong_wish_is_answered_with_one_sentence(command: dict[str, Any], sentence: str) -> None:
    lab = lab_of(open_run(SHARE))
    before = lab.trace
    with pytest.raises(ValueError, match=r".") as wrong:
        lab.respond(
            {"do": "take", "choice": choice_id(CrashBroker(5)), "branch": 0, "step": 3} | command
        )
    assert str(wrong.value).startswith(sentence)
    assert lab.trace is before


def test_the_page_is_answered_with_the_sentence_and_can_ask_again() -> None:
    stepper = open_run(SHARE)
    ask = {"do": "take", "branch": 0, "step": 3}
    stepper.command = {"id": 1, **ask, "choice": choice_id(StartBroker(5))}
    assert stepper.answer == {"id": 1, "error": "That is not possible here: broker 5 is running."}
    stepper.command = {"id": 2, **ask, "choice": choice_id(CrashBroker(5))}
    assert stepper.answer["id"] == 2
    assert stepper.answer["branch"]["id"] == 1


def test_a_branch_that_does_not_come_to_rest_stops_at_its_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(alternative_run, "GO_ON_MAX", 2)
    stepper = open_run(SHARE)
    stepper.step = 20
    take(stepper, CrashBroker(5))
    assert len(stepper.branches[0]["steps"]) == 3


# -- two designs -------------------------------------------------------------------------------


def test_finding_i_differs_first_where_the_repaired_design_resolves_the_transactional_acknowledgement() -> (
    None
):
    both = compare(SHARE, "repaired", "finding-I").payload
    found = both["differences"][0]
    left, right = both["pairs"][found["at"]]
    steps = both["left"]["steps"], both["right"]["steps"]
    assert "to ACKNOWLEDGED" in steps[0][left]["sentence"]
    assert "ACKNOWLEDGED" not in " ".join(step["sentence"] for step in steps[1])
    for one, other in both["pairs"][: found["at"]]:
        assert steps[0][one]["sentence"] == steps[1][other]["sentence"]
    assert left == right == 39


def test_a_design_does_not_differ_from_itself() -> None:
    assert compare(SHARE, "repaired", "repaired").payload["differences"] == []


# -- a campaign's run --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "task",
    [
        Task(TWO, "repaired", "rough", 5),
        Task(TWO, "finding-D", "rough", 3, 120),
        Task("kip-1289-small", "finding-I", "calm", 0),
    ],
    ids=lambda task: f"{task.design}-{task.seed}",
)
def test_a_campaigns_row_opens_as_the_run_that_its_verdict_judged(task: Task) -> None:
    verdict = run(task)
    for stepper in (
        open_seeded(task.scenario, task.design, task.faults, task.seed, task.steps_max),
        open_seeded(task),
        open_seeded(verdict),
    ):
        trace = lab_of(stepper).trace
        assert trace.world.digest.hex() == verdict.fingerprint
        assert len(stepper.payload["steps"]) == verdict.steps + 1
        if verdict.step > 0:
            states = line(stepper).verdicts_at(verdict.step)
            assert {v["property"]: v["state"] for v in states}[verdict.broken] == "broken"


def test_a_campaigns_run_can_be_branched_within_what_its_faults_left() -> None:
    stepper = open_seeded(TWO, "repaired", "calm", 1)
    with pytest.raises(
        ValueError, match=r"^that is not possible here: broker crashes: this run allows 0"
    ):
        lab_of(stepper).respond(
            {"do": "take", "choice": choice_id(CrashBroker(5)), "branch": 0, "step": 3}
        )


# -- files -------------------------------------------------------------------------------------


def test_a_saved_run_opens_again_with_its_branches_where_the_reader_stood(tmp_path: Any) -> None:
    stepper = open_run(SHARE)
    stepper.step = 30
    take(stepper, CrashBroker(5))
    take(stepper, StartBroker(5))
    path = tmp_path / "run.trace"
    save(stepper, path)
    again = open_trace(path)
    assert (again.branch, again.step) == (stepper.branch, stepper.step)
    here, there = line(stepper), line(again)
    assert [s["sentence"] for s in there.steps] == [s["sentence"] for s in here.steps]
    assert [v["state"] for v in there.verdicts] == [v["state"] for v in here.verdicts]
    assert again.payload["bigs"] == stepper.payload["bigs"]
    world = lab_of(again).run_at(again.branch, again.step).trace.world
    assert world.digest == lab_of(stepper).run_at(stepper.branch, stepper.step).trace.world.digest


def test_a_file_that_is_none_is_answered_with_one_sentence(tmp_path: Any) -> None:
    path = tmp_path / "no.trace"
    path.write_text("{}\n")
    with pytest.raises(TraceFileError) as wrong:
        open_trace(path)
    assert "\n" not in str(wrong.value)


def test_the_properties_of_a_lab_are_those_of_the_scenarios() -> None:
    observers = lab_of(open_run(SHARE)).trace.observers
    assert [prop.name for prop in observers] == [prop.name for prop in PROPERTIES]
