"""Times in records, and how a search keeps them from telling equal situations apart.

Where a spec asks for it (`Clock.stamps`), a batch carries the time of its append, a record of
`__transaction_state` when its transaction began and when it was changed last, and a log when it heard of
a producer. These are ms since the run began, as they would stand in the log: so no state would ever be met
twice. What happens next depends on how long ago something was, and on that only as far as somebody looks
back. So a search sets the clock back: it is always the same time, what was written is as old as it was, and
what is older than the horizon is as old as the horizon. Where nobody looks back the horizon is 0, and a
search visits as many states as without times.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from kipviz.cluster.specs.spec import OLDEST_MS, ClusterSpec
from kipviz.cluster.world import World
from kipviz.core.log import Log
from kipviz.core.table import Table
from kipviz.core.values import Value
from kipviz.messages.reset_policy import reset_duration_ms
from kipviz.records.batches import NO_TIMESTAMP

# A field that has a time is called so, as in Kafka's schemas.
STAMP = "timestamp_ms"


def horizon_of(spec: ClusterSpec) -> int:
    """Return how far back, in ms, anybody of a cluster looks: an operator does, up to an hour.

    A share group that begins by_duration has to tell what is just old enough from what is older; so has a regular
    consumer, whose question has a time in it while it is on its way: for as long as the clock lets it, else for an
    hour. A log that is deleted by age is looked at as far back as that.
    """
    resets = (reset_duration_ms(config.auto_offset_reset) + 1 for config in spec.group_configs)
    on_its_way = spec.clock.delay_max_ms if spec.clock.delay_max_ms >= 0 else OLDEST_MS
    own = (reset_duration_ms(app.auto_offset_reset) for app in spec.applications)
    consumers = (duration + on_its_way + 1 for duration in own if duration >= 0)
    asked = OLDEST_MS if any(app.admin for app in spec.applications) else 0
    return max(asked, *resets, *consumers, spec.settings.log_retention_ms, 0)


def set_back(world: World, horizon_ms: int) -> World:
    """Return the same situation at the time `horizon_ms`: what was written is as old as it was.

    What is older than the horizon is as old as the horizon. Nothing changes where records carry no time.
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
    """Return a value with all its times set back; the same object if it has none."""
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
    return tuple(name for name in kind.__struct_fields__ if name.endswith(STAMP))
