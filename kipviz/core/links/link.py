"""The content of a permalink, whatever its letters: the choices of a run, and a check of every world."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from kipviz.core.links.bits import BadBits
from kipviz.core.values import Value

LENGTH_MAX = 8_000
"""The most letters of a link that is made or read: mail and chat programs break longer ones."""
MARK_SIZE = 8
"""How many bytes of a world's fingerprint are its mark."""
CHECK_BITS = 2
"""How many bits of its world's mark each step of a new link has."""


class BadLink(ValueError):
    """A text that is not a permalink, or one that cannot be opened; the message says why."""


class LinkStep(Value, frozen=True):
    """One step: the choice's place among the enabled actions, and the first bits of the next world's mark.

    An action that was not among them is written as its text instead.
    """

    pick: int | str
    check: int


class Part(Value, frozen=True):
    """Steps in a row; all parts but the first leave the branch before them after step `at`."""

    at: int
    taken: tuple[LinkStep, ...]

    @property
    def last(self) -> int:
        """The step at which the part ends."""
        return self.at + len(self.taken)


class SumOfMarks(Value, frozen=True):
    """The CRC-32 of the marks of the start and of every step in order: any other world changes it."""

    sum: int


class CursorMark(Value, frozen=True):
    """The mark of the world at the cursor, which links of the first format have."""

    mark: bytes


Witness: TypeAlias = SumOfMarks | CursorMark


class Link(Value, frozen=True):
    """The path to a run's tip, part by part, and the cursor on it.

    `head` names what was run, as the caller encoded it; `start` is the first byte of the start's mark, and `check_bits`
    is the number of bits of each step's check.
    """

    head: str
    start: int
    step: int
    parts: tuple[Part, ...]
    witness: Witness
    check_bits: int = CHECK_BITS


class Leg(Value, frozen=True):
    """Steps of a branch as a run has them: the choice of each, and the mark of the world after it."""

    at: int
    steps: tuple[tuple[int | str, bytes], ...]

    @property
    def last(self) -> int:
        """The step at which the branch ends."""
        return self.at + len(self.steps)


def link_of(head: str, start: bytes, step: int, chain: Sequence[Leg]) -> Link:
    """Return the link to a step of a branch, from the mark of its start and the branches that lead to it."""
    legs = join_branches(chain)
    parts = tuple(
        Part(leg.at, tuple(LinkStep(pick, check_of(mark)) for pick, mark in leg.steps))
        for leg in legs
    )
    marks = (mark for leg in legs for _, mark in leg.steps)
    return Link(head, start[0], step, parts, SumOfMarks(crc_of_marks([start, *marks])))


def join_branches(chain: Sequence[Leg]) -> tuple[Leg, ...]:
    """Return the legs of a path, from its branches, the main one first.

    A branch that leaves its parent before the parent's own steps leaves the grandparent, and one that leaves at the end
    of its parent continues it.
    """
    legs = [chain[0]]
    for leg in chain[1:]:
        while len(legs) > 1 and leg.at <= legs[-1].at:
            legs.pop()
        if leg.at == legs[-1].last:
            legs[-1] = legs[-1].but(steps=legs[-1].steps + leg.steps)
        else:
            legs.append(leg)
    return tuple(legs)


def check_of(mark: bytes, bits: int = CHECK_BITS) -> int:
    """Return the first bits of a mark."""
    return mark[0] >> 8 - bits


def crc_of_marks(marks: Iterable[bytes]) -> int:
    """Return the CRC-32 of consecutive marks."""
    return zlib.crc32(b"".join(marks))


def split_into_parts(
    shapes: Iterable[tuple[int, int]], taken: Sequence[LinkStep]
) -> tuple[Part, ...]:
    """Return steps as parts, each with the step that it leaves and its number of steps.

    Raises:
        BadBits: if a part does not leave between the ends of the previous part.
    """
    parts: list[Part] = []
    begin = 0
    for at, size in shapes:
        if parts and not parts[-1].at < at < parts[-1].last:
            raise BadBits("a part leaves the branch outside the part before it")
        parts.append(Part(at, tuple(taken[begin : begin + size])))
        begin += size
    return tuple(parts)
