"""What somebody may have meant: the names nearest to one that there is not."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

MOST = 3


def nearest(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """Give the names that look most like one, best first, at most three; any if none is like it."""
    known = tuple(names)
    return tuple(get_close_matches(str(name), known, MOST, cutoff=0.0)) if known else ()


def unknown(kind: str, name: str, names: Iterable[str], where: str) -> str:
    """Say in one sentence that there is no such thing, what is like it, and where all of them are."""
    like = nearest(name, names)
    *first, last = like
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"there is no {kind} {name!r}; nearest are {listed}, and {where} lists all"
