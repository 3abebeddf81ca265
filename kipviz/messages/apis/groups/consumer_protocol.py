"""What consumers of a classic group tell each other; to the broker it is bytes. Fields and versions: Kafka 4.4.0.

A version, and then a structure that only consumers decode (ConsumerProtocolSubscription, ConsumerProtocolAssignment).
"""

from __future__ import annotations

from kipviz.messages.wire.codec import Encoded, Struct, Writer, decode_head, encode
from kipviz.messages.wire.kind import indexes
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.classic_groups import NO_GENERATION, Subscription

# The version of the consumers' structures.
CONSUMER_PROTOCOL = 3

SUBSCRIPTION = Schema(
    "ConsumerProtocolSubscription",
    -1,
    "0-3",
    "",
    (
        Field("Topics", "[]string"),
        Field("UserData", "bytes", default="null", nullable="0+"),
        Field(
            "OwnedPartitions",
            "[]TopicPartition",
            "1+",
            fields=(Field("Topic", "string", "1+"), Field("Partitions", "[]int32", "1+")),
        ),
        Field("GenerationId", "int32", "2+", default="-1"),
        Field("RackId", "string", "3+", default="null", nullable="3+"),
    ),
)

ASSIGNMENT = Schema(
    "ConsumerProtocolAssignment",
    -1,
    "0-3",
    "",
    (
        Field(
            "AssignedPartitions",
            "[]TopicPartition",
            fields=(Field("Topic", "string"), Field("Partitions", "[]int32")),
        ),
        Field("UserData", "bytes", default="null", nullable="0+"),
    ),
)


def encode_versioned(schema: Schema, values: Struct) -> Encoded:
    """Encode what consumers send each other through a broker: a version, and the fields."""
    out = Writer()
    version = CONSUMER_PROTOCOL.to_bytes(2, "big")
    out.put(f"{schema.name}.version", "int16", version)
    out.append(encode(schema, CONSUMER_PROTOCOL, values))
    return out.finish()


def _by_name(partitions: tuple[str, ...]) -> tuple[Struct, ...]:
    return indexes(partitions, lambda topic, at: {"Topic": topic, "Partitions": at})


def subscription_bytes(m: Subscription) -> Encoded:
    """Encode the subscription that a member sends to the leader."""
    return encode_versioned(
        SUBSCRIPTION,
        {
            "Topics": m.topics,
            "OwnedPartitions": _by_name(m.owned),
            "GenerationId": m.generation,
        },
    )


def metadata_bytes(m: Subscription) -> Encoded | bytes:
    """Return the bytes of a subscription: those that a real client sent stay as they are."""
    return m.metadata[0] if m.metadata else subscription_bytes(m)


def assignment_bytes(partitions: tuple[str, ...]) -> Encoded:
    """Encode the assignment that the leader sends to a member."""
    return encode_versioned(ASSIGNMENT, {"AssignedPartitions": _by_name(partitions)})


def assigned_bytes(partitions: tuple[str, ...], assignment: bytes | None) -> Encoded | bytes:
    """Return the bytes of an assignment: those that a real leader sent stay as they are."""
    return assignment_bytes(partitions) if assignment is None else assignment


def read_subscription(data: bytes) -> Subscription:
    """Decode a member's subscription, which it sends to the leader of its group.

    Raises:
        WireError: if it is damaged.
    """
    told = _read_versioned(SUBSCRIPTION, data)
    owned = _decode_partitions(told.get("OwnedPartitions"))
    generation = told.get("GenerationId", NO_GENERATION)
    return Subscription(tuple(told.get("Topics") or ()), owned, generation)


def read_assignment(data: bytes) -> tuple[str, ...]:
    """Decode the assignment of a member by the leader.

    Raises:
        WireError: if it is damaged.
    """
    return _decode_partitions(_read_versioned(ASSIGNMENT, data).get("AssignedPartitions"))


def _read_versioned(schema: Schema, data: bytes) -> Struct:
    """Decode a structure after its version; a newer one is read as far as it is known."""
    if not data:
        return {}
    version = int.from_bytes(data[:2], "big", signed=True)
    told, _ = decode_head(schema, min(max(version, 0), CONSUMER_PROTOCOL), data, 2)
    return told


def _decode_partitions(topics: tuple[Struct, ...] | None) -> tuple[str, ...]:
    return tuple(f"{each['Topic']}-{at}" for each in topics or () for at in each["Partitions"])
