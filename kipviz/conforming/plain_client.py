"""A client of a broker on this machine: it sends requests in a given version, in order or several at once."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterable, Iterator
from itertools import count
from types import TracebackType
from typing import Self

from kipviz.core.values import Value
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.question import RequestFormat

HOST = "127.0.0.1"
ANSWER_S = 30.0
ANSWER_MAX = 64 * 1024 * 1024


class Lost(ConnectionError):
    """A broker has closed a connection, or did not answer in time; the message is one sentence."""


class Waiting(Value, frozen=True):
    """A request in flight: its number among the requests of its client."""

    number: int
    question: RequestFormat
    version: int


class PlainClient:
    """One connection; its requests are numbered, so that a request log can distinguish them.

    A client with several connections gives each of them the same `numbers`.
    """

    def __init__(self, port: int, client_id: str, numbers: Iterator[int] | None = None) -> None:
        """Connect to a broker on loopback.

        Raises:
            Lost: if it does not accept the connection.
        """
        self.client_id = client_id
        self._numbers = count(1) if numbers is None else numbers
        try:
            self._socket = socket.create_connection((HOST, port), ANSWER_S)
        except OSError as wrong:
            raise Lost(f"the broker at {HOST}:{port} cannot be reached: {wrong}") from None

    def ask(self, question: RequestFormat, values: Struct, version: int = -1) -> Struct:
        """Send a request, in its newest version if none is given, and return the answer's fields.

        Raises:
            Lost: if there is no answer.
        """
        return self.answer_to(self.send(question, values, version))

    def send(self, question: RequestFormat, values: Struct, version: int = -1) -> Waiting:
        """Send a request without waiting for its answer.

        Raises:
            Lost: if it cannot be sent.
        """
        version = question.versions[1] if version < 0 else version
        waiting = Waiting(next(self._numbers), question, version)
        try:
            self._socket.sendall(question.frame(version, waiting.number, self.client_id, values))
        except OSError as wrong:
            raise Lost(f"{question.request.name}: {wrong}") from None
        return waiting

    def answer_to(self, waiting: Waiting) -> Struct:
        """Wait for an answer; a broker answers the requests of one connection in order.

        Raises:
            Lost: if there is no answer.
        """
        question = waiting.question
        try:
            size = int.from_bytes(self._read(4), "big")
            if size > ANSWER_MAX:
                raise Lost(f"{question.request.name}: an answer of {size} bytes is too long")
            data = self._read(size)
        except TimeoutError:
            raise Lost(f"{question.request.name}: no answer within {ANSWER_S:g} s") from None
        except OSError as wrong:
            raise Lost(f"{question.request.name}: {wrong}") from None
        _, start = question.head_of(waiting.version, data)
        return question.body_of(waiting.version, data, start)

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

    def fileno(self) -> int:
        """Return the number of its socket, for `select`."""
        return self._socket.fileno()


def wait_for_answers(clients: Iterable[PlainClient], wait_s: float) -> list[PlainClient]:
    """Return the clients that have received an answer, and wait for the first one for at most `wait_s`."""
    readable, _, _ = select.select(list(clients), (), (), wait_s)
    return list(readable)
