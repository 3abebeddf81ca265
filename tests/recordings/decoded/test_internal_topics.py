"""Reading the records of Kafka's internal topics, in every layout that they have had."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipviz.recordings.decoded.group_records import CLASSIC, READ
from kipviz.recordings.decoded.internal_topics import (
    GROUP_KINDS,
    LoggedGroupRecord,
    LoggedShareSnapshot,
    LoggedShareUpdate,
    LoggedTombstone,
    decode,
    markers,
)
from kipviz.recordings.files.segments import LoggedBatch, LoggedRecord, Segment
from kipviz.recordings.recording_error import RecordingError
from kipviz.records.share_group_state import RecordState, StateBatch
from kipviz.records.transaction_state import TransactionState

TRANSACTIONS = "__transaction_state"
OFFSETS = "__consumer_offsets"
SHARES = "__share_group_state"
UUID = bytes.fromhex("0123456789abcdeffedcba9876543210")  # printed ASNFZ4mrze_-3LqYdlQyEA


def i(size, number):
    return number.to_bytes(size, "big", signed=True)


def text(value):
    return i(2, len(value)) + value.encode()


def uvarint(number):
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def compact(value):
    return uvarint(len(value) + 1) + value.encode()


def tags(**fields):
    """Tagged fields, named t0, t1, …."""
    out = uvarint(len(fields))
    for name, content in fields.items():
        out += uvarint(int(name[1:])) + uvarint(len(content)) + content
    return out


def segment(key, value, **header):
    batch = LoggedBatch(
        position=40,
        size=100,
        base_offset=7,
        last_offset=7,
        leader_epoch=3,
        transactional=False,
        control=False,
        compression="none",
        append_time=False,
        base_timestamp=0,
        max_timestamp=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        records=(LoggedRecord(7, 0, key, value, (), 101),),
    )
    return Segment("x.log", (batch.but(**header),))


def one(key, value, topic, **header):
    (found,) = decode(segment(key, value, **header), topic)
    return found


TXN_KEY = i(2, 0) + text("my-txn")


def transaction_v0(state=1, topics=(("a", (0, 3)),)):
    partitions = (
        i(4, -1)
        if topics is None
        else i(4, len(topics))
        + b"".join(text(t) + i(4, len(ids)) + b"".join(i(4, p) for p in ids) for t, ids in topics)
    )
    head = i(2, 0) + i(8, 12) + i(2, 5) + i(4, 60000) + i(1, state)
    return head + partitions + i(8, 1000) + i(8, 900)


def transaction_v1(state=1, topics=(("a", (0, 3)),), ending=b"\0"):
    partitions = (
        b"\0"
        if topics is None
        else uvarint(len(topics) + 1)
        + b"".join(
            compact(t) + uvarint(len(ids) + 1) + b"".join(i(4, p) for p in ids) + b"\0"
            for t, ids in topics
        )
    )
    head = i(2, 1) + i(8, 12) + i(2, 5) + i(4, 60000) + i(1, state)
    return head + partitions + i(8, 1000) + i(8, 900) + ending


@pytest.mark.parametrize("value", [transaction_v0(), transaction_v1()])
def test_both_layouts_of_a_transaction_say_the_same(value):
    found = one(TXN_KEY, value, TRANSACTIONS)
    assert found.version == value[1]
    assert found.but(version=0) == found.but(
        version=0,
        offset=7,
        transactional_id="my-txn",
        producer_id=12,
        previous_producer_id=-1,
        next_producer_id=-1,
        producer_epoch=5,
        next_producer_epoch=-1,
        timeout_ms=60000,
        state=TransactionState.ONGOING,
        partitions=(("a", (0, 3)),),
        last_update_ms=1000,
        start_ms=900,
        client_transaction_version=0,
    )


def test_the_tagged_fields_of_a_transaction_are_read():
    ending = tags(t0=i(8, 11), t1=i(8, 13), t2=i(2, 2), t3=i(2, 4))
    found = one(TXN_KEY, transaction_v1(ending=ending), TRANSACTIONS)
    assert found.previous_producer_id == 11
    assert found.next_producer_id == 13
    assert found.client_transaction_version == 2
    assert found.next_producer_epoch == 4


@pytest.mark.parametrize("layout", [transaction_v0, transaction_v1])
def test_null_partitions_are_not_an_empty_list(layout):
    assert one(TXN_KEY, layout(topics=None), TRANSACTIONS).partitions is None
    assert one(TXN_KEY, layout(topics=()), TRANSACTIONS).partitions == ()


@pytest.mark.parametrize("state", TransactionState)
def test_every_state_has_kafkas_number(state):
    number = list(TransactionState).index(state)
    assert one(TXN_KEY, transaction_v0(state=number), TRANSACTIONS).state is state


def test_a_null_value_is_a_tombstone():
    assert one(TXN_KEY, None, TRANSACTIONS) == LoggedTombstone(7, "Transaction", "my-txn")
    offset = i(2, 1) + text("g") + text("src") + i(4, 2)
    assert one(offset, None, OFFSETS) == LoggedTombstone(7, "Offset", "g src-2")
    share = i(2, 0) + text("g") + UUID + i(4, 2)
    expected = LoggedTombstone(7, "ShareSnapshot", "g:ASNFZ4mrze_-3LqYdlQyEA:2")
    assert one(share, None, SHARES) == expected


OFFSET_KEY = i(2, 1) + text("g") + text("src") + i(4, 2)


@pytest.mark.parametrize(
    ("value", "leader_epoch", "expires", "topic_id"),
    [
        (i(2, 0) + i(8, 42) + text("m") + i(8, 5), -1, -1, ""),
        (i(2, 1) + i(8, 42) + text("m") + i(8, 5) + i(8, 9), -1, 9, ""),
        (i(2, 2) + i(8, 42) + text("m") + i(8, 5), -1, -1, ""),
        (i(2, 3) + i(8, 42) + i(4, 6) + text("m") + i(8, 5), 6, -1, ""),
        (i(2, 4) + i(8, 42) + i(4, 6) + compact("m") + i(8, 5) + b"\0", 6, -1, ""),
        (
            i(2, 4) + i(8, 42) + i(4, 6) + compact("m") + i(8, 5) + tags(t0=UUID),
            6,
            -1,
            "ASNFZ4mrze_-3LqYdlQyEA",
        ),
    ],
)
def test_every_layout_of_a_committed_offset_is_read(value, leader_epoch, expires, topic_id):
    found = one(OFFSET_KEY, value, OFFSETS)
    assert (found.group, found.topic, found.partition) == ("g", "src", 2)
    assert (found.committed_offset, found.metadata, found.commit_ms) == (42, "m", 5)
    assert (found.leader_epoch, found.expire_ms, found.topic_id) == (
        leader_epoch,
        expires,
        topic_id,
    )
    assert (found.producer_id, found.producer_epoch) == (-1, -1)


def test_an_offset_belongs_to_a_producer_only_in_a_transactional_batch():
    value = i(2, 2) + i(8, 42) + text("") + i(8, 5)
    plain = one(OFFSET_KEY, value, OFFSETS, producer_id=9, producer_epoch=1)
    inside = one(OFFSET_KEY, value, OFFSETS, producer_id=9, producer_epoch=1, transactional=True)
    assert (plain.producer_id, plain.producer_epoch) == (-1, -1)
    assert (inside.producer_id, inside.producer_epoch) == (9, 1)


NAMED_ONLY = [kind for kind in GROUP_KINDS if kind not in (CLASSIC, *READ)]


@pytest.mark.parametrize("kind", NAMED_ONLY)
def test_records_of_groups_that_are_not_modelled_are_named_only(kind):
    found = one(i(2, kind) + text("g") + b"whatever", b"unread", OFFSETS)
    assert found == LoggedGroupRecord(7, GROUP_KINDS[kind], "g", tombstone=False)
    assert one(i(2, kind) + text("g"), None, OFFSETS).tombstone


NUMBERS = st.integers(0, 2**31 - 1)
BATCHES = st.lists(
    st.builds(
        lambda first, more, state, count: StateBatch(first, first + more, state, count),
        st.integers(0, 2**40),
        st.integers(0, 2**20),
        st.sampled_from(RecordState),
        st.integers(0, 2**15 - 1),
    ),
    max_size=5,
)


def encode_batches(found):
    return uvarint(len(found) + 1) + b"".join(
        i(8, b.first) + i(8, b.last) + i(1, b.state) + i(2, b.delivery_count) + b"\0" for b in found
    )


@given(NUMBERS, NUMBERS, NUMBERS, st.integers(-1, 2**50), st.none() | NUMBERS, BATCHES)
def test_a_share_snapshot_is_read_as_it_was_written(epoch, state, leader, start, complete, found):
    ending = b"\0" if complete is None else tags(t0=i(4, complete))
    value = i(2, 0) + i(4, epoch) + i(4, state) + i(4, leader) + i(8, start) + i(8, 1) + i(8, 2)
    read = one(
        i(2, 0) + text("g1") + UUID + i(4, 7), value + encode_batches(found) + ending, SHARES
    )
    assert read == LoggedShareSnapshot(
        offset=7,
        group="g1",
        topic_id="ASNFZ4mrze_-3LqYdlQyEA",
        partition=7,
        snapshot_epoch=epoch,
        state_epoch=state,
        leader_epoch=leader,
        start_offset=start,
        delivery_complete_count=-1 if complete is None else complete,
        created_ms=1,
        written_ms=2,
        batches=tuple(found),
    )


@given(NUMBERS, NUMBERS, st.integers(-1, 2**50), st.none() | NUMBERS, BATCHES)
def test_a_share_update_is_read_as_it_was_written(epoch, leader, start, complete, found):
    ending = b"\0" if complete is None else tags(t0=i(4, complete))
    value = i(2, 0) + i(4, epoch) + i(4, leader) + i(8, start) + encode_batches(found) + ending
    assert one(i(2, 1) + text("g1") + UUID + i(4, 7), value, SHARES) == LoggedShareUpdate(
        offset=7,
        group="g1",
        topic_id="ASNFZ4mrze_-3LqYdlQyEA",
        partition=7,
        snapshot_epoch=epoch,
        leader_epoch=leader,
        start_offset=start,
        delivery_complete_count=-1 if complete is None else complete,
        batches=tuple(found),
    )


@pytest.mark.parametrize(("kind", "committed"), [(0, False), (1, True)])
def test_a_marker_has_the_identity_of_its_batch(kind, committed):
    found = segment(
        i(2, 0) + i(2, kind),
        i(2, 0) + i(4, 21),
        control=True,
        transactional=True,
        producer_id=12,
        producer_epoch=6,
    )
    (marker,) = markers(found)
    assert marker.committed is committed
    assert (marker.producer_id, marker.producer_epoch) == (12, 6)
    assert (marker.coordinator_epoch, marker.leader_epoch) == (21, 3)
    assert decode(found, OFFSETS) == (marker,)


MARKER_VALUE = i(2, 0) + i(4, 1)
SHARE_KEY = i(2, 1) + text("g") + UUID + i(4, 0)


@pytest.mark.parametrize(
    ("topic", "key", "value", "sentence"),
    [
        (TRANSACTIONS, None, transaction_v0(), "it has no key"),
        (TRANSACTIONS, b"", transaction_v0(), "the key's version needs 2 bytes, 0 are left"),
        (TRANSACTIONS, i(2, 1) + text("a"), b"", "the key has version 1, known is 0"),
        (TRANSACTIONS, TXN_KEY + b"!", b"", "1 bytes follow the key"),
        (TRANSACTIONS, i(2, 0) + i(2, -1), b"", "the transactional id may not be null"),
        (TRANSACTIONS, i(2, 0) + i(2, -2), b"", "has the negative length -2"),
        (TRANSACTIONS, i(2, 0) + i(2, 1) + b"\xff", b"", "is not UTF-8 text"),
        (TRANSACTIONS, TXN_KEY, i(2, 2), "has version 2, known are 0 to 1"),
        (TRANSACTIONS, TXN_KEY, i(2, -1), "has version -1"),
        (TRANSACTIONS, TXN_KEY, transaction_v0(state=8), "there is no transaction state 8"),
        (TRANSACTIONS, TXN_KEY, transaction_v0()[:-1], "the start time needs 8 bytes"),
        (TRANSACTIONS, TXN_KEY, transaction_v0() + b"\0", "1 bytes follow the transaction's state"),
        (TRANSACTIONS, TXN_KEY, transaction_v1(ending=tags(t4=b"x")), "has the unknown tag 4"),
        (TRANSACTIONS, TXN_KEY, transaction_v1(ending=tags(t0=b"x")), "needs 8 bytes, 1 are left"),
        (TRANSACTIONS, TXN_KEY, transaction_v1(ending=tags(t1=i(8, 1), t0=i(8, 1))), "in order"),
        (TRANSACTIONS, TXN_KEY, transaction_v1(ending=b"\xff" * 6), "not a number of 32 bits"),
        (OFFSETS, i(2, 99) + text("g"), b"", "the key has the unknown kind 99"),
        (OFFSETS, i(2, -1) + text("g"), b"", "the key has the unknown kind -1"),
        (OFFSETS, OFFSET_KEY, i(2, 5), "has version 5, known are 0 to 4"),
        (SHARES, i(2, 2) + text("g") + UUID + i(4, 0), b"", "the key has the unknown kind 2"),
        (SHARES, SHARE_KEY, i(2, 1), "the update has version 1, known are 0 to 0"),
        (
            SHARES,
            SHARE_KEY,
            i(2, 0) + bytes(16) + b"\x02" + i(8, 0) + i(8, 0) + i(1, 6) + i(2, 1) + b"\0\0",
            "there is no delivery state 6",
        ),
        (
            SHARES,
            SHARE_KEY,
            i(2, 0) + bytes(16) + b"\x02" + i(8, 5) + i(8, 4) + i(1, 0) + i(2, 1) + b"\0\0",
            "a state batch runs from offset 5 to 4",
        ),
        (SHARES, SHARE_KEY, i(2, 0) + bytes(16) + b"\x7f\0", "cannot have 126 items"),
    ],
)
def test_what_is_not_understood_is_refused_with_file_and_byte(topic, key, value, sentence):
    with pytest.raises(RecordingError) as refused:
        decode(segment(key, value), topic)
    assert str(refused.value).startswith("x.log, byte 101: the record at offset 7 cannot be read: ")
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        (i(2, 1) + i(2, 1), MARKER_VALUE, "has version 1, known is 0"),
        (i(2, 0) + i(2, 2), MARKER_VALUE, "the unknown type 2"),
        (i(2, 0) + i(2, 1), i(2, 1) + i(4, 1), "the marker has version 1"),
        (i(2, 0) + i(2, 1), None, "the marker is null"),
        (None, MARKER_VALUE, "it has no key"),
    ],
)
def test_a_marker_that_is_not_understood_is_refused(key, value, sentence):
    with pytest.raises(RecordingError, match=f"byte 101.*{sentence}"):
        markers(segment(key, value, control=True))


@given(
    st.binary(max_size=60), st.binary(max_size=80), st.sampled_from([TRANSACTIONS, OFFSETS, SHARES])
)
def test_any_bytes_are_read_or_refused_and_nothing_else_happens(key, value, topic):
    try:
        found = decode(segment(key, value), topic)
    except RecordingError:
        return
    assert len(found) == 1


@given(st.data())
def test_a_value_cut_off_anywhere_is_refused(data):
    key, value, topic = data.draw(
        st.sampled_from(
            [
                (TXN_KEY, transaction_v0(), TRANSACTIONS),
                (TXN_KEY, transaction_v1(ending=tags(t2=i(2, 2))), TRANSACTIONS),
                (OFFSET_KEY, i(2, 4) + i(8, 1) + i(4, 6) + compact("m") + i(8, 5) + b"\0", OFFSETS),
                (SHARE_KEY, i(2, 0) + bytes(16) + b"\x01" + tags(t0=i(4, 3)), SHARES),
            ]
        )
    )
    cut = data.draw(st.integers(0, len(value) - 1))
    with pytest.raises(RecordingError):
        decode(segment(key, value[:cut]), topic)


def test_only_the_internal_topics_can_be_read():
    with pytest.raises(
        ValueError, match="src is not an internal topic that can be read; these are: __tr"
    ):
        decode(segment(TXN_KEY, transaction_v0()), "src")


def test_an_array_that_claims_more_than_there_is_costs_no_memory():
    value = i(2, 0) + i(8, 12) + i(2, 5) + i(4, 60000) + i(1, 1) + struct.pack(">i", 2**31 - 1)
    with pytest.raises(RecordingError, match="the partitions cannot have 2147483647 items"):
        decode(segment(TXN_KEY, value + bytes(16)), TRANSACTIONS)


def test_kinds_of_group_records_have_kafka_s_numbers() -> None:
    """CoordinatorRecordType: the version of a record's key."""
    assert {kind: GROUP_KINDS[kind] for kind in (2, 3, 4, 5, 8)} == {
        2: "GroupMetadata",
        3: "ConsumerGroupMetadata",
        4: "ConsumerGroupPartitionMetadata",
        5: "ConsumerGroupMemberMetadata",
        8: "ConsumerGroupCurrentMemberAssignment",
    }
