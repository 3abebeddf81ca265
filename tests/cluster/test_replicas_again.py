"""What waits for replicas goes on by itself when a broker is back."""

from __future__ import annotations

from kipviz.brokers.transactions.transaction_metadata import TransactionMetadata
from kipviz.cluster.actions import ClusterAction, CrashBroker, StartBroker
from kipviz.cluster.behaviour.catalogue import script_name
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import FaultBudget, Placement
from kipviz.cluster.world import World
from kipviz.records.transaction_state import TransactionState
from tests.cluster.small_clusters import model_of, small_spec

LAST = "WriteTxnMarkersResponse from B5 arrives at B5/markers"


def find_transaction(world: World) -> TransactionMetadata | None:
    home = world.image.home_of("__transaction_state", "txn-1")
    role = world.roles[(world.image.leader_of(home), "transaction_coordinator", home)]
    found: TransactionMetadata | None = role.transactions.get("txn-1")
    return found


def waits_for(model: ClusterModel, world: World, text: str) -> list[ClusterAction]:
    return [a for a in model.enabled(world) if script_name(world, a) == text]


def goes_on(model: ClusterModel, world: World) -> World:
    """Take a step without an accident, and not the last answer."""
    kinds = ("fault", "repair", "expiry")
    found = [
        a for a in model.enabled(world) if a.KIND not in kinds and script_name(world, a) != LAST
    ]
    return model.step(world, found[-1]).world


def test_a_completion_without_replicas_is_logged_when_one_is_back() -> None:
    spec = small_spec("group", budget=FaultBudget(crash_broker=3, restart=1)).but(
        placements=(Placement("src-0", 5, (3,)), Placement("output-A-0", 5, (3,))),
        min_insync_replicas=(("__transaction_state", 2),),
    )
    model = model_of(spec, "kafka")
    world = model.initial()
    for _ in range(60):
        left = find_transaction(world)
        if waits_for(model, world, LAST) and left and left.partitions == ("output-A-0",):
            break
        world = goes_on(model, world)
    for broker in (1, 3, 7):
        world = model.step(world, CrashBroker(broker)).world
    (last,) = waits_for(model, world, LAST)
    world = model.step(world, last).world
    waits = find_transaction(world)
    assert waits is not None
    assert (waits.state, waits.partitions) == (TransactionState.PREPARE_COMMIT, ())
    world = model.step(world, StartBroker(7)).world
    done = find_transaction(world)
    assert done is not None
    assert done.state is TransactionState.COMPLETE_COMMIT
