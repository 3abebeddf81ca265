"""What whoever started a long job turns to end it, and what the job tells meanwhile."""

from __future__ import annotations

from collections.abc import Callable

OnProgress = Callable[[int, int], None]
"""Called with what is done and what there is; from another thread where the job is Spark's."""


class Cancelled(Exception):
    """The job was cancelled on request; a loop keeps what it had done, and others what a folder has of it."""


class CancelSwitch:
    """Something one thread turns and another one looks at."""

    def __init__(self) -> None:
        self._turned = False

    def cancel(self) -> None:
        """Ask the job to stop; returns at once, any thread may call it, twice does no harm."""
        self._turned = True

    @property
    def cancelled(self) -> bool:
        """Whether somebody asked."""
        return self._turned

    def raise_if_cancelled(self) -> None:
        """Leave here if somebody asked."""
        if self.cancelled:
            raise Cancelled("The campaign was cancelled.")
