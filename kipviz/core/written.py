"""Small values that are stored as text in files, links and scripts, and actions as JSON with them.

What a role waits for is a value in a program: it has a class, and fields. Where it is stored it is a text, as it was
before it became a value. So old and new fingerprints, saved runs and links are the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import UnionType
from typing import Any, TypeVar, get_args

import msgspec

from kipviz.core.model import Action
from kipviz.core.values import TextValue

W = TypeVar("W", bound=TextValue)


def reader_of(kinds: Iterable[type[W]]) -> Callable[[str], W]:
    """Return the function that reads the text of one of several kinds of values; the first matching kind wins.

    The function raises a ValueError if a text matches none of them.
    """
    patterns = tuple((_pattern(kind), kind) for kind in kinds)

    def read(text: str) -> W:
        for pattern, kind in patterns:
            found = pattern.fullmatch(text)
            if found is not None:
                return msgspec.convert(dict(found.groupdict()), kind, strict=False)
        known = ", ".join(repr(kind.TEXT.replace("%s", "…")) for _, kind in patterns)
        raise ValueError(f"{text!r} is not something to wait for; allowed are {known}")

    return read


def _pattern(kind: type[TextValue]) -> re.Pattern[str]:
    """Return the pattern of a text: a number has digits, a name before another field is matched greedily."""
    fields = iter(msgspec.structs.fields(kind))
    parts = [re.escape(part) for part in kind.TEXT.split("%s")]
    places = [f"(?P<{f.name}>{'-?[0-9]+' if f.type is int else '.+'})" for f in fields]
    return re.compile("".join(a + b for a, b in zip(parts, [*places, ""], strict=True)), re.DOTALL)


@lru_cache
def _as_stored(kind: type[Action]) -> type[msgspec.Struct]:
    """Return the class of an action in JSON, in which a `TextValue` value is a text."""
    config = kind.__struct_config__
    return msgspec.defstruct(
        kind.__name__,
        [
            (f.name, str if f.name in kind.WRITTEN else f.type, f.default)
            if f.default is not msgspec.NODEFAULT
            else (f.name, str if f.name in kind.WRITTEN else f.type)
            for f in msgspec.structs.fields(kind)
        ],
        tag_field=config.tag_field,
        tag=config.tag,
        omit_defaults=config.omit_defaults,
        frozen=True,
    )


_encode = msgspec.json.Encoder().encode


def action_to_json(action: Action) -> bytes:
    """Return an action as a JSON object."""
    kind = type(action)
    if not kind.WRITTEN:
        return _encode(action)
    fields = ((name, getattr(action, name)) for name in kind.__struct_fields__)
    texts = {name: item.text if name in kind.WRITTEN else item for name, item in fields}
    return _encode(_as_stored(kind)(**texts))


class ActionReader:
    """Reads the actions of a model from JSON."""

    def __init__(self, action_type: object) -> None:
        """Read the actions of a union, or of one class."""
        kinds: tuple[type[Action], ...] = get_args(action_type) or (action_type,)
        self._kinds = {_as_stored(kind): kind for kind in kinds if kind.WRITTEN}
        stored = {kind: made for made, kind in self._kinds.items()}
        union: Any = _union(tuple(stored.get(kind, kind) for kind in kinds))
        self._decoder = msgspec.json.Decoder(union)

    def read(self, data: bytes | str | msgspec.Raw) -> Any:
        """Return the action of a JSON object.

        Raises:
            msgspec.DecodeError: if it is not an action of the model.
        """
        found = self._decoder.decode(data)
        kind = self._kinds.get(type(found))
        if kind is None:
            return found
        fields = msgspec.structs.asdict(found)
        try:
            read = {name: reader(fields[name]) for name, reader in kind.WRITTEN.items()}
        except ValueError as wrong:
            raise msgspec.ValidationError(str(wrong)) from None
        return kind(**{**fields, **read})


def _union(kinds: tuple[type[msgspec.Struct], ...]) -> type[msgspec.Struct] | UnionType:
    first, *others = kinds
    found: type[msgspec.Struct] | UnionType = first
    for kind in others:
        found |= kind
    return found
