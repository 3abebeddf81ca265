"""What a share-partition leader makes of answers to requests of its own, and of what it is told about its logs."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import ReplyTo
from kipviz.brokers.local_calls import ApplyMarkerToShares, FetchFurther
from kipviz.brokers.logs.replication import moved_check
from kipviz.brokers.share_leaders import share_partition_leader as spl
from kipviz.driving.desk import TOPIC_IDS
from kipviz.messages.errors import Errors
from kipviz.messages.events import SharePartitionDropped
from kipviz.messages.logs.producing import PartitionProduceResponse, ProduceResponse
from kipviz.messages.shares.share_state import (
    PendingBatch,
    ReadShareGroupStateResponse,
    ReadStateResult,
    WriteShareGroupStateResponse,
    WriteStateResult,
)
from kipviz.messages.transactions.transactions import AddPartitionsToTxn
from kipviz.records.placement import partition_for
from kipviz.records.share_group_state import StagedBatch
from tests.brokers.share_leaders.share_place import (
    ACCEPT,
    ACQ,
    ARCHIVING,
    KEY,
    REJECT,
    TXP,
    SharePlace,
    batch_of,
    list_acquired,
    log_of,
)
from tests.messages.shares import acknowledge_response, acknowledges, fetches

REFUSED = "the share coordinator rejected its request"
DELETED = "its state was deleted meanwhile"


def reason_of_drop(place: SharePlace) -> str:
    (gone,) = (e for e in place.events if isinstance(e, SharePartitionDropped))
    return gone.because


def hold_two() -> SharePlace:
    place = SharePlace(last=3).load()
    place.fetch("M1", 2)
    return place


def store_acknowledgements() -> SharePlace:
    """Two records have durable transactional acknowledgements of producer id 9."""
    pending = PendingBatch(9, 0, StagedBatch(0, 1, int(ACCEPT), 1))
    return SharePlace(last=3).load(0, pending=(pending,))


def test_it_is_said_what_became_of_the_state_that_was_asked_for() -> None:
    invalid = ReadShareGroupStateResponse((ReadStateResult(Errors.INVALID_REQUEST, KEY),))
    loading = SharePlace()
    loading.fetch("M1", 2)
    loading.coordinator(invalid)
    assert reason_of_drop(loading) == REFUSED
    asking = store_acknowledgements()
    asking.do(spl.on_refresh(asking.role, KEY, asking.on))
    asking.coordinator(invalid)
    assert reason_of_drop(asking) == DELETED
    writing = hold_two()
    writing.acknowledge("M1", batch_of(0, 0))
    writing.refuses(Errors.FENCED_STATE_EPOCH)
    assert reason_of_drop(writing) == REFUSED


@pytest.mark.parametrize(
    ("error", "adds"),
    [(Errors.NONE, 1), (Errors.FENCED_STATE_EPOCH, 0), (Errors.UNKNOWN_SERVER_ERROR, 0)],
)
def test_a_participant_is_added_after_a_transactional_acknowledgement_only_if_that_is_durable(
    error: Errors, adds: int
) -> None:
    """KIP-1289 (draft), slot participant_order: the transactional acknowledgement first."""
    place = SharePlace(rules="draft-late+participant_order=staged_first", last=3).load()
    place.fetch("M1", 1)
    place.stage("M1", batch_of(0, 0))
    assert not place.sent(AddPartitionsToTxn)
    place.coordinator(WriteShareGroupStateResponse((WriteStateResult(error, KEY),)))
    assert len(place.sent(AddPartitionsToTxn)) == adds


def lose_connection(place: SharePlace) -> int:
    """Break the connection on which the request of the first object waits; give how many requests follow."""
    before = len(place.requests)
    place.do(spl.on_state_lost(place.role, KEY, "0", place.on))
    return len(place.requests) - before


def test_a_share_partition_that_was_dropped_sends_its_write_again_and_stays_dropped() -> None:
    place = hold_two()
    place.acknowledge("M1", batch_of(0, 0))
    place.leaders["src-0"] = 2
    place.do(spl.on_leadership_lost(place.role, "src-0", place.on))
    assert lose_connection(place) == 1
    assert KEY not in place.role.shares
    assert place.role.leaving[KEY, 0].writes[0].attempts == 2
    place.leaders["src-0"] = 1
    place.fetch("M1", 2)
    fresh = place.share
    assert fresh.incarnation == 1
    assert lose_connection(place) == 1
    assert place.share == fresh
    assert place.role.leaving[KEY, 0].writes[0].attempts == 3


def test_a_connection_that_breaks_lets_a_current_share_partition_send_again() -> None:
    place = hold_two()
    place.acknowledge("M1", batch_of(0, 0))
    assert lose_connection(place) == 1
    assert place.share.writes[0].attempts == 2
    assert not len(place.role.leaving)


@pytest.mark.parametrize(("known", "state"), [(True, None), (False, TXP)])
def test_a_leader_that_does_not_know_of_transactional_acknowledgements_lets_a_marker_pass(
    known: bool, state: object
) -> None:
    """Slot marker_below_level: after a downgrade of the feature."""
    place = store_acknowledgements()
    place.rules = place.rules.but(
        marker_below_level=lambda _: known,
        marker_reach=lambda keys: keys,
        marker_epoch=lambda *_: True,
    )
    marker = ApplyMarkerToShares(9, 0, committed=True)
    place.do(spl.on_marker(place.role, marker, place.on))
    record = place.share.records.get(0)
    assert (record.state if record is not None else None) is state


def test_only_the_object_that_asked_for_a_copy_hears_of_it() -> None:
    place = SharePlace(last=1, group={"dead_letter_topic": "dlq.g1"}).load()
    place.fetch("M1", 2)
    place.acknowledge("M1", batch_of(0, 0, REJECT))
    place.coordinator()
    answer = ProduceResponse((PartitionProduceResponse("dlq.g1-0", Errors.NONE),))
    before = place.role
    place.do(spl.on_dead_letter_answered(place.role, KEY, "7", answer, place.on))
    place.do(spl.on_dead_letter_answered(place.role, "g2:x:0", "0", answer, place.on))
    assert place.role == before
    assert place.states(0, 0) == [ARCHIVING]
    place.answer_copy()
    assert not place.share.dead_letters


def test_a_fetch_that_waits_is_served_when_its_own_partition_has_more() -> None:
    place = SharePlace(batches=[(0, 0)]).load()
    place.fetch("M1", 1)
    assert place.fetch("M1", 1) is None
    place.logs["src-0"] = log_of((0, 0), (1, 1))
    place.do(spl.on_replicated(place.role, "src-1", place.on))
    assert place.share.parked
    place.do(spl.on_replicated(place.role, "src-0", place.on))
    assert list_acquired(place) == [(1, 1, 1)]


def test_a_fetch_goes_on_in_its_next_partition() -> None:
    place = SharePlace(last=3).load()
    to, request = ReplyTo("M1/consumer", 1, 0), fetches("M1", 1, "src-0", 1)
    place.do(spl.on_fetch_further(place.role, FetchFurther(request, to), place.on))
    assert place.answer_to(to) is not None
    assert list_acquired(place) == [(0, 0, 1)]


def test_a_connection_that_breaks_takes_along_what_waits_on_it_alone() -> None:
    place = hold_two()
    place.fetch("M2", 1)
    place.settings = place.settings.but(share_sessions_max=2)
    for member in ("M3", "M4"):
        assert place.fetch(member, 1) is None
    assert [w.member_id for w in place.role.refused] == ["M3", "M4"]
    for member, first in (("M1", 0), ("M2", 2)):
        place.acknowledge(member, batch_of(first, first), epoch=-1)
    assert [c.member_id for c in place.role.closing] == ["M1", "M2"]
    for source in ("M1/consumer", "M3/consumer"):
        place.do(spl.on_disconnected(place.role, source, place.on))
    assert [c.member_id for c in place.role.closing] == ["M2"]
    assert [w.member_id for w in place.role.refused] == ["M4"]


def test_of_sessions_that_are_closing_each_ends_with_its_own_acknowledgements() -> None:
    place = hold_two()
    place.fetch("M2", 1)
    for member, first in (("M1", 0), ("M2", 2)):
        place.acknowledge(member, batch_of(first, first), epoch=-1)
    place.coordinator()
    assert [c.member_id for c in place.role.closing] == ["M2"]
    assert [member for _, member in place.role.sessions] == ["M2"]
    place.coordinator()
    assert not place.role.closing
    assert not len(place.role.sessions)


def test_a_fetch_that_closes_its_session_is_answered_all_the_same() -> None:
    place = SharePlace(last=1).load()
    place.fetch("M1", 2)
    assert place.fetch("M1", 2, epoch=-1) is None
    assert not len(place.role.sessions)
    seen = len(place.replies)
    place.coordinator()
    assert len(place.replies) == seen + 1


def test_a_leader_that_moved_is_compared_once_for_all_groups_and_only_where_there_is_one() -> None:
    place = hold_two()
    other = f"g2:{TOPIC_IDS['src']}:0"
    place.leaders[f"__share_group_state-{partition_for(other, 50)}"] = 7
    opening = fetches("M2", 0, "src-0", 2, group_id="g2")
    place.ask(spl.on_share_fetch, opening, "M2/consumer")
    place.leaders["src-0"] = 2
    kept = spl.on_leadership_lost(place.role, "src-1", place.on)
    assert (kept.state, kept.checks) == (place.role, ())
    moved = moved_check("src-0", place.on, Errors.NOT_LEADER_OR_FOLLOWER)
    lost = spl.on_leadership_lost(place.role, "src-0", place.on)
    assert not len(lost.state.shares)
    assert lost.checks.count(moved) == 1


def test_a_session_that_is_opened_again_needs_no_further_room_and_a_wrong_epoch_closes_none() -> (
    None
):
    """ShareSessionCache.maybeCreateSession: the one before is removed first."""
    place = SharePlace(last=3, share_sessions_max=1).load()
    place.fetch("M1", 1)
    answer = place.fetch("M1", 1, epoch=7)
    assert answer.error is Errors.INVALID_SHARE_SESSION_EPOCH
    told = {check.name: check.found for check in place.checks}
    assert (told["share session"], told["session epoch"]) == ("M1", 2)
    assert [member for _, member in place.role.sessions] == ["M1"]
    assert place.fetch("M1", 1, epoch=0).error is Errors.NONE
    request = acknowledges("g1", "M1", 0, "src-0", ())
    answer = place.ask(spl.on_share_acknowledge, request, "M1/consumer")
    assert answer.error is Errors.INVALID_SHARE_SESSION_EPOCH
    assert len(place.role.sessions) == 1


def test_a_fetch_that_acknowledges_nothing_has_no_error_of_acknowledgements() -> None:
    place = SharePlace(last=1)
    assert place.fetch("M1", 2) is None
    assert not place.share.parked[0].acknowledge_error
    place.coordinator(place.read_answer(0))
    assert place.last.acknowledge_error is Errors.NONE
    assert list_acquired(place) == [(0, 1, 1)]


def test_the_last_member_of_a_group_takes_along_no_share_partition_of_another_group() -> None:
    place = hold_two()
    other = f"g2:{TOPIC_IDS['src']}:0"
    place.leaders[f"__share_group_state-{partition_for(other, 50)}"] = 7
    place.ask(spl.on_share_fetch, fetches("M2", 0, "src-0", 2, group_id="g2"), "M2/consumer")
    place.do(spl.on_disconnected(place.role, "M1/consumer", place.on))
    assert [share.group_id for share in place.role.shares.values()] == ["g2"]


def test_what_is_no_session_is_not_closed() -> None:
    """ShareSessionCache: a last acknowledgement needs the session that it closes."""
    place = hold_two()
    request = acknowledges("g1", "M2", -1, "src-0", ())
    answer = place.ask(spl.on_share_acknowledge, request, "M2/consumer")
    assert answer == acknowledge_response(Errors.SHARE_SESSION_NOT_FOUND, "src-0")
    assert not len(place.role.closed)
    assert place.states(0, 1) == [ACQ, ACQ]
