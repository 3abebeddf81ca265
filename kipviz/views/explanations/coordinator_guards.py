"""The values of a request to a transaction coordinator; what the coordinator compares them with are its checks."""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.cluster.behaviour.naming import render_list
from kipviz.messages.message import Message
from kipviz.messages.transactions.group_transactions import InitProducerIdOfGroup
from kipviz.messages.transactions.transactions import (
    TWO_PHASE,
    AddOffsetsToTxn,
    InitProducerId,
)


def uncompared_values(message: Message) -> Iterator[tuple[str, str]]:
    """Yield the values of a request that are compared with nothing."""
    match message:
        case InitProducerId() if message.version >= TWO_PHASE:
            yield (
                "time limit",
                "none" if message.enable_2pc else "same as without two-phase commit",
            )
            yield "an open transaction is", "kept" if message.keep_prepared_txn else "aborted"
        case InitProducerIdOfGroup():
            yield "assigned", render_list(message.assigned)
        case AddOffsetsToTxn():
            yield "asked for", f"the offsets of {message.group_id}"
        case _:
            return
