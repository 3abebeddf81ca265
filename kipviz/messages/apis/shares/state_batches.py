"""The batches inside the requests to share coordinators: fields, encoding and decoding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from kipviz.messages.shares import share_state as model
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.schema import Field
from kipviz.records.placement import share_partition_key
from kipviz.records.share_group_state import RecordState, StagedBatch, StateBatch

INFERRED = "our inference"
DRAFT = "draft"

STAGED_BATCH = (
    Field("FirstOffset", "int64"),
    Field("LastOffset", "int64"),
    Field("AcknowledgeType", "int8"),
    Field("DeliveryCount", "int16"),
)

STATE_BATCHES = Field(
    "StateBatches",
    "[]StateBatch",
    fields=(
        Field("FirstOffset", "int64"),
        Field("LastOffset", "int64"),
        Field("DeliveryState", "int8"),
        Field("DeliveryCount", "int16"),
        # For TX_PENDING only. In tagged fields, so that a batch without them is Kafka's; the draft's own place for them
        # is in `drafts`.
        Field("StagedProducerId", "int64", tag=0, tagged="0+", default="-1", status=DRAFT),
        Field("StagedProducerEpoch", "int16", tag=1, tagged="0+", default="-1", status=DRAFT),
        Field("StagedAcknowledgeType", "int8", tag=2, tagged="0+", default="-1", status=DRAFT),
        Field("StagedDeliveryState", "int8", tag=3, tagged="0+", default="-1", status=DRAFT),
    ),
)
PENDING_ACKNOWLEDGEMENTS = Field(
    "PendingAcknowledgements",
    "[]PendingAcknowledgement",
    tag=0,
    tagged="0+",
    status=INFERRED,
    fields=(
        Field("ProducerId", "int64"),
        Field("ProducerEpoch", "int16"),
        Field("StagedBatches", "[]StagedBatch", fields=STAGED_BATCH),
    ),
)


GROUP_ID = Field("GroupId", "string")


def state_topics(kind: str, *more: Field) -> Field:
    """Return the fields of a request that name share-partitions, with further fields for each."""
    fields = (Field("Partition", "int32"), *more)
    partitions = Field("Partitions", "[]PartitionData", fields=fields)
    return Field("Topics", f"[]{kind}", fields=(Field("TopicId", "uuid"), partitions))


def state_results(kind: str, *more: Field) -> tuple[Field, ...]:
    """Return the fields of a response: for each share-partition an error, and further fields without an error."""
    fields = (
        Field("Partition", "int32"),
        Field("ErrorCode", "int16"),
        Field("ErrorMessage", "string", default="null", nullable="0+"),
        *more,
    )
    partitions = Field("Partitions", "[]PartitionResult", fields=fields)
    return (Field("Results", f"[]{kind}", fields=(Field("TopicId", "uuid"), partitions)),)


def encode_states(batches: tuple[StateBatch, ...]) -> tuple[Struct, ...]:
    """Return the fields of state batches."""
    return tuple(
        {
            "FirstOffset": b.first,
            "LastOffset": b.last,
            "DeliveryState": b.state,
            "DeliveryCount": b.delivery_count,
            **(_of_pending(b) if b.staged != NOTHING_STAGED else {}),
        }
        for b in batches
    )


NOTHING_STAGED = (-1, -1, -1, -1)


def _of_pending(batch: StateBatch) -> Struct:
    staged = {
        "StagedProducerId": batch.staged_producer_id,
        "StagedProducerEpoch": batch.staged_producer_epoch,
        "StagedAcknowledgeType": batch.staged_type,
    }
    return (
        staged if batch.staged_state < 0 else {**staged, "StagedDeliveryState": batch.staged_state}
    )


def encode_staged(batches: tuple[StagedBatch, ...]) -> tuple[Struct, ...]:
    """Return the fields of staged batches."""
    return tuple(
        {
            "FirstOffset": b.first,
            "LastOffset": b.last,
            "AcknowledgeType": b.acknowledge_type,
            "DeliveryCount": b.delivery_count,
        }
        for b in batches
    )


def decode_states(batches: Iterable[Struct]) -> tuple[StateBatch, ...]:
    """Return the state batches of a request or a response."""
    return tuple(
        StateBatch(
            each["FirstOffset"],
            each["LastOffset"],
            RecordState(each["DeliveryState"]),
            each["DeliveryCount"],
            each.get("StagedProducerId", -1),
            each.get("StagedProducerEpoch", -1),
            each.get("StagedAcknowledgeType", -1),
            each.get("StagedDeliveryState", -1),
        )
        for each in batches
    )


def decode_staged(batches: Iterable[Struct]) -> tuple[StagedBatch, ...]:
    """Return the staged batches of a request."""
    return tuple(
        StagedBatch(
            each["FirstOffset"], each["LastOffset"], each["AcknowledgeType"], each["DeliveryCount"]
        )
        for each in batches
    )


def encode_state(m: model.ReadStateResult | model.TellShareGroupState) -> Struct:
    """Return the fields of a state with its pending transactional acknowledgements."""
    pending = tuple(
        {
            "ProducerId": p.producer_id,
            "ProducerEpoch": p.producer_epoch,
            "StagedBatches": encode_staged((p.staged,)),
        }
        for p in m.pending
    )
    return {
        "StateEpoch": m.state_epoch,
        "StartOffset": m.start_offset,
        "StateBatches": encode_states(m.batches),
        **({"PendingAcknowledgements": pending} if pending else {}),
    }


def split_key(key: str) -> tuple[str, str, int]:
    """Split a share-partition's key, group:topicId:partition."""
    group, topic_id, index = key.rsplit(":", 2)
    return group, topic_id, int(index)


