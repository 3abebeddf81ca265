"""A producer that says it is alive: when, how often, and what an answer means to it."""

from __future__ import annotations

import pytest

from kipviz.clients import kinds
from kipviz.clients.sending import producer as p
from kipviz.clients.timers import HeartbeatInterval
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.liveness import TxnHeartbeat, TxnHeartbeatResponse
from kipviz.messages.transactions.transactions import (
    TWO_PHASE,
    EndTxn,
    InitProducerId,
    InitProducerIdResponse,
)
from kipviz.records.batches import DataRecord
from tests.clients.parts import begin_transaction, change, init_transactions, producer_of

S = ProducerState
ME = producer_of("app-1/producer", "t", heartbeat_interval_ms=5_000)


def asks(me):
    return p.note_sent(me, p.next_request(me), 1)


def write_batch(me=ME):
    me, request = asks(init_transactions(me))
    me = p.on_response(me, InitProducerIdResponse(Errors.NONE, 9, 0))
    me = p.send(begin_transaction(me), "out-0", (DataRecord("r", "src-0@0"),))
    return change(me, batches=()), request


def test_the_interval_is_told_with_the_first_request():
    _, request = write_batch()
    assert isinstance(request, InitProducerId)
    assert request.version == TWO_PHASE
    assert (request.heartbeat_interval_ms, request.enable_2pc) == (5_000, False)
    assert request.transaction_timeout_ms == 60_000


def test_a_producer_beats_only_while_a_transaction_is_open():
    me, _ = write_batch()
    (timer,) = p.timers(me)
    me, beat = asks(p.on_timer(me, timer))
    assert beat == TxnHeartbeat("t", 9, 0)
    assert p.timers(me) == ()
    me = p.on_response(me, TxnHeartbeatResponse(Errors.NONE))
    assert p.timers(me) == (timer,)
    assert p.timers(p.end_transaction(me, committed=True)) == ()
    assert p.timers(ME) == ()


def test_a_producer_without_an_interval_never_beats():
    me, _ = write_batch()
    assert p.timers(change(me, heartbeat_interval_ms=0)) == ()


def test_the_end_of_a_transaction_waits_for_the_heartbeat_before_it():
    me, _ = write_batch()
    me, _ = asks(p.on_timer(me, *p.timers(me)))
    me = p.end_transaction(me, committed=True)
    assert p.next_request(me) is None
    me = p.on_response(me, TxnHeartbeatResponse(Errors.NONE))
    assert isinstance(p.next_request(me), EndTxn)


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (Errors.COORDINATOR_LOAD_IN_PROGRESS, S.IN_TRANSACTION),
        (Errors.PRODUCER_FENCED, S.FATAL_ERROR),
    ],
)
def test_a_producer_hears_from_its_heartbeat_that_it_is_fenced(error, state):
    me, _ = write_batch()
    me, beat = asks(p.on_timer(me, *p.timers(me)))
    me = p.on_response(me, TxnHeartbeatResponse(error))
    assert me.manager.state is state
    assert (p.next_request(me) == beat) == (state is S.IN_TRANSACTION)


def test_the_next_interval_begins_with_a_heartbeat_and_not_with_its_answer():
    me, _ = write_batch()
    me, _ = asks(p.on_timer(me, HeartbeatInterval()))
    assert (kinds.timers(me), kinds.running(me)) == ((), (HeartbeatInterval(),))
    assert kinds.running(p.end_transaction(me, committed=True)) == ()
