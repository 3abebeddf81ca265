"""A share-partition in its leader's memory, function by function: loading, transactional acknowledgements, locks and what a failed write undoes."""

from __future__ import annotations

import pytest

from kipviz.brokers.share_leaders import share_loading, share_partition, share_timers
from kipviz.brokers.share_leaders.in_flight import InFlight, staged_batches
from kipviz.brokers.share_leaders.share_partition import PendingWrite, SharePartition, Status
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.events import SharePartitionLoaded
from kipviz.messages.message import Message
from kipviz.messages.shares.share_state import (
    PendingBatch,
    ReadStateResult,
)
from kipviz.records.share_group_state import StagedBatch, StateBatch
from tests.brokers.share_leaders.share_place import (
    ACCEPT,
    ACK,
    ACQ,
    ARCH,
    AVL,
    KEY,
    TXP,
    SharePlace,
    batch_of,
    durable,
)
from tests.messages.shares import stages

ON = SharePlace().on


def record_held(**fields: object) -> InFlight:
    return InFlight(ACQ, 1, "M1", 0).but(**fields)


def acknowledgement(producer_id: int = 9, **fields: object) -> InFlight:
    staged = InFlight(TXP, 1, staged_producer_id=producer_id, staged_producer_epoch=0)
    return staged.but(staged_type=int(ACCEPT), **fields)


def share(records: dict[int, InFlight], *, start: int = 0) -> SharePartition:
    made = SharePartition(KEY, "g1", "src-0", 0, status=Status.ACTIVE, state_epoch=3)
    return made.but(start_offset=start, next_offset=9, records=Table.of(records))


# -- loading ------------------------------------------------------------------------------------


def test_what_is_loaded_and_not_available_is_named() -> None:
    place = SharePlace().load(0, durable(1, 1, ACK), durable(3, 4, ARCH))
    (loaded,) = (e for e in place.events if isinstance(e, SharePartitionLoaded))
    assert loaded == SharePartitionLoaded("src-0", "g1", 0, (1, 3, 4))


@pytest.mark.parametrize(("own", "begins"), [("", 41), ("earliest", 0), ("latest", 41)])
def test_a_group_without_a_reset_policy_of_its_own_has_the_broker_s(own: str, begins: int) -> None:
    """GroupConfig.shareAutoOffsetReset, and its default in group.share.auto.offset.reset."""
    place = SharePlace(group={"auto_offset_reset": own}, share_auto_offset_reset="latest")
    assert place.load(-1).share.start_offset == begins


@pytest.mark.parametrize(
    ("batch", "ends"),
    [
        (durable(0, 3, AVL, 3), (0, 3)),
        (durable(0, 3, AVL, 2), (-1, -1)),  # it is not suspect yet
        (durable(0, 0, AVL, 3), (-1, -1)),  # it is alone already
        (durable(0, 3, ARCH, 3), (-1, -1)),  # it is not delivered any more
    ],
)
def test_only_a_suspect_batch_of_several_available_records_is_kept_together(
    batch: StateBatch, ends: tuple[int, int]
) -> None:
    """KIP-932, throttling of poison records: at the default limit of 5 the third delivery makes suspect."""
    place = SharePlace().load(0, batch, durable(4, 4, AVL))
    record = share_loading._load_record(batch, 5)
    assert (record.batch_first, record.batch_last) == ends
    assert all(r == record for o, r in place.share.records.items() if o <= batch.last)


# -- the outcome of transactional acknowledgements -------------------------------------------------


def outcome(
    records: dict[int, InFlight],
    *batches: StateBatch,
    pending: tuple[PendingBatch, ...] = (),
    start: int = 0,
    reads: int = 0,
    matches: tuple[bool, ...] = (True, False),
    stays: bool = False,
) -> dict[int, InFlight] | None:
    """What the records are after the share coordinator said what is durable; None if its state is another one."""
    rules = ON.rules.but(
        refresh_match=lambda noted: noted in matches, unanswered_acknowledgement=lambda: stays
    )
    answer = ReadStateResult(Errors.NONE, KEY, 3, reads, batches, pending)
    done = share_loading.refresh_state(share(records, start=start), answer, ON.but(rules=rules))
    if done is None:
        return None
    after = {o: done.state.records.get(o) for o in records}
    changed = tuple(o for o, r in records.items() if o in after and after[o] != r)
    assert {e.first for e in done.events} == set(changed)
    return after


