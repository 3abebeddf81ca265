"""What to look for in a story: moments that a finding is about, told from a world and its events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from kipviz.cluster.world import World
from kipviz.core.model import Event
from kipviz.core.table import Table
from kipviz.messages.events import CallReturned
from kipviz.records.share_group_state import RecordState

S = RecordState
Look: TypeAlias = Callable[[World, Sequence[Event]], bool]


def committed_and_pending(world: World, events: Sequence[Event]) -> bool:
    """Say whether a commit has just returned while a record is still staged."""
    returned = any(
        isinstance(event, CallReturned) and event.call == "commitTransaction" and not event.raised
        for event in events
    )
    return returned and any(record.state is S.TX_PENDING for record in _records(world))


def _records(world: World) -> Iterator[Any]:
    for role in world.roles.values():
        for share in getattr(role, "shares", Table.of()).values():
            yield from share.records.values()
