"""What the draft implementation of KIP-1289 does in its iterations, as handlers of the roles."""

from __future__ import annotations

import pytest

from kipviz.brokers import kafka_apis
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import ApplyMarkerToShares, WriteMarker
from kipviz.brokers.share_coordinators import share_coordinator as sc
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.brokers.share_leaders import share_partition_leader as spl
from kipviz.brokers.share_leaders import share_timers
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.events import RecordsMoved
from kipviz.messages.shares.share_state import (
    ReadShareGroupStateResponse,
    ReadStateResult,
    WriteShareGroupState,
    WriteShareGroupStateResponse,
    WriteStateData,
    WriteStateResult,
)
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    TxnMarker,
    WriteTxnMarkers,
)
from kipviz.records.share_group_state import RecordState, StateBatch
from tests.brokers.coordinator_answers import enlisted
from tests.brokers.share_coordinators.test_share_coordinator import HERE, initialised_desk, write
from tests.brokers.share_coordinators.test_share_coordinator import read as read_state
from tests.brokers.share_leaders.share_place import (
    ACK,
    ACQ,
    ARCH,
    ARCHIVING,
    AVL,
    KEY,
    REJECT,
    STATE,
    TXP,
    SharePlace,
    batch_of,
    durable,
)
from tests.messages.shares import stages

LATE, MIDDLE, EARLY = "draft-late", "draft-middle", "draft-early"
PENDING = StateBatch(0, 0, TXP, 1, 9, 0, 1)


def answer_enlistment(place: SharePlace, error: Errors = Errors.NONE) -> None:
    """Let the transaction coordinator answer the last question."""
    (asked,) = place.sent(AddPartitionsToTxn)[-1].transactions
    told = enlisted(error, "t", 9, 0, asked.partitions)
    place.do(spl.on_enlisted(place.role, told, place.on))


def staging(rules: str = LATE, **settings: object) -> SharePlace:
    """A leader that has been asked to stage record 0 and has asked the coordinator."""
    place = SharePlace(rules=rules, **settings).load()
    place.fetch("M1", 1)
    assert place.stage("M1", batch_of(0, 0)) is None
    return place


def resolving(place: SharePlace, *batches: StateBatch) -> None:
    """Let the leader read the state again."""
    place.do(spl.on_refresh(place.role, KEY, place.on))
    place.coordinator(
        ReadShareGroupStateResponse((ReadStateResult(Errors.NONE, KEY, 3, 0, batches),))
    )


def mark(desk: Desk, *, committed: bool, epoch: int = 1, pid: int = 9) -> None:
    """Let a marker reach the share coordinator's log."""
    marker = WriteMarker(None, HERE, pid, epoch, committed, 0, 2)
    desk.do(sc.on_write_marker(desk.role, marker, desk.on))


def stored_batches(desk: Desk) -> tuple[StateBatch, ...]:
    return desk.role.states[KEY].batches


# -- staging as delivery state 5 ---------------------------------------------------------------


def test_the_leader_adds_the_participant_before_it_stages_anything() -> None:
    place = staging()
    assert place.states(0, 0) == [ACQ]
    assert place.sent(AddPartitionsToTxn)[-1].transactions[0].partitions == (STATE,)
    assert place.writes == []


def test_a_refused_participant_stages_nothing() -> None:
    """The response to a TxnShareAcknowledge has the coordinator's error."""
    place = staging()
    answer_enlistment(place, Errors.INVALID_TXN_STATE)
    assert place.states(0, 0) == [ACQ]
    assert place.last.error is Errors.INVALID_TXN_STATE
    assert place.writes == []


def test_the_transactional_acknowledgement_is_an_ordinary_state_write_with_the_producer_in_it_and_the_answer_waits() -> (
    None
):
    place = staging()
    answer_enlistment(place)
    assert place.writes[-1].only.batches == (PENDING,)
    assert place.states(0, 0) == [TXP]
    replies = len(place.replies)
    place.coordinator(WriteShareGroupStateResponse((WriteStateResult(Errors.NONE, KEY),)))
    assert len(place.replies) == replies + 1
    assert place.last.error is Errors.NONE


