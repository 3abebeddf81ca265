"""Groups of the classic protocol in `__consumer_offsets`, read from bytes in every version."""

from __future__ import annotations

import pytest

from kipviz.brokers.groups.group_state import GroupCoordinator, replay
from kipviz.brokers.membership.classic_group import GroupState
from kipviz.messages.apis.groups.consumer_protocol import assignment_bytes, subscription_bytes
from kipviz.messages.wire.codec import encode
from kipviz.recordings.decoded.classic_group_records import GROUP_METADATA_VALUE, read_group
from kipviz.recordings.decoded.group_records import CLASSIC, decode_record
from kipviz.records.batches import Batch
from kipviz.records.classic_groups import GroupMetadataRecord, MemberMetadata, Subscription
from kipviz.records.consumer_offsets import GroupTombstone
from kipviz.records.fields import Fields, FieldsError

TOLD = Subscription(("src",), ("src-1",), 6)
KEY = Fields(b"")


def value(version, protocol_type="consumer", **more):
    member = {
        "memberId": "app-1-2f",
        "clientId": "app-1",
        "clientHost": "/127.0.0.1",
        "sessionTimeout": 45_000,
        "subscription": subscription_bytes(TOLD).data,
        "assignment": assignment_bytes(("src-0", "src-1")).data,
        **more,
    }
    struct = {
        "protocolType": protocol_type,
        "generation": 7,
        "protocol": "range",
        "leader": "app-1-2f",
        "members": (member,),
    }
    body = encode(GROUP_METADATA_VALUE, version, struct).data
    return version.to_bytes(2, "big") + body


@pytest.mark.parametrize("version", range(5))
def test_a_group_is_read_in_every_version(version):
    static = {"groupInstanceId": "node-1"} if version >= 3 else {}
    member = MemberMetadata(
        "app-1-2f", "app-1", TOLD, ("src-0", "src-1"), static.get("groupInstanceId", "")
    )
    expected = GroupMetadataRecord("g", 7, "app-1-2f", (member,))
    assert decode_record(CLASSIC, "g", KEY, value(version, **static)) == expected


def test_what_was_read_is_a_group_of_the_model_s_own():
    record = read_group("g", value(3))
    group = replay(GroupCoordinator("p"), Batch(0, (record,))).classic_groups["g"]
    assert (group.state, group.generation, group.leader) == (GroupState.STABLE, 7, "app-1-2f")


def test_a_tombstone_is_the_end_of_a_group():
    gone = decode_record(CLASSIC, "g", KEY, None)
    assert gone == GroupTombstone("g", "group metadata")
    me = replay(GroupCoordinator("p"), Batch(0, (read_group("g", value(3)),)))
    assert not len(replay(me, Batch(1, (gone,))).classic_groups)


def test_what_others_than_consumers_put_into_a_group_is_left_alone():
    connect = value(3, "connect", subscription=b"\0\1whatever", assignment=b"")
    (member,) = read_group("connect-cluster", connect).members
    assert (member.subscription, member.assigned) == (Subscription(()), ())


def test_a_member_without_an_assignment_has_nothing_and_a_newer_subscription_is_read_as_far_as_known():
    newer = b"\0\x09" + subscription_bytes(TOLD).data[2:] + b"more"
    (member,) = read_group("g", value(3, subscription=newer, assignment=b"")).members
    assert (member.subscription, member.assigned) == (TOLD, ())


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"\0\x09", "a classic group has version 9, known are 0 to 4"),
        (b"", "a classic group has version -1, known are 0 to 4"),
        (b"\0\3\0\x08con", "GroupMetadataValue.protocolType"),
    ],
)
def test_bytes_that_are_no_group_are_refused(data, sentence):
    with pytest.raises(FieldsError, match=sentence):
        read_group("g", data)
