"""What cannot happen is refused in one sentence that names what stands in the way."""

from __future__ import annotations

import pytest

from kipviz.brokers.timers import GroupSync, InitialRebalanceDelay
from kipviz.clients.timers import FetchWait, HeartbeatInterval
from kipviz.cluster.actions import (
    ClientTimer,
    ClusterAction,
    CrashBroker,
    Cut,
    DelayOver,
    Deliver,
    DeliverLate,
    GiveUp,
    ReadLog,
    RemakeTopic,
    Replicate,
    RunOut,
    Send,
    Step,
    UpgradeFeature,
)
from kipviz.cluster.behaviour.catalogue import BEHAVIOURS, script_name
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.timing.clock import Clock, Due
from kipviz.cluster.world import Connection, Envelope, World
from kipviz.designs.catalogue import design
from kipviz.messages.transactions.transactions import InitProducerId
from kipviz.scenarios.library import searched_scenario
from tests.cluster.small_clusters import model_of, small_spec

PRODUCER = "app-1/producer"
BUDGET = FaultBudget(crash_broker=4, cut=1, request_timeout=1, run_out=1)
ASKS = ("app-1 goes on", f"{PRODUCER} sends InitProducerId")


def group(**changes: object) -> ClusterModel:
    return model_of(small_spec("group", budget=BUDGET).but(**changes), "kafka")


def take(model: ClusterModel, world: World, *labels: str) -> World:
    for text in labels:
        (action,) = [a for a in model.enabled(world) if script_name(world, a) == text]
        world = model.step(world, action).world
    return world


def home_of(world: World) -> str:
    return world.image.home_of("__transaction_state", "txn-1")


def test_nothing_is_sent_to_a_partition_that_nobody_leads() -> None:
    model = group()
    world = take(model, model.initial(), ASKS[0])
    assert model.why_not(world, Send(PRODUCER)) is None
    home = home_of(world)
    for broker in world.image.leaders[home].replicas:
        world = model.step(world, CrashBroker(broker)).world
    assert model.why_not(world, Send(PRODUCER)) == (
        f"{home} has no leader to send InitProducerId to"
    )


def test_a_request_that_nobody_leads_for_has_no_time_by_which_it_is_sent() -> None:
    clock = Clock("timed", pause_max_ms=1_000)
    model = group(clock=clock)
    world = take(model, model.initial(), ASKS[0])
    assert Due.SENDING in [deadline.kind for deadline in world.deadlines]
    for broker in world.image.leaders[home_of(world)].replicas:
        world = model.step(world, CrashBroker(broker)).world
    assert Due.SENDING not in [deadline.kind for deadline in world.deadlines]


def test_no_message_passes_between_hosts_that_are_cut_apart() -> None:
    model = group()
    world = take(model, model.initial(), *ASKS)
    broker = world.image.leader_of(home_of(world))
    delivery = Deliver(PRODUCER, broker, "request")
    assert model.why_not(world, delivery) is None
    cut = Cut(f"B{broker}", "app-1")
    apart = model.step(world, cut).world
    assert model.why_not(apart, delivery) == f"app-1 and B{broker} are partitioned"
    late = DeliverLate(f"{PRODUCER} #0", broker)
    left = model.step(world, GiveUp(PRODUCER, broker)).world
    assert model.why_not(left, late) is None
    assert (
        model.why_not(model.step(left, cut).world, late) == f"app-1 and B{broker} are partitioned"
    )


def test_a_late_request_waits_until_the_one_before_it_is_answered() -> None:
    model = group()
    world = model.initial()
    asked = Envelope(InitProducerId("txn-1"))
    behind = Connection(requests=(asked,), serving=asked, left=True)
    world = world.but(connections=world.connections.set((f"{PRODUCER} #0", 1), behind))
    late = DeliverLate(f"{PRODUCER} #0", 1)
    assert model.why_not(world, late) == "broker 1 is still handling InitProducerId"


