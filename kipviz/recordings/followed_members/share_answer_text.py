"""The requests to share-partition leaders and their answers, in the form that is compared with the model's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import PartitionProduceData
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_of_response
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    FetchedPartition,
    PartitionAcknowledgements,
    ShareAcknowledge,
    ShareAcknowledgeResponse,
    ShareFetch,
)
from kipviz.messages.shares.share_state import (
    ReadShareGroupState,
    ReadShareGroupStateResponse,
    ReadStateResult,
    WriteShareGroupState,
    WriteShareGroupStateResponse,
    WriteStateResult,
)
from kipviz.recordings.judging.questions import list_by_key, state_batches_of
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles.answer_text import Said, by_id, error_name, error_named
from kipviz.recordings.replayed_roles.request_fields import decode_request
from kipviz.records.batches import Batch
from kipviz.settings.consumer_configs import FETCH_MAX_WAIT_MS

STATES = ("READ_SHARE_GROUP_STATE", "WRITE_SHARE_GROUP_STATE")
# The version of ShareFetch from which on a request may renew locks, and the fields that must be 0 then (KIP-1222).
RENEWS_SINCE = 2
ASKS_FOR_RECORDS = ("maxBytes", "minBytes", "maxRecords", "maxWaitMs")
# A broker speaks to share coordinators under this client id and its number.
PERSISTER = "Persister-client-"
NOT_IN_OFFICE = (
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_COORDINATOR,
)


class CoordinatorExchange(Value, frozen=True):
    """A request of the leader to the share coordinator, and the answer."""

    number: int
    message: Message
    answer: Message
    received_ms: int = 0


def at_broker(exchanges: tuple[Exchange, ...], broker: int) -> tuple[Exchange, ...]:
    """Return the exchanges of the share-partition leaders of one broker; others are blanked.

    No leader sees the answer of a share coordinator that is not active: the broker retries.
    """
    mine = f"{PERSISTER}{broker}"
    return tuple(
        x
        if (x.client == mine and not _asked_again(x) if x.api in STATES else x.broker == broker)
        else x.but(api="")
        for x in exchanges
    )


def _asked_again(exchange: Exchange) -> bool:
    """Return whether the broker's persister does not pass on an answer (PersisterStateManager)."""
    codes = [p["errorCode"] for t in exchange.response["results"] for p in t["partitions"]]
    return all(error_named(code) in NOT_IN_OFFICE for code in codes)


def same_copies(batch: Batch, sent: PartitionProduceData) -> bool:
    """Return whether a batch holds the copies of a request, with the same headers."""
    return tuple(map(_letter, batch.records)) == tuple(map(_letter, sent.records))


def _letter(record: Any) -> tuple[str, tuple[tuple[str, str], ...]]:
    return record.value, record.headers


def member_request(exchange: Exchange, names: Mapping[str, str]) -> ShareFetch | ShareAcknowledge:
    """Return a request of a member in the model's form, with all partitions that it names.

    Raises:
        KeyError, TypeError, ValueError: if the request lacks a field of its version.
    """
    (message,) = decode_request(exchange, names)
    assert isinstance(message, ShareFetch | ShareAcknowledge)
    return message


def about_partition(
    message: ShareFetch | ShareAcknowledge,
    partition: str,
    acknowledgements: tuple[AcknowledgementBatch, ...],
    most: int,
) -> ShareFetch | ShareAcknowledge:
    """Return a request of a member about one of the partitions of its session."""
    parts = (PartitionAcknowledgements(partition, acknowledgements),)
    if isinstance(message, ShareAcknowledge):
        return message.but(partitions=parts)
    return message.but(
        partitions=parts, max_records=most, max_wait_ms=FETCH_MAX_WAIT_MS.default, forgotten=()
    )


def asked_partition(message: ShareFetch | ShareAcknowledge) -> str:
    """Return the partition that a request of `about_partition` is about."""
    (only,) = message.partitions
    return only.partition


def renews(exchange: Exchange) -> bool:
    """Return whether a request of a member may renew locks."""
    return bool(exchange.request.get("isRenewAck", False))


def asks_beside_renewal(exchange: Exchange) -> bool:
    """Return whether a ShareFetch both renews locks and asks for records: this is an INVALID_REQUEST.

    It makes no difference whether it has an acknowledgement of type RENEW. Source: KafkaApis.handleShareFetchRequest.
    """
    if exchange.api != "SHARE_FETCH" or exchange.version < RENEWS_SINCE or not renews(exchange):
        return False
    return any(exchange.request.get(field, 0) for field in ASKS_FOR_RECORDS)


