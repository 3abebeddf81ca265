"""The coordinator's scan on a timed clock: what is overdue at one broker is found at once."""

from __future__ import annotations

from collections.abc import Callable

from kipviz.clients.application import Call
from kipviz.cluster.actions import ClusterAction, Step, Tick, TimeOutTransaction
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.timing.clock import Clock
from kipviz.cluster.timing.deadlines import scan_overdue
from kipviz.cluster.world import World
from kipviz.records.transaction_state import TransactionState
from kipviz.views.explanations.sentences import tell
from tests.cluster.small_clusters import model_of, small_spec

TIMED = Clock("timed")
NOT_YET = ("expiry", "tick", "fault", "refresh")


def two(clock: Clock = TIMED, timeout_ms: int = 60_000, homes: int = 1) -> ClusterModel:
    """Two members of a group, and one coordinator for the transactions of both."""
    spec = small_spec(
        "group", applications=2, max_records=1, records=2, budget=FaultBudget(time_out=2)
    )
    first, second = spec.applications
    second = second.but(transaction_timeout_ms=timeout_ms)
    spec = spec.but(applications=(first, second), clock=clock, internal_partitions=homes)
    return model_of(spec, "kafka")


def until(model: ClusterModel, world: World, is_so: Callable[[World], bool]) -> World:
    """Go on without timers, and without what follows a send(), until something is so."""
    for _ in range(200):
        if is_so(world):
            return world
        able = [a for a in model.enabled(world) if a.KIND not in NOT_YET]
        world = model.step(world, next(a for a in able if not ends(world, a))).world
    raise AssertionError("it is never so")


def ends(world: World, action: ClusterAction) -> bool:
    if not isinstance(action, Step):
        return False
    app = world.applications[action.application]
    return app.program[app.line].call in (Call.SEND_OFFSETS, Call.COMMIT_TRANSACTION)


def open_in(world: World) -> int:
    return states(world).count(TransactionState.ONGOING)


def run_until_overdue(model: ClusterModel) -> tuple[World, list[TimeOutTransaction]]:
    """Let time pass until a scan finds something, with both transactions open."""
    world = until(model, model.initial(), lambda world: open_in(world) == 2)
    while not late(model, world):
        world = model.step(world, Tick()).world
    return world, late(model, world)


def late(model: ClusterModel, world: World) -> list[TimeOutTransaction]:
    return [a for a in model.enabled(world) if isinstance(a, TimeOutTransaction)]


def states(world: World) -> list[TransactionState]:
    return [
        t.state for role in world.roles.values() for t in getattr(role, "transactions", {}).values()
    ]


def test_what_is_overdue_at_one_broker_is_aborted_by_one_scan() -> None:
    model = two()
    world, able = run_until_overdue(model)
    after = [model.step(world, a).world for a in able]
    assert len(after) == 2
    assert after[0] == after[1], "whichever is named, it is the same scan"
    assert open_in(after[0]) == 0
    assert after[0].budget.time_out == 1, "one scan is one accident"
    said = tell(world, able[0], ()).sentence
    assert said.startswith("txn-1 and txn-2 took longer than transaction.timeout.ms: Broker ")
    assert said.endswith("aborts them in one scan.")


def test_what_is_not_overdue_waits_for_a_later_scan() -> None:
    model = two(timeout_ms=90_000)
    world, (only,) = run_until_overdue(model)
    assert scan_overdue(world, only) == ("txn-1",)
    assert open_in(model.step(world, only).world) == 1
    assert tell(world, only, ()).sentence.endswith("aborts it.")


def test_a_broker_does_not_scan_what_another_one_coordinates() -> None:
    model = two(homes=50)
    world, able = run_until_overdue(model)
    assert len({a.broker for a in able}) == 2
    for one in able:
        assert scan_overdue(world, one) == (one.transactional_id,)
        assert open_in(model.step(world, one).world) == 1


def test_without_a_clock_each_is_found_for_itself() -> None:
    model = two(Clock())
    world, able = run_until_overdue(model)
    assert len(able) == 2
    assert [open_in(model.step(world, a).world) for a in able] == [1, 1]
