"""For ever: whether what is pending can still be resolved once faults stop.

A run that is cut off proves nothing about "for ever". So the question is asked of the future: no
new fault happens, repairs and timers may, and every kind of thing that can go on does. If some
continuation resolves everything, what is pending is only late. If all of them have been tried and
none does, it is pending for ever.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.spec import FaultBudget
from kipviz.cluster.world import World
from kipviz.core.values import Value
from kipviz.properties.pending import NothingPending, Open, held_now

# What goes first: work before timers, so that a timer is only tried when nothing else helps.
ORDER = (
    "deliver",
    "load",
    "replicate",
    "sender",
    "repair",
    "application",
    "refresh",
    "expiry",
    "tick",
)
TIMERS = FaultBudget(expire_lock=1_000, time_out=1_000, run_out=1_000)
SETTLE_MAX = 2_000
SEARCH_MAX = 3_000
ASK_EVERY = 64
_PROPERTY = NothingPending()


class Settled(Value, frozen=True):
    """What came of asking the future.

    `answer` is "resolved", "for ever" (proved), "undecided" when the bound came first, or
    "cancelled" when somebody did not want to wait.
    `steps` is how long the continuation was that resolved it, or how many worlds were tried.
    """

    answer: str
    what: str
    steps: int


def settle(
    model: ClusterModel,
    world: World,
    pending: Open,
    dead_ends: set[tuple[bytes, bytes]] | None = None,
    go_on: Callable[[], bool] = lambda: True,
) -> Settled:
    """Say whether what is pending is resolved in some future without new faults.

    `dead_ends` remembers, between calls, the situations that were proved to resolve nothing.
    `go_on` is asked now and then whether the answer is still wanted.
    """
    dead_ends = set() if dead_ends is None else dead_ends
    world, pending = world.but(budget=TIMERS), held_now(pending, world)
    quick = _go_on(model, world, pending)
    if quick is not None:
        return Settled("resolved", "", quick)
    return _search(model, world, pending, dead_ends, go_on)


def _go_on(model: ClusterModel, world: World, pending: Open) -> int | None:
    """Follow one sensible continuation; give its length if it resolves everything."""
    seen: set[bytes] = set()
    for steps in range(SETTLE_MAX):
        if not pending.things:
            return steps
        seen.add(model.search_key(world))
        for action in _ordered(model, world):
            outcome = model.step(world, action)
            after = outcome.world.but(budget=TIMERS)
            if model.search_key(after) not in seen:
                pending = _PROPERTY.observe(pending, action, outcome)
                world = after
                break
        else:
            return None
    return None


def _search(
    model: ClusterModel,
    world: World,
    pending: Open,
    dead_ends: set[tuple[bytes, bytes]],
    go_on: Callable[[], bool],
) -> Settled:
    """Try every continuation, breadth first, until one resolves everything or none is left."""
    first = (world, pending)
    seen = {(model.search_key(world), pending.digest)}
    queue: deque[tuple[World, Open]] = deque([first])
    fewest, tried = pending, 0
    while queue:
        world, pending = queue.popleft()
        if not pending.things:
            return Settled("resolved", "", len(seen))
        if len(pending.things) < len(fewest.things):
            fewest = pending
        if len(seen) > SEARCH_MAX:
            return Settled("undecided", _due(fewest), len(seen))
        if tried % ASK_EVERY == 0 and not go_on():
            return Settled("cancelled", _due(fewest), len(seen))
        tried += 1
        for action in _ordered(model, world):
            outcome = model.step(world, action)
            after = outcome.world.but(budget=TIMERS)
            due = _PROPERTY.observe(pending, action, outcome)
            key = (model.search_key(after), due.digest)
            if key not in seen and key not in dead_ends:
                seen.add(key)
                queue.append((after, due))
    dead_ends |= seen
    return Settled("for ever", _due(fewest), len(seen))


def _due(pending: Open) -> str:
    return ", ".join(f"{thing} is {how}" for thing, how in pending.things.items())


def _ordered(model: ClusterModel, world: World) -> list[ClusterAction]:
    actions: list[Any] = [a for a in model.enabled(world) if a.KIND in ORDER]
    return sorted(actions, key=lambda a: ORDER.index(a.KIND))