def coordinator_requests(
    exchanges: tuple[Exchange, ...],
) -> dict[str, tuple[CoordinatorExchange, ...]]:
    """Return the requests of each key's leader to the share coordinator, in the order of arrival."""
    found: dict[str, list[CoordinatorExchange]] = {}
    order = sorted(range(len(exchanges)), key=lambda n: exchanges[n].received_ms)
    for number in order:
        exchange = exchanges[number]
        if exchange.api not in STATES:
            continue
        for message, answer in list_by_key(exchange, {}):
            pair = (message, _answer_of(message, answer))
            told = CoordinatorExchange(number, *pair, received_ms=exchange.received_ms)
            found.setdefault(message.key, []).append(told)
    return {key: tuple(told) for key, told in found.items()}


def _answer_of(message: Message, answer: Any) -> Message:
    error = error_named(answer["errorCode"])
    if isinstance(message, WriteShareGroupState):
        return WriteShareGroupStateResponse((WriteStateResult(error, message.key),))
    assert isinstance(message, ReadShareGroupState)
    told = (answer["stateEpoch"], answer["startOffset"], state_batches_of(answer["stateBatches"]))
    return ReadShareGroupStateResponse((ReadStateResult(error, message.key, *told),))


def same_request(recorded: Any, ours: Any) -> bool:
    """Return whether two requests are equal: runs of offsets may be split differently."""
    if type(recorded) is not type(ours):
        return False
    if isinstance(ours, ReadShareGroupState):
        return bool(recorded == ours)
    theirs, own = recorded.only, ours.only
    same = theirs.but(batches=()) == own.but(batches=())
    return bool(same and _each(theirs.batches) == _each(own.batches))


def _each(batches: Iterable[Any]) -> tuple[tuple[int, str, int], ...]:
    return tuple(
        (offset, batch.state.name, batch.delivery_count)
        for batch in batches
        for offset in range(batch.first, batch.last + 1)
    )


def sentence(message: Any) -> str:
    """Render a request to the share coordinator as text."""
    if isinstance(message, ReadShareGroupState):
        return f"read, leader epoch {message.only.leader_epoch}"
    written = message.only
    epochs = f"state epoch {written.state_epoch}, leader epoch {written.leader_epoch}"
    states = "; ".join(f"{o} {s} d{d}" for o, s, d in _each(written.batches))
    return f"write, {epochs}, start {written.start_offset}, {states}"


def parts_of(topics: Iterable[Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of each partition."""
    return {
        f"{by_id(t['topicId'], names)}-{p['partitionIndex']}": p
        for t in topics
        for p in t["partitions"]
    }


def count_of(part: Any) -> int:
    """Return the number of records that were acquired in a partition."""
    return sum(r["lastOffset"] - r["firstOffset"] + 1 for r in part.get("acquiredRecords", ()))


def recorded_answer(
    exchange: Exchange, partition: str, names: Mapping[str, str], others: list[str]
) -> Said:
    """Return the answer to a member about a partition; it may be empty."""
    said = exchange.response
    parts = parts_of(said["responses"], names)
    if sum(len(topic["partitions"]) for topic in said["responses"]) > len(parts):
        return (("error", "an answer that names a partition twice"),)
    if others:
        return (("error", f"an answer about {', '.join(others)}"),)
    part = parts.get(partition, {})
    code = said["errorCode"] or part.get("errorCode", 0)
    if exchange.api == "SHARE_ACKNOWLEDGE":
        return (("error", error_name(code)),)
    acquired = tuple(
        (offset, run["deliveryCount"])
        for run in part.get("acquiredRecords", ())
        for offset in range(run["firstOffset"], run["lastOffset"] + 1)
    )
    acknowledged = error_name(part.get("acknowledgeErrorCode", 0))
    return (("error", error_name(code)), ("acknowledged", acknowledged), ("acquired", acquired))


def model_answer(reply: Any) -> Said:
    """Return the part of the model's answer to a member that is compared with the recorded one."""
    if isinstance(reply, ShareAcknowledgeResponse):
        return (("error", error_of_response(reply).name),)
    part = reply.responses[0] if reply.responses else FetchedPartition("", reply.error)
    acquired = tuple(
        (offset, run.delivery_count)
        for run in part.acquired
        for offset in range(run.first, run.last + 1)
    )
    acknowledged = ("acknowledged", part.acknowledge_error.name)
    return (("error", part.error.name), acknowledged, ("acquired", acquired))
