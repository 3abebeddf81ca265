"""A client's log lines beside the steps of the cluster that it is connected to."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable


class LogLines(logging.Handler):
    """Passes on the log lines of a client in this process.

    Args:
        keep: gets the client's name and a line; a ValueError says that the client has no lane yet.
        client: the client's name, its client.id.
    """

    def __init__(self, keep: Callable[[str, str], None], client: str) -> None:
        super().__init__()
        self._keep = keep
        self._client = client

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line; one from before the client's first request has no lane yet."""
        with contextlib.suppress(ValueError):
            self._keep(self._client, f"{record.levelname} {record.getMessage()}")
