"""The bytes of messages, in a form in which a page can name each of them.

Three tables keep it small. A kind lists once every field that its messages can have. A shape is one sequence of fields
with their sizes, which most messages of a kind share. A message is its shape's name and its bytes as hex digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from kipviz.messages.apis.catalogue import API_OF
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.shares.share_groups import AcknowledgeType
from kipviz.messages.wire.frame import (
    COUNTED,
    KINDS,
    NAMED,
    SIZE,
    bytes_of,
    header_of,
    header_version,
    places,
)
from kipviz.messages.wire.kind import Around
from kipviz.messages.wire.schema import Field
from kipviz.records.share_group_state import RecordState
from kipviz.views.page_parts import Part

SHIPPED = "shipped"

# The source of values in a header that the model does not carry.
HEADER_NOTES = {
    SIZE: "of all that follows",
    "RequestHeader.CorrelationId": COUNTED,
    "ResponseHeader.CorrelationId": COUNTED,
    "RequestHeader.ClientId": NAMED,
}
# The names of numbers, by the field that contains them.
NAMES = {
    "ErrorCode": "error",
    "PartitionErrorCode": "error",
    "AcknowledgeErrorCode": "error",
    "AcknowledgeTypes[]": "acknowledge",
    "AcknowledgeType": "acknowledge",
    "DeliveryState": "state",
    "IsolationLevel": "isolation",
}
WORDS = {
    "error": {str(e.value): e.name for e in Errors},
    "acknowledge": {str(t.value): t.name for t in AcknowledgeType},
    "state": {str(s.value): s.name for s in RecordState},
    "isolation": {"0": "READ_UNCOMMITTED", "1": "READ_COMMITTED"},
}


class Wire:
    """The kinds and shapes of some messages, collected as they are encoded."""

    def __init__(self, topic_ids: tuple[tuple[str, str], ...], known: frozenset[str]) -> None:
        """Start a table; the page already has the kinds in `known`."""
        self._topic_ids = topic_ids
        self._known = known
        self._kinds: dict[str, Part] = {}
        self._shapes: dict[str, Part] = {}

    def tell(
        self, message: Message, request: Message | None, client: str, correlation_id: int
    ) -> list[str]:
        """Return the name of a message's shape and its bytes in hex digits; the last two are in its header."""
        kind = type(message)
        around = Around(self._topic_ids, request, client, correlation_id)
        version = around.version_of(message)
        name = kind.__name__ if version == kind.VERSION else f"{kind.__name__} {version}"
        written = bytes_of(message, around)
        found = places(kind, version)
        if not {(span.path, span.type) for span in written.spans} <= set(found):
            # Some bytes of a real client are passed on as they came (the subscription of an assignor of its own).
            found, name = places(kind, version, passed_on=True), f"{name}, passed on"
        if name not in self._known and name not in self._kinds:
            self._kinds[name] = _kind(kind, version, found)
        row_of = {place: n for n, place in enumerate(found)}
        spans: list[int] = []
        for span in written.spans:
            row = row_of[span.path, span.type]
            spans += (row if span.told else ~row, span.size)
        # A name made from the content, so that branches that are sent at different times use the same name.
        shape = blake2b(f"{name}{spans}".encode(), digest_size=4).hexdigest()
        self._shapes[shape] = {"kind": name, "spans": spans}
        return [shape, written.data.hex()]

    def tables(self) -> Part:
        """Return the tables; `spans` are pairs of field and size, ~field if it is not modelled."""
        return {"kinds": self._kinds, "shapes": self._shapes}


def _kind(kind: type[Message], version: int, found: tuple[tuple[str, str], ...]) -> Part:
    schema = KINDS[kind].schema
    header = f"header, version {header_version(schema, version)}"
    notes = {
        **HEADER_NOTES,
        **KINDS[kind].notes,
        header_of(schema).name: header,
        schema.name: f"body, version {version}",
        **{path: source for path, (_, source) in KINDS[kind].defaults.items()},
        **dict(_list_inferred(schema.fields, schema.name)),
    }
    return {
        "name": schema.name,
        "key": kind.API_KEY,
        "version": version,
        "status": API_OF[kind].facts(version).status,
        "places": [_place(path, words, notes.get(path, "")) for path, words in found],
    }


def _place(path: str, words: str, note: str) -> list[Any]:
    """Return depth, name and type of a field, then its note and its numbers' names, if it has any."""
    name = path.rpartition(".")[2]
    more = [note, NAMES.get(name, "")]
    while more and not more[-1]:
        more.pop()
    return [path.count("."), name, words, *more]


def _list_inferred(fields: tuple[Field, ...], path: str) -> Iterator[tuple[str, str]]:
    for field in fields:
        where = f"{path}.{field.name}"
        if field.status != SHIPPED:
            yield where, field.status
        yield from _list_inferred(field.fields, where + "[]" * field.is_array)
