"""The sender: which request goes out first, and how long it rests before one goes out again."""

from __future__ import annotations

import pytest

from kipviz.clients.sending import producer as clients
from kipviz.clients.timers import SenderBackOff, ShortSenderBackOff, rest_ms
from kipviz.clients.transactions import transaction_manager as managing
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.messages.cluster.coordinators import (
    Coordinator,
    FindCoordinator,
    FindCoordinatorResponse,
)
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import GroupOffset, TxnOffsetCommit
from kipviz.messages.logs.producing import PartitionProduceResponse, Produce, ProduceResponse
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    EndTxn,
    EndTxnResponse,
)
from kipviz.records.batches import DataRecord
from tests.clients.parts import (
    change,
    offsets_response,
    partitions_response,
    producer_of,
    send_offsets,
)

S = ProducerState
RECORD = (DataRecord("A:100", "src-0@100"),)
OFFSETS = ("g", "m", 2, (GroupOffset("src-0", 1),))


def writing(**fields):
    """A producer in a transaction, with a batch that is not sent yet."""
    me = producer_of("app-1/producer", "t", state=S.IN_TRANSACTION, producer_id=9, producer_epoch=0)
    return clients.send(change(me, **fields), "out-0", RECORD)


def goes_out(me, kind):
    request = clients.next_request(me)
    assert isinstance(request, kind)
    me, request = clients.note_sent(me, request, 1)
    return me, request


def test_a_transactional_request_goes_before_a_batch_and_alone():
    """Sender.runOnce comes back as soon as such a request was sent, or is not answered yet."""
    me, _ = goes_out(send_offsets(writing(), *OFFSETS), TxnOffsetCommit)
    assert clients.next_request(me) is None
    me = clients.on_response(me, offsets_response(Errors.NONE))
    assert isinstance(clients.next_request(me), Produce)


def test_what_was_on_the_wire_when_it_went_out_stays_there():
    me, _ = goes_out(writing(), Produce)
    me, _ = goes_out(send_offsets(me, *OFFSETS), TxnOffsetCommit)
    assert (
        clients.on_response(
            me, ProduceResponse((PartitionProduceResponse("out-0", Errors.NONE),))
        ).accumulator.batches
        == ()
    )


def test_the_end_waits_for_batches_and_lets_them_go_first():
    me = clients.end_transaction(writing(), committed=True)
    me, _ = goes_out(me, Produce)
    assert clients.next_request(me) is None
    me = clients.on_response(me, ProduceResponse((PartitionProduceResponse("out-0", Errors.NONE),)))
    goes_out(me, EndTxn)


@pytest.mark.parametrize("error", [Errors.CONCURRENT_TRANSACTIONS, Errors.NOT_COORDINATOR])
def test_a_request_that_was_refused_for_now_rests_and_nothing_else_goes_out(error):
    """The thread sleeps, as long each time: only batches wait longer and longer."""
    me, asked = goes_out(send_offsets(writing(backs_off=True), *OFFSETS), TxnOffsetCommit)
    for _ in range(3):
        me = clients.on_response(me, offsets_response(error))
        assert clients.timers(me) == clients.running(me) == (SenderBackOff(),)
        assert rest_ms(SenderBackOff(), 100) == 100
        assert clients.next_request(me) is None
        me, again = goes_out(clients.on_timer(me, SenderBackOff()), TxnOffsetCommit)
        assert again == asked
        assert clients.timers(me) == ()


def test_without_a_clock_it_goes_out_again_at_once():
    me, asked = goes_out(send_offsets(writing(), *OFFSETS), TxnOffsetCommit)
    me = clients.on_response(me, offsets_response(Errors.NOT_COORDINATOR))
    assert clients.next_request(me) == asked


def test_a_request_whose_connection_broke_rests_too():
    me, _ = goes_out(send_offsets(writing(backs_off=True), *OFFSETS), TxnOffsetCommit)
    assert clients.timers(clients.on_disconnected(me, 7)) == (), "that was another broker"
    assert clients.timers(clients.on_disconnected(me, 1)) == (SenderBackOff(),)


