"""The timeout landscape in a notebook: choose two settings, watch the search, open any cell.

The panel searches in its own thread, so that the page stays responsive and the cancel button works; the results before
a cancellation are kept. Cells are buttons: Tab and Enter reach each of them, and a verdict has a sign, words and a
border besides its colour. A notebook stores the text: the question before the search, the tables afterwards.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from html import escape
from typing import Any

import ipywidgets
from plotly import graph_objects as go

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.timed import landscape as searched
from kipviz.checking.timed.axes import SETTINGS, Axis, settings_of
from kipviz.checking.timed.landscape import NEVER_COMMITS, SO_FAR, LandscapeQuestion, Spot
from kipviz.cluster.timing.clock import ms
from kipviz.core.outside.printable import complete_sentence
from kipviz.core.outside.validation import several
from kipviz.properties.verdict import HOLDS
from kipviz.scenarios.library import searched_scenario
from kipviz.views.measures.landscape import landscape_blocks
from kipviz.views.reports.blocks import Blocks
from kipviz.views.tones import IDLE, KEPT, OPEN, VIOLATED
from kipviz.widgets.discoverable import Discoverable
from kipviz.widgets.lab import stepper_of
from kipviz.widgets.results.campaign_view import TEMPLATE, THREADS
from kipviz.widgets.results.result_page import ResultPage
from kipviz.widgets.stepping.stepper import Stepper

# Each verdict has a colour (Okabe-Ito), a shape, a sign and its own words: none is shown by colour alone.
MARKERS = {
    HOLDS: ("#009E73", "circle"),
    NEVER_COMMITS: ("#999999", "square-open"),
    SO_FAR: ("#56B4E9", "diamond-open"),
}
BROKEN_MARKER = ("#D55E00", "x")
SIGNS = {HOLDS: KEPT, NEVER_COMMITS: IDLE, SO_FAR: OPEN}
# Dark text on a light background in both of JupyterLab's themes, at a contrast above 7:1.
GROUNDS = {HOLDS: "#cdeee3", NEVER_COMMITS: "#e6e6e6", SO_FAR: "#d8eefb"}
BROKEN_GROUND, LETTERS = "#ffd9c7", "#1a1a1a"
BORDERS = {HOLDS: "2px solid #009E73", NEVER_COMMITS: "2px dotted #666666"}
STATES_MAX = 200_000
# The words of a cell wrap if its column is narrow.
STYLE = """<style>
.kipviz-landscape .jupyter-button { white-space: normal; line-height: 1.25; padding: 3px 4px; }
</style>"""


class Landscape(ResultPage):
    """Which property breaks where, by two settings.

    Attributes:
        found: the cells with their verdicts and shortest runs.
    """

    def __init__(self, found: searched.Landscape) -> None:
        """Keep the cells."""
        self.found = found

    def open(self, design: str, down: int, across: int) -> Stepper:
        """Open the shortest run that breaks a property in a cell, at the violation.

        Raises:
            LookupError: if nothing breaks there, or the cell was not searched.
        """
        return stepper_of(self.found.find_break(design, down, across).run).last()

    def map(self) -> go.Figure:
        """Return the map: a row for each design and value of one setting, a column for each value of the other."""
        asked = self.found.question
        designs = list(dict.fromkeys(spot.design for spot in self.found.spots))
        traces = [
            self._marks(verdict, [s for s in self.found.spots if s.verdict == verdict])
            for verdict in dict.fromkeys(spot.verdict for spot in self.found.spots)
        ]
        rows = [
            self._row(design, value)
            for design in reversed(designs)
            for value in reversed(asked.down.values)
        ]
        return go.Figure(
            data=traces,
            layout={
                "template": TEMPLATE,
                "title": {"text": f"A batch takes {ms(asked.work_ms)}: what breaks where"},
                "xaxis": {
                    "title": {"text": asked.across.setting},
                    "categoryorder": "array",
                    "categoryarray": [asked.across.word(v) for v in asked.across.values],
                },
                "yaxis": {"categoryorder": "array", "categoryarray": rows, "automargin": True},
                "height": 120 + 34 * len(rows),
            },
        )

    def _row(self, design: str, value: int) -> str:
        return f"{design}, {self.found.question.down.word(value)}"

    def _marks(self, verdict: str, spots: list[Spot]) -> go.Scatter:
        colour, symbol = MARKERS.get(verdict, BROKEN_MARKER)
        broken = any(spot.explored.counterexamples for spot in spots)
        across = self.found.question.across
        return go.Scatter(
            name=f"“{verdict}” breaks" if broken else verdict,
            x=[across.word(spot.across) for spot in spots],
            y=[self._row(spot.design, spot.down) for spot in spots],
            mode="markers",
            customdata=[f"{escape(s.words)}, {s.explored.states:,} states" for s in spots],
            hovertemplate="%{y}, %{x}<br>%{customdata}<extra></extra>",
            marker={"color": colour, "symbol": symbol, "size": 16, "line": {"width": 2}},
        )

    def blocks(self) -> Blocks:
        """Return the blocks of the page."""
        return landscape_blocks(self.found)

    def open_run(self, run: str) -> Stepper:
        """Open the violation in a cell; its key is the number of the cell, from 0."""
        spot = self.found.spots[int(run)]
        return self.open(spot.design, spot.down, spot.across)


class LandscapePanel(Discoverable, ipywidgets.VBox):
    """A landscape on the page: two settings to choose, run and cancel buttons, and a grid of cells to open.

    Attributes:
        result: the result of the last search, which may be partial; None before.
        stepper: the cell that was opened last, or None.
    """

    def __init__(self, question: LandscapeQuestion, states_max: int = STATES_MAX) -> None:
        """Lay out the panel.

        Raises:
            ValueError: if the question is not valid, in one sentence.
        """
        searched.check(question)
        self.question = question
        self.result: Landscape | None = None
        self.stepper: Stepper | None = None
        self._bounds = Bounds(states_max=states_max)
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._cancelled = False
        self.down, self.down_values = _picker("down", question, question.down)
        self.across, self.across_values = _picker("across", question, question.across)
        self.run_button = ipywidgets.Button(description="Run")
        self.cancel_button = ipywidgets.Button(description="Cancel", disabled=True)
        self.bar = ipywidgets.IntProgress(value=0, min=0, max=question.cells)
        self.status = ipywidgets.HTML("Not searched yet.")
        self.grids = ipywidgets.VBox()
        self.shown = ipywidgets.VBox()
        self.run_button.on_click(lambda _: self.start())
        self.cancel_button.on_click(lambda _: self.cancel())
        wraps = ipywidgets.Layout(flex_flow="row wrap", align_items="center")
        super().__init__(
            [
                ipywidgets.HBox([self.down, self.down_values], layout=wraps),
                ipywidgets.HBox([self.across, self.across_values], layout=wraps),
                ipywidgets.HBox([self.run_button, self.cancel_button, self.bar], layout=wraps),
                self.status,
                self.grids,
                self.shown,
                ipywidgets.HTML(STYLE),
            ]
        )
        self.add_class("kipviz-landscape")

    # -- what the buttons do -----------------------------------------------------------------------

    def start(self) -> None:
        """Start the search in the background; do nothing if one is running. In a browser it runs in place."""
        if self._thread is not None and self._thread.is_alive():
            return
        self._cancelled = False
        self._error = None
        try:
            self.question = self._make_question()
            searched.check(self.question)
        except ValueError as wrong:
            self.status.value = escape(complete_sentence(str(wrong)))
            return
        self.run_button.disabled, self.cancel_button.disabled = True, False
        self.bar.max, self.bar.value, self.bar.bar_style = self.question.cells, 0, ""
        self.shown.children = ()
        self._lay_out()
        self._thread = threading.Thread(target=self._run, name="kipviz-landscape", daemon=True)
        if THREADS:
            self._thread.start()
        else:
            self._thread.run()

    def cancel(self) -> None:
        """Ask the search to stop; its results are kept."""
        self._cancelled = True
        self.cancel_button.disabled = True

    def wait(self) -> Landscape:
        """Wait for the end and return the result; an interrupted wait cancels the search and keeps its results.

        Raises:
            RuntimeError: if it was never started.
            Exception: the error of the search.
        """
        if self._thread is None:
            raise RuntimeError("the landscape was not searched: call start() or press Run")
        try:
            if self._thread.is_alive():
                self._thread.join()
        except KeyboardInterrupt:
            self.cancel()
            self._thread.join()
        if self._error is not None:
            raise self._error
        assert self.result is not None
        return self.result

    def run(self) -> Landscape:
        """Start, wait and return the result: its text are the tables, `map()` is a figure."""
        self.start()
        return self.wait()

    def open_cell(self, design: str, down: int, across: int) -> Stepper:
        """Open the shortest run that violates a property in a cell, below the grid, and return it.

        Raises:
            LookupError: if nothing breaks there, or the cell was not searched.
        """
        if self.result is None:
            raise LookupError("nothing was searched yet")
        stepper = self.result.open(design, down, across)
        self._tell(self.question.place(design, down, across), stepper)
        self.stepper = stepper
        return stepper

    def _open_spot(self, spot: Spot) -> None:
        """Open the violation in a cell, or show the verdict of its search."""
        if spot.explored.counterexamples:
            self.open_cell(spot.design, spot.down, spot.across)
            return
        self._tell(
            f"{self.question.place(spot.design, spot.down, spot.across)}: {spot.verdict}. "
            f"{spot.explored.sentence}"
        )

    def _tell(self, words: str, *below: ipywidgets.Widget) -> None:
        self.shown.children = (ipywidgets.HTML(f"<b>{escape(words)}</b>"), *below)

    # -- pieces --------------------------------------------------------------------------------------

    def _make_question(self) -> LandscapeQuestion:
        return self.question.but(
            down=Axis(self.down.value, _numbers(self.down_values.value)),
            across=Axis(self.across.value, _numbers(self.across_values.value)),
        )

    def _run(self) -> None:
        spots: list[Spot] = []
        self.result = Landscape(searched.Landscape(self.question, ()))
        try:
            for spot in searched.landscape(self.question, self._bounds, self._progress):
                spots.append(spot)
                self.result = Landscape(searched.Landscape(self.question, tuple(spots)))
                self._show(spot)
                self.bar.value = len(spots)
            self.bar.bar_style = "warning" if self._cancelled else "success"
            self.status.value = escape(_sentence(self.question, spots))
        except Exception as error:  # noqa: BLE001  shown here and raised again by wait()
            self._error = error
            self.bar.bar_style = "danger"
            self.status.value = escape(complete_sentence(str(error) or type(error).__name__))
        finally:
            self.run_button.disabled, self.cancel_button.disabled = False, True

    def _progress(self, place: str, states: int, depth: int) -> bool:
        done = f"{self.bar.value} of {self.bar.max}"
        self.status.value = f"Cell {done} done. {escape(place)}: {states:,} states, depth {depth}."
        return not self._cancelled

    def _lay_out(self) -> None:
        """Create an empty cell for each verdict."""
        asked = self.question
        self._cells: dict[tuple[str, int, int], ipywidgets.Button] = {}
        grids: list[ipywidgets.Widget] = []
        for design in asked.designs:
            cells: list[ipywidgets.Widget] = [_head("")]
            cells += [_head(asked.across.word(value)) for value in asked.across.values]
            for down in asked.down.values:
                cells.append(_head(asked.down.word(down)))
                for across in asked.across.values:
                    button = ipywidgets.Button(
                        description="not searched",
                        tooltip=asked.place(design, down, across),
                        disabled=True,
                        layout=ipywidgets.Layout(width="auto", height="auto", min_height="34px"),
                    )
                    self._cells[design, down, across] = button
                    cells.append(button)
            columns = f"minmax(48px, 1fr) repeat({len(asked.across.values)}, minmax(0, 3fr))"
            grid = ipywidgets.GridBox(
                cells,
                layout=ipywidgets.Layout(grid_template_columns=columns, grid_gap="4px"),
            )
            title = ipywidgets.HTML(
                f"<b>{escape(design)}</b>: {escape(asked.down.setting)} down, "
                f"{escape(asked.across.setting)} across"
            )
            grids += [title, grid]
        self.grids.children = tuple(grids)

    def _show(self, spot: Spot) -> None:
        """Write a verdict into its cell; one that breaks opens its shortest run."""
        button = self._cells[spot.design, spot.down, spot.across]
        broken = bool(spot.explored.counterexamples)
        words = f"{spot.verdict} after {_steps(spot)}" if broken else spot.verdict
        button.description = f"{SIGNS.get(spot.verdict, VIOLATED)} {words}"
        place = self.question.place(spot.design, spot.down, spot.across)
        does = ". Opens the shortest run." if broken else "."
        button.tooltip = f"{place}: {spot.words}, {spot.explored.states:,} states{does}"
        button.style.button_color = GROUNDS.get(spot.verdict, BROKEN_GROUND)
        button.style.text_color = LETTERS
        button.layout.border = BORDERS.get(spot.verdict, "3px double #B34700")
        button.disabled = False
        button.on_click(lambda _: self._open_spot(spot))

    def __repr__(self) -> str:
        """Return the tables, or the question and its progress."""
        if self.result is not None:
            return repr(self.result)
        asked = self.question
        return (
            f"Landscape of {asked.scenario}: {asked.down.setting} against {asked.across.setting}, "
            f"{asked.cells} cells. {self.status.value}"
        )

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any] | None:
        bundle = super()._repr_mimebundle_(**options)
        if bundle is not None:
            bundle["text/plain"] = repr(self)  # ipywidgets would cut it off after 110 characters
            if self.result is not None:
                bundle["text/html"] = self.result.html()  # for readers without a kernel
        return bundle


def _picker(
    side: str, question: LandscapeQuestion, axis: Axis
) -> tuple[ipywidgets.Dropdown, ipywidgets.Text]:
    spec = searched_scenario(question.scenario).spec.but(budget=budget_of(question.faults))
    options = tuple(dict.fromkeys((axis.setting, *settings_of(spec))))
    pick = ipywidgets.Dropdown(
        options=options,
        value=axis.setting,
        description=side,
        tooltip="; ".join(f"{name}: {SETTINGS[name]}" for name in options),
        layout=ipywidgets.Layout(width="min(460px, 97%)"),
    )
    values = ipywidgets.Text(
        value=", ".join(map(str, axis.values)),
        description="values",
        tooltip="whole numbers with commas between them, in ms where it is a time",
        layout=ipywidgets.Layout(width="min(360px, 97%)"),
    )
    return pick, values


def _head(text: str) -> ipywidgets.HTML:
    return ipywidgets.HTML(
        f'<span style="overflow-wrap: anywhere; line-height: 1.3; display: block">'
        f"{escape(text)}</span>"
    )


def _numbers(text: str) -> tuple[int, ...]:
    """Parse integers that are separated by commas.

    Raises:
        ValueError: if one is not an integer.
    """
    words = [word.strip().replace("_", "") for word in text.split(",") if word.strip()]
    wrong = next((word for word in words if not word.isdecimal()), None)
    if wrong is not None:
        raise ValueError(f"{wrong!r} is not a whole number; values look like 10000, 30000")
    return tuple(map(int, words))


def _steps(spot: Spot) -> int:
    return min(len(c.actions) for c in spot.explored.counterexamples)


def _sentence(question: LandscapeQuestion, spots: Sequence[Spot]) -> str:
    broken = sum(bool(spot.explored.counterexamples) for spot in spots)
    missing = question.cells - len(spots)
    left = f" {missing} were not searched." if missing else ""
    states = sum(spot.explored.states for spot in spots)
    return f"{broken} of {len(spots)} cells break a property, {states:,} states.{left}"


def landscape(
    designs: Sequence[str] = searched.DESIGNS,
    down: tuple[str, Sequence[int]] = (searched.LOCKS.setting, searched.LOCKS.values),
    across: tuple[str, Sequence[int]] = (searched.TIMEOUTS.setting, searched.TIMEOUTS.values),
    work_ms: int = searched.WORK_MS,
    faults: str = searched.FAULTS,
    scenario: str = searched.SCENARIO,
    fixed: Sequence[str] = (),
    states_max: int = STATES_MAX,
) -> LandscapePanel:
    """Vary two settings against each other and search every cell with the timed clock.

    The panel has a button that runs it; `run()` runs it at once and returns the tables. After an interrupt or a
    cancellation the results so far are kept.

    Args:
        designs: designs by name.
        down: a setting by Kafka's name, and its values in ascending order; one row each.
        across: another setting and its values; one column each.
        work_ms: the time in which the application processes a batch before it commits.
        faults: the faults that may happen, such as "expire_lock=1,time_out=1".
        scenario: a small scenario's name.
        fixed: further settings, each of the form name=value.
        states_max: the number of states at which the search of a cell stops, undecided.

    Example:
        >>> import kipviz
        >>> kipviz.landscape(["repaired"], work_ms=40_000)
        Landscape of kip-1289-small: group.share.record.lock.duration.ms against transaction.timeout.ms, 12 cells. Not searched yet.

    Raises:
        ValueError: for an unknown name or an invalid number, in one sentence.
    """
    for side in (down, across):
        if not isinstance(side, Sequence) or isinstance(side, str) or len(side) != 2:
            raise ValueError(f"an axis must be a setting and its values, not {side!r}")
    question = LandscapeQuestion(
        scenario,
        several("designs", designs, "repaired"),
        Axis(down[0], tuple(down[1])),
        Axis(across[0], tuple(across[1])),
        work_ms,
        faults,
        tuple(fixed),
    )
    return LandscapePanel(question, states_max)
