"""A producer in a two-phase commit: it prepares by itself, and ends as a stored state says."""

from __future__ import annotations

import pytest

from kipviz.clients import thread
from kipviz.clients.application import Application, Call, Line
from kipviz.clients.sending import producer as p
from kipviz.clients.throwing.client_errors import WrongTxnState
from kipviz.clients.transactions.prepared_txn_state import (
    NONE,
    BadPreparedTxnState,
    PreparedTxnState,
    parse,
)
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import PartitionProduceResponse, ProduceResponse
from kipviz.messages.transactions.transactions import (
    NO_TIME_LIMIT,
    TWO_PHASE,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
)
from kipviz.records.batches import DataRecord
from tests.clients.parts import (
    assigned_consumer_of,
    begin_transaction,
    change,
    init_transactions,
    producer_of,
)

S = ProducerState
MINE = producer_of("app-1/producer", "t", two_phase_commit=True)
RECORD = (DataRecord("r", "src-0@100"),)


def asks(me):
    request = p.next_request(me)
    assert request is not None
    return p.note_sent(me, request, 1)


def start(answer=None, *, keep=False):
    me, request = asks(init_transactions(MINE, keep_prepared_txn=keep))
    assert isinstance(request, InitProducerId)
    assert request.version == TWO_PHASE
    return p.on_response(me, answer or InitProducerIdResponse(Errors.NONE, 9, 0))


def write_batch():
    me, _ = asks(p.send(begin_transaction(start()), "out-0", RECORD))
    return me


def recover():
    return start(InitProducerIdResponse(Errors.NONE, 9, 1, 9, 0), keep=True)


@pytest.mark.parametrize("text", ["9:0", "0:0", "2147483648:32766", ""])
def test_a_prepared_state_is_read_as_it_was_written(text):
    assert str(parse(text)) == text
    assert parse(text).has_transaction == bool(text)


def test_no_text_is_no_prepared_state():
    assert parse(None) == NONE


@pytest.mark.parametrize("text", ["9", "9:", ":0", "-1:0", "9:-1", "9:0:1", "a:b", "9 : 0", "٣:٤"])
def test_a_text_that_is_no_prepared_state_is_refused_in_one_sentence(text):
    with pytest.raises(BadPreparedTxnState, match="producerId:epoch"):
        parse(text)


def test_a_producer_of_a_two_phase_commit_asks_for_no_time_limit():
    _, request = asks(init_transactions(MINE))
    assert (request.enable_2pc, request.keep_prepared_txn) == (True, False)
    assert request.transaction_timeout_ms == NO_TIME_LIMIT


def test_keeping_without_two_phase_commit_asks_for_the_usual_time_limit():
    _, request = asks(init_transactions(producer_of("a/p", "t"), keep_prepared_txn=True))
    assert (request.enable_2pc, request.transaction_timeout_ms) == (False, 60_000)


def test_preparing_waits_until_no_batch_is_left_and_sends_nothing():
    me = p.prepare_transaction(write_batch())
    assert (me.manager.state, me.done, p.next_request(me)) == (S.IN_TRANSACTION, False, None)
    me = p.on_response(me, ProduceResponse((PartitionProduceResponse("out-0", Errors.NONE),)))
    assert (me.manager.state, me.done, p.next_request(me)) == (S.PREPARED_TRANSACTION, True, None)
    assert str(me.manager.prepared) == "9:0"


def test_preparing_fails_with_the_batch_that_it_waits_for():
    me = p.prepare_transaction(write_batch())
    me = p.on_response(
        me, ProduceResponse((PartitionProduceResponse("out-0", Errors.INVALID_PRODUCER_EPOCH),))
    )
    assert (me.manager.state, me.done, me.manager.preparing) == (S.ABORTABLE_ERROR, True, False)
    assert me.manager.prepared == NONE


def test_an_empty_transaction_is_prepared_at_once():
    me = p.prepare_transaction(begin_transaction(start()))
    assert (me.manager.state, me.done) == (S.PREPARED_TRANSACTION, True)


@pytest.mark.parametrize(
    ("stored", "committed"), [("9:0", True), ("", False), ("9:1", False), ("8:0", False)]
)
def test_a_prepared_transaction_commits_if_the_stored_state_is_its_own_and_else_aborts(
    stored, committed
):
    """The recovered producer compares with the transaction's identity and ends it with its own."""
    me, request = asks(p.complete_transaction(recover(), parse(stored)))
    assert request == EndTxn("t", 9, 1, committed)
    me = p.on_response(me, EndTxnResponse(Errors.NONE, 9, 2))
    assert (me.manager.state, me.manager.producer_epoch, me.manager.prepared) == (S.READY, 2, NONE)


def test_a_recovering_producer_is_prepared_only_if_a_transaction_was_kept():
    assert (recover().manager.state, recover().manager.prepared) == (
        S.PREPARED_TRANSACTION,
        PreparedTxnState(9, 0),
    )
    assert start(keep=True).manager.state is S.READY


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, S.UNINITIALIZED),
        (Errors.UNSUPPORTED_VERSION, S.FATAL_ERROR),
    ],
)
def test_a_refusal_ends_init_transactions(error, state):
    me = start(InitProducerIdResponse(error), keep=True)
    assert (me.manager.state, me.done, str(me.error)) == (
        state,
        True,
        f"InitProducerId: {error.name}",
    )


def test_the_next_process_has_the_setting_and_nothing_else():
    assert p.restart(recover(), 2) == MINE


# -- what a call throws -------------------------------------------------------------------------


def calls(call, producer, on_error=-1):
    line = Line(f"{call.value}();", call, on_error=on_error)
    consumer = assigned_consumer_of("app-1/consumer", "g", "M", "src-0", 1)
    app = Application("app-1", (line, line), "out-0", producer, consumer)
    return thread.step(app, design("kip-939").client_rules())


@pytest.mark.parametrize("call", [Call.SEND, Call.BEGIN_TRANSACTION, Call.PREPARE_TRANSACTION])
def test_a_prepared_transaction_can_only_be_ended(call):
    app, _ = calls(call, recover())
    assert f"IllegalStateException: {call.value}() in state PREPARED_TRANSACTION" in app.ended


def test_completing_where_nothing_is_prepared_is_caught_and_the_program_goes_on():
    app, events = calls(Call.COMPLETE_TRANSACTION, start(keep=True), on_error=1)
    assert (app.ended, app.line) == ("", 1)
    assert isinstance(events[-1].raised, WrongTxnState)


def test_preparing_needs_two_phase_commit():
    plain = change(start(), two_phase_commit=False)
    app, _ = calls(Call.PREPARE_TRANSACTION, begin_transaction(plain))
    assert "transaction.two.phase.commit.enable is false" in app.ended


def test_nothing_prepared_is_an_empty_word_and_has_the_numbers_of_no_producer():
    """RecordBatch.NO_PRODUCER_ID and NO_PRODUCER_EPOCH are -1."""
    assert PreparedTxnState(-1, -1) == NONE
    assert (str(NONE), NONE.has_transaction) == ("", False)
    for half in (PreparedTxnState(9, -1), PreparedTxnState(-1, 0)):
        assert (str(half), half.has_transaction) == ("", False)
    assert (str(PreparedTxnState(0, 0)), PreparedTxnState(0, 0).has_transaction) == ("0:0", True)
