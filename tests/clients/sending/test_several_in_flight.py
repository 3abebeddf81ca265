"""A producer with transactions and several batches of a partition on the way."""

from __future__ import annotations

import pytest

from kipviz.clients import kinds
from kipviz.clients.sending import in_flight, sender
from kipviz.clients.sending import producer as clients
from kipviz.clients.sending.in_flight import MAX_IN_FLIGHT
from kipviz.clients.sending.producer import Producer
from kipviz.clients.sending.txn_partition_map import TxnPartitionMap
from kipviz.clients.timers import BatchBackOff
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.cluster.specs.spec import ApplicationSpec, PlainSpec, SessionSpec
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import GroupOffset
from kipviz.messages.logs.producing import (
    PartitionProduceResponse,
    Produce,
    ProduceResponse,
)
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
)
from kipviz.records.batches import DataRecord
from tests.clients.parts import (
    batch_of,
    begin_transaction,
    change,
    init_transactions,
    partitions_response,
    producer_of,
    send_offsets,
)

S = ProducerState
GAP = Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
RETRY = Errors.NOT_ENOUGH_REPLICAS
FOR_GOOD = Errors.TOPIC_AUTHORIZATION_FAILED


def writing(values: str = "abcde", version: int = 2, **changes: object) -> Producer:
    """A producer in a transaction to which so many records were given, one batch each."""
    me = change(
        producer_of(
            "app-1/producer",
            "t",
            max_in_flight=MAX_IN_FLIGHT,
            finalized=version,
            version=version,
            state=S.IN_TRANSACTION,
        ),
        producer_id=9,
        producer_epoch=4,
        **changes,
    )
    for value in values:
        me = clients.send(me, "out-0", (DataRecord(value),))
    if version == 2:
        return me
    me, asked = out(me)
    assert isinstance(asked, AddPartitionsToTxn)
    return clients.on_response(me, partitions_response(Errors.NONE, "out-0"))


def out(me: Producer, broker: int = 1):
    """Put the next request on the wire."""
    request = clients.next_request(me)
    assert request is not None
    return clients.note_sent(me, request, broker)


def all_out(me: Producer):
    """Put on the wire every batch that may go; give the values and sequences of them."""
    said = []
    while isinstance(request := clients.next_request(me), Produce):
        me, _ = clients.note_sent(me, request, 1)
        batch = batch_of(request)
        said.append((batch.records[0].value, batch.base_sequence))
    return me, said


def list_sequences(request: Produce):
    """The partitions of a request, with the sequences of their batches."""
    return [(batch.partition, batch.base_sequence) for batch in request.partition_data]


def answer(me: Producer, serial: int, error: Errors = Errors.NONE) -> Producer:
    return clients.on_response(
        me, ProduceResponse((PartitionProduceResponse("out-0", error),)), serial
    )


@pytest.mark.parametrize("most", [2, 3, 5])
def test_batches_are_numbered_in_order_up_to_what_may_be_in_flight(most):
    me, said = all_out(writing("abcdef", max_in_flight=most))
    assert said == [("abcdef"[n], n) for n in range(most)]
    _, more = all_out(answer(me, 1))
    assert more == [("abcdef"[most], most)]


def test_a_gap_behind_a_batch_that_is_not_through_is_tried_again_one_by_one():
    me, _ = all_out(writing("abc"))
    for serial, error in ((1, RETRY), (2, GAP), (3, GAP)):
        me = answer(me, serial, error)
    assert me.manager.state is S.IN_TRANSACTION
    for n, value in enumerate("abc"):
        me, said = all_out(me)
        assert said == [(value, n)]
        me = answer(me, n + 1)
    assert me.accumulator.batches == ()


def test_a_gap_with_nothing_before_it_ends_the_transaction():
    me, _ = all_out(writing("ab"))
    me = answer(answer(me, 1), 2, GAP)
    assert (me.manager.state, str(me.error)) == (S.ABORTABLE_ERROR, f"Produce: {GAP.name}")


def test_the_batches_behind_one_that_was_refused_for_good_take_its_place():
    me, _ = all_out(writing("abcd", max_in_flight=3))
    me = answer(answer(me, 1), 2, FOR_GOOD)
    assert me.manager.state is S.ABORTABLE_ERROR
    # c is with the leader and has the sequence of b now; d was never sent, and is dropped.
    assert [(b.records[0].value, b.base_sequence, b.reset) for b in me.accumulator.batches] == [
        ("c", 1, True)
    ]
    assert me.partition_map.sequences["out-0"] == 2
    me, said = all_out(answer(me, 3, GAP))
    assert said == [("c", 1)]
    assert answer(me, 3).partition_map.acked["out-0"] == 1


