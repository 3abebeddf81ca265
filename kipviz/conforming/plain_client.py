"""A client that sends one request at a time to a broker on this machine, in the version that its program says."""

from __future__ import annotations

import socket
from types import TracebackType
from typing import Self

from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.question import Question

HOST = "127.0.0.1"
ANSWER_S = 30.0
ANSWER_MAX = 64 * 1024 * 1024


class Lost(ConnectionError):
    """A broker has closed a connection, or did not answer in time; the message is one sentence."""


class PlainClient:
    """One connection; `asked` counts its requests, which is what a request log tells them apart by."""

    def __init__(self, port: int, client_id: str) -> None:
        """Connect to a broker on loopback.

        Raises:
            Lost: if it does not accept the connection.
        """
        self.client_id = client_id
        self.asked = 0
        try:
            self._socket = socket.create_connection((HOST, port), ANSWER_S)
        except OSError as wrong:
            raise Lost(f"the broker at {HOST}:{port} cannot be reached: {wrong}") from None

    def ask(self, question: Question, values: Struct, version: int = -1) -> Struct:
        """Send a request, in its newest version if none is given, and return the answer's fields.

        Raises:
            Lost: if there is no answer.
        """
        version = question.versions[1] if version < 0 else version
        self.asked += 1
        try:
            self._socket.sendall(question.frame(version, self.asked, self.client_id, values))
            size = int.from_bytes(self._read(4), "big")
            if size > ANSWER_MAX:
                raise Lost(f"{question.request.name}: an answer of {size} bytes is too long")
            data = self._read(size)
        except TimeoutError:
            raise Lost(f"{question.request.name}: no answer within {ANSWER_S:g} s") from None
        except OSError as wrong:
            raise Lost(f"{question.request.name}: {wrong}") from None
        _, start = question.head_of(version, data)
        return question.body_of(version, data, start)

    def _read(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            more = self._socket.recv(size - len(found))
            if not more:
                raise Lost("the broker closed the connection")
            found += more
        return bytes(found)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
