"""Log: an immutable list that only grows at its end, with a rolling digest.

Theory of operation. The last records are in a tail tuple of at most `CHUNK` records; full chunks are in a tree of
tuples, `CHUNK` wide. An append copies the tail (short), and once per `CHUNK` appends the right edge of the tree, so its
cost does not grow with the length, and all versions of a log share their chunks. The length alone decides the shape.

The digest rolls: the digest of n+1 records is computed from the digest of the first n and the encoding of one more
record. It is lazy: a log inherits the last computed digest of its ancestors, with the length at that time, and
continues from there when its own is needed. A log whose digest is never needed pays nothing; a search that needs it at
every step pays one record per append.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar, overload

import msgspec
from msgspec.structs import force_setattr

from kipviz.core.values import Digested, digest_of, encoding

V = TypeVar("V")

CHUNK = 16
_BITS = 4
_MASK = CHUNK - 1
_EMPTY_DIGEST = digest_of(b"log")


class Log(msgspec.Struct, Generic[V], frozen=True, gc=False, eq=False):
    """An immutable list of records; the index of a record never changes.

    Make one with `Log.of`.
    """

    # `_root` is a tree of full chunks: at depth 0 a tuple of chunks, at depth d a tuple of trees of
    # depth d-1. The tail is empty only in an empty log.
    _root: tuple[Any, ...] = ()
    _depth: int = 0
    _tail_start: int = 0
    _tail: tuple[V, ...] = ()
    _known: bytes = _EMPTY_DIGEST
    _known_size: int = 0

    @staticmethod
    def of(records: Iterable[V] = ()) -> "Log[V]":
        """Make a log of records, in their order."""
        if isinstance(records, Log):
            return records
        empty: Log[V] = Log()
        return empty.extend(records)

    def append(self, record: V) -> "Log[V]":
        """Return a log with one more record at its end."""
        tail = self._tail
        if len(tail) < CHUNK:
            return Log(
                self._root,
                self._depth,
                self._tail_start,
                (*tail, record),
                self._known,
                self._known_size,
            )
        root, depth = _hang(self._root, self._depth, self._tail_start >> _BITS, tail)
        return Log(root, depth, self._tail_start + CHUNK, (record,), self._known, self._known_size)

    def extend(self, records: Iterable[V]) -> "Log[V]":
        """Return a log with these records at its end; a whole chunk costs little more than one."""
        more = tuple(records)
        if not more:
            return self
        root, depth, start = self._root, self._depth, self._tail_start
        pending = self._tail + more
        done = 0
        while len(pending) - done > CHUNK:
            root, depth = _hang(root, depth, start >> _BITS, pending[done : done + CHUNK])
            start += CHUNK
            done += CHUNK
        return Log(root, depth, start, pending[done:], self._known, self._known_size)

    def truncate(self, size: int) -> "Log[V]":
        """Return a log of the first `size` records; the same log if it has no more than that.

        The digest of a truncated log is computed again, unless one for a prefix is known.

        Raises:
            ValueError: if the size is negative.
        """
        if size < 0:
            raise ValueError(f"a log cannot be truncated to {size} records: use 0 or more")
        if size >= len(self):
            return self
        known, known_size = self._known, self._known_size
        if known_size > size:
            known, known_size = _EMPTY_DIGEST, 0
        if size > self._tail_start:
            kept = self._tail[: size - self._tail_start]
            return Log(self._root, self._depth, self._tail_start, kept, known, known_size)
        if size == 0:
            return Log()
        tail_start = (size - 1) & ~_MASK
        tail = self._chunk(tail_start)[: size - tail_start]
        root, depth = _cut(self._root, self._depth, tail_start >> _BITS), self._depth
        while depth and len(root) <= 1:
            root, depth = (root[0] if root else ()), depth - 1
        return Log(root, depth, tail_start, tail, known, known_size)

    @property
    def digest(self) -> bytes:
        """Sixteen bytes that depend on the records alone."""
        size = len(self)
        if self._known_size != size:
            known = self._known
            for chunk in self._chunks(self._known_size, size):
                for record in chunk:
                    known = digest_of(known + encoding(record))
            force_setattr(self, "_known", known)
            force_setattr(self, "_known_size", size)
        return self._known

    @overload
    def __getitem__(self, index: int) -> V: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[V, ...]: ...
    def __getitem__(self, index: int | slice) -> V | tuple[V, ...]:
        if type(index) is int and index >= self._tail_start:  # most often the end is read
            tail = self._tail
            if index - self._tail_start < len(tail):
                return tail[index - self._tail_start]
        size = len(self)
        if isinstance(index, slice):
            start, stop, stride = index.indices(size)
            if stride != 1:
                return tuple(self[at] for at in range(start, stop, stride))
            return tuple(record for chunk in self._chunks(start, stop) for record in chunk)
        at = index + size if index < 0 else index
        if at < 0 or at >= size:
            raise IndexError(f"a log of {size} records has no record {index}")
        return self._chunk(at)[at & _MASK]

    def __iter__(self) -> Iterator[V]:
        for chunk in self._chunks(0, len(self)):
            yield from chunk

    def __len__(self) -> int:
        return self._tail_start + len(self._tail)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Log):
            return NotImplemented
        # Equal lengths have equal shapes, and tuples skip the chunks that both logs share.
        return (
            self._tail_start == other._tail_start
            and self._tail == other._tail
            and self._root == other._root
        )

    def __ne__(self, other: object) -> bool:
        return not self == other  # a struct has its own, which compares all fields

    def __hash__(self) -> int:
        # The tail is sufficient, and keeps the cost independent of the length.
        return hash((self._tail_start, self._tail))

    def __repr__(self) -> str:
        size = len(self)
        shown = ", ".join(repr(record) for record in self[max(size - 3, 0) :])
        return f"Log({f'{size - 3} more, ..., ' if size > 3 else ''}{shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Log.of, (tuple(self),)

    def _chunk(self, at: int) -> tuple[V, ...]:
        """Return the full chunk, or the tail, that contains a record."""
        if at >= self._tail_start:
            return self._tail
        node = self._root
        for level in range(self._depth + 1, 0, -1):
            node = node[(at >> (_BITS * level)) & _MASK]
        return node

    def _chunks(self, start: int, stop: int) -> Iterator[tuple[V, ...]]:
        """Yield the records from start to stop, chunk by chunk."""
        while start < stop:
            base = start & ~_MASK
            chunk = self._chunk(start)
            yield chunk[start - base : stop - base]
            start = base + CHUNK


Digested.register(Log)


def _hang(
    root: tuple[Any, ...], depth: int, count: int, chunk: tuple[Any, ...]
) -> tuple[tuple[Any, ...], int]:
    """Add a full chunk after the `count` chunks of a tree; return the new tree and its depth."""
    if count == 1 << (_BITS * (depth + 1)):
        return (root, _path(depth, chunk)), depth + 1
    return _grow_node(root, depth, count, chunk), depth


def _grow_node(
    node: tuple[Any, ...], depth: int, count: int, chunk: tuple[Any, ...]
) -> tuple[Any, ...]:
    if depth == 0:
        return (*node, chunk)
    at = count >> (_BITS * depth)
    if at == len(node):
        return (*node, _path(depth - 1, chunk))
    inner = _grow_node(node[at], depth - 1, count & ((1 << (_BITS * depth)) - 1), chunk)
    return (*node[:at], inner)


def _path(depth: int, chunk: tuple[Any, ...]) -> tuple[Any, ...]:
    node: tuple[Any, ...] = (chunk,)
    for _ in range(depth):
        node = (node,)
    return node


def _cut(node: tuple[Any, ...], depth: int, count: int) -> tuple[Any, ...]:
    """Keep the first `count` chunks of a tree."""
    if depth == 0:
        return node[:count]
    whole, rest = count >> (_BITS * depth), count & ((1 << (_BITS * depth)) - 1)
    if not rest:
        return node[:whole]
    return (*node[:whole], _cut(node[whole], depth - 1, rest))
