"""The tables of states against Kafka's, each written down here as Kafka has it (trunk, October 2026).

Kafka says for most states where they may be entered from; the model says where each may go. Names are Kafka's, too: they
are printed, logged and stored.
"""

from __future__ import annotations

from enum import Enum

import pytest

from kipviz.brokers.membership import classic_group
from kipviz.brokers.share_leaders import in_flight
from kipviz.brokers.share_leaders.share_partition import STATUSES, Status
from kipviz.clients.groups import consumer_membership
from kipviz.clients.transactions import producer_state
from kipviz.records.share_group_state import RecordState

ANYWHERE = "*"

# TransactionManager.State.isTransitionValid
PRODUCER = {
    "UNINITIALIZED": "READY ABORTABLE_ERROR",
    "INITIALIZING": "UNINITIALIZED COMMITTING_TRANSACTION ABORTING_TRANSACTION",
    "READY": "INITIALIZING COMMITTING_TRANSACTION ABORTING_TRANSACTION",
    "IN_TRANSACTION": "READY",
    "PREPARED_TRANSACTION": "IN_TRANSACTION INITIALIZING",
    "COMMITTING_TRANSACTION": "IN_TRANSACTION PREPARED_TRANSACTION",
    "ABORTING_TRANSACTION": "IN_TRANSACTION PREPARED_TRANSACTION ABORTABLE_ERROR",
    "ABORTABLE_ERROR": "IN_TRANSACTION COMMITTING_TRANSACTION ABORTABLE_ERROR INITIALIZING",
    "FATAL_ERROR": ANYWHERE,
}

# MemberState.previousValidStates. PREPARE_LEAVING, in which callbacks run, is one with LEAVING here: so a member that
# was never in a group leaves none, and is not fenced while it leaves.
MEMBER = {
    "UNSUBSCRIBED": "LEAVING FENCED",
    "JOINING": "FENCED UNSUBSCRIBED STALE",
    "RECONCILING": "STABLE JOINING ACKNOWLEDGING RECONCILING",
    "ACKNOWLEDGING": "RECONCILING",
    "STABLE": "JOINING ACKNOWLEDGING RECONCILING",
    "FENCED": "JOINING STABLE RECONCILING ACKNOWLEDGING LEAVING",
    "STALE": "LEAVING",
    "LEAVING": "JOINING STABLE RECONCILING ACKNOWLEDGING",
    "FATAL": "JOINING STABLE RECONCILING ACKNOWLEDGING LEAVING UNSUBSCRIBED",
}

# ClassicGroupState.validPreviousStates
CLASSIC = {
    "EMPTY": "PREPARING_REBALANCE",
    "PREPARING_REBALANCE": "STABLE COMPLETING_REBALANCE EMPTY",
    "COMPLETING_REBALANCE": "PREPARING_REBALANCE",
    "STABLE": "COMPLETING_REBALANCE",
    "DEAD": "STABLE PREPARING_REBALANCE COMPLETING_REBALANCE EMPTY DEAD",
}

# SharePartition: maybeInitialize, markFenced. Kafka has no table, these are its assignments; the model's own rows for an
# answer that comes late are in its table.
SHARE = {
    "EMPTY": "",
    "INITIALIZING": "EMPTY",
    "ACTIVE": "INITIALIZING FENCED",
    "FAILED": "INITIALIZING FENCED",
    "FENCED": "INITIALIZING ACTIVE FAILED",
}


def entered_from(table: dict[Enum, tuple[Enum, ...]]) -> dict[str, set[str]]:
    """Turn a table of where a state may go into one of where it may be entered from."""
    return {after.name: {b.name for b, to in table.items() if after in to} for after in table}


@pytest.mark.parametrize(
    ("table", "kafka"),
    [
        (producer_state.TRANSITIONS, PRODUCER),
        (consumer_membership.TRANSITIONS, MEMBER),
        (STATUSES, SHARE),
    ],
    ids=["TransactionManager", "MemberState", "SharePartitionState"],
)
def test_a_state_goes_where_kafka_lets_it_go(table: dict[Enum, tuple[Enum, ...]], kafka) -> None:
    wanted = {
        state: set(kafka) if before == ANYWHERE else set(before.split())
        for state, before in kafka.items()
    }
    assert entered_from(table) == wanted


def test_a_classic_group_enters_a_state_from_where_kafka_says() -> None:
    found = {
        after.name: {each.name for each in before}
        for after, before in classic_group.VALID_PREVIOUS.items()
    }
    assert found == {state: set(before.split()) for state, before in CLASSIC.items()}


@pytest.mark.parametrize("before", [s for s in RecordState if s is not RecordState.TX_PENDING])
def test_a_record_goes_where_kafka_lets_it_go(before: RecordState) -> None:
    """RecordState.validateTransition; TX_PENDING is KIP-1289's (draft)."""
    others = {s for s in RecordState if s not in (before, RecordState.TX_PENDING)}
    if before in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED):
        others = set()
    elif before is RecordState.AVAILABLE:
        others = {RecordState.ACQUIRED}
    elif before is RecordState.ARCHIVING:
        others = {
            RecordState.ARCHIVED
        }  # Kafka's check lets more through, its code goes nowhere else
    assert set(in_flight.TRANSITIONS[before]) - {RecordState.TX_PENDING} == others


def test_what_a_failed_write_leaves_is_held_again_or_released() -> None:
    """InFlightState.completeStateTransition(false): back to the state before, or released if the lock ran out."""
    released = {RecordState.ACQUIRED, RecordState.AVAILABLE, RecordState.ARCHIVED}
    waited = set(RecordState) - {RecordState.ACQUIRED}
    assert {state: set(after) for state, after in in_flight.UNDONE.items()} == dict.fromkeys(
        waited, released
    )


@pytest.mark.parametrize(
    "states", [Status, producer_state.ProducerState, consumer_membership.MemberState]
)
def test_a_state_has_kafkas_name(states: type[Enum]) -> None:
    assert all(state.value == state.name for state in states)
