"""What a logged batch does to a coordinator that is read from a log, record by record."""

from __future__ import annotations

import pytest

from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.cluster.real.rebuilt_cluster import (
    GONE,
    PassedOver,
    RebuiltBatch,
    _groups,
    _remove_marked,
    _transactions,
)
from kipviz.core.table import Table
from kipviz.messages.events import OffsetStaged, TransactionDecided, TransactionMoved
from kipviz.records.batches import Batch
from kipviz.records.consumer_offsets import MemberRecord, OffsetCommitRecord
from kipviz.records.transaction_state import TransactionRecord, TransactionState

OFFSETS, STATE = "__consumer_offsets-0", "__transaction_state-0"


def entry(
    partition: str, *records, base: int = 0, gone: tuple[str, ...] = (), **batch
) -> RebuiltBatch:
    return RebuiltBatch(partition, Batch(base, records, **batch), 0, "10:00:00", gone)


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


def decision_record(state, *partitions, epoch=1, pid=9, name="my-txn"):
    return TransactionRecord(name, pid, epoch, state, partitions)


@pytest.mark.parametrize(
    ("state", "committed"),
    [(TransactionState.PREPARE_COMMIT, True), (TransactionState.PREPARE_ABORT, False)],
)
def test_a_transaction_is_decided_once_in_the_epoch_that_it_was_carried_out_in(state, committed):
    """KIP-890: the record of the decision has the next epoch, the batches have the one before."""
    role = TransactionCoordinator(STATE, 0)
    first = decision_record(TransactionState.ONGOING, "out-0", "out-1", epoch=0)
    role, told = _transactions(role, entry(STATE, first))
    assert told == (
        TransactionMoved("my-txn", 9, 0, None, TransactionState.ONGOING, ("out-0", "out-1")),
    )
    record = decision_record(state, "out-0", "out-1")
    role, told = _transactions(role, entry(STATE, record, base=1))
    assert told == (
        TransactionMoved("my-txn", 9, 1, TransactionState.ONGOING, state, ("out-0", "out-1")),
        TransactionDecided("my-txn", 9, 0, committed),
    )
    _, again = _transactions(role, entry(STATE, record, base=2))
    assert [type(e) for e in again] == [TransactionMoved]


def test_a_decision_that_is_the_first_that_is_left_of_its_transaction_is_told_as_it_stands():
    """Compaction may have taken the records before it away."""
    role = TransactionCoordinator(STATE, 0)
    record = decision_record(TransactionState.PREPARE_ABORT, "out-0", pid=0)
    _, told = _transactions(role, entry(STATE, record))
    assert told[-1] == TransactionDecided("my-txn", 0, 1, False)


def test_a_tombstone_deletes_a_transaction_by_its_name_and_no_other_one():
    role = TransactionCoordinator(STATE, 0)
    records = (
        decision_record(TransactionState.EMPTY),
        decision_record(TransactionState.EMPTY, name="other"),
    )
    role, _ = _transactions(role, entry(STATE, *records))
    role, _ = _transactions(role, entry(STATE, PassedOver(GONE, "other"), gone=("other",)))
    assert list(role.transactions.keys()) == ["my-txn"]


def test_a_marker_leaves_the_partitions_that_its_transaction_still_waits_for():
    role = TransactionCoordinator(STATE, 0)
    waiting = decision_record(TransactionState.PREPARE_COMMIT, "out-0", "out-1")
    another = decision_record(TransactionState.PREPARE_COMMIT, "out-0", pid=8, name="another")
    ongoing = decision_record(TransactionState.ONGOING, "out-0", pid=7, name="ongoing")
    role, _ = _transactions(role, entry(STATE, waiting, another, ongoing))
    groups = GroupCoordinator(OFFSETS)
    roles = Table.of({"groups": groups, "transactions": role})
    roles = _remove_marked(roles, "out-0", Batch(5, (), producer_id=9, control="COMMIT"))
    roles = _remove_marked(roles, "out-0", Batch(6, (), producer_id=7, control="COMMIT"))
    left = {n: t.partitions for n, t in roles["transactions"].transactions.items()}
    assert left == {"my-txn": ("out-1",), "another": ("out-0",), "ongoing": ("out-0",)}
    assert roles["groups"] is groups


def test_an_offset_without_a_transaction_is_staged_for_nobody():
    plain = entry(OFFSETS, OffsetCommitRecord("g", "src-0", 7))
    assert _groups(GroupCoordinator(OFFSETS), plain)[1] == ()
