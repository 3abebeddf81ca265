"""Every long call of a notebook says what is done and left, is ended by the stop button, and keeps what it found."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest

import kipviz
from kipviz.checking.single_run.permalink import mark_text
from kipviz.recordings.judging import report
from kipviz.recordings.judging.report import in_this_process, of_evidence
from kipviz.recordings.request_context.evidence import of_recording
from kipviz.widgets import progress
from kipviz.widgets.rebuilt_logs import run_of_logs
from kipviz.widgets.results import decisions
from tests.notebooks.canonical import canonical

SMALL = "kip-1289-small"
RECORDING = Path(__file__).parents[2] / "recordings" / "kafka-4.4.0" / "transaction-answers"
# A call, what it says of how far it is, and how much its result has.
LONG: dict[str, tuple[Callable[[], Any], str, Callable[[Any], int]]] = {
    "explore": (
        lambda: kipviz.explore(SMALL, "repaired"),
        "states of at most 200,000, depth",
        lambda found: found.explored.states,
    ),
    "outcomes": (
        lambda: kipviz.outcomes(SMALL, "repaired", seeds=30),
        "of 30 runs",
        lambda found: sum(group.count for group in found.found.groups),
    ),
    "verdicts": (
        lambda: kipviz.verdicts(SMALL, ["repaired", "finding-I", "finding-A"]),
        "2 of 3 designs, finding-I: ",
        lambda found: len(found.page()),
    ),
    "ablate": (
        lambda: kipviz.ablate(SMALL, faults=[""], pairs=False),
        "2 of at most 6 designs, ",
        lambda found: len(found.rows),
    ),
    "repair": (
        lambda: kipviz.repair(SMALL, "finding-D", faults="expire_lock=1"),
        "2 designs tried, ",
        lambda found: len(found.page()),
    ),
    "saves": (
        lambda: kipviz.saves(
            kipviz.open_seeded("kip-1289-two-members", "finding-D", "rough", 3), search=True
        ),
        "decisions tried, ",
        lambda found: len(found.page()),
    ),
    "study": (lambda: kipviz.study("B8"), " done, ", lambda found: len(found.page())),
    "findings": (
        lambda: kipviz.findings("A", "D", "I"),
        "2 of 3 findings, ",
        lambda found: len(found.shown),
    ),
    "accept": (
        lambda: kipviz.accept(RECORDING),
        " of 187 requests compared",
        lambda found: len(found.asked),
    ),
    "rebuild": (
        lambda: kipviz.rebuild(RECORDING),
        " batches replayed",
        lambda found: found.last_step,
    ),
    "corners": (
        lambda: kipviz.corners(["repaired"]),
        "2 cases played, ",
        lambda found: len(found.told),
    ),
}
# These draw a bar with Run and Cancel: tests/widgets/results/test_campaign_view.py and test_landscape.py press them.
PANELS = {"campaign", "landscape"}


class Below:
    """What stands below a cell: one output that is written over."""

    def __init__(self, interrupt_at: int = 0) -> None:
        self.said: list[str] = []
        self._interrupt_at = interrupt_at

    def display(self, data: dict[str, str], **more: Any) -> Below:
        assert more["metadata"] == progress.MARK
        self.said.append(data["text/plain"])
        if len(self.said) == self._interrupt_at:
            signal.raise_signal(signal.SIGINT)
        return self

    def update(self, data: dict[str, str], **more: Any) -> None:
        self.display(data, **more)


@pytest.fixture
def below(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Below]:
    def put(interrupt_at: int = 0) -> Below:
        made = Below(interrupt_at)
        monkeypatch.setattr("IPython.display.display", made.display)
        return made

    monkeypatch.setattr(progress, "_in_a_notebook", lambda: True)
    monkeypatch.setattr(progress, "SECONDS_BEFORE", 0)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", 0)
    # How far a search of a decision goes changes nothing about how it is told and ended.
    monkeypatch.setattr(decisions, "STATES_MAX", 1_000)
    return put


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_a_long_call_says_how_far_it_is_and_the_stop_button_keeps_what_it_found(
    name: str, below: Callable[..., Below]
) -> None:
    call, words, size = LONG[name]
    line = below()
    whole = size(call())
    assert any(words in said for said in line.said), line.said[:4]
    assert all(said.endswith(progress.STOP) for said in line.said[:-1])
    assert line.said[-1] == "", "the result stands there alone"
    cut = below(interrupt_at=2)
    assert 0 < size(call()) < whole
    # What was found is drawn, which says how far it is, too.
    assert len([said for said in cut.said if "steps drawn" not in said]) <= 4
    assert cut.said[-1] == ""


def test_a_call_that_is_over_in_a_second_says_nothing(
    below: Callable[..., Below], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = below()
    monkeypatch.setattr(progress, "SECONDS_BEFORE", 1000)
    kipviz.explore(SMALL, "repaired")
    assert line.said == []


def test_outside_a_notebook_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Below()
    monkeypatch.setattr("IPython.display.display", line.display)
    monkeypatch.setattr(progress, "SECONDS_BEFORE", 0)
    kipviz.explore(SMALL, "repaired")
    assert line.said == []


def test_a_stored_notebook_has_no_line_of_progress() -> None:
    v4 = nbformat.v4
    line = v4.new_output("display_data", {"text/plain": ""}, metadata=dict(progress.MARK))
    result = v4.new_output("execute_result", {"text/plain": "686 states"})
    cell = v4.new_code_cell("x", outputs=[line, result])
    made = canonical(v4.new_notebook(cells=[cell]))
    assert [each.data for each in made.cells[0].outputs] == [{"text/plain": "686 states"}]


def test_a_kernel_says_how_far_it_is_but_not_to_nbval_which_compares_all_outputs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = SimpleNamespace(kernel=object())
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: kernel)
    monkeypatch.setenv("PYTEST_VERSION", "9")
    assert not progress._in_a_notebook()
    monkeypatch.delenv("PYTEST_VERSION")
    assert progress._in_a_notebook()


def test_a_rebuilding_that_is_stopped_says_what_it_left_out_or_goes_on_from_where_it_stands() -> (
    None
):
    def until(name: str, count: int) -> Callable[..., bool]:
        return lambda done, _of, what: what != name or done < count

    whole = run_of_logs(RECORDING)
    some = run_of_logs(RECORDING, go_on=until("logs read", 3))
    assert some.scenario.title.endswith(" logs were not read")
    assert 0 < some.trace.depth < whole.trace.depth
    begun = run_of_logs(RECORDING, go_on=until("batches replayed", 5))
    assert begun.trace.depth == 5
    assert begun.model.enabled(begun.trace.world), "the next batch is the next step"


def test_drawing_a_rebuilt_log_says_how_many_steps_are_drawn(below: Callable[..., Below]) -> None:
    line = below()
    last = kipviz.rebuild(RECORDING.parent / "commit-and-abort").last_step
    drawn = [said for said in line.said if "steps drawn" in said]
    assert drawn[0].startswith(f"0 of {last + 1} steps drawn. ")
    assert len(drawn) == last + 1
    assert line.said[-1] == ""


@pytest.mark.slow
def test_a_comparison_that_was_stopped_says_nothing_of_clocks() -> None:
    evidence = of_recording(RECORDING)
    moved = evidence.but(
        exchanges=tuple(
            x.but(received_ms=x.received_ms + 7_200_000, answered_ms=x.answered_ms + 7_200_000)
            for x in evidence.exchanges
        )
    )
    judge = partial(in_this_process, go_on=lambda done, _of: done < 100)
    stopped = of_evidence(moved, judge)
    assert stopped.stopped
    assert not of_evidence(moved).stopped
    assert stopped.refused
    assert report._make_report(moved, "+00:00", judge).clock == ""
    assert report._make_report(moved, "+00:00", in_this_process).clock != ""


def test_the_marks_of_a_rebuilt_run_are_known_when_it_was_replayed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = run_of_logs(RECORDING)

    def begin_again(record: object) -> bytes:
        raise AssertionError(f"a log begins again at its start: {record}")

    monkeypatch.setattr("kipviz.core.log.encoding", begin_again)
    for node in run.trace.path(run.trace.cursor):
        assert mark_text(run.trace.node(node).world)
