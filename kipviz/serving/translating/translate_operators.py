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
)
from kipviz.messages.transactions.transactions import WriteTxnMarkers
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.frame import KINDS
from kipviz.messages.wire.kind import Around
from kipviz.records.batches import NO_TIMESTAMP
from kipviz.records.placement import topic_of, why_invalid_name
from kipviz.serving.translating.reply_context import (
    Asked,
    ClientRequest,
    Desk,
    Refused,
    Replies,
    as_written,
)


def list_transactions(request: ClientRequest, messages: tuple[Message, ...]) -> Asked:
    """List the transactional ids that the broker coordinates."""
    (message,) = messages
    assert isinstance(message, ListTransactions)
    if message.duration_ms >= 0:
        raise Refused("the served cluster's model has no time: ListTransactions takes no duration")
    return as_written(request, messages)


def describe_transactions(request: ClientRequest, messages: tuple[Message, ...]) -> Asked:
    """Describe transactional ids, one after the other."""

    def answer(replies: Replies) -> Struct:
        states: list[Struct] = []
        for told in replies:
            assert isinstance(told, DescribeTransactionsResponse)
            began = told.start_timestamp_ms
            if not told.error and began == NO_TIMESTAMP:
                began = request.desk.moments.begin_ms(told.transactional_id)
            timed = told.but(start_timestamp_ms=began)
            states += KINDS[type(told)].fill(timed, Around())["TransactionStates"]
        return {
            "TransactionStates": tuple({"TransactionStartTimeMs": -1} | each for each in states)
        }

    return Asked(messages, answer)


def describe_producers(request: ClientRequest, messages: tuple[Message, ...]) -> Asked:
    """Describe the producers in partitions' logs."""
    topics, desk = request.said["Topics"], request.desk
    places = [(t["Name"], i) for t in topics for i in t["PartitionIndexes"]]

    def answer(replies: Replies) -> Struct:
        rows: dict[str, list[Struct]] = {t["Name"]: [] for t in topics}
        for (name, index), told in zip(places, replies, strict=True):
            assert isinstance(told, DescribeProducersResponse)
            rows[name].append(_producers(told, index, desk))
        return {"Topics": tuple({"Name": n, "Partitions": tuple(each)} for n, each in rows.items())}

    return Asked(messages, answer)


def _producers(told: DescribeProducersResponse, index: int, desk: Desk) -> Struct:
    def at(producer_id: int, known: int) -> int:
        return (
            known if known != NO_TIMESTAMP else desk.moments.write_ms(told.partition, producer_id)
        )

    error: int = told.error
    if why_invalid_name(topic_of(told.partition)):
        error = Errors.INVALID_TOPIC_EXCEPTION  # KafkaApis.checkValidTopic
    return {
        "PartitionIndex": index,
        "ErrorCode": error,
        "ActiveProducers": tuple(
            {
                "ProducerId": p.producer_id,
                "ProducerEpoch": p.producer_epoch,
                "LastSequence": p.last_sequence,
                "LastTimestamp": at(p.producer_id, p.last_timestamp_ms),
                "CoordinatorEpoch": p.coordinator_epoch,
                "CurrentTxnStartOffset": p.start_offset,
            }
            for p in told.producers
        ),
    }


def write_txn_markers(request: ClientRequest, messages: tuple[Message, ...]) -> Asked:
    """Write markers, with which an operator aborts a hanging transaction; brokers send them inside the model.

    A marker without partitions has no result. Source: KafkaApis.handleWriteTxnMarkersRequest.
    """
    (message,) = messages
    assert isinstance(message, WriteTxnMarkers)
    markers = tuple(each for each in message.markers if each.partitions)
    if not markers:
        return Asked((), lambda _: {"Markers": ()})
    return as_written(request, (message.but(markers=markers),))
