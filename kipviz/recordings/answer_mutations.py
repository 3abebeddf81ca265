"""Recorded answers with one of their numbers changed by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kipviz.core.table import Table
from kipviz.recordings.judging.uncompared_fields import LEFT_OUT

# The neighbours of an error are errors, those of an offset are offsets of the same log.
OFF = (1, -1)


def mutate_answer(found: Any) -> Iterator[Any]:
    """Yield a recorded answer with one of its numbers changed, for every place that is compared."""
    yield from (other for _, other in changes(found))


def changes(found: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield a recorded answer with one of its numbers changed, with the field's place and the difference."""
    if isinstance(found, Table):
        for name, value in found.items():
            if name not in LEFT_OUT:
                for which, other in changes(value, f"{place}.{name}" if place else name):
                    yield which, found.set(name, other)
    elif isinstance(found, tuple):
        for at, value in enumerate(found):
            for which, other in changes(value, place):
                yield which, (*found[:at], other, *found[at + 1 :])
    elif isinstance(found, int) and not isinstance(found, bool):
        yield from ((f"{place} {off:+}", found + off) for off in OFF)
