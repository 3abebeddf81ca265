"""Guards of the coordinators that decide what is told: who resigns, what failed, who is asked, what is let in."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kipviz.brokers.context import MarkersOf, ReplyTo
from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.groups import offset_fetches
from kipviz.brokers.groups.group_state import CommittedOffset, GroupCoordinator, PendingOffset
from kipviz.brokers.membership.consumer_group import ConsumerGroup, GroupMember
from kipviz.brokers.share_coordinators import share_coordinator as sc
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.brokers.timers import TransactionalIdExpiry
from kipviz.brokers.transactions import transaction_coordinator as tc
from kipviz.brokers.transactions import transaction_state_manager
from kipviz.brokers.transactions.transaction_append import PendingAppend
from kipviz.brokers.transactions.transaction_metadata import completion_of
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.core.table import Table
from kipviz.driving.desk import TOPIC_IDS, Desk
from kipviz.messages.errors import Errors
from kipviz.messages.events import TransactionMoved
from kipviz.messages.groups.groups import (
    GroupOffset,
    OffsetCommit,
    OffsetFetchGroup,
    TxnOffsetCommit,
)
from kipviz.messages.message_errors import error_in
from kipviz.messages.shares.share_state import InitializeShareGroupState, InitializeStateData
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    TxnPartitions,
)
from kipviz.records.consumer_offsets import OffsetTombstone
from kipviz.records.transaction_state import TransactionState

S = TransactionState
SENT = MarkersOf(2, "t")
STRICT = (("__transaction_state", 2),)
LOG, OFFSETS, SHARES = "__transaction_state-0", "__consumer_offsets-0", "__share_group_state-0"


def transactions(**more):
    role = TransactionCoordinator(LOG, 2)
    return Desk(tc, role, leaders={LOG: 1, "out-0": 3, "out-1": 3}, **more)


def groups(**more):
    return Desk(
        gc, GroupCoordinator(OFFSETS), leaders={OFFSETS: 1, "src-0": 5, "other-0": 5}, **more
    )


def shares():
    return Desk(sc, ShareCoordinator(SHARES), leaders={SHARES: 1, "src-0": 5})


def ongoing():
    desk = transactions()
    desk.ask(tc.on_init_producer_id, InitProducerId("t"))
    desk.ask(tc.on_add_partitions, AddPartitionsToTxn((TxnPartitions("t", 9, 0, ("out-0",)),)))
    return desk


def list_checks(checks):
    return [(check.name, check.found, check.error) for check in checks]


@pytest.mark.parametrize(
    ("desk", "ask", "request_"),
    [
        (transactions, tc.on_init_producer_id, InitProducerId("t")),
        (groups, gc.on_offset_commit, OffsetCommit("g", "", -1, (GroupOffset("src-0", 3),))),
        (
            shares,
            sc.on_initialize,
            InitializeShareGroupState((InitializeStateData(f"g:{TOPIC_IDS['src']}:0", 1, 0),)),
        ),
    ],
    ids=["transaction coordinator", "group coordinator", "share coordinator"],
)
def test_a_coordinator_that_resigns_tells_who_waits_why_and_says_nothing_where_nobody_does(
    desk, ask, request_
):
    at = desk()
    left = at.module.on_resigned(at.role, at.on)
    assert (left.state, left.replies, left.checks) == (None, (), ())
    at.instant = False  # the replicas have not got it
    assert at.ask(ask, request_) is None
    left = at.module.on_resigned(at.role, at.on)
    assert [error_in(reply.message) for reply in left.replies] == [Errors.NOT_COORDINATOR]
    assert list_checks(left.checks) == [("leader", 1, Errors.NOT_COORDINATOR)]


def test_an_append_that_fails_is_told_with_its_check_to_who_waits_and_to_nobody_else():
    desk = ongoing()
    desk.instant = False
    assert desk.ask(tc.on_end_txn, EndTxn("t", 9, 0, True)) is None
    (wait,) = desk.role.waiting
    failed = transaction_state_manager.fail_append(desk.role, wait, desk.on)
    assert [r.message.error for r in failed.replies] == [Errors.COORDINATOR_NOT_AVAILABLE]
    late = ("replicated in time", False, Errors.COORDINATOR_NOT_AVAILABLE)
    assert list_checks(failed.checks) == [late]
    alone = ongoing()
    alone.instant = False
    alone.do(tc.on_timeout(alone.role, "t", alone.on))
    (wait,) = alone.role.waiting
    failed = transaction_state_manager.fail_append(alone.role, wait, alone.on)
    assert (failed.replies, failed.checks) == ((), ())


def test_a_producer_that_fences_an_open_transaction_is_told_by_its_state_and_a_time_out_tells_nobody():
    desk = ongoing()
    answer = desk.ask(tc.on_init_producer_id, InitProducerId("t"))
    assert answer.error is Errors.CONCURRENT_TRANSACTIONS
    open_yet = ("state", S.ONGOING, Errors.CONCURRENT_TRANSACTIONS)
    assert open_yet in list_checks(desk.checks)
    alone = ongoing()
    alone.do(tc.on_timeout(alone.role, "t", alone.on))
    assert open_yet not in list_checks(alone.checks)
    ended = ongoing()
    ended.ask(tc.on_end_txn, EndTxn("t", 9, 0, True))
    assert open_yet not in list_checks(ended.checks)


def test_the_first_state_of_a_transactional_id_has_none_before_it():
    desk = ongoing()
    moved = [(e.before, e.after) for e in desk.events if isinstance(e, TransactionMoved)]
    assert moved == [(None, S.EMPTY), (S.EMPTY, S.ONGOING)]


def test_markers_are_sent_on_for_a_decided_transaction_of_this_epoch_that_waits_for_some():
    desk = ongoing()
    known = desk.role.transactions["t"]

    def sending(tag=SENT, **changes):
        role = desk.role.but(transactions=Table.of({"t": known.but(**changes)}))
        return tc._sending(role, tag)

    decided = {"state": S.PREPARE_COMMIT}
    assert sending(**decided) == known.but(**decided)
    assert sending(MarkersOf(3, "t"), **decided) is None
    assert sending(MarkersOf(2, "u"), **decided) is None
    assert sending() is None
    assert sending(**decided, partitions=()) is None


def test_a_name_expires_where_names_do_and_nothing_of_it_is_being_written():
    desk = transactions(transactional_ids_expire=True)
    desk.ask(tc.on_init_producer_id, InitProducerId("t"))
    (timer,) = tc.timers(desk.role, desk.on)
    assert timer == TransactionalIdExpiry("t")
    assert tc.timers(desk.role.but(loading=True), desk.on) == ()
    busy = desk.role.transactions["t"].but(pending_state=S.ONGOING)
    assert tc.timers(desk.role.but(transactions=Table.of({"t": busy})), desk.on) == ()
    kept = transactions()
    kept.ask(tc.on_init_producer_id, InitProducerId("t"))
    expires = kept.settings.transactional_ids_expire
    assert bool(tc.timers(kept.role, kept.on)) is bool(expires)


def test_nobody_is_timed_out_by_a_coordinator_that_reads_its_log_or_does_not_know_the_id():
    desk = ongoing()
    assert tc.why_no_timeout(desk.role, "t") is None
    assert "still reads its log" in tc.why_no_timeout(desk.role.but(loading=True), "t")
    assert "knows no transactional id u" in tc.why_no_timeout(desk.role, "u")


# -- the group coordinator -------------------------------------------------------------------------


def test_a_topic_that_is_deleted_takes_its_own_offsets_along_and_no_other_topic_s():
    desk = groups()
    for partition in ("src-0", "other-0"):
        desk.ask(gc.on_offset_commit, OffsetCommit("g", "", -1, (GroupOffset(partition, 3),)))
    desk.do(gc.on_topic_deleted(desk.role, "src", desk.on))
    gone = [r for r in desk.written(OFFSETS) if isinstance(r, OffsetTombstone)]
    assert [(r.group_id, r.partition) for r in gone] == [("g", "src-0")]
    assert set(desk.role.offsets.keys()) == {("g", "other-0")}


@pytest.mark.parametrize(
    ("committed", "now", "another"),
    [("A", "B", True), ("A", "A", False), ("", "B", False), ("A", "", False), ("", "", False)],
)
def test_an_offset_is_of_another_topic_where_both_ids_are_known_and_differ(committed, now, another):
    on = SimpleNamespace(image=SimpleNamespace(topic_id_of=lambda _: now))
    offset = CommittedOffset(3, 0, committed)
    assert offset_fetches._of_another_topic(offset, "src-0", on) is another


@pytest.mark.parametrize(
    ("group", "name", "epoch", "found"),
    [
        ("g", "m", 4, [("member id", "m", Errors.NONE), ("member epoch", 4, Errors.NONE)]),
        ("g", "x", 4, [("member id", None, Errors.UNKNOWN_MEMBER_ID)]),
        ("g", "", 4, [("member id", None, Errors.UNKNOWN_MEMBER_ID)]),
        ("g", "x", -1, [("member id", None, Errors.UNKNOWN_MEMBER_ID)]),
        ("g", "", -1, []),
        ("unknown", "m", 4, []),
    ],
)
def test_who_reads_an_offset_is_a_member_or_names_neither_a_member_nor_an_epoch(
    group, name, epoch, found
):
    members = Table.of({"m": GroupMember(("src",), epoch=4)})
    role = GroupCoordinator(OFFSETS).but(groups=Table.of({"g": ConsumerGroup(members=members)}))
    request = OffsetFetchGroup(group, ("src-0",), name, epoch)
    assert list_checks(offset_fetches._reader_checks(role, request)) == [
        ("loading", False, Errors.NONE),
        *found,
    ]


def test_a_member_that_is_given_is_found_by_its_name_or_not_at_all():
    assert list_checks(gc._given_member_checks(None, "m", 3)) == [
        ("member id", None, Errors.UNKNOWN_MEMBER_ID)
    ]
    assert list_checks(gc._given_member_checks(3, "m", 3))[0] == ("member id", "m", Errors.NONE)


def test_only_a_request_that_names_a_member_is_held_to_the_gate_of_kip_447s_drafts():
    desk = groups()
    gated = desk.on.but(
        rules=desk.on.rules.but(group_metadata_gate=lambda _level: Errors.UNSUPPORTED_VERSION)
    )
    offsets = (GroupOffset("src-0", 3),)
    plain = TxnOffsetCommit("t", "g", 9, 0, "", -1, offsets)
    for request, refused in ((plain, False), (plain.but(member_id="m"), True)):
        done = gc.on_txn_offset_commit(desk.role, request, ReplyTo("c", 1, 0), gated)
        errors = [check.error for check in done.checks]
        assert (Errors.UNSUPPORTED_VERSION in errors) is refused


def test_a_repeated_end_of_an_older_client_is_answered_and_writes_nothing():
    desk = ongoing()
    commit = EndTxn("t", 9, 0, True, version=4)
    desk.ask(tc.on_end_txn, commit)
    done = desk.role.transactions["t"].but(
        state=S.COMPLETE_COMMIT, partitions=(), pending_state=None
    )
    desk.role = desk.role.but(transactions=Table.of({"t": done}))
    before = desk.written(LOG)
    assert desk.ask(tc.on_end_txn, commit).error is Errors.NONE
    assert desk.written(LOG) == before


def test_an_abort_at_the_current_epoch_of_a_transaction_that_is_over_is_a_decision_of_its_own():
    desk = ongoing()
    over = desk.role.transactions["t"].but(
        state=S.COMPLETE_COMMIT, partitions=(), producer_epoch=1, last_producer_epoch=0
    )
    for epoch, states in ((0, []), (1, [S.PREPARE_ABORT, S.COMPLETE_ABORT])):
        desk.role = desk.role.but(transactions=Table.of({"t": over}))
        before = len(desk.written(LOG))
        told = desk.ask(tc.on_end_txn, EndTxn("t", 9, epoch, committed=not epoch))
        assert told.error is Errors.NONE
        assert [record.state for record in desk.written(LOG)[before:]] == states


def test_a_change_of_the_cluster_moves_no_transaction_that_waits_for_nothing():
    desk = ongoing()
    desk.ask(tc.on_init_producer_id, InitProducerId("idle"))
    before = desk.role, desk.written(LOG), len(desk.requests)
    desk.do(tc.on_image_changed(desk.role, desk.on))
    assert (desk.role, desk.written(LOG), len(desk.requests)) == before


def test_names_expire_also_where_appends_could_run_out_of_time_and_none_waits():
    desk = transactions(transactional_ids_expire=True)
    desk.ask(tc.on_init_producer_id, InitProducerId("t"))
    strict = desk.on.but(image=desk.on.image.but(min_insync_replicas=STRICT))
    assert tc.timers(desk.role, strict) == tc.timers(desk.role, desk.on)
    assert len(tc.timers(desk.role, strict)) == 1


def completing(**image):
    """A decided transaction whose last append, that of its completion, has failed."""
    desk = ongoing()
    decided = desk.role.transactions["t"].but(state=S.PREPARE_COMMIT, partitions=())
    desk.role = desk.role.but(transactions=Table.of({"t": decided}))
    wait = PendingAppend(3, completion_of(decided), 0, "complete")
    return transaction_state_manager.fail_append(
        desk.role, wait, desk.on.but(image=desk.on.image.but(**image))
    )


def test_a_completion_that_failed_is_logged_again_where_there_are_replicas_and_waits_for_them_else():
    (append,) = completing().appends
    assert [record.state for record in append[1].records] == [S.COMPLETE_COMMIT]
    assert completing(min_insync_replicas=STRICT, offline=(1, 2, 3)).appends == ()


def test_an_append_that_is_given_up_leaves_the_others_waiting():
    desk = transactions()
    desk.instant = False
    for name in ("t", "u"):
        desk.ask(tc.on_init_producer_id, InitProducerId(name))
    first, second = desk.role.waiting
    strict = desk.on.but(image=desk.on.image.but(min_insync_replicas=STRICT))
    timer = tc.timers(desk.role, strict)[0]
    done = tc.on_timer(desk.role, timer, strict)
    assert done.given_up == ((LOG, first.offset),)
    assert done.state.waiting == (second,)


def test_a_partition_that_is_gone_gets_no_marker():
    desk = ongoing()
    known = desk.role.transactions["t"].but(state=S.PREPARE_COMMIT, partitions=("gone-0", "out-0"))
    sent = transaction_state_manager.send_markers(desk.role, known, ("gone-0", "out-0"), desk.on)
    assert [request.message.markers[0].partitions for request in sent.requests] == [("out-0",)]
    assert sent.state.transactions["t"].partitions == ("out-0",)
    assert sent.state.transactions["t"].to_send == ()


def test_offsets_that_are_staged_go_with_their_own_topic_alone():
    desk = groups()
    staged = tuple(PendingOffset("g", partition, 3, 0) for partition in ("src-0", "other-0"))
    desk.role = desk.role.but(pending=Table.of({9: staged}))
    desk.do(gc.on_topic_deleted(desk.role, "src", desk.on))
    gone = [r.partition for r in desk.written(OFFSETS) if isinstance(r, OffsetTombstone)]
    assert gone == ["src-0"]


def test_of_two_offsets_the_one_whose_topic_is_not_there_is_not_taken():
    desk = groups()
    both = (GroupOffset("src-0", 7), GroupOffset("gone-0", 7))
    desk.ask(gc.on_offset_commit, OffsetCommit("g", "", -1, both))
    assert set(desk.role.offsets.keys()) == {("g", "src-0")}


def test_a_transaction_whose_markers_were_cancelled_is_not_completed():
    desk = ongoing()
    known = desk.role.transactions["t"].but(state=S.PREPARE_COMMIT, partitions=())
    assert len(transaction_state_manager.send_markers(desk.role, known, (), desk.on).appends) == 1
    cancelled = transaction_state_manager.send_markers(
        desk.role, known.but(cancelled=True), (), desk.on
    )
    assert cancelled.appends == ()