def test_a_transactional_acknowledgement_whose_write_is_not_answered_has_an_outcome_if_another_one_of_its_transaction_is_durable() -> (
    None
):
    front, unanswered = InFlight(AVL), acknowledgement(before_member="M1", ongoing=True)
    committed = durable(1, 2, ACK)
    alone = {0: front, 1: unanswered}
    assert outcome(alone, committed) == alone, "it may have been staged after the read"
    beside = {**alone, 2: acknowledgement()}
    done = outcome(beside, committed)
    assert done is not None
    assert [done[o].state for o in (1, 2)] == [ACK, ACK]
    durable_alone = outcome(beside, committed, matches=(True,))
    assert durable_alone is not None
    assert [durable_alone[o].state for o in (1, 2)] == [TXP, ACK]
    none = outcome(beside, committed, matches=())
    assert none == beside


def test_a_transactional_acknowledgement_of_which_the_state_has_nothing_shows_another_state_unless_it_is_not_answered() -> (
    None
):
    front = {0: InFlight(AVL)}
    assert outcome({**front, 1: acknowledgement()}) is None
    assert outcome({**front, 1: acknowledgement()}, stays=True) == {**front, 1: acknowledgement()}
    unanswered = {**front, 1: acknowledgement(ongoing=True), 2: acknowledgement()}
    found = outcome(unanswered, durable(2, 2, ACK))
    assert found is not None
    assert (found[1], found[2].state) == (unanswered[1], ACK)


def test_a_transactional_acknowledgement_that_is_durable_as_a_state_is_not_decided() -> None:
    staged = {0: InFlight(AVL), 1: acknowledgement()}
    undecided = StateBatch(1, 1, TXP, 1, staged_producer_id=9, staged_producer_epoch=0)
    assert outcome(staged, undecided) == staged
    pending = PendingBatch(9, 0, StagedBatch(1, 1, int(ACCEPT), 1))
    assert outcome(staged, durable(1, 1), pending=(pending,)) == staged


@pytest.mark.parametrize(
    ("start", "state", "becomes"), [(0, AVL, AVL), (2, AVL, ARCH), (2, ACK, ACK), (2, ARCH, ARCH)]
)
def test_a_record_that_was_deleted_while_it_was_staged_is_not_delivered_again(
    start: int, state: object, becomes: object
) -> None:
    """Finding X17: below the start offset nothing is AVAILABLE."""
    staged = {0: record_held(), 1: acknowledgement(), 5: InFlight(AVL)}
    done = outcome(staged, durable(1, 1, state), start=start)
    assert done is not None
    assert done[1].state is becomes


# -- transactional acknowledgements in memory ------------------------------------------------------


def test_only_a_transactional_acknowledgement_of_the_same_producer_that_is_no_longer_being_written_is_taken_back() -> (
    None
):
    """KIP-1289, corner case 11 (draft)."""
    request = stages("t", "g1", 9, 0, "M1", 2, "src-0", (batch_of(0, 4),))
    records = {
        0: acknowledgement(member_id="M1", lock=0),
        1: acknowledgement(member_id="M1", lock=0, ongoing=True),
        2: acknowledgement(8, member_id="M1", lock=0),
        3: record_held(),
    }
    after, events = share_partition.unstage(share(records), request)
    assert dict(after.records.items()) == {**records, 0: record_held()}
    assert [e.first for e in events] == [0]


def test_a_leader_may_ask_for_an_outcome_of_durable_transactional_acknowledgements_while_nothing_else_is_written() -> (
    None
):
    pending = PendingBatch(9, 0, StagedBatch(1, 2, int(ACCEPT), 1))
    place = SharePlace().load(0, pending=(pending,))
    assert share_timers.refreshes(place.role, place.on) == (KEY,)
    place.fetch("M1", 1)
    place.acknowledge("M1", batch_of(0, 0))
    assert share_timers.refreshes(place.role, place.on) == ()
    place.coordinator()
    assert share_timers.refreshes(place.role, place.on) == (KEY,)
    place.rules = place.rules.but(staged_acks=lambda _: ())
    assert share_timers.refreshes(place.role, place.on) == (), "in memory alone there is no outcome"
    assert staged_batches(share_partition.pending_cells(place.share))


# -- locks, and the end of a transition ------------------------------------------------------------


def test_a_lock_under_which_only_a_transactional_acknowledgement_that_is_being_written_is_held_does_not_run_out() -> (
    None
):
    place = SharePlace().load()
    place.fetch("M1", 1)
    assert share_timers.locks(place.role, place.on) == ((KEY, 0),)
    place.stage("M1", batch_of(0, 0))
    assert place.share.records[0].lock == 0
    assert share_timers.locks(place.role, place.on) == ()


