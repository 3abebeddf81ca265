"""The batches inside the requests to share coordinators: fields, encoding and decoding."""

from __future__ import annotations

from collections.abc import Iterable

from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.schema import Field
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
PENDING_VOTES = Field(
    "PendingVotes",
    "[]PendingVote",
    tag=0,
    tagged="0+",
    status=INFERRED,
    fields=(
        Field("ProducerId", "int64"),
        Field("ProducerEpoch", "int16"),
        Field("StagedBatches", "[]StagedBatch", fields=STAGED_BATCH),
    ),
)


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
