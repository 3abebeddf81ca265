"""A producer without a transactional id: its numbers, several batches on the way, its own epoch bump."""

from __future__ import annotations

import pytest

from kipviz.clients.sending import producer as clients
from kipviz.clients.sending import sender
from kipviz.clients.sending.in_flight import MAX_IN_FLIGHT
from kipviz.clients.sending.producer import Producer
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import PartitionProduceResponse, Produce, ProduceResponse
from kipviz.messages.transactions.transactions import InitProducerId, InitProducerIdResponse
from kipviz.records.batches import DataRecord
from tests.clients.parts import batch_of, change, producer_of

GAP = Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
RETRY = Errors.NOT_LEADER_OR_FOLLOWER


def producer(**changes: object) -> Producer:
    me = producer_of("app-1/producer", "", **{"max_in_flight": MAX_IN_FLIGHT, **changes})
    for value in "abcdefg":
        me = clients.send(me, "out-0", (DataRecord(value),))
    return me


def ready(**changes: object) -> Producer:
    me, _ = out(producer(**changes))
    return clients.on_response(me, InitProducerIdResponse(Errors.NONE, 9, 0))


def out(me: Producer, broker: int = 1):
    """Put the next request on the wire."""
    request = clients.next_request(me)
    assert request is not None
    return clients.note_sent(me, request, broker)


def all_out(me: Producer):
    """Put on the wire whatever may go, and give the epochs and sequences of it."""
    said = []
    while (request := clients.next_request(me)) is not None:
        me, _ = clients.note_sent(me, request, 1)
        assert isinstance(request, Produce)
        said += [(batch.producer_epoch, batch.base_sequence) for batch in request.partition_data]
    return me, said


def answer(
    me: Producer, sequence: int, error: Errors = Errors.NONE, partition: str = "out-0"
) -> Producer:
    """Answer the request with the batch of a sequence, or one that is not there."""
    flying = (b for b in me.accumulator.batches if b.partition == partition and b.broker >= 0)
    number = next((b.request for b in flying if b.base_sequence == sequence), -1)
    return clients.on_response(
        me, ProduceResponse((PartitionProduceResponse(partition, error),)), number
    )


def test_it_asks_for_an_identity_without_a_name_before_its_first_batch():
    me, asked = out(producer())
    assert isinstance(asked, InitProducerId)
    assert asked.transactional_id is None
    assert clients.next_request(me) is None
    assert clients.next_request(producer_of("app-1/producer", "")) is None, "nothing to send"


def test_without_idempotence_it_asks_for_nothing_and_numbers_nothing():
    _, first = out(producer(idempotence=False))
    batch = batch_of(first)
    assert (batch.producer_id, batch.base_sequence) == (-1, -1)


@pytest.mark.parametrize("most", [1, 3, 5])
def test_as_many_batches_of_a_partition_are_on_the_way_as_it_may_have(most):
    me, said = all_out(ready(max_in_flight=most))
    assert said == [(0, n) for n in range(most)]
    _, more = all_out(answer(me, 0))
    assert more == [(0, most)]


def test_what_is_sent_again_goes_alone_and_in_order():
    me, _ = all_out(ready(max_in_flight=3))
    for sequence, error in ((0, RETRY), (1, GAP), (2, GAP)):
        me = answer(me, sequence, error)
    for sequence in range(3):
        me, said = all_out(me)
        assert said[0] == (0, sequence)
        assert len(said) == 1 or sequence == 2
        me = answer(me, sequence)
    assert me.manager.producer_epoch == 0


def test_a_gap_is_waited_out_as_long_as_an_earlier_batch_is_not_through():
    me, _ = all_out(ready(max_in_flight=2))
    me = answer(me, 0, RETRY)
    me = answer(me, 1, GAP)
    assert me.manager.producer_epoch == 0


def test_a_gap_that_nothing_can_fill_bumps_the_epoch_and_begins_at_0():
    """What the leader had acknowledged is not there any more."""
    me, _ = all_out(ready(max_in_flight=2))
    me = answer(answer(me, 0), 1, GAP)
    assert (me.manager.producer_id, me.manager.producer_epoch) == (9, 1)
    me, said = all_out(me)
    assert said == [(1, 0), (1, 1)], "what is new may go behind it"


def test_a_bump_is_the_clients_own_until_the_epochs_are_used_up():
    me = change(ready(max_in_flight=1), producer_epoch=32_767)
    me, _ = out(me)
    me = answer(me, 0)
    me, _ = out(me)
    me = answer(me, 1, GAP)
    assert me.manager.producer_id == -1
    me, asked = out(me)
    assert isinstance(asked, InitProducerId)
    me = clients.on_response(me, InitProducerIdResponse(Errors.NONE, 10, 0))
    _, again = out(me)
    assert (batch_of(again).identity, batch_of(again).base_sequence) == ((10, 0), 0)


def test_another_partition_keeps_its_epoch_until_nothing_of_it_is_on_the_way():
    me = clients.send(ready(max_in_flight=2), "other-0", (DataRecord("x"),))
    me = clients.send(me, "other-0", (DataRecord("y"),))
    me = clients.send(me, "other-0", (DataRecord("z"),))
    me, _ = all_out(me)
    me = answer(answer(me, 0), 1, GAP)
    others = [b for b in me.accumulator.batches if b.partition == "other-0"]
    assert [(b.identity, b.base_sequence) for b in others] == [
        ((9, 0), 0),
        ((9, 0), 1),
        ((-1, -1), -1),
    ]
    me = answer(me, 0, partition="other-0")
    assert [r for r in all_out(me)[1] if r == (1, 0)] == [(1, 0)], "only the partition with the gap"
    me = answer(me, 1, partition="other-0")
    me, said = all_out(me)
    assert said.count((1, 0)) == 2


