"""Values: what worlds, actions, events and messages are made of.

Rules of this file:

1. A value never changes; `but` makes a new one that shares every field that did not change.
2. What a value contains is plain: `None`, `bool`, `int`, `str`, `bytes`, enum members, tuples, other values, `Table`
  and `Log`. Sets, dicts, lists and floats are rejected when a fingerprint is computed, because their order or their
  rounding could differ from one machine to the next.
3. A fingerprint depends on content alone. It is the same in every process, on every machine and under every
  `PYTHONHASHSEED`, and it is never made with `hash`.

How a fingerprint is made: a value is first written as a *shape*, a small tree that msgpack can encode, and the encoding
is hashed with BLAKE2b. In a shape a value is a map from its class name to its fields (those at the end that are at
their defaults are left out, so that a field that a class gets later, at its end and with a default, changes no
fingerprint made before), an enum member is a map from its class name to its own name, and a container with a digest of
its own (`Part`, `Table`, `Log`) is an extension holding those 16 bytes. Plain maps and extensions cannot occur in
values, so two different contents never share a shape. Only a `TextValue` and a member of a `TextEnum` have the
shape of their text: they occur only where nothing else can occur.

What to keep in mind: `True == 1` in Python, yet they are different content here, as are an enum member and the int or
str it stands for. A class is identified by its bare name, so that moving it to another module changes no fingerprint;
names of value classes have to be unique where it matters. A class that is renamed keeps its name here (`STORED_NAME`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum, StrEnum
from functools import cache
from hashlib import blake2b
from types import NoneType
from typing import Any, ClassVar, Self

import msgspec
from msgspec.structs import astuple, replace

DIGEST_SIZE = 16

# The classes whose values are their own shape; a `TextEnum` adds itself.
_PLAIN: set[type] = {NoneType, bool, int, str, bytes}
_DIGEST_EXTENSION = 1

_encode = msgspec.msgpack.Encoder().encode


class Value(msgspec.Struct, frozen=True, gc=False):
    """Something that never changes, is equal by content, and can be hashed and pickled.

    Subclasses repeat `frozen=True`: Python inherits it, the type checkers do not. An immutable value cannot contain
    itself, so Python's cycle collector need not visit values (`gc=False`); otherwise it would walk a long history again
    and again.
    """

    STORED_NAME: ClassVar[str] = ""
    """The name of the class in fingerprints and stored bytes, if it was renamed after they were made."""

    def but(self, /, **changes: Any) -> Self:
        """Return the same value with some fields changed.

        Raises:
            TypeError: if a name is not a field of this value.
        """
        return replace(self, **changes)


class TextValue(Value, frozen=True, tag=True, tag_field="class"):
    """A small value that is stored as a text: `TEXT`, with a %s for each of its fields.

    The text is a language: new texts are added, and none is ever reworded. The fingerprint of the value is that of its
    text, and values are in the order of their texts. `WORDS` are what a reader sees, in the same form; "" means the text.
    """

    TEXT: ClassVar[str] = ""
    WORDS: ClassVar[str] = ""

    @property
    def text(self) -> str:
        """The value as text."""
        return self.TEXT % astuple(self)

    @property
    def words(self) -> str:
        """The words for it on the screen."""
        return (self.WORDS or self.TEXT) % astuple(self)

    def __str__(self) -> str:
        return self.text

    def __lt__(self, other: "TextValue") -> bool:
        return self.text < other.text


class TextEnum(StrEnum):
    """An enumeration whose members are stored as their texts.

    The fingerprint of a member is that of its text, so no text is ever reworded. It occurs only where nothing but such a
    member can occur.
    """

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        _PLAIN.add(cls)


class Memory(msgspec.Struct, gc=False, eq=False):
    """A part's cache: its shape, and its digests under other names."""

    shape: Any = None
    digests: dict[str, bytes] | None = None


class _Remembering:
    """One slot beside the fields of a part: a dict would be three more words in every part that is kept."""

    __slots__ = ("_memory",)
    _memory: Memory


class Part(Value, _Remembering, frozen=True):
    """A big value (the state of a role, say) that caches its own digest.

    A step changes few parts of a world, so most digests of the next world are already known. The cache is beside the
    fields: equality, hash, `but` and pickle never see it. Rows of a table that a search fingerprints over and over
    should be parts, too; what is in the tables of a world caches its hash as well (`cache_hash`), because a search
    finds equal tables by it.
    """

    @property
    def digest(self) -> bytes:
        """The fingerprint of this part, computed once per object."""
        known: bytes = _shape_of_part(self).data
        return known


# By the slot itself, because a part never changes.
_remember: Callable[[Part, Memory], None] = vars(_Remembering)["_memory"].__set__


def memory_of(part: Part) -> Memory:
    """Return a part's cache; it is created on first use."""
    known: Memory | None = getattr(part, "_memory", None)
    if known is None:
        known = Memory()
        _remember(part, known)
    return known


class Digested(ABC):
    """A container with a digest of its content (`Table`, `Log`)."""

    __slots__ = ()

    @property
    @abstractmethod
    def digest(self) -> bytes:
        """Sixteen bytes that depend on content alone."""


@cache
def defaults_of(kind: type[Value]) -> dict[str, object]:
    """Return the fields of a class with their defaults."""
    return {each.name: each.default for each in msgspec.structs.fields(kind)}


