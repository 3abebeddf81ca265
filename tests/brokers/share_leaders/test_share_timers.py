"""Why a lock does not run out and an outcome is not asked for, and what sessions remember."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import ReplyTo
from kipviz.brokers.share_leaders import (
    share_partition,
    share_partition_leader,
    share_sessions,
    share_timers,
    share_validation,
)
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.share_leaders.share_partition import (
    Session,
    ShareLeader,
    SharePartition,
    Status,
)
from kipviz.brokers.timers import RefusedFetchWait
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
)
from kipviz.messages.shares.share_state import PendingBatch
from kipviz.records.share_group_state import StagedBatch
from tests.brokers.share_leaders.share_place import ACCEPT, ACQ, AVL, KEY, TXP, SharePlace, batch_of
from tests.messages.shares import acknowledges, fetches

ON = SharePlace().on
ACKNOWLEDGEMENT = InFlight(TXP, 1, "M1", 0, staged_producer_id=0, staged_producer_epoch=3)


def leader(record: InFlight, status: Status = Status.ACTIVE) -> ShareLeader:
    share = SharePartition(KEY, "g1", "src-0", 0, status=status, start_offset=4, next_offset=5)
    return ShareLeader(shares=Table.of({KEY: share.but(records=Table.of({4: record}))}))


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (InFlight(ACQ, 1, "M1", 0), None),
        (InFlight(ACQ, 1, "M1", 3), "no record of src-0 is held under the lock of offset 0"),
        (
            ACKNOWLEDGEMENT.but(ongoing=True),
            "src-0@4 is TX_PENDING, which is not durable yet: until then its lock does not expire",
        ),
        (
            ACKNOWLEDGEMENT,
            "src-0@4 is TX_PENDING, staged by producer id 0 in epoch 3: in this design its lock does not expire",
        ),
        (
            InFlight(AVL, 1, lock=0),
            "src-0@4 is AVAILABLE: in this design its lock does not expire",
        ),
    ],
)
def test_a_lock_that_does_not_run_out_has_a_reason(record: InFlight, reason: str | None) -> None:
    on = ON.but(rules=ON.rules.but(lock_expiry=lambda _: None))
    assert share_timers.why_no_lock_expiry(leader(record), KEY, 0, on) == reason
    nothing = f"broker 1 has no share-partition {KEY} in memory"
    assert share_timers.why_no_lock_expiry(ShareLeader(), KEY, 0, on) == nothing


def test_an_outcome_that_is_not_asked_for_has_a_reason() -> None:
    pending = PendingBatch(9, 0, StagedBatch(0, 1, int(ACCEPT), 1))
    place = SharePlace(last=3).load(0, pending=(pending,))

    def why(**rules: object) -> str | None:
        on = place.on.but(rules=place.rules.but(**rules))
        return share_timers.why_no_refresh(place.role, KEY, on)

    assert why() is None
    in_memory = (
        "broker 1 keeps transactional acknowledgements only in memory: there is nothing to look up"
    )
    assert why(staged_acks=lambda _: ()) == in_memory
    here = why(acknowledgement_form=lambda: "state", pending_resolver=lambda: False)
    assert here == "broker 1 resolves the acknowledgements itself when a marker arrives"
    place.fetch("M1", 1)
    place.acknowledge("M1", batch_of(2, 2))
    assert why() == "WriteShareGroupState for src-0 is already under way"
    place.coordinator()
    free = leader(InFlight(AVL))
    assert share_timers.why_no_refresh(free, KEY, ON) == "no record of src-0 is TX_PENDING"
    not_loaded = f"broker 1 has not loaded the share-partition {KEY}"
    loading = leader(ACKNOWLEDGEMENT, Status.INITIALIZING)
    assert share_timers.why_no_refresh(loading, KEY, ON) == not_loaded
    assert share_timers.why_no_refresh(ShareLeader(), KEY, ON) == not_loaded
    assert not share_partition.can_refresh(loading.shares[KEY], ON)


# -- sessions -----------------------------------------------------------------------------------


def test_a_session_that_closes_keeps_its_epoch_until_its_acknowledgements_are_durable() -> None:
    place = SharePlace(last=3).load()
    place.fetch("M1", 1)
    before = place.role.sessions["g1", "M1"]
    request = acknowledges("g1", "M1", -1, "src-0", (batch_of(0, 0),))
    place.ask(share_partition_leader.on_share_acknowledge, request, "M1/consumer")
    assert place.role.sessions["g1", "M1"] == before
    place.coordinator()
    assert not len(place.role.sessions)


def test_a_partition_that_is_added_twice_is_in_its_session_once() -> None:
    """ShareSession.update."""
    who, asked = ("g1", "M1"), fetches("M1", 1, "b-0", 1, further=("c-0",))
    session = Session(1, "M1/consumer", ("a-0", "b-0"))
    me = ShareLeader(Table.of({who: session}))
    after = share_sessions.with_partitions(me, asked)
    assert after.sessions[who] == session.but(partitions=("a-0", "b-0", "c-0"))
    forgets = asked.but(partitions=(), forgotten=("a-0",))
    assert share_sessions.with_partitions(me, forgets).sessions[who].partitions == ("b-0",)
    for changes_none in (forgets.but(forgotten=()), forgets.but(session_epoch=-1)):
        assert share_sessions.with_partitions(me, changes_none) is me


def test_each_fetch_without_room_waits_for_its_own_refusal() -> None:
    place = SharePlace(last=3, share_sessions_max=1).load()
    for member in ("M2", "M3"):
        place.fetch(member, 1)
    place.do(share_sessions.on_delay(place.role, RefusedFetchWait("M3"), place.on))
    assert [w.member_id for w in place.role.refused] == ["M2"]
    answer = place.answer_to(ReplyTo("M3/consumer", 1, 0))
    assert getattr(answer, "error", None) is Errors.SHARE_SESSION_LIMIT_REACHED


def test_an_unknown_type_is_compared_with_all_types_that_there_are() -> None:
    """KafkaApis.validateAcknowledgementBatches: 0 is a gap, 4 a renewal."""
    unknown = AcknowledgementBatch(0, 0, 9)
    (*_, check) = share_validation.form_checks((unknown,))
    assert (check.asked, check.error) == (9, Errors.INVALID_REQUEST)
    assert check.found == ("GAP", "ACCEPT", "RELEASE", "REJECT", "RENEW")
    for kind in range(5):
        (check,) = share_validation.form_checks((AcknowledgementBatch(0, 0, kind),))
        assert check.error is Errors.NONE
    assert share_validation.form_checks(()) == ()


@pytest.mark.parametrize(
    ("batches", "name"),
    [
        (((3, 2),), "end of a batch"),
        (((3, 4), (2, 6)), "begin of a batch"),
        (((3, 4), (4, 6)), ""),
    ],
)
def test_a_batch_ends_behind_its_beginning_and_begins_behind_the_end_before(
    batches: tuple[tuple[int, int], ...], name: str
) -> None:
    made = tuple(AcknowledgementBatch(*ends, ACCEPT) for ends in batches)
    failed = [c.name for c in share_validation.form_checks(made) if c.error is not Errors.NONE]
    assert failed == ([name] if name else [])
