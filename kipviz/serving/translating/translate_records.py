"""Produce, Fetch and ListOffsets: a client's fields and bytes to the model's messages, and back.

A Fetch is answered without waiting, and the long poll belongs to the whole request (DelayedFetch). No fetch session is
opened: the answer has session 0, and the client names its partitions each time. Internal topics are not read by clients
here: such a partition has the error TOPIC_AUTHORIZATION_FAILED, where Kafka would send its records.

Source: KafkaApis.handleProduceRequest, handleFetchRequest, ReplicaManager.fetchMessages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from kipviz.brokers.logs.partition_leader import batch_of
from kipviz.messages.apis.logs.list_offsets import reject_parts
from kipviz.messages.cluster.topic_configs import max_message_bytes
from kipviz.messages.errors import Errors
from kipviz.messages.logs.list_offsets import (
    ListOffsets,
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
)
from kipviz.messages.logs.producing import (
    ACKS_ALL,
    ACKS_NONE,
    Fetch,
    FetchResponse,
    PartitionProduceResponse,
    Produce,
    ProduceResponse,
)
from kipviz.messages.message import Message
from kipviz.messages.wire.codec import Struct
from kipviz.recordings.files.segments import LoggedBatch
from kipviz.records.batches import Batch
from kipviz.records.placement import INTERNAL_TOPICS
from kipviz.serving.translating.batch_bytes import readable
from kipviz.serving.translating.further_errors import FurtherErrors
from kipviz.serving.translating.leader_hints import OTHER_EPOCH, compare_epoch, correct_error
from kipviz.serving.translating.reply_context import (
    ClientRequest,
    ClosedConnection,
    Replies,
    ServedDesk,
    TranslatedRequest,
)

ALLOWED_ACKS = (ACKS_ALL, ACKS_NONE, 1)
FIRST_WITH_IDS = 13  # of Fetch


@dataclass(frozen=True)
class _Part:
    """One partition of a Produce request: its place in the answer, and its batch if that is valid."""

    topic: int
    index: int
    partition: str
    error: int
    data: bytes = b""
    batch: LoggedBatch | None = None


def _parts(request: ClientRequest) -> Iterator[_Part]:
    configs = dict(request.desk.image.topic_configs)
    for place, topic in enumerate(request.said["TopicData"]):
        name = request.desk.topic_named(topic)
        for each in topic["PartitionData"]:
            index, data = each["Index"], each["Records"] or b""
            if name is None:
                yield _Part(place, index, "", Errors.UNKNOWN_TOPIC_ID)
                continue
            if name in INTERNAL_TOPICS:
                # ReplicaManager.appendRecordsToLeader, for any client but the admin client.
                yield _Part(place, index, f"{name}-{index}", Errors.INVALID_TOPIC_EXCEPTION)
                continue
            partition, batch = f"{name}-{index}", request.batches.decode_batch(data)
            if batch is None:
                yield _Part(place, index, partition, FurtherErrors.CORRUPT_MESSAGE)
            elif len(data) > max_message_bytes(configs.get(name, ())) and _is_appended(
                partition, request
            ):
                yield _Part(place, index, partition, FurtherErrors.MESSAGE_TOO_LARGE)
            else:
                yield _Part(place, index, partition, Errors.NONE, data, batch)


def _is_appended(partition: str, request: ClientRequest) -> bool:
    """Return whether a broker looks at the size of a batch: it leads the partition, with enough replicas.

    Source: Partition.appendRecordsToLeader, UnifiedLog.analyzeAndValidateRecords.
    """
    image = request.desk.image
    return image.leader_of(partition) == request.broker and image.has_enough_replicas(partition)


def produce(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """Append batches; their bytes are kept, so that a consumer reads the same bytes.

    With acks=0 there is no response; an error closes the connection. Source: KafkaApis.handleProduceRequest,
    ReplicaManager.isValidRequiredAcks.
    """
    (message,) = messages
    assert isinstance(message, Produce)
    said, named = request.said, tuple(_parts(request))
    transactional = any(part.batch is not None and part.batch.transactional for part in named)
    # KafkaApis.handleProduceRequest: of a partition that is named twice, the last batch counts.
    parts = tuple({part.partition or (part.topic, part.index): part for part in named}.values())
    if transactional and said["TransactionalId"] is None:
        # KafkaApis.handleProduceRequest: the error is that of each partition.
        parts = _reject_all(parts, Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if said["Acks"] not in ALLOWED_ACKS:
        parts = tuple(
            replace(p, error=p.error or FurtherErrors.INVALID_REQUIRED_ACKS, batch=None)
            for p in parts
        )
    valid = tuple(part for part in parts if part.batch is not None)
    decoded = {each.partition: each for each in message.partition_data}
    message = message.but(partition_data=tuple(decoded[part.partition] for part in valid))
    for part, each in zip(valid, message.partition_data, strict=True):
        log = request.desk.world.logs.get(part.partition)
        if log is not None:
            request.desk.kept.arrive(part.partition, batch_of(message, each, log), part.data)

    def answer(replies: Replies) -> Struct | None:
        told: dict[str, PartitionProduceResponse] = {}
        for reply in replies:
            assert isinstance(reply, ProduceResponse)
            told |= {each.partition: each for each in reply.partition_responses}
        for part in parts:
            if part.partition in told and told[part.partition].error is Errors.NONE:
                _keep(part, told[part.partition].base_offset, request.desk)
        results = tuple(_results(said, parts, told))
        if said["Acks"] != ACKS_NONE:
            return {"Responses": results}
        for topic in results:
            for each in topic["PartitionResponses"]:
                if each["ErrorCode"]:
                    code = int(each["ErrorCode"])
                    raise ClosedConnection(
                        f"a batch with acks=0 is rejected with error code {code}"
                    )
        return None

    return TranslatedRequest((message,) if valid else (), answer)


def _reject_all(parts: tuple[_Part, ...], error: Errors) -> tuple[_Part, ...]:
    return tuple(replace(part, error=error, batch=None) for part in parts)


def _keep(part: _Part, base_offset: int, desk: ServedDesk) -> None:
    """Keep the bytes of a batch in the log; those of a duplicate are already kept."""
    log = desk.world.logs.get(part.partition)
    if log is None or part.batch is None:
        return
    for at in range(len(log.batches) - 1, -1, -1):
        found: Batch = log.batches[at]
        if found.base_offset == base_offset:
            desk.kept.keep(part.partition, found, part.data)
            return
        if found.base_offset < base_offset:
            return


def _results(
    said: Struct, parts: tuple[_Part, ...], told: dict[str, PartitionProduceResponse]
) -> Iterator[Struct]:
    for place, topic in enumerate(said["TopicData"]):
        found = []
        for part in parts:
            if part.topic != place:
                continue
            reply = told.get(part.partition) if not part.error else None
            result = {"Index": part.index, "ErrorCode": part.error, "BaseOffset": -1}
            if reply is not None:
                result |= {"ErrorCode": reply.error, "BaseOffset": reply.base_offset}
            found.append(result)
        named = {name: topic[name] for name in ("Name", "TopicId") if name in topic}
        yield named | {"PartitionResponses": tuple(found)}


@dataclass(frozen=True)
class _Wanted:
    """One partition of a Fetch request."""

    topic: int
    index: int
    partition: str
    offset: int
    bytes_max: int
    error: int
    part: Struct


def fetch(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """Read records: the model checks the request, the kept batches have the bytes."""
    (message,) = messages
    assert isinstance(message, Fetch)
    said, desk = request.said, request.desk
    if said.get("SessionEpoch", -1) > 0:
        # FetchManager.newContext: no session is open.
        missing = {"ErrorCode": FurtherErrors.FETCH_SESSION_ID_NOT_FOUND, "Responses": ()}
        return TranslatedRequest((), lambda _: missing)
    committed = message.read_committed
    wanted = tuple(
        _Wanted(
            place,
            each["Partition"],
            "" if name is None else f"{name}-{each['Partition']}",
            each["FetchOffset"],
            each["PartitionMaxBytes"],
            _why_unread(name, each, request),
            each,
        )
        for place, topic in enumerate(said["Topics"])
        for name in (desk.topic_named(topic),)
        for each in topic["Partitions"]
    )
    known = tuple(each for each in wanted if not each.error)
    fenced = tuple(each for each in wanted if each.error in OTHER_EPOCH)
    names = {each.partition for each in known}
    message = message.but(partitions=tuple(p for p in message.partitions if p.partition in names))
    bytes_min = min(said["MinBytes"], said.get("MaxBytes", 0x7FFFFFFF))

    def ready() -> bool:
        there = tuple(each for each in known if each.partition in desk.image.leaders)
        if not there or any(_is_lost(each, request) for each in (*there, *fenced)):
            return True
        size = 0
        for each in there:
            size += _count_bytes(each, bytes_min - size, desk, committed=committed)
            if size >= bytes_min:
                return True
        return False

    def answer(replies: Replies) -> Struct:
        told: dict[str, int] = {}
        for reply in replies:
            assert isinstance(reply, FetchResponse)
            told |= {part.partition: part.error for part in reply.responses}
        if request.version < FIRST_WITH_IDS:
            told = {name: _error_of_named(error) for name, error in told.items()}
        size_left = said.get("MaxBytes", 0x7FFFFFFF)
        topics = []
        for place, topic in enumerate(said["Topics"]):
            found = []
            for each in wanted:
                if each.topic != place:
                    continue
                error = each.error or told[each.partition]
                error = correct_error(error, each.partition, each.part, request)
                part = _encode_fetched(each, error, desk, committed=committed, size_left=size_left)
                size_left -= len(part["Records"])
                found.append(part)
            named = {name: topic[name] for name in ("Topic", "TopicId") if name in topic}
            topics.append(named | {"Partitions": tuple(found)})
        return {"Responses": tuple(topics)}

    asked = (message.but(max_wait_ms=0),) if known else ()
    return TranslatedRequest(asked, answer, ready, message.max_wait_ms)


def _error_of_named(error: int) -> int:
    """Return the error of a topic that is named, and not by its id as in the model's message."""
    return Errors.UNKNOWN_TOPIC_OR_PARTITION if error == Errors.UNKNOWN_TOPIC_ID else error


