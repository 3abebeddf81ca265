"""Where every rule is written: the clause of a KIP, how far it is decided, and the Kafka class.

Keyed by the name of the message that a broker handles, or by the kind of action, so that a
picture can say under each step who wrote the rule. "shipped" is in Kafka 4.4.0, "draft" is in a
KIP's text, "our inference" is ours because no text says it.
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

CLAUSES: dict[str, Clause] = {
    "InitProducerId": Clause(
        "on_init_producer_id",
        "KIP-98 InitPidRequest; KIP-360",
        SHIPPED,
        "TransactionCoordinator.handleInitProducerId",
    ),
    "AddPartitionsToTxn": Clause(
        "on_add_partitions",
        "KIP-890 part 2, AddPartitionsToTxn version 5",
        SHIPPED,
        "TransactionCoordinator.handleAddPartitionsToTransaction",
    ),
    "EndTxn": Clause(
        "on_end_txn",
        "KIP-890 part 2, EndTxn version 5",
        SHIPPED,
        "TransactionCoordinator.endTransaction",
    ),
    "WriteTxnMarkers": Clause(
        "on_write_txn_markers",
        "KIP-98 WriteTxnMarkerRequest; KIP-1228",
        SHIPPED,
        "KafkaApis.handleWriteTxnMarkersRequest",
    ),
    "Produce": Clause(
        "on_produce",
        "KIP-98 Produce; KIP-890 part 2, Produce version 12",
        SHIPPED,
        "ReplicaManager.handleProduceAppend",
    ),
    "Fetch": Clause("on_fetch", "KIP-98 Read Committed", SHIPPED, "UnifiedLog.read"),
    "OffsetFetch": Clause(
        "on_offset_fetch",
        "KIP-447 OffsetFetch version 7",
        SHIPPED,
        "OffsetMetadataManager.fetchOffsets",
    ),
    "TxnOffsetCommit": Clause(
        "on_txn_offset_commit",
        "KIP-447; KIP-890 part 2, TxnOffsetCommit version 5",
        SHIPPED,
        "GroupCoordinatorService.commitTransactionalOffsets",
    ),
    "ShareFetch": Clause(
        "on_share_fetch", "KIP-932 ShareFetch", SHIPPED, "SharePartitionManager.fetchMessages"
    ),
    "ShareAcknowledge": Clause(
        "on_share_acknowledge",
        "KIP-932 ShareAcknowledge",
        SHIPPED,
        "SharePartition.acknowledge",
    ),
    "TxnShareAcknowledge": Clause(
        "on_txn_share_acknowledge",
        "KIP-1289 Flow - Share Group",
        DRAFT,
        "none yet (PR 22357)",
    ),
    "ReadShareGroupState": Clause(
        "on_read",
        "KIP-932 ReadShareGroupState",
        SHIPPED,
        "ShareCoordinatorShard.readStateAndMaybeUpdateLeaderEpoch",
    ),
    "WriteShareGroupState": Clause(
        "on_write",
        "KIP-932 WriteShareGroupState",
        SHIPPED,
        "ShareCoordinatorShard.writeState",
    ),
    "TxnWriteShareGroupState": Clause(
        "on_txn_write",
        "none: KIP-1289 defers persistence to a follow-up KIP",
        OURS,
        "none",
    ),
    "Step": Clause("application", "KIP-1289 Pseudo code; KIP-98 API", SHIPPED, "KafkaProducer"),
    "Send": Clause("sender", "KIP-98 Producer", SHIPPED, "Sender.runOnce, NetworkClient"),
    "Replicate": Clause(
        "replicate", "KIP-98 Data flow, replication", SHIPPED, "Partition.maybeIncrementLeaderHW"
    ),
    "Load": Clause(
        "on_loaded", "KIP-98 Coordinator failover", SHIPPED, "CoordinatorRuntime, loading"
    ),
    "ExpireLock": Clause(
        "on_lock_expiry",
        "KIP-932 acquisition lock; KIP-1289 corner case 6",
        SHIPPED,
        "SharePartition.releaseAcquisitionLockOnTimeout",
    ),
    "TimeOutTransaction": Clause(
        "on_timeout",
        "KIP-98 transaction.timeout.ms",
        SHIPPED,
        "TransactionCoordinator.abortTimedOutTransactions",
    ),
    "Refresh": Clause(
        "on_refresh", "none: how a leader learns the outcome is not written", OURS, "none"
    ),
}

FAULT = Clause("fault", "what a network and a machine do", SHIPPED, "none")


def clause_of(name: str) -> Clause:
    """Give the clause of a message or an action; accidents have none of their own."""
    return CLAUSES.get(name, FAULT)
