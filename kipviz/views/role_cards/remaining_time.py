"""The times of a timed clock: how much is left, and what is due later."""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.behaviour.catalogue import label
from kipviz.cluster.behaviour.due_actions import action_of, deadline_of
from kipviz.cluster.timing.clock import NEVER, Deadline, Due, ms
from kipviz.cluster.timing.deadlines import find
from kipviz.cluster.timing.timers import AGES, ages
from kipviz.cluster.world import World
from kipviz.records.batches import NO_TIMESTAMP
from kipviz.views.role_cards.card_rows import Card, Fact, facts

UNDER_WAY = (Due.DELIVERY, Due.REPLICATION, Due.LOADING, Due.SENDING, Due.STEP)


def list_time_left(world: World, action: ClusterAction) -> Iterator[tuple[str, str]]:
    """Yield how much time a timer has left; nothing on an untimed clock."""
    deadline = deadline_of(world, action)
    if deadline is not None:
        yield "time left", ms(deadline.after) if deadline.after else "none: it is due"


def later(world: World) -> Iterator[tuple[str, str]]:
    """Yield everything that is due later, and when."""
    for deadline in _timers(world):
        if deadline.after or deadline.by > 0:
            name = label(world, action_of(world, deadline))
            yield name, _from_to(deadline.after, deadline.by)


def _timers(world: World) -> Iterator[Deadline]:
    return (deadline for deadline in world.deadlines if deadline.kind not in AGES)


def timers(world: World) -> Card:
    """Return every timer with the time that it has left: the rows of a card.

    What is in progress at this moment is no timer, and is shown elsewhere.
    """
    rows: list[Fact] = []
    if world.now_ms != NO_TIMESTAMP:
        rows.append(("time", f"{ms(world.now_ms)} since the run began", "calm"))
    for name, age in ages(world):
        rows.append((f"{name} began", f"{ms(age)} ago", "calm"))
    for deadline in _timers(world):
        if deadline.kind in UNDER_WAY and not deadline.after:
            continue
        name = label(world, action_of(world, deadline))
        if deadline.after:
            rows.append((name, _from_to(deadline.after, deadline.by), "calm"))
        elif deadline.by > 0:
            rows.append((name, f"from now on, at the latest in {ms(deadline.by)}", "pending"))
        else:
            rows.append((name, "now" if deadline.by == 0 else "from now on", "pending"))
    return facts(rows)


def _from_to(early: int, late: int) -> str:
    if late == NEVER:
        return f"in {ms(early)} or later"
    return f"in {ms(early)}" if early == late else f"in {ms(early)} to {ms(late)}"


def of_transaction(world: World, transactional_id: str) -> str:
    """Return when an open transaction times out, in words; "" on an untimed clock."""
    deadline = find(world, (Due.TRANSACTION, (transactional_id,)))
    if deadline is None:
        return ""
    if not deadline.after:
        return f", within {ms(deadline.by)}" if deadline.by else ", now"
    return f", in {ms(deadline.after)} to {ms(deadline.by)}"


def locks(world: World, broker: int, key: str) -> tuple[tuple[int, int], ...]:
    """Return the locks of a share-partition with the ms that each has left; empty on an untimed clock."""
    of_locks = ((d.place, d.after) for d in world.deadlines if d.kind == Due.LOCK)
    return tuple(
        (lock, left)
        for (*of, lock), left in of_locks
        if of == [broker, key] and isinstance(lock, int)
    )