def test_an_abort_drops_what_was_never_sent_and_waits_for_what_was():
    me, _ = all_out(writing("abc", max_in_flight=2))
    me = clients.end_transaction(me, committed=False)
    assert [b.records[0].value for b in me.accumulator.batches] == ["a", "b"]
    me = answer(me, 1, RETRY)
    assert clients.next_request(me) is not None, "it is sent again, in an abort, too"
    me, said = all_out(answer(me, 2, GAP))
    assert said == [("a", 0)]
    me, said = all_out(answer(me, 1))
    assert said == [("b", 1)]
    assert isinstance(clients.next_request(answer(me, 2)), EndTxn)


def test_a_commit_sends_what_is_left_before_it_ends():
    me = clients.end_transaction(writing("ab"), committed=True)
    me, said = all_out(me)
    assert said == [("a", 0), ("b", 1)]
    assert clients.next_request(me) is None
    assert isinstance(clients.next_request(answer(answer(me, 1), 2)), EndTxn)


def test_no_batch_goes_out_while_a_transactional_request_is_on_the_wire():
    me = writing("a")
    me = change(me, queue=(EndTxn("t", 9, 4, True),), on_wire=InitProducerId("t"), on_wire_broker=3)
    assert clients.next_request(me) is None


def test_the_next_transaction_counts_from_0_with_its_own_epoch():
    me, _ = all_out(writing("a"))
    me = clients.end_transaction(answer(me, 1), committed=True)
    me, _ = out(me)
    me = clients.on_response(me, EndTxnResponse(Errors.NONE, 9, 5))
    assert me.partition_map == TxnPartitionMap()
    me = clients.send(begin_transaction(me), "out-0", (DataRecord("b"),))
    request = clients.next_request(me)
    assert (batch_of(request).producer_epoch, batch_of(request).base_sequence) == (5, 0)


@pytest.mark.parametrize(("version", "bumps"), [(2, False), (1, True)])
def test_a_batch_that_expires_on_the_wire_ends_the_transaction_and_its_answer_is_nobodys(
    version, bumps
):
    me, _ = all_out(writing("ab", version))
    me = sender.fail_expired(me)
    assert (me.manager.state, str(me.error)) == (S.ABORTABLE_ERROR, "Produce: REQUEST_TIMED_OUT")
    assert [b.records[0].value for b in me.accumulator.batches] == ["b"]
    assert me.partition_map.unresolved == type(me.partition_map.unresolved).of(), (
        "it was not sent again"
    )
    after = answer(me, 1)
    assert after == me.but(accumulator=me.accumulator.but(unanswered=()))
    assert me.manager.bump is bumps


@pytest.mark.parametrize(("through", "bumps"), [(True, False), (False, True)])
def test_what_expires_after_it_was_sent_again_is_open_until_what_is_behind_it_shows_it(
    through, bumps
):
    me, _ = all_out(writing("ab", 1))
    me = change(
        answer(me, 1, RETRY), state=S.ABORTING_TRANSACTION, queue=(EndTxn("t", 9, 4, False),)
    )
    me = sender.fail_expired(me)
    assert me.partition_map.unresolved["out-0"] == 1
    me = answer(me, 2, Errors.NONE if through else FOR_GOOD)
    assert me.partition_map.unresolved == type(me.partition_map.unresolved).of()
    assert (me.manager.bump, me.accumulator.batches) == (bumps, ())


def test_nothing_new_is_sent_behind_a_batch_that_nobody_knows_of():
    me, _ = all_out(writing("ab", 1))
    me = sender.fail_expired(answer(answer(me, 1, RETRY), 2, GAP))
    me = clients.send(change(me, state=S.IN_TRANSACTION), "out-0", (DataRecord("c"),))
    me, said = all_out(me)
    assert said == [("b", 1)], "c waits"


def test_what_is_fenced_gives_everything_up():
    me, _ = all_out(writing("abc"))
    me = answer(me, 1, Errors.PRODUCER_FENCED)
    assert (me.manager.state, me.accumulator.batches) == (S.FATAL_ERROR, ())
    assert clients.next_request(me) is None


def test_a_broken_connection_takes_back_batches_and_requests_with_their_numbers():
    me, _ = all_out(writing("ab"))
    me = clients.on_disconnected(me, 1)
    me, said = all_out(me)
    assert said == [("a", 0)]
    asked = EndTxn("t", 9, 4, False)
    me = clients.on_disconnected(change(me, on_wire=asked, on_wire_broker=2), 2)
    assert me.manager.queue == (asked,)


