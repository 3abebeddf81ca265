"""The requests that wait for the answer of a transaction coordinator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kipviz.cluster.behaviour.naming import listed, short_name

Guard = tuple[str, str]


def waiting_for(role: Any, message: Any) -> Iterator[Guard]:
    """Yield which requests wait for a partition to be added to the transaction, and whether the answer still counts."""
    for each in getattr(role, "asking", ()):
        if each.question == message.partitions:
            yield "waits for it", f"Produce of {listed(tuple(map(short_name, each.partitions)))}"
    for name in ("verifying", "enlisting", "staging"):
        for waiting in getattr(role, name, ()):
            if waiting.producer_id == message.producer_id and not waiting.settled:
                yield "waits for it", type(waiting.request).__name__
