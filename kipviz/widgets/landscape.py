"""The timeout landscape in a notebook: tables to read, a map to see, cells that open in the stepper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from html import escape

from plotly import graph_objects as go

from kipviz.checking import landscape as searched
from kipviz.checking.found import Bounds
from kipviz.checking.landscape import Question, Spot
from kipviz.cluster.clock import ms
from kipviz.views.landscape import landscape_page
from kipviz.widgets.campaign_view import TEMPLATE
from kipviz.widgets.lab import stepper_of
from kipviz.widgets.stepper import Stepper

# Each verdict has a colour (Okabe-Ito), a shape and its own words, so that no tone is colour alone.
HOLDS, IDLE, OPEN = ("#009E73", "circle"), ("#999999", "square-open"), ("#56B4E9", "diamond-open")
BREAKS = ("#D55E00", "x")


class Landscape:
    """Which promise breaks where, by lock duration and transaction timeout.

    Attributes:
        found: the cells with their verdicts and shortest runs.
    """

    def __init__(self, found: searched.Landscape) -> None:
        """Keep what was searched."""
        self.found = found

    def open(self, design: str, lock_ms: int, timeout_ms: int) -> Stepper:
        """Open the shortest run that breaks a promise in a cell, where it breaks.

        Raises:
            LookupError: if nothing breaks there, or it was not searched.
        """
        return stepper_of(self.found.broken(design, lock_ms, timeout_ms).run).last()

    def map(self) -> go.Figure:
        """Give the map: a row of places for each design and lock, a column for each timeout."""
        asked = self.found.question
        designs = list(dict.fromkeys(spot.design for spot in self.found.spots))
        traces = [
            _marks(verdict, [s for s in self.found.spots if s.verdict == verdict])
            for verdict in dict.fromkeys(spot.verdict for spot in self.found.spots)
        ]
        rows = [
            _row(design, lock) for design in reversed(designs) for lock in reversed(asked.locks)
        ]
        return go.Figure(
            data=traces,
            layout={
                "template": TEMPLATE,
                "title": {"text": f"A batch takes {ms(asked.work)}: what breaks where"},
                "xaxis": {
                    "title": {"text": "transaction.timeout.ms"},
                    "categoryorder": "array",
                    "categoryarray": [ms(t) for t in asked.timeouts],
                },
                "yaxis": {"categoryorder": "array", "categoryarray": rows, "automargin": True},
                "height": 120 + 34 * len(rows),
            },
        )

    def _repr_markdown_(self) -> str:
        return landscape_page(self.found)

    def __repr__(self) -> str:
        """The same as text."""
        return self._repr_markdown_()


def _row(design: str, lock: int) -> str:
    return f"{design}, lock {ms(lock)}"


def _marks(verdict: str, spots: list[Spot]) -> go.Scatter:
    known = {"holds": HOLDS, "never commits": IDLE, "nothing so far": OPEN}
    colour, symbol = known.get(verdict, BREAKS)
    broken = any(spot.explored.counterexamples for spot in spots)
    return go.Scatter(
        name=f"{verdict} breaks" if broken else verdict,
        x=[ms(spot.timeout) for spot in spots],
        y=[_row(spot.design, spot.lock) for spot in spots],
        mode="markers",
        customdata=[f"{escape(s.words)}, {s.explored.states:,} states" for s in spots],
        hovertemplate="%{y}, timeout %{x}<br>%{customdata}<extra></extra>",
        marker={"color": colour, "symbol": symbol, "size": 16, "line": {"width": 2}},
    )


def landscape(
    designs: Sequence[str] = searched.DESIGNS,
    locks_ms: Sequence[int] = searched.LOCKS,
    timeouts_ms: Sequence[int] = searched.TIMEOUTS,
    work_ms: int = searched.WORK,
    faults: str = searched.FAULTS,
    scenario: str = searched.SCENARIO,
    states_max: int = 200_000,
    progress: Callable[[str, int, int], bool] | None = None,
) -> Landscape:
    """Search a grid of lock durations and transaction timeouts with the timed clock.

    Interrupting the cell keeps what was searched so far.

    Args:
        designs: designs by name.
        locks_ms: group.share.record.lock.duration.ms, rising.
        timeouts_ms: transaction.timeout.ms, rising.
        work_ms: how long the application works on a batch before it commits.
        faults: what may go wrong, such as "expire_lock=1,time_out=1".
        scenario: a small scenario's name.
        states_max: when the search of a cell gives up.
        progress: called with (cell, states, depth); when it gives False the search ends.

    Raises:
        ValueError: for a word that names nothing or a number that is none, in one sentence.
    """
    question = Question(
        scenario, tuple(designs), tuple(locks_ms), tuple(timeouts_ms), work_ms, faults
    )
    spots: list[Spot] = []
    # What is known when somebody interrupts it is a part of the answer, and says so.
    with suppress(KeyboardInterrupt):
        spots.extend(searched.landscape(question, Bounds(states_max=states_max), progress))
    return Landscape(searched.Landscape(question, tuple(spots)))
