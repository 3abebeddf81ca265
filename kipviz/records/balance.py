"""The division of partitions among members with different subscriptions.

WHERE IN KAFKA: UniformHeterogeneousAssignmentBuilder (KIP-848), AbstractStickyAssignor.GeneralAssignmentBuilder (the
classic assignors); both keep what is there, assign the rest, and move partitions that make the shares more even.
NOT MODELLED: racks; if several members or partitions are equally good, Kafka's builders choose by hash tables and by
several rules, here the first name is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping

from kipviz.records.placement import topic_of

Shares = dict[str, tuple[str, ...]]


def balance_partitions(
    partitions: tuple[str, ...],
    topics: Mapping[str, tuple[str, ...]],
    had: Mapping[str, tuple[str, ...]],
) -> Shares:
    """Return each member's partitions: as evenly as subscriptions allow, with as few moves as possible.

    `topics` are each member's subscriptions, `had` its current partitions; of two that have the same partition the
    first keeps it.
    """
    owners = _keep_owners(partitions, topics, had)
    order = sorted(partitions, key=lambda p: _first_served(p, partitions, topics))
    for partition in order:
        if partition not in owners:
            readers = _readers(partition, topics)
            if readers:
                owners[partition] = min(readers, key=lambda name: (_size(owners, name), name))
    while _move_one(owners, order, topics):
        pass
    return {name: tuple(p for p in partitions if owners.get(p) == name) for name in topics}


def _keep_owners(
    partitions: tuple[str, ...],
    topics: Mapping[str, tuple[str, ...]],
    had: Mapping[str, tuple[str, ...]],
) -> dict[str, str]:
    """Return the owner of each partition that keeps it, because it still subscribes to the topic."""
    owners: dict[str, str] = {}
    for name in topics:
        for partition in had.get(name, ()):
            if partition in partitions and topic_of(partition) in topics[name]:
                owners.setdefault(partition, name)
    return owners


def _first_served(
    partition: str, partitions: tuple[str, ...], topics: Mapping[str, tuple[str, ...]]
) -> tuple[float, int, int]:
    """Return the sort key of a partition for the assignment: topics with many partitions per reader come first."""
    readers = len(_readers(partition, topics))
    siblings = sum(topic_of(p) == topic_of(partition) for p in partitions)
    return (-siblings / max(readers, 1), readers, partitions.index(partition))


def _move_one(
    owners: dict[str, str], order: list[str], topics: Mapping[str, tuple[str, ...]]
) -> bool:
    """Move one partition to a reader that has at least two fewer, if there is one."""
    for partition in order:
        readers = _readers(partition, topics)
        if not readers:
            continue
        least = min(readers, key=lambda name: (_size(owners, name), name))
        if _size(owners, owners[partition]) - _size(owners, least) > 1:
            owners[partition] = least
            return True
    return False


def _readers(partition: str, topics: Mapping[str, tuple[str, ...]]) -> list[str]:
    return [name for name, mine in topics.items() if topic_of(partition) in mine]


def _size(owners: Mapping[str, str], name: str) -> int:
    return sum(owner == name for owner in owners.values())
