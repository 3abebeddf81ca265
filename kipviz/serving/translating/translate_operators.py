"""The requests of operators whose answers are not just the model's reply.

Source: KafkaApis.handleListTransactionsRequest and those beside it (KIP-664, KIP-1226).
"""

from __future__ import annotations

from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.transactions.admin import (
    DescribeProducersResponse,
    DescribeTransactionsResponse,
    ListTransactions,
    PartitionProducers,
    TransactionDescription,
)
from kipviz.messages.transactions.transactions import WriteTxnMarkers
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.frame import KINDS
from kipviz.messages.wire.kind import Around
from kipviz.records.batches import NO_TIMESTAMP
from kipviz.records.placement import index_of, topic_of, why_invalid_name
from kipviz.serving.translating.reply_context import (
    ClientRequest,
    ClosedConnection,
    Replies,
    ServedDesk,
    TranslatedRequest,
    as_written,
)


def list_transactions(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """List the transactional ids that the broker coordinates."""
    (message,) = messages
    assert isinstance(message, ListTransactions)
    if message.duration_ms >= 0:
        raise ClosedConnection(
            "the served cluster's model has no time: ListTransactions takes no duration"
        )
    return as_written(request, messages)


def describe_transactions(
    request: ClientRequest, messages: tuple[Message, ...]
) -> TranslatedRequest:
    """Describe transactional ids; the served cluster tells when a transaction began."""

    def answer(replies: Replies) -> Struct:
        states: list[Struct] = []
        for told in replies:
            assert isinstance(told, DescribeTransactionsResponse)
            timed = tuple(_with_begin(each, request.desk) for each in told.transaction_states)
            filled = KINDS[type(told)].fill(told.but(transaction_states=timed), Around())
            states += filled["TransactionStates"]
        return {
            "TransactionStates": tuple({"TransactionStartTimeMs": -1} | each for each in states)
        }

    return TranslatedRequest(messages, answer)


def _with_begin(told: TransactionDescription, desk: ServedDesk) -> TransactionDescription:
    if told.error or told.transaction_start_time_ms != NO_TIMESTAMP:
        return told
    return told.but(transaction_start_time_ms=desk.moments.begin_ms(told.transactional_id))


def describe_producers(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """Describe the producers in partitions' logs."""
    topics, desk = request.said["Topics"], request.desk

    def answer(replies: Replies) -> Struct:
        rows: dict[str, list[Struct]] = {t["Name"]: [] for t in topics}
        for told in replies:
            assert isinstance(told, DescribeProducersResponse)
            for each in told.responses:
                rows[topic_of(each.partition)].append(_producers(each, desk))
        return {"Topics": tuple({"Name": n, "Partitions": tuple(each)} for n, each in rows.items())}

    return TranslatedRequest(messages, answer)


def _producers(told: PartitionProducers, desk: ServedDesk) -> Struct:
    def at(producer_id: int, known: int) -> int:
        return (
            known if known != NO_TIMESTAMP else desk.moments.write_ms(told.partition, producer_id)
        )

    error: int = told.error
    if why_invalid_name(topic_of(told.partition)):
        error = Errors.INVALID_TOPIC_EXCEPTION  # KafkaApis.checkValidTopic
    return {
        "PartitionIndex": index_of(told.partition),
        "ErrorCode": error,
        "ActiveProducers": tuple(
            {
                "ProducerId": p.producer_id,
                "ProducerEpoch": p.producer_epoch,
                "LastSequence": p.last_sequence,
                "LastTimestamp": at(p.producer_id, p.last_timestamp),
                "CoordinatorEpoch": p.coordinator_epoch,
                "CurrentTxnStartOffset": p.current_txn_start_offset,
            }
            for p in told.active_producers
        ),
    }


def write_txn_markers(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """Write markers, with which an operator aborts a hanging transaction; brokers send them inside the model.

    A marker without partitions has no result. Source: KafkaApis.handleWriteTxnMarkersRequest.
    """
    (message,) = messages
    assert isinstance(message, WriteTxnMarkers)
    markers = tuple(each for each in message.markers if each.partitions)
    if not markers:
        return TranslatedRequest((), lambda _: {"Markers": ()})
    return as_written(request, (message.but(markers=markers),))
