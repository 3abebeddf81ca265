"""What `__consumer_offsets` says about the members of groups, read from bytes made field by field."""

import base64

import pytest

from kipviz.recordings.decoded.group_records import decode_record, name_topics, topics_told
from kipviz.records.consumer_offsets import (
    UNREVOKED,
    GroupEpochRecord,
    MemberRecord,
    MemberTombstone,
    RegexRecord,
    SubscriptionRecord,
    TargetEpochRecord,
    TargetRecord,
)
from kipviz.records.fields import Fields, FieldsError
from kipviz.records.share_group_members import (
    ShareGroupAssignmentRecord,
    ShareGroupEpochRecord,
    ShareGroupMemberRecord,
    ShareGroupStatePartitionsRecord,
    ShareGroupTargetEpochRecord,
    ShareGroupTargetRecord,
    ShareGroupTombstone,
)

ID = bytes(range(16))
NAME = base64.urlsafe_b64encode(ID).decode().rstrip("=")
NO_TAGS = b"\0"
MEMBER = Fields(b"\0\x01m")
GROUP = Fields(b"")


def i(size, number):
    return number.to_bytes(size, "big", signed=True)


def short(text):
    return bytes([len(text) + 1]) + text.encode()


def array(*items):
    return bytes([len(items) + 1]) + b"".join(items)


def topic(*partitions, tags=NO_TAGS):
    return ID + array(*(i(4, p) for p in partitions)) + tags


def epochs(*numbers):
    content = array(*(i(4, n) for n in numbers))
    return bytes([1, 0, len(content)]) + content


NULL = b"\0"
CLIENT = short("client") + short("/127.0.0.1")
TIMESTAMP = bytes([1, 0, 8]) + i(8, 12345)
ASSIGNED = array(topic(0, 2, tags=epochs(4, 6)))

RECORDS = [
    (3, i(4, 7) + TIMESTAMP, GroupEpochRecord("g", 7)),
    (
        5,
        NULL + NULL + CLIENT + array(short("a"), short("b")) + NULL + i(4, 300) + NULL + NO_TAGS,
        SubscriptionRecord("g", "m", ("a", "b")),
    ),
    (
        5,
        NULL + NULL + CLIENT + array() + short("s.*") + i(4, 300) + NULL + NO_TAGS,
        SubscriptionRecord("g", "m", (), regex="s.*"),
    ),
    (
        5,
        short("one") + NULL + CLIENT + array(short("a")) + NULL + i(4, 300) + NULL + NO_TAGS,
        SubscriptionRecord("g", "m", ("a",), "one"),
    ),
    (
        16,
        array(short("s1"), short("s2")) + i(8, 3) + i(8, 9) + NO_TAGS,
        RegexRecord("g", "m", ("s1", "s2")),
    ),
    (6, i(4, 8) + TIMESTAMP, TargetEpochRecord("g", 8)),
    (7, array(topic(1)) + NO_TAGS, TargetRecord("g", "m", (f"{NAME}-1",))),
    (
        8,
        i(4, 6) + i(4, 5) + i(1, 1) + ASSIGNED + array(topic(3)) + NO_TAGS,
        MemberRecord(
            "g", "m", 6, 5, UNREVOKED, ((f"{NAME}-0", 4), (f"{NAME}-2", 6)), ((f"{NAME}-3", 0),)
        ),
    ),
    (10, NULL + CLIENT + array(short("a")) + NO_TAGS, ShareGroupMemberRecord("g", "m", ("a",))),
    (
        10,  # Kafka keeps a set, in whatever order
        NULL + CLIENT + array(short("b"), short("a"), short("b")) + NO_TAGS,
        ShareGroupMemberRecord("g", "m", ("a", "b")),
    ),
    (11, i(4, 2) + i(8, -5) + NO_TAGS, ShareGroupEpochRecord("g", 2)),
    (12, i(4, 2) + NO_TAGS, ShareGroupTargetEpochRecord("g", 2)),
    (13, array(topic(0)) + NO_TAGS, ShareGroupTargetRecord("g", "m", (f"{NAME}-0",))),
    (
        14,
        i(4, 3) + i(4, 2) + i(1, 0) + array(topic(0)) + NO_TAGS,
        ShareGroupAssignmentRecord("g", "m", 3, 2, (f"{NAME}-0",)),
    ),
    (
        15,
        array(ID + short("a") + array(i(4, 1)) + NO_TAGS)
        + array(ID + short("a") + array(i(4, 0)) + NO_TAGS)
        + array(ID + short("b") + NO_TAGS)
        + NO_TAGS,
        ShareGroupStatePartitionsRecord("g", (f"{NAME}|a-1",), (f"{NAME}|a-0",), ("b",)),
    ),
]


def key_of(kind):
    return Fields(b"\0\x01m") if kind in (5, 7, 8, 10, 13, 14, 16) else Fields(b"")


@pytest.mark.parametrize(("kind", "content", "record"), RECORDS)
def test_a_record_of_a_group_says_what_the_coordinator_wrote(kind, content, record):
    assert decode_record(kind, "g", key_of(kind), i(2, 0) + content) == record


@pytest.mark.parametrize(("kind", "content", "record"), RECORDS)
def test_a_record_that_is_cut_off_or_too_long_or_of_another_version_is_refused(
    kind, content, record
):
    for cut in range(len(content)):
        with pytest.raises(FieldsError):
            decode_record(kind, "g", key_of(kind), i(2, 0) + content[:cut])
    with pytest.raises(FieldsError, match="1 bytes follow"):
        decode_record(kind, "g", key_of(kind), i(2, 0) + content + b"x")
    with pytest.raises(FieldsError, match="has version 1, known is 0"):
        decode_record(kind, "g", key_of(kind), i(2, 1) + content)


def test_a_tombstone_takes_a_member_out_and_one_of_a_group_says_nothing_here():
    assert decode_record(8, "g", key_of(8), None) == MemberTombstone("g", "m", "current assignment")
    assert decode_record(10, "g", key_of(10), None) == ShareGroupTombstone("g", "m", "subscription")
    assert decode_record(3, "g", key_of(3), None) is None


def test_a_state_that_no_member_has_and_epochs_that_do_not_fit_are_refused():
    with pytest.raises(FieldsError, match="there is no state 9 of a member"):
        decode_record(8, "g", key_of(8), i(2, 0) + i(4, 6) + i(4, 5) + i(1, 9))
    bad = i(4, 6) + i(4, 5) + i(1, 0) + array(topic(0, tags=epochs(1, 2)))
    with pytest.raises(FieldsError, match="1 partitions and 2 epochs"):
        decode_record(8, "g", key_of(8), i(2, 0) + bad)


def test_names_of_topics_are_put_in_where_they_are_known():
    target = TargetRecord("g", "m", (f"{NAME}-1", f"{NAME}-0"))
    assert name_topics(target, {NAME: "src"}).partitions == ("src-0", "src-1")
    assert name_topics(target, {}).partitions == (f"{NAME}-0", f"{NAME}-1")
    states = RECORDS[-1][2]
    assert dict(topics_told(states)) == {NAME: "a"}
    assert name_topics(states, {}).initialized == ("a-0",)
    member = next(record for _, _, record in RECORDS if isinstance(record, MemberRecord))
    assert name_topics(member, {NAME: "src"}).revoking == (("src-3", 0),)
