"""The compaction of internal topics: of each key the newest record stays, and coordinators read the same state."""

from types import SimpleNamespace

import pytest

from kipviz.brokers.logs.partition_log import PartitionLog, append, is_aborted, replicate
from kipviz.records.batches import ABORT, COMMIT, Batch
from kipviz.records.classic_groups import GroupMetadataRecord
from kipviz.records.consumer_offsets import (
    GROUP_EPOCH,
    GROUP_METADATA,
    MEMBER_RECORDS,
    TARGET_EPOCH,
    GroupEpochRecord,
    GroupTombstone,
    MemberRecord,
    MemberTombstone,
    OffsetCommitRecord,
    OffsetTombstone,
    RegexRecord,
    SubscriptionRecord,
    TargetEpochRecord,
    TargetRecord,
)
from kipviz.records.share_group_members import (
    OF_A_GROUP,
    OF_A_MEMBER,
    ShareGroupAssignmentRecord,
    ShareGroupDeleted,
    ShareGroupEpochRecord,
    ShareGroupMemberRecord,
    ShareGroupStatePartitionsRecord,
    ShareGroupTargetEpochRecord,
    ShareGroupTargetRecord,
    ShareGroupTombstone,
)
from kipviz.records.transaction_state import Tombstone, TransactionRecord, TransactionState
from kipviz.serving.cleaning import compaction
from kipviz.serving.cleaning.compaction import compact, key_of

OFFSETS = "__consumer_offsets-0"
TRANSACTIONS = "__transaction_state-0"


@pytest.fixture(autouse=True)
def _no_tail(monkeypatch):
    monkeypatch.setattr(compaction, "TAIL", 0)


def write(*batches, name=OFFSETS, replicated=True):
    """Return a log; a batch is its records, or (producer id, records), or (producer id, how it ends)."""
    log = PartitionLog(name)
    for each in batches:
        producer_id, said = each if isinstance(each[0], int) else (-1, each)
        more = {"control": said} if isinstance(said, str) else {"records": said}
        transactional = {"transactional": True, "producer_id": producer_id, "producer_epoch": 1}
        batch = Batch(log.end_offset, **more, **(transactional if producer_id >= 0 else {}))
        log = append(log, batch)
        log = replicate(log) if replicated else log
    return log


def read(log):
    """Return (offset, record) of what is in a log."""
    return [
        (batch.base_offset + place, record)
        for batch in log.batches
        for place, record in enumerate((batch.control,) if batch.control else batch.records)
    ]


def commit(group, offset, partition="p-0"):
    return OffsetCommitRecord(group, partition, offset)


SUBSCRIBED = SubscriptionRecord("g", "m", ("orders",))
MEMBER, TARGET = MemberRecord("g", "m", 1), TargetRecord("g", "m", ("orders-0",))
SHARED = ShareGroupMemberRecord("s", "m", ("orders",))
GENERATION = GroupMetadataRecord("c", 1)


def test_of_each_key_the_newest_record_stays_at_its_offset():
    log = write(
        (commit("a", 1), commit("b", 2), commit("c", 3)), (commit("b", 4),), (commit("a", 5),)
    )
    assert read(compact(log)) == [(2, commit("c", 3)), (3, commit("b", 4)), (4, commit("a", 5))]


def test_a_batch_of_which_the_middle_goes_is_two_with_the_offsets_of_their_records():
    log = write((commit("a", 1), commit("b", 2), commit("c", 3), commit("d", 4)), (commit("b", 5),))
    batches = compact(log).batches
    assert [(b.base_offset, b.last_offset) for b in batches] == [(0, 0), (2, 3), (4, 4)]


def test_within_a_batch_the_last_record_of_a_key_stays():
    assert read(compact(write((commit("a", 1), commit("a", 2))))) == [(1, commit("a", 2))]


