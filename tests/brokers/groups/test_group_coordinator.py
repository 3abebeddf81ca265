"""The group coordinator: offsets that wait for a transaction's end."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import NOBODY, ReplyTo
from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.groups.group_state import GroupCoordinator, replay
from kipviz.brokers.local_calls import WriteMarker
from kipviz.brokers.logs.partition_log import append, replicate
from kipviz.brokers.membership.consumer_group import ConsumerGroup
from kipviz.brokers.membership.share_group import ShareGroup
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import GroupOffset, TxnOffsetCommit
from kipviz.messages.transactions.transactions import (
    PartitionResult,
)
from kipviz.records.batches import Batch, DataRecord
from kipviz.records.consumer_offsets import (
    GROUP_EPOCH,
    TARGET_EPOCH,
    GroupTombstone,
    MemberRecord,
    OffsetCommitRecord,
    OffsetTombstone,
)
from kipviz.records.placement import partition_for
from kipviz.records.share_group_members import OF_A_GROUP, ShareGroupDeleted
from tests.brokers.coordinator_answers import answer_of, enlisted, with_tag
from tests.messages import offset_fetches

HERE = "__consumer_offsets-0"
HOME = f"__transaction_state-{partition_for('t', 50)}"


LEADERS = {HERE: 1, HOME: 7} | dict.fromkeys(("foo-0", "foo-1", "bar-0", "bar-1"), 5)


@pytest.fixture
def desk():
    desk = Desk(gc, GroupCoordinator(HERE, loading=True), leaders=LEADERS)
    known = (
        MemberRecord("g", "m", 2),
        OffsetCommitRecord("g", "foo-0", 100),
        OffsetCommitRecord("g", "foo-1", 110),
        OffsetCommitRecord("g", "bar-0", 200),
    )
    desk.logs[HERE] = replicate(append(desk.logs[HERE], Batch(0, known)))
    desk.do(gc.on_loaded(desk.role, desk.on))
    return desk


def commit(desk, *offsets, pid=10, epoch=0, member="m", member_epoch=2):
    named = tuple(GroupOffset(p, o) for p, o in offsets)
    request = TxnOffsetCommit("t", "g", pid, epoch, member, member_epoch, named)
    return desk.ask(gc.on_txn_offset_commit, request)


def answer_enlistment(desk, pid=10, epoch=0, error=Errors.NONE):
    answer = enlisted(error, "t", pid, epoch, (HERE,))
    desk.do(gc.on_enlisted(desk.role, answer, desk.on))


def mark(desk, pid=10, epoch=1, *, outcome=True):
    to = ReplyTo("B7/markers", 1, 0)
    desk.do(
        gc.on_write_marker(desk.role, WriteMarker(to, HERE, pid, epoch, outcome, 0, 2), desk.on)
    )


def fetch_value(desk, partition, *, stable=True):
    answer = offset_fetches.fetch_offset_of(desk, partition, stable)
    return answer.error.value or answer.offset


def test_a_yes_from_before_the_marker_does_not_verify_a_commit_that_asks_after_it(desk):
    """Below transaction version 2 the next transaction has the same epoch."""
    request = TxnOffsetCommit("t", "g", 10, 0, "m", 2, (GroupOffset("foo-1", 111),), version=4)
    yes = enlisted(Errors.NONE, "t", 10, 0, (HERE,))
    desk.ask(gc.on_txn_offset_commit, request)
    mark(desk, epoch=0)
    desk.ask(gc.on_txn_offset_commit, request)
    asked = [r.tag for r in desk.requests]
    desk.do(gc.on_enlisted(desk.role, with_tag(yes, asked[0]), desk.on))
    assert [m.error for _, m in desk.replies] == [Errors.INVALID_TXN_STATE]
    assert not desk.role.pending
    desk.do(gc.on_enlisted(desk.role, with_tag(yes, asked[1]), desk.on))
    assert desk.last.error is Errors.NONE
    assert fetch_value(desk, "foo-1") == 88


def test_a_pending_offset_hides_the_committed_one_from_whoever_wants_stable_offsets(desk):
    """OMM.testFetchOffsetsWithPendingTransactionalOffsets."""
    commit(desk, ("foo-1", 111), ("bar-0", 201), ("bar-1", 1))
    answer_enlistment(desk)
    names = ("foo-0", "foo-1", "bar-0", "bar-1")
    assert [fetch_value(desk, n) for n in names] == [100, 88, 88, 88]
    assert [fetch_value(desk, n, stable=False) for n in names] == [100, 110, 200, -1]


def test_metadata_that_is_too_long_is_refused_and_the_rest_is_pending(desk):
    named = (GroupOffset("foo-1", 111, 3, "mine"), GroupOffset("bar-0", 201, 3, "x" * 4_097))
    desk.ask(gc.on_txn_offset_commit, TxnOffsetCommit("t", "g", 10, 0, "m", 2, named))
    answer_enlistment(desk)
    refused = PartitionResult("bar-0", Errors.OFFSET_METADATA_TOO_LARGE)
    assert desk.last.results == (PartitionResult("foo-1", Errors.NONE), refused)
    mark(desk)
    found = offset_fetches.fetch_offset_of(desk, "foo-1")
    assert (found.offset, found.leader_epoch, found.metadata) == (111, 3, "mine")
    assert fetch_value(desk, "bar-0") == 200
    desk.ask(gc.on_txn_offset_commit, TxnOffsetCommit("t", "g", 10, 1, "m", 2, named[1:]))
    answer_enlistment(desk, epoch=1)
    assert desk.last.results == (refused,)
    assert not desk.role.pending


@pytest.mark.parametrize(("outcome", "offset"), [(True, 111), (False, 110)])
def test_the_marker_commits_or_drops_what_was_pending(desk, outcome, offset):
    commit(desk, ("foo-1", 111))
    answer_enlistment(desk)
    mark(desk, outcome=outcome)
    assert fetch_value(desk, "foo-1") == offset
    assert not desk.role.pending


def test_of_two_commits_the_one_that_is_later_in_the_log_counts(desk):
    """Most recent write wins, not the highest offset."""
    commit(desk, ("foo-0", 150), pid=10)
    answer_enlistment(desk)
    commit(desk, ("foo-0", 120), pid=11)
    answer_enlistment(desk, pid=11)
    mark(desk, pid=11)
    mark(desk, pid=10)
    assert fetch_value(desk, "foo-0") == 120


def test_a_marker_of_a_producer_without_offsets_is_appended_and_ignored(desk):
    before = desk.role.offsets
    mark(desk, pid=77)
    assert desk.role.offsets == before
    assert desk.logs[HERE].batches[-1].control == "COMMIT"


@pytest.mark.parametrize(
    ("member", "epoch", "error"),
    [("nobody", 2, 25), ("m", 1, 113), ("m", 3, 113), ("m", 2, 0)],
)
def test_the_member_is_checked_once_the_partition_is_enlisted(desk, member, epoch, error):
    """KIP-1319: version 6 says STALE_MEMBER_EPOCH."""
    assert commit(desk, ("foo-0", 101), member=member, member_epoch=epoch) is None
    answer_enlistment(desk)
    assert desk.last.error.value == error


def test_a_second_commit_in_the_transaction_asks_nobody(desk):
    commit(desk, ("foo-0", 101))
    answer_enlistment(desk)
    assert commit(desk, ("foo-0", 102)).error is Errors.NONE
    assert len(desk.requests) == 1
    assert [b.base_sequence for b in desk.logs[HERE].batches[1:]] == [0, 0]


def test_an_older_epoch_is_refused_before_anybody_is_asked(desk):
    commit(desk, ("foo-0", 101))
    answer_enlistment(desk)
    mark(desk)
    assert commit(desk, ("foo-0", 102)).error is Errors.INVALID_PRODUCER_EPOCH
    assert len(desk.requests) == 1


def test_a_yes_that_comes_after_the_marker_is_too_late(desk):
    commit(desk, ("foo-0", 101))
    mark(desk, outcome=False)
    answer_enlistment(desk)
    assert desk.last.error is Errors.INVALID_PRODUCER_EPOCH
    assert fetch_value(desk, "foo-0") == 100


def test_a_marker_that_arrives_while_the_coordinator_loads_is_sent_again():
    """KafkaApis.handleWriteTxnMarkersRequest: COORDINATOR_LOAD_IN_PROGRESS becomes NOT_LEADER_OR_FOLLOWER."""
    loading = Desk(gc, GroupCoordinator(HERE, loading=True), leaders=LEADERS)
    mark(loading)
    assert loading.local[-1].message.error is Errors.NOT_LEADER_OR_FOLLOWER
    assert not loading.written(HERE)


@pytest.mark.parametrize(("marked", "epoch"), [(11, 1), (11, 0), (10, 1)])
def test_a_yes_still_counts_after_another_producer_s_marker_or_that_of_the_transaction_before(
    desk, marked, epoch
):
    """ProducerStateManager.clearVerificationStateEntry; the epoch of a marker is the next transaction's (KIP-890)."""
    commit(desk, ("foo-0", 101), epoch=epoch)
    mark(desk, pid=marked, epoch=1)
    answer_enlistment(desk, epoch=epoch)
    assert desk.last.error is Errors.NONE


