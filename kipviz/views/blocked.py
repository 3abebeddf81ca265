"""Who holds the last stable offset back: a row for every log that a read_committed consumer waits at."""

from __future__ import annotations

from kipviz.cluster.rebuilt import RebuiltModel
from kipviz.cluster.world import World
from kipviz.core.values import Value
from kipviz.records.placement import INTERNAL_TOPICS, topic_of
from kipviz.views.holding import of_log


class Blocked(Value, frozen=True):
    """A log whose last stable offset stays behind, and the transaction that it stays behind for.

    `since` is when the first record of that transaction was written. `transactional_id` is "" where
    no coordinator that is here knows the producer id; `state` is the coordinator's then.
    """

    partition: str
    last_stable_offset: int
    high_watermark: int
    producer_id: int
    producer_epoch: int
    since: str
    transactional_id: str
    state: str
    why: str
    frees: str


def blocked(model: RebuiltModel, world: World) -> tuple[Blocked, ...]:
    """Give every log of a user's topic whose last stable offset is behind its high watermark."""
    found = []
    for name, log in world.logs.items():
        hold = of_log(world, log)
        if topic_of(name) in INTERNAL_TOPICS or hold is None or not log.open:
            continue
        first, producer_id = log.open[0]
        known = next(
            (
                t
                for role in world.roles.values()
                for t in getattr(role, "transactions", {}).values()
                if t.producer_id == producer_id
            ),
            None,
        )
        found.append(
            Blocked(
                name,
                log.last_stable_offset,
                log.high_watermark,
                producer_id,
                log.producers[producer_id].epoch,
                _written(model, name, first),
                "" if known is None else known.transactional_id,
                "" if known is None else known.state.value,
                hold.text,
                hold.free,
            )
        )
    return tuple(found)


def _written(model: RebuiltModel, partition: str, offset: int) -> str:
    return next(
        entry.at
        for entry in model.entries
        if entry.partition == partition
        and entry.batch.base_offset <= offset <= entry.batch.last_offset
    )
