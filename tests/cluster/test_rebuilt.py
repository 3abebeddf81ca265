"""What a logged batch does to a coordinator that is read from a log, record by record."""

from __future__ import annotations

from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.transactions.transaction_coordinator import TransactionCoordinator
from kipviz.cluster.real.rebuilt_cluster import GONE, Entry, PassedOver, _groups, _transactions
from kipviz.messages.events import OffsetStaged, TransactionMoved
from kipviz.records.batches import Batch
from kipviz.records.consumer_offsets import MemberRecord, OffsetCommitRecord
from kipviz.records.transaction_state import TransactionRecord, TransactionState

OFFSETS, STATE = "__consumer_offsets-0", "__transaction_state-0"


def entry(partition: str, *records, base: int = 0, gone: tuple[str, ...] = (), **batch) -> Entry:
    return Entry(partition, Batch(base, records, **batch), 0, "10:00:00", gone)


def test_an_offset_keeps_its_place_when_records_before_it_say_nothing():
    nothing = PassedOver("group metadata", "g")
    role, events = _groups(
        GroupCoordinator(OFFSETS),
        entry(OFFSETS, nothing, OffsetCommitRecord("g", "src-0", 7), base=4),
    )
    assert events == ()
    assert role.offsets[("g", "src-0")].offset == 7
    assert role.offsets[("g", "src-0")].at == 5


def test_a_member_is_read_although_compaction_took_its_group_s_epoch():
    role, _ = _groups(GroupCoordinator(OFFSETS), entry(OFFSETS, MemberRecord("g", "C1", 3)))
    assert role.groups["g"].members["C1"].epoch == 3


def test_a_tombstone_deletes_an_offset_by_group_and_partition_and_a_group_by_its_name():
    role, _ = _groups(
        GroupCoordinator(OFFSETS),
        entry(
            OFFSETS,
            MemberRecord("g", "C1", 3),
            OffsetCommitRecord("g", "src-0", 7),
            OffsetCommitRecord("g", "src-1", 8),
        ),
    )
    nothing = PassedOver(GONE, "g")
    role, _ = _groups(role, entry(OFFSETS, nothing, base=3, gone=("g src-0", "g")))
    assert list(role.offsets.keys()) == [("g", "src-1")]
    assert not len(role.groups)


def test_an_offset_of_a_transaction_is_staged_for_its_producer():
    staged = entry(OFFSETS, OffsetCommitRecord("g", "src-0", 7), producer_id=9, transactional=True)
    _, events = _groups(GroupCoordinator(OFFSETS), staged)
    assert events == (OffsetStaged("g", "src-0", 7, 9),)


def test_a_record_that_says_nothing_moves_no_transaction():
    record = TransactionRecord("my-txn", 9, 0, TransactionState.EMPTY)
    nothing = PassedOver(GONE, "old-txn")
    role, events = _transactions(
        TransactionCoordinator(STATE, 0), entry(STATE, nothing, record, base=3)
    )
    assert [type(e) for e in events] == [TransactionMoved]
    assert role.transactions["my-txn"].producer_id == 9