def _why_unread(topic: str | None, part: Struct, request: ClientRequest) -> int:
    """Return the error of a partition that the model is not asked to read, or NONE."""
    if topic is None:
        return Errors.UNKNOWN_TOPIC_ID
    if topic in INTERNAL_TOPICS:
        return Errors.TOPIC_AUTHORIZATION_FAILED
    return compare_epoch(f"{topic}-{part['Partition']}", part, request)


def _is_lost(wanted: _Wanted, request: ClientRequest) -> bool:
    """Return whether reading a partition is an error, which is answered at once: ReplicaManager.fetchMessages.

    A partition that does not exist is not read, so its error does not end the wait for others.
    """
    desk = request.desk
    if desk.image.leader_of(wanted.partition) != request.broker:
        return True
    log = desk.world.logs[wanted.partition]
    outside = not log.start_offset <= wanted.offset <= log.end_offset
    return outside or bool(compare_epoch(wanted.partition, wanted.part, request))


def _count_bytes(wanted: _Wanted, enough: int, desk: ServedDesk, *, committed: bool) -> int:
    """Return how many bytes of a partition can be read, or that it is enough."""
    log, epoch = desk.world.logs[wanted.partition], desk.image.leaders[wanted.partition].epoch
    most = min(wanted.bytes_max, enough)
    return len(readable(log, wanted.offset, most, desk.kept, epoch, committed=committed))