@pytest.mark.parametrize(
    ("name", "record", "tombstone"),
    [
        (OFFSETS, commit("g", 1), OffsetTombstone("g", "p-0")),
        (OFFSETS, GENERATION, GroupTombstone("c", GROUP_METADATA)),
        (OFFSETS, GroupEpochRecord("g", 2), GroupTombstone("g", GROUP_EPOCH)),
        (OFFSETS, SHARED, ShareGroupTombstone("s", "m", OF_A_MEMBER[2])),
        (OFFSETS, ShareGroupEpochRecord("s", 2), ShareGroupDeleted("s", OF_A_GROUP[2])),
        (
            TRANSACTIONS,
            TransactionRecord("t", 1, 1, TransactionState.EMPTY),
            Tombstone("t"),
        ),
    ],
)
def test_a_tombstone_goes_with_what_it_deletes(name, record, tombstone):
    other = commit("other", 1) if name == OFFSETS else TransactionRecord("u", 2, 1, record.state)
    log = write((record,), (other,), (tombstone,), name=name)
    if isinstance(record, ShareGroupMemberRecord):  # the group stays
        log = write((ShareGroupEpochRecord("s", 2),), (record,), (other,), (tombstone,))
        assert read(compact(log)) == [(0, ShareGroupEpochRecord("s", 2)), (2, other)]
        return
    assert read(compact(log)) == [(1, other)]


def test_a_member_that_left_takes_its_three_records_and_its_tombstones_with_it():
    epoch = GroupEpochRecord("g", 2)
    gone = tuple(MemberTombstone("g", "m", of) for of in MEMBER_RECORDS)
    other = SubscriptionRecord("g", "n", ("orders",))
    log = write((SUBSCRIBED, other, epoch), (TARGET, TargetEpochRecord("g", 2)), (MEMBER,), gone)
    left = [(1, other), (2, epoch), (4, TargetEpochRecord("g", 2))]
    assert read(compact(log)) == left


def test_the_end_of_a_group_takes_all_of_its_records_with_it_and_nothing_of_others():
    of_group = (SUBSCRIBED, RegexRecord("g", "o.*", ("orders",)), GroupEpochRecord("g", 2))
    kept = (commit("g", 1), GroupMetadataRecord("g", 1), ShareGroupEpochRecord("g", 3))
    end = (GroupTombstone("g", TARGET_EPOCH), GroupTombstone("g", GROUP_EPOCH))
    log = write(of_group, kept, end)
    assert read(compact(log)) == [(3 + place, record) for place, record in enumerate(kept)]


def test_the_end_of_a_share_group_takes_all_of_its_records_with_it():
    of_group = (
        SHARED,
        ShareGroupTargetRecord("s", "m", ("orders-0",)),
        ShareGroupAssignmentRecord("s", "m", 1, 0, ("orders-0",)),
        ShareGroupStatePartitionsRecord("s", (), ("orders-0",)),
        ShareGroupTargetEpochRecord("s", 2),
        ShareGroupEpochRecord("s", 2),
    )
    kept = (GroupEpochRecord("s", 3),)
    end = tuple(ShareGroupDeleted("s", of) for of in OF_A_GROUP)
    assert read(compact(write(of_group, kept, end))) == [(6, kept[0])]


def test_only_the_last_of_a_share_groups_tombstones_ends_it():
    log = write((SHARED,), (ShareGroupDeleted("s", OF_A_GROUP[0]),))
    assert read(compact(log)) == [(0, SHARED)]


def test_a_record_after_the_end_of_its_group_stays():
    log = write((SUBSCRIBED,), (GroupTombstone("g", GROUP_EPOCH),), (SUBSCRIBED,))
    assert read(compact(log)) == [(2, SUBSCRIBED)]


def test_the_newest_batches_stay_with_their_tombstones_and_supersede_older_ones(monkeypatch):
    monkeypatch.setattr(compaction, "TAIL", 2)
    log = write(
        (commit("a", 1), commit("b", 2)),
        (commit("c", 1),),
        (commit("a", 3),),
        (OffsetTombstone("c", "p-0"),),
    )
    assert read(compact(log)) == [
        (1, commit("b", 2)),
        (3, commit("a", 3)),
        (4, OffsetTombstone("c", "p-0")),
    ]


