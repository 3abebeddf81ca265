"""The first ^C (or a notebook's stop button) ends a search cleanly, so that its results are kept."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# It accepts whatever arguments a search reports.
GoOn = Callable[..., bool]


def is_ignored() -> bool:
    """Return whether this process was started with ^C ignored, as a script's `command &` is.

    That ^C is meant for the program in the foreground, so Python itself installs no handler either.
    """
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@contextmanager
def until_interrupted() -> Iterator[GoOn]:
    """Yield a `progress` that returns True until an interrupt; a second interrupt raises KeyboardInterrupt.

    Python interrupts the main thread only, so on another thread nothing is changed. A process that was started with
    ^C ignored continues to ignore it.
    """
    interrupted: list[int] = []

    def note(number: int, _: object) -> None:
        if interrupted:
            raise KeyboardInterrupt
        interrupted.append(number)

    def go_on(*_: object) -> bool:
        return not interrupted

    if is_ignored():
        yield go_on
        return
    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not on the main thread
        yield go_on
        return
    try:
        yield go_on
    finally:
        signal.signal(signal.SIGINT, before)
