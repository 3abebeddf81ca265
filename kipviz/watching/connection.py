"""Connections to a cluster's brokers, with kafka-python, which is installed beside kipviz (`kipviz[watch]`).

kafka-python connects, encrypts, authenticates, negotiates versions and has the timeouts. `messages.wire` encodes and
decodes the requests: kafka-python has no DescribeShareGroupOffsets and no OffsetFetch that requires stable offsets, and
its methods stop at the first partition or id with an error.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import warnings
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Self

from kipviz.core.outside.optional_parts import MissingPart
from kipviz.messages.wire.codec import Struct, WireError
from kipviz.messages.wire.question import RequestFormat
from kipviz.settings.client_configs import SECURITY_PROTOCOL
from kipviz.watching.admin_queries import ANY_BROKER, NoAnswer

CLIENT_ID = "kipviz-watch"
# kipviz uses internals of this version of kafka-python to send a request.
KAFKA_PYTHON = "3.0"
TIMEOUT_S = 10.0


class Unreachable(ValueError):
    """A cluster cannot be reached; the message is one sentence."""


class _Header:
    """The data that kafka-python keeps of a request until its response arrives."""

    def __init__(self, asked: _Request, correlation_id: int) -> None:
        self.correlation_id = correlation_id
        self.api_key = asked.API_KEY
        self.api_version = asked.API_VERSION
        self._asked = asked

    def get_response_class(self) -> _Request:
        return self._asked


class _Request:
    """A request of kipviz in the form that kafka-python sends; it also decodes its own response."""

    _min_version = _max_version = None

    def __init__(self, question: RequestFormat, values: Struct) -> None:
        self.name = question.request.name
        self.API_KEY = question.request.key
        self.API_VERSION: int | None = None
        self.min_version, self.max_version = question.versions
        self.header: _Header | None = None
        self._question, self._values = question, values
        self._client_id = ""

    def expect_response(self) -> bool:
        return True

    def with_header(self, correlation_id: int = 0, client_id: str = "") -> None:
        self.header = _Header(self, correlation_id)
        self._client_id = client_id

    def encode(self, *, framed: bool, header: bool) -> bytes:
        assert framed
        assert header
        assert self.header is not None
        number = self.header.correlation_id
        return self._question.frame(self._version, number, self._client_id, self._values)

    @property
    def _version(self) -> int:
        assert self.API_VERSION is not None
        return self.API_VERSION

    def parse_header(self, buffer: Any) -> Any:
        number, start = self._question.head_of(self._version, buffer.read())
        buffer.seek(start)
        return _Head(number)

    def decode(self, buffer: Any) -> _Response:
        return _Response(self._question.body_of(self._version, buffer.read()))


class _Head:
    """The header of a response."""

    def __init__(self, correlation_id: int) -> None:
        self.correlation_id = correlation_id


class _Response:
    """A response's fields, and the one that kafka-python reads itself."""

    def __init__(self, fields: Struct) -> None:
        self.fields = fields
        self.throttle_time_ms = fields.get("ThrottleTimeMs", 0)


