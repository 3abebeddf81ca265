"""What somebody may have meant: the names nearest to one that there is not."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

MOST = 3
# So many letters of an unknown name are repeated; what is pasted by mistake can be a page.
LONGEST = 80


def nearest(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that look most like one, best first, at most three; any if none is like it."""
    known = tuple(names)
    return tuple(get_close_matches(str(name), known, MOST, cutoff=0.0)) if known else ()


def unknown(kind: str, name: object, names: Iterable[str], where: str) -> str:
    """Say in one sentence that there is no such thing, what is like it, and where all of them are.

    What is no text at all is told by its type: a scenario or a world fills pages when it is printed.
    """
    if not isinstance(name, str):
        return f"a {kind} is given by its name, not by a {type(name).__name__}; {where} lists all"
    like = nearest(name, names)
    *first, last = like
    listed = f"{', '.join(first)} and {last}" if first else last
    shown = name if len(name) <= LONGEST else f"{name[:LONGEST]}…"
    return f"there is no {kind} {shown!r}; nearest are {listed}, and {where} lists all"
