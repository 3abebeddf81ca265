"""Values as bytes and back, for files and other processes: data only, never code.

The bytes are a msgpack array of a table of class names and a tree. In the tree None, bool, int, str and bytes stand for
themselves; everything else is an array whose first item is its kind: a tuple, a `Table`, a `Log`, an enum member or a
value of one class of the table. `known_by_name` puts a digest in the place of a `Part`, so that what many values share
can be stored once.

Reading makes objects of value classes and enums that this process has imported already, and of nothing else: no module
is imported and no function of the data's choice is called. Anything else is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from types import NoneType
from typing import Any

import msgspec
from msgspec.structs import astuple

from kipviz.core.log import Log
from kipviz.core.table import Table
from kipviz.core.values import Part, Value

_PLAIN = frozenset({NoneType, bool, int, str, bytes})
_TUPLE, _TABLE, _LOG, _PART, _FIRST_CLASS = range(5)
# Deeper than any value is nested; a deeper file would exhaust the interpreter's stack.
DEPTH_MAX = 100

NameOf = Callable[[Part], bytes]
PartOf = Callable[[bytes], Part]


class NotAValue(ValueError):
    """Bytes that are not a value of this version; the sentence says what is wrong with them."""


def serialize(value: object, known_by_name: NameOf | None = None) -> bytes:
    """Return the bytes of a value.

    Args:
        value: plain data, tuples, values, tables and logs.
        known_by_name: returns sixteen bytes for a part inside the value that is stored elsewhere; the
            value itself is written in full.

    Raises:
        TypeError: if the value holds something else, such as a list or a float.
    """
    classes: dict[str, int] = {}

    def number(kind: type) -> int:
        name = _stored_name(kind)
        return classes.setdefault(name, len(classes)) + _FIRST_CLASS

    def tree(item: Any, *, outermost: bool = False) -> object:
        kind = type(item)
        if kind in _PLAIN:
            return item
        if kind is tuple:
            return [_TUPLE, *map(tree, item)]
        if isinstance(item, Table):
            return [_TABLE, *map(tree, item.keys()), *map(tree, item.values())]
        if isinstance(item, Log):
            return [_LOG, *map(tree, item)]
        if isinstance(item, Enum):
            return [number(kind), item.name]
        if isinstance(item, Part) and known_by_name is not None and not outermost:
            return [_PART, known_by_name(item)]
        if isinstance(item, Value):
            return [number(kind), *map(tree, astuple(item))]
        raise TypeError(f"a {kind.__name__} is not a value and cannot be serialized")

    body = tree(value, outermost=True)
    return msgspec.msgpack.encode([list(classes), body])


def deserialize(data: bytes, part_of: PartOf | None = None) -> Any:
    """Return the value of some bytes.

    Args:
        data: the result of `serialize`.
        part_of: returns the part with a name, for bytes that were made with `known_by_name`.

    Raises:
        NotAValue: if they are not the bytes of a value of this version of kipviz.
    """
    try:
        names, body = msgspec.msgpack.decode(data, type=tuple[list[str], Any])
        classes = [_class_named(name) for name in names]
        return _Reader(classes, part_of).read(body, 0)
    except NotAValue:
        raise
    except (msgspec.MsgspecError, TypeError, ValueError, LookupError, RecursionError) as wrong:
        raise NotAValue(f"these bytes are not a value of kipviz: {wrong}") from None


class _Reader:
    """Reads one tree."""

    def __init__(self, classes: list[type], part_of: PartOf | None) -> None:
        self._classes = classes
        self._part_of = part_of

    def read(self, item: Any, depth: int) -> Any:
        if type(item) in _PLAIN:
            return item
        if type(item) is not list or not item or type(item[0]) is not int or item[0] < 0:
            raise NotAValue(f"a {type(item).__name__} is in a place where a value is expected")
        if depth > DEPTH_MAX:
            raise NotAValue(f"values are nested more than {DEPTH_MAX} deep")
        tag, *rest = item
        if tag == _PART:
            return self._part(rest)
        inside = tuple([self.read(each, depth + 1) for each in rest])
        if tag == _TUPLE:
            return inside
        if tag == _TABLE:
            half = len(inside) // 2
            return Table.of(zip(inside[:half], inside[half:], strict=True))
        if tag == _LOG:
            return Log.of(inside)
        kind = self._classes[tag - _FIRST_CLASS]
        if issubclass(kind, Enum):
            (name,) = inside
            return kind[name]
        return kind(*inside)

    def _part(self, rest: list[Any]) -> Part:
        if self._part_of is None or len(rest) != 1 or type(rest[0]) is not bytes:
            raise NotAValue("a part is named that is not kept here")
        return self._part_of(rest[0])


_known: dict[str, type] = {}


def _stored_name(kind: type) -> str:
    """Return the name of a class in stored bytes: its module, and what it was called first."""
    called = kind.STORED_NAME if issubclass(kind, Value) else ""
    return _without_rooms(f"{kind.__module__}:{called or kind.__qualname__}")


def _without_rooms(name: str) -> str:
    """Return a class's name without the rooms between its floor and its file, which may change."""
    module, _, kind = name.partition(":")
    folders = module.split(".")
    return f"{'.'.join((*folders[:2], *folders[2:][-1:]))}:{kind}"


def _class_named(name: str) -> type:
    """Return the imported class of values, or enum, with a name."""
    stored = _without_rooms(name)
    if stored not in _known:
        for kind in (*_descendants(Value), *_descendants(Enum)):
            _known[_stored_name(kind)] = kind
    found = _known.get(stored)
    if found is None:
        raise NotAValue(f"this version of kipviz has no value class {name[:100]!r}")
    return found


def _descendants(kind: type) -> Iterator[type]:
    children: list[type] = type.__subclasses__(kind)
    for each in children:
        yield each
        yield from _descendants(each)