def test_a_batch_that_expired_after_it_was_sent_holds_back_what_is_new():
    me, _ = out(ready(max_in_flight=1))
    me = answer(me, 0)
    me, _ = out(me)
    me = clients.on_disconnected(me, 1)
    me = sender.fail_expired(me)
    assert me.failed == ("b",)
    assert me.manager.producer_epoch == 1, (
        "nothing else was on the way: the sequence cannot be trusted"
    )


def test_what_comes_behind_an_expired_batch_shows_whether_it_arrived():
    me, _ = all_out(ready(max_in_flight=2))
    me = clients.on_disconnected(me, 1)
    me = sender.fail_expired(me)
    assert me.partition_map.unresolved["out-0"] == 1
    me, said = all_out(me)
    assert said == [(0, 1)]
    arrived = answer(me, 1)
    assert (arrived.manager.producer_epoch, len(arrived.partition_map.unresolved)) == (0, 0)
    lost = answer(me, 1, GAP)
    assert lost.manager.producer_epoch == 1
    assert all_out(lost)[1] == [(1, 0), (1, 1)]


def test_a_batch_that_nobody_takes_is_given_up_and_the_next_epoch_begins():
    me, _ = all_out(ready(max_in_flight=1))
    me = answer(me, 0, Errors.TOPIC_AUTHORIZATION_FAILED)
    assert me.failed == ("a",)
    assert all_out(me)[1] == [(1, 0)]


def test_who_may_not_have_an_identity_loses_what_it_had_to_send():
    me, _ = out(producer())
    me = clients.on_response(me, InitProducerIdResponse(Errors.CLUSTER_AUTHORIZATION_FAILED))
    assert (me.manager.state, me.failed) == (ProducerState.UNINITIALIZED, tuple("abcdefg"))
    assert me.done


def test_flush_waits_for_the_last_answer():
    me, _ = all_out(ready(max_in_flight=5))
    me = clients.flush(me)
    for sequence in range(7):
        assert not me.done
        me, _ = all_out(answer(me, sequence))
    assert me.done


def test_the_next_process_is_nobody_that_anyone_knows():
    me, _ = all_out(ready())
    fresh = clients.restart(me, 2)
    assert (fresh.manager.producer_id, fresh.accumulator.batches, fresh.max_in_flight) == (
        -1,
        (),
        5,
    )


def test_a_coordinator_that_cannot_answer_yet_is_asked_again_for_an_identity():
    me, asked = out(producer())
    me = clients.on_response(me, InitProducerIdResponse(Errors.COORDINATOR_LOAD_IN_PROGRESS))
    assert (me.manager.state, me.failed, me.error) == (ProducerState.UNINITIALIZED, (), "")
    assert out(me)[1] == asked


def test_an_answer_to_a_batch_that_is_not_on_the_way_changes_nothing():
    me, _ = all_out(ready(max_in_flight=1))
    me = clients.on_disconnected(me, 1)
    assert answer(me, 0) == me
    assert answer(me, 0, Errors.TOPIC_AUTHORIZATION_FAILED) == me


def test_an_error_that_is_fatal_loses_every_batch_and_sends_nothing_more():
    me, _ = all_out(ready(max_in_flight=2))
    me = answer(me, 0, Errors.PRODUCER_FENCED)
    assert (me.manager.state, str(me.error)) == (
        ProducerState.FATAL_ERROR,
        "Produce: PRODUCER_FENCED",
    )
    assert me.failed == tuple("abcdefg")
    assert clients.next_request(me) is None


def test_a_new_id_makes_every_partition_count_anew_also_one_with_nothing_on_the_way():
    """TransactionManager.resetIdempotentProducerId: no sequence outlives the id that it was counted for."""
    me = change(ready(max_in_flight=1), producer_epoch=32_767)
    me = clients.send(me, "other-0", (DataRecord("x"),))
    me, _ = out(me)
    me = answer(answer(me, 0), 0, partition="other-0")
    me, _ = out(me)
    me = clients.send(answer(me, 1, GAP), "other-0", (DataRecord("y"),))
    me, asked = out(me)
    assert isinstance(asked, InitProducerId)
    me = clients.on_response(me, InitProducerIdResponse(Errors.NONE, 10, 0))
    _, request = out(me)
    found = [(b.partition, b.producer_id, b.base_sequence) for b in request.partition_data]
    assert found == [("out-0", 10, 0), ("other-0", 10, 0)]


def test_without_idempotence_there_is_no_gap_that_could_be_waited_out():
    """TransactionManager.canRetry is asked of an idempotent producer only; the error itself is not retriable."""
    me, _ = all_out(producer(idempotence=False, max_in_flight=1))
    me = answer(me, -1, GAP)
    assert (me.failed, str(me.error)) == (("a",), "Produce: OUT_OF_ORDER_SEQUENCE_NUMBER")
    assert me.manager.producer_epoch == -1


def test_an_identity_that_is_refused_for_good_ends_the_producer():
    me, _ = out(producer())
    me = clients.on_response(me, InitProducerIdResponse(Errors.UNSUPPORTED_VERSION))
    assert (me.manager.state, str(me.error)) == (
        ProducerState.FATAL_ERROR,
        "InitProducerId: UNSUPPORTED_VERSION",
    )
    assert me.failed == tuple("abcdefg")
