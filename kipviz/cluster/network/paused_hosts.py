"""A paused host: a long garbage collection, a machine that is suspended.

Nothing runs on it and it reads no message, but nothing breaks either: its connections stay open, its timers are late,
and its knowledge becomes stale. In a world it is a host that is separated from itself.

NOT MODELLED: that the controller fences a broker without heartbeats (a leader's move is an action of its own), and that
such a broker believes to be the leader until it learns otherwise.
"""

from __future__ import annotations

from kipviz.cluster.actions import (
    Pause,
    Resume,
)
from kipviz.cluster.world import World, broker_host


def list_paused(world: World) -> tuple[str, ...]:
    """Return the paused hosts."""
    return tuple(one for one, other in world.cuts if one == other)


def pausable(world: World) -> tuple[str, ...]:
    """Return the running hosts that may be paused next."""
    running = [*map(broker_host, world.up), *(n for n, a in world.applications.items() if a.alive)]
    still = list_paused(world)
    return tuple(host for host in running if host not in still)


def why_no_pause(world: World, action: Pause) -> str | None:
    """Return why a host cannot be paused now, or None if it can."""
    if action.host in pausable(world):
        return None
    if action.host in list_paused(world):
        return f"{action.host} is already paused"
    return f"{action.host!r} is not running; running hosts are {', '.join(pausable(world))}"


def why_no_resume(world: World, action: Resume) -> str | None:
    """Return why a host cannot be resumed, or None if it can."""
    return None if action.host in list_paused(world) else f"{action.host} is not paused"
