"""A proxy on loopback between clients and brokers: it notes requests and error codes, and can lose an answer.

It passes on every byte as it is. The brokers advertise its ports, so every connection of a client comes through it.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import deque
from dataclasses import dataclass, field

from kipviz.messages.errors import Errors
from kipviz.messages.wire.codec import WireError, decode, decode_head
from kipviz.messages.wire.frame import RESPONSE_HEADER, header_version
from kipviz.serving.translating.apis import APIS

HOST = "127.0.0.1"
NO_ANSWER = "no answer"
NAMES = {error.value: error.name for error in Errors}
# Requests without a schema here are noted by name alone.
OTHERS = {
    18: "ApiVersions",
    71: "GetTelemetrySubscriptions",
    72: "PushTelemetry",
}


@dataclass
class Exchange:
    """One request, and the error codes that its answer has, by name; `answer` is "" once it has come."""

    client: str
    api: str
    version: int
    key: int
    errors: list[str] = field(default_factory=list)
    answer: str = NO_ANSWER

    def __str__(self) -> str:
        """Return what is stored: name, version, and what the answer says, unless that is no error."""
        said = list(dict.fromkeys(self.errors)) or [self.answer]
        return " ".join(filter(None, (self.api, str(self.version), *said)))


def name_of(key: int) -> str:
    """Return an API's name, such as "EndTxn"."""
    if key in APIS:
        return APIS[key].request.name.removesuffix("Request")
    return OTHERS.get(key, f"api {key}")


def errors_in(value: object) -> list[str]:
    """Return the names of all error codes in an answer, in its order."""
    found = []
    if isinstance(value, dict):
        for name, inner in value.items():
            if name.endswith("ErrorCode") and inner:
                found.append(NAMES.get(inner, f"error {inner}"))
            else:
                found += errors_in(inner)
    elif isinstance(value, tuple):
        for inner in value:
            found += errors_in(inner)
    return found


class Proxy:
    """Listeners on loopback, one for each broker; `ports` are theirs, and brokers advertise them."""

    def __init__(self, brokers: tuple[int, ...]) -> None:
        self._listeners = {broker: socket.create_server((HOST, 0)) for broker in brokers}
        self.ports = {b: each.getsockname()[1] for b, each in self._listeners.items()}
        self._targets: dict[int, int] = {}
        self._lock = threading.Lock()
        self._losing: list[str] = []
        self._losing_requests: list[str] = []
        self._sockets: list[socket.socket] = []
        self._noting = True
        self.exchanges: list[Exchange] = []

    @property
    def bootstrap_servers(self) -> str:
        """The addresses for clients."""
        return ",".join(f"{HOST}:{port}" for port in self.ports.values())

    def forward(self, targets: dict[int, int]) -> None:
        """Pass on what comes for a broker to its port."""
        self._targets = targets
        for broker in self._listeners:
            threading.Thread(target=self._accept, args=(broker,), daemon=True).start()

    def lose_answer(self, api: str) -> None:
        """Cut the connection at the next answer to a request, instead of passing that answer on."""
        with self._lock:
            self._losing.append(api)

    def lose_request(self, api: str) -> None:
        """Cut the connection at the next such request, instead of passing it on."""
        with self._lock:
            self._losing_requests.append(api)

    def take(self) -> list[Exchange]:
        """Return the requests since the last call, in the order in which they came."""
        with self._lock:
            found, self.exchanges, self._noting = self.exchanges, [], True
            self._losing, self._losing_requests = [], []
        return found

    def pause(self) -> None:
        """Note no more requests until the next `take`."""
        with self._lock:
            self._noting = False

    def close(self) -> None:
        """Close every listener and connection."""
        for each in (*self._listeners.values(), *self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self, broker: int) -> None:
        while True:
            try:
                near, _ = self._listeners[broker].accept()
            except OSError:
                return
            try:
                far = socket.create_connection((HOST, self._targets[broker]))
            except OSError:
                near.close()
                continue
            waiting: deque[Exchange] = deque()
            for each in (near, far):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._sockets.append(each)
            for source, to, note in (
                (near, far, self._note_request),
                (far, near, self._note_answer),
            ):
                told = (source, to, note, waiting)
                threading.Thread(target=self._pump, args=told, daemon=True).start()

    def _pump(self, source, to, note, waiting) -> None:
        """Pass frames on until an end closes its connection, or an answer is lost."""
        buffer = bytearray()
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                buffer += data
                while len(buffer) >= 4 and len(buffer) >= (
                    size := 4 + int.from_bytes(buffer[:4], "big")
                ):
                    frame = bytes(buffer[:size])
                    del buffer[:size]
                    if not note(frame[4:], waiting):
                        raise OSError("it is lost")
                    to.sendall(frame)
        for each in (source, to):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _note_request(self, frame: bytes, waiting: deque[Exchange]) -> bool:
        key, version = int.from_bytes(frame[:2], "big"), int.from_bytes(frame[2:4], "big")
        size = int.from_bytes(frame[8:10], "big", signed=True)
        client = frame[10 : 10 + max(0, size)].decode()
        exchange = Exchange(client, name_of(key), version, key)
        with self._lock:
            if self._noting:
                self.exchanges.append(exchange)
            if exchange.api in self._losing_requests:
                self._losing_requests.remove(exchange.api)
                return False
        waiting.append(exchange)
        return True

    def _note_answer(self, frame: bytes, waiting: deque[Exchange]) -> bool:
        """Note an answer's errors; return whether it is passed on."""
        exchange = waiting.popleft()
        exchange.answer = ""
        api = APIS.get(exchange.key)
        if api is not None:
            with contextlib.suppress(WireError):
                head = header_version(api.response, exchange.version)
                _, start = decode_head(RESPONSE_HEADER, head, frame)
                told, _ = decode(api.response, exchange.version, frame, len(start.data))
                exchange.errors = errors_in(told)
        with self._lock:
            if exchange.api in self._losing:
                self._losing.remove(exchange.api)
                exchange.answer, exchange.errors = NO_ANSWER, []
                return False
        return True
