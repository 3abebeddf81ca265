"""A sequence of bits: numbers, texts and bytes, written one after the other and read in the same order.

The small numbers of a permalink take fewer bits than a byte, and base64url encodes any bytes as letters. A number is
written in Elias's gamma code: a zero for each binary digit after the first, then its digits.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Self

_DIGITS_MAX = 32
_LETTERS = re.compile(r"[A-Za-z0-9_-]+")


class BadBits(ValueError):
    """Bits that end too early, or that no writer could have written."""


class BitWriter:
    """Collects bits; `data` returns them as bytes, padded with zeros."""

    def __init__(self) -> None:
        self._bits: list[str] = []

    def bits(self, value: int, width: int) -> Self:
        """Write a number in `width` binary digits, highest first."""
        if width:
            self._bits.append(f"{value:0{width}b}")
        return self

    def number(self, value: int) -> Self:
        """Write a number that is not negative; small ones take few bits."""
        digits = f"{value + 1:b}"
        self._bits.append("0" * (len(digits) - 1) + digits)
        return self

    def rice(self, value: int, low: int) -> Self:
        """Write a number in Rice's code: its high part in ones and a zero, then `low` binary digits."""
        self._bits.append("1" * (value >> low) + "0")
        return self.bits(value & (1 << low) - 1, low)

    def raw(self, data: bytes) -> Self:
        """Write bytes with their number before them."""
        self.number(len(data))
        for byte in data:
            self.bits(byte, 8)
        return self

    def text(self, text: str) -> Self:
        """Write a text as UTF-8 with its length before it."""
        return self.raw(text.encode())

    def data(self) -> bytes:
        """Return all bits as bytes."""
        bits = "".join(self._bits)
        bits += "0" * (-len(bits) % 8)
        return int(bits, 2).to_bytes(len(bits) // 8, "big") if bits else b""


class BitReader:
    """Reads from bytes what a `BitWriter` wrote; every method raises BadBits for impossible bits."""

    def __init__(self, data: bytes) -> None:
        self._bits = f"{int.from_bytes(data, 'big'):0{len(data) * 8}b}" if data else ""
        self._at = 0

    @property
    def left(self) -> int:
        """How many bits are left."""
        return len(self._bits) - self._at

    def _take(self, width: int) -> str:
        if width > self.left:
            raise BadBits("the bits end too early")
        self._at += width
        return self._bits[self._at - width : self._at]

    def bits(self, width: int) -> int:
        """Read a number of `width` binary digits."""
        return int(self._take(width), 2) if width else 0

    def flag(self) -> bool:
        """Read one bit."""
        return self.bits(1) == 1

    def _run_of(self, ends_with: str) -> int:
        end = self._bits.find(ends_with, self._at)
        if end < 0:
            raise BadBits("a number has no end")
        length = end - self._at
        self._at = end
        return length

    def number(self) -> int:
        """Read a number that `BitWriter.number` wrote."""
        zeros = self._run_of("1")
        if zeros > _DIGITS_MAX:
            raise BadBits("a number is too large")
        return self.bits(zeros + 1) - 1

    def count(self, width: int = 1) -> int:
        """Read the number of items that follow, of at least `width` bits each."""
        count = self.number()
        if count * width > self.left:
            raise BadBits("more things are announced than there are bits")
        return count

    def rice(self, low: int) -> int:
        """Read a number that `BitWriter.rice` wrote."""
        high = self._run_of("0")
        self._at += 1
        return high << low | self.bits(low)

    def raw(self) -> bytes:
        """Read bytes that `BitWriter.raw` wrote."""
        size = self.count(8)
        return self.bits(size * 8).to_bytes(size, "big")

    def text(self) -> str:
        """Read a text that `BitWriter.text` wrote."""
        try:
            return self.raw().decode()
        except UnicodeDecodeError:
            raise BadBits("a text is not UTF-8") from None

    def end(self) -> None:
        """Check that only the padding zeros of the last byte are left."""
        if self.left > 7 or "1" in self._bits[self._at :]:
            raise BadBits("bits are left over")


def letters_of(data: bytes) -> str:
    """Return bytes as letters of base64url, without the padding."""
    return urlsafe_b64encode(data).decode().rstrip("=")


def bytes_of(letters: str) -> bytes:
    """Return the bytes of letters that `letters_of` made.

    Raises:
        BadBits: if no bytes have these letters.
    """
    if _LETTERS.fullmatch(letters) is None:
        raise BadBits("a letter is not one of base64url")
    try:
        data = urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
    except ValueError:
        raise BadBits("the letters are cut off") from None
    if letters_of(data) != letters:
        raise BadBits("the last letter has bits that stand for nothing")
    return data
