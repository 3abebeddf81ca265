"""What the invariants remember is forgotten when it is over: a run in which that matters, and what follows from it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kipviz.brokers.context import Image, Leadership
from kipviz.core.model import Event, Outcome
from kipviz.core.table import Table
from kipviz.messages.cluster.features import Features
from kipviz.messages.errors import Errors
from kipviz.messages.events import (
    BatchAppended,
    MessageSent,
    OffsetStaged,
    RecordsMoved,
    ShareStateReset,
    TransactionMoved,
)
from kipviz.properties.facts.run_facts import Facts
from kipviz.properties.invariants import INVARIANTS
from kipviz.records.share_group_state import RecordState, ShareUpdateRecord
from kipviz.records.transaction_state import TransactionState
from tests.messages.shares import staging_response
from tests.properties.history import KEY, WORLD, decision, drop_event, load_event, marker, world

S, T = RecordState, TransactionState
COMMITS, ABORTS = decision(committed=True), decision(committed=False)
RESET = ShareStateReset(KEY, 5, 100)


def broken_by(*events: Event, where: Any = WORLD) -> set[str]:
    """The invariants that a run breaks, an event in each step."""
    facts = Facts()
    for event in events:
        facts = INVARIANTS[0].observe(facts, None, Outcome(where, (event,)))
    return set(facts.broken)


def moves(
    before: RecordState,
    after: RecordState,
    member: str = "M1",
    epoch: int = 0,
    *,
    last: int = 100,
    partition: str = "src-0",
) -> Event:
    return RecordsMoved(partition, "g1", 100, last, before, after, 1, member, "it was so", 9, epoch)


def start_at(offset: int, key: str = KEY) -> Event:
    record = ShareUpdateRecord(key, 0, 0, offset, 0, ())
    return BatchAppended("__share_group_state-7", 1, (record,), -1, -1, "")


def answer_event(error: Errors = Errors.NONE) -> Event:
    """The response to a staging in src-0."""
    return MessageSent("A1/producer", 1, "response", staging_response(error, "src-0"))


TAKEN, STAGED = moves(S.AVAILABLE, S.ACQUIRED), moves(S.ACQUIRED, S.TX_PENDING)
FREED = moves(S.TX_PENDING, S.AVAILABLE)


# -- share groups ----------------------------------------------------------------------------------


def test_nobody_holds_a_record_of_a_leader_that_is_gone() -> None:
    """Acquisition locks are in the leader's memory alone."""
    others = moves(S.AVAILABLE, S.ACQUIRED, member="M2")
    assert broken_by(TAKEN, drop_event(), others) == set()
    assert broken_by(TAKEN, others) == {"one owner"}


def test_a_new_leader_knows_no_holders_and_those_of_other_partitions_stay() -> None:
    others = moves(S.AVAILABLE, S.ACQUIRED, member="M2")
    assert broken_by(TAKEN, load_event(), others) == set()
    elsewhere, theirs = (
        moves(S.AVAILABLE, S.ACQUIRED, member=name, partition="src-1") for name in ("M1", "M2")
    )
    assert broken_by(elsewhere, load_event(), theirs) == {"one owner"}
    assert broken_by(elsewhere, drop_event(), theirs) == {"one owner"}


def test_an_aborted_acknowledgement_that_a_new_leader_never_had_is_over() -> None:
    """Its record is free, and may be acknowledged without any transaction."""
    aborted = (TAKEN, STAGED, answer_event(), ABORTS)
    plainly = moves(S.ACQUIRED, S.ACKNOWLEDGED)
    assert broken_by(*aborted, drop_event(), load_event(), TAKEN, plainly) == set()
    assert broken_by(*aborted, drop_event(), load_event(100), TAKEN, plainly) == {
        "abort undoes the acknowledgement"
    }


def test_each_record_of_a_staging_is_promised() -> None:
    taken, staged = (
        moves(before, after, last=101)
        for before, after in ((S.AVAILABLE, S.ACQUIRED), (S.ACQUIRED, S.TX_PENDING))
    )
    assert broken_by(taken, staged, answer_event(), drop_event(), load_event(100, 101)) == set()
    assert broken_by(taken, staged, answer_event(), drop_event(), load_event(100)) == {
        "transactional acknowledgements survive"
    }


def test_an_outcome_is_that_of_the_transaction_s_own_records() -> None:
    """TransactionDecided names a producer id and an epoch: another producer's commit frees nothing of this one."""
    aborted = (TAKEN, STAGED, answer_event(), ABORTS)
    assert broken_by(*aborted, decision(committed=True, pid=10), FREED) == set()
    assert broken_by(TAKEN, STAGED, answer_event(), COMMITS, FREED) == {"committed stays"}


