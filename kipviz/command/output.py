"""What goes to stdout and stderr: the answer, the progress, and files that appear whole."""

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

from kipviz.command.bad_input import Refused
from kipviz.core import atomic_write
from kipviz.core.printable import shown

T = TypeVar("T")
_SECONDS_BEFORE, _SECONDS_BETWEEN = 1.0, 2.0
# Of one call: its status says it, whichever part of which subcommand it was.
_CUT_SHORT = ContextVar("cut short", default=False)


def answer(document: Mapping[str, Any], lines: Iterable[str], *, as_json: bool) -> None:
    """Print the answer of a subcommand, as one JSON document or as text."""
    if as_json:
        # Plain ASCII: it is the same document whatever the terminal's encoding.
        print(json.dumps(document, indent=2))
        return
    for line in lines:
        print(shown(line))


class Progress:
    """Says on stderr how far it is: on one line of a terminal, else now and then.

    It is used in a `with`, whose end leaves the line.
    """

    def __init__(self) -> None:
        self._on_terminal = sys.stderr.isatty()
        self._told_at = time.monotonic() - (_SECONDS_BETWEEN - _SECONDS_BEFORE)
        self._wide = 0

    def say(self, words: str, *, last: bool = False) -> None:
        """Say something new; `last` is said in any case."""
        words = shown(words)
        if self._on_terminal:
            print(f"\r{words:<{self._wide}}", end="", file=sys.stderr, flush=True)
            self._wide = len(words)
        elif last or time.monotonic() - self._told_at >= _SECONDS_BETWEEN:
            print(words, file=sys.stderr, flush=True)
            self._told_at = time.monotonic()

    def runs(self, done: int, there_are: int) -> None:
        """Say how many runs are done."""
        self.say(f"{done:,} of {there_are:,} runs")

    def files(self, done: int, there_are: int) -> None:
        """Say how many files are read."""
        self.say(f"{done:,} of {there_are:,} files")

    def requests(self, done: int, there_are: int) -> None:
        """Say how many requests were put to the model."""
        self.say(f"{done:,} of {there_are:,} requests")

    def tasks(self, done: int, there_are: int) -> None:
        """Say how many of Spark's tasks are done."""
        self.say(f"{done:,} of {there_are:,} tasks")

    def states(self, states: int, depth: int) -> bool:
        """Say how far a search is; it shall go on."""
        self.say(f"{states:,} states, depth {depth}")
        return True

    def findings(self, finding: str, states: int, depth: int) -> bool:
        """Say which finding is computed, and how far its search is; it shall go on."""
        self.say(f"finding {finding}: {states:,} states, depth {depth}")
        return True

    def parts(self, part: str, done: int, there_are: int, words: str) -> bool:
        """Say which part of a study is computed, how many are done, and how far it is; it shall go on."""
        self.say(f"{done} of {there_are} done, {part}: {words}")
        return True

    def stories(self, story: str, done: int, there_are: int) -> bool:
        """Say which story is played, and how many are; it shall go on."""
        self.say(f"{done} of {there_are} stories, {story}")
        return True

    def designs(self, design: str, states: int, depth: int) -> bool:
        """Say how far the search of a design is; it shall go on."""
        self.say(f"{design}: {states:,} states, depth {depth}")
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._wide:
            print(file=sys.stderr, flush=True)
            self._wide = 0


class GoingOn:
    """What a search asks whether it shall go on; `stopped` says that it was told not to."""

    def __init__(self, tell: Callable[..., object], go_on: Callable[..., bool]) -> None:
        self._tell = tell
        self._go_on = go_on
        self.stopped = False

    def __call__(self, *told: object) -> bool:
        """Tell of the progress; give False once somebody has interrupted."""
        self._tell(*told)
        self.stopped = self.stopped or not self._go_on()
        return not self.stopped


@contextmanager
def until_interrupted(tell: Callable[..., object]) -> Iterator[GoingOn]:
    """Let the first ^C end the work in order, so that what was found so far is told."""
    from kipviz.checking.search.interrupted import until_interrupted as ending

    with ending() as go_on:
        going = GoingOn(tell, go_on)
        yield going
        if going.stopped:
            _CUT_SHORT.set(True)


def begin() -> None:
    """Begin a call of the command: nothing of it was cut short yet."""
    _CUT_SHORT.set(False)


def cut_short() -> None:
    """Say that ^C has ended this call's work before its end, and that what was found is told."""
    _CUT_SHORT.set(True)


def was_cut_short() -> bool:
    """Say whether ^C has ended some of this call's work: what was told is not all."""
    return _CUT_SHORT.get()


def gathered(
    path: str | None,
    make: Callable[[GoingOn], Iterable[T]],
    told: Callable[[Progress], Callable[..., object]] = lambda progress: progress.states,
) -> list[T]:
    """Gather what is judged one by one, for a page that is written whole or not at all.

    `told` is what the progress is told with: of states alone, or of which finding they are.

    Raises:
        Refused: if the page could not be written, or would be written over by what was interrupted.
    """
    check_place(path)
    found = []
    with Progress() as progress, until_interrupted(told(progress)) as go_on:
        for each in make(go_on):
            if go_on.stopped:
                break
            found.append(each)
    if go_on.stopped and path is not None:
        raise Refused(f"interrupted before everything was judged: {path} is unchanged")
    return found


def check_place(path: str | None) -> None:
    """Refuse a file that could not be written, before the work is done that it is for.

    Raises:
        Refused: if it is a folder or a device, or its folder is not there or is closed.
    """
    if path is None:
        return
    if why := atomic_write.why_not(path):
        raise Refused(f"cannot write {path}: {why}")
    folder = Path(path).resolve().parent
    if not os.path.isdir(folder):  # noqa: PTH112  a name that is too long is no folder either
        raise Refused(f"cannot write {path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise Refused(f"cannot write {path}: the folder {folder} is not writable")


def make_folder(path: str) -> Path:
    """Return a folder, which is made if it is not there.

    Raises:
        Refused: if it cannot be made.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(f"cannot make the folder {folder}: {error.strerror or error}") from None
    return folder


def write_whole(path: str, text: str) -> None:
    """Write a file beside its place and move it there, so that nobody sees half of it.

    Raises:
        Refused: if it cannot be written.
    """
    try:
        atomic_write.write(path, text.encode())
    except OSError as error:
        raise Refused(f"cannot write {path}: {error.strerror or error}") from None
