"""The requests of a request log, decoded by the rows of their APIs.

A broker's log has the names of Kafka's schemas with a small first letter: "transactionalId" is TransactionalId.
"""

from __future__ import annotations

import base64
from typing import Any

from kipviz.messages.apis.catalogue import ROW_OF
from kipviz.messages.message import Message
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.schema import Field
from kipviz.recordings.recorded import Exchange, Plain
from kipviz.recordings.replayed_roles.answer_text import Names, by_id

# Until Kafka 4.4 the field was named after the classic protocol alone.
FORMER_NAMES = {"GenerationIdOrMemberEpoch": "generationId"}


class LoggedFields(dict[str, Any]):
    """The fields of a structure under Kafka's names; a missing one is named as the log would name it."""

    def __missing__(self, name: str) -> Any:
        raise KeyError(logged_name(name))


def logged_name(name: str) -> str:
    """Return the name that a request log gives a field of a schema."""
    return name[:1].lower() + name[1:]


def fields_in_log(known: tuple[Field, ...], recorded: Plain) -> Struct:
    """Return the fields of a recorded structure under Kafka's names; unknown fields are left out.

    Raises:
        TypeError, ValueError: if it is no structure, or bytes are not Base64.
    """
    found = LoggedFields()
    for field in known:
        name = logged_name(field.name)
        if name not in recorded:
            name = FORMER_NAMES.get(field.name, name)
        if name in recorded:
            found[field.name] = _value(field, recorded[name])
    return found


def _value(field: Field, recorded: Plain) -> Any:
    if recorded is None:
        if field.item == "bytes" and not field.nullable:
            raise TypeError(f"{logged_name(field.name)} is null")
        return None
    if field.fields:
        if field.is_array:
            return tuple(fields_in_log(field.fields, each) for each in recorded)
        return fields_in_log(field.fields, recorded)
    return base64.b64decode(recorded) if field.item == "bytes" else recorded


def decode_request(exchange: Exchange, names: Names) -> tuple[Message, ...]:
    """Return a recorded request as the model's messages; a topic with an unknown id has the id as its name.

    Raises:
        KeyError, TypeError, ValueError: if the request lacks a field of its API and version.
    """
    kind = ROW_OF[exchange.api].request_bytes
    assert kind is not None, f"{exchange.api} has no bytes"
    incoming = Incoming(exchange.version, lambda it: by_id(str(it), names))
    return kind.decode(fields_in_log(kind.schema.fields, exchange.request), incoming)
