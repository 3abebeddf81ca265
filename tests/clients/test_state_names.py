"""The states of the clients have the names that Kafka's classes give them, and so have the rows of a story."""

from __future__ import annotations

import pytest

from kipviz.clients.groups import consumer_coordinator, consumer_membership
from kipviz.clients.rules import ThreadEntry
from kipviz.clients.transactions.producer_state import ProducerState

# TransactionManager.State
OF_A_PRODUCER = """
    UNINITIALIZED INITIALIZING READY IN_TRANSACTION PREPARED_TRANSACTION COMMITTING_TRANSACTION ABORTING_TRANSACTION
    ABORTABLE_ERROR FATAL_ERROR
"""
# org.apache.kafka.clients.consumer.internals.MemberState, without PREPARE_LEAVING
OF_A_MEMBER = "UNSUBSCRIBED JOINING RECONCILING ACKNOWLEDGING STABLE FENCED STALE LEAVING FATAL"
# AbstractCoordinator.MemberState
OF_A_CLASSIC_MEMBER = "UNJOINED PREPARING_REBALANCE COMPLETING_REBALANCE STABLE"


@pytest.mark.parametrize(
    ("states", "names"),
    [
        (ProducerState, OF_A_PRODUCER),
        (consumer_membership.MemberState, OF_A_MEMBER),
        (consumer_coordinator.MemberState, OF_A_CLASSIC_MEMBER),
    ],
)
def test_a_client_s_states_are_named_as_kafka_names_them(states, names):
    assert [state.value for state in states] == [state.name for state in states] == names.split()


def test_a_thread_s_call_on_a_session_is_let_in_or_not_in_words():
    assert [each.value for each in ThreadEntry] == ["enters", "waits", "looks", "is refused"]
