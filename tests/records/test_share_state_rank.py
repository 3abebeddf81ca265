"""Which durable state of one offset wins in the persister's merge: the rule by state number, and its repair."""

from __future__ import annotations

import pytest

from kipviz.records.share_group_state import (
    RecordState,
    StateBatch,
    merge,
    rank_by_number,
    rank_with_pending_last,
)

S = RecordState
PENDING = StateBatch(100, 100, S.TX_PENDING, 1, 9, 0, 1)


@pytest.mark.parametrize("outcome", [S.AVAILABLE, S.ACKNOWLEDGED, S.ARCHIVED])
def test_by_number_an_outcome_of_the_same_delivery_does_not_replace_a_transactional_acknowledgement(
    outcome: RecordState,
) -> None:
    written = StateBatch(100, 100, outcome, 1)
    assert merge((PENDING,), (written,), 100, rank_by_number) == (PENDING,)
    assert merge((PENDING,), (written,), 100, rank_with_pending_last) == (written,)


def test_by_number_a_late_transactional_acknowledgement_replaces_an_abort_of_the_same_delivery() -> (
    None
):
    free = StateBatch(100, 100, S.AVAILABLE, 1)
    assert merge((free,), (PENDING,), 100, rank_by_number) == (PENDING,)
    assert merge((free,), (PENDING,), 100, rank_with_pending_last) == (free,)


@pytest.mark.parametrize("rank", [rank_by_number, rank_with_pending_last])
def test_a_later_delivery_wins_whatever_its_state(rank) -> None:
    again = StateBatch(100, 100, S.AVAILABLE, 2)
    assert merge((PENDING,), (again,), 100, rank) == (again,)
