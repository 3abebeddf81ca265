"""What a share-partition leader does with transactional acknowledgements that it has in memory, step by step (pull request 22357, draft)."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import LocalCall, ReplyTo
from kipviz.brokers.local_calls import ApplyMarkerToShares, MarkerApplied, OutcomeWritten
from kipviz.brokers.share_leaders import share_partition
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.share_leaders.share_partition import (
    PendingWrite,
    ShareLeader,
    SharePartition,
)
from kipviz.brokers.share_transactions import share_outcomes
from kipviz.brokers.share_transactions.share_outcomes import DECIDE
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_state import WriteShareGroupState, WriteStateData
from kipviz.records.share_group_state import RecordState, StateBatch
from tests.brokers.share_leaders.share_place import (
    ACK,
    ACQ,
    ARCH,
    ARCHIVING,
    AVL,
    KEY,
    TXP,
    SharePlace,
)

TICKET = ReplyTo("B7/markers", 1, 0)
OTHER = KEY.replace("g1", "g2")


def acknowledgement(producer: int = 9, count: int = 1) -> InFlight:
    return InFlight(TXP, count, staged_producer_id=producer, staged_producer_epoch=0)


def share(records: dict[int, InFlight], *writes: PendingWrite, start: int = 0) -> SharePartition:
    made = SharePartition(KEY, "g1", "src-0", 0, 0)
    return made.but(start_offset=start, records=Table.of(records), writes=writes, next_offset=9)


def write(purpose: str, *offsets: int, batches: tuple[StateBatch, ...] = ()) -> PendingWrite:
    return PendingWrite(
        purpose, WriteShareGroupState((WriteStateData(KEY, 3, 0, 0, 0, batches),)), offsets
    )


def await_marker(**shares: SharePartition) -> tuple[ShareLeader, MarkerApplied]:
    named = {KEY: shares["one"], **({OTHER: shares["other"]} if "other" in shares else {})}
    me = ShareLeader().but(shares=Table.of(named))
    marker = ApplyMarkerToShares(9, 0, committed=True, ticket=TICKET)
    done = share_outcomes.report_awaited(me, marker)
    (call,) = done.local
    assert isinstance(call.message, MarkerApplied)
    return done.state, call.message


def test_a_marker_waits_for_the_writes_that_decide_transactional_acknowledgements_of_its_producer_and_no_others() -> (
    None
):
    records = {0: acknowledgement(), 1: acknowledgement(8), 2: InFlight(ACQ, 1)}
    mine = write(DECIDE, 0, 7)
    writes = (mine, write("stage", 0), write(DECIDE, 1), write(DECIDE, 2, 7))
    after, applied = await_marker(one=share(records, *writes), other=share({1: acknowledgement(8)}))
    assert applied == MarkerApplied(TICKET, (KEY,))
    found = after.shares[KEY].writes
    assert found == (mine.but(reply_to=TICKET), *writes[1:])


def test_only_what_is_tx_pending_still_is_decided_by_a_write_that_is_durable() -> None:
    batches = (StateBatch(0, 8, ACK, 1),)
    me = share({0: acknowledgement(), 1: InFlight(ACQ, 1, member_id="M1", lock=1)})
    after, events = share_outcomes.apply_outcome(
        me, write(DECIDE, 0, 1, 7, batches=batches), SharePlace().on
    )
    assert len(events) == 1
    assert after.start_offset == 1
    assert after.records[1] == me.records[1]
    assert 7 not in after.records


@pytest.mark.parametrize(("state", "becomes"), [(AVL, ARCH), (ACQ, ACQ)])
def test_an_aborted_record_at_the_limit_is_archived_if_it_became_available(
    state: RecordState, becomes: RecordState
) -> None:
    """SharePartition.archiveRecord: the delivery limit is for records that would be delivered again."""
    on = SharePlace().on
    rules = on.rules.but(
        abort_target=lambda r: r.without_staging(state), abort_limit=lambda *_: True
    )
    after = share_outcomes.abort_record(share({}), acknowledgement(), on.but(rules=rules))
    assert after.state is becomes


@pytest.mark.parametrize(("start", "archived"), [(0, (0,)), (1, ())])
def test_an_abort_archives_at_the_limit_what_is_available_and_not_behind_the_start(
    start: int, archived: tuple[int, ...]
) -> None:
    on = SharePlace().on
    on = on.but(rules=on.rules.but(abort_limit=lambda *_: True))
    me = share({0: acknowledgement(), 1: acknowledgement(), 2: acknowledgement()}, start=start)
    found = (StateBatch(0, 0, AVL, 1), StateBatch(1, 1, ACK, 1))
    assert share_outcomes.archived_at_limit(me, found, on) == archived


@pytest.mark.parametrize(
    ("state", "cause"), [(ARCHIVING, share_partition.REJECTED), (ACK, ""), (ARCH, "")]
)
def test_a_record_that_waits_for_its_copy_was_rejected(state: RecordState, cause: str) -> None:
    """KIP-1191: the dead letter names the reason."""
    after = share_outcomes.outcome_of(
        share({}), acknowledgement(), StateBatch(0, 0, state, 1), SharePlace().on
    )
    assert (after.state, after.cause) == (state, cause)


def test_only_a_request_with_a_marker_hears_of_an_outcome() -> None:
    me = share({})
    told = LocalCall("kafka_apis", "", OutcomeWritten(TICKET, KEY, Errors.NONE))
    for each, calls in (
        (write(DECIDE, 0).but(reply_to=TICKET), (told,)),
        (write(DECIDE, 0), ()),
        (write("acknowledge", 0).but(reply_to=TICKET), ()),
    ):
        assert share_outcomes.report_result(me, each, Errors.NONE) == calls
