"""Requests that stay on their way when their connection is given up, and other time limits of clients."""

from __future__ import annotations

import pytest

from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.cluster.actions import DeliverLate, ExpireBatch, GiveUp, UpgradeFeature
from kipviz.cluster.behaviour.catalogue import script_name
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.model import NotEnabled
from kipviz.messages.events import ConnectionLost, LeftOnItsWay, MessageDelivered, MessageSent
from kipviz.messages.transactions.transactions import InitProducerId
from tests.cluster.small_clusters import model_of, small_spec

PRODUCER = "app-1/producer"
BUDGET = FaultBudget(request_timeout=1, delivery_timeout=1, upgrade=1)


@pytest.fixture
def model():
    return model_of(small_spec("group", budget=BUDGET), "kafka")


def take(model, world, *labels):
    for text in labels:
        (action,) = [a for a in model.enabled(world) if script_name(world, a) == text]
        world = model.step(world, action).world
    return world


@pytest.fixture
def asked(model):
    """InitProducerId is on the wire."""
    return take(model, model.initial(), "app-1 goes on", f"{PRODUCER} sends InitProducerId")


def place_of(world):
    ((source, broker), _) = next(iter(world.connections.items()))
    return source, broker


def test_what_is_left_on_its_way_gets_a_name_and_the_client_asks_again(model, asked):
    _, broker = place_of(asked)
    outcome = model.step(asked, GiveUp(PRODUCER, broker))
    left, lost = outcome.events
    assert left == LeftOnItsWay(PRODUCER, broker, f"{PRODUCER} #0", (InitProducerId("txn-1"),))
    assert lost == ConnectionLost(PRODUCER, broker, left.messages) or isinstance(
        lost, ConnectionLost
    )
    world = take(model, outcome.world, f"{PRODUCER} sends InitProducerId")
    assert len(world.connections) == 2
    assert f"late InitProducerId arrives at B{broker}" in [
        script_name(world, a) for a in model.enabled(world)
    ]


def test_a_late_request_is_handled_and_its_answer_goes_nowhere(model, asked):
    _, broker = place_of(asked)
    world = model.step(asked, GiveUp(PRODUCER, broker)).world
    late = DeliverLate(f"{PRODUCER} #0", broker)
    outcome = model.step(world, late)
    assert isinstance(outcome.events[0], MessageDelivered)
    assert not [e for e in outcome.events if isinstance(e, MessageSent)]
    known = [
        t
        for key, role in outcome.world.roles.items()
        if key[1] == "transaction_coordinator"
        for t in role.transactions.values()
    ]
    assert [(t.producer_id, t.producer_epoch) for t in known] == [(9, 0)]
    assert list(outcome.world.connections) == [(PRODUCER, broker)]
    assert model.why_not(outcome.world, late) == (
        f"no abandoned request from {PRODUCER} #0 is in flight to broker {broker}"
    )


def test_what_may_be_late_can_be_given_up_and_nothing_else(model):
    start = model.initial()
    assert "there is no connection" in model.why_not(start, GiveUp(PRODUCER, 1))
    world = take(model, start, "app-1 goes on", f"{PRODUCER} sends InitProducerId")
    _, broker = place_of(world)
    world = take(model, world, f"InitProducerId arrives at B{broker}")
    assert model.why_not(world, GiveUp(PRODUCER, broker)) is None, "the answer may be lost"
    world = take(model, world, f"InitProducerIdResponse arrives at {PRODUCER}")
    assert "waits for no response" in model.why_not(world, GiveUp(PRODUCER, broker))


def test_a_crash_of_the_client_does_not_take_back_what_is_on_its_way(asked):
    model = model_of(small_spec("group", budget=BUDGET.but(crash_client=1)), "kafka")
    _, broker = place_of(asked)
    world = asked.but(budget=BUDGET.but(crash_client=1))
    world = model.step(world, GiveUp(PRODUCER, broker)).world
    world = take(model, world, "app-1 crashes")
    assert DeliverLate(f"{PRODUCER} #0", broker) in model.enabled(world)


def test_a_crash_of_the_broker_does(asked):
    budget = BUDGET.but(crash_broker=1)
    model = model_of(small_spec("group", budget=budget), "kafka")
    _, broker = place_of(asked)
    world = model.step(asked.but(budget=budget), GiveUp(PRODUCER, broker)).world
    world = take(model, world, f"B{broker} crashes")
    assert [source for source, _ in world.connections] == [PRODUCER]


def test_only_a_batch_that_is_not_on_the_wire_expires(model):
    world = model.initial()
    assert model.why_not(world, ExpireBatch(PRODUCER)) == (
        f"{PRODUCER} has no batch that waits to be sent"
    )
    assert model.why_not(world, ExpireBatch("nobody/producer")) == (
        "there is no producer nobody/producer"
    )
    while not world.applications["app-1"].producer.accumulator.batches:
        calm = [a for a in model.enabled(world) if a.KIND not in ("expiry", "fault")]
        world = model.step(world, calm[0]).world
    world = model.step(world, ExpireBatch(PRODUCER)).world
    producer = world.applications["app-1"].producer
    assert (producer.manager.state, str(producer.error)) == (
        ProducerState.ABORTABLE_ERROR,
        "Produce: REQUEST_TIMED_OUT",
    )


def test_a_level_that_is_there_or_is_none_is_refused(model):
    world = model.initial()
    again = UpgradeFeature("transaction_version", 2)
    assert model.why_not(world, again) == "transaction.version 2 is already finalized"
    with pytest.raises(
        NotEnabled, match="can be finalized at 0, 1, 2, not transaction_version at 3"
    ):
        model.step(world, UpgradeFeature("transaction_version", 3))
    world = model.step(world, UpgradeFeature("transaction_version", 1)).world
    assert world.image.features.transaction_version == 1
    assert world.applications["app-1"].producer.manager.finalized == 2, (
        "it has opened no connection since"
    )


def test_acknowledgements_that_are_staged_hold_version_2_fast():
    model = model_of(small_spec("share", budget=BUDGET))
    down = UpgradeFeature("transaction_version", 1)
    assert "staged here" in model.why_not(model.initial(), down)
