"""What an acknowledgement is compared with, record by record, and what is told of each record."""

from __future__ import annotations

import pytest

from kipviz.brokers.checks import Check, error_of
from kipviz.brokers.share_leaders import acknowledgement_checks as checks
from kipviz.brokers.share_leaders.acknowledgement_checks import Alike
from kipviz.brokers.share_leaders.in_flight import InFlight, staged_batches, state_batches
from kipviz.brokers.share_leaders.share_partition import SharePartition
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import TxnShareAcknowledge
from kipviz.records.share_group_state import StagedBatch, StateBatch
from tests.brokers.share_leaders.share_place import (
    ACCEPT,
    ACK,
    ACQ,
    ARCH,
    AVL,
    KEY,
    REJECT,
    RENEW,
    TXP,
    SharePlace,
    batch_of,
)
from tests.messages.shares import stages

HELD = InFlight(ACQ, 2, "M1", 0)
ACKNOWLEDGEMENT = InFlight(
    *(TXP, 2, "M1"), staged_producer_id=9, staged_producer_epoch=0, staged_type=int(ACCEPT)
)
WRONG = Errors.INVALID_RECORD_STATE


def request(*batches: object, deliveries: tuple[tuple[int, int], ...] = ()) -> TxnShareAcknowledge:
    return stages("t", "g1", 9, 0, "M1", 2, "src-0", batches, deliveries=deliveries)


def share(records: dict[int, InFlight], *, start: int = 0, ahead: int = 9) -> SharePartition:
    made = SharePartition(KEY, "g1", "src-0", 0, start_offset=start, next_offset=ahead)
    return made.but(records=Table.of(records))


def facts(found: tuple[Check, ...]) -> list[tuple[str, object]]:
    return [(check.name, check.found) for check in found]


@pytest.mark.parametrize(
    ("record", "holds"),
    [
        (None, False),
        (HELD, True),
        (HELD.but(member_id="M2"), False),
        (HELD.but(state=AVL), False),
        (HELD.but(ongoing=True), False),
    ],
)
def test_a_member_holds_what_is_acquired_by_it_and_is_not_being_written(
    record: InFlight | None, holds: bool
) -> None:
    assert checks.is_held_by(record, "M1") is holds


@pytest.mark.parametrize(
    ("record", "staged"),
    [
        (None, False),
        (ACKNOWLEDGEMENT, True),
        (ACKNOWLEDGEMENT.but(staged_producer_epoch=1), False),
        (ACKNOWLEDGEMENT.but(staged_type=int(REJECT)), False),
        (ACKNOWLEDGEMENT.but(state=ACK), False),
    ],
)
def test_a_record_is_staged_by_who_staged_it_as_long_as_it_is_pending(
    record: InFlight | None, staged: bool
) -> None:
    assert checks.is_staged_by(record, request(), int(ACCEPT)) is staged
    me = share({} if record is None else {4: record})
    assert checks.is_staged_again(me, request(batch_of(4, 4))) is staged


def test_a_staging_of_nothing_repeats_none_and_one_of_more_than_was_staged_neither() -> None:
    me = share({4: ACKNOWLEDGEMENT, 5: HELD})
    assert not checks.is_staged_again(me, request())
    assert not checks.is_staged_again(me, request(batch_of(4, 5)))


def test_whether_locks_may_be_renewed_is_asked_of_a_renewal_alone() -> None:
    """KIP-1222, share.renew.acknowledge.enable."""
    on = SharePlace(group={"renew_acknowledge_enable": False}).on
    me = share({4: HELD})
    taken = checks.batch_checks(me, batch_of(4, 4), on)
    assert error_of(taken) is Errors.NONE
    assert [name for name, _ in facts(taken)] == ["acknowledge type", "first offset", "last offset"]
    assert facts(checks.batch_checks(me, batch_of(4, 4, RENEW), on))[-1] == (
        "share.renew.acknowledge.enable",
        False,
    )


@pytest.mark.parametrize(
    ("first", "error"),
    [(3, Errors.NONE), (5, Errors.NONE), (6, WRONG), (7, Errors.NONE), (8, Errors.NONE)],
)
def test_a_batch_begins_at_the_start_or_where_something_is_in_memory(
    first: int, error: Errors
) -> None:
    """SharePartition.fetchSubMapForAcknowledgementBatch: floorEntry of the first offset."""
    me = share({7: HELD, 8: HELD}, start=5)
    assert error_of(checks.batch_checks(me, batch_of(first, 8), SharePlace().on)) is error
    nothing = share({}, start=5)
    (*_, decided) = checks.batch_checks(nothing, batch_of(first, 8), SharePlace().on)
    assert (decided.name, decided.found, decided.error) == ("first offset", -1, WRONG)