def encode_one(key: str, **partition: object) -> Struct:
    """Return a request about one share-partition."""
    group, topic_id, index = split_key(key)
    each = ({"Partition": index, **partition},)
    return {"GroupId": group, "Topics": ({"TopicId": topic_id, "Partitions": each},)}


def list_parts(fields: Struct) -> Iterator[tuple[str, Struct]]:
    """Yield (key, fields) of every share-partition of a request: the model has a message for each."""
    for topic in fields["Topics"]:
        for part in topic["Partitions"]:
            yield share_partition_key(fields["GroupId"], topic["TopicId"], part["Partition"]), part


def encode_result(key: str, **partition: object) -> Struct:
    """Return a response about one share-partition."""
    _, topic_id, index = split_key(key)
    each = ({"Partition": index, **partition},)
    return {"Results": ({"TopicId": topic_id, "Partitions": each},)}


class Keyed(Protocol):
    """A part of a request or a response that names its share-partition by the key."""

    @property
    def key(self) -> str:
        """The share-partition: group:topicId:partition."""


T = TypeVar("T", bound=Keyed)
D = TypeVar("D")


def _by_topic(items: Iterable[T], encode: Callable[[T], Struct]) -> tuple[Struct, ...]:
    found: dict[str, list[Struct]] = {}
    for item in items:
        _, topic_id, index = split_key(item.key)
        found.setdefault(topic_id, []).append({"Partition": index, **encode(item)})
    return tuple({"TopicId": topic, "Partitions": tuple(each)} for topic, each in found.items())


def encode_keyed(parts: tuple[T, ...], encode: Callable[[T], Struct]) -> Struct:
    """Return a request about the share-partitions of one group, by topic."""
    group_id, _, _ = split_key(parts[0].key)
    return {"GroupId": group_id, "Topics": _by_topic(parts, encode)}


def encode_results(results: tuple[T, ...], encode: Callable[[T], Struct]) -> Struct:
    """Return a response about share-partitions, by topic."""
    return {"Results": _by_topic(results, encode)}


def decode_keyed(fields: Struct, decode: Callable[[str, Struct], D]) -> tuple[D, ...]:
    """Return the parts of a request, each with the key of its share-partition."""
    return tuple(decode(key, part) for key, part in list_parts(fields))
