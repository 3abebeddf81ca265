"""What is wrong with a story document, and where."""

from __future__ import annotations

from collections.abc import Iterable

from kipviz.core.suggestions import nearest

# How many allowed names a sentence lists.
LISTED_MAX = 40
# How many letters of what was written a sentence repeats.
REPEATED_MAX = 80


class BadStory(ValueError):
    """A document that is no story: the file, the line, what is wrong and what is allowed."""

    def __init__(self, file: str, line: int, what: str) -> None:
        """Keep the place beside the sentence."""
        super().__init__(f"{file}:{line}: {what}")
        self.file = file
        self.line = line
        self.what = what


class Wrong(ValueError):
    """What is wrong in a line of a document whose file's name is not known here."""

    def __init__(self, line: int, what: str) -> None:
        """Keep the line beside the sentence."""
        super().__init__(what)
        self.line = line
        self.what = what

    def of(self, file: str) -> BadStory:
        """Return the same mistake with the file it is in."""
        return BadStory(file, self.line, self.what)


def repeated(text: str) -> str:
    """Return what was written, cut off where a sentence would become a page."""
    return text if len(text) <= REPEATED_MAX else f"{text[:REPEATED_MAX]}…"


def not_known(kind: str, name: str, names: Iterable[str]) -> str:
    """Return a sentence: what is unknown, the nearest name that exists, and all that are allowed."""
    known, name = tuple(names), repeated(name)
    if not known:
        return f"Unknown {kind} {name!r}. None is allowed here."
    like = nearest(name, known)[0]
    listed = ", ".join(known[:LISTED_MAX])
    more = f" and {len(known) - LISTED_MAX} more" if len(known) > LISTED_MAX else ""
    return f"Unknown {kind} {name!r}. Did you mean {like!r}? Allowed: {listed}{more}."