def test_a_high_watermark_stands_while_too_few_replicas_are_in_sync() -> None:
    needs_two = (("__transaction_state", 2),)
    model = group(replication="stepwise", min_insync_replicas=needs_two)
    world = take(model, model.initial(), *ASKS)
    home = home_of(world)
    broker = world.image.leader_of(home)
    world = take(model, world, f"InitProducerId arrives at B{broker}")
    assert model.why_not(world, Replicate(home)) is None
    for follower in (b for b in world.image.leaders[home].replicas if b != broker):
        world = model.step(world, CrashBroker(follower)).world
    assert model.why_not(world, Replicate(home)) == (
        f"fewer than min.insync.replicas of {home} are in sync: its high watermark does not advance"
    )


@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        (
            RunOut(9, "group_coordinator", "nowhere-0", GroupSync("g")),
            "broker 9 does not have nowhere-0",
        ),
        (RunOut(9, "share_leader", "", GroupSync("g")), "broker 9 does not have share_leader"),
        (
            DelayOver(9, "group_coordinator", "nowhere-0", InitialRebalanceDelay("g")),
            "broker 9 does not have nowhere-0",
        ),
        (ClientTimer("nobody/consumer", HeartbeatInterval()), "there is no client nobody/consumer"),
        (
            ReadLog("src-0", 0, "now"),
            "this cluster is not rebuilt from logs: there is no log to read",
        ),
        (RemakeTopic("src"), "src cannot be created again in this cluster; topics that can: none"),
    ],
)
def test_what_this_cluster_does_not_have_is_named(action: ClusterAction, sentence: str) -> None:
    model = group()
    assert model.why_not(model.initial(), action) == sentence


def test_a_delay_that_a_coordinator_does_not_keep_is_not_over() -> None:
    model = group()
    world = model.initial()
    key = next(k for k in world.roles if k[1] == "group_coordinator")
    why = model.why_not(world, DelayOver(*key, InitialRebalanceDelay("g")))
    assert why == "nothing waits for 'the initial delay of g' there; waited for: nothing"


def test_a_topic_is_made_again_once_and_only_where_it_may_be() -> None:
    model = searched_scenario("kip-1319-by-id").model(design("kafka"), FaultBudget())
    world = model.initial()
    assert model.why_not(world, RemakeTopic("output-A")) == (
        "output-A cannot be created again in this cluster; topics that can: src"
    )
    world = model.step(world, RemakeTopic("src")).world
    assert model.why_not(world, RemakeTopic("src")) == "src has already been created again"


def test_the_inter_broker_protocol_goes_up_once() -> None:
    model = group(inter_broker_protocol=0, budget=BUDGET.but(upgrade=2))
    world = model.initial()
    again = UpgradeFeature("inter_broker_protocol", 1)
    world = model.step(world, again).world
    assert model.why_not(world, again) == "inter.broker.protocol.version goes up once, to 1"


def test_a_timer_that_is_not_set_is_told_with_those_that_are() -> None:
    spec = small_spec("group", budget=BUDGET)
    joins = spec.but(applications=tuple(a.but(protocol="consumer") for a in spec.applications))
    model = model_of(joins, "kafka")
    wrong = ClientTimer("app-1/consumer", FetchWait())
    world = model.initial()
    assert str(model.why_not(world, wrong)).endswith("set are: none")
    while not any(isinstance(action, ClientTimer) for action in model.enabled(world)):
        world = model.step(world, model.enabled(world)[0]).world
    (timer,) = {a.timer for a in model.enabled(world) if isinstance(a, ClientTimer)}
    assert str(model.why_not(world, wrong)).endswith(f"set are: {timer.words}")


def test_who_goes_on_has_to_be_there_down_to_its_thread() -> None:
    model = group()
    world = model.initial()
    assert model.why_not(world, Step("app-9")) == "there is no application app-9"
    assert model.why_not(world, Step("app-1", thread="T9")) == "app-1 has no thread T9"
    assert model.why_not(world, Step("app-1")) is None


def test_a_timer_that_runs_out_is_told_with_its_client() -> None:
    model = model_of(small_spec("group", budget=BUDGET), "kafka")
    action = ClientTimer("app-1/consumer", FetchWait())
    looks = next(each for each in BEHAVIOURS if each.action is ClientTimer).looks_at
    assert tuple(looks(model.initial(), action)) == (
        ("timer", FetchWait().words),
        ("of", "app-1/consumer"),
    )
