"""Where transaction.version is lowered in the middle of a transaction, its markers are told from those of the one before."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.model import Outcome
from kipviz.core.table import Table
from kipviz.messages.events import (
    BatchAppended,
    MessageSent,
    TransactionDecided,
    TransactionMoved,
)
from kipviz.messages.features import Features
from kipviz.messages.producing import Produce
from kipviz.properties.invariants import PROMISES
from kipviz.properties.one_epoch import learned_below_2, learned_in_order, learned_of_old_clients
from kipviz.properties.run_facts import Facts
from kipviz.records.batches import Batch, DataRecord
from kipviz.records.transaction_state import TransactionState

S = TransactionState
# What the one before left behind: at version 2 its markers have the epoch that the next one begins with.
BEFORE = Facts(markers=Table.of({(9, 1): "COMMIT"}))


def moved(before: TransactionState, after: TransactionState) -> TransactionMoved:
    return TransactionMoved("my-txn", 9, 1, before, after, ("out-0",))


def world(upgrades: int) -> Any:
    return SimpleNamespace(budget=FaultBudget(upgrade=upgrades))


def test_a_transaction_begun_before_the_level_was_lowered_has_no_marker_when_it_is_decided() -> (
    None
):
    begun = learned_of_old_clients(BEFORE, moved(S.COMPLETE_COMMIT, S.ONGOING), world(1))
    assert begun.markers == BEFORE.markers
    decided = learned_below_2(begun, moved(S.ONGOING, S.PREPARE_ABORT))
    assert (9, 1) not in decided.markers
    assert (9, 1) not in decided.begun_at_2


def test_one_that_began_below_version_2_keeps_the_markers_that_came_meanwhile() -> None:
    began = learned_below_2(BEFORE, moved(S.COMPLETE_COMMIT, S.ONGOING))
    late = began.but(markers=began.markers.set((9, 1), "COMMIT"))
    decided = learned_below_2(late, moved(S.ONGOING, S.PREPARE_ABORT))
    assert decided.markers.get((9, 1)) == "COMMIT", "a late marker of the one before ended this one"


@pytest.mark.parametrize("upgrades", [0, 1])
def test_nothing_is_noted_where_the_level_cannot_be_lowered(upgrades: int) -> None:
    begun = learned_of_old_clients(BEFORE, moved(S.EMPTY, S.ONGOING), world(upgrades))
    assert len(begun.begun_at_2) == upgrades
    ended = learned_of_old_clients(begun, moved(S.ONGOING, S.PREPARE_COMMIT), world(upgrades))
    assert len(ended.begun_at_2) == 0


def level(now: int, upgrades: int = 1) -> Any:
    image = SimpleNamespace(features=Features(now))
    logs = Table.of({"out-0": SimpleNamespace(batches=(BATCH,), open=())})
    return SimpleNamespace(
        image=image, logs=logs, roles=Table.of(), budget=FaultBudget(upgrade=upgrades)
    )


BATCH = Batch(3, (DataRecord("r", "src-0@100"),), 9, 1, 0, transactional=True)
BEGINS = TransactionMoved("my-txn", 9, 1, S.COMPLETE_COMMIT, S.ONGOING, ("out-0",))
APPENDED = BatchAppended("out-0", 3, BATCH.records, 9, 1, "")


def sent(version: int) -> MessageSent:
    batch = Produce("my-txn", "out-0", 9, 1, 0, BATCH.records, version)
    return MessageSent("app-1/producer", 3, "request", batch)


def broken_by(*steps: tuple[Any, Any]) -> dict[str, str]:
    facts = Facts()
    for event, seen in steps:
        facts = PROMISES[0].observe(facts, None, Outcome(seen, (event,)))
    return dict(facts.broken.items())


def test_what_was_enlisted_before_the_level_was_lowered_hangs_nowhere() -> None:
    """The partition is in the transaction, though nobody has said so since the level is 1."""
    at_2, at_1 = level(2), level(1, 0)
    assert broken_by((sent(12), at_2), (BEGINS, at_2), (APPENDED, at_1)) == {}
    # Where nobody has enlisted it, it hangs.
    assert set(broken_by((sent(12), at_2), (APPENDED, at_1))) == {"nothing hangs"}


def test_a_batch_that_was_sent_before_the_level_was_lowered_belongs_to_the_transaction_it_begins() -> (
    None
):
    at_2, at_1 = level(2), level(1, 0)
    first = ((sent(12), at_2), (BEGINS, at_2), (APPENDED, at_1))
    assert broken_by(*first) == {}
    # The same batch in the transaction behind that is in another one.
    ended = TransactionDecided("my-txn", 9, 1, True)
    marker = BatchAppended("out-0", 4, (), 9, 1, "COMMIT")
    late = (*first[:2], (ended, at_1), (marker, at_1), (BEGINS, at_1), (APPENDED, at_1))
    assert set(broken_by(*late)) == {"batch stays in its transaction"}


def test_an_older_clients_batch_belongs_to_the_transaction_that_is_open() -> None:
    at_1 = level(1, 0)
    assert broken_by((BEGINS, at_1), (sent(11), at_1), (APPENDED, at_1)) == {}


def test_a_decision_is_due_no_more_for_its_own_producer_s_partitions_alone() -> None:
    """WriteTxnMarkers of one producer id: another one's partitions wait for their own."""
    other = TransactionMoved("other-txn", 10, 0, S.EMPTY, S.ONGOING, ("out-0",))
    facts = learned_in_order(Facts(), moved(S.EMPTY, S.ONGOING))
    facts = learned_in_order(facts, other)
    assert dict(facts.due.items()) == {("out-0", 9): True, ("out-0", 10): True}
    facts = learned_in_order(facts, TransactionDecided("my-txn", 9, 1, True))
    assert dict(facts.due.items()) == {("out-0", 9): False, ("out-0", 10): True}
