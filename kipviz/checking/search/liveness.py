"""Liveness: can everything that is pending still be resolved once faults stop?

A run that is cut off proves nothing about forever. So the continuations are examined: no new fault happens, repairs and
timers may, and every kind of action that is possible is taken. If some continuation resolves everything, what is
pending is only late. If all of them were tried and none resolves it, it is pending forever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import TypeAlias

from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.world import World
from kipviz.core.model import Model
from kipviz.core.values import Value
from kipviz.properties.harm import Harm
from kipviz.properties.pending import (
    NothingPending,
    Open,
    harm_of_stuck,
    without_former_leaders,
)

# The order of actions: work before timers, so that a timer is only tried when nothing else helps.
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
# The results of examining the continuations of a situation. A search on Spark stores these words.
SETTLES, FOR_EVER, UNDECIDED, CANCELLED = "resolved", "for ever", "undecided", "cancelled"


Situation: TypeAlias = tuple[bytes, bytes]


class Futures:
    """What is known about the continuations of situations, kept between calls of `settle`.

    A situation is the key of a world with unbounded timers and the digest of what is pending in it.

    Attributes:
        dead_ends: situations of which all continuations were tried and none resolves everything.
        resolved: situations of which some continuation resolves everything.
    """

    def __init__(self) -> None:
        """Start without knowledge."""
        self.dead_ends: set[Situation] = set()
        self.resolved: set[Situation] = set()


class Settled(Value, frozen=True):
    """The result of examining the continuations.

    `answer` is `SETTLES`, `FOR_EVER` (proved), `UNDECIDED` if the bound was reached first, or `CANCELLED`. `steps` is
    the length of the continuation that resolved it, or the number of worlds that were tried.
    `what` names the `things` that are pending, and `harm` is what it costs if nothing resolves them.
    """

    answer: str
    what: str
    steps: int
    things: int = 1
    harm: Harm = Harm.STUCK

    @property
    def for_ever(self) -> str:
        """The reason for a broken property if nothing resolves what is pending."""
        them = "it" if self.things == 1 else "them"
        return f"{self.what}, and no continuation without a new fault resolves {them}"


def settle(
    model: Model,
    world: World,
    pending: Open,
    futures: Futures | None = None,
    go_on: Callable[[], bool] = lambda: True,
) -> Settled:
    """Find out whether some continuation without new faults resolves what is pending.

    `futures` keeps what was found on the way for later calls. `go_on` is called now and then and cancels the search by
    returning False.
    """
    futures = Futures() if futures is None else futures
    world, pending = world.but(budget=TIMERS), without_former_leaders(pending, world)
    quick = _go_on(model, world, pending, futures)
    if quick is not None:
        return Settled(SETTLES, "", quick)
    return _search(model, world, pending, futures, go_on)


def _go_on(model: Model, world: World, pending: Open, futures: Futures) -> int | None:
    """Follow one plausible continuation; return its length if it resolves everything."""
    seen: dict[bytes, Situation] = {}
    for steps in range(SETTLE_MAX):
        here = model.search_key(world)
        seen[here] = (here, pending.digest)
        if not pending.count or seen[here] in futures.resolved:
            futures.resolved.update(seen.values())
            return steps
        for action in _order_actions(model, world):
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
    model: Model,
    world: World,
    pending: Open,
    futures: Futures,
    go_on: Callable[[], bool],
) -> Settled:
    """Try every continuation until one resolves everything or none is left; those with the least pending first."""
    start = (model.search_key(world), pending.digest)
    before: dict[Situation, Situation | None] = {start: None}
    waiting = [(pending.count, 0, start, world, pending)]
    fewest, tried = pending, 0
    while waiting:
        *_, here, world, pending = heappop(waiting)
        if pending.count < fewest.count:
            fewest = pending
        if len(before) > SEARCH_MAX:
            return Settled(UNDECIDED, fewest.words, len(before), fewest.count)
        if tried % ASK_EVERY == 0 and not go_on():
            return Settled(CANCELLED, fewest.words, len(before), fewest.count)
        tried += 1
        for action in _order_actions(model, world):
            outcome = model.step(world, action)
            after = outcome.world.but(budget=TIMERS)
            due = _PROPERTY.observe(pending, action, outcome)
            key = (model.search_key(after), due.digest)
            if key in before or key in futures.dead_ends:
                continue
            before[key] = here
            if not due.count or key in futures.resolved:
                futures.resolved.update(_way_to(key, before))
                return Settled(SETTLES, "", len(before))
            heappush(waiting, (due.count, len(before), key, after, due))
    futures.dead_ends.update(before)
    return Settled(FOR_EVER, fewest.words, len(before), fewest.count, harm_of_stuck(fewest))


def _way_to(
    situation: Situation | None, before: dict[Situation, Situation | None]
) -> Iterator[Situation]:
    """Yield the situations that led to one, itself included: what resolves it resolves them."""
    while situation is not None:
        yield situation
        situation = before[situation]


def _order_actions(model: Model, world: World) -> list[ClusterAction]:
    actions = [a for a in model.enabled(world) if a.KIND in ORDER]
    return sorted(actions, key=lambda a: ORDER.index(a.KIND))
