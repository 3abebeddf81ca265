"""The first ^C (or a notebook's stop button) ends a search in order, so that what was found is kept."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# It takes whatever a search tells of its progress.
GoOn = Callable[..., bool]


@contextmanager
def until_interrupted() -> Iterator[GoOn]:
    """Give a `progress` that is content until somebody interrupts; who does so twice means it.

    Only the main thread is interrupted by Python, so in another one nothing is changed.
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
    except ValueError:  # it is not the main thread
        yield go_on
        return
    try:
        yield go_on
    finally:
        signal.signal(signal.SIGINT, before)
