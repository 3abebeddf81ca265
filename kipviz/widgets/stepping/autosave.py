"""A file beside the notebook that stores what a reader does in a stepper."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.learner_record import Learned
from kipviz.checking.single_run.runs import KeptLine, Packed, Run
from kipviz.core.outside import atomic_write, untrusted_file
from kipviz.core.outside.printable import complete_sentence
from kipviz.core.traces.tracefile import TraceFileError, is_whole
from kipviz.widgets.stepping.cursor import Change

if TYPE_CHECKING:  # a stepper makes its keeper
    from kipviz.widgets.stepping.stepper import Stepper


class Keeper:
    """Writes a stepper's run to a file whenever it changes: branches, names, cursor and answers.

    A file that another program has changed in the meantime is not overwritten. In that case, or if the file cannot be
    written, the stepper shows a notice, and its content stays in memory.
    """

    def __init__(self, stepper: Stepper, path: str | os.PathLike[str]) -> None:
        """Save a stepper from now on."""
        self._stepper = stepper
        self._path = path
        self._seen: tuple[int, int] | None = _look(path)
        self._told: tuple[tuple[KeptLine, ...], Learned] | None = None
        self._packed: Packed | None = None
        stepper.observe(
            self._write_change, ["step", "branch", "made", "answers", "revealed", "reached"]
        )

    def write(self) -> None:
        """Write it now.

        Raises:
            TraceFileError: if the file cannot be written, or was changed by another program.
        """
        if _look(self._path) != self._seen:
            raise TraceFileError(
                f"{os.fspath(self._path)} was changed by something else, so this run is not kept "
                "there any more; kipviz.save keeps it under another name"
            )
        stepper = self._stepper
        assert stepper.lab is not None, "a run is kept of a stepper with a model behind it"
        run = stepper.lab.run_with_branches(stepper.branch, stepper.step, stepper.learned)
        if self._packed is None or (run.lines, run.learned) != self._told:
            self._packed, self._told = runs.pack(run), (run.lines, run.learned)
        line = run.lines[run.line]
        cursor = run.trees[line.tree].trace.cursor
        self._packed.write(self._path, line.tree, cursor, line.tip, copy_of(self._path))
        self._seen = _look(self._path)

    def _write_change(self, change: Change) -> None:
        """Write it, and show a notice in the stepper if that fails."""
        try:
            self.write()
        except TraceFileError as wrong:
            self._stepper.notice = complete_sentence(str(wrong))


def copy_of(path: str | os.PathLike[str]) -> Path:
    """Return the path of the copy from before the last change of a kept file: a hidden file beside it."""
    place = Path(path)
    return place.with_name(f".{place.name}.before")


def recover_run(path: str | os.PathLike[str], wrong: TraceFileError) -> tuple[Run, str]:
    """Read as much as possible of a damaged kept file, or the copy from before its last change.

    The damaged file is saved under another name. The second part of the result describes what was done.

    Raises:
        TraceFileError: the given error, if neither can be read.
    """
    place = Path(path)
    try:
        damaged = untrusted_file.read(place)
    except OSError:
        raise wrong from None
    if is_whole(damaged):  # of another version, or of an unknown scenario
        raise wrong
    aside = place.with_name(f"{place.name}.damaged")
    try:
        run = runs.load(place, recover=True)
    except TraceFileError:
        run, said = _open_backup(place, wrong)
    else:
        said, run = run.changes[0], msgspec.structs.replace(run, changes=run.changes[1:])
    try:
        atomic_write.write(aside, damaged)
    except OSError as problem:
        raise TraceFileError(
            f"{place} is damaged and stays as it is, because a copy of it cannot be written: "
            f"{problem.strerror or problem}"
        ) from None
    return run, f"{said}; the damaged file is now {aside.name}"


def _open_backup(place: Path, wrong: TraceFileError) -> tuple[Run, str]:
    try:
        run = runs.load(copy_of(place))
    except TraceFileError:
        raise wrong from None
    return run, f"{wrong}; what is opened is the copy from before its last change"


def _look(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Return a file's modification time and size, or None if it does not exist."""
    try:
        seen = Path(path).stat()
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_size
