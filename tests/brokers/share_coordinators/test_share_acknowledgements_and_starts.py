"""What a share-partition is after a transactional acknowledgement, a move of its start or a failed write: each field, each way."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kipviz.brokers.share_coordinators import outcome_notices, share_pending
from kipviz.brokers.share_coordinators import share_coordinator as sc
from kipviz.brokers.share_coordinators.outcome_notices import on_tell
from kipviz.brokers.share_coordinators.share_state import (
    ShareCoordinator,
    ShareState,
    TransactionalAcknowledgement,
)
from kipviz.brokers.share_leaders import share_partition, share_sessions
from kipviz.brokers.share_leaders.acknowledgement_checks import Alike, alike
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.share_leaders.share_partition import PendingWrite, SharePartition, Status
from kipviz.brokers.share_transactions import share_outcomes
from kipviz.core.table import Table
from kipviz.driving.desk import TOPIC_IDS, Desk
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_state import (
    TellShareGroupState,
    TellShareGroupStateResponse,
    TxnWriteShareGroupStateResponse,
)
from kipviz.records.batches import COMMIT, Batch
from kipviz.records.share_group_state import RecordState, StagedBatch, StateBatch
from tests.brokers.share_leaders.share_place import (
    ACCEPT,
    ACK,
    ACQ,
    ARCH,
    ARCHIVING,
    AVL,
    KEY,
    RENEW,
    TXP,
    SharePlace,
    batch_of,
)
from tests.messages.shares import fetches


def of(state: RecordState, **fields: object) -> InFlight:
    return InFlight(state, 1, **fields)


def test_a_record_without_its_transactional_acknowledgement_has_nothing_of_it_left() -> None:
    staged = of(
        TXP,
        member_id="M1",
        before_member="M1",
        lock=3,
        ongoing=True,
        lock_ran_out=True,
        staged_producer_id=9,
        staged_producer_epoch=0,
        staged_type=int(ACCEPT),
    )
    assert staged.without_staging(AVL) == of(AVL)
    assert staged.without_staging(ACQ, member_id="M2", lock=4) == of(ACQ, member_id="M2", lock=4)


def test_only_neighbours_are_told_as_one() -> None:
    records = Table.of({o: of(AVL) for o in (1, 2, 5)} | {6: of(ACK)})
    assert alike(records, (1, 2, 5, 6)) == (
        Alike(1, 2, of(AVL)),
        Alike(5, 5, of(AVL)),
        Alike(6, 6, of(ACK)),
    )


@pytest.mark.parametrize(
    ("records", "start"),
    [
        ({}, 5),
        ({7: of(ARCH)}, 5),  # no record at the start or in front of it is in memory
        ({5: of(AVL), 6: of(ARCH)}, 5),
        ({3: of(ACQ, member_id="M1", lock=1), 5: of(ARCH), 6: of(AVL)}, 5),
        ({5: of(ARCH), 6: of(ACK), 7: of(AVL)}, 7),
        ({4: of(ARCH), 7: of(AVL)}, 7),
        ({5: of(ARCH), 6: of(ACK)}, 9),
    ],
)
def test_the_start_moves_over_what_is_done_where_its_own_record_is(records, start) -> None:
    """SharePartition.canMoveStartOffset, findLastOffsetAcknowledgedAndMetadata."""
    me = SharePartition(KEY, "g1", "src-0", 0, 0).but(
        start_offset=5, next_offset=9, records=Table.of(records)
    )
    assert share_partition.advance_start(me).start_offset == start


@pytest.mark.parametrize(
    ("acknowledgement_form", "resolver", "elsewhere"),
    [("", False, True), ("", True, True), ("state", False, False), ("state", True, True)],
)
def test_transactional_acknowledgements_that_are_batches_of_a_transaction_are_resolved_by_the_share_coordinator(
    acknowledgement_form, resolver, elsewhere
) -> None:
    rules = SimpleNamespace(
        acknowledgement_form=lambda: acknowledgement_form, pending_resolver=lambda: resolver
    )
    on = SimpleNamespace(rules=rules)
    assert bool(share_partition.is_resolved_elsewhere(on)) is elsewhere  # type: ignore[arg-type]


@pytest.mark.parametrize("most", [1, 5])
def test_a_renewal_that_asks_for_records_is_compared_with_none(most) -> None:
    """KafkaApis.handleShareFetchRequest: with RENEW, max records has to be 0."""
    request = fetches("M1", 3, "src-0", most, batch_of(0, 0, RENEW))
    (check,) = share_sessions.form_checks(request)
    assert (check.asked, check.found, check.error) == (most, 0, Errors.INVALID_REQUEST)
    none = request.but(max_records=0)
    (check,) = share_sessions.form_checks(none)
    assert (check.name, check.error) == ("session is open", Errors.NONE)


def test_only_what_is_staged_ends_its_change_when_an_outcome_could_not_be_written() -> None:
    records = {0: of(TXP, ongoing=True), 1: of(ACQ, ongoing=True, member_id="M1", lock=2)}
    me = SharePartition(KEY, "g1", "src-0", 0, 0).but(records=Table.of(records))
    write = PendingWrite(share_outcomes.DECIDE, None, (0, 1, 7))
    left = share_outcomes.keep_pending(me, write).records
    assert (left[0].ongoing, left[1].ongoing, 7 in left) == (False, True, False)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Errors.NOT_COORDINATOR, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.FENCED_STATE_EPOCH, Errors.NOT_LEADER_OR_FOLLOWER),
        (Errors.INVALID_TXN_STATE, Errors.INVALID_TXN_STATE),
    ],
)
def test_who_staged_hears_of_a_failed_write_what_a_client_understands(error, told) -> None:
    place = SharePlace(last=2).load()
    place.fetch("M1", 3)
    place.stage("M1", batch_of(0, 0))
    while KEY in place.role.shares and place.share.writes:
        place.coordinator(TxnWriteShareGroupStateResponse(error, KEY))
    assert place.last.error is told


@pytest.mark.parametrize(
    ("target", "becomes"), [(ARCH, ARCHIVING), (ACK, ACK), (AVL, AVL), (None, AVL)]
)
def test_a_rejected_transactional_acknowledgement_is_copied_first_only_where_the_commit_gives_its_record_up(
    target, becomes
) -> None:
    """Pull request 22357: the staged state says that a copy is wanted before the record is archived."""
    acknowledgement = StateBatch(
        0, 0, TXP, 1, staged_producer_id=9, staged_producer_epoch=0, staged_type=3
    )
    acknowledgement = acknowledgement.but(staged_state=int(ARCHIVING))
    state = ShareState(1, 0, 0, 0, 0, (acknowledgement,))
    rules = SharePlace().rules.but(
        commit_target=lambda _: target,
        marker_epoch=lambda *_: True,
        outcome_join=lambda *said: said[1],
    )
    marker = Batch(0, (), 9, 0, control=COMMIT if target else "abort")
    me = ShareCoordinator("__share_group_state-0", states=Table.of({KEY: state}))
    (batch,) = share_pending.resolve_pending(me, marker, rules).states[KEY].batches
    assert batch == StateBatch(0, 0, becomes, 1)


def facts(place: SharePlace) -> list[tuple[str, object]]:
    return [(check.name, check.found) for check in place.checks]


def test_an_outcome_that_comes_while_a_write_is_under_way_or_after_the_fence_changes_nothing() -> (
    None
):
    place = SharePlace(last=2).load()
    place.fetch("M1", 3)
    place.stage("M1", batch_of(0, 0))
    place.coordinator()
    tell = TellShareGroupState(KEY, 0, 0, (StateBatch(0, 0, ACK, 1),), ())
    busy = SharePlace(last=2).load()
    busy.fetch("M1", 3)
    busy.stage("M1", batch_of(0, 0))
    busy.coordinator()
    busy.acknowledge("M1", batch_of(1, 1))
    assert busy.share.writes
    fenced = place.role.shares.set(KEY, place.share.but(status=Status.FENCED))
    place.role = place.role.but(shares=fenced)
    for desk, status, free in ((busy, Status.ACTIVE, False), (place, Status.FENCED, True)):
        before = desk.role
        assert desk.ask(on_tell, tell) == TellShareGroupStateResponse(Errors.NONE, KEY)
        assert desk.role == before
        assert facts(desk) == [("share-partition", status), ("no request in flight", free)]


def test_a_marker_s_outcome_is_sent_to_the_leader_of_each_share_partition_that_it_changed() -> None:
    """Study B2: what changed is the state, or the transactional acknowledgements that are still pending on it."""
    src, other, gone = KEY, f"g1:{TOPIC_IDS['output-A']}:0", "g1:AAAAAAAAAAAAAAAAAAAAZg:0"
    unled = f"g1:{TOPIC_IDS['src']}:1"
    home = "__share_group_state-0"
    desk = Desk(sc, ShareCoordinator(home), leaders={home: 1, "src-0": 5, "output-A-0": 6})
    state = ShareState(1, 3, 0, 0, 0, ())
    acknowledgement = TransactionalAcknowledgement(src, 0, (StagedBatch(0, 0, int(ACCEPT), 1),))
    before = ShareCoordinator(
        home,
        states=Table.of(dict.fromkeys((src, other, gone, unled), state)),
        acknowledgements=Table.of({9: (acknowledgement, acknowledgement.but(key=other))}),
    )
    staged = before.but(acknowledgements=Table.of({9: (acknowledgement,)}))
    moved = staged.but(states=staged.states.set(src, state.but(start_offset=1)))
    assert outcome_notices.news(before, moved, desk.on) == (), "unless a design says so"
    desk.rules = desk.rules.but(outcome_news=lambda: True)
    assert outcome_notices.news(before, before, desk.on) == ()
    pending = moved.pending_acknowledgements(src)
    assert pending == before.pending_acknowledgements(src)
    sent = outcome_notices.news(before, moved, desk.on)
    assert sorted((r.broker, r.message) for r in sent) == [
        (5, TellShareGroupState(src, 3, 1, (), pending)),
        (6, TellShareGroupState(other, 3, 0, (), ())),
    ]
    all_moved = before.but(
        states=Table.of({key: state.but(start_offset=1) for key in before.states})
    )
    sent = outcome_notices.news(before, all_moved, desk.on)
    assert {r.message.key for r in sent} == {src, other}, "a partition without a leader hears none"


def test_only_what_is_tx_pending_for_the_producer_of_the_marker_is_resolved() -> None:
    """Pull request 22357: a state whose records none of this transaction holds is not looked at."""
    pending = StateBatch(0, 0, TXP, 1, staged_producer_id=9, staged_producer_epoch=0)
    done, foreign = pending.but(state=ACK), pending.but(staged_producer_id=8)
    rules = SharePlace().rules.but(
        commit_target=lambda _: ACK,
        marker_epoch=lambda *_: True,
        outcome_join=lambda *said: said[1],
    )
    cold = ShareState(1, 0, 0, 0, 0, (done, foreign), cold=True)
    states = Table.of({KEY: cold, KEY.replace("g1", "g2"): cold.but(batches=(pending, foreign))})
    me = ShareCoordinator("__share_group_state-0", states=states)
    after = share_pending.resolve_pending(me, Batch(0, (), 9, 0, control=COMMIT), rules)
    assert after.states[KEY] is cold
    (resolved,) = after.states[KEY.replace("g1", "g2")].batches
    assert (resolved.state, resolved.staged_producer_id) == (ACK, -1)


def test_an_outcome_is_told_to_the_leader_of_transactional_acknowledgements_and_heard_by_every_other_without_a_word() -> (
    None
):
    place = SharePlace(last=2).load()
    place.fetch("M1", 3)
    tell = TellShareGroupState(KEY, 0, 0, (StateBatch(0, 0, ACK, 1),), ())
    heard = TellShareGroupStateResponse(Errors.NONE, KEY)
    before = place.role
    assert place.ask(on_tell, tell) == heard
    assert place.role == before, "it has no transactional acknowledgements"
    assert facts(place) == [("share-partition", Status.ACTIVE), ("no request in flight", True)]
    other = tell.but(key=KEY.replace("g1", "g2"))
    assert place.ask(on_tell, other) == heard.but(key=other.key)
    assert facts(place) == [("share-partition", None)]
    place.stage("M1", batch_of(0, 0))
    assert place.ask(on_tell, tell) == heard
    assert place.states(0, 0) == [TXP], "it writes, and asks for itself"
    place.coordinator()
    assert place.states(0, 0) == [TXP]
    assert place.ask(on_tell, tell) == heard
    assert place.share.records.get(0) is None, "acknowledged at the front, and gone"
    assert place.share.start_offset == 1
