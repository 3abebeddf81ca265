"""What a request to a transaction coordinator asks for; what the coordinator compares it with are its checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kipviz.views.role_cards.facts import listed

# The requests that it is asked about one transactional id.
OF_COORDINATOR = (
    "InitProducerId",
    "InitProducerId2Pc",
    "InitProducerIdOfGroup",
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "EndTxn",
    "TxnHeartbeat",
)


def asked_for(message: Any) -> Iterator[tuple[str, str]]:
    """Return what a request says that nothing is compared with."""
    match type(message).__name__:
        case "InitProducerId2Pc":
            yield "time limit", "none" if message.enable_2pc else "as without two-phase commit"
            yield "an open transaction is", "kept" if message.keep_prepared_txn else "aborted"
        case "InitProducerIdOfGroup":
            yield "assigned", listed(message.assigned)
        case "AddOffsetsToTxn":
            yield "asked for", f"the offsets of {message.group_id}"
        case _:
            return
