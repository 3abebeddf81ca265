"""Schemas and codec against what Kafka's own clients library says (see README.md beside this)."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kipviz.messages.apis.groups.consumer_protocol import ASSIGNMENT, SUBSCRIPTION
from kipviz.messages.wire.codec import decode, encode
from kipviz.messages.wire.frame import KINDS, REQUEST_HEADER, RESPONSE_HEADER
from kipviz.messages.wire.schema import Field

HERE = Path(__file__).parent
RELEASE = HERE / "kafka-4.4.0"
OURS = [kind.schema for kind in KINDS.values()]
OURS += [REQUEST_HEADER, RESPONSE_HEADER, SUBSCRIPTION, ASSIGNMENT]
SHIPPED = {schema.name: schema for schema in OURS if schema.status == "shipped"}


@cache
def read_schemas() -> dict[str, Any]:
    told = json.loads((RELEASE / "schemas.json").read_text(encoding="utf-8"))
    return {message["name"]: message for message in told["messages"]}


@cache
def examples() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in (RELEASE / "bytes.jsonl").read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        found.setdefault(one["message"], []).append(one)
    return found


def test_the_recorded_files_are_those_that_the_recorder_wrote() -> None:
    made = json.loads((RELEASE / "recording.json").read_text(encoding="utf-8"))
    for name, expected in made["files"].items():
        assert hashlib.sha256((RELEASE / name).read_bytes()).hexdigest() == expected
    recorder = HERE / "recorder" / "WireRecorder.java"
    assert hashlib.sha256(recorder.read_bytes()).hexdigest() == made["recorder_sha256"], (
        "the recorder has changed: run it again"
    )


def test_every_shipped_message_is_recorded() -> None:
    assert set(SHIPPED) == set(read_schemas())


def plain(field: Field) -> dict[str, Any]:
    told: dict[str, Any] = {"name": field.name, "type": field.type, "versions": field.versions}
    if field.default:
        told["default"] = field.default
    if field.nullable:
        told["nullable"] = field.nullable
    if field.tagged:
        told |= {"tagged": field.tagged, "tag": str(field.tag)}
    if not field.flexible:
        told["flexible"] = "none"
    if field.fields:
        told["fields"] = [plain(inner) for inner in field.fields if inner.status == "shipped"]
    return told


def meaning(told: dict[str, Any]) -> dict[str, Any]:
    """A default that says what its type says anyway is none."""
    out = {name: value for name, value in told.items() if name != "default"}
    default = told.get("default", "")
    if default not in {"", "false"} and not (default == "0" and told["type"].startswith("int")):
        out["default"] = default
    if "fields" in told:
        out["fields"] = [meaning(inner) for inner in told["fields"]]
    return out


@pytest.mark.parametrize("name", SHIPPED)
def test_every_field_is_kafkas_version_by_version(name: str) -> None:
    ours, theirs = SHIPPED[name], read_schemas()[name]
    assert (ours.key, ours.versions, ours.flexible) == (
        theirs["key"],
        theirs["versions"],
        theirs["flexible"],
    )
    shipped = [f for f in ours.fields if f.status == "shipped"]
    assert [meaning(plain(f)) for f in shipped] == [meaning(f) for f in theirs["fields"]]


def values(fields: tuple[Field, ...], told: dict[str, Any]) -> dict[str, Any]:
    """A structure as Kafka's JSON has it, as our codec takes it."""
    by_name = {field.name[0].lower() + field.name[1:]: field for field in fields}
    return {by_name[name].name: value(by_name[name], told[name]) for name in told}


def value(field: Field, told: Any) -> Any:
    if isinstance(told, list):
        return tuple(values(field.fields, one) if field.fields else one for one in told)
    if field.fields and told is not None:
        return values(field.fields, told)
    if field.type in ("bytes", "records") and told is not None:
        import base64

        return base64.b64decode(told)
    return told


@pytest.mark.parametrize("name", sorted(examples()))
def test_random_values_give_the_bytes_that_kafka_makes_of_them(name: str) -> None:
    schema = SHIPPED[name]
    for example in examples()[name]:
        given = values(schema.fields, example["values"])
        made = encode(schema, example["version"], given)
        assert made.data.hex() == example["bytes"], example["version"]


@pytest.mark.parametrize("name", sorted(examples()))
def test_kafkas_bytes_are_read_and_written_back_unchanged(name: str) -> None:
    schema = SHIPPED[name]
    for example in examples()[name]:
        data = bytes.fromhex(example["bytes"])
        found, places = decode(schema, example["version"], data)
        again = encode(schema, example["version"], found)
        assert again.data == data
        assert [(s.path, s.type, s.start, s.size) for s in again.spans] == [
            (s.path, s.type, s.start, s.size) for s in places.spans
        ]
