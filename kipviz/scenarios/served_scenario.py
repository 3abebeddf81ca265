"""A run of real clients as a scenario: it has no story of its own, and is saved with its cluster."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

import msgspec

from kipviz.cluster.model import ClusterModel
from kipviz.cluster.real.served_run import ClientLine, ClientPoll, RealClient, ServedModel
from kipviz.cluster.specs.spec import BadSpec, ClusterSpec, FaultBudget
from kipviz.cluster.world import broker_host
from kipviz.core.field_types import why_not_as_declared
from kipviz.core.serialization import deserialize, serialize
from kipviz.designs.design import Design
from kipviz.scenarios.scenario import Scenario, at_levels

NAME = "served-cluster"
LANES_MAX = 4


class ServedScenario(Scenario, frozen=True):
    """A cluster, the real clients that were connected to it, their log lines, and the seed of its choices."""

    clients: tuple[RealClient, ...] = ()
    lines: tuple[ClientLine, ...] = ()
    seed: int | None = None
    polls: tuple[ClientPoll, ...] = ()

    def model(self, design: Design, budget: FaultBudget | None = None) -> ClusterModel:
        """Return the cluster under a design, with its real clients.

        Raises:
            BadSpec: if the cluster is not valid.
        """
        spec = self.spec if budget is None else self.spec.but(budget=budget)
        rules = (design.broker_rules(), design.client_rules())
        return ServedModel(at_levels(spec, design), *rules, self.clients, self.lines, self.polls)


def served_scenario(
    spec: ClusterSpec,
    design: str,
    clients: tuple[RealClient, ...] = (),
    lines: tuple[ClientLine, ...] = (),
    seed: int | None = None,
    polls: tuple[ClientPoll, ...] = (),
) -> ServedScenario:
    """Return the run of real clients on a cluster as a scenario."""
    softwares = dict.fromkeys(client.software for client in clients if client.software)
    brokers = tuple(broker_host(broker) for broker in spec.brokers)
    names = tuple(client.name for client in clients)
    first = names[: max(1, LANES_MAX - len(brokers))]
    return ServedScenario(
        NAME,
        "Real clients in the simulated cluster",
        f"What {', '.join(softwares) or 'no client'} did. The steps are played again without the clients.",
        "a run of kipviz serve",
        spec,
        (),
        (*first, *brokers)[:LANES_MAX],
        (design,),
        clients=clients,
        lines=lines,
        seed=seed,
        polls=polls,
    )


class _Said(msgspec.Struct, frozen=True):
    """The served cluster in a trace file: the spec's bytes in base64, its clients and what they did, and its seed."""

    spec: str
    clients: tuple[RealClient, ...] = ()
    lines: tuple[ClientLine, ...] = ()
    seed: int | None = None
    polls: tuple[ClientPoll, ...] = ()


def encode_served(scenario: ServedScenario, nodes: Mapping[int, int]) -> dict[str, Any]:
    """Return a served cluster as a trace file stores it; `nodes` are the numbers that its nodes get there."""
    spec = b64encode(serialize(scenario.spec)).decode("ascii")
    lines, polls = renumber_lines(scenario.lines, nodes), renumber_polls(scenario.polls, nodes)
    said = _Said(spec, scenario.clients, lines, scenario.seed, polls)
    found: dict[str, Any] = msgspec.to_builtins(said)
    return found


def read(said: Mapping[str, Any], design: str) -> ServedScenario:
    """Return the served cluster that a trace file describes.

    Raises:
        ValueError: if it does not describe one, in one sentence.
    """
    try:
        known = msgspec.convert(said, _Said)
        spec = deserialize(b64decode(known.spec, validate=True))
    except (msgspec.ValidationError, ValueError) as wrong:
        raise ValueError(f"the served cluster cannot be read: {wrong}") from None
    if not isinstance(spec, ClusterSpec):
        raise BadSpec(f"a served cluster must be a ClusterSpec, not {type(spec).__name__}")
    wrong_field = why_not_as_declared(spec, ClusterSpec, "the cluster")
    if wrong_field:
        raise BadSpec(f"a field of the served cluster has the wrong type: {wrong_field}")
    return served_scenario(spec, design, known.clients, known.lines, known.seed, known.polls)


def renumber_lines(
    lines: tuple[ClientLine, ...], nodes: Mapping[int, int]
) -> tuple[ClientLine, ...]:
    """Return log lines with the new numbers of their nodes, without those whose node is gone."""
    return tuple(line.but(node=nodes[line.node]) for line in lines if line.node in nodes)


def renumber_polls(
    polls: tuple[ClientPoll, ...], nodes: Mapping[int, int]
) -> tuple[ClientPoll, ...]:
    """Return long polls with the new numbers of their nodes; one whose end is gone still waits."""
    return tuple(
        poll.but(node=nodes[poll.node], until=nodes.get(poll.until, -1))
        for poll in polls
        if poll.node in nodes
    )


def renumber_nodes(scenario: ServedScenario, nodes: Mapping[int, int]) -> ServedScenario:
    """Return a served cluster with the new numbers of the nodes to which something of its clients belongs."""
    return scenario.but(
        lines=renumber_lines(scenario.lines, nodes), polls=renumber_polls(scenario.polls, nodes)
    )
