"""The decoders of records of Kafka's internal topics and of control batches.

Every record of an internal topic has a key that begins with a version (for `__transaction_state`) or a kind (for the
other two topics), and a value that begins with the version of its layout. A value of null is a tombstone. Records about
members of groups are decoded in `group_records`; those of the classic protocol and of streams groups are only named.

An unknown layout is rejected. Kafka's own readers skip it with a warning, but a program that explains a log must not
leave out what it does not understand.

Source: TransactionLogKey/Value, OffsetCommitKey/Value, ShareSnapshotKey/Value, ShareUpdateKey/Value and EndTxnMarker
among Kafka's message definitions; CoordinatorRecordType of the group coordinator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kipviz.core.values import Value
from kipviz.recordings.decoded import group_records
from kipviz.recordings.decoded.cluster_metadata import (
    CLUSTER_METADATA,
    LoggedOfCluster,
    metadata_record,
)
from kipviz.recordings.files.segments import LoggedBatch, LoggedRecord, Segment
from kipviz.recordings.recording_error import RecordingError
from kipviz.records.fields import Fields, FieldsError
from kipviz.records.placement import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from kipviz.records.share_group_state import RecordState, StateBatch
from kipviz.records.transaction_state import TransactionState

STATES = tuple(TransactionState)

# Key kinds of `__consumer_offsets` (CoordinatorRecordType) besides offsets, and their names.
GROUP_KINDS: dict[int, str] = {
    2: "GroupMetadata",
    3: "ConsumerGroupMetadata",
    4: "ConsumerGroupPartitionMetadata",
    5: "ConsumerGroupMemberMetadata",
    6: "ConsumerGroupTargetAssignmentMetadata",
    7: "ConsumerGroupTargetAssignmentMember",
    8: "ConsumerGroupCurrentMemberAssignment",
    9: "ShareGroupPartitionMetadata",
    10: "ShareGroupMemberMetadata",
    11: "ShareGroupMetadata",
    12: "ShareGroupTargetAssignmentMetadata",
    13: "ShareGroupTargetAssignmentMember",
    14: "ShareGroupCurrentMemberAssignment",
    15: "ShareGroupStatePartitionMetadata",
    16: "ConsumerGroupRegularExpression",
    17: "StreamsGroupMetadata",
    18: "StreamsGroupPartitionMetadata",
    19: "StreamsGroupMemberMetadata",
    20: "StreamsGroupTargetAssignmentMetadata",
    21: "StreamsGroupTargetAssignmentMember",
    22: "StreamsGroupCurrentMemberAssignment",
    23: "StreamsGroupTopology",
}


class LoggedMarker(Value, frozen=True):
    """The end of a transaction in a partition: a control batch."""

    offset: int
    committed: bool
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    leader_epoch: int


class LoggedTransaction(Value, frozen=True):
    """One state of a transactional id; `partitions` is None where the log has null."""

    offset: int
    transactional_id: str
    version: int
    producer_id: int
    previous_producer_id: int
    next_producer_id: int
    producer_epoch: int
    next_producer_epoch: int
    timeout_ms: int
    state: TransactionState
    partitions: tuple[tuple[str, tuple[int, ...]], ...] | None
    last_update_ms: int
    start_ms: int
    client_transaction_version: int


class LoggedOffset(Value, frozen=True):
    """A committed offset; with a producer id it is valid only once the transaction commits."""

    offset: int
    group: str
    topic: str
    partition: int
    version: int
    committed_offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expire_ms: int
    topic_id: str
    producer_id: int
    producer_epoch: int


class LoggedGroupRecord(Value, frozen=True):
    """A record about members and assignments of a group; `said` is its decoded content, if it is decoded.

    It names topics by their ids: `group_records.name_topics` replaces them by names.
    """

    offset: int
    kind: str
    group: str
    tombstone: bool
    said: Value | None = None


class LoggedShareSnapshot(Value, frozen=True):
    """The whole state of a share-partition."""

    offset: int
    group: str
    topic_id: str
    partition: int
    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    created_ms: int
    written_ms: int
    batches: tuple[StateBatch, ...]


class LoggedShareUpdate(Value, frozen=True):
    """A change of a share-partition since its snapshot; a start offset of -1 means "as before"."""

    offset: int
    group: str
    topic_id: str
    partition: int
    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]


class LoggedTombstone(Value, frozen=True):
    """The key is deleted: an expired transactional id, offset or share-partition."""

    offset: int
    kind: str
    key: str


Logged: TypeAlias = (
    LoggedMarker
    | LoggedTransaction
    | LoggedOffset
    | LoggedGroupRecord
    | LoggedShareSnapshot
    | LoggedShareUpdate
    | LoggedTombstone
    | LoggedOfCluster
)
Decoder: TypeAlias = Callable[[LoggedRecord, LoggedBatch], Logged]


def decode(segment: Segment, topic: str) -> tuple[Logged, ...]:
    """Decode all records of a segment of an internal topic, markers included, in the order of offsets.

    Raises:
        RecordingError: if a record is damaged or has an unknown layout.
        ValueError: if the topic is not one of Kafka's internal topics.
    """
    decoder = metadata_record if topic == CLUSTER_METADATA else DECODERS.get(topic)
    if decoder is None:
        known = ", ".join((*DECODERS, CLUSTER_METADATA))
        raise ValueError(f"{topic} is not an internal topic that can be read; these are: {known}")
    return tuple(
        _decode_guarded(
            _marker if batch.control and topic in DECODERS else decoder, record, batch, segment.file
        )
        for batch in segment.batches
        for record in batch.records
    )


def markers(segment: Segment) -> tuple[LoggedMarker, ...]:
    """Decode the transaction markers of a segment of any topic.

    Raises:
        RecordingError: if a marker is damaged or has an unknown type.
    """
    found = (
        _decode_guarded(_marker, record, batch, segment.file)
        for batch in segment.batches
        if batch.control
        for record in batch.records
    )
    return tuple(m for m in found if isinstance(m, LoggedMarker))


def _decode_guarded(
    decoder: Decoder, record: LoggedRecord, batch: LoggedBatch, file: str
) -> Logged:
    try:
        return decoder(record, batch)
    except FieldsError as problem:
        why = f"the record at offset {record.offset} cannot be read: {problem.why}"
        raise RecordingError(file, record.position, why) from problem


def _key(record: LoggedRecord) -> Fields:
    if record.key is None:
        raise FieldsError(0, "it has no key")
    return Fields(record.key)


def _value(
    record: LoggedRecord, what: str, versions: range, flexible_from: int
) -> tuple[Fields, int]:
    if record.value is None:
        raise FieldsError(0, f"{what} is null")
    fields = Fields(record.value)
    version = fields.number(2, "the version")
    if version not in versions:
        raise FieldsError(
            0, f"{what} has version {version}, known are {versions.start} to {versions.stop - 1}"
        )
    fields.flexible = version >= flexible_from
    return fields, version


def _known_tags(tags: dict[int, Fields], known: range, what: str) -> None:
    strange = [tag for tag in tags if tag not in known]
    if strange:
        raise FieldsError(0, f"{what} has the unknown tag {strange[0]}")


def _decode_tag(tags: dict[int, Fields], tag: int, size: int, otherwise: int, what: str) -> int:
    if tag not in tags:
        return otherwise
    number = tags[tag].number(size, what)
    tags[tag].end(what)
    return number


def _marker(record: LoggedRecord, batch: LoggedBatch) -> LoggedMarker:
    key = _key(record)
    if (version := key.number(2, "the marker's version")) != 0:
        raise FieldsError(0, f"the control record has version {version}, known is 0")
    if (kind := key.number(2, "the marker's type")) not in {0, 1}:
        raise FieldsError(2, f"the control record has the unknown type {kind}")
    key.end("the control record")
    value, _ = _value(record, "the marker", range(1), 1)
    coordinator_epoch = value.number(4, "the coordinator epoch")
    value.end("the marker")
    return LoggedMarker(
        offset=record.offset,
        committed=kind == 1,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        coordinator_epoch=coordinator_epoch,
        leader_epoch=batch.leader_epoch,
    )


def _transaction(record: LoggedRecord, _: LoggedBatch) -> LoggedTransaction | LoggedTombstone:
    key = _key(record)
    if (kind := key.number(2, "the key's version")) != 0:
        raise FieldsError(0, f"the key has version {kind}, known is 0")
    name = key.string("the transactional id")
    key.end("the key")
    if record.value is None:
        return LoggedTombstone(record.offset, "Transaction", name)
    what = "the transaction's state"
    fields, version = _value(record, what, range(2), 1)
    producer_id = fields.number(8, "the producer id")
    producer_epoch = fields.number(2, "the producer epoch")
    timeout = fields.number(4, "the timeout")
    status = fields.number(1, "the state")
    if not 0 <= status < len(STATES):
        raise FieldsError(fields.at - 1, f"there is no transaction state {status}")
    partitions = fields.array("the partitions", _topic_partitions)
    last_update = fields.number(8, "the time of the last update")
    start = fields.number(8, "the start time")
    tags = fields.tags(what)
    fields.end(what)
    _known_tags(tags, range(4), what)
    return LoggedTransaction(
        offset=record.offset,
        transactional_id=name,
        version=version,
        producer_id=producer_id,
        previous_producer_id=_decode_tag(tags, 0, 8, -1, "the previous producer id"),
        next_producer_id=_decode_tag(tags, 1, 8, -1, "the next producer id"),
        producer_epoch=producer_epoch,
        next_producer_epoch=_decode_tag(tags, 3, 2, -1, "the next producer epoch"),
        timeout_ms=timeout,
        state=STATES[status],
        partitions=partitions,
        last_update_ms=last_update,
        start_ms=start,
        client_transaction_version=_decode_tag(tags, 2, 2, 0, "the client's transaction version"),
    )


def _topic_partitions(fields: Fields) -> tuple[str, tuple[int, ...]]:
    topic = fields.string("a topic")
    start = fields.at
    ids = fields.array("the partitions of a topic", lambda f: f.number(4, "a partition"))
    if ids is None:
        raise FieldsError(start, "the partitions of a topic may not be null")
    _known_tags(fields.tags("a topic"), range(0), "a topic")
    return topic, ids


def _group(record: LoggedRecord, batch: LoggedBatch) -> Logged:
    key = _key(record)
    kind = key.number(2, "the key's kind")
    group = key.string("the group")
    if kind in GROUP_KINDS:
        said = group_records.decode_record(kind, group, key, record.value)
        return LoggedGroupRecord(
            record.offset, GROUP_KINDS[kind], group, record.value is None, said
        )
    if kind not in {0, 1}:  # 0 is the offset of Kafka before 0.9 with the same fields
        raise FieldsError(0, f"the key has the unknown kind {kind}")
    topic = key.string("the topic")
    partition = key.number(4, "the partition")
    key.end("the key")
    if record.value is None:
        return LoggedTombstone(record.offset, "Offset", f"{group} {topic}-{partition}")
    what = "the committed offset"
    fields, version = _value(record, what, range(5), 4)
    committed = fields.number(8, "the offset")
    leader_epoch = fields.number(4, "the leader epoch") if version >= 3 else -1
    metadata = fields.string("the metadata")
    commit_ms = fields.number(8, "the time of the commit")
    expire_ms = fields.number(8, "the time of expiry") if version == 1 else -1
    tags = fields.tags(what)
    fields.end(what)
    _known_tags(tags, range(1), what)
    return LoggedOffset(
        offset=record.offset,
        group=group,
        topic=topic,
        partition=partition,
        version=version,
        committed_offset=committed,
        leader_epoch=leader_epoch,
        metadata=metadata,
        commit_ms=commit_ms,
        expire_ms=expire_ms,
        topic_id=tags[0].uuid("the topic id") if 0 in tags else "",
        producer_id=batch.producer_id if batch.transactional else -1,
        producer_epoch=batch.producer_epoch if batch.transactional else -1,
    )


def _share(record: LoggedRecord, _: LoggedBatch) -> Logged:
    key = _key(record)
    kind = key.number(2, "the key's kind")
    if kind not in {0, 1}:
        raise FieldsError(0, f"the key has the unknown kind {kind}")
    group = key.string("the group")
    topic_id = key.uuid("the topic id")
    partition = key.number(4, "the partition")
    key.end("the key")
    if record.value is None:
        names = ("ShareSnapshot", "ShareUpdate")
        return LoggedTombstone(record.offset, names[kind], f"{group}:{topic_id}:{partition}")
    place = (record.offset, group, topic_id, partition)
    return _share_update(record, place) if kind == 1 else _share_snapshot(record, place)


def _share_snapshot(record: LoggedRecord, place: tuple[int, str, str, int]) -> LoggedShareSnapshot:
    what = "the snapshot"
    fields, _ = _value(record, what, range(1), 0)
    snapshot_epoch = fields.number(4, "the snapshot epoch")
    state_epoch = fields.number(4, "the state epoch")
    leader_epoch = fields.number(4, "the leader epoch")
    start_offset = fields.number(8, "the start offset")
    created = fields.number(8, "the time of creation")
    written = fields.number(8, "the time of writing")
    batches, complete = _state_batches(fields, what)
    return LoggedShareSnapshot(
        *place,
        snapshot_epoch,
        state_epoch,
        leader_epoch,
        start_offset,
        complete,
        created,
        written,
        batches,
    )


def _share_update(record: LoggedRecord, place: tuple[int, str, str, int]) -> LoggedShareUpdate:
    what = "the update"
    fields, _ = _value(record, what, range(1), 0)
    snapshot_epoch = fields.number(4, "the snapshot epoch")
    leader_epoch = fields.number(4, "the leader epoch")
    start_offset = fields.number(8, "the start offset")
    batches, complete = _state_batches(fields, what)
    return LoggedShareUpdate(*place, snapshot_epoch, leader_epoch, start_offset, complete, batches)


def _state_batches(fields: Fields, what: str) -> tuple[tuple[StateBatch, ...], int]:
    start = fields.at
    batches = fields.array("the state batches", _state_batch)
    if batches is None:
        raise FieldsError(start, "the state batches may not be null")
    tags = fields.tags(what)
    fields.end(what)
    _known_tags(tags, range(1), what)
    return batches, _decode_tag(tags, 0, 4, -1, "the number of completed deliveries")


def _state_batch(fields: Fields) -> StateBatch:
    first = fields.number(8, "a first offset")
    last = fields.number(8, "a last offset")
    state = fields.number(1, "a delivery state")
    count = fields.number(2, "a delivery count")
    _known_tags(fields.tags("a state batch"), range(0), "a state batch")
    if state not in RecordState.__members__.values():
        raise FieldsError(fields.at, f"there is no delivery state {state}")
    if not 0 <= first <= last:
        raise FieldsError(fields.at, f"a state batch runs from offset {first} to {last}")
    return StateBatch(first, last, RecordState(state), count)


DECODERS: dict[str, Decoder] = {
    TRANSACTION_STATE: _transaction,
    CONSUMER_OFFSETS: _group,
    SHARE_GROUP_STATE: _share,
}
