"""Studies and verdict tables in a notebook: tables, and stories that open in the stepper."""

from __future__ import annotations

import os
from collections.abc import Sequence

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.verdicts import BREAKS, DesignVerdicts, PropertyVerdict, verdict_table
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.timed.critical_path import Latencies
from kipviz.core.outside.validation import path, several
from kipviz.properties.verdict import title_of
from kipviz.studies.library import study as study_named
from kipviz.studies.study import Answer, answer, with_designs
from kipviz.views.reports.blocks import Blocks, Paragraph, keys_of
from kipviz.views.reports.review import render_run, review_blocks, study_blocks
from kipviz.views.reports.review_pack import write_pack
from kipviz.widgets.lab import stepper_of
from kipviz.widgets.progress import Counted, saying
from kipviz.widgets.results.decisions import Saves, saves_of
from kipviz.widgets.results.result_page import ResultPage
from kipviz.widgets.stepping.stepper import Stepper


class Verdicts(ResultPage):
    """Designs against properties, searched; each violation opens in the stepper.

    Attributes:
        judged: one row per design.
    """

    def __init__(self, judged: tuple[DesignVerdicts, ...], blocks: Blocks) -> None:
        """Keep the rows and the blocks of the page."""
        self.judged = judged
        self._blocks = blocks

    def open(self, design: str, prop: str = "") -> Stepper:
        """Open the shortest run that breaks a property (by default the first broken one), at the violation.

        A property is given by its name, or by its title in the table. The run's title names the step whose absence would
        have kept the property; the run without it is a branch.

        Raises:
            LookupError: if the design breaks nothing, or was not judged.
        """
        return stepper_of(render_run(*self._find_broken(design, prop)).run).last()

    def saves(self, design: str, prop: str = "", *, search: bool = True) -> Saves:
        """Find which single decision saves the run that `open` opens.

        With `search` each decision that saves it is also searched exhaustively.

        Raises:
            LookupError: as `open` does.
        """
        return saves_of(render_run(*self._find_broken(design, prop)), search=search)

    def review(self, folder: str | os.PathLike[str]) -> tuple[str, ...]:
        """Write a folder for a mailing list: review.md, and a diagram and a trace of each violation.

        The folder is created if it does not exist. Return the names of the files. `kipviz.open_trace` opens a trace; if
        it uses your own rules, its reader has to propose them first.

        Raises:
            ValueError: if the folder is not a path.
            OSError: if a file cannot be written.
            TraceFileError: if a trace cannot be written.
        """
        place = path("the folder of a review", folder)
        place.mkdir(parents=True, exist_ok=True)
        return write_pack(self.judged, place)

    def _find_broken(self, design: str, prop: str) -> tuple[DesignVerdicts, PropertyVerdict]:
        for row in self.judged:
            for cell in row.cells:
                meant = prop in {"", cell.asked, title_of(cell.asked)}
                if row.design == design and cell.verdict == BREAKS and meant:
                    return row, cell
        broken = ", ".join(r.design for r in self.judged if any(c.actions for c in r.cells))
        raise LookupError(
            f"no story breaks {prop or 'a property'} of {design}; designs that break: "
            f"{broken or 'none'}"
        )

    def blocks(self) -> Blocks:
        """Return the blocks of the page; the key of a run is a row and one of its properties, from 0."""
        return self._blocks

    def open_run(self, run: str) -> Stepper:
        """Open the violation in a cell.

        Raises:
            LookupError: if there is no such cell.
        """
        if run not in keys_of(self._blocks):
            raise LookupError(f"no verdict has a run called {run!r}")
        row, column = map(int, run.split())
        judged = self.judged[row]
        return stepper_of(render_run(judged, judged.cells[column]).run).last()


class Study(Verdicts):
    """A debated question with its computed answer.

    Attributes:
        answer: the table, and the searches behind it.
    """

    def __init__(self, found: Answer) -> None:
        """Keep the answer."""
        super().__init__(found.judged, study_blocks(found))
        self.answer = found


def study(
    name: str,
    latencies: Latencies = Latencies(),  # noqa: B008  a value never changes
    designs: Sequence[str] = (),
) -> Study:
    """Answer a debated question about the drafts, such as "B8"; `kipviz study` lists them.

        study("cost", kipviz.Latencies(round_trip_ms=10, fsync_ms=5))

    Args:
        name: the study's name.
        latencies: the assumed latencies of a study with a table of times, in ms.
        designs: further designs beside the study's own, such as one of yours; for "cost" and for studies that search
            rivals.

    Example:
        >>> import kipviz
        >>> print(kipviz.study("cost", kipviz.Latencies(fsync_ms=5)).page().splitlines()[0])
        ## cost. What does a transactional acknowledgement cost beside a plain one?

    Raises:
        UnknownStudy: if no study has this name.
        BadLatency: if a latency is not a number of ms from 0 to an hour.
        ValueError: if a design is unknown, or the study takes no further designs.
    """
    names = several("designs", designs, "repaired") if designs else ()
    asked = with_designs(study_named(name), names)
    with saying(lambda part, done, of, words: f"{done} of {of} done, {part}: {words}") as go_on:
        return Study(answer(asked, progress=go_on, latencies=latencies))


def verdicts(
    scenario: str, designs: Sequence[str], faults: str = "", states_max: int = 200_000
) -> Verdicts:
    """Search several designs exhaustively; return a table of the verdict on every property under every design.

    After an interrupt the table has the rows so far, and the page names the remaining designs.

    Args:
        scenario: a scenario's name; `kip-1289-small` is made for this.
        designs: names such as "repaired" or "repaired+lock_expiry=back_to_available".
        faults: the faults that may happen, such as "expire_lock=1".
        states_max: the number of states at which the search of a design stops.

    Example:
        >>> import kipviz
        >>> table = kipviz.verdicts("kip-1289-small", ["repaired", "finding-A"])
        >>> table.open("finding-A").last_step
        17

    Raises:
        ValueError: for an unknown name or an invalid number, in one sentence.
    """
    designs = several("designs", designs, "repaired")
    bounds = Bounds(states_max=states_max)
    with saying(Counted(len(designs), "designs")) as go_on:
        rows = verdict_table(scenario, designs, budget_of(faults), bounds, go_on)
    left = ", ".join(designs[len(rows) :])
    stopped = (Paragraph(f"Stopped before {left}."),) if left else ()
    return Verdicts(rows, review_blocks(rows) + stopped)
