"""The progress of a long call in a notebook: one line below its cell from the first second until the result is there.

The notebook's own stop button ends such a call and keeps its results. The line is one output that is overwritten and is
empty at the end. Outside a notebook, and when nbval runs one, there is no line.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kipviz.checking.search.interrupted import GoOn, until_interrupted

SECONDS_BEFORE, SECONDS_BETWEEN = 1.0, 1.0
# Marks the output: it depends on the clock, so a comparison of outputs leaves it out.
MARK = {"kipviz": "progress"}
STOP = "The notebook's stop button ends it; what was found is kept."


class _Line:
    """The line below the cell, which appears with the first message."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._said_at = time.monotonic() + SECONDS_BEFORE - SECONDS_BETWEEN

    def say(self, words: str) -> None:
        now = time.monotonic()
        if now - self._said_at >= SECONDS_BETWEEN:
            self._said_at = now
            self._show(f"{words}. {STOP}")

    def end(self) -> None:
        if self._handle is not None:
            self._show("")

    def _show(self, words: str) -> None:
        from IPython.display import display

        said = {"text/plain": words}
        if self._handle is None:
            self._handle = display(said, raw=True, metadata=MARK, display_id=True)
        else:
            self._handle.update(said, raw=True, metadata=MARK)


@contextmanager
def saying(words: Callable[..., str]) -> Iterator[GoOn]:
    """Yield the callback of a search: it reports progress, and returns True until an interrupt.

    Args:
        words: makes the sentence from the arguments of the search's report.
    """
    line = _Line() if _in_a_notebook() else None
    with until_interrupted() as go_on:

        def report(*how_far: object) -> bool:
            if line is not None and how_far:
                line.say(words(*how_far))
            return go_on()

        try:
            yield report
        finally:
            if line is not None:
                line.end()


def _in_a_notebook() -> bool:
    """Return whether a kernel runs this on the thread of its cells.

    It is False for a kernel that pytest has started: nbval compares all outputs of a cell, and this line depends on the
    clock.
    """
    if "PYTEST_VERSION" in os.environ:
        return False
    if threading.current_thread() is not threading.main_thread():
        return False
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:  # only the core is installed
        return False
    return hasattr(get_ipython(), "kernel")


class Counted:
    """Counts the names that a search reports, one after the other, to render "3 of 5 designs".

    Args:
        there_are: how many there will be, or at most; 0 if unknown.
        what: the plural noun for them, such as "designs".
    """

    def __init__(self, there_are: int, what: str, *, at_most: bool = False) -> None:
        self._names: list[str] = []
        self._of = f" of {'at most ' if at_most else ''}{there_are:,}" if there_are else ""
        self._what = what

    def __call__(self, name: str, states: int, depth: int) -> str:
        """Return the progress of a search in words."""
        if name not in self._names:
            self._names.append(name)
        return (
            f"{len(self._names):,}{self._of} {self._what}, {name}: {states:,} states, depth {depth}"
        )
