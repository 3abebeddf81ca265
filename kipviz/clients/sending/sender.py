"""The sender's order of requests, and how long it rests before one goes out again.

WHO: the sender thread of a producer. WHERE IN KAFKA: Sender.runOnce,
  Sender.maybeSendAndPollTransactionalRequest, TransactionManager.TxnRequestHandler.
KIPS: KIP-98, KIP-360. The rest needs a timed clock.
NOT MODELLED: FindCoordinator where there are no ACLs, and that of groups; that answers to batches are read
  only when the rest is over, because the thread sleeps; that the short rest outlives a connection
  that breaks after it.

A transactional request that was refused for now, or whose connection broke, goes out again after
retry.backoff.ms, the same each time: only batches wait longer and longer (KIP-580). The thread sleeps
meanwhile, so nothing else goes out either. The first AddPartitionsToTxn of a transaction that is told
CONCURRENT_TRANSACTIONS waits 20 ms, because what it waits for are the markers of the one before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kipviz.clients.sending import awaited_topics
from kipviz.clients.transactions import topic_ids
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.messages.coordinators import FindCoordinator
from kipviz.messages.errors import Errors
from kipviz.messages.features import LAST_ADD_PARTITIONS, LAST_PRODUCE
from kipviz.messages.group_transactions import InitProducerIdOfGroup
from kipviz.messages.groups import TxnOffsetCommit
from kipviz.messages.message import Message
from kipviz.messages.metadata import Metadata
from kipviz.messages.producing import Produce, in_one_request
from kipviz.messages.share_groups import TxnShareAcknowledge
from kipviz.messages.transactions import AddPartitionsToTxn, EndTxn

# Transactional requests that are not for the transaction coordinator.
TO_OTHERS = (Metadata, TxnOffsetCommit, TxnShareAcknowledge)
# After these a producer looks for its coordinator anew. Source: TransactionManager's handlers.
MOVED = (Errors.NOT_COORDINATOR, Errors.COORDINATOR_NOT_AVAILABLE)
SENDS = (ProducerState.IN_TRANSACTION, ProducerState.COMMITTING_TRANSACTION)
REST = "the retry back-off of the sender"
SHORT_REST = "the short retry back-off of the sender"
RESTS = (REST, SHORT_REST)
# TransactionManager.ADD_PARTITIONS_RETRY_BACKOFF_MS
ADD_PARTITIONS_RETRY_BACKOFF_MS = 20


def next_batch(me: Any) -> Produce | None:
    """Give the batches that go out next: the oldest of each partition that has none in flight.

    The first one says to which broker; what another one leads is left out when it is known who leads.
    """
    found = tuple(_next_batches(me))
    return in_one_request(found) if found else None


def _next_batches(me: Any) -> Iterator[Produce]:
    for batch in me.batches:
        earlier = (b for b in me.batches if b.partition == batch.partition)
        if (
            batch.broker < 0
            and next(earlier) is batch
            and me.state is not ProducerState.ABORTABLE_ERROR
            and (me.implicit or batch.partition in me.partitions)
        ):
            yield Produce(
                me.transactional_id,
                batch.partition,
                me.producer_id,
                me.producer_epoch,
                batch.base_sequence,
                batch.records,
                13 if me.implicit else LAST_PRODUCE,
            )


def next_in_turn(me: Any) -> Message | None:
    """Give the request that is to go out, whether or not it is known where to."""
    if me.to_add and me.state in SENDS and not awaited_topics.asks(me):
        return AddPartitionsToTxn(
            me.transactional_id,
            me.producer_id,
            me.producer_epoch,
            me.to_add,
            version=LAST_ADD_PARTITIONS,
        )
    if not me.queue:
        return None
    request: Message = me.queue[0]
    if isinstance(request, EndTxn) and (me.batches or me.stray):
        return None
    if isinstance(request, InitProducerIdOfGroup) and any(b.broker >= 0 for b in me.batches):
        return None
    if isinstance(request, TxnOffsetCommit):
        return None if me.topics.refused else topic_ids.named(me.topics, request)
    return request


def finding_first(me: Any, request: Message | None) -> Message | None:
    """Give the request that goes out now: whoever has no coordinator looks for it before all else.

    Source: Sender.maybeSendAndPollTransactionalRequest, TransactionManager.lookupCoordinator.
    """
    if request is None or not me.finds or me.found or isinstance(request, TO_OTHERS):
        return request
    return FindCoordinator(me.transactional_id)


def looking_again(me: Any, request: Message, error: Errors) -> Any:
    """Forget the coordinator after an answer that says that it is none, or none any more."""
    moved = error in MOVED and not isinstance(request, TO_OTHERS)
    return me.but(found=False) if moved else me


def taken_back(me: Any) -> Any:
    """Put the request on a broken connection back; where its coordinator is has to be asked anew."""
    again = () if isinstance(me.on_wire, FindCoordinator) else (me.on_wire,)
    known = me.found and isinstance(me.on_wire, TO_OTHERS)
    return me.but(queue=(*again, *me.queue), on_wire=None, on_wire_broker=-1, found=known)


def resting(me: Any, request: Message, error: Errors = Errors.NONE) -> Any:
    """Let the sender rest before a transactional request goes out again, if the producer backs off."""
    if not me.backs_off:
        return me
    first = isinstance(request, AddPartitionsToTxn) and not me.partitions
    short = first and error is Errors.CONCURRENT_TRANSACTIONS
    return me.but(rests=SHORT_REST if short else REST)


def rest_ms(rest: str, retry_backoff_ms: int) -> int:
    """Give how long a rest takes, in ms."""
    short = min(retry_backoff_ms, ADD_PARTITIONS_RETRY_BACKOFF_MS)
    return short if rest == SHORT_REST else retry_backoff_ms
