"""The worlds that a broker's logs leave open: what else a broker may have known when it answered.

The start offsets of logs are known only from requests (`log_starts`). The feature level and the state in a broker's
memory are in no log: a coordinator may still be loading, and with several brokers, from its election until it writes to
its log; just as long a broker may not know of an election (`elections`). A producer's previous epoch is in the
coordinator's memory: the model is asked with it, and without.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.cluster import dispatch
from kipviz.cluster.real.rebuilt_cluster import BROKER
from kipviz.cluster.world import COORDINATORS, World
from kipviz.messages.groups.groups import OffsetCommit, TxnOffsetCommit
from kipviz.messages.logs.producing import Produce
from kipviz.messages.message import Message
from kipviz.messages.transactions.admin import DescribeProducers, DescribeTransactions
from kipviz.messages.transactions.transactions import EndTxn, InitProducerId
from kipviz.recordings.decoded.elections import KnownDecisions
from kipviz.recordings.decoded.log_starts import Fronts
from kipviz.recordings.decoded.producer_id_blocks import GivenIds, gives_another
from kipviz.recordings.followed_members.joining import Joining, worlds_of_group
from kipviz.recordings.judging.answering import admitting
from kipviz.recordings.possible_worlds.coordinator_memory import (
    Transitions,
    remembering_epochs,
    with_unacknowledged_markers,
)
from kipviz.recordings.possible_worlds.producer_expiry import forgetting
from kipviz.recordings.possible_worlds.replayed_logs import ReplayedLogs
from kipviz.recordings.possible_worlds.seated_worlds import SeatedWorlds
from kipviz.recordings.possible_worlds.verification_memory import VerificationMemory
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.request_context.admission import Admission
from kipviz.recordings.request_context.arrival import span_of
from kipviz.recordings.request_context.evidence import Evidence
from kipviz.recordings.request_context.known_leaders import KnownLeaders
from kipviz.records.placement import SHARE_GROUP_STATE, topic_of


class OpenWorlds:
    """The worlds at the moments of an exchange, with what the logs do not show."""

    def __init__(
        self,
        evidence: Evidence,
        logs: ReplayedLogs,
        admission: Admission,
        fronts: Fronts,
        known_leaders: KnownLeaders,
        given: GivenIds,
        checked: VerificationMemory,
        transitions: Transitions,
        joining: Mapping[int, Joining],
    ) -> None:
        """Store the sources of what may have been in the broker's memory.

        `joining` are the classic groups as they were followed at each broker; 0 stands for a single broker.
        """
        self._joining = joining
        self._logs, self._admission, self._fronts = logs, admission, fronts
        self._known_leaders, self._given = known_leaders, given
        self._checked, self._transitions = checked, transitions
        self._levels, self._decisions = evidence.levels, evidence.decisions
        self._producer_expiry_ms = evidence.producer_expiry_ms
        self._seats = SeatedWorlds(evidence.decisions, evidence.worlds_max)

    def logs_of(
        self, partition: str, moments: tuple[int, ...], exchange: Exchange
    ) -> Iterator[PartitionLog]:
        """Yield a partition's log as it may be at the time of an exchange."""
        logs = (world.logs.get(partition) for _, world in self.list_worlds(moments, exchange))
        if topic_of(partition) != SHARE_GROUP_STATE:
            yield from (log for log in logs if log is not None)
            return
        history = [
            (at, world.logs[partition])
            for (at, _), world in zip(self._logs.own, self._logs.worlds, strict=True)
            if at <= exchange.answered_ms and partition in world.logs
        ]
        for log in logs:
            if log is not None:
                yield from self._fronts.prune_log(log, history, exchange.received_ms)

    def list_worlds(
        self, moments: tuple[int, ...], exchange: Exchange, ends: PartitionLog | None = None
    ) -> Iterator[tuple[int, World]]:
        """Yield the worlds of some moments, with the possible starts of their logs, and one log with a given end."""
        span = span_of(exchange)
        for at in moments:
            world = self._logs.worlds[at]
            if ends is not None:
                world = world.but(logs=world.logs.set(ends.name, ends))
            for logs in self._fronts.between(world.logs, *span):
                yield at, world if logs is world.logs else world.but(logs=logs)

    def known_at(self, exchange: Exchange) -> tuple[KnownDecisions, ...]:
        """Return what the brokers may have known at the time of an exchange; nothing with a single broker."""
        return self._seats.known_between(*span_of(exchange))

    def list_views(
        self, moments: tuple[int, ...], exchange: Exchange, ends: PartitionLog | None
    ) -> list[tuple[int, World]]:
        """Return the worlds of some moments, as the answering broker may see them."""
        worlds = list(self.list_worlds(moments, exchange, ends))
        if known := self.known_at(exchange):
            worlds = [(at, self._seats.of(w, each)) for (at, w), each in product(worlds, known)]
        admitted = self._admission.acls_of(exchange)
        return [(at, admitting(w, acls)) for (at, w), acls in product(worlds, admitted)]

    def list_alike(
        self, at: int, world: World, message: Message, exchange: Exchange
    ) -> Iterator[World]:
        """Yield the worlds that a log leaves open: feature level, loading coordinators, state in memory."""
        for level in self._levels:
            features = world.image.features.but(transaction_version=level)
            image = world.image.but(features=features)
            leveled = world if image == world.image else world.but(image=image)
            key = dispatch.role_for(message, exchange.broker or BROKER, world.image)
            if isinstance(message, InitProducerId):
                name, past = message.transactional_id, self._logs.past(at)
                remembered = (leveled, *remembering_epochs(leveled, key, name, past))
                given = self._given.next_of(exchange)
                yield from (w.but(next_producer_id=n) for w, n in product(remembered, given))
            elif isinstance(message, EndTxn) and gives_another(exchange):
                given = self._given.next_of(exchange)
                yield from (leveled.but(next_producer_id=each) for each in given)
            elif isinstance(message, DescribeProducers):
                before = exchange.answered_ms - self._producer_expiry_ms
                past = self._logs.past(at)
                yield from forgetting(leveled, message.partitions[0], past, before)
            elif isinstance(message, DescribeTransactions):
                past = self._logs.past(at)
                yield leveled
                yield from with_unacknowledged_markers(leveled, key, past, exchange, message)
            elif isinstance(message, OffsetCommit | TxnOffsetCommit):
                joining = self._joining[exchange.broker if self._decisions else 0]
                ways = tuple(joining.groups_between(*span_of(exchange)))
                yield from worlds_of_group(leveled, key, message.group_id, ways)
            elif isinstance(message, Produce):
                for each in self._checked.worlds_of(leveled, exchange, message):
                    yield each
                    yield from self._in_transition(at, each, message, exchange)
                continue
            else:
                yield leveled
            yield from self._in_transition(at, leveled, message, exchange)
            for asked in self._known_leaders.answering_roles(message, key, world.roles):
                role = world.roles[asked]
                if isinstance(role, COORDINATORS) and self._known_leaders.may_load(
                    asked[2], exchange
                ):
                    yield leveled.but(roles=world.roles.set(asked, role.but(loading=True)))

    def _in_transition(
        self, at: int, world: World, message: Message, exchange: Exchange
    ) -> Iterator[World]:
        entries = at + self._logs.skipped
        return self._transitions.worlds_of(
            world, message, exchange, entries, self._logs.world_after
        )
