"""The record of `__consumer_offsets` about a whole group of the classic protocol.

It becomes the record that the model's group coordinator writes itself. Subscriptions and assignments are bytes for a
broker. They are decoded if the group's protocol type is that of consumers; other users of the protocol (Connect, Schema
Registry) store something else there. Left out: hosts, timeouts, the assignor, racks, bytes of an assignor's own.

Source: GroupMetadataValue, ConsumerProtocolSubscription and -Assignment among Kafka's definitions.
"""

from __future__ import annotations

from kipviz.messages.apis.groups.classic_groups import PROTOCOL_TYPE
from kipviz.messages.apis.groups.consumer_protocol import read_assignment, read_subscription
from kipviz.messages.wire.codec import Struct, WireError, decode
from kipviz.messages.wire.schema import Field, Schema, covers
from kipviz.records.classic_groups import (
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
    subscription = read_subscription(said["subscription"]) if consumers else Subscription(())
    return MemberMetadata(
        said["memberId"],
        said["clientId"],
        subscription,
        read_assignment(said["assignment"]) if consumers else (),
        said.get("groupInstanceId") or "",
    )