def test_a_rejection_says_what_a_commit_makes_of_it_where_there_is_a_dead_letter_queue() -> None:
    place = SharePlace(rules=LATE, group={"dead_letter_topic": "dlq.g1"}).load()
    place.fetch("M1", 1)
    place.stage("M1", batch_of(0, 0, REJECT))
    answer_enlistment(place)
    assert place.writes[-1].only.batches == (StateBatch(0, 0, TXP, 1, 9, 0, 3, ARCHIVING),)


@pytest.mark.parametrize(("rules", "lock"), [(LATE, 0), (f"{LATE}+rollback_lock=no_timer", -1)])
def test_a_transactional_acknowledgement_that_is_not_written_gives_the_record_back_with_its_lock_or_without(
    rules: str, lock: int
) -> None:
    place = staging(rules)
    answer_enlistment(place)
    for _ in range(5):
        place.refuses(Errors.COORDINATOR_NOT_AVAILABLE)
    assert place.last.error is Errors.COORDINATOR_NOT_AVAILABLE
    assert place.states(0, 0) == [ACQ]
    assert place.share.records[0].lock == lock


def test_a_record_without_a_timer_waits_for_its_member() -> None:
    place = staging(f"{LATE}+rollback_lock=no_timer")
    answer_enlistment(place)
    for _ in range(5):
        place.refuses(Errors.COORDINATOR_NOT_AVAILABLE)
    with pytest.raises(AssertionError):
        place.expire(0)
    place.do(spl.on_disconnected(place.role, "M1/consumer", place.on))
    assert KEY not in place.role.shares or place.states(0, 0) != [ACQ]


# -- the other order ---------------------------------------------------------------------------


@pytest.mark.parametrize("base", [LATE, "as-written"])
def test_in_the_other_order_the_transactional_acknowledgement_is_there_before_the_coordinator_is_asked(
    base: str,
) -> None:
    place = staging(f"{base}+participant_order=staged_first")
    assert place.states(0, 0) == [TXP]
    if base == LATE:
        assert place.sent(AddPartitionsToTxn) == []
        place.coordinator(WriteShareGroupStateResponse((WriteStateResult(Errors.NONE, KEY),)))
    replies = len(place.replies)
    answer_enlistment(place)
    assert len(place.replies) == replies + 1
    assert place.last.error is Errors.NONE


def test_in_the_other_order_a_refused_participant_leaves_the_transactional_acknowledgement_without_a_marker() -> (
    None
):
    place = staging(f"{LATE}+participant_order=staged_first")
    place.coordinator(WriteShareGroupStateResponse((WriteStateResult(Errors.NONE, KEY),)))
    answer_enlistment(place, Errors.INVALID_TXN_STATE)
    assert place.last.error is Errors.INVALID_TXN_STATE
    assert place.states(0, 0) == [TXP]


# -- what a marker makes of delivery state 5 -----------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "target", "committed", "becomes"),
    [(1, -1, True, ACK), (3, -1, True, ARCH), (3, ARCHIVING, True, ARCHIVING), (1, -1, False, AVL)],
)
def test_the_share_coordinator_completes_what_a_marker_fits(
    kind: int, target: int, committed: bool, becomes: RecordState
) -> None:
    desk = initialised_desk(rules=LATE)
    write(desk, StateBatch(0, 0, TXP, 1, 9, 0, kind, target))
    mark(desk, committed=committed)
    assert stored_batches(desk) == (StateBatch(0, 0, becomes, 1),)


