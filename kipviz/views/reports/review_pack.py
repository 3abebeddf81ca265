"""One folder for a mailing list: the verdicts, and each shortest counterexample as a diagram and a trace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kipviz.checking.judging.verdicts import BREAKS, DesignVerdicts
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.permalink import head_of
from kipviz.checking.single_run.runs import Run
from kipviz.core.outside import atomic_write
from kipviz.views.exports.mermaid import mermaid
from kipviz.views.payload import payload
from kipviz.views.reports.review import render_run, review


def write_pack(rows: Sequence[DesignVerdicts], folder: Path) -> tuple[str, ...]:
    """Write review.md, and a diagram (.mmd) and a trace for each run that breaks a property.

    Args:
        rows: the verdicts, one row for each design.
        folder: the destination, which exists.

    Returns:
        The names of the files, review.md first.

    Raises:
        OSError: if a file cannot be written; its `filename` names it.
        TraceFileError: if a trace cannot be written.
    """
    _write(folder / "review.md", review(rows))
    files = ["review.md"]
    for row in rows:
        for cell in row.cells:
            if cell.verdict != BREAKS:
                continue
            run = render_run(row, cell).run
            name = f"{row.design}--{cell.asked.replace(' ', '-')}"
            _write(folder / f"{name}.mmd", mermaid(_payload_of(run)))
            runs.save(run, folder / f"{name}.trace")
            files += [f"{name}.mmd", f"{name}.trace"]
    return tuple(files)


def _payload_of(run: Run) -> dict[str, object]:
    shown, _ = payload(run.scenario, run.design, run.model, run.trace, run.told, head_of(run))
    return shown


def _write(path: Path, text: str) -> None:
    try:
        atomic_write.write(path, text.encode())
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
