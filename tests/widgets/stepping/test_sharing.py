"""What a reader takes away from a stepper: a link, files, rows."""

from __future__ import annotations

import json
import warnings

import pytest

import kipviz
from kipviz.checking.judging.faults import HOSTILE
from kipviz.checking.single_run import permalink as links
from kipviz.checking.single_run import runs
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.links.link import BadLink
from kipviz.core.links.linkcode import read, write
from kipviz.core.scheduler import Scheduler
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design as design_named
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.widgets.lab import TraceChanged, stepper_of
from kipviz.widgets.pages.page import page
from kipviz.widgets.stepping.files import file_of
from kipviz.widgets.stepping.stepper import Stepper
from tests.widgets import flow
from tests.widgets.branched import branch_story


def test_a_link_opens_every_place_of_every_branch():
    stepper = branch_story()
    for branch in range(len(stepper.branches) + 1):
        stepper.branch = branch
        for step in sorted({0, min(20, stepper._line.last), stepper._line.last}):
            stepper.step = step
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                again = kipviz.open(kipviz.permalink(stepper))
            assert again.step == step
            assert again._line.steps[step]["sentence"] == stepper._line.steps[step]["sentence"]
            assert [s["mark"] for s in again._line.steps] == [
                s["mark"] for s in stepper._line.steps
            ]
            assert again.permalink() == stepper.permalink()


def test_the_link_of_a_stepper_is_that_of_its_run():
    run = runs.play("kip-1289-small")
    stepper = stepper_of(run)
    for step in (0, 7, len(run.trace.line) - 1):
        stepper.step = step
        assert stepper.permalink() == links.permalink(run.at(run.trace.jump(run.trace.line[step])))


def test_a_link_of_another_model_opens_with_a_warning():
    link = read(stepper_of(runs.play("kip-1289-small")).permalink())
    with pytest.warns(TraceChanged, match="the initial state differs"):
        kipviz.open(write(link.but(start=link.start ^ 1)))


def test_what_is_no_link_is_refused_in_one_sentence():
    with pytest.raises(BadLink, match="cut off or damaged"):
        kipviz.open("kv2.nonsense")
    with pytest.raises(ValueError, match="brings its own design"):
        kipviz.open("kv2.nonsense", "repaired")
    with pytest.raises(ValueError, match="of no such scenario"):
        Stepper(flow.share_payload()).permalink()


def test_steps_are_rows_that_pandas_takes():
    stepper = branch_story()
    stepper.branch = 1
    rows = stepper.steps()
    table = stepper.frame()
    assert list(table["step"]) == list(range(stepper._line.last + 1))
    assert list(table["sentence"]) == [step["sentence"] for step in stepper._line.steps]
    assert set(table["atomic"]) <= {"holds", "pending", "broken"}
    assert table["big_step"].iloc[5]
    assert {row["message"] for row in rows[31:]} != {""}
    arrived = [m["label"] for m in stepper.branches[0]["messages"] if m["arrived"] == 31]
    assert rows[31]["message"] == ", ".join(arrived)


# --- files -----------------------------------------------------------------------------------------


def test_the_page_gets_a_file_as_a_message_and_errors_as_words():
    stepper = branch_story()
    sent = []
    stepper.send = sent.append
    stepper._on_message(stepper, {"do": "file", "id": 7, "what": "trace", "step": 3}, [])
    assert (sent[0]["id"], sent[0]["name"]) == (7, "kip-1289-lock-expiry-step-3.trace")
    stepper._on_message(stepper, {"do": "else"}, [])
    stepper._on_message(stepper, {"do": "file", "id": 8, "what": "exe"}, [])
    assert sent[1]["error"].startswith("The file could not be made: there is no file of the kind")
    assert len(sent) == 2
    recorded = Stepper(flow.share_payload())
    with pytest.raises(ValueError, match="no model behind it"):
        file_of("trace", recorded.payload, 0, 0, recorded.lab)