def digest_of(data: bytes) -> bytes:
    """Return the 16 byte BLAKE2b digest of some bytes."""
    return blake2b(data, digest_size=DIGEST_SIZE).digest()


def digests_after(prefix: bytes) -> Callable[[bytes], bytes]:
    """Return a function from bytes to `digest_of(prefix + bytes)`, for which the prefix is read once."""
    begun = blake2b(prefix, digest_size=DIGEST_SIZE)

    def digest(rest: bytes) -> bytes:
        each = begun.copy()
        each.update(rest)
        return each.digest()

    return digest


def encoding(value: object) -> bytes:
    """Return the canonical bytes of a value: equal for equal content, different otherwise.

    They are meant for hashing, not for decoding.

    Raises:
        TypeError: if the value contains something without a canonical form, such as a set, a
            dict, a list or a float.
        ValueError: if it contains an int that does not fit 64 bits.
    """
    return _encode_shape(_shape(value))


def fingerprint(value: object) -> bytes:
    """Return 16 bytes that identify the content of a value on every machine.

    Raises:
        TypeError: see `encoding`.
        ValueError: see `encoding`.
    """
    if isinstance(value, (Part, Digested)):
        return value.digest
    return digest_of(_encode_shape(_shape(value)))


def _encode_shape(shape: object) -> bytes:
    try:
        return _encode(shape)
    except OverflowError:
        raise ValueError("an int in a value has to fit 64 bits to have a fingerprint") from None


def _shape(value: object) -> object:
    kind = type(value)
    if kind in _PLAIN:
        return value
    return (_SHAPERS.get(kind) or _shaper(value))(value)


def _shape_of_tuple(value: Any) -> object:
    if _PLAIN.issuperset(map(type, value)):
        return value
    return [
        item if (kind := type(item)) in _PLAIN else (_SHAPERS.get(kind) or _shaper(item))(item)
        for item in value
    ]


def _shape_of_value(value: Any) -> object:
    fields = _list_fields(value)
    kind = type(value)
    name = kind.STORED_NAME or kind.__name__
    if _PLAIN.issuperset(map(type, fields)):
        return {name: fields}
    try:
        return {name: [item if type(item) in _PLAIN else _shape(item) for item in fields]}
    except _NoShapeError as error:
        raise error.inside(value) from None


def _list_fields(value: Any) -> tuple[Any, ...]:
    """Return the fields of a value up to the last one that differs from its default."""
    fields: tuple[Any, ...] = astuple(value)
    last = len(fields)
    for default in reversed(value.__struct_defaults__):
        item = fields[last - 1]
        # Most are the same object; only a field at the end is compared more closely.
        if item is not default and not _is_default(item, default):
            break
        last -= 1
    return fields if last == len(fields) else fields[:last]


def _is_default(item: object, default: object) -> bool:
    """Return whether a field has its default: the same content, so that 0 is not taken for False."""
    if type(item) is not type(default) or item != default:
        return False
    # An empty or plain value cannot hide a 0 that is taken for False.
    return type(default) in _PLAIN or not default or encoding(item) == encoding(default)


def _shape_of_written(value: Any) -> object:
    return value.text


def _shape_of_member(value: Any) -> object:
    return {type(value).__name__: value.name}


def _shape_of_digested(value: Any) -> object:
    return msgspec.msgpack.Ext(_DIGEST_EXTENSION, value.digest)


def _shape_of_part(value: Any) -> Any:
    # Cached, because a table of roles is encoded again whenever one of them changes.
    memory = memory_of(value)
    if memory.shape is None:
        digest = digest_of(_encode_shape(_shape_of_value(value)))
        memory.shape = msgspec.msgpack.Ext(_DIGEST_EXTENSION, digest)
    return memory.shape


_SHAPERS: dict[type, Callable[[Any], object]] = {tuple: _shape_of_tuple}


def _shaper(value: object) -> Callable[[Any], object]:
    """Return the function that shapes values of this class, and cache it per class."""
    kind = type(value)
    for base, shaper in (
        (Part, _shape_of_part),
        (TextValue, _shape_of_written),
        (Digested, _shape_of_digested),
        (Value, _shape_of_value),
        (Enum, _shape_of_member),
        (tuple, _shape_of_tuple),  # a NamedTuple equals the plain tuple
    ):
        if issubclass(kind, base):
            _SHAPERS[kind] = shaper
            return shaper
    raise _NoShapeError(value)


class _NoShapeError(TypeError):
    """A part of a value has no canonical form; the message says what and where."""

    def __init__(self, culprit: object, place: str = "") -> None:
        self.culprit = culprit
        self.place = place
        super().__init__(
            f"{place or 'a value'} holds a {type(culprit).__name__}, which has no fingerprint: "
            "use None, bool, int, str, bytes, an Enum member, a tuple, a Value, a Table or a Log"
        )

    def inside(self, value: Value) -> "_NoShapeError":
        """Return the same error with the innermost field that holds the culprit."""
        if self.place:
            return self
        fields = zip(value.__struct_fields__, astuple(value), strict=True)
        name = next(name for name, item in fields if not _has_shape(item))
        return _NoShapeError(self.culprit, f"{type(value).__name__}.{name}")


def _has_shape(item: object) -> bool:
    try:
        _shape(item)
    except _NoShapeError:
        return False
    return True
