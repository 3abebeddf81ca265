"""A request and its response as frames, for any connection."""

from __future__ import annotations

from kipviz.core.values import Value
from kipviz.messages.wire.codec import Struct, decode, decode_head, encode
from kipviz.messages.wire.fitting import fit_fields
from kipviz.messages.wire.frame import REQUEST_HEADER, RESPONSE_HEADER, encode_frame, header_version
from kipviz.messages.wire.schema import Schema


class RequestFormat(Value, frozen=True):
    """A request and its response; `highest` limits the newest version, if it is below the schema's."""

    request: Schema
    response: Schema
    highest: int = 99

    @property
    def versions(self) -> tuple[int, int]:
        """The oldest and the newest version of the request."""
        first, _, last = self.request.versions.partition("-")
        return int(first), min(int(last or first), self.highest)

    def frame(self, version: int, correlation_id: int, client_id: str, values: Struct) -> bytes:
        """Return the request with its size; of `values` it uses the fields that the version has.

        Raises:
            WireError: if a value does not fit its field.
        """
        head = {
            "RequestApiKey": self.request.key,
            "RequestApiVersion": version,
            "CorrelationId": correlation_id,
            "ClientId": client_id,
        }
        header = encode(REQUEST_HEADER, header_version(self.request, version), head)
        body = fit_fields(self.request.fields, version, values)
        return encode_frame(header, encode(self.request, version, body)).data

    def head_of(self, version: int, data: bytes) -> tuple[int, int]:
        """Return a response's correlation id, and where its body starts; `data` is without the size.

        Raises:
            WireError: if it is not a response.
        """
        head, read = decode_head(RESPONSE_HEADER, header_version(self.response, version), data)
        return int(head["CorrelationId"]), len(read.data)

    def body_of(self, version: int, data: bytes, start: int = 0) -> Struct:
        """Return a response's fields.

        Raises:
            WireError: if it is another response.
        """
        told, _ = decode(self.response, version, data, start)
        return told