def test_below_version_2_a_batch_waits_until_its_partition_is_added():
    me = producer_of(
        "app-1/producer", "t", max_in_flight=MAX_IN_FLIGHT, version=1, state=S.IN_TRANSACTION
    )
    me = clients.send(change(me, producer_id=9, producer_epoch=0), "out-0", (DataRecord("a"),))
    me, asked = out(me)
    assert isinstance(asked, AddPartitionsToTxn)
    assert clients.next_request(me) is None
    me = clients.on_response(me, partitions_response(Errors.NONE, "out-0"))
    request = clients.next_request(me)
    assert (request.spoken, kinds.correlation_id_of(me, request)) == (11, 1)


def test_the_next_life_has_the_name_and_the_settings_and_nothing_else():
    me, _ = all_out(writing("abc", max_in_flight=3))
    fresh = clients.restart(me, 2)
    assert (fresh.manager.transactional_id, fresh.max_in_flight) == ("t", 3)
    assert (fresh.accumulator.batches, fresh.manager.producer_id) == ((), -1)
    fresh = init_transactions(fresh)
    fresh, _ = out(fresh)
    fresh = clients.on_response(fresh, InitProducerIdResponse(Errors.NONE, 9, 5))
    assert fresh.manager.state is S.READY


def full(*values: str) -> Producer:
    """A producer that has room for two batches, both on the wire, and is given more."""
    me, _ = all_out(writing("ab", buffer=2))
    for value in values:
        me = clients.send(me, "out-0", (DataRecord(value),))
    return me


def test_send_waits_for_room_and_goes_on_when_a_batch_is_through():
    me = full("c")
    assert (len(me.accumulator.batches), me.done) == (2, False)
    me = answer(me, 1)
    assert (me.done, me.accumulator.blocked) == (True, ())
    me, said = all_out(me)
    assert said == [("c", 2)]


def test_a_send_that_waited_too_long_throws_nothing_and_ends_the_transaction():
    """KafkaProducer.doSend: an ApiException fails the Future, and the transaction."""
    me = clients.send_timed_out(full("c"))
    assert (me.manager.state, me.accumulator.blocked) == (S.ABORTABLE_ERROR, ())
    assert [b.records[0].value for b in me.accumulator.batches] == ["a", "b"]
    assert answer(answer(me, 1), 2).accumulator.batches == ()


def test_a_send_that_waits_when_the_transaction_fails_sends_nothing():
    me = answer(full("c"), 1, FOR_GOOD)
    assert (me.manager.state, me.done, me.accumulator.blocked) == (S.ABORTABLE_ERROR, True, ())
    assert [b.records[0].value for b in me.accumulator.batches] == ["b"]
    me = answer(full("c"), 1, Errors.PRODUCER_FENCED)
    assert (me.manager.state, me.done, me.accumulator.batches) == (S.FATAL_ERROR, True, ())


def test_a_batch_that_was_refused_rests_twice_as_long_each_time():
    """KIP-580: retry.backoff.ms, doubled up to retry.backoff.max.ms."""
    me, _ = all_out(writing("ab", backs_off=True))
    (timer,) = (BatchBackOff(1),)
    waits = []
    me = answer(me, 2, GAP)
    for _ in range(5):
        me = answer(me, 1, RETRY)
        assert clients.timers(me) == clients.running(me) == (timer, BatchBackOff(2))
        waits.append(clients.back_off(me, timer, 100, 1_000))
        assert clients.next_request(me) is None, "b waits behind a, and a rests"
        me, said = all_out(clients.on_timer(me, timer))
        assert said == [("a", 0)]
    assert waits == [100, 200, 400, 800, 1_000]
    me = answer(me, 1)
    assert clients.next_request(me) is None
    _, said = all_out(clients.on_timer(me, BatchBackOff(2)))
    assert said == [("b", 1)]


def test_a_lost_connection_makes_batches_rest_too_and_other_timers_are_those_of_every_producer():
    me, _ = all_out(writing("a", backs_off=True, heartbeat_interval_ms=5_000))
    me = clients.on_disconnected(me, 1)
    interval, back_off = clients.timers(me)
    assert back_off == BatchBackOff(1)
    assert len(clients.on_timer(me, interval).manager.queue) == 1


def test_whatever_is_on_a_connection_counts_against_its_room():
    """InFlightRequests.canSendMore: one queue for every request to a broker."""
    me, _ = all_out(writing("ab", max_in_flight=3))
    assert (kinds.has_room(me, 1), kinds.has_room(me, 2)) == (True, True)
    me = send_offsets(me, "g", "m", 2, (GroupOffset("src-0", 1),))
    me, _ = out(me, 1)
    assert (kinds.has_room(me, 1), kinds.has_room(me, 2)) == (False, True)
    assert kinds.has_room(answer(me, 1), 1)
    assert kinds.has_room(producer_of("app-1/producer", "t"), 1)


