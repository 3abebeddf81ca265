"""One role at its desk: responses, logs, what it sends, and when the replicas catch up."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import Effects, Reply, ReplyTo
from kipviz.brokers.share_leaders import share_partition_leader
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.transactions import transaction_coordinator as coordinator
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.designs.slot import UnknownDesign
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    InitProducerIdResponse,
    TxnPartitions,
    WriteTxnMarkers,
)
from tests.messages.shares import acknowledge_response

HOME = "__transaction_state-0"


@pytest.fixture
def desk():
    role = TransactionCoordinator(HOME, 2)
    return Desk(coordinator, role, leaders={HOME: 1, "out-0": 3})


def test_a_request_is_answered_and_what_was_decided_is_in_the_log(desk):
    response = desk.ask(coordinator.on_init_producer_id, InitProducerId("t"))
    assert response == InitProducerIdResponse(Errors.NONE, 9, 0)
    assert desk.last is response
    assert [(r.producer_id, r.producer_epoch) for r in desk.written(HOME)] == [(9, 0)]
    assert desk.next_producer_id == 10


def test_a_response_waits_for_the_replicas_where_they_do_not_catch_up_at_once(desk):
    desk.instant = False
    assert desk.ask(coordinator.on_init_producer_id, InitProducerId("t"), "app-1") is None
    client = ReplyTo("app-1", 1, 0)
    assert desk.answer_to(client) is None
    desk.replicate()
    assert desk.answer_to(client) == InitProducerIdResponse(Errors.NONE, 9, 0)


def test_requests_to_other_brokers_are_collected(desk):
    desk.ask(coordinator.on_init_producer_id, InitProducerId("t"))
    desk.ask(
        coordinator.on_add_partitions, AddPartitionsToTxn((TxnPartitions("t", 9, 0, ("out-0",)),))
    )
    desk.ask(coordinator.on_end_txn, EndTxn("t", 9, 0, committed=True))
    markers = [marker for m in desk.sent(WriteTxnMarkers) for marker in m.markers]
    assert [marker.partitions for marker in markers] == [("out-0",)]
    assert desk.sent(EndTxn) == []


def test_a_share_partition_leader_that_refuses_without_a_check_is_a_fault_of_the_handler():
    desk = Desk(share_partition_leader, ShareLeader(), leaders={"src-0": 1})
    refusal = acknowledge_response(Errors.INVALID_REQUEST, "src-0")
    with pytest.raises(AssertionError):
        desk.do(Effects(desk.role, replies=(Reply(ReplyTo("app-1", 1, 0), refusal),)))


def test_a_design_or_setting_that_there_is_not_is_refused():
    role = TransactionCoordinator(HOME, 2)
    with pytest.raises(UnknownDesign, match="nearest are"):
        Desk(coordinator, role, leaders={HOME: 1}, rules="repared")
    with pytest.raises(TypeError, match="no_such_setting"):
        Desk(coordinator, role, leaders={HOME: 1}, no_such_setting=1)
