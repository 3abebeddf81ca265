"""What a transaction coordinator looks at before it answers: one row a fact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kipviz.brokers import producer_groups
from kipviz.brokers.settings import BrokerSettings
from kipviz.brokers.transaction_coordinator import TransactionCoordinator
from kipviz.views.facts import listed, short_name
from kipviz.views.membership import both

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


def of_coordinator(
    role: TransactionCoordinator, message: Any, settings: BrokerSettings
) -> Iterator[tuple[str, str]]:
    """Give who has the name, in which state, against what the request says, and what it asks."""
    if not message.transactional_id:
        yield "transactional id", "none: nothing is asked, and nothing is remembered"
        return
    known = role.transactions.get(message.transactional_id)
    if known is None:
        yield message.transactional_id, "not known yet"
    else:
        yield "state", known.state.value
        yield "pending transition", known.pending_state.value if known.pending_state else "none"
        theirs, ours = (message.producer_id, message.producer_epoch), known
        if theirs[0] >= 0:
            yield "producer id", both("request", theirs[0], "coordinator", ours.producer_id)
        yield "epoch", both("request", theirs[1], "coordinator", ours.producer_epoch)
        if known.is_kept:
            yield "kept: it can be ended by", known.kept_for
    match type(message).__name__:
        case "InitProducerId":
            most_ms = settings.transaction_max_timeout_ms
            yield "transaction.timeout.ms", f"{message.transaction_timeout_ms} of at most {most_ms}"
        case "InitProducerId2Pc":
            yield "two-phase commit allowed", str(settings.two_phase_commit_enable).lower()
            yield "time limit", "none" if message.enable_2pc else "as without two-phase commit"
            yield "an open transaction is", "kept" if message.keep_prepared_txn else "aborted"
            if message.heartbeat_interval_ms:
                told = f"{message.heartbeat_interval_ms} ms"
                yield "told of heartbeats", f"{told}: an interval (KIP-1309), a time-out (KIP-1310)"
        case "InitProducerIdOfGroup":
            newest = producer_groups.newest(role.assignments, message.group_id)
            yield "generation", both("request", message.generation, "newest seen", newest)
            yield "assigned", listed(message.assigned)
            others = producer_groups.before_in_its_partitions(role.assignments, message)
            yield "older ones in these partitions", listed(others)
        case "TxnHeartbeat":
            yield "heartbeat interval", f"{known.heartbeat_interval_ms if known else 0} ms"
        case "EndTxn":
            yield "asked for", "COMMIT" if message.committed else "ABORT"
        case "AddOffsetsToTxn":
            yield "asked for", f"the offsets of {message.group_id}"
        case _:
            yield "asked for", listed(tuple(map(short_name, message.partitions)))
    yield from _generation(role, message)
    if known is not None:
        yield "enlisted", listed(tuple(map(short_name, known.partitions)))


def _generation(role: TransactionCoordinator, message: Any) -> Iterator[tuple[str, str]]:
    """Give the generation that a producer has its identity for (KIP-447, first draft)."""
    mine = role.assignments.get(message.transactional_id)
    if mine is not None:
        newest = producer_groups.newest(role.assignments, mine.group_id)
        yield "its generation", both("producer", mine.generation, "newest seen", newest)
