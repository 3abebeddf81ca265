"""Suggestions: the names nearest to an unknown one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

MOST = 3
# How similar a name has to be (difflib's ratio) where all names are listed anyway: a far one would only puzzle.
CLOSE = 0.6
# The number of letters of an unknown name that are repeated; text pasted by mistake can be a page.
LONGEST = 80


def nearest(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the most similar names, best first, at most three; there is always one if there are names."""
    known = tuple(names)
    return tuple(get_close_matches(str(name), known, MOST, cutoff=0.0)) if known else ()


def unknown(kind: str, name: object, names: Iterable[str], where: str) -> str:
    """Return a sentence that something is unknown, with similar names, and where all of them are listed.

    A value that is not a text is reported by its type: a scenario or a world fills pages when it is printed.
    """
    if not isinstance(name, str):
        return f"a {kind} is given by its name, not by a {type(name).__name__}; {where} lists all"
    like = nearest(name, names)
    *first, last = like
    listed = f"{', '.join(first)} and {last}" if first else last
    shown = name if len(name) <= LONGEST else f"{name[:LONGEST]}…"
    return f"there is no {kind} {shown!r}; nearest are {listed}, and {where} lists all"


def unknown_of(kind: str, kinds: str, name: object, names: Iterable[str]) -> str:
    """Return a sentence that something is unknown, with a similar name if there is one, and all names that there are.

    For names that no command lists: `kinds` is the plural of the kind.
    """
    known = tuple(names)
    shown = str(name)[:LONGEST]
    close = get_close_matches(shown, known, 1, cutoff=CLOSE)
    like = f"the nearest is {close[0]}, and " if close else ""
    return f"there is no {kind} {shown!r}; {like}the {kinds} are {', '.join(known) or 'none'}"
