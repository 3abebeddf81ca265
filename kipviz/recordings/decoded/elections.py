"""The leaders and in-sync replicas that the controller of a recorded cluster decided on.

A recording of several brokers has a line in `leaders.jsonl` for each decision. Each broker learns of it a moment later,
when it reads the controller's log. So around a decision a broker may answer as before it or as after it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from kipviz.cluster.real import rebuilt_cluster
from kipviz.cluster.real.rebuilt_cluster import Election, RebuiltBatch
from kipviz.cluster.specs.spec import Placement
from kipviz.cluster.world import World
from kipviz.core.table import Table
from kipviz.core.values import Value

# How long a broker may not know of a decision: it reads the controller's log continuously.
LEARNS_MS = 1_000
FOR_EVER = 1 << 62


class LeaderDecision(Value, frozen=True):
    """A decision about one partition: its leader (-1 without one), and the in-sync replicas."""

    partition: str
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    at_ms: int


class KnownDecisions(Value, frozen=True):
    """What a broker may know at some time: the last decision about each partition.

    `heard` is the number of decisions until then.
    """

    decisions: Table[str, LeaderDecision]
    heard: int = 0

    def leader_of(self, partition: str) -> int:
        """Return the leader of a partition, -1 without one."""
        found = self.decisions.get(partition)
        return found.leader if found is not None else -1

    def epoch_of(self, partition: str) -> int:
        """Return the leader epoch of a partition."""
        return self.decisions[partition].leader_epoch

    def readable_at(self, partition: str, *, followers: bool) -> tuple[int, ...]:
        """Return the brokers that may be read from: the leader, and with `followers` the other replicas."""
        return self.decisions[partition].replicas if followers else (self.leader_of(partition),)


def first_of(decisions: Iterable[LeaderDecision]) -> dict[str, LeaderDecision]:
    """Return the first decision about each partition, which created it."""
    found: dict[str, LeaderDecision] = {}
    for each in decisions:
        found.setdefault(each.partition, each)
    return found


def brokers_of(decisions: Iterable[LeaderDecision]) -> tuple[int, ...]:
    """Return the brokers that have a replica of any partition."""
    return tuple(sorted({broker for each in decisions for broker in each.replicas}))


def placements_of(decisions: Iterable[LeaderDecision]) -> tuple[Placement, ...]:
    """Return the first leader of each partition, and its other replicas."""
    return tuple(
        Placement(name, first.leader, tuple(b for b in first.replicas if b != first.leader))
        for name, first in first_of(decisions).items()
    )


def election_times(decisions: Iterable[LeaderDecision]) -> dict[tuple[str, int], int]:
    """Return when each leader epoch of each partition began."""
    found: dict[tuple[str, int], int] = {}
    for each in decisions:
        found.setdefault((each.partition, each.leader_epoch), each.at_ms)
    return found


def leaders_of(decisions: Iterable[LeaderDecision]) -> dict[str, list[LeaderDecision]]:
    """Return, for each partition, the decisions by which a leader was elected, the oldest first."""
    found: dict[str, list[LeaderDecision]] = {}
    for each in decisions:
        before = found.setdefault(each.partition, [])
        if not before or each.leader_epoch > before[-1].leader_epoch:
            before.append(each)
    return found


def loading_spans(
    decisions: Iterable[LeaderDecision],
    entries: Iterable[RebuiltBatch],
    shown: Iterable[tuple[str, int, int]] = (),
) -> dict[str, tuple[tuple[int, int], ...]]:
    """Return the times (ms) between which each elected leader of a partition may still read its log.

    However slow its machine is, it has read the log when it writes to it, or when an answer has `shown` it (partition,
    broker, time). Once another leader is elected, no client asks the old one.
    """
    read: dict[tuple[str, int], int] = {}
    for entry in entries:
        read.setdefault((entry.partition, entry.leader_epoch), entry.at_ms)
    terms = leaders_of(decisions)
    for name, broker, at in shown:
        now = [term for term in terms.get(name, ()) if term.at_ms <= at]
        if now and now[-1].leader == broker:
            place = name, now[-1].leader_epoch
            read[place] = min(read.get(place, at), at)
    found = {}
    for name, several in terms.items():
        later = [*(term.at_ms for term in several[1:]), FOR_EVER]
        found[name] = tuple(
            (term.at_ms, max(term.at_ms, min(read.get((name, term.leader_epoch), end), end)))
            for term, end in zip(several, later, strict=True)
        )
    return found


def logs_complete(
    decisions: Iterable[LeaderDecision], entries: Iterable[RebuiltBatch]
) -> dict[str, tuple[int, ...]]:
    """Return since when (ms) each elected leader of a partition may have the whole log of its predecessors.

    One that does not know its successor yet may write after the election, and the successor may have copied that as a
    follower.
    """
    written: dict[str, dict[int, int]] = {}
    for entry in entries:
        epochs = written.setdefault(entry.partition, {})
        epochs[entry.leader_epoch] = max(entry.at_ms, epochs.get(entry.leader_epoch, 0))
    return {
        name: tuple(
            max(
                (
                    term.at_ms,
                    *(at for e, at in written.get(name, {}).items() if e < term.leader_epoch),
                )
            )
            for term in several
        )
        for name, several in leaders_of(decisions).items()
    }


def elections_of(
    decisions: Iterable[LeaderDecision], entries: Sequence[RebuiltBatch]
) -> tuple[Election, ...]:
    """Return the elected leaders, each after the batches that were written before.

    Batches of a leader that did not know its successor yet come before the successor, too.
    """
    times = [entry.at_ms for entry in entries]
    epochs: dict[str, int] = {}
    found: list[Election] = []
    for each in decisions:
        if each.leader_epoch > epochs.setdefault(each.partition, each.leader_epoch):
            older = [
                at
                for at, entry in enumerate(entries)
                if entry.partition == each.partition and entry.leader_epoch < each.leader_epoch
            ]
            after = max(bisect_left(times, each.at_ms), older[-1] + 1 if older else 0)
            told = (each.leader, each.leader_epoch, each.replicas)
            found.append(Election(each.partition, *told, after))
        epochs[each.partition] = each.leader_epoch
    return tuple(found)


def list_known(
    decisions: tuple[LeaderDecision, ...], begin_ms: int, end_ms: int
) -> Iterator[KnownDecisions]:
    """Yield what a broker may have known between two times, the oldest first.

    Decisions with the same time are learned together.
    """
    known: dict[str, LeaderDecision] = dict(first_of(decisions))
    told, heard = False, 0
    for at, each in enumerate(decisions):
        if each.at_ms > end_ms:
            break
        if each.at_ms > begin_ms - LEARNS_MS and not told:
            yield KnownDecisions(Table.of(known), heard)
            told = True
        known[each.partition] = each
        heard = at + 1
        last = heard == len(decisions) or decisions[heard].at_ms > each.at_ms
        if told and last:
            yield KnownDecisions(Table.of(known), heard)
    if not told:
        yield KnownDecisions(Table.of(known), heard)


def worlds_of(
    decisions: tuple[LeaderDecision, ...], worlds: list[tuple[int, World]]
) -> Iterator[tuple[int, World]]:
    """Yield the worlds with their elected leaders, from each time on at which a log grew or a decision was made.

    Here every decision is known at once.
    """
    known = dict(first_of(decisions))
    grown: dict[int, World] = dict(worlds)
    decided: dict[int, list[LeaderDecision]] = {}
    for each in decisions:
        decided.setdefault(each.at_ms, []).append(each)
    world = worlds[0][1]
    for at_ms in sorted({*grown, *decided}):
        world = grown.get(at_ms, world)
        known |= {each.partition: each for each in decided.get(at_ms, ())}
        yield at_ms, seat_leaders(world, KnownDecisions(Table.of(known)))


def seat_leaders(world: World, known: KnownDecisions) -> World:
    """Return a rebuilt world with the known leaders; a leader's role state moves with it.

    A broker counts as running as long as it is in sync for some partition.
    """
    for name, each in known.decisions.items():
        world = rebuilt_cluster.elect_rebuilt(
            world, name, each.leader, each.leader_epoch, each.replicas
        )
    in_sync = {broker for decision in known.decisions.values() for broker in decision.isr}
    offline = tuple(b for b in brokers_of(known.decisions.values()) if b not in in_sync)
    return world.but(image=world.image.but(offline=offline))


def terms_of(entries: Iterable[RebuiltBatch]) -> dict[str, tuple[list[int], list[int]]]:
    """Return the places of each partition's entries, and the epochs of the leaders that wrote them."""
    found: dict[str, tuple[list[int], list[int]]] = {}
    for at, entry in enumerate(entries):
        places, epochs = found.setdefault(entry.partition, ([], []))
        places.append(at)
        epochs.append(entry.leader_epoch)
    return found
