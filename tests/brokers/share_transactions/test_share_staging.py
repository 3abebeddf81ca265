"""The checks of a staging before any record is looked at, and its steps (KIP-1289, draft)."""

from __future__ import annotations

import pytest

from kipviz.brokers.checks import error_of
from kipviz.brokers.context import NOBODY, ReplyTo
from kipviz.brokers.logs.partition_log import PartitionLog, append, replicate
from kipviz.brokers.share_leaders import share_partition_leader
from kipviz.brokers.share_leaders.share_partition import ShareLeader, Status
from kipviz.brokers.share_transactions import share_staging, share_staging_steps
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.events import RecordsMoved
from kipviz.messages.message_errors import error_of_response
from kipviz.messages.shares.share_state import TxnWriteShareGroupState
from kipviz.messages.transactions.transactions import AddPartitionsToTxn
from kipviz.records.batches import Batch
from kipviz.records.placement import partition_for
from kipviz.records.share_group_members import (
    ShareGroupAssignmentRecord,
    ShareGroupEpochRecord,
    ShareGroupTargetRecord,
    ShareGroupTombstone,
)
from tests.brokers.coordinator_answers import answer_of
from tests.brokers.share_leaders.share_place import ACQ, KEY, TXP, SharePlace, batch_of
from tests.messages.shares import stages

TO = ReplyTo("app-1/producer", 1, 0)
GROUPS = f"__consumer_offsets-{partition_for('g1', 50)}"
ASKS = stages("t", "g1", 9, 0, "M1", 2, "src-0", (batch_of(0, 0),))
WRONG = Errors.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("coordinator", "error", "shown"),
    [
        (1, Errors.NONE, [(1, Errors.NONE)]),
        (NOBODY, Errors.NONE, []),
        (NOBODY, WRONG, [(NOBODY, WRONG)]),
        (1, WRONG, [(1, WRONG)]),
    ],
)
def test_whom_a_leader_would_have_to_ask_about_a_member_is_shown_where_there_is_one(
    coordinator, error, shown
) -> None:
    place = SharePlace()
    place.leaders[GROUPS] = coordinator
    place.rules = place.rules.but(member_check=lambda *_: error)
    told = share_staging.checks_at_once(ASKS, place.on)
    assert [(c.found, c.error) for c in told if c.name == "group coordinator"] == shown


ASSIGNED = ShareGroupAssignmentRecord("g1", "M1", 2, 1, ("src-0",))


@pytest.mark.parametrize(
    ("records", "found"),
    [
        ((ASSIGNED,), 2),
        ((ASSIGNED, ShareGroupTargetRecord("g1", "M1", ("src-0",))), 2),
        ((ASSIGNED, ShareGroupTombstone("g1", "M1", "member")), None),
        ((ShareGroupAssignmentRecord("g1", "M2", 2, 1, ("src-0",)),), None),
        ((ShareGroupAssignmentRecord("g2", "M1", 2, 1, ("src-0",)),), None),
    ],
)
def test_a_member_s_epoch_is_that_of_its_last_assignment_until_it_is_gone(
    records: tuple[Value, ...], found: int | None
) -> None:
    """Finding X8: what a leader would need to know if the member's epoch mattered."""
    place = SharePlace()
    place.leaders[GROUPS] = 1
    batch = Batch(0, (ShareGroupEpochRecord("g1", 2), *records))
    place.logs[GROUPS] = replicate(append(PartitionLog(GROUPS), batch))
    told = share_staging.checks_at_once(ASKS, place.on)
    assert [c.found for c in told if c.name == "member epoch"] == [found]


def test_records_of_a_share_partition_that_is_not_active_are_not_looked_at() -> None:
    place = SharePlace(last=2).load()
    place.fetch("M1", 3)
    fenced = place.role.shares.set(KEY, place.share.but(status=Status.FENCED))
    for me, there, status in (
        (ShareLeader(), False, None),
        (place.role.but(shares=fenced), True, Status.FENCED),
    ):
        share, checks = share_staging_steps.find_stageable(me, ASKS, place.on)
        assert (share is not None) is there
        assert [(c.name, c.found) for c in checks] == [("share-partition", status)]
        assert error_of(checks) is Errors.INVALID_RECORD_STATE


def test_where_the_client_adds_the_participant_the_leader_asks_no_coordinator() -> None:
    place = SharePlace(last=2, rules="pull-request-22357+enlistment=nobody").load()
    place.fetch("M1", 3)
    place.stage("M1", batch_of(0, 0))
    assert not place.sent(AddPartitionsToTxn)


def test_a_transactional_acknowledgement_that_is_no_state_is_kept_in_memory_and_answered_at_once() -> (
    None
):
    place = SharePlace(last=2, rules="pull-request-22357").load()
    place.fetch("M1", 3)
    place.rules = place.rules.but(
        acknowledgement_form=lambda: "", staged_acks=lambda batches: batches
    )
    done = share_staging_steps.stage_records(place.role, place.share, ASKS, TO, place.on)
    assert [error_of_response(reply.message) for reply in done.replies] == [Errors.NONE]
    assert not [r for r in done.requests if isinstance(r.message, TxnWriteShareGroupState)]


def test_an_equal_staging_that_waited_too_is_the_same_one_once_the_first_is_made() -> None:
    """Pull request 22357: the leader adds the participant first; a client that reconnects sends again."""
    place = SharePlace(last=2, rules="pull-request-22357").load()
    place.rules = place.rules.but(stage_retry=lambda: Errors.NONE)
    place.fetch("M1", 3)
    for source in ("a", "b"):
        assert place.stage("M1", batch_of(0, 0), source=source) is None
    (asked,) = place.sent(AddPartitionsToTxn)[0].transactions
    answer = answer_of(asked, Errors.NONE)
    place.do(share_partition_leader.on_enlisted(place.role, answer, place.on))
    assert place.states(0, 0) == [TXP]
    staged = [error_of_response(message) for _, message in place.replies[-2:]]
    assert staged == [Errors.NONE, Errors.NONE]
    changes = [(e.before, e.after) for e in place.events if isinstance(e, RecordsMoved)]
    assert changes.count((ACQ, TXP)) == 1
    assert (TXP, TXP) not in changes
