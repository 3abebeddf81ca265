"""The configuration of a TransactionSession (KIP-1310 2.2, draft), and what its constructor rejects.

The page lists six rows, "a subset of existing producer configs plus one". Any other config is unused, as a Kafka client
logs it: so is transaction.two.phase.commit.enable, without which prepareTransaction() throws. The sentences have the
form of Kafka's ConfigException; the limit of transaction.timeout.ms is checked by the broker
(INVALID_TRANSACTION_TIMEOUT), as today.

NOT MODELLED: bootstrap.servers, security.* and client.id are read but have no effect in the model: clients know the
leaders, and no connection is encrypted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kipviz.clients.sessions.bound_producer import NAME_OF_SESSION
from kipviz.cluster.specs.spec import ApplicationSpec, SessionSpec
from kipviz.core.values import Value
from kipviz.settings import client_configs

SESSION = NAME_OF_SESSION
EXISTING, NEW = "existing producer config", "new (KAFKA-20381)"
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SECURITY = ("security.", "sasl.", "ssl.")
OFF = client_configs.TRANSACTION_SESSION_TIMEOUT_MS.default
PROTOCOL = client_configs.SECURITY_PROTOCOL
ADDRESS = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s:,\[\]]+):(\d{1,5})")


class ConfigException(ValueError):
    """A value that the constructor of a session rejects, in one sentence."""


class Config(Value, frozen=True):
    """One row of KIP-1310 2.2: its name, its source, and its purpose."""

    name: str
    source: str
    what: str


# KIP-1310 2.2, row by row.
CONFIGS: tuple[Config, ...] = (
    Config(
        client_configs.TRANSACTIONAL_ID.name,
        EXISTING,
        "the transactional id of this session; required",
    ),
    Config(
        client_configs.TRANSACTION_TIMEOUT_MS.name, EXISTING, "how long the transaction may take"
    ),
    Config(
        client_configs.TRANSACTION_SESSION_TIMEOUT_MS.name,
        NEW,
        "how long it may be silent; -1 is off",
    ),
    Config(
        client_configs.BOOTSTRAP_SERVERS.name, "existing", "where the coordinator is looked for"
    ),
    Config("security.*", "existing", "how a connection is authenticated and encrypted"),
    Config(client_configs.CLIENT_ID.name, "existing", "a name for metrics and logs"),
)
ID, TIMEOUT, SESSION_TIMEOUT, SERVERS, _, CLIENT = (row.name for row in CONFIGS)


class SessionConfig(Value, frozen=True):
    """A parsed configuration. `unused` are the names that a session ignores."""

    transactional_id: str
    bootstrap_servers: tuple[str, ...]
    transaction_timeout_ms: int = client_configs.TRANSACTION_TIMEOUT_MS.default
    session_timeout_ms: int = OFF
    client_id: str = ""
    security: tuple[tuple[str, str], ...] = ()
    unused: tuple[str, ...] = ()


def parse(configs: Mapping[str, object]) -> SessionConfig:
    """Parse the argument of `new TransactionSession(configs)`.

    Raises:
        ConfigException: if a required config is missing, or a value is not valid.
    """
    for name in (ID, SERVERS):
        if name not in configs:
            raise ConfigException(
                f'the required configuration "{name}" is missing: it has no default'
            )
    security = {n: _text(n, v) for n, v in configs.items() if n.startswith(SECURITY)}
    protocol = security.get(PROTOCOL.name, PROTOCOL.default)
    if protocol.upper() not in PROTOCOLS:
        raise _invalid(PROTOCOL.name, protocol, f"one of {', '.join(PROTOCOLS)}")
    known = {ID, TIMEOUT, SESSION_TIMEOUT, SERVERS, CLIENT, *security}
    return SessionConfig(
        _identity(configs[ID]),
        _servers(configs[SERVERS]),
        _whole(TIMEOUT, configs.get(TIMEOUT, client_configs.TRANSACTION_TIMEOUT_MS.default)),
        session_timeout(configs.get(SESSION_TIMEOUT, OFF)),
        _text(CLIENT, configs.get(CLIENT, "")),
        tuple(sorted(security.items())),
        tuple(name for name in configs if name not in known),
    )


def session_timeout(value: object) -> int:
    """Parse transaction.session.timeout.ms.

    Raises:
        ConfigException: if it is neither -1 nor above 0. The rejection of 0 is our inference.
    """
    timeout_ms = _whole(SESSION_TIMEOUT, value)
    if timeout_ms != OFF and timeout_ms < 1:
        raise _invalid(SESSION_TIMEOUT, value, "-1 (off) or at least 1")
    return timeout_ms


def configure(app: ApplicationSpec, configs: Mapping[str, object]) -> ApplicationSpec:
    """Return an application whose session has these configurations.

    Raises:
        ConfigException: as `parse` does.
    """
    config = parse(configs)
    session = app.session or SessionSpec()
    return app.but(
        transactional_id=config.transactional_id,
        transaction_timeout_ms=config.transaction_timeout_ms,
        two_phase_commit=False,
        session=session.but(session_timeout_ms=config.session_timeout_ms),
    )


def _invalid(name: str, value: object, allowed: str) -> ConfigException:
    return ConfigException(
        f"Invalid value {value} for configuration {name}: it has to be {allowed}"
    )


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _invalid(name, value, f"a string, not of type {type(value).__name__}")
    return value


def _identity(value: object) -> str:
    if not _text(ID, value):
        raise _invalid(ID, value, "a string that is not empty")
    return str(value)


def _whole(name: str, value: object) -> int:
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]+", value.strip()):
        value = int(value)
    if type(value) is not int or not -(2**31) <= value < 2**31:
        raise _invalid(name, value, "a whole number of 32 bits")
    return value


def _servers(value: object) -> tuple[str, ...]:
    given = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, (list, tuple)):
        raise _invalid(SERVERS, value, f"a list, not of type {type(value).__name__}")
    servers = tuple(_text(SERVERS, each).strip() for each in given if each)
    if not servers:
        raise _invalid(SERVERS, value, "at least one host:port")
    for server in servers:
        address = ADDRESS.fullmatch(server)
        if address is None or not 0 < int(address[2]) < 65_536:
            raise _invalid(SERVERS, server, "of the form host:port, with a port up to 65535")
    return servers