@pytest.mark.parametrize(
    ("rule", "epoch", "fits"),
    [
        ("equal", 0, True),
        ("equal", 1, False),
        ("equal_or_next", 0, True),
        ("equal_or_next", 1, True),
        ("equal_or_next", 2, False),
        ("any_epoch", 7, True),
        ("greater", 0, False),
    ],
)
def test_which_marker_fits_is_the_designs_to_say(rule: str, epoch: int, fits: bool) -> None:
    desk = initialised_desk(rules=f"{LATE}+marker_epoch={rule}")
    write(desk, PENDING)
    mark(desk, committed=True, epoch=epoch)
    assert stored_batches(desk) == ((StateBatch(0, 0, ACK, 1),) if fits else (PENDING,))


def test_a_marker_of_another_producer_leaves_delivery_state_5_alone() -> None:
    desk = initialised_desk(rules=LATE)
    write(desk, PENDING)
    mark(desk, committed=True, pid=10)
    assert stored_batches(desk) == (PENDING,)


def test_where_the_leader_alone_resolves_the_share_coordinator_completes_nothing() -> None:
    desk = initialised_desk(rules=f"{MIDDLE}+marker_epoch=equal_or_next")
    write(desk, PENDING)
    mark(desk, committed=True)
    assert stored_batches(desk) == (PENDING,)


def test_an_outcome_that_goes_through_the_merge_loses_against_delivery_state_5() -> None:
    desk = initialised_desk(rules=f"{LATE}+outcome_join=joined_with_the_acknowledgement")
    write(desk, PENDING)
    mark(desk, committed=True)
    assert stored_batches(desk) == (PENDING,)


def test_a_new_share_coordinator_finds_delivery_state_5_and_its_outcome_in_the_log() -> None:
    desk = initialised_desk(rules=LATE)
    write(desk, PENDING)
    mark(desk, committed=True)
    desk.role = ShareCoordinator(HERE, loading=True)
    desk.do(sc.on_loaded(desk.role, desk.on))
    assert stored_batches(desk) == (StateBatch(0, 0, ACK, 1),)


# -- the merge by state number -------------------------------------------------------------------


@pytest.mark.parametrize("after", [ACK, AVL, ARCH])
def test_by_state_number_delivery_state_5_outranks_every_outcome_of_its_delivery(
    after: RecordState,
) -> None:
    desk = initialised_desk(rules=LATE)
    write(desk, PENDING)
    write(desk, durable(0, 0, after, 1))
    assert stored_batches(desk) == (PENDING,)
    write(desk, durable(0, 0, after, 2))
    assert stored_batches(desk) == (durable(0, 0, after, 2),)


@pytest.mark.parametrize("after", [ACK, AVL, ARCH])
def test_ranked_last_delivery_state_5_gives_way_and_does_not_come_back(after: RecordState) -> None:
    desk = initialised_desk(rules=f"{LATE}+state_rank=pending_below_outcomes")
    write(desk, PENDING)
    write(desk, durable(0, 0, after, 1))
    assert stored_batches(desk) == (durable(0, 0, after, 1),)
    write(desk, PENDING)
    assert stored_batches(desk) == (durable(0, 0, after, 1),)


def test_a_late_stage_write_wins_against_the_abort_by_state_number() -> None:
    desk = initialised_desk(rules=LATE)
    write(desk, durable(0, 0, AVL, 1))
    write(desk, PENDING)
    assert stored_batches(desk) == (PENDING,)


def test_of_two_transactional_acknowledgements_of_one_delivery_the_higher_staged_fields_stay() -> (
    None
):
    desk = initialised_desk(rules=LATE)
    other = PENDING.but(staged_producer_id=11)
    write(desk, other)
    write(desk, PENDING)
    assert stored_batches(desk) == (other,)


def test_two_transactional_acknowledgements_side_by_side_stay_apart_where_their_producers_differ() -> (
    None
):
    desk = initialised_desk(rules=LATE)
    other = PENDING.but(first=1, last=1, staged_producer_id=11)
    write(desk, PENDING, other)
    assert stored_batches(desk) == (PENDING, other)
    assert read_state(desk).only.batches == (PENDING, other)


# -- what the leader makes of it -----------------------------------------------------------------


