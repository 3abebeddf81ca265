"""The requests that wait for the answer of a transaction coordinator."""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.cluster import dispatch
from kipviz.cluster.behaviour.naming import render_list, short_name
from kipviz.cluster.world import BrokerRole
from kipviz.messages.message import Message
from kipviz.messages.transactions.transactions import AddPartitionsToTxnResponse

Guard = tuple[str, str]


def waiting_for(role: BrokerRole, message: Message) -> Iterator[Guard]:
    """Yield which requests wait for a partition to be added to the transaction, and whether the answer still counts."""
    results = message.results if isinstance(message, AddPartitionsToTxnResponse) else ()
    for each in role.asking if isinstance(role, KafkaApis) else ():
        if any(sorted(each.question) == sorted(result.partitions) for result in results):
            yield (
                "waits for it",
                f"Produce of {render_list(tuple(map(short_name, each.partitions)))}",
            )
    for waiting in dispatch.delayed_requests(role):
        name = waiting.request.transactional_id
        asked = any(name == result.transactional_id for result in results)
        if asked and not waiting.settled:
            yield "waits for it", type(waiting.request).__name__
