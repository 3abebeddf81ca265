"""The source that a program was written in: its lines, and which of them the thread is in.

A program of the package has a line of source for each call. One that a reader has written in Python has
lines that call nothing, too: `while True:`, `try:`, an empty one. They are kept beside the calls.
"""

from __future__ import annotations

from kipviz.clients.application import Line
from kipviz.core.values import Value

# The number of a line of source that calls nothing.
NO_CALL = -1


class SourceLine(Value, frozen=True):
    """A line of source: its number from 1 on, its text, and the place in the program of the call in it."""

    number: int
    text: str
    at: int


def source_of(program: tuple[Line, ...]) -> tuple[SourceLine, ...]:
    """Give every line of a program's source, those that call nothing too."""
    rows: list[tuple[str, int]] = []
    for at, line in enumerate(program):
        rows += [(text, NO_CALL) for text in line.above]
        rows += [(line.text, at), *((text, NO_CALL) for text in line.below)]
    return tuple(SourceLine(number, text, at) for number, (text, at) in enumerate(rows, 1))


def number_in_source(program: tuple[Line, ...], at: int) -> int:
    """Give the number, from 1 on, of the line of source that a place in the program has."""
    above = sum(1 + len(line.above) + len(line.below) for line in program[:at])
    return above + len(program[at].above) + 1
