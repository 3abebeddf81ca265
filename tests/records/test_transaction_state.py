"""The states of a transactional id, as they stand in Kafka's log."""

from __future__ import annotations

from kipviz.records.transaction_state import STATE_IDS, VALID_PREVIOUS, TransactionState

S = TransactionState


def test_the_ids_are_those_of_kafka():
    """TransactionState.java."""
    assert {state.value: number for state, number in STATE_IDS.items()} == {
        "EMPTY": 0,
        "ONGOING": 1,
        "PREPARE_COMMIT": 2,
        "PREPARE_ABORT": 3,
        "COMPLETE_COMMIT": 4,
        "COMPLETE_ABORT": 5,
        "DEAD": 6,
        "PREPARE_EPOCH_FENCE": 7,
    }


def test_a_decision_can_be_reached_only_once_and_leads_only_to_its_own_end():
    """Sheet 1.1: PREPARE_COMMIT comes from ONGOING alone, and cannot be reversed."""
    follows = {s: [t for t in S if s in VALID_PREVIOUS[t]] for s in S}
    assert follows[S.PREPARE_COMMIT] == [S.COMPLETE_COMMIT]
    assert follows[S.PREPARE_ABORT] == [S.COMPLETE_ABORT]
    assert VALID_PREVIOUS[S.PREPARE_COMMIT] == (S.ONGOING,)
    assert set(VALID_PREVIOUS[S.PREPARE_ABORT]) == {
        S.ONGOING,
        S.PREPARE_EPOCH_FENCE,
        S.EMPTY,
        S.COMPLETE_COMMIT,
        S.COMPLETE_ABORT,
    }
    assert set(VALID_PREVIOUS) == set(S)
