"""The text of a permalink: the choices of a run, packed into few letters.

    kv2.<head>.<base64url of the bits below>

    32 bits   CRC-32 of all letters before the last dot and of all bytes after these four
    8 bits    the first byte of the start's mark
    32 bits   CRC-32 of the marks of all worlds, the start first
    number    how many steps the cursor stands before the end
    number    how many parts follow the first one
    number    the length of the first part; of each other part the step that it leaves, and its length
    number    how many actions are written out, because they were not among the enabled ones
              of each its place and its text
    3 bits    k, how many low bits of a choice stand as they are
    bits      of each step its choice in Rice's code with k low bits, then
              of each step the first two bits of its world's mark

The page writes the same letters without a kernel (`widgets/front/src/sharing/permalink.js`), so nothing here depends on a
compression library whose output could differ. A step takes about four bits.
"""

from __future__ import annotations

import re
import zlib

from kipviz.core.links import linkcode_v1
from kipviz.core.links.bits import BadBits, BitReader, BitWriter, bytes_of, letters_of
from kipviz.core.links.link import (
    CHECK_BITS,
    LENGTH_MAX,
    BadLink,
    Link,
    LinkStep,
    SumOfMarks,
    split_into_parts,
)

PREFIX = "kv2."
PATTERN = r"kv[0-9]+\.[A-Za-z0-9_.+=~-]*[A-Za-z0-9_-]"
"""A regular expression for text that looks like a permalink of any format."""

_CRC_SIZE = 4
_K_BITS = 3


def write(link: Link) -> str:
    """Return the text of a link, however long."""
    assert isinstance(link.witness, SumOfMarks), "links of the first format are only read"
    taken = [step for part in link.parts for step in part.taken]
    picks = [step.pick if isinstance(step.pick, int) else 0 for step in taken]
    written = [(n, step.pick) for n, step in enumerate(taken) if isinstance(step.pick, str)]
    first, *others = link.parts
    out = BitWriter().bits(link.start, 8).bits(link.witness.sum, 32)
    out.number(link.parts[-1].last - link.step).number(len(others)).number(len(first.taken))
    for part in others:
        out.number(part.at).number(len(part.taken))
    out.number(len(written))
    for place, action in written:
        out.number(place).text(action)
    k = min(range(1 << _K_BITS), key=lambda low: sum((pick >> low) + 1 + low for pick in picks))
    out.bits(k, _K_BITS)
    for pick in picks:
        out.rice(pick, k)
    for step in taken:
        out.bits(step.check, CHECK_BITS)
    before, data = f"{PREFIX}{link.head}", out.data()
    return f"{before}.{letters_of(_crc(before, data) + data)}"


def _crc(before: str, data: bytes) -> bytes:
    return zlib.crc32(data, zlib.crc32(before.encode())).to_bytes(_CRC_SIZE, "big")


def read(text: str) -> Link:
    """Read a link of any format; blanks and line ends from a mail are ignored.

    Raises:
        BadLink: if it is not a permalink, is truncated or damaged, or is too long.
    """
    link = "".join(text.split())
    if not link.startswith((PREFIX, linkcode_v1.PREFIX)):
        newer = re.match(r"kv[0-9]+\.", link)
        raise BadLink(
            f"this permalink is in the format {newer[0]!r}, and this version of kipviz reads {PREFIX!r} "
            f"and {linkcode_v1.PREFIX!r}"
            if newer
            else f"{_short(link)!r} is not a permalink: one begins with {PREFIX!r}"
        )
    if len(link) > LENGTH_MAX:
        raise BadLink(
            f"this permalink has {len(link):,} letters, and one has {LENGTH_MAX:,} at most: "
            "a longer run travels as a trace file"
        )
    try:
        return _read(link) if link.startswith(PREFIX) else linkcode_v1.read(link)
    except BadBits:
        raise BadLink("this permalink is cut off or damaged: copy it again, whole") from None


def _read(link: str) -> Link:
    if re.fullmatch(PATTERN, link) is None:
        raise BadBits("a letter cannot occur in a link")
    before, _, letters = link.rpartition(".")
    data = bytes_of(letters)
    if data[:_CRC_SIZE] != _crc(before, data[_CRC_SIZE:]):
        raise BadBits("the checksum does not fit")
    body = BitReader(data[_CRC_SIZE:])
    start, witness = body.bits(8), SumOfMarks(body.bits(32))
    from_end, others = body.number(), body.count(2)
    shapes = [(0, body.number()), *((body.number(), body.number()) for _ in range(others))]
    written = {body.number(): body.text() for _ in range(body.count(2))}
    k = body.bits(_K_BITS)
    steps = sum(size for _, size in shapes)
    if steps * (1 + k + CHECK_BITS) > body.left:
        raise BadBits("more steps are announced than there are bits")
    picks = [written.get(n, pick) for n, pick in enumerate([body.rice(k) for _ in range(steps)])]
    taken = [LinkStep(pick, body.bits(CHECK_BITS)) for pick in picks]
    body.end()
    parts = split_into_parts(shapes, taken)
    if from_end > parts[-1].last:
        raise BadBits("the cursor is before the start")
    head = before.removeprefix(PREFIX)
    return Link(head, start, parts[-1].last - from_end, parts, witness)


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:24]}…"
