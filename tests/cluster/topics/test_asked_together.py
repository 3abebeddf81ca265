"""Questions about several transactions in one request: at who asks, on the wire, and at who is asked."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kipviz.brokers.context import ReplyTo
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import AskedOfOne
from kipviz.brokers.transactions import several_transactions as several
from kipviz.brokers.transactions import transaction_coordinator as tc
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.cluster import dispatch, rejections, topic_authorization
from kipviz.cluster.actions import CrashBroker, Deliver
from kipviz.cluster.world import Envelope
from kipviz.designs.catalogue import design
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.events import BatchAppended, MessageSent
from kipviz.messages.logs.producing import ProduceResponse
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    TxnPartitions,
    TxnPartitionsResult,
    refused_partitions,
    response_with_error,
)
from kipviz.records.placement import TRANSACTION_STATE, partition_for
from kipviz.scenarios.library import searched_scenario
from kipviz.views.explanations.guards import guards
from kipviz.views.explanations.sentences import summary
from kipviz.views.reasons.request_position import why_broker_waits
from tests.scenarios.story import after, nodes, play_once

NAME = "kip-890-asked-together"
HELD = "The first response"
HOMES = {name: f"{TRANSACTION_STATE}-{partition_for(name, 50)}" for name in ("t", "u")}
ONE, OTHER = (
    TxnPartitions("t", 9, 0, ("out-0",)),
    TxnPartitions("u", 10, 3, ("out-0",), verify_only=True),
)
BOTH = AddPartitionsToTxn((ONE, OTHER))
TO = ReplyTo("B3/add-partitions", 1, 0)


def list_sent(kind: type):
    trace, _ = play_once(NAME, "kafka")
    messages = [e.message for n in nodes(trace) for e in n.events if isinstance(e, MessageSent)]
    return [m for m in messages if isinstance(m, kind)]


def about(*results: TxnPartitionsResult) -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(results)


def test_what_waits_for_a_broker_goes_out_in_one_request_when_it_has_answered() -> None:
    asked = [[t.transactional_id for t in m.transactions] for m in list_sent(AddPartitionsToTxn)]
    assert asked == [["my-txn"], ["my-txn-3", "my-txn-2"], ["my-txn-2"], ["my-txn-3"]]


def test_one_lost_answer_refuses_what_was_asked_together_and_every_batch_is_written_once() -> None:
    refused = [m for m in list_sent(ProduceResponse) if error_in(m)]
    assert [error_in(m) for m in refused] == [Errors.NOT_ENOUGH_REPLICAS] * 2
    trace, _ = play_once(NAME, "kafka")
    appended = [e for n in nodes(trace) for e in n.events if isinstance(e, BatchAppended)]
    data = [e.producer_id for e in appended if e.partition == "output-A-0" and not e.control]
    assert data == [9, 10, 11]


def test_who_waits_for_a_broker_that_crashes_is_refused_and_asks_the_next_one() -> None:
    model = searched_scenario(NAME).model(design("kafka"))
    before = after(NAME, "kafka", "app-2 retries")
    outcome = model.step(before, CrashBroker(1))
    answers = [
        error_in(e.message)
        for e in outcome.events
        if isinstance(e, MessageSent) and isinstance(e.message, ProduceResponse)
    ]
    assert answers == [Errors.NOT_ENOUGH_REPLICAS] * 3
    assert outcome.world.roles[3, "kafka_apis", ""].nodes == ()
    assert outcome.world.image.leader_of(f"{TRANSACTION_STATE}-45") == 5


def test_a_coordinator_from_before_the_kip_lets_all_of_them_go_on_unverified() -> None:
    told = rejections.reject_request(BOTH, Errors.UNSUPPORTED_VERSION)
    assert [each.error for each in told.results] == [Errors.UNSUPPORTED_VERSION] * 2
    world = after(NAME, "kafka", HELD)
    on = searched_scenario(NAME).model(design("kafka")).context(world, 3)
    desk = world.roles[3, "kafka_apis", ""]
    asked = (each for q in desk.nodes[0].on_the_way for each in q.message.transactions)
    answer = response_with_error(AddPartitionsToTxn(tuple(asked)), Errors.UNSUPPORTED_VERSION)
    done = dispatch.broker_response(
        desk, "B3/add-partitions", Envelope(answer, "kafka_apis", "", "1"), on
    )
    assert [call.message.answer.error for call in done.local] == [Errors.NONE] * 2


# -- at who is asked ------------------------------------------------------------------------------


def test_each_transaction_is_asked_of_its_own_coordinator() -> None:
    desk = Desk(several, KafkaApis(), leaders={"out-0": 3, HOMES["t"]: 1, HOMES["u"]: 1})
    assert dispatch.role_for(BOTH, 1, desk.on.image) == (1, "kafka_apis", "")
    assert rejections.reject_gone(BOTH, desk.on.image) is None
    desk.do(several.on_add_partitions(desk.role, BOTH, TO, desk.on))
    assert [(call.shard, call.message) for call in desk.local] == [
        (HOMES["t"], AskedOfOne(TO, AddPartitionsToTxn((ONE,)))),
        (HOMES["u"], AskedOfOne(TO, AddPartitionsToTxn((OTHER,)))),
    ]


def test_what_is_wrong_with_one_transaction_is_nothing_to_the_others() -> None:
    desk = Desk(several, KafkaApis(), leaders={"out-0": 3, HOMES["t"]: 1, HOMES["u"]: 5})
    gone = ONE.but(transactional_id="t", partitions=("out-0", "gone-0"))
    asked = AddPartitionsToTxn((ONE, OTHER, gone))
    desk.do(several.on_add_partitions(desk.role, asked, TO, desk.on))
    assert [call.message.request.transactions for call in desk.local] == [(ONE,)]
    elsewhere, missing = (result for _, message in desk.replies for result in message.results)
    assert (elsewhere.transactional_id, elsewhere.error) == ("u", Errors.NOT_COORDINATOR)
    assert missing.error_of("gone-0") is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert missing.error_of("out-0") is Errors.OPERATION_NOT_ATTEMPTED


def test_a_question_about_one_transaction_is_its_coordinators_alone() -> None:
    role = TransactionCoordinator(HOMES["t"], 0, loading=True)
    desk = Desk(tc, role, leaders={"out-0": 3, HOMES["t"]: 1})
    loading = desk.ask(several.on_add_partitions, AddPartitionsToTxn((ONE,)))
    assert loading.results[0].error is Errors.COORDINATOR_LOAD_IN_PROGRESS


def test_the_answer_goes_out_when_every_transaction_has_its_own() -> None:
    first = refused_partitions(ONE, Errors.NONE)
    second = refused_partitions(OTHER, Errors.TRANSACTION_ABORTABLE)
    serving, whole = topic_authorization.collect_part(Envelope(BOTH), about(second))
    assert whole is None
    _, whole = topic_authorization.collect_part(serving, about(first))
    assert whole == about(first, second), "in the order of the request"


# -- what is shown --------------------------------------------------------------------------------


def test_arrows_say_of_how_many_transactions_they_are() -> None:
    words = [summary(m) for m in list_sent(AddPartitionsToTxn)]
    assert words == ["add partition", "add partitions · 2 transactions", *["add partition"] * 2]
    first, second = (refused_partitions(each, Errors.NONE) for each in BOTH.transactions)
    assert summary(about(first, second)) == "partitions added · 2 transactions"
    refused = refused_partitions(first, Errors.NOT_COORDINATOR)
    assert summary(about(refused, second)) == "1 of 2 transactions rejected"


def test_each_transaction_of_a_question_is_compared_with_what_its_coordinator_knows() -> None:
    trace, _ = play_once(NAME, "kafka")
    model = searched_scenario(NAME).model(design("kafka"))
    here = ("B3/add-partitions", "request")
    found = [
        (before.world, step.action)
        for before, step in pairwise(nodes(trace))
        if isinstance(step.action, Deliver) and (step.action.source, step.action.way) == here
    ]
    world, action = found[1]
    looked = dict(guards(model, world, action))
    shards = [world.image.home_of_transactions(f"my-txn-{n}") for n in (2, 3)]
    short = [shard.replace(TRANSACTION_STATE, "transactions") for shard in shards]
    assert [looked[f"state, {shard}"] for shard in short] == ["EMPTY", "EMPTY"]
    held = world.image.leaders[shards[0]]
    leaders = world.image.leaders.set(shards[0], held.but(leader=2))
    moved = world.but(image=world.image.but(leaders=leaders))
    told = guards(model, moved, action)
    assert ("leader", "this is Broker 1 · leader: Broker 2 → NOT_COORDINATOR") in told


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("app-2 retries", "waits until Broker 1 has responded to an earlier one"),
        (HELD, "is in flight to Broker 1"),
    ],
)
def test_a_batch_says_what_its_question_waits_for(title: str, words: str) -> None:
    world = after(NAME, "kafka", title)
    serving = world.connections["app-2/producer", 3].serving
    assert serving is not None
    assert words in why_broker_waits(world, 3, serving.message).text


def test_each_transaction_s_answer_is_known_by_its_name_whatever_its_producer_id() -> None:
    """AddPartitionsToTxnResponse: ResultsByTransaction are by transactional id."""
    same = OTHER.but(producer_id=ONE.producer_id)
    both = Envelope(AddPartitionsToTxn((ONE, same)))
    first = refused_partitions(ONE, Errors.NONE)
    second = refused_partitions(same, Errors.PRODUCER_FENCED)
    serving, _ = topic_authorization.collect_part(both, about(first))
    _, whole = topic_authorization.collect_part(serving, about(second))
    assert whole == about(first, second)
