"""The text of a permalink: which choices were taken, packed into few letters.

    kv1.<base64url of the bytes below>

    4 bytes   CRC-32 of everything after them
    text      the head: what was run, in the words of whoever made the link
    1 byte    the first byte of the start's fingerprint
    8 bytes   the first bytes of the fingerprint of the world at the cursor
    number    the cursor's step
    parts     how many, and of each: the step after which it leaves the part before, and its length
    written   actions that are not among the enabled ones: how many, and of each: place and text
    1 byte    k, how many low bits of a choice stand as they are
    bits      of each step its choice in Rice's code (the rest in ones and a zero, then k bits), and
              after all choices of each step the first four bits of its world's fingerprint

A number is written seven bits at a time, lowest first; a text is its length and its UTF-8. The page
writes the same letters without a kernel, so nothing here depends on a compression library whose
output could differ. A step takes about six bits, which is one letter.
"""

from __future__ import annotations

import re
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence

from kipviz.core.values import Value

PREFIX = "kv1."
MARK_SIZE = 8
LENGTH_MAX = 8_000
"""A longer link is neither made nor read: mail and chat programs break it."""

_KS = range(8)
_CHECK_BITS = 4


class BadLink(ValueError):
    """A text that is no permalink, or one that cannot be opened; the message says why."""


class Taken(Value, frozen=True):
    """One step: the choice's place among the enabled actions, and a check of the world behind it.

    An action that was not among them stands as its text instead. `check` is a number below 16.
    """

    pick: int | str
    check: int


class Part(Value, frozen=True):
    """Steps in a row; all but the first part leave the line before them after step `at`."""

    at: int
    taken: tuple[Taken, ...]

    @property
    def last(self) -> int:
        """The step at which the part ends."""
        return self.at + len(self.taken)


class Link(Value, frozen=True):
    """What a permalink says: the line to a run's tip, part by part, and the cursor on it."""

    head: str
    start: int
    mark: bytes
    step: int
    parts: tuple[Part, ...]


def joined(chain: Sequence[Part]) -> tuple[Part, ...]:
    """Give the parts that a line really has, from its branches, the main one first.

    A branch that leaves its parent before the parent's own steps leaves the grandparent, and one
    that leaves at the end of its parent goes on with it.
    """
    parts = [chain[0]]
    for part in chain[1:]:
        while len(parts) > 1 and part.at <= parts[-1].at:
            parts.pop()
        if part.at == parts[-1].last:
            parts[-1] = parts[-1].but(taken=parts[-1].taken + part.taken)
        else:
            parts.append(part)
    return tuple(parts)


# --- writing ---------------------------------------------------------------------------------------


def write(link: Link) -> str:
    """Give the text of a link, however long."""
    taken = [step for part in link.parts for step in part.taken]
    written = [(n, step.pick) for n, step in enumerate(taken) if isinstance(step.pick, str)]
    picks = [step.pick if isinstance(step.pick, int) else 0 for step in taken]
    k = min(_KS, key=lambda low: sum((pick >> low) + 1 + low for pick in picks))
    body = b"".join(
        (
            _text(link.head),
            bytes((link.start,)),
            link.mark,
            _number(link.step),
            _number(len(link.parts)),
            *(_number(part.at) + _number(len(part.taken)) for part in link.parts),
            _number(len(written)),
            *(_number(place) + _text(action) for place, action in written),
            bytes((k,)),
            _bits(picks, [step.check for step in taken], k),
        )
    )
    whole = zlib.crc32(body).to_bytes(4, "big") + body
    return PREFIX + urlsafe_b64encode(whole).decode().rstrip("=")


