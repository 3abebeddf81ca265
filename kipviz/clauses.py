"""Where every rule is written: the clause of a KIP, how far it is decided, and the Kafka class.

An action's clause is in its class (`cluster.behaviour`), a message's in its row (`messages.apis`); here are those of timers.
A picture says with it who wrote the rule of a step. "shipped" is in Kafka 4.4.0, "draft" in a KIP's text, "our
inference" in no text.
"""

from __future__ import annotations

from kipviz.core.values import Value


class Clause(Value, frozen=True):
    """One rule: its name, its clause, its status and the class that has it in Kafka."""

    rule: str
    clause: str
    status: str
    kafka: str


SHIPPED, DRAFT, OURS = "shipped", "draft", "our inference"

# The timers of roles that have names, by how the name begins.
TIMERS: dict[str, Clause] = {
    "the session of": Clause(
        "on_timer",
        "KIP-62, KIP-848 Member Failures; KIP-932 Managing durable share-partition state, session timeout",
        SHIPPED,
        "GroupMetadataManager, session timeout timers",
    ),
    "the rebalance time-out of": Clause(
        "on_timer",
        "KIP-62 max.poll.interval.ms; KIP-848 Member Failures, rebalance timeout",
        SHIPPED,
        "GroupMetadataManager, rebalance timeout timers",
    ),
    "the prune interval of": Clause(
        "on_timer",
        "KIP-932 Share-group state topic, pruning",
        SHIPPED,
        "ShareCoordinatorService.setupRecordPruning; ShareCoordinatorOffsetsManager",
    ),
    "the cold snapshot interval of": Clause(
        "on_timer",
        "KIP-932 Share-group state topic, snapshots",
        SHIPPED,
        "ShareCoordinatorShard.snapshotColdPartitions",
    ),
    "the append at": Clause(
        "fail_append",
        "KIP-98 Transaction log; the append's time-out is transaction.timeout.ms",
        SHIPPED,
        "TransactionStateManager.appendTransactionToLog",
    ),
    "transactional.id": Clause(
        "on_timer",
        "KIP-98 transactional.id.expiration.ms",
        SHIPPED,
        "TransactionStateManager.removeExpiredTransactionalIds",
    ),
    "the retention of the offset": Clause(
        "on_timer",
        "KIP-211 offsets.retention.minutes",
        SHIPPED,
        "OffsetMetadataManager.cleanupExpiredOffsets",
    ),
    "the sync time-out of": Clause(
        "on_timer",
        "KIP-62, rebalance timeout between JoinGroup and SyncGroup",
        SHIPPED,
        "GroupMetadataManager.expirePendingSync",
    ),
    "the log retention of": Clause(
        "on_timer",
        "KIP-107 log.retention.ms",
        SHIPPED,
        "UnifiedLog.deleteRetentionMsBreachedSegments",
    ),
    "producer id ": Clause(
        "on_timer",
        "KIP-854 producer.id.expiration.ms",
        SHIPPED,
        "ProducerStateManager.removeExpiredProducers",
    ),
    "the liveness of": Clause(
        "on_timer",
        "KIP-1309 heartbeats of transactions",
        DRAFT,
        "KAFKA-20381, open: TransactionCoordinator",
    ),
}


def clause_of_timer(timer: str) -> Clause:
    """Give the clause of a role's timer that runs out."""
    return next(clause for begins, clause in TIMERS.items() if timer.startswith(begins))
