"""Timestamps of records, and how a search keeps them from distinguishing equal situations.

If a spec sets `Clock.stamps`, a batch carries the time of its append, a record of `__transaction_state` has the start
of its transaction and the time of its last change, and a log has the time of a producer's last batch. These are ms
since the run began, as they would be in the log: so no state would ever be met twice. What happens next depends on how
long ago something was, and only as far as some role looks back. So a search sets the clock back: the time is always the
same, what was written keeps its age, and what is older than the horizon is as old as the horizon. If no role looks back
the horizon is 0, and a search visits as many states as without timestamps.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from kipviz.cluster.specs.spec import OLDEST_MS, ClusterSpec
from kipviz.cluster.world import World
from kipviz.core.log import Log
from kipviz.core.table import Table
from kipviz.core.values import Value
from kipviz.messages.groups.reset_policy import reset_duration_ms
from kipviz.records.batches import NO_TIMESTAMP

# The endings of fields with a time, as in Kafka's schemas.
STAMPS = ("timestamp_ms", "last_timestamp", "start_time_ms")


def horizon_of(spec: ClusterSpec) -> int:
    """Return how far back, in ms, any part of a cluster looks: an operator does, up to an hour.

    A share group that starts by_duration has to distinguish records that are just old enough from older ones. So has a
    regular consumer, whose request has a timestamp while it is in flight: for as long as the clock allows, otherwise
    for an hour. A log that is deleted by age is read as far back as that.
    """
    resets = (reset_duration_ms(config.auto_offset_reset) + 1 for config in spec.group_configs)
    on_its_way = spec.clock.delay_max_ms if spec.clock.delay_max_ms >= 0 else OLDEST_MS
    own = (reset_duration_ms(app.auto_offset_reset) for app in spec.applications)
    consumers = (duration + on_its_way + 1 for duration in own if duration >= 0)
    asked = OLDEST_MS if any(app.admin for app in spec.applications) else 0
    return max(asked, *resets, *consumers, spec.settings.log_retention_ms, 0)


def set_back(world: World, horizon_ms: int) -> World:
    """Return the same situation at the time `horizon_ms`: what was written keeps its age.

    What is older than the horizon is as old as the horizon. Nothing changes if records carry no timestamps.
    """
    if world.now_ms in (NO_TIMESTAMP, horizon_ms):
        return world
    by = world.now_ms - horizon_ms
    return world.but(
        logs=_earlier(world.logs, by),
        roles=_earlier(world.roles, by),
        applications=_earlier(world.applications, by),
        connections=_earlier(world.connections, by),
        now_ms=horizon_ms,
    )


def _earlier(value: Any, by: int) -> Any:
    """Return a value with all its timestamps set back; the same object if it has none."""
    if isinstance(value, Table):
        pairs = [(key, each, _earlier(each, by)) for key, each in value.items()]
        for key, each, after in pairs:
            if after is not each:
                value = value.set(key, after)
        return value
    if isinstance(value, Log | tuple):
        found = [_earlier(each, by) for each in value]
        if all(one is other for one, other in zip(found, value, strict=True)):
            return value
        return Log.of(found) if isinstance(value, Log) else tuple(found)
    return _of_value(value, by) if isinstance(value, Value) else value


def _of_value(value: Value, by: int) -> Value:
    changes: dict[str, Any] = {}
    for name in value.__struct_fields__:
        field = getattr(value, name)
        if name in _stamps(type(value)):
            after = field if field == NO_TIMESTAMP else max(field - by, 0)
        else:
            after = _earlier(field, by)
        if after is not field:
            changes[name] = after
    return value.but(**changes) if changes else value


@cache
def _stamps(kind: type[Value]) -> tuple[str, ...]:
    return tuple(name for name in kind.__struct_fields__ if name.endswith(STAMPS))