def test_the_leader_takes_over_an_outcome_that_it_reads_and_keeps_what_is_undecided() -> None:
    place = staging()
    answer_enlistment(place)
    place.coordinator(WriteShareGroupStateResponse((WriteStateResult(Errors.NONE, KEY),)))
    resolving(place, PENDING)
    assert place.states(0, 0) == [TXP]
    resolving(place, durable(0, 0, AVL, 1))
    assert place.states(0, 0) == [AVL]
    assert place.counts(0, 0) == [1]


def test_a_new_leader_loads_delivery_state_5_and_delivers_it_to_nobody() -> None:
    place = SharePlace(rules=LATE).load(0, PENDING)
    assert place.states(0, 0) == [TXP]
    assert place.share.records[0].staged_producer_id == 9
    place.fetch("M1", 1)
    assert place.last.records[0].offset == 1


def test_a_leader_that_resolves_its_transactional_acknowledgements_itself_never_asks_for_their_outcome() -> (
    None
):
    place = staging(MIDDLE)
    answer_enlistment(place)
    place.coordinator(WriteShareGroupStateResponse((WriteStateResult(Errors.NONE, KEY),)))
    assert share_timers.refreshes(place.role, place.on) == ()


@pytest.mark.parametrize(
    ("limit", "becomes"), [("not_asked", AVL), ("archived_at_the_limit", ARCH)]
)
def test_an_abort_at_the_last_delivery_archives_only_where_the_limit_is_asked(
    limit: str, becomes: RecordState
) -> None:
    place = SharePlace(rules=f"{LATE}+abort_limit={limit}", delivery_count_limit=2)
    place.load(0, durable(0, 0, AVL, 1))
    place.fetch("M1", 1)
    place.stage("M1", batch_of(0, 0))
    answer_enlistment(place)
    place.coordinator(WriteShareGroupStateResponse((WriteStateResult(Errors.NONE, KEY),)))
    written = len(place.writes)
    resolving(place, durable(0, 0, AVL, 2))
    record = place.share.records.get(0)
    assert (record.state if record else ARCH) is becomes
    # What is archived in memory is told to the share coordinator.
    assert len(place.writes) == written + (becomes is ARCH)


@pytest.mark.parametrize(
    ("limit", "becomes"), [("not_asked", AVL), ("archived_at_the_limit", ARCH)]
)
def test_the_same_of_a_transactional_acknowledgement_in_memory_whose_abort_marker_comes(
    limit: str, becomes: RecordState
) -> None:
    rules = f"as-written-available+marker_epoch=at_least+abort_limit={limit}"
    place = SharePlace(rules=rules, delivery_count_limit=1).load()
    place.fetch("M1", 1)
    place.stage("M1", batch_of(0, 0))
    answer_enlistment(place)
    place.do(spl.on_marker(place.role, ApplyMarkerToShares(9, 1, committed=False), place.on))
    assert place.writes[-1].only.batches == (durable(0, 0, becomes, 1),)


# -- when the hook runs --------------------------------------------------------------------------


def hooks(rules: str, *partitions: str) -> list[str]:
    """Give what a marker request has done next door, in order."""
    leaders = {"output-A-0": 1, STATE: 1, "src-0": 1}
    desk = Desk(kafka_apis, KafkaApis(), leaders=leaders, rules=rules)
    request = WriteTxnMarkers((TxnMarker(9, 1, True, partitions, 0),))
    desk.ask(kafka_apis.on_write_txn_markers, request)
    return [type(call.message).__name__ for call in desk.local]


def test_the_early_hook_runs_before_anything_is_appended() -> None:
    assert hooks(EARLY, "output-A-0") == ["ApplyMarkerToShares", "WriteMarker"]
    assert hooks("as-written", "output-A-0") == ["WriteMarker"]


def test_the_early_hook_runs_although_the_broker_leads_nothing_of_the_request() -> None:
    assert hooks(EARLY, "output-B-0") == ["ApplyMarkerToShares"]


