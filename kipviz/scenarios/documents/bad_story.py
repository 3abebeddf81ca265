"""What is wrong with a story document, and where."""

from __future__ import annotations

from collections.abc import Iterable

from kipviz.core.outside.suggestions import nearest

# The maximum number of allowed names in a sentence.
LISTED_MAX = 40
# The maximum number of letters of the input that a sentence repeats.
REPEATED_MAX = 80


class BadStory(ValueError):
    """A document that is no story: the file, the line, what is wrong and what is allowed."""

    def __init__(self, file: str, line: int, what: str) -> None:
        """Keep the position beside the message."""
        super().__init__(f"{file}:{line}: {what}")
        self.file = file
        self.line = line
        self.what = what


class Wrong(ValueError):
    """An error in a line of a document whose file name is not known here."""

    def __init__(self, line: int, what: str) -> None:
        """Keep the line beside the message."""
        super().__init__(what)
        self.line = line
        self.what = what

    def of(self, file: str) -> BadStory:
        """Return the same error with its file."""
        return BadStory(file, self.line, self.what)


def shorten_input(text: str) -> str:
    """Return the input, cut off if it would be too long for a sentence."""
    return text if len(text) <= REPEATED_MAX else f"{text[:REPEATED_MAX]}…"


def not_known(kind: str, name: str, names: Iterable[str]) -> str:
    """Return a message: what is unknown, the nearest existing name, and all allowed names."""
    known, name = tuple(names), shorten_input(name)
    if not known:
        return f"unknown {kind} {name!r}; none is allowed here"
    like = nearest(name, known)[0]
    listed = ", ".join(known[:LISTED_MAX])
    more = f" and {len(known) - LISTED_MAX} more" if len(known) > LISTED_MAX else ""
    return f"unknown {kind} {name!r}. Did you mean {like!r}? Allowed: {listed}{more}"