def test_an_offset_fetch_is_answered_only_when_what_it_has_seen_is_replicated(desk):
    """CoordinatorRuntime: a write operation without records waits for the writes before it."""
    commit(desk, ("foo-0", 101))
    answer_enlistment(desk)
    desk.instant = False
    mark(desk)
    assert offset_fetches.fetch_offset_of(desk, "foo-0") is None
    desk.replicate()
    assert desk.last.groups[0].result_of("foo-0").offset == 101


def test_without_a_transaction_coordinator_the_commit_has_to_be_tried_again(desk):
    desk.leaders[HOME] = NOBODY
    assert commit(desk, ("foo-0", 101)).error is Errors.COORDINATOR_NOT_AVAILABLE


def test_a_lost_enlistment_is_answered_as_loading(desk):
    commit(desk, ("foo-0", 101))
    (asked,) = desk.requests[0].message.transactions
    lost = answer_of(asked, Errors.NETWORK_EXCEPTION)
    desk.do(gc.on_enlisted(desk.role, lost, desk.on))
    assert desk.last.error is Errors.COORDINATOR_LOAD_IN_PROGRESS
    assert not desk.role.enlisting


def test_a_new_coordinator_finds_the_same_in_the_log(desk):
    commit(desk, ("foo-0", 101))
    answer_enlistment(desk)
    before = desk.role
    desk.role = GroupCoordinator(HERE, loading=True)
    assert fetch_value(desk, "foo-0") == 14
    assert commit(desk, ("foo-0", 102)).error is Errors.COORDINATOR_LOAD_IN_PROGRESS
    desk.do(gc.on_loaded(desk.role, desk.on))
    assert desk.role == before