@pytest.mark.parametrize(
    ("record", "times_out", "becomes"),
    [
        (record_held(), True, InFlight(AVL, 1)),
        (record_held(), False, None),
        (acknowledgement(lock=0, ongoing=True), True, None),
        (acknowledgement(lock=0), True, InFlight(AVL, 1)),
        (InFlight(ARCH, 1, lock=0), True, None),
        (
            record_held(ongoing=True, state=ACK),
            False,
            record_held(ongoing=True, state=ACK, lock=-1, lock_ran_out=True),
        ),
    ],
)
def test_what_runs_out_is_the_lock_of_a_record_that_a_member_holds(
    record: InFlight, times_out: bool, becomes: InFlight | None
) -> None:
    rules = ON.rules.but(
        lock_timeout=lambda: times_out, lock_expiry=lambda r: r.without_staging(AVL)
    )
    on = ON.but(rules=rules)
    assert share_partition.expire_lock(share({0: record}), 0, on) == becomes


def test_a_write_that_is_durable_ends_the_transitions_that_are_under_way_and_no_others() -> None:
    """InFlightState.completeStateTransition."""
    records = {
        0: record_held(),
        1: acknowledgement(ongoing=True, before_member="M1", member_id="M1", lock=0),
        2: record_held(ongoing=True, state=ACK, before_member="M1"),
    }
    after = share_partition.settle(share(records), (0, 1, 2, 7))
    assert dict(after.records.items()) == {
        0: record_held(),
        1: acknowledgement(member_id="M1", lock=0),
        2: InFlight(ACK, 1),
    }


def test_a_write_that_failed_gives_back_what_it_was_to_make_durable_with_its_lock() -> None:
    """Only the lock of a transactional acknowledgement is the design's to say (slot rollback_lock)."""
    records = {
        0: record_held(),
        1: acknowledgement(ongoing=True, before_member="M1", lock=0),
        2: record_held(ongoing=True, state=ACK, member_id="", before_member="M1"),
    }
    on = ON.but(rules=ON.rules.but(rollback_lock=lambda _: 5))
    after, events = share_partition.roll_back(share(records), (0, 1, 2, 7), "it failed", on)
    assert dict(after.records.items()) == {
        0: record_held(),
        1: record_held(lock=5),
        2: record_held(),
    }
    assert [e.first for e in events] == [1, 2]


# -- the start of the log, and a share-partition that is dropped -----------------------------------


@pytest.mark.parametrize("log_start", [0, 1])
def test_a_log_that_begins_in_front_of_the_start_offset_moves_nothing(log_start: int) -> None:
    me = share({1: InFlight(AVL)}, start=1)
    assert share_partition.log_start_moved(me, log_start) == (me, ())


def test_a_moved_start_archives_what_is_available_between_the_old_one_and_the_new_one() -> None:
    """SharePartition.archiveAvailableRecords, from the start offset on."""
    records = {0: InFlight(AVL, 1), 1: InFlight(AVL, 1), 2: record_held(), 3: InFlight(AVL)}
    after, events = share_partition.log_start_moved(share(records, start=1), 3)
    assert dict(after.records.items()) == {**records, 1: InFlight(ARCH, 1)}
    assert [e.first for e in events[1:]] == [1]


@pytest.mark.parametrize(
    ("purposes", "sent", "left"),
    [
        (("refresh", "note"), True, ("refresh", "note")),
        (("refresh", "note"), False, ("note",)),
        (("note", "refresh"), True, ("note",)),
        (("load",), False, ()),
    ],
)
def test_of_a_dropped_share_partition_only_what_was_sent_is_still_read(
    purposes: tuple[str, ...], sent: bool, left: tuple[str, ...]
) -> None:
    writes = tuple(PendingWrite(each, Message()) for each in purposes)
    me = share({0: record_held()}).but(writes=writes, on_wire=sent)
    after = share_partition.drop_state(me, "it moved", Errors.NOT_LEADER_OR_FOLLOWER).state
    assert tuple(write.purpose for write in after.writes) == left
    assert (after.status, len(after.records)) == (Status.FENCED, 0)


def test_a_move_names_who_holds_the_record_or_held_it_and_whose_transactional_acknowledgement_it_is_or_was() -> (
    None
):
    me = share({})
    staged = acknowledgement(member_id="M2")
    for before, after, member, producer_id in (
        (record_held(), staged, "M2", 9),
        (staged, InFlight(AVL, 1), "M2", 9),
        (acknowledgement(8, member_id="M1"), staged, "M2", 9),
        (InFlight(AVL), record_held(), "M1", -1),
        (record_held(), InFlight(ACK, 1), "M1", -1),
    ):
        told = share_partition.record_moved(me, 4, before, after, "why")
        assert (told.member_id, told.producer_id) == (member, producer_id)
