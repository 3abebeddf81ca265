"""The calls of a notebook: open, save and open again, search, list."""

from __future__ import annotations

import json
import warnings

import pytest

import kipviz
from kipviz.checking.single_run.seeded_run import Task, run
from kipviz.core.traces.tracefile import TraceFileError
from kipviz.core.values import digest_of
from kipviz.widgets.lab import TraceChanged


def other_choices(stepper):
    items = stepper._line.choices_at(stepper.step)
    return [item["id"] for item in items if item["enabled"] and not item["taken"]]


@pytest.fixture
def branched():
    """A stepper with a branch and a branch of that branch."""
    stepper = kipviz.open("kip-1289-share-commit")
    stepper.step = 5
    stepper.take(other_choices(stepper)[0])
    return stepper.take(other_choices(stepper)[0])


def test_a_stepper_saved_with_its_branches_opens_where_it_was_left(branched, tmp_path):
    kipviz.save(branched, tmp_path / "run.trace")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = kipviz.open_trace(tmp_path / "run.trace")
    assert (again.branch, again.step) == (branched.branch, branched.step)
    told = json.loads(json.dumps(again.payload["branches"]))
    assert told == json.loads(json.dumps(branched.branches))
    main = {**again.payload, "branches": []}
    assert json.dumps(main) == json.dumps(branched.payload)


def test_a_reopened_stepper_still_answers(branched, tmp_path):
    kipviz.save(branched, tmp_path / "run.trace")
    again = kipviz.open_trace(tmp_path / "run.trace")
    again.take(other_choices(again)[-1])
    assert [branch["id"] for branch in again.branches] == [3]
    again.branch, again.step = 0, 3
    again.take(other_choices(again)[0])
    assert again.branches[-1]["parent"] == 0


def test_a_fresh_stepper_opens_at_its_start_again(tmp_path):
    kipviz.save(kipviz.open("kip-1289-small"), tmp_path / "run.trace")
    again = kipviz.open_trace(tmp_path / "run.trace")
    assert (again.branch, again.step) == (0, 0)
    assert len(again.payload["bigs"]) == len(kipviz.open("kip-1289-small").payload["bigs"])


def test_a_model_that_has_moved_on_is_a_warning(tmp_path):
    file = tmp_path / "run.trace"
    kipviz.save(kipviz.open("kip-1289-lock-expiry", "finding-D"), file)
    lines = file.read_bytes().removesuffix(b"\n").split(b"\n")
    lines[0] = lines[0].replace(b'"finding-D"', b'"repaired"')
    body = b"\n".join(lines[:-1]) + b"\n"
    end = json.loads(lines[-1]) | {"digest": digest_of(body).hex(), "checks": "", "seal": ""}
    file.write_bytes(body + json.dumps(end).encode() + b"\n")
    with pytest.warns(TraceChanged, match="the model has changed since this trace was saved"):
        again = kipviz.open_trace(file)
    assert again.payload["design"]["name"] == "repaired"


def test_what_is_no_trace_file_is_refused(tmp_path):
    (tmp_path / "other").write_text("nothing")
    with pytest.raises(TraceFileError, match=r"is (not a|neither a) trace file"):
        kipviz.open_trace(tmp_path / "other")


def test_a_stepper_without_a_model_cannot_be_saved(tmp_path):
    stepper = kipviz.open("kip-1289-small")
    shown = type(stepper)(stepper.payload)
    with pytest.raises(ValueError, match="only a stepper with a model behind it"):
        kipviz.save(shown, tmp_path / "run.trace")
    assert list(tmp_path.iterdir()) == []


def test_a_campaigns_run_opens_by_its_names_its_task_and_its_verdict():
    task = Task("kip-1289-two-members", "finding-D", "rough", 3)
    verdict = run(task)
    steppers = [
        kipviz.open_seeded("kip-1289-two-members", "finding-D", "rough", 3),
        kipviz.open_seeded(task),
        kipviz.open_seeded(verdict),
    ]
    assert len({repr(stepper) for stepper in steppers}) == 1
    assert len(steppers[0].payload["steps"]) == verdict.steps + 1
    with pytest.raises(ValueError, match="a seed must be a whole number"):
        kipviz.open_seeded("kip-1289-two-members", "finding-D", "rough", "3")


def test_a_search_opens_the_run_that_it_found():
    found = kipviz.explore("kip-1289-small", "finding-D", {"expire_lock": 1})
    (example,) = found.explored.counterexamples
    stepper = found.open()
    assert len(stepper.payload["steps"]) == len(example.actions) + 1
    last = [v for v in stepper.payload["verdicts"] if v["to"] is None]
    assert {v["property"] for v in last if v["state"] == "broken"} == {example.property}
    text = repr(found)
    assert text.startswith(found.explored.sentence)
    assert "the lock of src-0@100 expires" in text.splitlines()[-1]
    assert kipviz.explore("kip-1289-small", "finding-D", "expire_lock=1").explored == found.explored


def test_a_search_can_be_reduced_by_name():
    found = kipviz.explore("kip-1289-small", "repaired", reduce="order").explored
    assert (found.states, found.reductions) == (614, ("order",))
    with pytest.raises(ValueError, match="there is no reduction 'magic'"):
        kipviz.explore("kip-1289-small", "repaired", reduce="magic")


def test_a_search_that_found_nothing_has_nothing_to_open():
    found = kipviz.explore("kip-1289-small", "repaired", states_max=30)
    assert repr(found) == f"{found.explored.sentence}\n{found.explored.under}"
    with pytest.raises(LookupError, match="found no run that breaks a property"):
        found.open()


def test_a_campaign_is_a_panel_that_can_run():
    panel = kipviz.campaign("kip-1289-small", ["repaired", "finding-D"], runs=2, way="loop")
    result = panel.run()
    assert [row.runs for row in result.summary()] == [2, 2]
    with pytest.raises(ValueError, match="no design 'none'"):
        kipviz.campaign("kip-1289-small", "none")


def test_a_catalogue_is_text_and_goes_over_its_names():
    for catalogue in (kipviz.list_scenarios(), kipviz.list_designs()):
        assert len(list(catalogue)) == len(catalogue)
        for name in catalogue:
            assert name in repr(catalogue)


def test_every_name_of_the_package_is_there_and_no_other():
    for name in kipviz.__all__:
        assert getattr(kipviz, name) is not None
    assert set(kipviz.__all__) <= set(dir(kipviz))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = kipviz.nothing