def test_a_later_commit_of_the_same_transaction_replaces_the_pending_offset(desk):
    commit(desk, ("foo-0", 101), ("bar-0", 201))
    answer_enlistment(desk)
    commit(desk, ("foo-0", 102))
    staged = [(p.partition, p.offset) for p in desk.role.pending[10]]
    assert staged == [("bar-0", 201), ("foo-0", 102)]


def test_a_group_of_kip_848_is_gone_with_the_last_of_its_tombstones_and_not_before(desk):
    desk.role = desk.role.but(groups=desk.role.groups.set("h", ConsumerGroup(3, 3)))
    for of, there in ((TARGET_EPOCH, True), (GROUP_EPOCH, False)):
        desk.role = replay(desk.role, Batch(0, (GroupTombstone("h", of),)))
        assert ("h" in desk.role.groups) is there


def test_a_share_group_is_gone_with_the_last_of_its_tombstones_and_not_before(desk):
    desk.role = desk.role.but(share_groups=desk.role.share_groups.set("s", ShareGroup()))
    *first, last = OF_A_GROUP
    for of in first:
        desk.role = replay(desk.role, Batch(0, (ShareGroupDeleted("s", of),)))
        assert "s" in desk.role.share_groups
    desk.role = replay(desk.role, Batch(0, (ShareGroupDeleted("s", last),)))
    assert "s" not in desk.role.share_groups


def test_a_record_of_another_coordinator_is_no_part_of_this_log(desk):
    with pytest.raises(AssertionError, match="no group coordinator writes a DataRecord"):
        replay(desk.role, Batch(0, (DataRecord("1"),)))


def test_what_a_coordinator_writes_by_itself_keeps_nobody_waiting(desk):
    desk.instant = False
    assert desk.role.waiting == ()
    desk.do(gc.on_topic_deleted(desk.role, "bar", desk.on))
    assert desk.written(HERE)[-1] == OffsetTombstone("g", "bar-0")
    assert desk.role.waiting == ()
