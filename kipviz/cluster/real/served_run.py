"""A run of real clients, once more without them: the model knows their names, versions and log lines.

The steps of such a run carry the clients' requests (`Receive`), so nothing but the steps is needed to play it
again. What the world has no place for stands here: which software a client is, and what it logged.
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
        software: name and version of its library, as ApiVersions 3 and above has them; "" if it did not say.
        transactional_ids: those that its requests named, in their order.
        group_ids: those of consumer groups, likewise.
        partitions: those to which it produced, likewise.
    """

    name: str
    software: str = ""
    transactional_ids: tuple[str, ...] = ()
    group_ids: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()


class ClientLine(Value, frozen=True):
    """A line of a client's log, and the node of the run that was the newest when it was written."""

    client: str
    node: int
    text: str


class ServedModel(ClusterModel):
    """A cluster that real clients were connected to."""

    def __init__(
        self,
        spec: ClusterSpec,
        broker_rules: BrokerRules,
        client_rules: ClientRules,
        clients: tuple[RealClient, ...] = (),
        lines: tuple[ClientLine, ...] = (),
    ) -> None:
        """Make the cluster; `clients` have sent its requests, and `lines` are what they logged."""
        super().__init__(spec, broker_rules, client_rules)
        self.clients = clients
        self.lines = lines


def clients_of(model: ClusterModel) -> tuple[RealClient, ...]:
    """Return the real clients of a run, in the order in which they came."""
    return model.clients if isinstance(model, ServedModel) else ()


def lines_of(model: ClusterModel) -> tuple[ClientLine, ...]:
    """Return what the real clients of a run logged, the oldest line first."""
    return model.lines if isinstance(model, ServedModel) else ()