@pytest.mark.parametrize(
    ("deliveries", "found", "error"),
    [(((4, 2),), 2, Errors.NONE), (((4, 1),), 2, WRONG), (((7, 1),), None, WRONG)],
)
def test_a_delivery_that_is_staged_is_the_one_that_is_in_memory(
    deliveries: tuple[tuple[int, int], ...], found: int | None, error: Errors
) -> None:
    asked = request(batch_of(4, 4), deliveries=deliveries)
    (*_, last) = checks.stage_checks(share({4: HELD}), asked, SharePlace().on)
    assert (last.name, last.found, last.error) == ("delivery that is staged", found, error)


def test_of_a_record_is_told_who_holds_it_or_held_it_and_of_none_nothing() -> None:
    written = InFlight(ACK, 2, before_member="M2", ongoing=True)
    renewed = HELD.but(before_member="M2")
    records = Table.of({1: HELD, 2: written, 3: InFlight(AVL, 1), 5: renewed})
    for offset, told in (
        (1, [("record state", ACQ), ("held by", "M1"), ("delivery count", 2)]),
        (2, [("record state", ACK), ("held by", "M2"), ("delivery count", 2)]),
        (3, [("record state", AVL), ("delivery count", 1)]),
        (4, [("record state", None)]),
        (5, [("record state", ACQ), ("held by", "M1"), ("delivery count", 2)]),
    ):
        assert facts(checks.states(records, (offset,)))[1:] == told


def test_a_write_under_way_is_compared_only_where_there_is_one() -> None:
    assert [name for name, _ in facts(tuple(checks._check_holder(HELD, "M1")))] == [
        *("record state", "held by", "delivery count")
    ]
    decided = checks.held_checks(Table.of({1: HELD.but(ongoing=True)}), (1,), "M1")[-1]
    assert (decided.name, decided.error) == ("write under way", WRONG)


@pytest.mark.parametrize(
    "other",
    [
        HELD.but(member_id="M2"),
        HELD.but(delivery_count=3),
        HELD.but(ongoing=True),
        HELD.but(staged_producer_id=9),
        HELD.but(state=AVL),
    ],
)
def test_records_that_differ_in_what_is_told_of_them_are_told_apart(other: InFlight) -> None:
    told = checks.alike(Table.of({1: HELD, 2: other, 3: other}), (1, 2, 3))
    assert told == (Alike(1, 1, HELD), Alike(2, 3, other))


def test_who_held_a_record_before_is_who_holds_it_for_those_who_read() -> None:
    now, before = HELD.but(before_member=""), HELD.but(member_id="", before_member="M1")
    assert checks.alike(Table.of({1: now, 2: before}), (1, 2)) == (Alike(1, 2, now),)


# -- batches of records ----------------------------------------------------------------------------


def test_a_record_is_done_for_good_once_that_is_durable() -> None:
    assert InFlight(ACK, 1).is_terminal
    assert not InFlight(ACK, 1, ongoing=True).is_terminal
    assert not HELD.is_terminal


def test_transactional_acknowledgements_are_told_in_batches_of_neighbours_that_are_equal() -> None:
    rejected = ACKNOWLEDGEMENT.but(staged_type=int(REJECT))
    cells = (
        (1, ACKNOWLEDGEMENT),
        (2, ACKNOWLEDGEMENT),
        (4, ACKNOWLEDGEMENT),
        (5, rejected),
        (6, rejected.but(delivery_count=3)),
    )
    assert staged_batches(cells) == (
        StagedBatch(1, 2, int(ACCEPT), 2),
        StagedBatch(4, 4, int(ACCEPT), 2),
        StagedBatch(5, 5, int(REJECT), 2),
        StagedBatch(6, 6, int(REJECT), 3),
    )


def test_states_are_told_in_batches_of_neighbours_that_are_equal() -> None:
    done = InFlight(ARCH, 2)
    staged = StateBatch(
        *(7, 7, TXP, 2), staged_producer_id=9, staged_producer_epoch=0, staged_type=int(ACCEPT)
    )
    assert state_batches(
        ((1, done), (2, done), (4, done), (5, InFlight(ARCH, 3)), (7, ACKNOWLEDGEMENT))
    ) == (
        StateBatch(1, 2, ARCH, 2),
        StateBatch(4, 4, ARCH, 2),
        StateBatch(5, 5, ARCH, 3),
        staged,
    )
