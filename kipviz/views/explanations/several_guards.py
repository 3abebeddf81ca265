"""The requests that wait for the answer of a transaction coordinator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.cluster import dispatch
from kipviz.cluster.behaviour.naming import listed, short_name
from kipviz.cluster.world import BrokerRole

Guard = tuple[str, str]


def waiting_for(role: BrokerRole, message: Any) -> Iterator[Guard]:
    """Yield which requests wait for a partition to be added to the transaction, and whether the answer still counts."""
    for each in role.asking if isinstance(role, KafkaApis) else ():
        if each.question == message.partitions:
            yield "waits for it", f"Produce of {listed(tuple(map(short_name, each.partitions)))}"
    for waiting in dispatch.delayed_requests(role):
        if waiting.producer_id == message.producer_id and not waiting.settled:
            yield "waits for it", type(waiting.request).__name__
