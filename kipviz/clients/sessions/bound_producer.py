"""A producer that is bound to a TransactionSession: batches and their sequences, and no transaction manager.

WHO: a client process. STATUS: draft (KIP-1310 3.2: the identity and the transaction in the session, sequence numbers
  and batches in the producer). WHERE IN KAFKA: nowhere; today each producer has its own TransactionManager.

A process keeps a `BoundProducer` and borrows its session's manager for it whenever a client's function needs one
(`borrow`, `give_back`): such a function sees a `Producer` like any other. A bound producer has its own identity and
its own failure, because the designs differ in when it adopts the session's and whether they are one
(`session_identity`, `session_failure`). All else is read from the session at that moment, so it cannot be out of date.
"""

from __future__ import annotations

from typing import Literal

from kipviz.clients.sending.awaited_topics import KnownTopics
from kipviz.clients.sending.outgoing import OutgoingBatch
from kipviz.clients.sending.producer import Producer
from kipviz.clients.sending.record_accumulator import RecordAccumulator
from kipviz.clients.sending.txn_partition_map import TxnPartitionMap
from kipviz.clients.throwing.client_errors import Raised
from kipviz.clients.timers import SenderRest
from kipviz.clients.transactions.partitions_to_add import being_added
from kipviz.clients.transactions.producer_state import ProducerState, Result
from kipviz.clients.transactions.topic_ids import TopicIds
from kipviz.clients.transactions.transaction_manager import TransactionManager
from kipviz.core.values import Part, Value
from kipviz.messages.message import Message

# The name of an application's TransactionSession among its clients.
NAME_OF_SESSION = "session"
IN_ERROR = (ProducerState.ABORTABLE_ERROR, ProducerState.FATAL_ERROR)


class Failed(Value, frozen=True):
    """The error state of a bound producer whose session is in another state, and its error."""

    state: ProducerState
    error: Raised


class Reported(Value, frozen=True):
    """What a bound producer reports to its session at the end of a step.

    `started` says that it has sent something, `to_add` are the partitions that it wants to send to (below transaction
    version 2), `bump` says that one of its batches left a gap in the sequences.
    """

    started: bool = False
    to_add: tuple[str, ...] = ()
    bump: bool = False


class Lookup(Value, frozen=True):
    """The metadata requests of a bound producer: its only ones that are not batches.

    The fields have the same meaning as in a `TransactionManager`, which holds them for a producer without a session.
    """

    queue: tuple[Message, ...] = ()
    on_wire: Message | None = None
    on_wire_broker: int = -1
    done: bool = False
    rests: SenderRest | Literal[""] = ""
    results: tuple[Result, ...] = ()


class BoundProducer(Part, frozen=True):
    """A producer as its process keeps it while it is bound to a session.

    `identity` is the producer id and epoch that it uses. `failed` is its own failure, if the session has not failed
    with it. `topics` are the topic ids that its client knows.
    """

    source: str
    accumulator: RecordAccumulator = RecordAccumulator()
    partition_map: TxnPartitionMap = TxnPartitionMap()
    identity: tuple[int, int] = (-1, -1)
    failed: Failed | None = None
    reported: Reported = Reported()
    metadata: KnownTopics = KnownTopics()
    lookup: Lookup = Lookup()
    topics: TopicIds = TopicIds()
    heartbeat_interval_ms: int = 0

    def with_batches(self, batches: tuple[OutgoingBatch, ...]) -> BoundProducer:
        """Return the producer with other batches."""
        return self.but(accumulator=self.accumulator.but(batches=batches))


def borrow(me: BoundProducer, manager: TransactionManager) -> Producer:
    """Return a bound producer with the manager of its session, as far as it may use that one."""
    state, error = manager.state, manager.error
    if me.failed is not None:
        state, error = me.failed.state, me.failed.error
    producer_id, producer_epoch = me.identity
    reported, lookup = me.reported, me.lookup
    lent = TransactionManager(
        manager.transactional_id,
        manager.transaction_timeout_ms,
        state,
        producer_id,
        producer_epoch,
        transaction_started=reported.started,
        queue=lookup.queue,
        on_wire=lookup.on_wire,
        on_wire_broker=lookup.on_wire_broker,
        done=lookup.done,
        error=error,
        session=NAME_OF_SESSION,
        two_phase_commit=manager.two_phase_commit,
        version=manager.version,
        partitions=() if manager.implicit else _allowed_partitions(me, manager),
        to_add=reported.to_add,
        bump=reported.bump,
        topics=me.topics,
        heartbeat_interval_ms=me.heartbeat_interval_ms,
        backs_off=manager.backs_off,
        rests=lookup.rests,
        finds=manager.finds,
        results=lookup.results,
    )
    return Producer(me.source, lent, me.accumulator, me.partition_map, me.metadata)


def _allowed_partitions(me: BoundProducer, manager: TransactionManager) -> tuple[str, ...]:
    """Return the partitions that a producer may send to: those that its session has added, or is not adding."""
    waits = {*manager.to_add, *being_added(manager)}
    added = manager.partitions
    others = (b.partition for b in me.accumulator.batches)
    return (*added, *dict.fromkeys(p for p in others if p not in waits and p not in added))


def give_back(me: Producer, manager: TransactionManager) -> BoundProducer:
    """Return what a process keeps of a producer that has borrowed the manager of its session."""
    lent = me.manager
    failed = lent.state in IN_ERROR and lent.state is not manager.state
    return BoundProducer(
        me.source,
        me.accumulator,
        me.partition_map,
        lent.identity,
        Failed(lent.state, lent.error) if failed else None,
        Reported(lent.transaction_started, lent.to_add, lent.bump),
        me.metadata,
        Lookup(lent.queue, lent.on_wire, lent.on_wire_broker, lent.done, lent.rests, lent.results),
        lent.topics,
        lent.heartbeat_interval_ms,
    )


def restart_bound(me: BoundProducer) -> BoundProducer:
    """Return the producer of the process's next life: without an identity."""
    return BoundProducer(
        me.source,
        me.accumulator.anew,
        metadata=me.metadata.anew,
        topics=me.topics.anew,
        heartbeat_interval_ms=me.heartbeat_interval_ms,
    )
