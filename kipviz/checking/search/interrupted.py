"""The first ^C (or a notebook's stop button) ends a search cleanly, so that its results are kept."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# It accepts whatever arguments a search reports.
GoOn = Callable[..., bool]


@contextmanager
def until_interrupted() -> Iterator[GoOn]:
    """Yield a `progress` that returns True until an interrupt; a second interrupt raises KeyboardInterrupt.

    Python interrupts the main thread only, so on another thread nothing is changed.
    """
    interrupted: list[int] = []

    def note(number: int, _: object) -> None:
        if interrupted:
            raise KeyboardInterrupt
        interrupted.append(number)

    def go_on(*_: object) -> bool:
        return not interrupted

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not on the main thread
        yield go_on
        return
    try:
        yield go_on
    finally:
        signal.signal(signal.SIGINT, before)