def test_the_request_of_a_batch_that_expired_takes_its_place_until_it_is_answered_or_lost():
    """InFlightRequests knows requests: that nobody waits for one any more is not its affair."""
    me, _ = all_out(writing("ab", max_in_flight=2))
    late = sender.fail_expired(me)
    assert not kinds.has_room(late, 1)
    assert kinds.has_room(answer(late, 1), 1)
    assert kinds.has_room(clients.on_disconnected(late, 1), 1)


def test_equal_situations_have_equal_numbers():
    """What was sent before leaves no trace in the numbers of what is sent now."""
    me, _ = all_out(writing("ab"))
    me, _ = all_out(clients.send(answer(answer(me, 1), 2), "out-0", (DataRecord("c"),)))
    assert [b.serial for b in me.accumulator.batches] == [1]
    late = clients.send(
        change(sender.fail_expired(me), state=S.IN_TRANSACTION), "out-0", (DataRecord("d"),)
    )
    assert [b.serial for b in late.accumulator.batches] == [2], (
        "the answer to number 1 may still come"
    )


def test_the_batches_of_several_partitions_go_in_one_request_and_have_an_answer_each():
    me = clients.send(writing("ab", max_in_flight=2), "out-1", (DataRecord("x"),))
    number = kinds.correlation_id_of(me, clients.next_request(me))
    me, request = out(me)
    assert list_sequences(request) == [("out-0", 0), ("out-1", 0)]
    assert kinds.has_room(me, 1), "two batches, one request"
    me, second = out(me)
    assert list_sequences(second) == [("out-0", 1)]
    assert not kinds.has_room(me, 1)
    results = (
        PartitionProduceResponse("out-0", Errors.NONE, 0),
        PartitionProduceResponse("out-1", RETRY),
    )
    me = clients.on_response(me, ProduceResponse(results), number)
    assert [(b.records[0].value, b.broker) for b in me.accumulator.batches] == [("b", 1), ("x", -1)]
    number = kinds.correlation_id_of(me, clients.next_request(me))
    me, again = out(me)
    assert list_sequences(again) == [("out-1", 0)]
    alone = ProduceResponse((PartitionProduceResponse("out-1", Errors.NONE, 0),))
    me = clients.on_response(me, alone, number)
    assert [b.records[0].value for b in me.accumulator.batches] == ["b"]


def test_a_lost_request_loses_the_batches_of_all_its_partitions():
    me = clients.send(writing("a"), "out-1", (DataRecord("x"),))
    me, _ = out(me)
    me = clients.on_disconnected(me, 1)
    assert [(b.broker, b.request, b.retried) for b in me.accumulator.batches] == [(-1, 0, True)] * 2
    _, again = out(me)
    assert list_sequences(again) == [("out-0", 0), ("out-1", 0)]


def test_the_next_life_has_every_setting_of_this_one():
    me = change(writing(""), group_id="g", network="app-1/pool", backs_off=True, buffer=2)
    fresh = clients.restart(me, 2)
    assert (fresh.manager.group_id, fresh.network) == ("g", "app-1/pool")
    assert kinds.network_of(me) == "app-1/pool", "one sender with its connections, several ids"
    assert kinds.network_of(writing("")) == "app-1/producer"
    assert (fresh.manager.backs_off, fresh.accumulator.buffer, fresh.manager.producer_id) == (
        True,
        2,
        -1,
    )


LAST = 2_147_483_647


def near_the_wrap(first: int, *counts: int) -> Producer:
    """A producer whose next sequence is `first`, with batches of so many records."""
    me = change(writing(""), sequences=Table.of({"out-0": first}))
    for count in counts:
        me = clients.send(me, "out-0", tuple(DataRecord("r") for _ in range(count)))
    return me


def test_sequences_go_on_at_0_behind_the_last_one():
    """TxnPartitionEntry.incrementSequence."""
    me, said = all_out(near_the_wrap(LAST - 10, 20, 1))
    assert [sequence for _, sequence in said] == [LAST - 10, 9]
    assert me.partition_map.sequences["out-0"] == 10


