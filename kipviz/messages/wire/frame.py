"""A whole message as bytes: its size, its header, its body; and decoding.

Source: org.apache.kafka.common.requests.RequestHeader, ResponseHeader, ApiMessageType.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from kipviz.messages.apis.catalogue import APIS
from kipviz.messages.message import Message
from kipviz.messages.wire.batches import encode_batch
from kipviz.messages.wire.codec import (
    Encoded,
    Struct,
    WireError,
    Writer,
    decode,
    decode_head,
    encode,
)
from kipviz.messages.wire.kind import Around, Kind
from kipviz.messages.wire.schema import Field, Schema, covers, fields_in, tagged_fields
from kipviz.records.batches import DataRecord

SIZE = "Size"

REQUEST_HEADER = Schema(
    "RequestHeader",
    -1,
    "1-2",
    "2+",
    (
        Field("RequestApiKey", "int16"),
        Field("RequestApiVersion", "int16"),
        Field("CorrelationId", "int32"),
        # Two bytes of length in every version, because any broker has to be able to read it.
        Field("ClientId", "string", "1+", nullable="1+", flexible=False),
    ),
)
RESPONSE_HEADER = Schema("ResponseHeader", -1, "0-1", "1+", (Field("CorrelationId", "int32"),))

KINDS: dict[type[Message], Kind[Message]] = dict(pair for api in APIS for pair in api.kinds())

# Header fields that are not modelled, and the sources of their values.
COUNTED = "0 if only one request is in flight; a client counts its requests"
NAMED = "the connection's name"


def bytes_of(message: Message, around: Around) -> Encoded:
    """Encode a message as a client or a broker would; a field that the model lacks has a default."""
    kind, version = KINDS[type(message)], around.version_of(message)
    body = encode(
        kind.schema,
        version,
        kind.fill(message, around),
        {path: value for path, (value, _) in kind.defaults.items()},
    )
    header = header_of(kind.schema)
    values: Struct = {}
    if header is REQUEST_HEADER:
        values = {"RequestApiKey": message.API_KEY, "RequestApiVersion": version}
    number = around.correlation_id
    if number:
        values = {**values, "CorrelationId": number}
    client = {"RequestHeader.ClientId": around.client_id}
    return encode_frame(encode(header, header_version(kind.schema, version), values, client), body)


def encode_frame(header: Encoded, body: Encoded) -> Encoded:
    """Put the size before header and body."""
    out = Writer()
    out.put(SIZE, "int32", (len(header.data) + len(body.data)).to_bytes(4, "big"))
    out.append(header)
    out.append(body)
    return out.finish()


def read_message(schema: Schema, version: int, data: bytes) -> tuple[Struct, Struct, Encoded]:
    """Decode a whole message of a known kind; return header, body and places.

    Raises:
        WireError: the bytes are something else; it names the field and the byte.
    """
    if len(data) < 4:
        raise WireError(SIZE, 0, f"a message begins with 4 bytes of size, there are {len(data)}")
    size = int.from_bytes(data[:4], "big", signed=True)
    if size != len(data) - 4:
        raise WireError(SIZE, 0, f"it says {size} bytes, and {len(data) - 4} follow")
    head_schema = header_of(schema)
    head, head_bytes = decode_head(head_schema, header_version(schema, version), data, 4)
    if head_schema is REQUEST_HEADER:
        found = (head["RequestApiKey"], head["RequestApiVersion"])
        if found[0] != schema.key:
            raise WireError("RequestHeader.RequestApiKey", 4, f"{found[0]} is not {schema.key}")
        if found[1] != version:
            raise WireError("RequestHeader.RequestApiVersion", 6, f"{found[1]} is not {version}")
    body, body_bytes = decode(schema, version, data, 4 + len(head_bytes.data))
    return head, body, encode_frame(head_bytes, body_bytes)


def header_of(schema: Schema) -> Schema:
    """Return the header's schema, which differs between requests and responses."""
    return REQUEST_HEADER if schema.name.endswith("Request") else RESPONSE_HEADER


def header_version(schema: Schema, version: int) -> int:
    """Return the header's version: the newer one, with tagged fields, for a flexible message."""
    flexible = covers(schema.flexible, version)
    return int(flexible) + (1 if schema.name.endswith("Request") else 0)


@lru_cache(maxsize=256)
def places(
    kind: type[Message], version: int = -1, *, passed_on: bool = False
) -> tuple[tuple[str, str], ...]:
    """Return every place (path, type) that a message of a kind can have, in the order of its bytes.

    The version is the newest one unless another is given. With `passed_on` a field of bytes whose contents have places
    has one more, for bytes of a real client that are passed on as they came.
    """
    inside = KINDS[kind].inside
    found = _list_places(kind, version, inside)
    if passed_on:
        for place in _list_places(kind, version, {}):
            if place not in found:
                field = place[0].rpartition(".")[0]
                last = max(n for n, (path, _) in enumerate(found) if path.startswith(field))
                found.insert(last + 1, place)
    return tuple(found)


def _list_places(
    kind: type[Message], version: int, inside: Mapping[str, Encoded]
) -> list[tuple[str, str]]:
    schema, version = KINDS[kind].schema, kind.VERSION if version < 0 else version
    header = header_of(schema)
    newest = header_version(schema, version)
    example = encode_frame(
        encode(header, newest, _example(header.fields, newest, {})),
        encode(schema, version, _example(schema.fields, version, inside)),
    )
    return list(dict.fromkeys((s.path, s.type) for s in example.spans))


def _example(fields: tuple[Field, ...], version: int, inside: Mapping[str, Encoded]) -> Struct:
    """Return a structure with a value in every field: no null, no empty array, no tag's default."""
    found = (*fields_in(fields, version), *tagged_fields(fields, version))
    return {f.name: _example_value(f, version, inside) for f in found}


def _example_value(field: Field, version: int, inside: Mapping[str, Encoded]) -> Any:
    if field.fields:
        inner = _example(field.fields, version, inside)
        return (inner,) if field.is_array else inner
    value = {
        "string": "a",
        "uuid": "A" * 21 + "g",
        "bool": True,
        "bytes": inside.get(field.name, b"a"),
        "records": encode_batch(((0, DataRecord("a", "b")),)),
    }.get(field.item, 1)
    return (value,) if field.is_array else value
