"""A network partition: no message passes between any host of one set and any host of another.

Hosts are brokers and applications; a broker's clients (the transaction coordinator's sender of markers, the share
coordinator's persister) are on its host. Hosts within a set can reach each other, and hosts in neither set can reach
both. Messages in flight stay there, and arrive when the partition is healed: TCP sends them again. A network partition
is one fault, whatever its size, and one repair heals it. Two partitions may separate the same two hosts; these reach
each other again when the last of them is healed.

NOT MODELLED: a partition in one direction only; replication across a partition: a follower stays in sync as long as its
broker runs (in Kafka it would leave the ISR after replica.lag.time.max.ms); the controller, which has no host here: it
reaches every broker across every partition, so that a leader's move is an action of its own, and no broker is fenced
for missing heartbeats; an external database, whose calls never leave its application's host.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from kipviz.cluster.actions import Cut, Heal
from kipviz.cluster.network.partition_sides import (
    BadSides,
    are_two,
    both,
    hosts_of,
    hosts_on,
    is_broker,
    order_sides,
    sides,
    two_sides,
)
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.world import World, broker_host, host_of


def cut_of(spec: ClusterSpec, text: str) -> Cut:
    """Return the network partition of a text: "B1 B3 | B5 app-1", or "B1 | *" for one host against all others.

    Raises:
        BadSides: if the text is not valid; the message says what is wrong.
    """
    return Cut(*sides(*two_sides(text), hosts_of(spec)))


def possible_cuts(spec: ClusterSpec, world: World) -> Iterator[Cut]:
    """Return the network partitions that searches and dice try: any two connected hosts, and those of the spec.

    A person may take any other one: a cluster of n hosts has about 3^n / 2 pairs of sets.
    """
    yield from _cuts_of_two(world.up, world.applications.keys(), world.cuts)
    named = _named_partitions(spec.splits, hosts_of(spec)) if spec.splits else ()
    yield from (cut for cut in named if why_no_cut(spec, world, cut) is None)


def narrow_cut(cut: Cut) -> Iterator[Cut]:
    """Return the network partitions that separate one host less."""
    left, right = hosts_on(cut.one), hosts_on(cut.other)
    for host in left if len(left) > 1 else ():
        yield Cut(*order_sides((h for h in left if h != host), right))
    for host in right if len(right) > 1 else ():
        yield Cut(*order_sides(left, (h for h in right if h != host)))


def are_apart(world: World, one: str, other: str) -> bool:
    """Return whether a network partition separates two hosts; a paused host is separated from itself."""
    return _holds_apart(world.cuts, one, other)


def is_cut(world: World, source: str, broker: int) -> bool:
    """Return whether a network partition separates a source from a broker."""
    return bool(world.cuts) and are_apart(world, host_of(source), broker_host(broker))


def holding(world: World, one: str, other: str) -> tuple[tuple[str, str], ...]:
    """Return the network partitions that separate two hosts."""
    return tuple(cut for cut in world.cuts if cut[0] != cut[1] and _parts(cut, one, other))


def across(one: str, other: str) -> tuple[tuple[str, str], ...]:
    """Return the pairs of hosts on different sides."""
    return tuple(product(hosts_on(one), hosts_on(other)))


def still_apart(world: World, a: Heal) -> tuple[tuple[str, str], ...]:
    """Return the pairs of hosts that another network partition still separates after this one is healed."""
    healed = (a.one, a.other)
    return tuple(
        pair for pair in across(*healed) if any(cut != healed for cut in holding(world, *pair))
    )


def why_no_cut(spec: ClusterSpec, world: World, a: Cut) -> str | None:
    """Return why two sets of hosts cannot be separated, or None if they can."""
    try:
        written = sides(hosts_on(a.one), hosts_on(a.other), hosts_of(spec))
    except BadSides as wrong:
        return str(wrong)
    if written != (a.one, a.other):
        return f"this cut is written {both(*written)}: brokers first, and by number"
    facing = across(a.one, a.other)
    running = {*map(broker_host, world.up), *world.applications}
    if not any({one, other} <= running and is_broker(one) for one, other in facing):
        hosts = ", ".join((*map(broker_host, world.up), *world.applications))
        return f"it takes a broker and a host behind it in {hosts}, two that talk"
    if all(are_apart(world, one, other) for one, other in facing):
        return f"{both(a.one, a.other)} are already partitioned"
    return None


def why_no_heal(world: World, a: Heal) -> str | None:
    """Return why a network partition cannot be healed, or None if it can."""
    if a.one != a.other and (a.one, a.other) in world.cuts:
        return None
    cuts = holding(world, a.one, a.other)
    if cuts:
        return f"the network partition of {both(a.one, a.other)} heals as a whole: {both(*cuts[0])}"
    return f"{both(a.one, a.other)} are not partitioned"


@lru_cache(maxsize=256)
def _cuts_of_two(
    up: tuple[int, ...], applications: tuple[str, ...], cuts: tuple[tuple[str, str], ...]
) -> tuple[Cut, ...]:
    """Return the network partitions between two connected hosts, brokers first; few steps change them."""
    brokers = tuple(map(broker_host, up))
    hosts = (*brokers, *applications)
    return tuple(
        Cut(one, other)
        for i, one in enumerate(brokers)
        for other in hosts[i + 1 :]
        if not _holds_apart(cuts, one, other)
    )


def _holds_apart(cuts: tuple[tuple[str, str], ...], one: str, other: str) -> bool:
    return any(_parts(cut, one, other) for cut in cuts)


@lru_cache(maxsize=64)
def _named_partitions(splits: tuple[str, ...], hosts: tuple[str, ...]) -> tuple[Cut, ...]:
    """Return the network partitions that a spec names, without those of two hosts, which are offered anyway."""
    cuts = (Cut(*sides(*two_sides(text), hosts)) for text in splits)
    return tuple(cut for cut in cuts if not are_two(cut.one, cut.other))


@lru_cache(maxsize=4096)
def _parts(cut: tuple[str, str], one: str, other: str) -> bool:
    left, right = map(hosts_on, cut)
    return (one in left and other in right) or (one in right and other in left)
