"""KIP-447's first draft at the client: a listener that initialises the producer, and poll() that waits."""

from __future__ import annotations

import pytest

from kipviz.clients import thread
from kipviz.clients.application import Application
from kipviz.clients.calls import CALLS
from kipviz.clients.groups import kafka_consumer
from kipviz.clients.groups.consumer_coordinator import MemberState
from kipviz.clients.sending import producer as transactional
from kipviz.clients.sending import sender
from kipviz.clients.settling import settle
from kipviz.clients.throwing.client_errors import request_error
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.clients.transactions.transaction_manager import Failure
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import JoinGroup
from kipviz.messages.groups.groups import OffsetFetch
from kipviz.messages.logs.producing import PartitionProduceResponse, Produce, ProduceResponse
from kipviz.messages.transactions.group_transactions import InitProducerIdOfGroup
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    EndTxn,
    EndTxnResponse,
    InitProducerIdResponse,
    TxnPartitions,
)
from kipviz.records.batches import DataRecord
from kipviz.scenarios.library import searched_scenario
from tests.clients.parts import (
    begin_transaction,
    change,
    classic_member_of,
    partitions_response,
    producer_of,
)

LOOP = searched_scenario("kip-447-first-draft").spec.applications[0].program

RULES = design("kip-447-first-draft").client_rules()
P = ProducerState
ASK = InitProducerIdOfGroup("t", group_id="g", generation=3, assigned=("src-0",))
GIVEN = InitProducerIdResponse(Errors.NONE, 9, 0)


def process(generation: int = 3, **changes: object) -> Application:
    """A process whose consumer has just been assigned src-0."""
    producer = producer_of("app-1/producer", "t", group_id="g", version=0, finalized=0)
    consumer = classic_member_of(
        "app-1/consumer",
        "g",
        "C1",
        "src",
        "src-0",
        2,
        ("src-0",),
        state=MemberState.STABLE,
        member_id="C1.1",
        generation=generation,
        metadata=("C1.1", generation),
        owned=("src-0",),
        polling=True,
        rejoin=False,
    )
    return settle(Application("app-1", LOOP, "out-0", change(producer, **changes), consumer), RULES)


def send_next(me: Application) -> Application:
    """The same once the request is on the wire."""
    request = transactional.next_request(me.producer)
    producer, _ = transactional.note_sent(me.producer, request, 1)
    return settle(me.with_client(producer), RULES)


def answer_with(me: Application, message: object) -> Application:
    return settle(me.with_client(transactional.on_response(me.producer, message)), RULES)


def test_an_assignment_initialises_the_producer_and_reading_waits_for_that() -> None:
    me = process()
    assert transactional.next_request(me.producer) == ASK
    assert kafka_consumer.next_request(me.consumer) is None
    me = answer_with(send_next(me), GIVEN)
    assert (me.producer.manager.state, me.producer.manager.producer_id) == (P.READY, 9)
    assert isinstance(kafka_consumer.next_request(me.consumer), OffsetFetch)
    assert settle(me, RULES) == me  # once for each assignment


def test_init_transactions_itself_asks_for_nothing() -> None:
    me = process().but(consumer=change(process().consumer, listening=False))
    fresh = me.with_client(producer_of("app-1/producer", "t", group_id="g"))
    entered = CALLS[LOOP[0].call].enter(fresh, LOOP[0], RULES)
    assert (entered.producer.done, entered.producer.manager.queue) == (True, ())


def test_what_it_gets_instead_of_an_identity_comes_out_of_poll() -> None:
    refused = InitProducerIdResponse(Errors.ILLEGAL_GENERATION)
    me = answer_with(send_next(process()), refused)
    assert me.producer.manager.state is P.ABORTABLE_ERROR
    assert (me.consumer.polling, me.consumer.done) == (False, True)
    assert str(me.consumer.error) == "InitProducerIdOfGroup: ILLEGAL_GENERATION"
    # The next poll() tries again.
    again = settle(me.but(consumer=kafka_consumer.poll(me.consumer)), RULES)
    assert transactional.next_request(again.producer) == ASK


def test_another_generation_needs_another_identity_and_nothing_is_left_of_the_one_before() -> None:
    before = {"state": P.READY, "producer_id": 8, "partitions": ("out-0",)}
    me = process(member_at_init=("C1.1", 2), **before)
    assert transactional.next_request(me.producer) == ASK
    me = answer_with(send_next(me), GIVEN)
    assert (me.producer.manager.partitions, me.producer.manager.member_at_init) == ((), ("C1.1", 3))


@pytest.mark.parametrize("state", [P.IN_TRANSACTION, P.FATAL_ERROR, P.COMMITTING_TRANSACTION])
def test_the_listener_does_not_touch_a_producer_that_is_at_work_or_lost(state) -> None:
    me = process(state=state)
    assert (me.producer.manager.queue, me.consumer.membership.listening) == ((), False)


def test_a_producer_without_a_group_is_initialised_by_its_application() -> None:
    assert process(group_id="").producer.manager.queue == ()


