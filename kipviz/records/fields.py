"""Kafka's primitive types, read one after the other from some bytes.

Source: org.apache.kafka.common.protocol.ByteBufferAccessor and the generated message classes.
"""

import base64
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class FieldsError(Exception):
    """The bytes end too early or hold an invalid value; `at` counts from their start."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at = at
        self.why = why


class Fields:
    """A position in some bytes, advanced by every field that is read.

    `flexible` is the message version's encoding of lengths and tagged fields: since KIP-482 strings and arrays begin
    with an unsigned varint of their length plus one.
    """

    __slots__ = ("at", "data", "flexible")

    def __init__(self, data: bytes, *, flexible: bool = False) -> None:
        self.data = data
        self.at = 0
        self.flexible = flexible

    def take(self, size: int, what: str) -> bytes:
        """Return the next bytes, all of them or none."""
        if size < 0:
            raise FieldsError(self.at, f"{what} has the negative length {size}")
        if self.at + size > len(self.data):
            left = len(self.data) - self.at
            raise FieldsError(self.at, f"{what} needs {size} bytes, {left} are left")
        found = self.data[self.at : self.at + size]
        self.at += size
        return found

    def number(self, size: int, what: str) -> int:
        """Return a signed big-endian number of 1, 2, 4 or 8 bytes."""
        return int.from_bytes(self.take(size, what), "big", signed=True)

    def unsigned_varint(self, what: str, *, bits: int = 32) -> int:
        """Return an unsigned number of seven bits to a byte, lowest first."""
        start = self.at
        data, end = self.data, len(self.data)
        value = shift = 0
        while True:
            if self.at >= end:
                self.take(1, what)  # which says what is missing
            byte = data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:  # the highest bit means that more follows
                break
            shift += 7
            if shift >= bits:
                raise FieldsError(start, f"{what} is not a number of {bits} bits")
        if value >= 1 << bits:
            raise FieldsError(start, f"{what} is not a number of {bits} bits")
        return value

    def varint(self, what: str, *, bits: int = 32) -> int:
        """Return a signed number in zigzag order: 0, -1, 1, -2, 2, …."""
        value = self.unsigned_varint(what, bits=bits)
        return value >> 1 ^ -(value & 1)

    def string(self, what: str) -> str:
        """Return a string that may not be null."""
        start = self.at
        text = self.nullable_string(what)
        if text is None:
            raise FieldsError(start, f"{what} may not be null")
        return text

    def nullable_string(self, what: str) -> str | None:
        """Return a string or None."""
        size = self.unsigned_varint(what) - 1 if self.flexible else self.number(2, what)
        if size == -1:
            return None
        start = self.at
        try:
            return self.take(size, what).decode()
        except UnicodeDecodeError as problem:
            raise FieldsError(start, f"{what} is not UTF-8 text") from problem

    def array(self, what: str, item: Callable[["Fields"], T]) -> tuple[T, ...] | None:
        """Return the items of an array, or None for null."""
        size = self.array_size(what)
        return None if size == -1 else tuple(item(self) for _ in range(size))

    def array_size(self, what: str) -> int:
        """Return the number of items of an array, -1 for null."""
        start = self.at
        size = self.unsigned_varint(what) - 1 if self.flexible else self.number(4, what)
        if not -1 <= size <= len(self.data) - self.at:  # an item has at least one byte
            raise FieldsError(start, f"{what} cannot have {size} items")
        return size

    def uuid(self, what: str) -> str:
        """Return a topic id as Kafka prints it: 22 letters of url-safe base 64."""
        return base64.urlsafe_b64encode(self.take(16, what)).decode().rstrip("=")

    def tags(self, what: str) -> "dict[int, Fields]":
        """Return the tagged fields at the end of a flexible structure; none in an older version."""
        found: dict[int, Fields] = {}
        if self.flexible:
            last = -1
            for _ in range(self.unsigned_varint(f"the number of tags of {what}")):
                start = self.at
                tag = self.unsigned_varint(f"a tag of {what}")
                if tag <= last:
                    raise FieldsError(start, f"the tags of {what} are not in order")
                last = tag
                size = self.unsigned_varint(f"the size of tag {tag} of {what}")
                found[tag] = Fields(self.take(size, f"tag {tag} of {what}"), flexible=True)
        return found

    def end(self, what: str) -> None:
        """Reject bytes that are left over."""
        if self.at != len(self.data):
            raise FieldsError(self.at, f"{len(self.data) - self.at} bytes follow {what}")
