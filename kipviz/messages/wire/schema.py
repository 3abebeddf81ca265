"""Kafka's declarations of a message's fields, version by version.

Names, types and version ranges are written as Kafka writes them (`clients/src/main/resources/common/message` in its
sources): "3+" is from version 3 on, "0-5" up to version 5, "" never.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kipviz.core.values import Value

ZERO_ID = "A" * 22  # a topic id that is not set
_OPEN_END = 1 << 15


class Field(Value, frozen=True):
    """One field: `type` is a primitive, a structure's name, or "[]" and one of them.

    `default`, `nullable` and `tagged` are as in Kafka; an empty default is the type's own. `flexible` is False for the
    one string that keeps its two-byte length in every version. `status` is not "shipped" if Kafka's schema does not
    have the field.
    """

    name: str
    type: str
    versions: str = "0+"
    fields: tuple[Field, ...] = ()
    default: str = ""
    nullable: str = ""
    tagged: str = ""
    tag: int = -1
    flexible: bool = True
    status: str = "shipped"

    @property
    def item(self) -> str:
        """The type of an array's items, or the type itself."""
        return self.type.removeprefix("[]")

    @property
    def is_array(self) -> bool:
        """Whether it is an array."""
        return self.type.startswith("[]")

    @property
    def empty(self) -> Any:
        """The value of a field that is not given."""
        if self.default == "null" or (self.type == "records" and not self.default):
            return None
        if self.is_array:
            return ()
        if self.fields:
            return {}
        if self.item == "bytes":
            return b""
        if self.item == "bool":
            return self.default == "true"
        if self.item == "string":
            return self.default
        return ZERO_ID if self.item == "uuid" else int(self.default or "0", 0)


class Schema(Value, frozen=True):
    """The fields of one request, response or header, in the order of their encoding.

    `key` is -1 for headers and for a request that no Kafka has; `flexible` names the versions with compact lengths and
    tagged fields (KIP-482).
    """

    name: str
    key: int
    versions: str
    flexible: str
    fields: tuple[Field, ...]
    status: str = "shipped"


@lru_cache(maxsize=1024)
def covers(versions: str, version: int) -> bool:
    """Return whether a range of versions includes a version."""
    if not versions:
        return False
    first, _, last = versions.rstrip("+").partition("-")
    end = _OPEN_END if versions.endswith("+") else int(last or first)
    return int(first) <= version <= end


@lru_cache(maxsize=1024)
def fields_in(fields: tuple[Field, ...], version: int) -> tuple[Field, ...]:
    """Return the fields of a structure that a version encodes in sequence."""
    return tuple(f for f in fields if covers(f.versions, version) and not covers(f.tagged, version))


@lru_cache(maxsize=1024)
def tagged_fields(fields: tuple[Field, ...], version: int) -> tuple[Field, ...]:
    """Return the fields of a structure that a version encodes as tagged fields, in the order of the tags."""
    found = (f for f in fields if covers(f.versions, version) and covers(f.tagged, version))
    return tuple(sorted(found, key=lambda f: f.tag))
