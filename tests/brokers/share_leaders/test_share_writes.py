"""What a share-partition leader writes, when, and what becomes of the answer."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import Effects, ReplyTo
from kipviz.brokers.local_calls import ApplyMarkerToShares
from kipviz.brokers.share_leaders import share_partition_leader as spl
from kipviz.brokers.share_leaders import share_writes
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.share_leaders.share_partition import PendingWrite, SharePartition, Status
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import Produce
from kipviz.messages.message import Message
from kipviz.messages.shares.share_state import (
    PendingBatch,
    ReadShareGroupState,
    ReadShareGroupStateResponse,
    ReadStateResult,
    WriteShareGroupStateResponse,
    WriteStateResult,
)
from kipviz.messages.transactions.transactions import AddPartitionsToTxn
from kipviz.records.share_group_state import StagedBatch
from tests.brokers.share_leaders.share_place import (
    ACCEPT,
    ACK,
    ACQ,
    ARCHIVING,
    AVL,
    KEY,
    REJECT,
    TXP,
    SharePlace,
    batch_of,
    durable,
)
from tests.messages.shares import stages

ON = SharePlace().on
HELD = InFlight(ACQ, 1, "M1", 0)
ACKNOWLEDGEMENT = HELD.but(
    state=TXP, staged_producer_id=9, staged_producer_epoch=0, staged_type=int(ACCEPT)
)
STAGED_FIRST = "draft-late+participant_order=staged_first"
QUEUE = {"dead_letter_topic": "dlq.g1"}
TICKET = ReplyTo("B7/markers", 1, 0)


def share(records: dict[int, InFlight], *writes: PendingWrite) -> SharePartition:
    made = SharePartition(KEY, "g1", "src-0", 0, status=Status.ACTIVE, start_offset=0)
    return made.but(next_offset=9, records=Table.of(records), writes=writes)


def store_acknowledgements(**settings: object) -> SharePlace:
    """Two records have durable transactional acknowledgements of producer id 9, at the first of all offsets."""
    pending = PendingBatch(9, 0, StagedBatch(0, 1, int(ACCEPT), 1))
    return SharePlace(last=3, **settings).load(0, pending=(pending,))


def names(place: SharePlace) -> set[str]:
    return {check.name for check in place.checks}


# -- stagings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("queue", [None, QUEUE])
def test_a_rejected_transactional_acknowledgement_says_what_a_commit_makes_of_it_where_there_is_a_dead_letter_queue(
    queue: dict[str, str] | None,
) -> None:
    """Pull request 22357 (draft)."""
    place = SharePlace(rules=STAGED_FIRST, group=queue or {}).load()
    place.fetch("M1", 2)
    place.stage("M1", batch_of(0, 0, REJECT), batch_of(1, 1))
    rejected, accepted = place.writes[-1].only.batches
    assert rejected.staged_state == (int(ARCHIVING) if queue else -1)
    assert accepted.staged_state == -1


def test_who_stages_the_same_again_takes_the_place_of_who_waited_for_that_write() -> None:
    first, second = ReplyTo("p", 1, 0), ReplyTo("p", 1, 1)
    writes = tuple(
        PendingWrite(purpose, Message(), offsets, first)
        for purpose, offsets in (("stage", (0,)), ("stage", (1,)), ("acknowledge", (0,)))
    )
    request = stages("t", "g1", 9, 0, "M1", 2, "src-0", (batch_of(0, 0),))
    after = share_writes.stage_again(share({}, *writes), request, second)
    assert [write.reply_to for write in after.writes] == [second, first, first]


def test_a_transactional_acknowledgement_that_is_written_before_its_participant_is_added_is_answered_after_that() -> (
    None
):
    place = SharePlace(rules=STAGED_FIRST, last=3).load()
    place.fetch("M1", 1)
    place.stage("M1", batch_of(0, 0))
    seen = len(place.replies)
    place.coordinator()
    assert place.sent(AddPartitionsToTxn)
    assert len(place.replies) == seen


# -- locks, members and markers --------------------------------------------------------------------


def test_of_what_a_lock_held_only_what_is_free_now_is_written() -> None:
    """SharePartition.releaseAcquisitionLockOnTimeout."""
    written = HELD.but(state=ACK, ongoing=True, before_member="M1")
    records = {0: HELD, 1: written, 2: ACKNOWLEDGEMENT, 3: HELD.but(lock=7)}
    on = ON.but(rules=ON.rules.but(lock_expiry=lambda record: record.but(lock=-1)))
    done = share_writes.expire(share(records), 0, on)
    after = done.state.records
    assert (after[0].state, after[1].lock_ran_out, after[2].lock) == (AVL, True, -1)
    assert after[3] == records[3]
    assert [write.offsets for write in done.state.writes] == [(0,)]
    assert [event.first for event in done.events] == [0]
    assert [c.found for c in done.checks if c.name == "records"] == ["0", "1", "2"]


def test_a_member_that_holds_nothing_leaves_without_a_write() -> None:
    me = share({0: HELD})
    assert share_writes.release(me, "M9", ON) == Effects(me)


@pytest.mark.parametrize("ticket", [None, TICKET])
@pytest.mark.parametrize("committed", [True, False])
def test_what_a_marker_gives_back_to_its_member_is_not_written(
    committed: bool, ticket: ReplyTo | None
) -> None:
    """Slot abort_target: ACQUIRED is never durable."""
    rules = ON.rules.but(
        marker_epoch=lambda *_: True, abort_target=lambda record: record.without_staging(ACQ)
    )
    marker = ApplyMarkerToShares(9, 0, committed=committed, ticket=ticket)
    done = share_writes.apply_marker(
        share({0: HELD, 1: ACKNOWLEDGEMENT}), marker, ON.but(rules=rules)
    )
    assert [write.offsets for write in done.state.writes] == ([(1,)] if committed else [])
    assert bool(done.requests) is committed
    if not (committed and ticket):
        (event,) = done.events
        assert event.because == f"the {'COMMIT' if committed else 'ABORT'} marker arrived"


# -- answers ---------------------------------------------------------------------------------------


def test_a_read_is_tried_again_without_end() -> None:
    place = SharePlace()
    place.fetch("M1", 1)
    for attempt in range(1, 8):
        assert len(place.sent(ReadShareGroupState)) == attempt
        place.do(spl.on_state_lost(place.role, KEY, "0", place.on))
    assert place.share.status is Status.INITIALIZING


def refresh(place: SharePlace, answer: ReadShareGroupStateResponse) -> None:
    place.do(spl.on_refresh(place.role, KEY, place.on))
    place.coordinator(answer)


def test_an_outcome_is_read_out_of_a_state_that_could_not_be_loaded() -> None:
    """A share coordinator may have moved the start offset over a batch that it tells all the same."""
    place = store_acknowledgements()
    done = durable(0, 1, ACK)
    refresh(place, ReadShareGroupStateResponse((ReadStateResult(Errors.NONE, KEY, 3, 1, (done,)),)))
    assert place.share.start_offset == 2


def test_a_fetch_that_waits_hears_that_the_state_was_made_anew() -> None:
    place = store_acknowledgements()
    place.fetch("M1", 2)
    assert place.fetch("M1", 2) is None
    refresh(place, ReadShareGroupStateResponse((ReadStateResult(Errors.NONE, KEY, 4, 0),)))
    assert place.last.error is Errors.NOT_LEADER_OR_FOLLOWER
    assert KEY not in place.role.shares


def test_a_note_that_is_durable_ends_no_transition_that_came_after_it() -> None:
    place = SharePlace(last=3).load()
    place.fetch("M1", 1)
    place.expire(0)
    place.fetch("M2", 1)
    place.acknowledge("M2", batch_of(0, 0))
    place.coordinator()
    assert (place.share.records[0].state, place.share.records[0].ongoing) == (ACK, True)
    place.coordinator()
    assert place.share.start_offset == 1


def test_a_copy_is_not_made_before_the_share_coordinator_knows_that_it_will_be() -> None:
    """KIP-1191: ARCHIVING is durable before the copy is sent."""
    place = SharePlace(last=3, group=QUEUE | {"delivery_count_limit": 2})
    place.load(0, durable(0, 0, AVL, 1))
    place.fetch("M1", 1)
    place.fetch("M2", 1)
    place.acknowledge("M2", batch_of(1, 1))
    place.expire(0)
    assert place.states(0, 0) == [ARCHIVING]
    place.coordinator()
    assert not place.sent(Produce)
    place.coordinator()
    assert len(place.sent(Produce)) == 1


def test_an_answer_about_a_copy_that_is_not_made_changes_nothing() -> None:
    place = SharePlace(last=1, group=QUEUE).load()
    before = place.role
    place.answer_copy()
    assert place.role == before


def test_a_record_that_is_given_up_with_its_transactional_acknowledgement_is_noted_unless_the_start_has_moved_over_it() -> (
    None
):
    """Slot abort_limit."""
    for first, offsets in ((0, [()]), (1, [(1,)])):
        pending = PendingBatch(9, 0, StagedBatch(first, 1, int(ACCEPT), 5))
        place = SharePlace(last=3).load(0, pending=(pending,))
        place.rules = place.rules.but(abort_limit=lambda *_: True)
        known = () if first == 0 else (durable(0, 0, AVL),)
        aborted = (*known, durable(first, 1, AVL, 5))
        refresh(
            place, ReadShareGroupStateResponse((ReadStateResult(Errors.NONE, KEY, 3, 0, aborted),))
        )
        assert [write.offsets for write in place.share.writes] == offsets


# -- failures --------------------------------------------------------------------------------------


def test_a_state_that_is_not_well_formed_is_said_to_be_so() -> None:
    place = SharePlace()
    place.fetch("M1", 1)
    place.coordinator(place.read_answer(5, durable(3, 3)))
    assert "state well-formed" in names(place)
    assert place.last.error is Errors.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(
    "error", [Errors.NETWORK_EXCEPTION, Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.NOT_COORDINATOR]
)
def test_a_staging_that_was_tried_in_vain_may_be_sent_again(error: Errors) -> None:
    place = SharePlace(last=3).load()
    place.fetch("M1", 1)
    place.stage("M1", batch_of(0, 0))
    seen = len(place.replies)
    while len(place.replies) == seen:
        place.refuses(error)
    assert place.last.error is Errors.COORDINATOR_NOT_AVAILABLE


def test_an_error_to_a_client_is_compared_where_one_waits() -> None:
    waits = SharePlace(last=3).load()
    waits.fetch("M1", 1)
    waits.fetch("M1", 0, batch_of(0, 0))
    waits.refuses(Errors.FENCED_STATE_EPOCH)
    assert "error to a client" in names(waits)
    alone = SharePlace(last=3).load()
    alone.fetch("M1", 1)
    alone.expire(0)
    alone.refuses(Errors.FENCED_STATE_EPOCH)
    assert "error to a client" not in names(alone)


def test_each_fetch_waits_for_the_write_of_its_own_acknowledgements() -> None:
    place = SharePlace(last=1).load()
    place.fetch("M1", 1)
    place.fetch("M2", 1)
    for member, first in (("M1", 0), ("M2", 1)):
        assert place.fetch(member, 1, batch_of(first, first)) is None
    place.coordinator(WriteShareGroupStateResponse((WriteStateResult(Errors.NONE, KEY),)))
    assert [(p.request.member_id, p.acknowledging) for p in place.share.parked] == [
        ("M1", False),
        ("M2", True),
    ]
    assert place.states(1, 1) == [ACK]
    place.coordinator(WriteShareGroupStateResponse((WriteStateResult(Errors.NONE, KEY),)))
    assert not len(place.share.records)
