"""A file beside the notebook that keeps what a reader does in a stepper."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kipviz.checking import runs
from kipviz.checking.runs import Packed
from kipviz.core.tracefile import TraceFileError


class Keeper:
    """Writes a stepper's run to a file whenever it changes: lines, names, the place.

    A file that somebody else has changed in the meantime is left alone, and so is one that cannot
    be written: the stepper says so, and what was done stays in it.
    """

    def __init__(self, stepper: Any, path: str | os.PathLike[str]) -> None:
        """Keep a stepper from here on."""
        self._stepper = stepper
        self._path = path
        self._seen: tuple[int, int] | None = _look(path)
        self._lines: Any = None
        self._packed: Packed | None = None
        stepper.observe(self._changed, ["step", "branch", "made"])

    def write(self) -> None:
        """Write it now.

        Raises:
            TraceFileError: if the file cannot be written, or is not what was written last.
        """
        if _look(self._path) != self._seen:
            raise TraceFileError(
                f"{os.fspath(self._path)} was changed by something else, so this run is not kept "
                "there any more; kipviz.save keeps it under another name"
            )
        stepper = self._stepper
        run = stepper.lab.kept_at(stepper.branch, stepper.step)
        if self._packed is None or run.lines != self._lines:
            self._packed, self._lines = runs.pack(run), run.lines
        line = run.lines[run.line]
        self._packed.write(self._path, line.tree, run.trees[line.tree].trace.cursor, line.tip)
        self._seen = _look(self._path)

    def _changed(self, change: Mapping[str, Any]) -> None:
        """Write it, and let the stepper say when that was not possible."""
        try:
            self.write()
        except TraceFileError as wrong:
            self._stepper.notice = f"{wrong}."


def _look(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Say what a file looks like from outside, or None where there is none."""
    try:
        seen = Path(path).stat()
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_size