def test_the_records_of_an_aborted_transaction_go_with_their_marker_and_their_index_entry():
    log = write(
        (commit("a", 1),),
        (7, (commit("a", 2),)),
        (8, (commit("b", 3),)),
        (7, ABORT),
        (8, COMMIT),
        (9, (commit("c", 4),)),
        (9, ABORT),
    )
    assert [entry.producer_id for entry in log.aborted] == [7, 9]
    cleaned = compact(log)
    assert read(cleaned) == [(0, commit("a", 1)), (2, commit("b", 3)), (4, COMMIT)]
    assert len(cleaned.aborted) == 0


def test_an_aborted_transaction_among_the_newest_batches_keeps_its_index_entry(monkeypatch):
    monkeypatch.setattr(compaction, "TAIL", 2)
    log = write((7, (commit("a", 1),)), (7, ABORT), (8, (commit("b", 2),)), (8, ABORT))
    cleaned = compact(log)
    assert [entry.producer_id for entry in cleaned.aborted] == [8]
    assert [is_aborted(cleaned, b) for b in cleaned.batches if not b.control] == [True]


def test_the_marker_of_a_committed_transaction_goes_when_its_records_are_superseded():
    log = write((7, (commit("a", 1),)), (7, COMMIT), (commit("a", 2),))
    assert read(compact(log)) == [(2, commit("a", 2))]


def test_an_open_transaction_stays_and_supersedes_nothing():
    log = write((commit("a", 1),), (7, (commit("a", 2),)))
    assert read(compact(log)) == read(log)


def test_a_tombstone_stays_while_an_earlier_record_of_its_key_is_undecided():
    log = write((7, (commit("a", 1),)), (OffsetTombstone("a", "p-0"),), (commit("b", 1),))
    assert read(compact(log)) == read(log)


def test_what_is_not_replicated_stays_and_supersedes_nothing():
    log = replicate(
        write((commit("a", 1),), (7, (commit("b", 1),)), (7, COMMIT), replicated=False), 1
    )
    later = append(log, Batch(log.end_offset, (commit("a", 2),)))
    assert read(compact(later)) == read(later)


def test_of_two_transactions_the_later_offset_counts_whichever_commits_first():
    log = write((7, (commit("a", 1),)), (8, (commit("a", 2),)), (8, COMMIT), (7, COMMIT))
    assert read(compact(log)) == [(1, commit("a", 2)), (2, COMMIT)]


def test_a_record_that_has_no_key_stays():
    plain = SimpleNamespace()
    assert key_of(plain) == ()


def test_kinds_of_records_have_keys_of_their_own():
    records = (
        commit("g", 1),
        GroupMetadataRecord("g", 1),
        GroupEpochRecord("g", 1),
        TargetEpochRecord("g", 1),
        RegexRecord("g", "m", ()),
        MEMBER,
        TARGET,
        SUBSCRIBED,
        ShareGroupTargetEpochRecord("g", 1),
        ShareGroupStatePartitionsRecord("g", (), ()),
        ShareGroupEpochRecord("g", 1),
        ShareGroupAssignmentRecord("g", "m", 1, 0, ()),
        ShareGroupTargetRecord("g", "m", ()),
        ShareGroupMemberRecord("g", "m", ("orders",)),
        TransactionRecord("g", 1, 1, TransactionState.EMPTY),
    )
    keys = [key_of(record) for record in records]
    assert () not in keys
    assert len(set(keys)) == len(records)
    tombstones = (
        *(MemberTombstone("g", "m", of) for of in MEMBER_RECORDS),
        *(ShareGroupTombstone("g", "m", of) for of in OF_A_MEMBER),
        *(ShareGroupDeleted("g", of) for of in OF_A_GROUP),
        *(GroupTombstone("g", of) for of in (GROUP_METADATA, TARGET_EPOCH, GROUP_EPOCH)),
        OffsetTombstone("g", "p-0"),
        Tombstone("g"),
    )
    assert {key_of(each) for each in tombstones} == set(keys) - {("regex", "g", "m")}
