"""A run of real clients, replayed without them: the model knows their names, versions and log lines.

The steps of such a run contain the clients' requests (`Receive`), so the steps are sufficient for a replay. This module
holds what the world has no place for: a client's software, its log lines, and its requests that wait at a broker.
"""

from __future__ import annotations

from kipviz.brokers.rules import BrokerRules
from kipviz.clients.rules import ClientRules
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.core.values import Value


class RealClient(Value, frozen=True):
    """A client outside the model.

    Attributes:
        name: its client.id, as far as a host of the model can have that name.
        software: name and version of its library, from ApiVersions 3 and above; "" if unknown.
        transactional_ids: those that its requests named, in their order.
        group_ids: those of consumer groups, likewise.
        partitions: those to which it produced, likewise.
        leaders: the broker that led each of those partitions when it was first produced to; -1 if none.
    """

    name: str
    software: str = ""
    transactional_ids: tuple[str, ...] = ()
    group_ids: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    leaders: tuple[int, ...] = ()


class ClientLine(Value, frozen=True):
    """A line of a client's log, and the newest node of the run when it was written."""

    client: str
    node: int
    text: str


class ClientPoll(Value, frozen=True):
    """A request that waits at its broker before it is a message of the model, such as a Fetch for records.

    Attributes:
        source: the client's connection.
        broker: the broker at which it waits.
        request: the name of the request.
        node: the newest node of the run when it arrived.
        until: the node at which it waits no longer; -1 while it does.
    """

    source: str
    broker: int
    request: str
    node: int
    until: int = -1


class ServedModel(ClusterModel):
    """A cluster that real clients were connected to."""

    def __init__(
        self,
        spec: ClusterSpec,
        broker_rules: BrokerRules,
        client_rules: ClientRules,
        clients: tuple[RealClient, ...] = (),
        lines: tuple[ClientLine, ...] = (),
        polls: tuple[ClientPoll, ...] = (),
    ) -> None:
        """Make the cluster; `clients` sent its requests, `lines` are their log lines, `polls` their long polls."""
        super().__init__(spec, broker_rules, client_rules)
        self.clients = clients
        self.lines = lines
        self.polls = polls


def clients_of(model: ClusterModel) -> tuple[RealClient, ...]:
    """Return the real clients of a run, in the order in which they connected."""
    return model.clients if isinstance(model, ServedModel) else ()


def lines_of(model: ClusterModel) -> tuple[ClientLine, ...]:
    """Return the log lines of a run's real clients, the oldest first."""
    return model.lines if isinstance(model, ServedModel) else ()


def polls_of(model: ClusterModel) -> tuple[ClientPoll, ...]:
    """Return the long polls of a run's real clients, those that have ended first."""
    return model.polls if isinstance(model, ServedModel) else ()
