"""The landscape in a notebook: two settings to pick, cells to open, and a search that can be stopped."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import kipviz
from kipviz.checking.timed import landscape as searched
from kipviz.checking.timed.axes import LOCK, TIMEOUT
from kipviz.widgets.results.landscape import Landscape, LandscapePanel

SECONDS = 30
LOCKS, TIMEOUTS = (LOCK, [10_000]), (TIMEOUT, [5_000, 60_000])


def panel(*designs: str) -> LandscapePanel:
    return kipviz.landscape(designs or ("repaired", "finding-D"), LOCKS, TIMEOUTS)


@pytest.fixture(scope="module")
def ran() -> LandscapePanel:
    made = panel()
    made.run()
    return made


@pytest.fixture(scope="module")
def found(ran: LandscapePanel) -> Landscape:
    assert ran.result is not None
    return ran.result


def cell(of: LandscapePanel, words: str) -> Any:
    grids = of.grids.children[1::2]
    buttons = [w for grid in grids for w in grid.children if hasattr(w, "on_click")]
    return next(b for b in buttons if words in b.tooltip)


def test_the_map_has_a_mark_for_each_cell_and_a_shape_for_each_verdict(found: Landscape) -> None:
    marks = {trace.name: trace for trace in found.map().data}
    assert {name: len(trace.x) for name, trace in marks.items()} == {
        "never commits": 2,
        "holds": 1,
        "“atomic” breaks": 1,
    }
    assert len({trace.marker.symbol for trace in marks.values()}) == 3
    assert marks["“atomic” breaks"].y == ("finding-D, 10 s",)


def test_a_cell_opens_in_the_stepper_where_the_property_breaks(found: Landscape) -> None:
    assert "atomic" in repr(found.open("finding-D", 10_000, 60_000))
    with pytest.raises(LookupError, match="nothing breaks there"):
        found.open("repaired", 10_000, 60_000)


def test_before_it_was_searched_the_text_is_the_question() -> None:
    asked = panel()
    assert repr(asked) == (
        f"Landscape of kip-1289-small: {LOCK} against {TIMEOUT}, 4 cells. Not searched yet."
    )
    assert asked._repr_mimebundle_()["text/plain"] == repr(asked)  # type: ignore[index]
    with pytest.raises(RuntimeError, match="press Run"):
        asked.wait()
    with pytest.raises(LookupError, match="nothing was searched yet"):
        asked.open_cell("repaired", 10_000, 60_000)


def test_a_verdict_is_a_sign_words_and_a_border_and_only_what_breaks_opens(
    ran: LandscapePanel,
) -> None:
    breaks = cell(ran, "finding-D, " + LOCK + " 10 s, " + TIMEOUT + " 60 s")
    holds = cell(ran, "repaired, " + LOCK + " 10 s, " + TIMEOUT + " 60 s")
    idle = cell(ran, "repaired, " + LOCK + " 10 s, " + TIMEOUT + " 5 s")
    words = [b.description for b in (breaks, holds, idle)]
    assert words == ["✗ atomic after 40", "✓ holds", "○ never commits"]
    assert len({b.layout.border_top for b in (breaks, holds, idle)}) == 3
    assert len({b.style.button_color for b in (breaks, holds, idle)}) == 3
    holds.click()
    assert ran.stepper is None
    (said,) = ran.shown.children
    assert "60 s: holds. 704 states" in said.value
    breaks.click()
    assert ran.stepper is not None
    assert ran.shown.children[1] is ran.stepper
    assert "finding-D" in ran.shown.children[0].value


def test_other_settings_are_picked_and_nonsense_is_told_in_the_panel() -> None:
    asked = panel("finding-D")
    assert "work_ms" in asked.down.options
    assert "group.consumer.session.timeout.ms" not in asked.down.options
    asked.down.value, asked.down_values.value = "work_ms", "1000, twenty"
    asked.start()
    assert asked.status.value.startswith("&#x27;twenty&#x27; is not a whole number")
    asked.down_values.value = "20_000, 1_000"
    asked.start()
    assert "each greater than the previous one" in asked.status.value
    asked.down_values.value, asked.across_values.value = "1_000, 20_000", "60000"
    result = asked.run()
    assert [s.verdict for s in result.found.spots] == ["holds", "holds"], "the lock lasts 30 s"
    assert asked.status.value == f"0 of 2 cells break a property, {_states(result):,} states."


def _states(result: Landscape) -> int:
    return sum(spot.explored.states for spot in result.found.spots)


def test_without_threads_the_search_runs_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("kipviz.widgets.results.landscape.THREADS", False)
    monkeypatch.setattr("threading.Thread.start", refuse)
    asked = panel("repaired")
    found = asked.run()
    assert len(found.found.spots) == 2
    assert asked.wait() is found


def test_the_cancel_button_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    reached, go_on = threading.Event(), threading.Event()
    real = searched.landscape

    def slowly(question: Any, bounds: Any, progress: Any) -> Any:
        for spot in real(question, bounds, progress):
            yield spot
            reached.set()
            assert go_on.wait(SECONDS)

    monkeypatch.setattr(searched, "landscape", slowly)
    asked = panel("repaired")
    asked.run_button.click()
    assert reached.wait(SECONDS)
    assert asked.run_button.disabled
    asked.cancel_button.click()
    go_on.set()
    result = asked.wait()
    verdicts = [spot.verdict for spot in result.found.spots]
    assert verdicts == ["never commits", "nothing so far"]
    assert "1 of" not in asked.status.value.split(".")[0]
    assert asked.bar.bar_style == "warning"
    assert not asked.run_button.disabled


@pytest.mark.parametrize(
    ("down", "sentence"),
    [
        ("locks", "an axis must be a setting and its values, not 'locks'"),
        (("locks", [1]), "there is no axis 'locks'"),
        ((TIMEOUT, [1]), "must be different settings"),
    ],
)
def test_what_is_no_landscape_is_refused_in_one_sentence(down: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        kipviz.landscape(["repaired"], down, TIMEOUTS)
