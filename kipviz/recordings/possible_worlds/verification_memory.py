"""A partition leader's memory of batches whose transaction was verified before, if the batches are known.

An entry is created when the first batch of a transaction arrives, and stays if that is rejected
(`brokers.logs.verification`). No log has it. If all batches were noted when they were sent, it follows from the
earlier ones: each was handled at some time between its arrival and its answer. In that order entries are created,
lowered, and cleared by the batches that the log then accepted.
Source: UnifiedLog.maybeStartTransactionVerification, UnifiedLog.updateProducers,
ProducerStateManager.clearVerificationStateEntry.
NOT MODELLED: a broker that was killed has lost its entries; with several brokers both are possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product

from kipviz.brokers.logs.add_to_transaction import enlists
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.logs.partition_log import PartitionLog, has_ongoing_transaction
from kipviz.brokers.logs.verification import (
    Verification,
    Verifications,
    survives_marker,
    verifying,
    without,
)
from kipviz.cluster.real.rebuilt_cluster import RebuiltBatch
from kipviz.cluster.world import World, role_key
from kipviz.core.values import Value
from kipviz.messages.logs.producing import PartitionProduceData, Produce
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.request_context.appends import PRODUCE
from kipviz.recordings.request_context.arrival import span_of
from kipviz.recordings.request_context.handmade_requests import Request, RequestBatch, request_of

# If more batches than this may have arrived in either order, each is handled at its arrival.
EITHER_MAX = 6
Place = tuple[str, int]


class _Arrival(Value, frozen=True):
    """A batch that may have created an entry: its request and broker, and the bounds of when it was handled."""

    request: Request
    broker: int
    begin_ms: int
    end_ms: int
    message: Produce


class VerificationMemory:
    """The noted batches of transactions, and the appends of each partition's log, by partition and producer id."""

    def __init__(
        self,
        exchanges: Iterable[Exchange],
        sent: Mapping[tuple[Request, str], RequestBatch],
        entries: Sequence[RebuiltBatch],
        log_after: Callable[[str, int], PartitionLog | None],
    ) -> None:
        """Sort them; `log_after` returns a partition's log after so many entries of all logs."""
        self._entries, self._log_after = entries, log_after
        self._arrivals: dict[Place, list[_Arrival]] = {}
        self._clearing: dict[Place, list[int]] = {}
        batches: dict[Request, list[RequestBatch]] = {}
        for (request, _), each in sent.items():
            batches.setdefault(request, []).append(each)
        for exchange in exchanges:
            if exchange.api != PRODUCE or not (name := exchange.request["transactionalId"]):
                continue
            for each in batches.get(request_of(exchange), ()):
                message = each.message(name, exchange.version)
                arrival = _Arrival(each.request, exchange.broker, *span_of(exchange), message)
                self._arrivals.setdefault((each.partition, each.producer_id), []).append(arrival)
        for at, entry in enumerate(entries):
            place = (entry.partition, entry.batch.producer_id)
            if place in self._arrivals:
                self._clearing.setdefault(place, []).append(at)

    def worlds_of(self, world: World, exchange: Exchange, message: Produce) -> Iterator[World]:
        """Yield the worlds with what the leader of a batch's partition may remember when it handles that batch."""
        (batch,) = message.partition_data
        key = role_key(world.image.leader_of(batch.partition), batch.partition)
        role = world.roles.get(key)
        log = world.logs.get(batch.partition)
        if not isinstance(role, PartitionLeader) or log is None:
            yield world
            return
        for known in self._list_before(request_of(exchange), batch, log):
            remembering = role.but(verifications=known)
            yield world.but(roles=world.roles.set(key, remembering)) if known else world

    def _list_before(
        self, request: Request, batch: PartitionProduceData, log: PartitionLog
    ) -> tuple[Verifications, ...]:
        """Return what the leader may remember when a batch arrives at its log in the present state."""
        place = (batch.partition, batch.producer_id)
        known = self._arrivals.get(place, ())
        own = next((each for each in known if each.request == request), None)
        if own is None:
            return ((),)
        earlier = [
            each
            for each in known
            if each is not own and each.begin_ms <= own.end_ms and each.broker == own.broker
        ]
        cleared = [
            at
            for at in self._clearing.get(place, ())
            if self._entries[at].batch.base_offset < log.end_offset
        ]
        found = {
            self._note_batches(order, cleared): None
            for order in self._orders(earlier, own, cleared)
        }
        if own.broker:
            found[()] = None
        return tuple(found)

    def _orders(
        self, earlier: list[_Arrival], own: _Arrival, cleared: list[int]
    ) -> Iterator[list[tuple[int, _Arrival]]]:
        """Yield the possible orders of the batches: each at a time, without those after the own one."""
        times = [self._entries[at].at_ms for at in cleared]
        either: list[tuple[tuple[int, ...], _Arrival]] = []
        for each in earlier:
            others = (x.begin_ms for x in earlier if x is not each)
            moves = any(each.begin_ms <= at <= each.end_ms for at in (*times, *others))
            late = each.end_ms >= own.begin_ms
            either.append(
                ((each.begin_ms, each.end_ms) if moves or late else (each.begin_ms,), each)
            )
        if sum(len(choices) > 1 for choices, _ in either) > EITHER_MAX:
            either = [(choices[:1], each) for choices, each in either]
        for chosen in product(*(choices for choices, _ in either)):
            order = [(at, each) for at, (_, each) in zip(chosen, either, strict=True)]
            yield sorted(
                ((at, each) for at, each in order if at <= own.begin_ms or at < each.end_ms),
                key=lambda told: told[0],
            )

    def _note_batches(self, order: list[tuple[int, _Arrival]], cleared: list[int]) -> Verifications:
        """Return what the leader remembers after some batches and appends, in order."""
        known: Verifications = ()
        left = list(cleared)
        for at_ms, arrival in order:
            while left and self._entries[left[0]].at_ms < at_ms:
                known = self._forget_producer(known, left.pop(0))
            known = self._note_batch(known, arrival.message, left[0] if left else None, cleared)
        for at in left:
            known = self._forget_producer(known, at)
        return known

    def _note_batch(
        self, known: Verifications, message: Produce, following: int | None, cleared: list[int]
    ) -> Verifications:
        """Note a batch, unless its epoch is rejected first or the log already has its transaction open."""
        (batch,) = message.partition_data
        until = following if following is not None else (cleared[-1] + 1 if cleared else 0)
        log = self._log_after(batch.partition, until)
        if log is not None:
            producer = log.producers.get(batch.producer_id)
            fenced = producer is not None and batch.producer_epoch < producer.epoch
            if fenced or has_ongoing_transaction(log, *batch.identity):
                return known
        new = Verification(*batch.identity, batch.base_sequence, enlists(message))
        return verifying(known, new)

    def _forget_producer(self, known: Verifications, at: int) -> Verifications:
        batch = self._entries[at].batch
        if batch.control and survives_marker(known, batch.producer_id, batch.producer_epoch):
            return known
        return without(known, batch.producer_id)
