"""Where every rule is written: the clause of a KIP, how far it is decided, and the Kafka class.

Keyed by the kind of action, accidents too: a picture says with it who wrote the rule of a step. The rule of a message
is in its row (`messages.apis`). "shipped" is in Kafka 4.4.0, "draft" in a KIP's text, "our inference" in no text.
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
    "ReadLog": Clause(
        "replay",
        "the clause of the record that is read",
        SHIPPED,
        "TransactionStateManager, GroupCoordinatorShard.replay, ShareCoordinatorShard.replay",
    ),
    "Tick": Clause(
        "pass_time",
        "none: that time passes is not a rule of the protocol",
        OURS,
        "none: a clock of the model (DECISIONS 18)",
    ),
    "DelayOver": Clause(
        "on_delay",
        "KIP-134 group.initial.rebalance.delay.ms; KIP-1263",
        SHIPPED,
        "GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule, canComputeNextTargetAssignment",
    ),
    "ClientTimer": Clause(
        "on_timer",
        "KIP-848 heartbeat interval; retry.backoff.ms, fetch.max.wait.ms",
        SHIPPED,
        "AbstractHeartbeatRequestManager, RequestState, FetchRequestManager",
    ),
    "Refresh": Clause(
        "on_refresh",
        "none: how a leader learns the outcome is not written",
        OURS,
        "none: our inference",
    ),
    "RemakeTopic": Clause(
        "remake",
        "KIP-516 topic ids: a topic that is made again is another one",
        SHIPPED,
        "ReplicationControlManager.deleteTopics, createTopics",
    ),
    "DeleteTopic": Clause(
        "delete_topic", "KIP-4 DeleteTopics", SHIPPED, "ReplicaManager.stopPartitions"
    ),
    "CreateTopic": Clause(
        "create_topic", "KIP-4 CreateTopics", SHIPPED, "ReplicationControlManager"
    ),
    "CrashBroker": Clause(
        "crash",
        "KIP-98 Coordinator failover; KIP-932 share-partition leader change; KIP-631 fencing",
        SHIPPED,
        "ReplicationControlManager.handleBrokerFenced",
    ),
    "StartBroker": Clause(
        "start",
        "KIP-631 broker registration and unfencing; KIP-98 Coordinator failover",
        SHIPPED,
        "ReplicationControlManager.handleBrokerUnfenced",
    ),
    "MoveLeader": Clause(
        "elect",
        "KIP-631 PartitionChangeRecord; KIP-932 share-partition leader change",
        SHIPPED,
        "PartitionChangeBuilder.electLeader, ReplicaManager.applyDelta",
    ),
    "GiveUp": Clause(
        "leave",
        "KIP-98 request.timeout.ms; KIP-890 Motivation, late messages",
        SHIPPED,
        "NetworkClient.handleTimedOutRequests",
    ),
    "DeliverLate": Clause(
        "the handler of what arrives late",
        "KIP-890 Motivation, late messages; Kafka protocol guide, Network",
        SHIPPED,
        "SocketServer.Processor, a request read before the close",
    ),
    "DeleteRecords": Clause(
        "delete_oldest",
        "KIP-107 DeleteRecords; retention.ms, retention.bytes",
        SHIPPED,
        "UnifiedLog.maybeIncrementLogStartOffset",
    ),
    "TimeOutCall": Clause(
        "timed_out",
        "KIP-98 Producer API; max.block.ms (KAFKA-6446)",
        SHIPPED,
        "KafkaProducer.commitTransaction, TransactionManager.handleCachedTransactionRequestResult",
    ),
    "MissPoll": Clause(
        "on_missed_poll",
        "KIP-62 max.poll.interval.ms",
        SHIPPED,
        "AbstractCoordinator.HeartbeatThread",
    ),
    "ExpireBatch": Clause(
        "expired",
        "KIP-91 delivery.timeout.ms; KIP-360",
        SHIPPED,
        "Sender.sendProducerData, TransactionManager.maybeResolveSequences",
    ),
    "UpgradeFeature": Clause(
        "connected",
        "KIP-584 finalized features; KIP-890 Upgrade",
        SHIPPED,
        "FeatureControlManager; TransactionManager.maybeUpdateTransactionV2Enabled",
    ),
    "InstallRelease": Clause(
        "installed",
        "KIP-584 supported features; KIP-631 controlled shutdown and broker registration",
        SHIPPED,
        "ClusterControlManager.registerBroker, ReplicationControlManager.handleBrokerInControlledShutdown",
    ),
    "CreateAcls": Clause(
        "on_create_acls",
        "KIP-11 ACLs; KIP-140 CreateAcls",
        SHIPPED,
        "AclControlManager.createAcls, StandardAuthorizer",
    ),
    "DeleteAcls": Clause(
        "on_delete_acls",
        "KIP-11 ACLs; KIP-140 DeleteAcls",
        SHIPPED,
        "AclControlManager.deleteAcls, StandardAuthorizer",
    ),
    "Receive": Clause(
        "receive",
        "Kafka protocol guide, Network: a client writes its requests to a connection in order",
        SHIPPED,
        "SocketServer.Processor.processCompletedReceives",
    ),
    "LoseConnection": Clause(
        "lose",
        "Kafka protocol guide, Network; KIP-932 share sessions end with their connection",
        SHIPPED,
        "NetworkClient.processDisconnection, SocketServer.processDisconnected",
    ),
    "Cut": Clause(
        "cut",
        "Kafka protocol guide, Network: over TCP a message is late, never out of order",
        SHIPPED,
        "NetworkClient.poll, Selector.poll",
    ),
    "Heal": Clause(
        "heal",
        "Kafka protocol guide, Network: TCP sends again what did not arrive",
        SHIPPED,
        "NetworkClient.poll, Selector.poll",
    ),
    "Pause": Clause(
        "pause",
        "KIP-98 Zombie fencing: a process that stands still and comes back",
        SHIPPED,
        "NetworkClient.poll, SystemTimer: what is late is done late",
    ),
    "Resume": Clause(
        "resume",
        "KIP-98 Zombie fencing: its epoch has grown old meanwhile",
        SHIPPED,
        "NetworkClient.poll, SystemTimer: what is late is done late",
    ),
    "CrashClient": Clause(
        "crash_client",
        "KIP-98 transaction.timeout.ms; KIP-932 acquisition lock: a dead client is waited out",
        SHIPPED,
        "SocketServer.processDisconnected",
    ),
    "StartClient": Clause(
        "start_client",
        "KIP-98 initTransactions fences who was there before; KIP-932 a new member id",
        SHIPPED,
        "KafkaProducer.initTransactions, KafkaShareConsumer",
    ),
}


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


def clause_of(name: str) -> Clause:
    """Give the clause of an action that is no call of an application and delivers nothing."""
    return CLAUSES[name]