class Connection:
    """A connection to a cluster; its `ask` sends a request to one of its brokers. It ends with its `with` block."""

    def __init__(
        self,
        servers: str,
        config: Mapping[str, Any] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Connect.

        Args:
            servers: HOST:PORT, several separated by commas.
            config: further settings of kafka-python's client, such as security_protocol.
            timeout_s: the timeout of an answer.

        Raises:
            Unreachable: if no server answers like a broker.
            MissingPart: if kafka-python is not installed.
        """
        client = _client()
        self._errors = client.errors
        self._timeout_s = timeout_s
        addresses = _addresses(servers)
        _knock(addresses, timeout_s)
        ms = int(timeout_s * 1000)
        try:
            self._admin = client.KafkaAdminClient(
                bootstrap_servers=addresses,
                client_id=CLIENT_ID,
                request_timeout_ms=ms,
                bootstrap_timeout_ms=ms,
                **(config or {}),
            )
        except (self._errors.KafkaError, OSError, ValueError, AssertionError) as wrong:
            protocol = str((config or {}).get("security_protocol", ""))
            raise Unreachable(self._why_no_cluster(servers, wrong, protocol)) from None

    def _why_no_cluster(self, servers: str, wrong: Exception, protocol: str) -> str:
        errors = self._errors
        if isinstance(wrong, errors.KafkaTimeoutError | errors.RequestTimedOutError):
            # A broker closes the connection, and the client retries without reporting the rejection.
            doubts = [
                "is it a broker's listener",
                f"is {SECURITY_PROTOCOL.name} that of the listener",
            ]
            if "SASL" in protocol:
                doubts.append("are sasl.mechanism, user name and password right")
            if "SSL" in protocol:
                doubts.append("does ssl.truststore.location have who signed its certificate")
            *first, last = doubts
            return (
                f"nothing at {servers} answered as a Kafka broker within {self._timeout_s:g} s; "
                f"{', '.join(first)}, and {last}?"
            )
        if isinstance(wrong, errors.SaslAuthenticationFailedError | errors.AuthorizationError):
            return f"{servers} refuses this user: {_words(wrong)}"
        return f"cannot attach to {servers}: {_words(wrong)}"

    def ask(self, broker: int, question: RequestFormat, values: Struct) -> Struct:
        """Send a request to a broker, or to any (ANY_BROKER), and return the answer's fields.

        Raises:
            NoAnswer: if there is no answer, in one sentence.
        """
        manager = self._admin._manager  # noqa: SLF001  its public methods cannot send these requests
        errors = self._errors
        to = None if broker == ANY_BROKER else broker
        try:
            told = manager.run(manager.send, _Request(question, values), to)
        except errors.IncompatibleBrokerVersion:
            name = question.request.name.removesuffix("Request")
            raise NoAnswer(f"it takes no {name}, which a newer release has") from None
        except (errors.KafkaTimeoutError, errors.RequestTimedOutError):
            raise NoAnswer(f"no answer within {self._timeout_s:g} s") from None
        except (errors.KafkaConnectionError, errors.NodeNotReadyError, errors.UnknownBrokerIdError):
            raise NoAnswer("no connection to it") from None
        except (errors.KafkaError, WireError, OSError) as wrong:
            raise NoAnswer(f"its answer cannot be used: {_words(wrong)}") from None
        fields: Struct = told.fields
        return fields

    def close(self) -> None:
        """End every connection."""
        self._admin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _client() -> Any:
    """Return the package kafka without its log output, which kipviz reports as sentences."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it reads its own files with a deprecated function
        try:
            import kafka
            import kafka.errors
        except ModuleNotFoundError as missing:
            raise MissingPart(
                "kipviz watch needs the package kafka-python, which is not installed; "
                "install it with: pip install 'kipviz[watch]'"
            ) from missing

    if not kafka.__version__.startswith(f"{KAFKA_PYTHON}."):
        raise Unreachable(
            f"kipviz watch needs kafka-python {KAFKA_PYTHON}, and {kafka.__version__} is installed; "
            "install it with: pip install 'kipviz[watch]'"
        )
    log = logging.getLogger("kafka")
    log.addHandler(logging.NullHandler())
    log.propagate = False
    return kafka


def _addresses(servers: str) -> list[str]:
    """Return HOST:PORT of each server.

    Raises:
        Unreachable: if one has no host or no port.
    """
    found = [each.strip() for each in servers.split(",")]
    for each in found:
        host, _, port = each.rpartition(":")
        if not (host and port.isascii() and port.isdecimal() and 0 < int(port) < 65_536):
            raise Unreachable(
                f"a bootstrap server must be HOST:PORT, such as localhost:9092, not {each!r}"
            )
    return found


def _knock(addresses: list[str], timeout_s: float) -> None:
    """Connect to each address and disconnect, because the client does not report why an address does not answer.

    Raises:
        Unreachable: if none of them accepts a connection.
    """
    why = list(_find_closed(addresses, timeout_s))
    if len(why) == len(addresses):
        raise Unreachable("; ".join(why))


def _find_closed(addresses: list[str], timeout_s: float) -> Iterator[str]:
    for each in addresses:
        host, _, port = each.rpartition(":")
        try:
            with contextlib.closing(
                socket.create_connection((host.strip("[]"), int(port)), timeout_s)
            ):
                return
        except ConnectionRefusedError:
            yield f"{each} refuses connections: no broker listens there"
        except socket.gaierror:
            yield f"no host {host} is known"
        except TimeoutError:
            yield f"{each} does not answer within {timeout_s:g} s"
        except OSError as wrong:
            yield f"{each} cannot be reached: {wrong.strerror or wrong}"


def _words(wrong: Exception) -> str:
    """Return an error of the client as text."""
    return " ".join(str(wrong).split()) or type(wrong).__name__
