"""Schemas and codec against kio, which is generated from Kafka's schemas by somebody else.

kio 0.6.5 knows every shipped message of ours except TxnOffsetCommit version 6 (KIP-1319) and
DeleteGroups version 3, which came with Kafka 4.4; those are held against Kafka's own library in
test_wire_recorded.py.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import importlib
import io
import re
import types
import typing
import uuid
from functools import cache
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer

from kipviz.messages.wire.codec import Struct, decode, encode
from kipviz.messages.wire.frame import KINDS, REQUEST_HEADER, RESPONSE_HEADER
from kipviz.messages.wire.schema import ZERO_ID, Field, Schema, covers

NOT_IN_KIO = {
    ("TxnOffsetCommitRequest", 6),
    ("TxnOffsetCommitResponse", 6),
    ("DeleteGroupsRequest", 3),
    ("DeleteGroupsResponse", 3),
}
OURS = [kind.schema for kind in KINDS.values()] + [REQUEST_HEADER, RESPONSE_HEADER]
SHIPPED = [schema for schema in OURS if schema.status == "shipped"]
EACH = [
    (schema, version)
    for schema in SHIPPED
    for version in range(20)
    if covers(schema.versions, version) and (schema.name, version) not in NOT_IN_KIO
]
AS_EACH = pytest.mark.parametrize(
    ("schema", "version"), EACH, ids=[f"{schema.name}-v{version}" for schema, version in EACH]
)

# Kafka 4.4 called it so; the bytes are as before.
RENAMED = {"GenerationIdOrMemberEpoch": "generation_id"}
# kio's own types for what is a number on the wire.
NUMBERS = {
    "error_code": "int16",
    "timedelta_i32": "int32",
    "timedelta_i64": "int64",
    "datetime_i64": "int64",
}
RANGES = {f"int{bits}": 1 << bits - 1 for bits in (8, 16, 32, 64)}


@cache
def theirs(name: str, version: int) -> type[Any]:
    part = "header" if name.endswith("Header") else re.findall(r"[A-Z][a-z]+", name)[-1].lower()
    family = name if part == "header" else name.removesuffix(part.capitalize())
    module = importlib.import_module(f"kio.schema.{snake(family)}.v{version}.{part}")
    found: type[Any] = getattr(module, name)
    return found


@cache
def hints_of(cls: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def live(fields: tuple[Field, ...], version: int) -> list[Field]:
    return [f for f in fields if covers(f.versions, version) and f.status == "shipped"]


def inner(hint: Any) -> type[Any]:
    """The class inside tuple[X, ...] | None."""
    if isinstance(hint, types.UnionType):
        (hint,) = [one for one in hint.__args__ if one is not type(None)]
    return hint.__args__[0] if typing.get_origin(hint) is tuple else hint


def name_in_kio(field: Field, kafka_type: str) -> str:
    name = RENAMED.get(field.name) or snake(field.name)
    return name.removesuffix("_ms") if kafka_type.startswith(("timedelta", "datetime")) else name


def agree(fields: tuple[Field, ...], cls: type[Any], version: int) -> None:
    hints = hints_of(cls)
    ours, others = live(fields, version), dataclasses.fields(cls)
    assert len(ours) == len(others), cls
    for field, other in zip(ours, others, strict=True):
        kafka_type = other.metadata.get("kafka_type", "")
        hint = hints[other.name]
        # kio has the old name in TxnOffsetCommit, and the new one in OffsetCommit.
        assert other.name in {name_in_kio(field, kafka_type), snake(field.name)}
        tag = field.tag if covers(field.tagged, version) else None
        assert other.metadata.get("tag") == tag, field.name
        assert field.is_array == (typing.get_origin(outer(hint)) is tuple), field.name
        if kafka_type:
            assert field.item == NUMBERS.get(kafka_type, kafka_type), field.name
        else:
            assert field.item == inner(hint).__name__
            agree(field.fields, inner(hint), version)
        # An id of zeros and a time of -1 are None there, although no null is on the wire.
        if kafka_type not in {"uuid", "datetime_i64"}:
            assert covers(field.nullable, version) == isinstance(hint, types.UnionType), field.name


def outer(hint: Any) -> Any:
    if isinstance(hint, types.UnionType):
        (hint,) = [one for one in hint.__args__ if one is not type(None)]
    return hint


@AS_EACH
def test_every_field_is_the_one_that_kio_has(schema: Schema, version: int) -> None:
    cls = theirs(schema.name, version)
    assert cls.__flexible__ == covers(schema.flexible, version)
    if schema.key >= 0:
        assert cls.__api_key__ == schema.key
    agree(schema.fields, cls, version)


# -- bytes -------------------------------------------------------------------------------------------


def values(fields: tuple[Field, ...], cls: type[Any], version: int) -> st.SearchStrategy[Struct]:
    hints = hints_of(cls)
    known = zip(live(fields, version), dataclasses.fields(cls), strict=True)
    return st.fixed_dictionaries(
        {
            field.name: value(
                field, other.metadata.get("kafka_type", ""), hints[other.name], version
            )
            for field, other in known
        }
    )


def value(field: Field, kafka_type: str, hint: Any, version: int) -> st.SearchStrategy[Any]:
    one = primitive(kafka_type) if kafka_type else values(field.fields, inner(hint), version)
    if kafka_type == "datetime_i64" and type(None) not in get_args(hint):
        one = one.filter(lambda ms: ms >= 0)  # kio has no word for a time that is not known
    if field.is_array:
        one = st.lists(one, max_size=3).map(tuple)
    return st.none() | one if covers(field.nullable, version) else one


def primitive(kafka_type: str) -> st.SearchStrategy[Any]:
    match kafka_type:
        case "error_code":
            return st.sampled_from([code.value for code in ErrorCode])
        case "datetime_i64":
            return st.integers(-1, 1 << 40).filter(lambda ms: ms % 1000 == 0 or ms == -1)
        case "bool":
            return st.booleans()
        case "string":
            return st.text(max_size=200)
        case "bytes" | "records":
            return st.binary(max_size=200)
        case "uuid":
            return st.sampled_from([ZERO_ID, "AAAAAAAAAAAAAAAAAAAAAg", "8vAjIXiNQw6uomNAPA8GZQ"])
    limit = RANGES[NUMBERS.get(kafka_type, kafka_type)]
    return st.integers(-limit, limit - 1)


def entity(cls: type[Any], fields: tuple[Field, ...], told: Struct, version: int) -> Any:
    """The same values as kio takes them."""
    hints = hints_of(cls)
    known = zip(live(fields, version), dataclasses.fields(cls), strict=True)
    return cls(
        **{
            other.name: in_kio(field, other, hints[other.name], told[field.name], version)
            for field, other in known
        }
    )


def in_kio(field: Field, other: Any, hint: Any, told: Any, version: int) -> Any:
    if told is None:
        return None
    if field.is_array:
        return tuple(one_in_kio(field, other, hint, item, version) for item in told)
    return one_in_kio(field, other, hint, told, version)


def one_in_kio(field: Field, other: Any, hint: Any, told: Any, version: int) -> Any:
    match other.metadata.get("kafka_type", ""):
        case "":
            return entity(inner(hint), field.fields, told, version)
        case "error_code":
            return ErrorCode(told)
        case "timedelta_i32" | "timedelta_i64":
            return dt.timedelta(milliseconds=told)
        case "datetime_i64":
            if told == -1:
                return None
            return dt.datetime.fromtimestamp(told / 1000, dt.UTC)
        case "uuid":
            raw = base64.urlsafe_b64decode(told + "==")
            return None if told == ZERO_ID else uuid.UUID(bytes=raw)
    return told


# The older versions of each message are held against Kafka's own bytes in test_wire_recorded.py.
NEWEST = list({schema.name: (schema, version) for schema, version in EACH}.values())


@pytest.mark.parametrize(
    ("schema", "version"), NEWEST, ids=[f"{schema.name}-v{version}" for schema, version in NEWEST]
)
def test_random_values_give_the_same_bytes_and_come_back(schema: Schema, version: int) -> None:
    cls = theirs(schema.name, version)
    write = entity_writer(cls)

    # Two of five of what other properties are tried with: there are many messages, and their parts are the same few.
    @settings(max_examples=settings.default.max_examples * 2 // 5)
    @given(values(schema.fields, cls, version))
    def holds(told: Struct) -> None:
        buffer = io.BytesIO()
        write(buffer, entity(cls, schema.fields, told, version))
        ours = encode(schema, version, told)
        assert ours.data == buffer.getvalue()
        found, read = decode(schema, version, ours.data)
        assert encode(schema, version, found).data == ours.data
        assert b"".join(ours.data[s.start : s.start + s.size] for s in read.spans) == ours.data

    holds()