def test_a_fenced_producer_of_a_group_may_initialise_again_and_any_other_is_lost() -> None:
    for group_id, state in (("g", P.ABORTABLE_ERROR), ("", P.FATAL_ERROR)):
        me = producer_of(
            "app-1/producer",
            "t",
            group_id=group_id,
            state=P.COMMITTING_TRANSACTION,
            on_wire=EndTxn("t", 9, 0, True, 4),
            version=0,
        )
        me = transactional.on_response(me, EndTxnResponse(Errors.PRODUCER_FENCED))
        assert me.manager.state is state


def test_a_batch_that_is_on_its_way_is_waited_for_and_one_that_came_back_is_dropped() -> None:
    me = process(state=P.READY, producer_id=8, member_at_init=("C1.1", 2))
    in_transaction = begin_transaction(
        change(me.producer, state=P.READY, queue=(), member_at_init=("C1.1", 2))
    )
    working = transactional.send(in_transaction, "out-0", (DataRecord("f(a)"),))
    working, _ = transactional.note_sent(working, transactional.next_request(working), 1)
    added = partitions_response(Errors.NONE, "out-0")
    working = transactional.on_response(working, added)
    request = transactional.next_request(working)
    assert isinstance(request, Produce)
    working, _ = transactional.note_sent(working, request, 3)
    end = AddPartitionsToTxn((TxnPartitions("t", 8, 0, ("out-1",)),), version=3)
    fenced = sender.fail(working, Failure(end, Errors.PRODUCER_FENCED))
    me = me.but(consumer=change(me.consumer, listening=False)).with_client(fenced)
    me = settle(me, RULES)
    assert me.consumer.membership.listening
    assert transactional.next_request(me.producer) is None
    done = answer_with(me, ProduceResponse((PartitionProduceResponse("out-0", Errors.NONE),)))
    assert transactional.next_request(done.producer) == ASK
    broken = settle(me.with_client(transactional.on_disconnected(me.producer, 3)), RULES)
    assert transactional.next_request(broken.producer) == ASK
    assert answer_with(send_next(broken), GIVEN).producer.accumulator.batches == ()


def second_draft() -> Application:
    """A process in initTransactions(consumer), its identity given, its consumer on the way."""
    rules = design("kip-447-init-consumer").client_rules()
    names = ("app-1/consumer", "g", "C1", "src", "src-0", 2, ("src-0",))
    producer = producer_of("app-1/producer", "t")
    me = Application("app-1", LOOP, "out-0", producer, classic_member_of(*names))
    me = thread.step(me, rules)[0]
    producer, _ = transactional.note_sent(me.producer, transactional.next_request(me.producer), 1)
    return settle(me.with_client(transactional.on_response(producer, GIVEN)), rules)


def test_in_the_second_draft_init_transactions_returns_when_the_consumer_has_joined() -> None:
    me = second_draft()
    assert isinstance(kafka_consumer.next_request(me.consumer), JoinGroup)
    assert str(thread.why_no_step(me)).endswith("its consumer, which has not joined yet")
    joined = change(me.consumer, state=MemberState.STABLE, owned=("src-0",), rejoin=False)
    me = settle(me.but(consumer=joined), RULES)
    assert thread.why_no_step(me) is None
    assert kafka_consumer.next_request(me.consumer) is None  # it reads in poll() only


def test_who_cannot_join_is_not_waited_for() -> None:
    me = second_draft()
    thrown = me.consumer.but(
        polling=False, done=True, error=request_error(JoinGroup, Errors.GROUP_AUTHORIZATION_FAILED)
    )
    assert thread.why_no_step(settle(me.but(consumer=thrown), RULES)) is None


def test_as_shipped_init_transactions_leaves_the_consumer_alone() -> None:
    rules = design("kafka").client_rules()
    me = second_draft()
    fresh = me.but(consumer=change(me.consumer, listening=False, polling=False), waiting=False)
    fresh = fresh.with_client(producer_of("app-1/producer", "t"))
    assert thread.step(fresh, rules)[0].consumer == fresh.consumer


@pytest.mark.parametrize(
    "changes", [{"polling": False}, {"state": MemberState.PREPARING_REBALANCE}]
)
def test_the_listener_is_called_in_poll_when_the_consumer_has_joined(changes) -> None:
    me = process(state=P.FATAL_ERROR)
    fresh = producer_of("app-1/producer", "t", group_id="g", version=0, finalized=0)
    me = me.with_client(fresh).but(consumer=change(me.consumer, **changes))
    assert settle(me, RULES) == me


def test_a_new_identity_belongs_to_no_transaction_yet() -> None:
    before = {"state": P.READY, "producer_id": 8, "transaction_started": True, "to_add": ("x-0",)}
    me = answer_with(send_next(process(member_at_init=("C1.1", 2), **before)), GIVEN)
    manager = me.producer.manager
    assert (manager.transaction_started, manager.partitions, manager.to_add) == (False, (), ())
