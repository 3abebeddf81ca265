"""What was recorded, with one of its numbers changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kipviz.core.table import Table
from kipviz.recordings.accept import LEFT_OUT

# No error code, offset or epoch of a recording becomes another valid one by it.
OFF = 7


def changed(found: Any) -> Iterator[Any]:
    """Give what was said with one of its numbers changed, in every place where that counts."""
    if isinstance(found, Table):
        for name, value in found.items():
            if name not in LEFT_OUT:
                for other in changed(value):
                    yield found.set(name, other)
    elif isinstance(found, tuple):
        for at, value in enumerate(found):
            for other in changed(value):
                yield (*found[:at], other, *found[at + 1 :])
    elif isinstance(found, int) and not isinstance(found, bool):
        yield found + OFF
