"""Where every rule is written: the clause of a KIP, how far it is decided, and the Kafka class.

Keyed by the message that a broker handles, or by the kind of action, accidents too: a picture says with it who
wrote the rule of a step. "shipped" is in Kafka 4.4.0, "draft" in a KIP's text, "our inference" in no text.
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
    "InitProducerId2Pc": Clause(
        "on_init_producer_id",
        "KIP-939 Enable2Pc and KeepPreparedTxn (version 6, unstable; keeping is pull request 21735)",
        DRAFT,
        "none yet (PR 21735)",
    ),
    "InitProducerIdOfGroup": Clause(
        "on_init_producer_id_of_group",
        "KIP-447, first draft: InitProducerId API, Fencing zombie (given up before 2.5)",
        DRAFT,
        "none yet (PR none)",
    ),
    "TxnHeartbeat": Clause(
        "on_txn_heartbeat",
        "KIP-1309 TxnHeartbeat (draft: no fields, no errors)",
        DRAFT,
        "none yet (PR none)",
    ),
    "AddPartitionsToTxn": Clause(
        "on_add_partitions",
        "KIP-98 AddPartitionsToTxnRequest; KIP-890, AddPartitionsToTxn version 5",
        SHIPPED,
        "TransactionCoordinator.handleAddPartitionsToTransaction",
    ),
    "AddOffsetsToTxn": Clause(
        "on_add_offsets",
        "KIP-98 AddOffsetsToTxnRequest",
        SHIPPED,
        "KafkaApis.handleAddOffsetsToTxnRequest",
    ),
    "EndTxn": Clause(
        "on_end_txn",
        "KIP-98 EndTxnRequest; KIP-890 part 2, EndTxn version 5",
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
    "ListOffsets": Clause(
        "on_list_offsets",
        "KIP-98 ListOffsets version 2",
        SHIPPED,
        "Partition.fetchOffsetForTimestamp",
    ),
    "OffsetFetch": Clause(
        "on_offset_fetch",
        "KIP-447 OffsetFetch version 7",
        SHIPPED,
        "OffsetMetadataManager.fetchOffsets",
    ),
    "OffsetCommit": Clause(
        "on_offset_commit", "KIP-848 OffsetCommit", SHIPPED, "OffsetMetadataManager.commitOffset"
    ),
    "TxnOffsetCommit": Clause(
        "on_txn_offset_commit",
        "KIP-447; KIP-890 part 2, TxnOffsetCommit version 5",
        SHIPPED,
        "GroupCoordinatorService.commitTransactionalOffsets",
    ),
    "Metadata": Clause(
        "on_metadata",
        "KIP-516 topic ids; KIP-1319 Producer-Side",
        SHIPPED,
        "KafkaApis.handleTopicMetadataRequest",
    ),
    "FindCoordinator": Clause(
        "on_find_coordinator", "KIP-98 Data Flow, step 1", SHIPPED, "KafkaApis.getCoordinator"
    ),
    "JoinGroup": Clause(
        "on_join_group",
        "KIP-62; KIP-394 MEMBER_ID_REQUIRED; KIP-345 static members",
        SHIPPED,
        "GroupMetadataManager.classicGroupJoin",
    ),
    "SyncGroup": Clause(
        "on_sync_group", "KIP-62 rebalance", SHIPPED, "GroupMetadataManager.classicGroupSync"
    ),
    "Heartbeat": Clause(
        "on_heartbeat",
        "KIP-62 background heartbeats",
        SHIPPED,
        "GroupMetadataManager.classicGroupHeartbeat",
    ),
    "LeaveGroup": Clause(
        "on_leave_group",
        "KIP-62; KIP-345 LeaveGroup version 3",
        SHIPPED,
        "GroupMetadataManager.classicGroupLeave",
    ),
    "ConsumerGroupHeartbeat": Clause(
        "on_consumer_group_heartbeat",
        "KIP-848 Consumer Group Heartbeat",
        SHIPPED,
        "GroupMetadataManager.consumerGroupHeartbeat",
    ),
    "ShareGroupHeartbeat": Clause(
        "on_share_group_heartbeat",
        "KIP-932 ShareGroupHeartbeat",
        SHIPPED,
        "GroupMetadataManager.shareGroupHeartbeat",
    ),
    "InitializeShareGroupState": Clause(
        "on_initialize",
        "KIP-932 InitializeShareGroupState",
        SHIPPED,
        "ShareCoordinatorShard.initializeState",
    ),
    "DeleteShareGroupState": Clause(
        "on_delete", "KIP-932 DeleteShareGroupState", SHIPPED, "ShareCoordinatorShard.deleteState"
    ),
    "ReadShareGroupStateSummary": Clause(
        "on_read_summary",
        "KIP-932 ReadShareGroupStateSummary; KIP-1226",
        SHIPPED,
        "ShareCoordinatorShard.readStateSummary",
    ),
    "ShareGroupDescribe": Clause(
        "on_share_group_describe",
        "KIP-932 ShareGroupDescribe",
        SHIPPED,
        "GroupMetadataManager.shareGroupDescribe",
    ),
    "DescribeShareGroupOffsets": Clause(
        "on_describe_share_group_offsets",
        "KIP-932 DescribeShareGroupOffsets; KIP-1226",
        SHIPPED,
        "GroupCoordinatorService.describeShareGroupAllOffsets",
    ),
    "AlterShareGroupOffsets": Clause(
        "on_alter_share_group_offsets",
        "KIP-932 AlterShareGroupOffsets",
        SHIPPED,
        "GroupMetadataManager.alterShareGroupOffsets",
    ),
    "DeleteShareGroupOffsets": Clause(
        "on_delete_share_group_offsets",
        "KIP-932 DeleteShareGroupOffsets",
        SHIPPED,
        "GroupCoordinatorShard.initiateDeleteShareGroupOffsets",
    ),
    "DeleteGroups": Clause(
        "on_delete_groups",
        "KIP-229 DeleteGroups; KIP-932",
        SHIPPED,
        "GroupCoordinatorShard.deleteGroups, GroupCoordinatorService.deleteShareGroups",
    ),
    "DescribeAcls": Clause("on_describe_acls", "KIP-140 DescribeAcls", SHIPPED, "AclApis"),
    "CreateTopics": Clause("on_create_topics", "KIP-1191", SHIPPED, "ControllerApis.createTopics"),
    "ListGroups": Clause(
        "on_list_groups", "KIP-518, KIP-848 ListGroups", SHIPPED, "GroupMetadataManager.listGroups"
    ),
    "DescribeGroups": Clause(
        "on_describe_groups",
        "KIP-62 DescribeGroups; KIP-1043",
        SHIPPED,
        "GroupMetadataManager.describeGroups",
    ),
    "ConsumerGroupDescribe": Clause(
        "on_consumer_group_describe",
        "KIP-848 ConsumerGroupDescribe",
        SHIPPED,
        "GroupMetadataManager.consumerGroupDescribe",
    ),
    "OffsetDelete": Clause(
        "on_offset_delete", "KIP-496 OffsetDelete", SHIPPED, "OffsetMetadataManager.deleteOffsets"
    ),
    "OffsetFetchOfGroups": Clause(
        "on_offset_fetch_of_groups", "KIP-709", SHIPPED, "OffsetMetadataManager.fetchAllOffsets"
    ),
    "ShareFetch": Clause(
        "on_share_fetch", "KIP-932 ShareFetch", SHIPPED, "SharePartitionManager.fetchMessages"
    ),
    "ShareAcknowledge": Clause(
        "on_share_acknowledge", "KIP-932 ShareAcknowledge", SHIPPED, "SharePartition.acknowledge"
    ),
    "TxnShareAcknowledge": Clause(
        "on_txn_share_acknowledge", "KIP-1289 Flow - Share Group", DRAFT, "none yet (PR 22357)"
    ),
    "ReadShareGroupState": Clause(
        "on_read",
        "KIP-932 ReadShareGroupState",
        SHIPPED,
        "ShareCoordinatorShard.readStateAndMaybeUpdateLeaderEpoch",
    ),
    "WriteShareGroupState": Clause(
        "on_write", "KIP-932 WriteShareGroupState", SHIPPED, "ShareCoordinatorShard.writeState"
    ),
    "TxnWriteShareGroupState": Clause(
        "on_txn_write",
        "none: KIP-1289 defers persistence to a follow-up KIP",
        OURS,
        "none: our inference",
    ),
    "ListTransactions": Clause(
        "on_list_transactions",
        "KIP-664 ListTransactions; KIP-1152",
        SHIPPED,
        "TransactionCoordinator.handleListTransactions",
    ),
    "DescribeTransactions": Clause(
        "on_describe_transactions",
        "KIP-664 DescribeTransactions",
        SHIPPED,
        "TransactionCoordinator.handleDescribeTransactions",
    ),
    "DescribeProducers": Clause(
        "on_describe_producers",
        "KIP-664 DescribeProducers",
        SHIPPED,
        "ReplicaManager.activeProducerState",
    ),
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
    """Give the clause of a message, or of an action that is no call of an application."""
    return CLAUSES[name]