def _encode_fetched(
    wanted: _Wanted, error: int, desk: ServedDesk, *, committed: bool, size_left: int
) -> Struct:
    found: Struct = {"PartitionIndex": wanted.index, "ErrorCode": error, "HighWatermark": -1}
    found["Records"] = b""
    if error:
        return found
    log, held = desk.world.logs[wanted.partition], desk.image.leaders[wanted.partition]
    if size_left > 0:
        size = min(wanted.bytes_max, size_left)
        found["Records"] = readable(
            log, wanted.offset, size, desk.kept, held.epoch, committed=committed
        )
    aborted = [
        {"ProducerId": each.producer_id, "FirstOffset": each.first_offset}
        for each in log.aborted
        if each.last_offset >= wanted.offset
    ]
    return found | {
        "HighWatermark": log.high_watermark,
        "LastStableOffset": log.last_stable_offset,
        "LogStartOffset": log.start_offset,
        "AbortedTransactions": tuple(aborted) if committed else None,
    }


def list_offsets(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """Answer where partitions start or end, and which records are the first at a time.

    A partition that is named twice has one result. Source: ReplicaManager.fetchOffset.
    """
    topics = request.said["Topics"]
    rejected: dict[str, int] = {**reject_parts(request.said, request.incoming)}
    parts = dict(request.incoming.parts_of(topics))
    for name, part in parts.items():
        error = rejected.get(name) or compare_epoch(name, part, request)
        if error:
            rejected[name] = error
    asked = tuple(_remove_rejected(m, rejected) for m in messages if isinstance(m, ListOffsets))

    def answer(replies: Replies) -> Struct:
        told = {name: _encode_offset(error) for name, error in rejected.items()}
        for reply in replies:
            assert isinstance(reply, ListOffsetsResponse)
            for each in reply.responses:
                name = each.partition
                error = correct_error(each.error, name, parts[name], request)
                told[name] = _encode_offset(error, each)
        found: dict[str, dict[int, Struct]] = {}
        for topic in topics:
            results = found.setdefault(topic["Name"], {})
            for part in topic["Partitions"]:
                index = part["PartitionIndex"]
                results[index] = {"PartitionIndex": index} | told[f"{topic['Name']}-{index}"]
        return {
            "Topics": tuple(
                {"Name": name, "Partitions": tuple(results.values())}
                for name, results in found.items()
            )
        }

    return TranslatedRequest(tuple(m for m in asked if m.partitions), answer)


def _remove_rejected(message: ListOffsets, rejected: Collection[str]) -> ListOffsets:
    left = tuple(each for each in message.partitions if each.partition not in rejected)
    return message.but(partitions=left)


def _encode_offset(error: int, told: ListOffsetsPartitionResponse | None = None) -> Struct:
    if error or told is None:
        return {"ErrorCode": error, "Timestamp": -1, "Offset": -1, "LeaderEpoch": -1}
    return {
        "ErrorCode": error,
        "Timestamp": told.timestamp_ms,
        "Offset": told.offset,
        "LeaderEpoch": told.leader_epoch,
    }