def test_what_is_acknowledged_does_not_wrap_as_in_kafka():
    """ProducerBatch.lastSequence is a sum without a wrap: TxnPartitionEntry keeps the larger number.

    A batch behind the wrap that is refused as out of order is sent again therefore, as one that only
    came early.
    """
    me, _ = all_out(near_the_wrap(LAST - 10, 5, 20, 1))
    me = answer(answer(me, 1), 2)
    assert me.partition_map.acked["out-0"] == LAST - 6
    me = answer(me, 3, GAP)
    assert me.manager.state is S.IN_TRANSACTION
    _, said = all_out(me)
    assert [sequence for _, sequence in said] == [14]


def test_sequences_on_both_sides_of_the_wrap_are_not_closed_up():
    """TxnPartitionEntry.decrementSequence throws before anything is changed, and the sender logs it."""
    me, _ = all_out(near_the_wrap(LAST - 10, 11, 1))
    me = answer(me, 1, FOR_GOOD)
    assert me.manager.state is S.ABORTABLE_ERROR
    assert [(b.base_sequence, b.reset) for b in me.accumulator.batches] == [(0, False)]
    assert me.partition_map.sequences["out-0"] == 1


def test_what_is_unresolved_behind_the_wrap_is_a_number_of_java():
    """TransactionManager.markSequenceUnresolved: lastSequence() + 1, which is negative there."""
    me, _ = all_out(near_the_wrap(LAST - 1, 4))
    batch = me.accumulator.batches[0]
    assert in_flight.left_open(me, batch).partition_map.unresolved["out-0"] == -(2**31) + 2


def test_a_batch_whose_number_was_closed_up_is_sent_again_although_its_leader_sees_a_gap():
    """TxnPartitionEntry.adjustSequencesDueToFailedBatch resets it, and canRetry lets a reset batch be sent again."""
    me, _ = all_out(writing("abc"))
    me = answer(me, 1, FOR_GOOD)
    assert [(b.base_sequence, b.reset) for b in me.accumulator.batches] == [(0, True), (1, True)]
    assert me.partition_map.sequences["out-0"] == 2
    first = next(b for b in me.accumulator.batches if b.base_sequence == 0)
    assert in_flight.comes_early(me, first, GAP)
    assert not in_flight.comes_early(me, first.but(reset=False), GAP), "it is the next one"
    assert not in_flight.comes_early(me, first, Errors.DUPLICATE_SEQUENCE_NUMBER)


# -- which producer a process may have -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"plain": PlainSpec()}, "has a plain producer if its transactional id is empty, and only"),
        ({"transactional_id": ""}, "has a plain producer if its transactional id is empty, and"),
        ({"max_in_flight": 0}, "must have at least one batch in flight, not 0"),
        (
            {"transactional_id": "", "plain": PlainSpec(max_in_flight=0)},
            "must have at least one batch in flight, not 0",
        ),
        ({"max_in_flight": 6}, "because a leader knows the last 5, not 6"),
        (
            {"transactional_id": "", "plain": PlainSpec(max_in_flight=6)},
            "because a leader knows the last 5, not 6",
        ),
        ({"buffer": -1}, "is 0 or more batches, and needs max_in_flight above 1"),
        ({"buffer": 2, "max_in_flight": 1}, "is 0 or more batches, and needs max_in_flight above"),
        (
            {"transactional_id": "", "plain": PlainSpec(), "max_in_flight": 2},
            "is for a producer with a transaction of its own",
        ),
        ({"session": SessionSpec()}, "is for a producer with a transaction of its own"),
    ],
)
def test_a_producer_that_kafka_would_not_configure_is_refused_by_its_reason(changes, says):
    """ProducerConfig.postProcessAndValidateIdempotenceConfigs, and what this model leaves out."""
    said = in_flight.why_no_such_producer(of_process(**changes))
    assert says in said
    assert "app-1" in said


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"max_in_flight": 5},
        {"max_in_flight": 2, "buffer": 1},
        {"max_in_flight": 1, "session": SessionSpec()},
        {"max_in_flight": 1, "transactional_id": "", "plain": PlainSpec()},
        {
            "max_in_flight": 1,
            "transactional_id": "",
            "plain": PlainSpec(idempotence=False, max_in_flight=6),
        },
        {"max_in_flight": 1, "transactional_id": "", "admin": True},
    ],
)
def test_a_producer_that_kafka_would_configure_is_none_to_refuse(changes):
    assert in_flight.why_no_such_producer(of_process(**changes)) == ""


def of_process(**changes) -> ApplicationSpec:
    known = {"max_in_flight": MAX_IN_FLIGHT, "transactional_id": "t"} | changes
    tid = known.pop("transactional_id")
    return ApplicationSpec("app-1", tid, (), "g", "m", False, "src-0", "out-0", **known)
