"""Where transaction.version is lowered in the middle of a transaction, its markers are told from those of the one before."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.table import Table
from kipviz.messages.events import TransactionMoved
from kipviz.properties.one_epoch import learned_below_2, learned_of_old_clients
from kipviz.properties.run_facts import Facts
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
    decided = learned_below_2(begun, moved(S.ONGOING, S.PREPARE_ABORT), world(0))
    assert (9, 1) not in decided.markers
    assert (9, 1) not in decided.begun_at_2


def test_one_that_began_below_version_2_keeps_the_markers_that_came_meanwhile() -> None:
    began = learned_below_2(BEFORE, moved(S.COMPLETE_COMMIT, S.ONGOING), world(0))
    late = began.but(markers=began.markers.set((9, 1), "COMMIT"))
    decided = learned_below_2(late, moved(S.ONGOING, S.PREPARE_ABORT), world(0))
    assert decided.markers.get((9, 1)) == "COMMIT", "a late marker of the one before ended this one"


@pytest.mark.parametrize("upgrades", [0, 1])
def test_nothing_is_noted_where_the_level_cannot_be_lowered(upgrades: int) -> None:
    begun = learned_of_old_clients(BEFORE, moved(S.EMPTY, S.ONGOING), world(upgrades))
    assert len(begun.begun_at_2) == upgrades
    ended = learned_of_old_clients(begun, moved(S.ONGOING, S.PREPARE_COMMIT), world(upgrades))
    assert len(ended.begun_at_2) == 0
