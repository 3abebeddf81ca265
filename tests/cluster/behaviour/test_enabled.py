"""`enabled` and `why_not` are two sides of one thing, and the order is always the same."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest

from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.cluster.actions import (
    ClusterAction,
    CrashBroker,
    CrashClient,
    Cut,
    DeleteRecords,
    Deliver,
    DeliverLate,
    ExpireBatch,
    ExpireLock,
    GiveUp,
    Heal,
    Load,
    LoseConnection,
    MissPoll,
    MoveLeader,
    Refresh,
    Replicate,
    Send,
    StartBroker,
    StartClient,
    Step,
    TimeOutCall,
    TimeOutTransaction,
    UpgradeFeature,
)
from kipviz.cluster.specs.spec import ClusterSpec, FaultBudget
from kipviz.cluster.world import World
from kipviz.core.model import NotEnabled
from tests.cluster.small_clusters import EVERYTHING, model_of, small_spec, steps_of

# What `conceivable` thinks of; `tests/cluster/behaviour/test_behaviour.py` asks the same of every other action, in one order.
CONCEIVED = (
    Step,
    Send,
    Deliver,
    DeliverLate,
    Replicate,
    Load,
    ExpireLock,
    Refresh,
    TimeOutTransaction,
    CrashBroker,
    MoveLeader,
    LoseConnection,
    GiveUp,
    ExpireBatch,
    DeleteRecords,
    TimeOutCall,
    MissPoll,
    UpgradeFeature,
    Cut,
    CrashClient,
    StartBroker,
    Heal,
    StartClient,
)
BROKERS = (1, 3, 5, 7)
HOSTS = ("B1", "B3", "B5", "B7", "app-1", "app-2", "nobody")


def conceivable(spec: ClusterSpec, world: World) -> Iterator[ClusterAction]:
    """Every action that somebody could think of, possible or not, in the canonical order."""
    applications = [a.name for a in spec.applications]
    for name in (*applications, "nobody"):
        yield Step(name)
        yield Send(f"{name}/consumer")
        yield Send(f"{name}/producer")
    for source, broker in (*world.connections, ("nobody/consumer", 1)):
        yield DeliverLate(source, broker)
        for way in ("request", "response", "sideways"):
            yield Deliver(source, broker, way)
    for partition in (*world.logs, "nowhere-0"):
        yield Replicate(partition)
    for broker, role, shard in (*world.roles, (9, "group_coordinator", "nowhere-0")):
        yield Load(broker, role, shard)
    yield from timers(world)
    yield from (CrashBroker(b) for b in (*BROKERS, 9))
    for partition in (*world.image.leaders, "nowhere-0"):
        held = world.image.leaders.get(partition)
        replicas = held.replicas if held else ()
        strangers = (b for b in (*BROKERS, 9) if b not in replicas)
        yield from (MoveLeader(partition, b) for b in (*replicas, *strangers))
    for source, broker in (*world.connections, ("nobody/consumer", 1)):
        yield LoseConnection(source, broker)
    for source, broker in (*world.connections, ("nobody/producer", 1)):
        yield GiveUp(source, broker)
    yield from (ExpireBatch(f"{name}/producer") for name in (*applications, "nobody"))
    yield from (DeleteRecords(partition) for partition in (*world.logs, "nowhere-0"))
    yield from (TimeOutCall(name) for name in (*applications, "nobody"))
    yield from (MissPoll(f"{name}/consumer") for name in (*applications, "nobody"))
    for level in (-1, 0, 1, 2, 3):
        yield UpgradeFeature("transaction_version", level)
    yield UpgradeFeature("share_version", 1)
    for one in HOSTS:
        for other in HOSTS:
            yield Cut(one, other)
    yield from (CrashClient(n) for n in (*applications, "nobody"))
    yield from (StartBroker(b) for b in (*BROKERS, 9))
    yield from (Heal(one, other) for one, other in (*world.cuts, ("B1", "nobody")))
    yield from (StartClient(n) for n in (*applications, "nobody"))


def timers(world: World) -> Iterator[ClusterAction]:
    for (broker, _, shard), role in world.roles.items():
        if isinstance(role, ShareLeader):
            keys = (*role.shares, "g1:nowhere:0")
            for key in keys:
                for lock in range(-1, 106):
                    yield ExpireLock(broker, key, lock)
            yield from (Refresh(broker, key) for key in keys)
        if isinstance(role, TransactionCoordinator):
            for name in (*role.transactions, "nobody"):
                yield TimeOutTransaction(broker, shard, name)
    yield ExpireLock(9, "g1:nowhere:0", 100)
    yield Refresh(9, "g1:nowhere:0")
    yield TimeOutTransaction(9, "nowhere-0", "nobody")


RUNS = [
    ("repaired", "share", "stepwise", EVERYTHING),
    ("as-written", "share", "instant", EVERYTHING),
    ("repaired", "group", "stepwise", EVERYTHING),
    (
        "kafka",
        "group",
        "instant",
        EVERYTHING.but(
            request_timeout=4, delivery_timeout=2, upgrade=2, max_block=2, delete_records=2
        ),
    ),
    # Used up soon: what is not offered for want of a budget must be refused for that reason.
    ("repaired", "share-abort", "instant", FaultBudget(1, 0, 1, 0, 0, 1, 0)),
]


@pytest.mark.parametrize(("name", "flow", "replication", "budget"), RUNS)
def test_enabled_is_exactly_what_nothing_speaks_against_in_the_canonical_order(
    name, flow, replication, budget
):
    spec = small_spec(flow, replication=replication, budget=budget, applications=2)
    model = model_of(spec, name)
    for seed in range(2):
        for step, (world, _, _) in enumerate(steps_of(model, seed, 160)):
            if step % 8:
                continue
            possible = [a for a in conceivable(spec, world) if model.why_not(world, a) is None]
            offered = [a for a in model.enabled(world) if isinstance(a, CONCEIVED)]
            assert offered == possible, (seed, step)


def test_what_is_not_enabled_is_refused_with_the_reason_that_why_not_gives():
    model = model_of(small_spec(budget=FaultBudget(crash_broker=1)))
    world = model.step(model.initial(), CrashBroker(7)).world
    assert model.why_not(world, CrashBroker(5)) == (
        "broker crashes: this run allows 1, and they are used up (setting crash_broker)"
    )
    assert CrashBroker(5) not in model.enabled(world)
    with pytest.raises(NotEnabled, match="broker crashes: this run allows 1"):
        model.step(world, CrashBroker(5))


def test_a_world_that_remembers_nothing_allows_the_same_in_the_same_order():
    model = model_of(small_spec(replication="stepwise", budget=EVERYTHING))
    for step, (world, _, _) in enumerate(steps_of(model, 3, 120)):
        if step % 10 == 0:
            assert model.enabled(pickle.loads(pickle.dumps(world))) == model.enabled(world)


def test_two_models_of_one_cluster_do_not_take_each_others_memory():
    spec = small_spec(budget=EVERYTHING)
    pinned, free = model_of(spec), model_of(spec, "repaired+lock_expiry=back_to_available")
    for world, _, _ in steps_of(free, 5, 150):
        first = pinned.enabled(world)
        other = free.enabled(world)
        assert first == tuple(a for a in other if pinned.why_not(world, a) is None)
        assert pinned.enabled(world) == first


def test_a_model_travels_without_what_it_remembers():
    model = model_of(small_spec(budget=EVERYTHING))
    fresh = pickle.dumps(model)
    worlds = [world for world, _, _ in steps_of(model, 3, 40)]
    assert pickle.dumps(model) == fresh
    away = pickle.loads(fresh)
    assert [away.enabled(world) for world in worlds] == [model.enabled(world) for world in worlds]
