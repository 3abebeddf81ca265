"""Table: an immutable ordered map in which a change shares almost everything with the old map.

Theory of operation. Up to `BLOCK` entries a table is two parallel tuples, sorted by key: a lookup is one bisection,
changing an entry copies one tuple of pointers. A longer table is two parallel B-trees: one of the keys, and one of the
values in the same shape, made of nothing but tuples. Most changes replace the value of an existing key: they copy one
leaf of values and the path above it, and leave the keys alone.

The number of entries alone decides which of the two forms a table has, but the shape of a tree depends on its history.
A digest must not, so a long table adds up one number per entry (modulo 2^128) and hashes the sum. A table inherits the
sum of the last ancestor whose digest was computed; for its own it visits only the leaves that the two do not share. A
table whose digest is never needed computes nothing.

Iteration is always in the order of the keys: nothing can depend on the order of insertion.
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
    # Its digest once it is computed; for a tall table see there.
    _known: Any = None

    @staticmethod
    def of(entries: "Mapping[K, V] | Table[K, V] | Iterable[tuple[K, V]]" = ()) -> "Table[K, V]":
        """Make a table of a mapping or of pairs; of equal keys the last one wins.

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
            raise _make_mixed_error(keys[0], keys[-1]) from None
        values = [gathered[key] for key in keys]
        if len(keys) <= BLOCK:
            return Table(tuple(keys), tuple(values))
        return _TallTable(*_build(keys, values))

    @overload
    def get(self, key: K) -> V | None: ...
    @overload
    def get(self, key: K, default: D) -> V | D: ...
    def get(self, key: K, default: Any = None) -> Any:
        """Return the value of a key, or the default if there is none."""
        keys: tuple[Any, ...] = self._keys
        try:
            at = bisect_left(keys, key)
        except TypeError:
            raise _make_mixed_error(key, keys[0]) from None
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
            raise _make_mixed_error(key, keys[0]) from None
        if at < len(keys) and keys[at] == key:
            if values[at] is value:
                return self
            changed = list(values)
            changed[at] = value
            return Table(keys, tuple(changed))
        _check_key(key, keys[0] if keys else key)
        more_keys = (*keys[:at], key, *keys[at:])
        more_values = (*values[:at], value, *values[at:])
        if len(more_keys) <= BLOCK:
            return Table(more_keys, more_values)
        return _TallTable(*_make_branch(_split((more_keys, more_values))))

    def without(self, key: K) -> "Table[K, V]":
        """Return a table without this key; the same table if it does not have it."""
        keys: tuple[Any, ...] = self._keys
        try:
            at = bisect_left(keys, key)
        except TypeError:
            raise _make_mixed_error(key, keys[0]) from None
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
        """Return the entries in order, in blocks of keys and values that tables share.

        A caller that caches its result for a block need not look again while the next table has the same tuple of
        values.
        """
        return ((self._keys, self._values),) if self._keys else ()

    @property
    def digest(self) -> bytes:
        """Sixteen bytes that depend on the entries alone; computed on first use."""
        if self._known is None:
            known = digest_of(b"table" + encoding((self._keys, self._values)))
            force_setattr(self, "_known", known)  # a cache; the content never changes
        return self._known  # type: ignore[no-any-return]

    def __getitem__(self, key: K) -> V:
        # The code of `get`, without another call: it is the most frequent operation.
        keys: tuple[Any, ...] = self._keys
        try:
            at = bisect_left(keys, key)
        except TypeError:
            raise _make_mixed_error(key, keys[0]) from None
        if at < len(keys) and keys[at] == key:
            return self._values[at]
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return self.get(key, _MISSING) is not _MISSING  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self._keys)

    def __bool__(self) -> bool:
        return bool(self._keys)  # a tall table is never empty

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not type(self):  # with equally many entries, both have the same form
            return False if isinstance(other, Table) else NotImplemented
        return self._values == other._values and self._keys == other._keys

    def __ne__(self, other: object) -> bool:
        return not self == other  # a struct has its own, which compares all fields

    def __hash__(self) -> int:
        return hash((self._keys, self._values))

    def __repr__(self) -> str:
        return _short_repr(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Table.of, (self.items(),)


class _Cuts(msgspec.Struct, gc=False, eq=False):
    """The keys of a branch: `cuts[i]` is above all keys below child i, and not above those of child i+1."""

    cuts: tuple[Any, ...]
    below: tuple[Any, ...]
    size: int


# The keys of a part of a tall table, and their values: a leaf is two tuples, as a short table is. A branch has its
# children's keys in `below`, and their values in a tuple of the same length.
_Keys: TypeAlias = tuple[Any, ...] | _Cuts
_Node: TypeAlias = tuple[Any, tuple[Any, ...]]


class _Sum(msgspec.Struct, gc=False, eq=False):
    """The sum of the marks of some entries, and the digest of the table with exactly these."""

    node: _Node
    total: int
    digest: bytes


class _TallTable(Table[K, V], frozen=True, gc=False, eq=False):
    """A table of more than BLOCK entries: the same map, kept in a B-tree.

    It is the root of its trees. `_known` is the sum of itself, of an ancestor, or None.
    """

    @overload
    def get(self, key: K) -> V | None: ...
    @overload
    def get(self, key: K, default: D) -> V | D: ...
    def get(self, key: K, default: Any = None) -> Any:
        keys: Any = self._keys
        values = self._values
        try:
            while type(keys) is _Cuts:
                at = bisect_right(keys.cuts, key)
                keys, values = keys.below[at], values[at]  # type: ignore[assignment]
            at = bisect_left(keys, key)
        except TypeError:
            raise _make_mixed_error(key, _first(keys)) from None
        if at < len(keys) and keys[at] == key:
            return values[at]
        return default

    def set(self, key: K, value: V) -> Table[K, V]:
        keys: Any = self._keys
        values: tuple[Any, ...] = self._values
        path: list[tuple[tuple[Any, ...], int]] = []
        try:
            while type(keys) is _Cuts:
                at = bisect_right(keys.cuts, key)
                path.append((values, at))
                keys, values = keys.below[at], values[at]
            at = bisect_left(keys, key)
        except TypeError:
            raise _make_mixed_error(key, _first(keys)) from None
        if at == len(keys) or keys[at] != key:
            _check_key(key, keys[0])
            nodes = _insert_key((self._keys, self._values), key, value)
            return _TallTable(*(nodes[0] if len(nodes) == 1 else _make_branch(nodes)), self._known)
        if values[at] is value:
            return self
        changed = (*values[:at], value, *values[at + 1 :])
        for above, at in reversed(path):
            changed = (*above[:at], changed, *above[at + 1 :])
        return _TallTable(self._keys, changed, self._known)

    def __getitem__(self, key: K) -> V:
        found = self.get(key, _MISSING)
        if found is _MISSING:
            raise KeyError(key)
        return found  # type: ignore[return-value]  # not the sentinel, so a value

    def without(self, key: K) -> Table[K, V]:
        if self.get(key, _MISSING) is _MISSING:
            return self
        keys, values = _lacking((self._keys, self._values), key)
        if keys.size <= BLOCK:
            leaves = _leaves((keys, values))
            return Table(
                tuple(chain.from_iterable(leaf[0] for leaf in leaves)),
                tuple(chain.from_iterable(leaf[1] for leaf in leaves)),
            )
        while len(values) == 1:  # and that is a branch: a leaf holds less than BLOCK entries
            keys, values = keys.below[0], values[0]
        return _TallTable(keys, values, self._known)

    def keys(self) -> tuple[K, ...]:
        return tuple(chain.from_iterable(leaf[0] for leaf in self.blocks()))

    def values(self) -> tuple[V, ...]:
        return tuple(chain.from_iterable(leaf[1] for leaf in self.blocks()))

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
        return _leaves((self._keys, self._values))

    @property
    def digest(self) -> bytes:
        """Sixteen bytes that depend on the entries alone; computed on first use."""
        known: _Sum | None = self._known
        if known is None or known.node[1] is not self._values:
            node = (self._keys, self._values)
            total = _total(known, node) % _MODULUS
            size: int = self._keys.size  # type: ignore[attr-defined]
            digest = digest_of(b"tall table" + encoding(size) + b"%d" % total)
            known = _Sum(node, total, digest)
            force_setattr(self, "_known", known)  # a cache; the content never changes
        return known.digest

    def __len__(self) -> int:
        return self._keys.size  # type: ignore[attr-defined,no-any-return]


Digested.register(Table)


def _size(keys: _Keys) -> int:
    return keys.size if type(keys) is _Cuts else len(keys)  # type: ignore[arg-type]


def _first(keys: Any) -> Any:
    while type(keys) is _Cuts:
        keys = keys.below[0]
    return keys[0]


def _insert_key(node: _Node, key: Any, value: Any) -> tuple[_Node, ...]:
    """Return one or two nodes with one more key, which must be new."""
    keys, values = node
    if type(keys) is _Cuts:
        at = bisect_right(keys.cuts, key)
        return _split(
            _replace_children(node, at, 1, _insert_key((keys.below[at], values[at]), key, value))
        )
    at = bisect_left(keys, key)
    more = (*keys[:at], key, *keys[at:])
    return _split((more, (*values[:at], value, *values[at:])))


def _lacking(node: _Node, key: Any) -> _Node:
    """Return a node without a key, which must exist."""
    keys, values = node
    if type(keys) is not _Cuts:
        at = bisect_left(keys, key)
        return keys[:at] + keys[at + 1 :], values[:at] + values[at + 1 :]
    at = bisect_right(keys.cuts, key)
    less = _lacking((keys.below[at], values[at]), key)
    if len(values) == 1 or len(less[1]) >= (_SPARSE if type(less[0]) is _Cuts else LEAF // 4):
        return _replace_children(node, at, 1, (less,))
    left = max(at - 1, 0)
    pair = [(keys.below[each], values[each]) for each in (left, left + 1)]
    pair[at - left] = less
    return _replace_children(node, left, 2, _join_nodes(*pair))


def _replace_children(node: _Node, at: int, count: int, fresh: tuple[_Node, ...]) -> _Node:
    """Return a branch with some of its children replaced."""
    keys, values = node
    after = at + count
    size = keys.size + sum(_size(each) for each, _ in fresh)
    size -= sum(map(_size, keys.below[at:after]))
    cuts = keys.cuts
    if not len(fresh) == count == 1:
        cuts = (*cuts[:at], *(_first(each) for each, _ in fresh[1:]), *cuts[after - 1 :])
    below = (*keys.below[:at], *(each for each, _ in fresh), *keys.below[after:])
    return _Cuts(cuts, below, size), (*values[:at], *(each for _, each in fresh), *values[after:])


def _split(node: _Node) -> tuple[_Node, ...]:
    """Return a node, or its two halves if it is too long."""
    keys, values = node
    half = len(values) // 2
    if type(keys) is not _Cuts:
        if len(keys) <= LEAF:
            return (node,)
        return (keys[:half], values[:half]), (keys[half:], values[half:])
    if len(values) <= BLOCK:
        return (node,)
    left = _Cuts(keys.cuts[: half - 1], keys.below[:half], sum(map(_size, keys.below[:half])))
    right = _Cuts(keys.cuts[half:], keys.below[half:], keys.size - left.size)
    return (left, values[:half]), (right, values[half:])


def _join_nodes(left: _Node, right: _Node) -> tuple[_Node, ...]:
    """Return one or two nodes with the content of two neighbours."""
    (keys, values), (more, others) = left, right
    joined: _Keys
    if type(keys) is _Cuts:
        cuts = (*keys.cuts, _first(more), *more.cuts)
        joined = _Cuts(cuts, keys.below + more.below, keys.size + more.size)
    else:
        joined = keys + more
    return _split((joined, values + others))


def _make_branch(nodes: Sequence[_Node]) -> _Node:
    """Return the branch of some nodes."""
    below = tuple(keys for keys, _ in nodes)
    cuts = tuple(_first(keys) for keys in below[1:])
    return _Cuts(cuts, below, sum(map(_size, below))), tuple(values for _, values in nodes)


def _build(keys: list[Any], values: list[Any]) -> _Node:
    """Build a tree of more than BLOCK sorted entries from its leaves upwards."""
    nodes: list[_Node] = [
        (tuple(keys[start:stop]), tuple(values[start:stop]))
        for start, stop in _even_slices(len(keys), LEAF)
    ]
    while len(nodes) > 1:
        nodes = [_make_branch(nodes[start:stop]) for start, stop in _even_slices(len(nodes), BLOCK)]
    return nodes[0]


def _list_children(nodes: Sequence[_Node]) -> list[_Node]:
    """Return the children of some branches."""
    return [pair for keys, values in nodes for pair in zip(keys.below, values, strict=True)]


def _leaves(root: _Node) -> list[_Node]:
    nodes = [root]
    while type(nodes[0][0]) is _Cuts:  # all have the same depth
        nodes = _list_children(nodes)
    return nodes


def _total(known: _Sum | None, node: _Node) -> int:
    """Return the sum of the marks of a tree, starting from the known sum of another one."""
    if known is None:
        return sum(_mark(*entry) for leaf in _leaves(node) for entry in zip(*leaf, strict=True))
    olds, news = _apart(known.node, node)
    gone = {key: value for leaf in olds for key, value in zip(*leaf, strict=True)}
    total = known.total
    for leaf in news:
        for key, value in zip(*leaf, strict=True):
            old = gone.pop(key, _MISSING)
            if old is not value:
                total += _mark(key, value) - (0 if old is _MISSING else _mark(key, old))
    return total - sum(_mark(*entry) for entry in gone.items())


def _apart(old: _Node, new: _Node) -> tuple[list[_Node], list[_Node]]:
    """Return the leaves that only one of two trees has, for each of the two.

    The values of a node are made together with its keys, so they alone identify the node.
    """
    olds, news = [old], [new]
    high, higher = _height(old), _height(new)
    while True:
        in_olds, in_news = {id(node[1]) for node in olds}, {id(node[1]) for node in news}
        olds = [node for node in olds if id(node[1]) not in in_news]
        news = [node for node in news if id(node[1]) not in in_olds]
        level = max(high, higher)
        if not level:
            return olds, news
        if high == level:
            olds, high = _list_children(olds), high - 1
        if higher == level:
            news, higher = _list_children(news), higher - 1


def _height(node: _Node) -> int:
    """Return how many branches are above the leaves of a tree."""
    keys, height = node[0], 0
    while type(keys) is _Cuts:
        keys, height = keys.below[0], height + 1
    return height


class _MixedKeysError(TypeError):
    """Keys of one table are of different kinds."""


_MISSING = object()


def _make_mixed_error(key: object, other: object) -> _MixedKeysError:
    return _MixedKeysError(
        f"keys of one table have to be of one kind, but {key!r} cannot be ordered with {other!r}"
    )


def _check_key(key: object, other: object) -> None:
    if type(key) is not type(other):
        raise _make_mixed_error(key, other)
    if not isinstance(key, (str, int, tuple)):
        raise TypeError(f"a key of a table must be a str, an int or a tuple of them, not {key!r}")


def _mark(key: object, value: object) -> int:
    return int.from_bytes(digest_of(encoding((key, value))), "big")


def _even_slices(count: int, most: int) -> Iterator[tuple[int, int]]:
    """Divide `count` things into as few runs of at most `most` as possible, of almost equal size."""
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


def pairs(table: Table[K, V]) -> Iterator[tuple[K, V]]:
    """Return the (key, value) pairs one by one, in the order of the keys; `items` makes a tuple of them first."""
    return zip(table.keys(), table.values(), strict=True)