def test_the_middle_hook_runs_for_requests_that_name_a_state_partition_alone() -> None:
    assert hooks(MIDDLE, "output-B-0") == []
    assert hooks(MIDDLE, "__share_group_state-49") == ["ApplyMarkerToShares"]


# -- which delivery is staged --------------------------------------------------------------------


@pytest.mark.parametrize(("deliveries", "error"), [((), Errors.NONE), (((0, 1),), "stale")])
def test_a_staging_of_an_older_delivery_to_the_same_member_is_refused_where_it_names_it(
    deliveries: tuple[tuple[int, int], ...], error: object
) -> None:
    place = SharePlace(rules="as-written+participant=nowhere").load(0, durable(0, 0, AVL, 1))
    place.fetch("M1", 1)
    assert place.counts(0, 0) == [2]
    request = stages("t", "g1", 9, 0, "M1", 2, "src-0", (batch_of(0, 0),), deliveries=deliveries)
    answer = place.ask(spl.on_txn_share_acknowledge, request)
    assert answer is not None
    expected = Errors.INVALID_RECORD_STATE if error == "stale" else Errors.NONE
    assert answer.error is expected


def test_writes_of_states_that_nobody_staged_are_as_before() -> None:
    place = SharePlace(rules=LATE).load()
    place.fetch("M1", 2)
    place.acknowledge("M1", batch_of(0, 1))
    assert place.writes[-1] == WriteShareGroupState(
        (WriteStateData(KEY, 3, 0, 0, 2, (durable(0, 1, ACK, 1),)),)
    )


# -- a refresh that says nothing of a transactional acknowledgement --------------------------------


def store_acknowledgement(rules: str) -> SharePlace:
    """A leader whose transactional acknowledgement for record 0 is stored."""
    place = staging(rules)
    answer_enlistment(place)
    place.coordinator(WriteShareGroupStateResponse((WriteStateResult(Errors.NONE, KEY),)))
    return place


DROPS = f"{LATE}+unanswered_acknowledgement=dropped_with_the_share_partition"


def test_a_transactional_acknowledgement_for_which_the_state_has_no_batch_stays_pending_or_drops_the_share_partition() -> (
    None
):
    """SharePartitionTxnState.finalState: what no batch covers is left as it is."""
    for rules, there in ((LATE, True), (DROPS, False)):
        place = store_acknowledgement(rules)
        place.do(spl.on_refresh(place.role, KEY, place.on))
        place.coordinator(
            ReadShareGroupStateResponse((ReadStateResult(Errors.NONE, KEY, 3, 0, ()),))
        )
        assert (KEY in place.role.shares) is there
        if there:
            assert place.states(0, 0) == [TXP]


@pytest.mark.parametrize(
    "rules", [LATE, f"{LATE}+unanswered_acknowledgement=dropped_with_the_share_partition"]
)
def test_a_state_of_a_newer_epoch_drops_the_share_partition_whatever_it_says(rules: str) -> None:
    """What the draft does when its read fails is not stored: as for every other FENCED_STATE_EPOCH."""
    place = store_acknowledgement(rules)
    place.do(spl.on_refresh(place.role, KEY, place.on))
    place.coordinator(ReadShareGroupStateResponse((ReadStateResult(Errors.NONE, KEY, 4, 0, ()),)))
    assert KEY not in place.role.shares


def test_a_transactional_acknowledgement_below_the_start_offset_of_the_state_counts_as_archived() -> (
    None
):
    for rules, found in ((LATE, ARCH), (DROPS, None)):
        place = store_acknowledgement(rules)
        place.do(spl.on_refresh(place.role, KEY, place.on))
        place.coordinator(
            ReadShareGroupStateResponse((ReadStateResult(Errors.NONE, KEY, 3, 1, ()),))
        )
        assert (KEY in place.role.shares) is (found is not None)
        if found is not None:
            assert [e.after for e in place.events if isinstance(e, RecordsMoved)][-1] is found