def test_a_group_id_may_have_colons() -> None:
    key = "a:b:SRC-ID:0"
    facts = Facts()
    for event in (start_at(102, key), start_at(101, key)):
        facts = INVARIANTS[0].observe(facts, None, Outcome(WORLD, (event,)))
    assert facts.broken["start offset only advances"] == (
        "the start offset of src-0 for a:b moved back from 102 to 101"
    )
    reset = ShareStateReset(key, 5, 100)
    assert broken_by(start_at(102, key), reset, start_at(101, key)) == set()


def test_what_was_done_before_a_reset_has_to_be_done_again() -> None:
    """An operator asks for these records once more: a start offset past them would lose them."""
    done = (start_at(100), TAKEN, moves(S.ACQUIRED, S.ACKNOWLEDGED))
    assert broken_by(*done, start_at(101)) == set()
    assert broken_by(*done, RESET, start_at(100), start_at(101)) == {"start offset only advances"}


def test_a_commit_before_a_reset_takes_no_start_offset_past_its_record() -> None:
    """Also where the producer never heard that its acknowledgement was staged."""
    unheard = (start_at(100), TAKEN, STAGED, COMMITS)
    assert broken_by(*unheard, start_at(101)) == set()
    assert broken_by(*unheard, RESET, start_at(100), start_at(101)) == {
        "start offset only advances"
    }


def test_a_producer_that_was_refused_was_promised_nothing() -> None:
    lost = (drop_event(), load_event())
    assert broken_by(TAKEN, STAGED, answer_event(Errors.INVALID_RECORD_STATE), *lost) == set()
    assert broken_by(TAKEN, STAGED, answer_event(), *lost) == {
        "transactional acknowledgements survive"
    }


def test_a_staging_that_came_to_nothing_is_promised_by_no_later_response() -> None:
    failed = (TAKEN, STAGED, FREED)
    assert broken_by(*failed, answer_event(), drop_event(), load_event()) == set()
    again = (TAKEN, STAGED, answer_event(), drop_event(), load_event())
    assert broken_by(*failed, *again) == {"transactional acknowledgements survive"}


def test_a_record_that_is_staged_again_has_the_outcome_of_its_second_transaction() -> None:
    """Where an abort gives the record back to its member, it need not become available in between."""
    aborted = (TAKEN, STAGED, answer_event(), ABORTS, moves(S.TX_PENDING, S.ACQUIRED))
    again = (moves(S.ACQUIRED, S.TX_PENDING, epoch=1), decision(committed=True, epoch=1))
    done = moves(S.TX_PENDING, S.ACKNOWLEDGED, epoch=1)
    assert broken_by(*aborted, *again, done) == set()
    assert broken_by(*aborted, moves(S.ACQUIRED, S.ACKNOWLEDGED)) == {
        "abort undoes the acknowledgement"
    }


# -- transactions ----------------------------------------------------------------------------------


def at_version(level: int) -> SimpleNamespace:
    image = SimpleNamespace(topic_ids=WORLD.image.topic_ids, features=Features(level))
    logs = Table.of({"out-0": SimpleNamespace(batches=(), open=())})
    return world(image=image, logs=logs)


BEGINS = TransactionMoved("t", 9, 0, T.COMPLETE_COMMIT, T.ONGOING, ("out-0",))
ABORTING = TransactionMoved("t", 9, 0, T.ONGOING, T.PREPARE_ABORT, ("out-0",))


@pytest.mark.parametrize(("level", "alone"), [(0, set()), (1, set()), (2, {"one outcome"})])
def test_below_version_2_a_transaction_that_begins_takes_its_markers_for_its_own(
    level: int, alone: set[str]
) -> None:
    """At version 2 only an old client keeps its epoch: its markers are told apart when it is decided."""
    run = (COMMITS, marker("COMMIT", epoch=0), BEGINS, marker("ABORT", epoch=0))
    assert broken_by(*run, where=at_version(level)) == alone


@pytest.mark.parametrize(("level", "broken"), [(1, {"one outcome"}), (2, set())])
def test_below_version_2_a_late_marker_counts_when_the_transaction_is_decided(
    level: int, broken: set[str]
) -> None:
    """It has ended the transaction in its log: the one that is due says something else there."""
    late = (BEGINS, marker("COMMIT", epoch=0), ABORTING, ABORTS, marker("ABORT", epoch=0))
    assert broken_by(*late, where=at_version(level)) == broken


def test_a_group_whose_coordinator_is_not_there_has_no_members_to_be_asked_for() -> None:
    """Its broker has crashed in the step in which the offset was staged."""
    image = Image(Table.of({"__consumer_offsets-0": Leadership(4, 0, (4,))}), 1, Table.of())
    staged = OffsetStaged("g", "src-0", 102, 9, "C1")
    assert broken_by(staged, where=world(image=image)) == set()
