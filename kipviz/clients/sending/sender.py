"""The sender's batches of a producer that has one of a partition on the wire.

WHO: the sender thread of a producer. WHERE IN KAFKA: Sender.sendProducerData.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.messages.features import LAST_PRODUCE
from kipviz.messages.producing import Produce, in_one_request

if TYPE_CHECKING:
    from kipviz.clients.transactions.producer import Producer


def next_batch(me: Producer) -> Produce | None:
    """Give the batches that go out next: the oldest of each partition that has none in flight.

    The first one says to which broker; what another one leads is left out when it is known who leads.
    """
    found = tuple(_next_batches(me))
    return in_one_request(found) if found else None


def _next_batches(me: Producer) -> Iterator[Produce]:
    manager, batches = me.manager, me.accumulator.batches
    for batch in batches:
        earlier = (b for b in batches if b.partition == batch.partition)
        if (
            batch.broker < 0
            and next(earlier) is batch
            and manager.state is not ProducerState.ABORTABLE_ERROR
            and (manager.implicit or batch.partition in manager.partitions)
        ):
            yield Produce(
                manager.transactional_id,
                batch.partition,
                manager.producer_id,
                manager.producer_epoch,
                batch.base_sequence,
                batch.records,
                13 if manager.implicit else LAST_PRODUCE,
            )