def _number(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _text(text: str) -> bytes:
    data = text.encode()
    return _number(len(data)) + data


def _bits(picks: Sequence[int], checks: Sequence[int], k: int) -> bytes:
    ones = "".join(
        "1" * (pick >> k) + "0" + (f"{pick & (1 << k) - 1:0{k}b}" if k else "") for pick in picks
    )
    ones += "".join(f"{check:04b}" for check in checks)
    ones += "0" * (-len(ones) % 8)
    return int(ones, 2).to_bytes(len(ones) // 8, "big") if ones else b""


# --- reading ---------------------------------------------------------------------------------------


def read(text: str) -> Link:
    """Read a link; blanks and line ends that a mail put into it do not matter.

    Raises:
        BadLink: if it is none, is cut off or damaged, or is too long.
    """
    body = _Reader(_checked(text))
    head = body.text()
    start, mark, step = body.take(1)[0], body.take(MARK_SIZE), body.number()
    shapes = [(body.number(), body.number()) for _ in body.times()]
    written = {body.number(): body.text() for _ in body.times()}
    k = body.take(1)[0]
    taken = _taken(body.rest(), sum(count for _, count in shapes), k, written)
    parts: list[Part] = []
    for at, count in shapes:
        if parts and not parts[-1].at < at < parts[-1].last:
            raise _damaged()
        parts.append(Part(at, taken[:count]))
        taken = taken[count:]
    if not parts or parts[0].at or step > parts[-1].last:
        raise _damaged()
    return Link(head, start, mark, step, tuple(parts))


def _checked(text: str) -> bytes:
    """Give the bytes of a link without its checksum."""
    link = "".join(text.split())
    if not link.startswith(PREFIX):
        newer = re.match(r"kv\d+\.", link)
        raise BadLink(
            f"this permalink is in the format {newer[0]!r}, and this version of kipviz reads {PREFIX!r}"
            if newer
            else f"{_short(link)!r} is no permalink: one begins with {PREFIX!r}"
        )
    if len(link) > LENGTH_MAX:
        raise BadLink(
            f"this permalink has {len(link):,} letters, and one has {LENGTH_MAX:,} at most: "
            "a longer run travels as a trace file"
        )
    letters = link.removeprefix(PREFIX)
    if not re.fullmatch(r"[A-Za-z0-9_-]+", letters, re.ASCII) or len(letters) % 4 == 1:
        raise _damaged()
    data = urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
    if len(data) < 4 or zlib.crc32(data[4:]).to_bytes(4, "big") != data[:4]:
        raise _damaged()
    return data[4:]


def _damaged() -> BadLink:
    return BadLink("this permalink is cut off or damaged: copy it again, whole")


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:24]}…"


class _Reader:
    """Takes the bytes of a link one field after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        found = self._data[self._at : self._at + size]
        if len(found) < size:
            raise _damaged()
        self._at += size
        return found

    def rest(self) -> bytes:
        return self._data[self._at :]

    def number(self) -> int:
        value = 0
        for shift in range(0, 35, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise _damaged()

    def times(self) -> range:
        count = self.number()
        if count > len(self._data):
            raise _damaged()
        return range(count)

    def text(self) -> str:
        try:
            return self.take(self.number()).decode()
        except UnicodeDecodeError:
            raise _damaged() from None


def _taken(data: bytes, steps: int, k: int, written: dict[int, str]) -> tuple[Taken, ...]:
    """Read the choices and checks of all steps; they have to fill the bytes to the last one."""
    if k not in _KS or steps * (1 + k + _CHECK_BITS) > len(data) * 8:
        raise _damaged()
    bits = f"{int.from_bytes(data, 'big'):0{len(data) * 8}b}" if data else ""
    picks, at = [], 0
    for _ in range(steps):
        end = bits.find("0", at)
        if end < 0 or end + 1 + k > len(bits):
            raise _damaged()
        low = int(bits[end + 1 : end + 1 + k], 2) if k else 0
        picks.append((end - at) << k | low)
        at = end + 1 + k
    left = bits[at:]
    if len(left) - _CHECK_BITS * steps not in range(8):
        raise _damaged()
    checks = [int(left[n * _CHECK_BITS : (n + 1) * _CHECK_BITS], 2) for n in range(steps)]
    pairs = enumerate(zip(picks, checks, strict=True))
    return tuple(Taken(written.get(n, pick), check) for n, (pick, check) in pairs)
