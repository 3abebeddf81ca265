"""A Kafka client of a few lines: frames over a socket, encoded with the project's own schemas.

It does what a real client does and nothing of its own accord: no retries, no threads, no timers. So a worker of the soak
decides what is sent when, in any version that the server announces.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any

from kipviz.messages.wire.codec import Struct, decode, decode_head, encode
from kipviz.messages.wire.fitting import fit_fields
from kipviz.messages.wire.frame import REQUEST_HEADER, RESPONSE_HEADER, header_version
from kipviz.serving.translating.apis import APIS

LOOPBACK = "127.0.0.1"
TIMEOUT_S = 3.0
PRODUCE, FETCH, LIST_OFFSETS, METADATA, OFFSET_COMMIT, OFFSET_FETCH = 0, 1, 2, 3, 8, 9
FIND_COORDINATOR, JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP = 10, 11, 12, 13, 14
DESCRIBE_GROUPS, LIST_GROUPS, INIT_PRODUCER_ID, ADD_PARTITIONS = 15, 16, 22, 24
ADD_OFFSETS, END_TXN, TXN_OFFSET_COMMIT, DESCRIBE_PRODUCERS = 25, 26, 28, 61
DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS, CONSUMER_HEARTBEAT = 65, 66, 68
CONSUMER_DESCRIBE, SHARE_HEARTBEAT, SHARE_DESCRIBE, SHARE_FETCH = 69, 76, 77, 78
SHARE_ACKNOWLEDGE = 79
GROUP, TRANSACTION = 0, 1


class Rejected(Exception):
    """A response has an error code."""

    def __init__(self, api: str, code: int) -> None:
        super().__init__(f"{api}: error {code}")
        self.api, self.code = api, code


def encode_frame(key: int, version: int, client_id: str = "soak", **said: Any) -> bytes:
    """Return a request as it is sent, with its size."""
    schema = APIS[key].request
    head = {
        "RequestApiKey": key,
        "RequestApiVersion": version,
        "CorrelationId": 1,
        "ClientId": client_id,
    }
    header = encode(REQUEST_HEADER, header_version(schema, version), head).data
    body = encode(schema, version, fit_fields(schema.fields, version, said)).data
    return (len(header) + len(body)).to_bytes(4, "big") + header + body


@dataclass
class Tally:
    """What the clients of a soak did, all together."""

    requests: int = 0
    committed: int = 0
    aborted: int = 0
    plain: int = 0
    read: int = 0
    lost_connections: int = 0


class Connection:
    """A connection to one broker; an OSError says that it is gone."""

    def __init__(
        self, port: int, client_id: str, tally: Tally, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._socket = socket.create_connection((LOOPBACK, port), timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client_id, self._tally = client_id, tally

    def ask(self, key: int, version: int = -1, **said: Any) -> Struct:
        """Send a request and return the response."""
        api = APIS[key]
        version = api.highest if version < 0 else version
        try:
            self._socket.sendall(encode_frame(key, version, self._client_id, **said))
            data = self._read(int.from_bytes(self._read(4), "big"))
        except OSError:
            self._tally.lost_connections += 1
            self.close()
            raise
        self._tally.requests += 1
        _, start = decode_head(RESPONSE_HEADER, header_version(api.response, version), data)
        found, _ = decode(api.response, version, data, len(start.data))
        return found

    def _read(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            data = self._socket.recv(min(size - len(found), 65_536))
            if not data:
                raise ConnectionResetError("the broker closed the connection")
            found += data
        return bytes(found)

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self._socket.close()


class Client:
    """A client with a connection per broker; what it does not know any more it asks for again."""

    def __init__(self, ports: dict[int, int], name: str, tally: Tally) -> None:
        self.ports, self.name, self.tally = ports, name, tally
        self._connections: dict[int, Connection] = {}
        self._leaders: dict[tuple[str, int], int] = {}
        self._coordinators: dict[tuple[int, str], int] = {}
        self.topic_ids: dict[str, str] = {}

    def ask(self, broker: int, key: int, version: int = -1, **said: Any) -> Struct:
        """Send a request to a broker and return the response."""
        connection = self._connections.get(broker)
        if connection is None:
            if broker not in self.ports:
                raise ConnectionRefusedError(f"there is no broker {broker}")
            connection = Connection(self.ports[broker], self.name, self.tally)
            self._connections[broker] = connection
        try:
            return connection.ask(key, version, **said)
        except OSError:
            self.forget()
            raise

    def ask_any(self, key: int, version: int = -1, **said: Any) -> Struct:
        """Send a request to the first broker that answers."""
        for broker in self.ports:
            try:
                return self.ask(broker, key, version, **said)
            except OSError:
                continue
        raise ConnectionRefusedError("no broker answers")

    def find_leader(self, topic: str, index: int) -> int:
        """Return the leader of a partition."""
        if (topic, index) not in self._leaders:
            found = self.ask_any(METADATA, Topics=({"Name": topic, "TopicId": "A" * 22},))
            for each in found["Topics"]:
                check_error("Metadata", each["ErrorCode"])
                self.topic_ids[each["Name"]] = each["TopicId"]
                for part in each["Partitions"]:
                    self._leaders[each["Name"], part["PartitionIndex"]] = part["LeaderId"]
        return self._leaders[topic, index]

    def find_coordinator(self, kind: int, name: str) -> int:
        """Return the coordinator of a group or of a transactional id."""
        if (kind, name) not in self._coordinators:
            (found,) = self.ask_any(FIND_COORDINATOR, KeyType=kind, CoordinatorKeys=(name,))[
                "Coordinators"
            ]
            check_error("FindCoordinator", found["ErrorCode"])
            self._coordinators[kind, name] = found["NodeId"]
        return self._coordinators[kind, name]

    def forget(self) -> None:
        """Close all connections and forget who leads what."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        self._leaders.clear()
        self._coordinators.clear()


def check_error(api: str, code: int) -> None:
    """Raise Rejected for an error code."""
    if code:
        raise Rejected(api, int(code))
