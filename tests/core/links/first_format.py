"""The writer of permalinks in the first format, kv1: kipviz only reads them now."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from kipviz.core.links.bits import BitWriter, letters_of
from kipviz.core.links.link import Leg, join_branches

KS = range(8)


def first_written(head: str, start: bytes, mark: bytes, step: int, chain: Sequence[Leg]) -> str:
    """Return a link to a step of a line as kipviz wrote it until its second format."""
    legs = join_branches(chain)
    steps = [one for leg in legs for one in leg.steps]
    written = [(n, pick) for n, (pick, _) in enumerate(steps) if isinstance(pick, str)]
    picks = [pick if isinstance(pick, int) else 0 for pick, _ in steps]
    k = min(KS, key=lambda low: sum((pick >> low) + 1 + low for pick in picks))
    bits = BitWriter()
    for pick in picks:
        bits.rice(pick, k)
    for _, after in steps:
        bits.bits(after[0] >> 4, 4)
    return first_sealed(
        first_text(head),
        start[:1],
        mark,
        first_number(step),
        first_number(len(legs)),
        *(first_number(leg.at) + first_number(len(leg.steps)) for leg in legs),
        first_number(len(written)),
        *(first_number(place) + first_text(action) for place, action in written),
        bytes((k,)),
        bits.data(),
    )


def first_sealed(*fields: bytes) -> str:
    """Return a link with these fields and the checksum that fits them."""
    body = b"".join(fields)
    return "kv1." + letters_of(zlib.crc32(body).to_bytes(4, "big") + body)


def first_number(value: int) -> bytes:
    """Return a number in seven bits to a byte, lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def first_text(text: str) -> bytes:
    """Return a text with its length before it."""
    data = text.encode()
    return first_number(len(data)) + data
