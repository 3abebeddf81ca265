"""A transition of a transaction on its way to the replicas, and who is answered when it is there.

WHERE IN KAFKA: the callbacks of TransactionStateManager.appendTransactionToLog.
"""

from __future__ import annotations

from typing import Any

from kipviz.brokers import two_phase
from kipviz.brokers.context import Reply, ReplyTo
from kipviz.brokers.transaction_metadata import TransactionMetadata
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.transactions import (
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerIdResponse,
)
from kipviz.messages.two_phase import InitProducerId2PcResponse
from kipviz.records.transaction_state import TransactionRecord


class PendingAppend(Value, frozen=True):
    """A record that is in the log but not replicated: what to do when it is.

    `answer` is the request that waits: "init", "fence" (InitProducerId that has to end a
    transaction first), "keep" (one that keeps it), "add", "offsets" (AddOffsetsToTxn), "end", or
    nobody's: "timeout", "complete", "expire". `two_phase` says that the InitProducerId is KIP-939's.
    """

    offset: int
    record: TransactionRecord
    last_producer_epoch: int
    answer: str
    reply_to: ReplyTo | None = None
    asked: tuple[str, ...] = ()
    two_phase: bool = False


def answers_of(wait: PendingAppend, known: TransactionMetadata) -> tuple[Reply, ...]:
    """Give the answer to whoever waits for a record, with what it says."""
    if wait.reply_to is None:
        return ()
    init = InitProducerId2PcResponse if wait.two_phase else InitProducerIdResponse
    match wait.answer:
        case "init":
            answer: Any = init(Errors.NONE, known.producer_id, known.producer_epoch)
        case "fence":
            answer = init(Errors.CONCURRENT_TRANSACTIONS)
        case "keep":
            answer = two_phase.kept_answer(known)
        case "add":
            answer = AddPartitionsToTxnResponse(
                Errors.NONE,
                known.transactional_id,
                known.producer_id,
                known.producer_epoch,
                wait.asked,
            )
        case "offsets":
            answer = AddOffsetsToTxnResponse(Errors.NONE)
        case "end" if known.client_transaction_version < 2:
            answer = EndTxnResponse(Errors.NONE)
        case "end" if known.next_producer_id >= 0:
            later = max(known.next_producer_epoch, 0)
            answer = EndTxnResponse(Errors.NONE, known.next_producer_id, later)
        case "end":
            answer = EndTxnResponse(Errors.NONE, known.producer_id, known.producer_epoch)
        case other:
            raise AssertionError(f"nobody waits for {other}")
    return (Reply(wait.reply_to, answer),)
