"""The cluster that is served: a story's, a spec's, or one with only topics."""

from __future__ import annotations

from collections.abc import Iterable

from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.abstraction import KAFKA
from kipviz.cluster.specs.spec import BadSpec, ClusterSpec, FaultBudget, Placement
from kipviz.cluster.timing.clock import Clock
from kipviz.designs.design import Design
from kipviz.messages.groups.reset_policy import EARLIEST
from kipviz.records.placement import (
    CONSUMER_OFFSETS,
    INTERNAL_TOPICS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    why_invalid_name,
)
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.scenarios.scenario import Scenario
from kipviz.scenarios.served_scenario import served_scenario

# Only the user injects faults: as many as they like.
ANY_NUMBER = 2**31 - 1
INTERNAL_PARTITIONS = 5


def cluster_of(topics: Iterable[str] | dict[str, int], brokers: int = 3) -> ClusterSpec:
    """Return a cluster for `kipviz.serve`, without clients of its own.

    Args:
        topics: the names of its topics, with one partition each, or the number of partitions of each topic.
        brokers: the number of brokers.

    Example:
        >>> import kipviz
        >>> cluster = kipviz.cluster_of({"orders": 6}, brokers=2)
        >>> len(cluster.placements)
        6

    Raises:
        ValueError: if a topic has a name that Kafka refuses or the name of an internal topic, or a number is below 1.
    """
    sizes = dict(topics) if isinstance(topics, dict) else dict.fromkeys(topics, 1)
    for topic, size in sizes.items():
        if not isinstance(topic, str) or why_invalid_name(topic):
            raise ValueError(
                f"a topic's name must have 1 to 249 letters, digits, '.', '_' or '-', not {topic!r}"
            )
        if topic in INTERNAL_TOPICS:
            raise ValueError(f"{topic} is an internal topic, which every served cluster has")
        if type(size) is not int or size < 1:
            raise ValueError(f"the topic {topic} must have at least 1 partition, not {size!r}")
    if type(brokers) is not int or brokers < 1:
        raise ValueError(f"a cluster must have at least 1 broker, not {brokers!r}")
    numbers = tuple(range(1, brokers + 1))
    placements = []
    for topic, size in sizes.items():
        for index in range(size):
            at = index % brokers
            order = (*numbers[at:], *numbers[:at])
            placements.append(Placement(f"{topic}-{index}", order[0], order[1:]))
    ids = tuple((topic, f"{place:021d}g") for place, topic in enumerate(sizes))
    return ClusterSpec(
        numbers, tuple(placements), (), (), ids, internal_partitions=INTERNAL_PARTITIONS
    )


def to_serve(spec: ClusterSpec, *, auto_create_topics: bool = True) -> ClusterSpec:
    """Return a spec as it is served, with every internal partition, for any name that a client may use.

    The listeners have the clock, and the user injects the faults. The brokers have Kafka's defaults, whatever the spec
    leaves out; only share groups start at the earliest record, because no request that is served here can set it, and
    `auto_create_topics` says whether a lookup creates a topic that does not exist.
    """
    placed = {p.partition for p in spec.placements}
    brokers = spec.brokers
    more = []
    for topic in (TRANSACTION_STATE, CONSUMER_OFFSETS, SHARE_GROUP_STATE):
        for index in range(spec.internal_partitions):
            at = index % len(brokers)
            order = (*brokers[at:], *brokers[:at])
            if f"{topic}-{index}" not in placed:
                more.append(Placement(f"{topic}-{index}", order[0], order[1:]))
    budget = FaultBudget(*(ANY_NUMBER for _ in FaultBudget.__struct_fields__))
    spec = KAFKA.of_brokers(spec)
    settings = spec.settings.but(
        initial_rebalance_delay_ms=0,
        consumer_assignment_interval_ms=0,
        share_auto_offset_reset=EARLIEST,
        auto_create_topics=auto_create_topics,
    )
    return spec.but(
        placements=(*spec.placements, *more),
        budget=budget.but(pause=0),
        clock=Clock(),
        settings=settings,
    )


def model_to_serve(
    spec: ClusterSpec, under: Design, *, auto_create_topics: bool
) -> tuple[ClusterSpec, ClusterModel]:
    """Return a spec as it is served, and its model under a design.

    Raises:
        BadSpec: if the spec is not valid, or needs a timed clock.
    """
    served = to_serve(spec, auto_create_topics=auto_create_topics)
    try:
        return served, served_scenario(served, under.name).model(under)
    except BadSpec as wrong:
        if spec.clock == served.clock:
            raise
        raise BadSpec(
            f"this cluster cannot be served, because it needs a timed clock and real clients have their own: {wrong}"
        ) from None


def spec_of(given: object) -> tuple[ClusterSpec, str]:
    """Return the cluster to serve, and the name of its default design.

    Raises:
        ValueError: if `given` is neither a story, its name, nor a spec.
    """
    if given is None:
        return cluster_of({"orders": 1}), "kafka"
    if isinstance(given, ClusterSpec):
        return given, "kafka"
    scenario = scenario_named(given) if isinstance(given, str) else given
    if not isinstance(scenario, Scenario):
        what = type(given).__name__
        raise ValueError(  # noqa: TRY004  bad input is a ValueError everywhere
            f"a cluster to serve must be a story, its name, or a ClusterSpec, not {what}"
        )
    return scenario.spec, scenario.designs[0]
