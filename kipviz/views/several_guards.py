"""What a broker looks at in a request of several partitions, and what waits for whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.partition_log import PartitionLog
from kipviz.cluster.world import World
from kipviz.views.facts import listed, short_name
from kipviz.views.membership import both, enlisted, epoch_in

Guard = tuple[str, str]


def of_produce(world: World, role: Any, broker: int, request: Any) -> Iterator[Guard]:
    """Give what the leaders of the partitions of a Produce request compare it with."""
    if not isinstance(role, KafkaApis):
        yield from _batch(world.logs[role.shard], request)
        return
    for part in request.parts:
        name = short_name(part.partition)
        if world.image.leader_of(part.partition) != broker:
            yield name, "is not led here: refused"
            continue
        for about, words in _batch(world.logs[part.partition], part):
            yield f"{about}, {name}", words


def _batch(log: PartitionLog, message: Any) -> Iterator[Guard]:
    entry = log.producers.get(message.producer_id)
    last = entry.batches[-1].last if entry is not None and entry.batches else -1
    yield "epoch", both("request", message.producer_epoch, "log", epoch_in(entry))
    yield "sequence", both("request", message.base_sequence, "last in the log", last)
    yield "open transaction", opened(entry)
    yield "enlisted", enlisted(entry, message.producer_epoch)
    yield "end of the log", str(log.end_offset)


def opened(entry: Any) -> str:
    """Say where a producer's open transaction begins in a log."""
    first = entry.transaction_first_offset if entry is not None else -1
    return f"from offset {first}" if first >= 0 else "none"


def waiting_for(role: Any, message: Any) -> Iterator[Guard]:
    """Say which requests wait for an enlistment, and whether its yes still counts."""
    for each in getattr(role, "asking", ()):
        if each.question == message.partitions:
            yield "waits for it", f"Produce of {listed(tuple(map(short_name, each.partitions)))}"
    for name in ("verifying", "enlisting", "staging"):
        for waiting in getattr(role, name, ()):
            if waiting.producer_id == message.producer_id and not waiting.settled:
                yield "waits for it", type(waiting.request).__name__
                yield (
                    "marker meanwhile",
                    "none" if waiting.guarded else "yes: the answer is too old",
                )
