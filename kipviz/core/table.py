"""Table: an immutable ordered map in which a change shares almost everything with the old map.

Theory of operation. Up to `BLOCK` entries a table is two parallel tuples, sorted by key: looking
up is one bisection, changing an entry copies one tuple of pointers. A longer table is a B-tree
whose leaves are such pairs of tuples, so a change copies one leaf and the path above it.

How many entries there are decides alone which of the two forms a table has, but the shape of a
tree depends on its history. A digest must not, so a long table adds up one number per entry
(modulo 2^128) and hashes the sum; every leaf and branch remembers its part of the sum, which is
computed when somebody asks for it and never before.

Iteration is in the order of the keys, always: nothing can depend on the order of insertion.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Generic, TypeAlias, TypeVar, overload

import msgspec
from msgspec.structs import force_setattr

from kipviz.core.values import Digested, digest_of, encoding

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")

BLOCK = 32
# A tall table's leaf is smaller than a short table: a change copies one, and a branch of pointers.
LEAF = 12
_SPARSE = BLOCK // 4
_MODULUS = 1 << 128


class Table(msgspec.Struct, Generic[K, V], frozen=True, gc=False, eq=False):
    """An immutable map, sorted by its keys.

    Keys are str, int or tuples of them, all of one kind. Make one with `Table.of`.
    """

    # Private: keys are already sorted here, and at most BLOCK of them. A struct, because it is made
    # faster than an object of Python's and is smaller by what the cycle collector needs.
    _keys: tuple[K, ...] = ()
    _values: tuple[V, ...] = ()
    _digest: bytes | None = None

    @staticmethod
    def of(entries: "Mapping[K, V] | Table[K, V] | Iterable[tuple[K, V]]" = ()) -> "Table[K, V]":
        """Make a table of a mapping or of pairs; of equal keys the last one counts.

        Raises:
            TypeError: if a key is not a str, an int or a tuple, or if kinds of keys are mixed.
        """
        if isinstance(entries, Table):
            return entries
        gathered: dict[K, V] = dict(entries)
        if not gathered:
            return Table()
        keys = list(gathered)
        for key in keys:
            _check_key(key, keys[0])
        try:
            keys.sort()
        except TypeError:
            raise _mixed(keys[0], keys[-1]) from None
        values = [gathered[key] for key in keys]
        if len(keys) <= BLOCK:
            return Table(tuple(keys), tuple(values))
        return _tall(_build(keys, values))

    @overload
    def get(self, key: K) -> V | None: ...
    @overload
    def get(self, key: K, default: D) -> V | D: ...
    def get(self, key: K, default: Any = None) -> Any:
        """Return the value of a key, or the default when there is none."""
        keys: tuple[Any, ...] = self._keys
        try:
            at = bisect_left(keys, key)
        except TypeError:
            raise _mixed(key, keys[0]) from None
        if at < len(keys) and keys[at] == key:
            return self._values[at]
        return default

    def set(self, key: K, value: V) -> "Table[K, V]":
        """Return a table in which the key has this value; the same table if it already `is` so.

        Raises:
            TypeError: if the key is not of the kind of the other keys.
        """
        keys: tuple[Any, ...] = self._keys
        values = self._values
        try:
            at = bisect_left(keys, key)
        except TypeError:
            raise _mixed(key, keys[0]) from None
        if at < len(keys) and keys[at] == key:
            if values[at] is value:
                return self
            return Table(keys, (*values[:at], value, *values[at + 1 :]))
        _check_key(key, keys[0] if keys else key)
        more_keys = (*keys[:at], key, *keys[at:])
        more_values = (*values[:at], value, *values[at:])
        if len(more_keys) <= BLOCK:
            return Table(more_keys, more_values)
        return _tall(_above(_Leaf(more_keys, more_values).halves()))

    def without(self, key: K) -> "Table[K, V]":
        """Return a table that lacks this key; the same table if it lacks it already."""
        keys: tuple[Any, ...] = self._keys
        try:
            at = bisect_left(keys, key)
        except TypeError:
            raise _mixed(key, keys[0]) from None
        if at == len(keys) or keys[at] != key:
            return self
        return Table(keys[:at] + keys[at + 1 :], self._values[:at] + self._values[at + 1 :])

    def keys(self) -> tuple[K, ...]:
        """Return the keys, in order."""
        return self._keys

    def values(self) -> tuple[V, ...]:
        """Return the values, in the order of their keys."""
        return self._values

    def items(self) -> tuple[tuple[K, V], ...]:
        """Return (key, value) pairs, in the order of the keys."""
        return tuple(zip(self.keys(), self.values(), strict=True))

    def blocks(self) -> Sequence[tuple[tuple[K, ...], tuple[V, ...]]]:
        """Give the entries in order, in blocks of keys and values that tables share.

        Whoever remembers what it found in a block need not look again while the next table has the very same
        tuple of values.
        """
        return ((self._keys, self._values),) if self._keys else ()

    @property
    def digest(self) -> bytes:
        """Sixteen bytes that depend on the entries alone; computed when first asked for."""
        known = self._digest
        if known is None:
            known = self._compute_digest()
            force_setattr(self, "_digest", known)  # a memory; the content never changes
        return known

    def _compute_digest(self) -> bytes:
        return digest_of(b"table" + encoding((self._keys, self._values)))

    def __getitem__(self, key: K) -> V:
        found = self.get(key, _MISSING)
        if found is _MISSING:
            raise KeyError(key)
        return found  # type: ignore[return-value]  # not the sentinel, so a value

    def __contains__(self, key: object) -> bool:
        return self.get(key, _MISSING) is not _MISSING  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self._keys)

    def __bool__(self) -> bool:
        return bool(self._keys)  # a tall table has cuts

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not type(self):  # as many entries, the same form
            return False if isinstance(other, Table) else NotImplemented
        return self._values == other._values and self._keys == other._keys

    def __ne__(self, other: object) -> bool:
        return not self == other  # a struct has one of its own, which asks for nothing

    def __hash__(self) -> int:
        return hash((self._keys, self._values))

    def __repr__(self) -> str:
        return _short_repr(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Table.of, (self.items(),)


class _TallTable(Table[K, V], frozen=True, gc=False, eq=False):
    """A table of more than BLOCK entries: the same map, kept in a B-tree.

    It is the root of its tree: `_keys` are the root's cuts, `_values` its children.
    """

    @overload
    def get(self, key: K) -> V | None: ...
    @overload
    def get(self, key: K, default: D) -> V | D: ...
    def get(self, key: K, default: Any = None) -> Any:
        cuts: tuple[Any, ...] = self._keys
        try:
            node: Any = self._values[bisect_right(cuts, key)]
            while type(node) is _Branch:
                node = node.children[bisect_right(node.cuts, key)]
            at = bisect_left(node.keys, key)
        except TypeError:
            raise _mixed(key, cuts[0]) from None
        if at < len(node.keys) and node.keys[at] == key:
            return node.values[at]
        return default

    def set(self, key: K, value: V) -> Table[K, V]:
        cuts: Any = self._keys
        try:
            root = _with(cuts, self._values, 0, key, value)
        except _MixedKeysError:
            raise
        except TypeError:
            raise _mixed(key, cuts[0]) from None
        if root is None:
            return self
        if len(root[1]) <= BLOCK:
            return _TallTable(root[0], root[1])
        size = sum(child.size for child in root[1])  # a root does not remember it
        return _tall(_above(_Branch(root[0], root[1], size).halves()))

    def without(self, key: K) -> Table[K, V]:
        cuts: Any = self._keys
        try:
            root = _lacking(cuts, self._values, len(self), key)
        except TypeError:
            raise _mixed(key, cuts[0]) from None
        if root is None:
            return self
        if root[2] <= BLOCK:
            leaves = _leaves(root[1])
            return Table(
                tuple(chain.from_iterable(leaf.keys for leaf in leaves)),
                tuple(chain.from_iterable(leaf.values for leaf in leaves)),
            )
        while len(root[1]) == 1:  # and that is a branch: a leaf holds at most BLOCK entries
            root = (root[1][0].cuts, root[1][0].children, root[2])
        return _tall(root)

    def keys(self) -> tuple[K, ...]:
        return tuple(chain.from_iterable(leaf.keys for leaf in _leaves(self._values)))

    def values(self) -> tuple[V, ...]:
        return tuple(chain.from_iterable(leaf.values for leaf in _leaves(self._values)))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not _TallTable:
            return False if isinstance(other, Table) else NotImplemented
        return (
            len(self) == len(other)
            and self.keys() == other.keys()
            and self.values() == other.values()
        )

    def __hash__(self) -> int:
        return hash((self.keys(), self.values()))

    def blocks(self) -> Sequence[tuple[tuple[K, ...], tuple[V, ...]]]:
        return [(leaf.keys, leaf.values) for leaf in _leaves(self._values)]

    def _compute_digest(self) -> bytes:
        children: tuple[Any, ...] = self._values
        total = sum(child.total() for child in children) % _MODULUS
        return digest_of(b"tall table" + encoding(len(self)) + b"%d" % total)

    def __len__(self) -> int:
        children: tuple[Any, ...] = self._values
        return sum(child.size for child in children)


class _Leaf(msgspec.Struct, gc=False, eq=False):
    """Some LEAF entries of a tall table.

    `marks` are what each adds to the digest, None where nobody asked yet, and behind them their sum once
    all are known: in a row of their own they would be one more field of every leaf that a history keeps.
    """

    keys: tuple[Any, ...]
    values: tuple[Any, ...]
    marks: tuple[int | None, ...] | None = None

    @property
    def size(self) -> int:
        return len(self.keys)

    @property
    def first(self) -> Any:
        return self.keys[0]

    def set(self, key: Any, value: Any) -> tuple["_Leaf", ...]:
        keys, values, marks = self.keys, self.values, self.marks
        at = bisect_left(keys, key)
        if at < len(keys) and keys[at] == key:
            if values[at] is value:
                return (self,)
            kept = None if marks is None else (*marks[:at], None, *marks[at + 1 : len(keys)])
            return (_Leaf(keys, (*values[:at], value, *values[at + 1 :]), kept),)
        _check_key(key, keys[0])
        leaf = _Leaf(
            (*keys[:at], key, *keys[at:]),
            (*values[:at], value, *values[at:]),
            None if marks is None else (*marks[:at], None, *marks[at : len(keys)]),
        )
        return (leaf,) if len(leaf.keys) <= LEAF else leaf.halves()

    def without(self, key: Any) -> "_Leaf":
        keys, values, marks = self.keys, self.values, self.marks
        at = bisect_left(keys, key)
        if at == len(keys) or keys[at] != key:
            return self
        return _Leaf(
            keys[:at] + keys[at + 1 :],
            values[:at] + values[at + 1 :],
            None if marks is None else marks[:at] + marks[at + 1 : len(keys)],
        )

    def halves(self) -> tuple["_Leaf", ...]:
        keys, values, marks = self.keys, self.values, self.marks
        half = len(keys) // 2
        return (
            _Leaf(keys[:half], values[:half], marks and marks[:half]),
            _Leaf(keys[half:], values[half:], marks and marks[half : len(keys)]),
        )

    def joined(self, right: Any) -> tuple["_Leaf", ...]:
        marks = None
        if self.marks is not None or right.marks is not None:
            nothing = (None,) * LEAF
            marks = (self.marks or nothing)[: self.size] + (right.marks or nothing)[: right.size]
        leaf = _Leaf(self.keys + right.keys, self.values + right.values, marks)
        return (leaf,) if leaf.size <= LEAF else leaf.halves()

    def sparse(self) -> bool:
        return len(self.keys) < LEAF // 4

    def total(self) -> int:
        """Return the sum of the marks; only marks that are not known yet are computed."""
        known, size = self.marks or (None,) * len(self.keys), len(self.keys)
        if len(known) > size:
            total = known[size]
            assert total is not None
            return total
        marks = tuple(
            _mark(key, value) if mark is None else mark
            for key, value, mark in zip(self.keys, self.values, known, strict=True)
        )
        total = sum(marks) % _MODULUS
        self.marks = (*marks, total)
        return total


class _Branch(msgspec.Struct, gc=False, eq=False):
    """At most BLOCK children; `cuts[i]` is above all keys of child i, and not above child i+1."""

    cuts: tuple[Any, ...]
    children: tuple[Any, ...]
    size: int
    _total: int | None = None

    @property
    def first(self) -> Any:
        return self.children[0].first

    def set(self, key: Any, value: Any) -> tuple["_Branch", ...]:
        root = _with(self.cuts, self.children, self.size, key, value)
        if root is None:
            return (self,)
        branch = _Branch(*root)
        return (branch,) if len(branch.children) <= BLOCK else branch.halves()

    def without(self, key: Any) -> "_Branch":
        root = _lacking(self.cuts, self.children, self.size, key)
        return self if root is None else _Branch(*root)

    def halves(self) -> tuple["_Branch", ...]:
        half = len(self.children) // 2
        left, right = self.children[:half], self.children[half:]
        left_size = sum(child.size for child in left)
        return (
            _Branch(self.cuts[: half - 1], left, left_size),
            _Branch(self.cuts[half:], right, self.size - left_size),
        )

    def joined(self, right: Any) -> tuple["_Branch", ...]:
        branch = _Branch(
            (*self.cuts, right.first, *right.cuts),
            self.children + right.children,
            self.size + right.size,
        )
        return (branch,) if len(branch.children) <= BLOCK else branch.halves()

    def sparse(self) -> bool:
        return len(self.children) < _SPARSE

    def total(self) -> int:
        if self._total is None:
            self._total = sum(child.total() for child in self.children) % _MODULUS
        return self._total


Digested.register(Table)
_Node: TypeAlias = _Leaf | _Branch
# What a branch is made of: cuts, children, size.
_Root: TypeAlias = tuple[tuple[Any, ...], tuple[Any, ...], int]


def _tall(root: _Root) -> _TallTable[Any, Any]:
    return _TallTable(root[0], root[1])


def _with(
    cuts: tuple[Any, ...], children: tuple[Any, ...], size: int, key: Any, value: Any
) -> _Root | None:
    """Give a branch in which a key has a value; None if it has it."""
    at = bisect_right(cuts, key)
    old = children[at]
    new = old.set(key, value)
    if new[0] is old:
        return None
    size += new[0].size - old.size
    if len(new) == 2:
        cuts = (*cuts[:at], new[1].first, *cuts[at:])
        size += new[1].size
    return cuts, (*children[:at], *new, *children[at + 1 :]), size


def _lacking(cuts: tuple[Any, ...], children: tuple[Any, ...], size: int, key: Any) -> _Root | None:
    """Give a branch that lacks a key; None if it lacks it."""
    at = bisect_right(cuts, key)
    old = children[at]
    new = old.without(key)
    if new is old:
        return None
    children = (*children[:at], new, *children[at + 1 :])
    if not new.sparse() or len(children) == 1:
        return cuts, children, size - 1
    left = max(at - 1, 0)
    joined = children[left].joined(children[left + 1])
    return (
        (*cuts[:left], *(node.first for node in joined[1:]), *cuts[left + 1 :]),
        (*children[:left], *joined, *children[left + 2 :]),
        size - 1,
    )


def _leaves(children: Sequence[Any]) -> Sequence[_Leaf]:
    if type(children[0]) is _Leaf:
        return children  # of one depth: all are leaves
    return [leaf for child in children for leaf in _leaves(child.children)]


class _MixedKeysError(TypeError):
    """Keys of one table are of different kinds."""


_MISSING = object()


def _mixed(key: object, other: object) -> _MixedKeysError:
    return _MixedKeysError(
        f"keys of one table have to be of one kind, but {key!r} cannot be ordered with {other!r}"
    )


def _check_key(key: object, other: object) -> None:
    if type(key) is not type(other):
        raise _mixed(key, other)
    if not isinstance(key, (str, int, tuple)):
        raise TypeError(f"a key of a table is a str, an int or a tuple of them, not {key!r}")


def _mark(key: object, value: object) -> int:
    return int.from_bytes(digest_of(encoding((key, value))), "big")


def _above(nodes: tuple[_Node, ...]) -> _Root:
    return tuple(node.first for node in nodes[1:]), nodes, sum(node.size for node in nodes)


def _build(keys: list[Any], values: list[Any]) -> _Root:
    """Build a tree of more than BLOCK sorted entries from its leaves upwards."""
    nodes: list[_Node] = [
        _Leaf(tuple(keys[start:stop]), tuple(values[start:stop]))
        for start, stop in _even_slices(len(keys), LEAF)
    ]
    while len(nodes) > BLOCK:
        nodes = [
            _Branch(*_above(tuple(nodes[start:stop])))
            for start, stop in _even_slices(len(nodes), BLOCK)
        ]
    return _above(tuple(nodes))


def _even_slices(count: int, most: int) -> Iterator[tuple[int, int]]:
    """Cut `count` things into as few runs of at most `most` as possible, of almost equal size."""
    runs = -(-count // most)
    for run in range(runs):
        yield count * run // runs, count * (run + 1) // runs


def _short_repr(table: Table[Any, Any]) -> str:
    shown = ", ".join(
        f"{key!r}: {value!r}"
        for key, value in zip(table.keys()[:4], table.values()[:4], strict=True)
    )
    rest = f", ... {len(table) - 4} more" if len(table) > 4 else ""
    return f"Table({{{shown}{rest}}})"
