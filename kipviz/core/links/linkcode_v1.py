"""Permalinks of the first format, which are still opened and no longer written.

    kv1.<base64url of the bytes below>

    4 bytes   CRC-32 of everything after them
    text      the head: what was run, as a list in JSON
    1 byte    the first byte of the start's fingerprint
    8 bytes   the first bytes of the fingerprint of the world at the cursor
    number    the cursor's step
    parts     how many, and of each: the step after which it leaves the part before, and its length
    written   actions that are not among the enabled ones: how many, and of each: place and text
    1 byte    k, how many low bits of a choice stand as they are
    bits      of each step its choice in Rice's code (the rest in ones and a zero, then k bits), and
              after all choices of each step the first four bits of its world's fingerprint

A number is written seven bits at a time, lowest first; a text is its length and its UTF-8.
"""

from __future__ import annotations

import zlib

from kipviz.core.links.bits import BadBits, BitReader, bytes_of
from kipviz.core.links.link import MARK_SIZE, CursorMark, Link, LinkStep, split_into_parts

PREFIX = "kv1."

_CHECK_BITS = 4
_K_MAX = 7


def read(link: str) -> Link:
    """Read a link that begins with `PREFIX`.

    Raises:
        BadBits: if it is truncated or damaged.
    """
    data = bytes_of(link.removeprefix(PREFIX))
    if zlib.crc32(data[4:]).to_bytes(4, "big") != data[:4]:
        raise BadBits("the checksum does not fit")
    body = _Bytes(data[4:])
    head = body.text()
    start, mark, step = body.take(1)[0], body.take(MARK_SIZE), body.number()
    shapes = [(body.number(), body.number()) for _ in body.times()]
    written = {body.number(): body.text() for _ in body.times()}
    k = body.take(1)[0]
    bits = BitReader(body.rest())
    steps = sum(size for _, size in shapes)
    if k > _K_MAX or steps * (1 + k + _CHECK_BITS) > bits.left:
        raise BadBits("more steps are announced than there are bits")
    picks = [written.get(n, pick) for n, pick in enumerate([bits.rice(k) for _ in range(steps)])]
    taken = [LinkStep(pick, bits.bits(_CHECK_BITS)) for pick in picks]
    if bits.left > 7:
        raise BadBits("bits are left over")
    parts = split_into_parts(shapes, taken)
    if not parts or parts[0].at or step > parts[-1].last:
        raise BadBits("the cursor or the first part is nowhere")
    return Link(head, start, step, parts, CursorMark(mark), _CHECK_BITS)


class _Bytes:
    """Reads the bytes of a link one field after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        found = self._data[self._at : self._at + size]
        if len(found) < size:
            raise BadBits("the bytes end too early")
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
        raise BadBits("a number has no end")

    def times(self) -> range:
        count = self.number()
        if count > len(self._data):
            raise BadBits("more things are announced than there are bytes")
        return range(count)

    def text(self) -> str:
        try:
            return self.take(self.number()).decode()
        except UnicodeDecodeError:
            raise BadBits("a text is not UTF-8") from None
