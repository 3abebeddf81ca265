"""The switch that cancels a long job, and the reports of its progress."""

from __future__ import annotations

from collections.abc import Callable

OnProgress = Callable[[int, int], None]
"""Called with the number done and the total; from another thread if the job is Spark's."""


class Cancelled(Exception):
    """The job was cancelled on request; a loop keeps its finished runs, other jobs keep those in a folder."""


class CancelSwitch:
    """A switch that one thread turns and another one reads."""

    def __init__(self) -> None:
        self._turned = False

    def cancel(self) -> None:
        """Ask the job to stop. Returns at once; any thread may call it, more than once."""
        self._turned = True

    @property
    def cancelled(self) -> bool:
        """Whether the job was asked to stop."""
        return self._turned

    def raise_if_cancelled(self) -> None:
        """Stop here if the job was asked to."""
        if self.cancelled:
            raise Cancelled("the campaign was cancelled")