def test_the_first_partitions_wait_20_ms_for_the_markers_of_the_transaction_before():
    """TransactionManager.AddPartitionsToTxnHandler.maybeOverrideRetryBackoffMs."""
    me, _ = goes_out(writing(backs_off=True, version=1), AddPartitionsToTxn)
    busy = partitions_response(Errors.CONCURRENT_TRANSACTIONS, "out-0")
    refused = clients.on_response(me, busy)
    assert clients.timers(refused) == (ShortSenderBackOff(),)
    assert rest_ms(ShortSenderBackOff(), 100) == 20
    assert rest_ms(ShortSenderBackOff(), 5) == 5, "never longer than retry.backoff.ms"
    loading = partitions_response(Errors.COORDINATOR_LOAD_IN_PROGRESS, "out-0")
    assert clients.timers(clients.on_response(me, loading)) == (SenderBackOff(),)


def test_further_partitions_wait_as_long_as_everything_else():
    me, _ = goes_out(writing(backs_off=True, version=1, partitions=("out-1",)), AddPartitionsToTxn)
    busy = partitions_response(Errors.CONCURRENT_TRANSACTIONS, "out-0")
    assert clients.timers(clients.on_response(me, busy)) == (SenderBackOff(),)


def test_an_error_that_ends_the_transaction_ends_the_rest():
    me, _ = goes_out(writing(backs_off=True), Produce)
    me, _ = goes_out(send_offsets(me, *OFFSETS), TxnOffsetCommit)
    me = clients.on_response(me, offsets_response(Errors.NOT_COORDINATOR))
    me = clients.on_response(
        me, ProduceResponse((PartitionProduceResponse("out-0", Errors.INVALID_TXN_STATE),))
    )
    assert (me.manager.state, clients.timers(me)) == (S.ABORTABLE_ERROR, ())


def test_an_end_that_is_refused_for_now_rests_and_the_call_waits():
    me = clients.end_transaction(change(writing(backs_off=True), batches=()), committed=True)
    me, _ = goes_out(me, EndTxn)
    me = clients.on_response(me, EndTxnResponse(Errors.CONCURRENT_TRANSACTIONS))
    assert (me.done, clients.timers(me)) == (False, (SenderBackOff(),))


def test_with_several_in_flight_it_rests_alike():
    me = change(send_offsets(writing(backs_off=True), *OFFSETS), max_in_flight=5)
    me, request = goes_out(me, TxnOffsetCommit)
    me = clients.on_response(me, offsets_response(Errors.NOT_COORDINATOR))
    assert clients.timers(me) == (SenderBackOff(),)
    assert clients.next_request(me) is None
    assert clients.next_request(clients.on_timer(me, SenderBackOff())) == request


@pytest.mark.parametrize(("found", "broker", "finds"), [(True, 1, True), (True, 7, False)])
def test_a_coordinator_whose_connection_broke_is_looked_for_again(found, broker, finds):
    """TxnRequestHandler.onComplete: a disconnect looks the coordinator up anew."""
    me = clients.end_transaction(writing(finds=True, found=found, batches=()), committed=True)
    me, end = goes_out(change(me, batches=()), EndTxn)
    me = clients.on_disconnected(me, broker)
    assert me.manager.found is not finds
    if not finds:
        assert me.manager.on_wire == end
        return
    me, _ = goes_out(me, FindCoordinator)
    me = clients.on_response(me, FindCoordinatorResponse((Coordinator("t", Errors.NONE, 3),)))
    assert clients.next_request(me) == end


def test_an_offset_commit_is_no_request_to_the_transaction_coordinator():
    me, request = goes_out(send_offsets(writing(finds=True, found=True), *OFFSETS), TxnOffsetCommit)
    lost = clients.on_disconnected(me, 1)
    assert (lost.manager.found, clients.next_request(lost)) == (True, request)
    moved = clients.on_response(me, offsets_response(Errors.NOT_COORDINATOR))
    assert moved.manager.found, "it is the group's coordinator that has moved"


def test_an_error_while_it_prepares_ends_the_preparing_and_what_was_to_be_sent():
    me = change(send_offsets(writing(), *OFFSETS), preparing=True, to_add=("x-0",))
    about = offsets_response(Errors.FENCED_INSTANCE_ID)
    failed = managing.enter_error(me.manager, managing.Failure(about, about.error))
    assert (failed.state, failed.preparing, failed.done) == (S.ABORTABLE_ERROR, False, True)
    assert (failed.queue, failed.to_add, failed.rests) == ((), (), "")
    assert str(failed.error) == "TxnOffsetCommit: FENCED_INSTANCE_ID"