def test_a_trace_file_from_the_page_opens_where_it_was_left(tmp_path):
    stepper = branch_story()
    made = file_of("trace", stepper.payload, 1, 32, stepper.lab)
    path = tmp_path / made["name"]
    path.write_text(made["text"], encoding="utf-8")
    again = kipviz.open_trace(path)
    assert (again.branch, again.step) == (1, 32)
    assert len(again.known_branches) == len(stepper.branches)


def test_a_page_from_the_page_opens_at_its_step_and_branch():
    stepper = branch_story()
    payload = {**stepper.payload, "branches": stepper.known_branches}
    made = file_of("html", payload, 1, 32, stepper.lab)
    assert 'data-place="#step=32&amp;branch=1"' in made["text"]
    assert made["name"].endswith(".html")


def the_test_in(source: str):
    """The one test of a file."""
    scope = {}
    exec(compile(source, "test_run.py", "exec"), scope)
    (test,) = (value for name, value in scope.items() if name.startswith("test_"))
    return test


@pytest.mark.parametrize("branch", [0, 1])
def test_a_test_from_the_page_passes(branch):
    stepper = branch_story()
    made = file_of("pytest", stepper.payload, branch, 32, stepper.lab)
    assert made["name"] == "test_kip_1289_lock_expiry_step_32.py"
    the_test_in(made["text"])()
    with pytest.raises(AssertionError):
        the_test_in(made["text"].replace('FINGERPRINT = "', 'FINGERPRINT = "f'))()


def test_a_run_under_other_settings_has_a_link_of_its_own():
    stepper = stepper_of(runs.play("kip-1289-lock-expiry"))
    stepper.step = 30
    for change in ("replication=stepwise", "lock_expiry=pinned_until_marker", "crash_broker=1"):
        stepper.branch, stepper.step = 0, 30
        stepper.change(change)
        if stepper.branch == 0:
            continue
        stepper.step = min(stepper.step + 2, stepper._line.last)
        again = kipviz.open(stepper.permalink())
        assert again.step == stepper.step
        assert again.permalink() == stepper.permalink()
        assert [s["sentence"] for s in again._line.steps] == [
            s["sentence"] for s in stepper._line.steps
        ]
        assert again.lab.model.spec == stepper.lab.run_at(stepper.branch, 0).model.spec
        made = file_of("pytest", stepper.payload, stepper.branch, stepper.step, stepper.lab)
        the_test_in(made["text"])()
    assert len(stepper.branches) >= 2


@pytest.mark.slow
def test_a_page_of_a_thousand_steps_is_smaller_than_a_megabyte():
    scenario, design = scenario_named("kip-1289-two-members"), design_named("repaired")
    kinds = [k for k in FaultBudget.__struct_fields__ if getattr(HOSTILE.budget, k)]
    model = scenario.model(design, FaultBudget(**dict.fromkeys(kinds, 50)))
    trace, dice = Trace.start(model, PROPERTIES), Scheduler(1, HOSTILE.profile)
    for step in range(1, 1001):
        trace = trace.take(dice.choose(step, model.enabled(trace.world), model.kind))
    stepper = stepper_of(runs.Run(scenario, design, model, trace.first()))
    assert len(page(stepper.payload).encode()) < 1_000_000
    # Every kind of fault that may happen makes a choice a little longer.
    assert len(stepper.permalink()) < 1.6 * 1000


def test_the_kernel_writes_a_line_for_other_tools():
    stepper = stepper_of(runs.play("kip-1289-small"))
    made = {
        what: file_of(what, stepper.payload, 0, 12, stepper.lab)
        for what in ("plantuml", "itf", "shiviz")
    }
    assert [each["name"] for each in made.values()] == [
        "kip-1289-small-step-12.puml",
        "kip-1289-small-step-12.itf.json",
        "kip-1289-small-step-12.shiviz.log",
    ]
    assert made["plantuml"]["text"].startswith("@startuml\n")
    assert len(json.loads(made["itf"]["text"])["states"]) == stepper.last_step + 1
    assert made["shiviz"]["text"].startswith("(?<host>")
