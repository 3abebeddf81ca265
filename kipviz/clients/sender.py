"""The sender's order of requests, and how long it rests before one goes out again.

WHO: the sender thread of a producer. WHERE IN KAFKA: Sender.runOnce,
  Sender.maybeSendAndPollTransactionalRequest, TransactionManager.TxnRequestHandler.
KIPS: KIP-98, KIP-360. The rest needs a timed clock.
NOT MODELLED: FindCoordinator, which goes out before a request that rests; that answers to batches are read
  only when the rest is over, because the thread sleeps; that the short rest outlives a connection
  that breaks after it.

A transactional request that was refused for now, or whose connection broke, goes out again after
retry.backoff.ms, the same each time: only batches wait longer and longer (KIP-580). The thread sleeps
meanwhile, so nothing else goes out either. The first AddPartitionsToTxn of a transaction that is told
CONCURRENT_TRANSACTIONS waits 20 ms, because what it waits for are the markers of the one before.
"""

from __future__ import annotations

from typing import Any

from kipviz.clients.producer_state import ProducerState
from kipviz.messages.errors import Errors
from kipviz.messages.features import LAST_PRODUCE
from kipviz.messages.message import Message
from kipviz.messages.producing import Produce
from kipviz.messages.transactions import AddPartitionsToTxn

REST = "the retry back-off of the sender"
SHORT_REST = "the short retry back-off of the sender"
RESTS = (REST, SHORT_REST)
# TransactionManager.ADD_PARTITIONS_RETRY_BACKOFF_MS
ADD_PARTITIONS_RETRY_BACKOFF_MS = 20


def next_batch(me: Any) -> Produce | None:
    """Give the batch that goes out next: the oldest of a partition that has none on the wire."""
    for batch in me.batches:
        earlier = (b for b in me.batches if b.partition == batch.partition)
        if (
            batch.broker < 0
            and next(earlier) is batch
            and me.state is not ProducerState.ABORTABLE_ERROR
            and (me.implicit or batch.partition in me.partitions)
        ):
            return Produce(
                me.transactional_id,
                batch.partition,
                me.producer_id,
                me.producer_epoch,
                batch.base_sequence,
                batch.records,
                13 if me.implicit else LAST_PRODUCE,
            )
    return None


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
