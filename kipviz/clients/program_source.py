"""The source of a program: its lines, and the ones that the threads are in.

A program of the package has one source line for each call. A reader's program in Python also has lines that call
nothing: `while True:`, `try:`, an empty line. They are kept beside the calls.
"""

from __future__ import annotations

from kipviz.clients.application import Line
from kipviz.core.values import Value

# The place of a source line that calls nothing.
NO_CALL = -1


class SourceLine(Value, frozen=True):
    """A source line: its number from 1 on, its text, and the place of its call in the program."""

    number: int
    text: str
    at: int


def source_of(program: tuple[Line, ...]) -> tuple[SourceLine, ...]:
    """Return every line of a program's source, including those that call nothing."""
    rows: list[tuple[str, int]] = []
    for at, line in enumerate(program):
        rows += [(text, NO_CALL) for text in line.above]
        rows += [(line.text, at), *((text, NO_CALL) for text in line.below)]
    return tuple(SourceLine(number, text, at) for number, (text, at) in enumerate(rows, 1))


def number_in_source(program: tuple[Line, ...], at: int) -> int:
    """Return the source line number, from 1 on, of a place in the program."""
    above = sum(1 + len(line.above) + len(line.below) for line in program[:at])
    return above + len(program[at].above) + 1
