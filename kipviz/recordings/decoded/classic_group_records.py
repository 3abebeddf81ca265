"""The record of `__consumer_offsets` about a whole group of the classic protocol.

It becomes the record that the model's group coordinator writes itself. Subscriptions and assignments are bytes for a
broker. They are decoded if the group's protocol type is that of consumers; other users of the protocol (Connect, Schema
Registry) store something else there. Left out: hosts, timeouts, the assignor, several topics in a subscription beside
their names, racks, bytes of an assignor's own.

Source: GroupMetadataValue, ConsumerProtocolSubscription and -Assignment among Kafka's definitions.
"""

from __future__ import annotations

from kipviz.messages.apis.groups.classic_groups import ASSIGNMENT, PROTOCOL_TYPE, SUBSCRIPTION
from kipviz.messages.wire.codec import Struct, WireError, decode, decode_head
from kipviz.messages.wire.schema import Field, Schema, covers
from kipviz.records.classic_groups import (
    NO_GENERATION,
    GroupMetadataRecord,
    MemberMetadata,
    Subscription,
)
from kipviz.records.fields import FieldsError

GROUP_METADATA_VALUE = Schema(
    "GroupMetadataValue",
    -1,
    "0-4",
    "4+",
    (
        Field("protocolType", "string"),
        Field("generation", "int32"),
        Field("protocol", "string", nullable="0+"),
        Field("leader", "string", nullable="0+"),
        Field("currentStateTimestamp", "int64", "2+", default="-1"),
        Field(
            "members",
            "[]MemberMetadata",
            fields=(
                Field("memberId", "string"),
                Field("groupInstanceId", "string", "3+", default="null", nullable="3+"),
                Field("clientId", "string"),
                Field("clientHost", "string"),
                Field("rebalanceTimeout", "int32", "1+", default="-1"),
                Field("sessionTimeout", "int32"),
                Field("subscription", "bytes"),
                Field("assignment", "bytes"),
            ),
        ),
    ),
)
# The newest known version of what consumers send each other.
NEWEST = 3


def read_group(group: str, value: bytes) -> GroupMetadataRecord:
    """Decode a whole group.

    Raises:
        FieldsError: if the record is damaged or has an unknown layout.
    """
    version = int.from_bytes(value[:2], "big", signed=True) if len(value) >= 2 else -1
    if not covers(GROUP_METADATA_VALUE.versions, version):
        raise FieldsError(0, f"a classic group has version {version}, known are 0 to 4")
    try:
        said, _ = decode(GROUP_METADATA_VALUE, version, value, 2)
        consumers = said["protocolType"] == PROTOCOL_TYPE
        members = tuple(_member(each, consumers=consumers) for each in said["members"] or ())
    except WireError as wrong:
        raise FieldsError(max(wrong.at, 0), str(wrong)) from wrong
    return GroupMetadataRecord(group, said["generation"], said["leader"] or "", members)


def _member(said: Struct, *, consumers: bool) -> MemberMetadata:
    subscription = read_subscription(said["subscription"]) if consumers else Subscription("")
    return MemberMetadata(
        said["memberId"],
        said["clientId"],
        subscription,
        read_assignment(said["assignment"]) if consumers else (),
        said.get("groupInstanceId") or "",
    )


def read_subscription(data: bytes) -> Subscription:
    """Decode a member's subscription, which it sends to the leader of its group.

    Raises:
        WireError: if it is damaged.
    """
    told = _between_consumers(SUBSCRIPTION, data)
    owned = _partitions(told.get("OwnedPartitions"))
    generation = told.get("GenerationId", NO_GENERATION)
    topic, *further = told.get("Topics") or ("",)
    return Subscription(topic, owned, generation, tuple(further))


def read_assignment(data: bytes) -> tuple[str, ...]:
    """Decode the assignment of a member by the leader.

    Raises:
        WireError: if it is damaged.
    """
    return _partitions(_between_consumers(ASSIGNMENT, data).get("AssignedPartitions"))


def _between_consumers(schema: Schema, data: bytes) -> Struct:
    """Decode a structure after its version; a newer one is read as far as it is known."""
    if not data:
        return {}
    version = int.from_bytes(data[:2], "big", signed=True)
    told, _ = decode_head(schema, min(max(version, 0), NEWEST), data, 2)
    return told


def _partitions(topics: tuple[Struct, ...] | None) -> tuple[str, ...]:
    return tuple(f"{each['Topic']}-{at}" for each in topics or () for at in each["Partitions"])
