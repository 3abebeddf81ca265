"""Which roles a step changed: deadlines restart with what is new in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from kipviz.cluster.world import BrokerRole, RoleKey, World

R = TypeVar("R", bound=BrokerRole)


def changed_roles(before: World, world: World, kind: type[R]) -> Iterator[tuple[RoleKey, R, R]]:
    """Yield each role of a class that a step changed: its key, the role before the step, and the role after it.

    A role that the step created is not among them.
    """
    for key, role in world.roles.items():
        was = before.roles.get(key)
        if was is not role and isinstance(role, kind) and isinstance(was, kind):
            yield key, was, role
