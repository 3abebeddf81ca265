"""The campaign panel: run, watch and cancel a campaign, and read its verdicts.

The panel drives any object with ``run(on_progress)``, ``cancel()`` and a repr of one line; the result of ``run`` has
``summary(by)`` and ``text(by)``. It does not import Spark, which is another part of the same floor.

A campaign runs in its own thread, so that the page stays responsive and the cancel button works; Python in a browser
has no threads and runs it in place. The panel shows an error of the thread, and ``wait`` raises it again. A notebook
stores the text: the campaign before it has run, the verdict table afterwards. The chart is a separate figure
(``chart()``), shown by the cell that requests it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, Protocol

import ipywidgets
from plotly import graph_objects as go

from kipviz.core.outside.printable import complete_sentence
from kipviz.widgets.discoverable import Discoverable
from kipviz.widgets.results.page_charts import draw_in_page


class FailureKind(Protocol):
    """One kind of failure: how often it happened, and the seed of the first run that shows it."""

    name: str
    count: int
    seed: int


class DesignRow(Protocol):
    """The verdicts on the runs of one design."""

    name: str
    runs: int
    holds: int
    program: int
    broken: Sequence[FailureKind]
    errors: FailureKind | None


class Result(Protocol):
    """The result of a campaign."""

    def summary(self, by: str) -> Sequence[DesignRow]:
        """The verdicts, counted."""

    def text(self, by: str) -> str:
        """The verdict table as plain text."""


class RunsOnce(Protocol):
    """A campaign, as far as the panel uses it."""

    def run(self, on_progress: Callable[[int, int], None]) -> Result:
        """Run it to the end; report the number of finished and of all runs, from any thread."""

    def cancel(self) -> None:
        """Stop it from another thread."""


# Python in a browser has no threads.
THREADS = sys.platform != "emscripten"

# Okabe and Ito's colours; each has its own pattern, because many readers cannot distinguish colours alone.
HOLDS = ("#009E73", "")
BROKEN = (
    ("#D55E00", "/"),
    ("#CC79A7", "x"),
    ("#E69F00", "-"),
    ("#56B4E9", "."),
    ("#0072B2", "+"),
    ("#F0E442", "\\"),
)
PROGRAM = ("#0072B2", ".")
ERRORS = ("#555555", "|")

# Before the first chart is shown.
draw_in_page()

# plotly's default template is 7 kB of JSON in every stored output; this is what the charts use of it.
TEMPLATE = go.layout.Template(
    layout={
        "font": {"family": "sans-serif", "size": 13, "color": "#333333"},
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "xaxis": {"showline": True, "linecolor": "#999999"},
        "yaxis": {"gridcolor": "#e5e5e5", "rangemode": "tozero"},
        "margin": {"l": 60, "r": 20, "t": 50, "b": 50},
    }
)


class CampaignView(Discoverable, ipywidgets.VBox):
    """A campaign on the page: a bar, two buttons, one line of words and the verdict table.

    Args:
        campaign: the campaign: ``kipviz.campaigns.loop.LoopCampaign``, ``kipviz.spark.campaign.Campaign``, or an object
            with the same methods.
        by: how the rows of the table are grouped: "design", "scenario" or "faults".
    """

    def __init__(self, campaign: RunsOnce, by: str = "design") -> None:
        self._campaign = campaign
        self._by = by
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._cancelled = False
        self.result: Result | None = None
        self.run_button = ipywidgets.Button(description="Run", icon="play")
        self.cancel_button = ipywidgets.Button(description="Cancel", icon="stop", disabled=True)
        self.bar = ipywidgets.IntProgress(value=0, min=0, max=1)
        self.status = ipywidgets.Label("Not run yet.")
        self.table = ipywidgets.HTML()
        self.run_button.on_click(lambda _: self.start())
        self.cancel_button.on_click(lambda _: self.cancel())
        title = ipywidgets.Label(repr(campaign))
        controls = ipywidgets.HBox([self.run_button, self.cancel_button, self.bar, self.status])
        super().__init__([title, controls, self.table])

    def start(self) -> None:
        """Start the campaign in the background; do nothing if it is running. In a browser it runs in place."""
        if self._thread is not None and self._thread.is_alive():
            return
        self.result = None
        self._error = None
        self._cancelled = False
        self.run_button.disabled = True
        self.cancel_button.disabled = False
        self.bar.value, self.bar.bar_style = 0, ""
        self.status.value = "Starting."
        self.table.value = ""
        self._thread = threading.Thread(target=self._run, name="kipviz-campaign", daemon=True)
        if THREADS:
            self._thread.start()
        else:
            self._thread.run()

    def cancel(self) -> None:
        """Ask the campaign to stop; return at once."""
        self._cancelled = True
        self.cancel_button.disabled = True
        self.status.value = "Cancelling."
        self._campaign.cancel()

    def wait(self) -> Result:
        """Wait for the end and return the result; an interrupted wait cancels the campaign.

        Raises:
            RuntimeError: if it was never started.
            Exception: the error of the campaign, if it failed or was cancelled.
        """
        if self._thread is None:
            raise RuntimeError("the campaign was not started: call start() or press Run")
        try:
            if self._thread.is_alive():
                self._thread.join()
        except KeyboardInterrupt:
            self.cancel()
            raise
        if self._error is not None:
            raise self._error
        assert self.result is not None
        return self.result

    def run(self) -> Result:
        """Start, wait and return the result, whose text is the verdict table."""
        self.start()
        return self.wait()

    def chart(self) -> go.Figure:
        """Return a figure of the runs by outcome, one bar for each row of the table.

        Raises:
            RuntimeError: if there is no result yet.
        """
        if self.result is None:
            raise RuntimeError("there is nothing to draw: the campaign has not ended")
        return outcome_chart(self.result.summary(self._by))

    def __repr__(self) -> str:
        """Return the verdict table, or the campaign and its progress."""
        if self.result is not None:
            return self.result.text(self._by)
        return f"{self._campaign!r}: {self.status.value}"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any] | None:
        bundle = super()._repr_mimebundle_(**options)
        if bundle is not None:
            bundle["text/plain"] = repr(self)  # ipywidgets would cut it off after 110 characters
        return bundle

    def _run(self) -> None:
        before = getattr(self._campaign, "result", None)
        try:
            result = self._campaign.run(self._on_progress)
            self.status.value = self._keep(result)
            self.bar.value, self.bar.bar_style = self.bar.max, "success"
        except Exception as error:  # noqa: BLE001 - shown here and raised again by wait()
            self._error = error
            self.bar.bar_style = "warning" if self._cancelled else "danger"
            self.status.value = complete_sentence(str(error) or type(error).__name__)
            kept = getattr(self._campaign, "result", None)
            if self._cancelled and kept is not None and kept is not before and kept.rows():
                self.status.value += f" So far: {self._keep(kept)}"
        finally:
            self.run_button.disabled = False
            self.cancel_button.disabled = True

    def _keep(self, result: Result) -> str:
        """Show the verdicts of a result, and return its sentence."""
        rows = result.summary(self._by)
        self.table.value = table_html(rows)
        self.result = result
        return outcome_sentence(rows)

    def _on_progress(self, done: int, runs: int) -> None:
        self.bar.max, self.bar.value = runs, done
        if not self._cancelled:
            self.status.value = f"{done} of {runs} runs."


def outcome_sentence(rows: Sequence[DesignRow]) -> str:
    """Return the outcome in one sentence."""
    runs = sum(row.runs for row in rows)
    broken = sum(cell.count for row in rows for cell in row.broken)
    errors = sum(row.errors.count for row in rows if row.errors)
    failed = f", {errors} could not be run" if errors else ""
    program = sum(row.program for row in rows)
    own = f", {program} break one by the program, not the design" if program else ""
    if broken:
        return f"{broken} of {runs} runs break a property{own}{failed}."
    if program:
        return f"No design breaks a property in {runs - errors} runs{own}{failed}."
    return f"No property breaks in {runs - errors} runs{failed}."


def table_html(rows: Sequence[DesignRow]) -> str:
    """Return the verdict table as HTML, with all text escaped."""
    properties = _properties(rows)
    by_program = any(row.program for row in rows)
    own = ("the program",) if by_program else ()
    head = ("", "runs", "holds", *own, *properties, "errors")
    lines = ["".join(f'<th scope="col" style="{_CELL}">{escape(word)}</th>' for word in head)]
    for row in rows:
        cells = [_cell(row, name) for name in properties]
        own = (str(row.program),) if by_program else ()
        words = (str(row.runs), f"✓ {row.holds}", *own, *map(_words, cells), _words(row.errors))
        body = "".join(f'<td style="{_CELL}">{escape(word)}</td>' for word in words)
        lines.append(f'<th scope="row" style="{_CELL}">{escape(row.name)}</th>{body}')
    trs = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<table style="border-collapse: collapse">{trs}</table>'


_CELL = (
    "padding: 2px 10px; text-align: left; border-bottom: 1px solid var(--jp-border-color2, #ccc)"
)


def outcome_chart(rows: Sequence[DesignRow]) -> go.Figure:
    """Return stacked bars: how many runs hold, break which property, or could not be run."""
    names = [row.name for row in rows]
    bars = [_bar("holds", names, [row.holds for row in rows], ["" for _ in rows], HOLDS)]
    for number, name in enumerate(_properties(rows)):
        cells = [_cell(row, name) for row in rows]
        look = BROKEN[number % len(BROKEN)]
        bars.append(_bar(f"“{name}” breaks", names, _counts(cells), _seeds(cells), look))
    programs = [row.program for row in rows]
    if any(programs):
        bars.append(_bar("the program", names, programs, ["" for _ in rows], PROGRAM))
    errors = [row.errors for row in rows]
    if any(errors):
        bars.append(_bar("error", names, _counts(errors), _seeds(errors), ERRORS))
    return go.Figure(
        data=bars,
        layout={
            "template": TEMPLATE,
            "barmode": "stack",
            "title": {"text": "Runs by outcome"},
            "yaxis": {"title": {"text": "runs"}},
            "legend": {"traceorder": "normal"},
            "height": 360,
        },
    )


def _bar(
    name: str, names: list[str], counts: list[int], seeds: list[str], look: tuple[str, str]
) -> go.Bar:
    colour, pattern = look
    return go.Bar(
        name=name,
        x=names,
        y=counts,
        text=[str(count) if count else "" for count in counts],
        textfont={"color": "black", "size": 15},
        customdata=seeds,
        hovertemplate=f"%{{x}}<br>{escape(name)}: %{{y}} runs%{{customdata}}<extra></extra>",
        marker={
            "color": colour,
            "line": {"color": "#333333", "width": 1},
            "pattern": {"shape": pattern, "fgcolor": "#333333", "fillmode": "overlay", "size": 6},
        },
    )


def _properties(rows: Sequence[DesignRow]) -> list[str]:
    return sorted({cell.name for row in rows for cell in row.broken})


def _cell(row: DesignRow, name: str) -> FailureKind | None:
    return next((cell for cell in row.broken if cell.name == name), None)


def _counts(cells: Sequence[FailureKind | None]) -> list[int]:
    return [cell.count if cell else 0 for cell in cells]


def _seeds(cells: Sequence[FailureKind | None]) -> list[str]:
    return [f", first at seed {cell.seed}" if cell else "" for cell in cells]


def _words(cell: FailureKind | None) -> str:
    return "–" if cell is None else f"✗ {cell.count} (seed {cell.seed})"
