"""The newest lines of a served cluster's log: connections that were closed, and why."""

from __future__ import annotations

from collections import deque

LINES_MAX = 1_000


class ServerLog(deque[str]):
    """The newest lines; `written` counts all of them."""

    def __init__(self) -> None:
        super().__init__(maxlen=LINES_MAX)
        self.written = 0

    def append(self, line: str, /) -> None:
        """Add a line; the oldest one may be dropped for it."""
        super().append(line)
        self.written += 1

    def after(self, number: int) -> tuple[str, ...]:
        """Return the lines that were written after so many, without those that were dropped."""
        new = min(self.written - number, len(self))
        return tuple(self)[len(self) - new :]
