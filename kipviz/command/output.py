"""What goes to stdout and stderr: the answer, the progress, and files that are written atomically."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Self, TypeVar

from kipviz.command.bad_input import RefusedInput
from kipviz.core.outside import atomic_write
from kipviz.core.outside.printable import escape_line

T = TypeVar("T")
_SECONDS_BEFORE, _SECONDS_BETWEEN = 1.0, 2.0
# For one call of the command: its exit status depends on it, whichever part of a subcommand set it.
_CUT_SHORT = ContextVar("cut short", default=False)


def answer(document: Mapping[str, Any], lines: Iterable[str], *, as_json: bool) -> None:
    """Print the answer of a subcommand, as one JSON document or as text."""
    if as_json:
        # Plain ASCII, so that the document does not depend on the terminal's encoding.
        print(json.dumps(document, indent=2))
        return
    for line in lines:
        print(escape_line(line))


class Progress:
    """Reports progress on stderr: on one line of a terminal, otherwise every few seconds.

    It is used in a `with`, which moves to the next line at its end.
    """

    def __init__(self) -> None:
        self._on_terminal = sys.stderr.isatty()
        self._told_at = time.monotonic() - (_SECONDS_BETWEEN - _SECONDS_BEFORE)
        self._wide = 0

    def say(self, words: str, *, last: bool = False) -> None:
        """Report progress; a `last` message is always printed."""
        words = escape_line(words)
        if self._on_terminal:
            print(f"\r{words:<{self._wide}}", end="", file=sys.stderr, flush=True)
            self._wide = len(words)
        elif last or time.monotonic() - self._told_at >= _SECONDS_BETWEEN:
            print(words, file=sys.stderr, flush=True)
            self._told_at = time.monotonic()

    def runs(self, done: int, there_are: int) -> None:
        """Report how many runs are done."""
        self.say(f"{done:,} of {there_are:,} runs")

    def files(self, done: int, there_are: int) -> None:
        """Report how many files are read."""
        self.say(f"{done:,} of {there_are:,} files")

    def requests(self, done: int, there_are: int) -> None:
        """Report how many requests were judged."""
        self.say(f"{done:,} of {there_are:,} requests")

    def tasks(self, done: int, there_are: int) -> None:
        """Report how many of Spark's tasks are done."""
        self.say(f"{done:,} of {there_are:,} tasks")

    def states(self, states: int, depth: int) -> bool:
        """Report how far a search is; return True, so that it continues."""
        self.say(f"{states:,} states, depth {depth}")
        return True

    def findings(self, finding: str, states: int, depth: int) -> bool:
        """Report which finding is computed and how far its search is; return True, so that it continues."""
        self.say(f"finding {finding}: {states:,} states, depth {depth}")
        return True

    def parts(self, part: str, done: int, there_are: int, words: str) -> bool:
        """Report which part of a study is computed and how far it is; return True, so that it continues."""
        self.say(f"{done} of {there_are} done, {part}: {words}")
        return True

    def stories(self, story: str, done: int, there_are: int) -> bool:
        """Report which story is played and how many are done; return True, so that it continues."""
        self.say(f"{done} of {there_are} stories, {story}")
        return True

    def designs(self, design: str, states: int, depth: int) -> bool:
        """Report how far the search of a design is; return True, so that it continues."""
        self.say(f"{design}: {states:,} states, depth {depth}")
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._wide:
            print(file=sys.stderr, flush=True)
            self._wide = 0


class GoingOn:
    """The callback that a search asks whether to continue; `stopped` is True after an interrupt."""

    def __init__(self, tell: Callable[..., object], go_on: Callable[..., bool]) -> None:
        self._tell = tell
        self._go_on = go_on
        self.stopped = False

    def __call__(self, *told: object) -> bool:
        """Report progress; return False after an interrupt."""
        self._tell(*told)
        self.stopped = self.stopped or not self._go_on()
        return not self.stopped


@contextmanager
def until_interrupted(tell: Callable[..., object]) -> Iterator[GoingOn]:
    """Let the first ^C end the work cleanly, so that the results so far are printed."""
    from kipviz.checking.search.interrupted import until_interrupted as ending

    with ending() as go_on:
        going = GoingOn(tell, go_on)
        yield going
        if going.stopped:
            _CUT_SHORT.set(True)


def begin() -> None:
    """Start a call of the command: nothing was cut short yet."""
    _CUT_SHORT.set(False)


def cut_short() -> None:
    """Record that ^C ended this call's work early, and that the results so far were printed."""
    _CUT_SHORT.set(True)


def was_cut_short() -> bool:
    """Return whether ^C ended some of this call's work early, so that the answer is incomplete."""
    return _CUT_SHORT.get()


def collect_judgements(
    path: str | None,
    make: Callable[[GoingOn], Iterable[T]],
    told: Callable[[Progress], Callable[..., object]] = lambda progress: progress.states,
) -> list[T]:
    """Collect judgements one by one, for a page that is written whole or not at all.

    `told` chooses the method that reports progress: states alone, or states of a finding.

    Raises:
        Refused: if the page cannot be written, or an interrupted result would overwrite it.
    """
    check_place(path)
    found = []
    with Progress() as progress, until_interrupted(told(progress)) as go_on:
        for each in make(go_on):
            if go_on.stopped:
                break
            found.append(each)
    if go_on.stopped and path is not None:
        raise RefusedInput(f"interrupted before everything was judged: {path} is unchanged")
    return found


def check_place(path: str | None) -> None:
    """Reject a file that cannot be written, before the work for it begins.

    Raises:
        Refused: if it is a folder or a device, or its folder does not exist or is not writable.
    """
    if path is None:
        return
    if why := atomic_write.why_not(path):
        raise RefusedInput(f"cannot write {path}: {why}")
    folder = Path(path).resolve().parent
    if not os.path.isdir(folder):  # noqa: PTH112  a name that is too long is no folder either
        raise RefusedInput(f"cannot write {path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise RefusedInput(f"cannot write {path}: the folder {folder} is not writable")


def make_folder(path: str) -> Path:
    """Return a folder, which is created if it does not exist.

    Raises:
        Refused: if it cannot be created.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RefusedInput(f"cannot make the folder {folder}: {error.strerror or error}") from None
    return folder


def write_whole(path: str, text: str) -> None:
    """Write a file atomically: write it beside its place and move it there.

    Raises:
        Refused: if it cannot be written.
    """
    try:
        atomic_write.write(path, text.encode())
    except OSError as error:
        raise RefusedInput(f"cannot write {path}: {error.strerror or error}") from None
