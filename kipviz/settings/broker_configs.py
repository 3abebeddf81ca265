"""The settings of brokers, and of the coordinators on them.

A limit is the one that Kafka checks when a broker starts, unless a comment says otherwise.
"""

from __future__ import annotations

from kipviz.settings.setting_def import INT32, AnySetting, Owner, Place, SettingDef, Type

B, D = Place.BROKERS, Place.DURATIONS
BROKERS, INT, LONG = Owner.BROKERS, Type.INT, Type.LONG

# Kafka's minimum is 2; with a single delivery, a search is as small as possible.
GROUP_SHARE_DELIVERY_COUNT_LIMIT = SettingDef(
    "group.share.delivery.count.limit",
    BROKERS,
    INT,
    5,
    "ShareGroupConfig; KIP-932",
    B,
    "delivery_count_limit",
    1,
    10,
    asks="How often may a record be delivered?",
    says="how many times a record is delivered at most",
)
# Kafka's minimum is 100: too many to follow record by record.
GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS = SettingDef(
    "group.share.partition.max.record.locks",
    BROKERS,
    INT,
    2_000,
    "ShareGroupConfig; KIP-932",
    B,
    "record_locks_max",
    1,
    10_000,
    asks="How many records of a share-partition may be in flight?",
)
SHARE_COORDINATOR_SNAPSHOT_UPDATE_RECORDS_PER_SNAPSHOT = SettingDef(
    "share.coordinator.snapshot.update.records.per.snapshot",
    BROKERS,
    INT,
    500,
    "ShareCoordinatorConfig; KIP-932",
    B,
    "updates_per_snapshot",
    0,
    500,
    asks="After how many updates does the share coordinator write a snapshot?",
)
TRANSACTION_MAX_TIMEOUT_MS = SettingDef(
    "transaction.max.timeout.ms",
    BROKERS,
    INT,
    900_000,
    "TransactionStateManagerConfig; KIP-98",
    B,
    "transaction_max_timeout_ms",
    1,
    unit="ms",
    asks="How long may a transaction take at most, in ms?",
)
GROUP_SHARE_RECORD_LOCK_DURATION_MS = SettingDef(
    "group.share.record.lock.duration.ms",
    BROKERS,
    INT,
    30_000,
    "KIP-932; SharePartition.AcquisitionLockTimerTask",
    B,
    "record_lock_duration_ms",
    1_000,
    3_600_000,
    unit="ms",
    asks="After how many ms does an acquisition lock expire?",
    says="an acquisition lock expires",
)
# The range in which a group may configure its own lock.
GROUP_SHARE_MIN_RECORD_LOCK_DURATION_MS = SettingDef(
    "group.share.min.record.lock.duration.ms",
    BROKERS,
    INT,
    15_000,
    "ShareGroupConfig; KIP-932",
    unit="ms",
    says="the shortest acquisition lock that a group may be configured with",
)
GROUP_SHARE_MAX_RECORD_LOCK_DURATION_MS = SettingDef(
    "group.share.max.record.lock.duration.ms",
    BROKERS,
    INT,
    60_000,
    "ShareGroupConfig; KIP-932",
    unit="ms",
    says="the longest acquisition lock that a group may be configured with",
)
TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS = SettingDef(
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    BROKERS,
    INT,
    10_000,
    "TransactionStateManagerConfig",
    B,
    "transaction_scan_ms",
    1,
    unit="ms",
    asks="How often does the coordinator scan for timed-out transactions (ms)?",
    says="the coordinator scans for transactions past their timeout",
)
GROUP_INITIAL_REBALANCE_DELAY_MS = SettingDef(
    "group.initial.rebalance.delay.ms",
    BROKERS,
    INT,
    3_000,
    "KIP-134; GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule",
    B,
    "initial_rebalance_delay_ms",
    0,
    unit="ms",
    asks="How many ms does an empty classic group wait for more members?",
    says="an empty classic group begins its first generation, or waits once more",
)
OFFSET_METADATA_MAX_BYTES = SettingDef(
    "offset.metadata.max.bytes",
    BROKERS,
    INT,
    4_096,
    "GroupCoordinatorConfig; OffsetMetadataManager.isMetadataInvalid",
    unit="bytes",
    says="how long the metadata of a committed offset may be (Kafka counts characters)",
)
# The range in which a classic consumer may choose its session.timeout.ms.
GROUP_MIN_SESSION_TIMEOUT_MS = SettingDef(
    "group.min.session.timeout.ms",
    BROKERS,
    INT,
    6_000,
    "GroupCoordinatorConfig; GroupCoordinatorService.joinGroup",
    unit="ms",
    says="the shortest session that a member of a classic group may have",
)
GROUP_MAX_SESSION_TIMEOUT_MS = SettingDef(
    "group.max.session.timeout.ms",
    BROKERS,
    INT,
    1_800_000,
    "GroupCoordinatorConfig; GroupCoordinatorService.joinGroup",
    unit="ms",
    says="the longest session that a member of a classic group may have",
)
GROUP_SHARE_MAX_SIZE = SettingDef(
    "group.share.max.size",
    BROKERS,
    INT,
    200,
    "ShareGroupConfig; KIP-932",
    B,
    "share_group_max_size",
    1,
    1_000,
    asks="How many members may a share group have?",
    rare=True,
)
GROUP_SHARE_MAX_SHARE_SESSIONS = SettingDef(
    "group.share.max.share.sessions",
    BROKERS,
    INT,
    2_000,
    "ShareGroupConfig; KIP-932",
    B,
    "share_sessions_max",
    1,
    asks="How many share sessions may a broker have?",
    rare=True,
)
GROUP_CONSUMER_MAX_SIZE = SettingDef(
    "group.consumer.max.size",
    BROKERS,
    INT,
    INT32,
    "GroupCoordinatorConfig; KIP-848",
    B,
    "consumer_group_max_size",
    1,
    asks="How many members may a group of KIP-848 have?",
    rare=True,
)
GROUP_MAX_SIZE = SettingDef(
    "group.max.size",
    BROKERS,
    INT,
    INT32,
    "GroupCoordinatorConfig; KIP-389",
    B,
    "group_max_size",
    1,
    asks="How many members may a classic group have?",
    rare=True,
)
# Kafka's default is log.retention.hours=168; most stories are shorter than a week.
LOG_RETENTION_MS = SettingDef(
    "log.retention.ms",
    BROKERS,
    LONG,
    604_800_000,
    "KIP-107; UnifiedLog.deleteRetentionMsBreachedSegments (log.retention.hours is 168)",
    B,
    "log_retention_ms",
    -1,
    unit="ms",
    here=-1,
    asks="After how many ms is a record deleted, -1 for never?",
    says="a batch is deleted from the front of its log",
    rare=True,
)
GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS = SettingDef(
    "group.consumer.assignment.interval.ms",
    BROKERS,
    INT,
    1_000,
    "KIP-1263; GroupMetadataManager.canComputeNextTargetAssignment",
    B,
    "consumer_assignment_interval_ms",
    0,
    15_000,
    unit="ms",
    asks="How many ms does a group of KIP-848 keep a target at least?",
    says="a group of KIP-848 may have its next target; 0 here unless it is set",
    rare=True,
)
ERRORS_DEADLETTERQUEUE_TOPIC_NAME_PREFIX = SettingDef(
    "errors.deadletterqueue.topic.name.prefix",
    BROKERS,
    Type.STRING,
    "dlq.",
    "KIP-1191",
    B,
    "dead_letter_prefix",
    asks="How does the name of every dead-letter topic begin?",
    rare=True,
)
ERRORS_DEADLETTERQUEUE_AUTO_CREATE_TOPICS_ENABLE = SettingDef(
    "errors.deadletterqueue.auto.create.topics.enable",
    BROKERS,
    Type.BOOLEAN,
    False,
    "KIP-1191",
    B,
    "dead_letter_auto_create",
    asks="Do brokers make the topic of dead letters if it is not there?",
    rare=True,
)
# Off unless a spec has it: a story has the topics that it names. A served cluster has Kafka's default.
AUTO_CREATE_TOPICS_ENABLE = SettingDef(
    "auto.create.topics.enable",
    BROKERS,
    Type.BOOLEAN,
    True,
    "ServerLogConfigs; AutoTopicCreationManager",
    B,
    "auto_create_topics",
    here=False,
    asks="Does a lookup of a missing topic create it?",
    rare=True,
)
TRANSACTION_TWO_PHASE_COMMIT_ENABLE = SettingDef(
    "transaction.two.phase.commit.enable",
    BROKERS,
    Type.BOOLEAN,
    False,
    "TransactionStateManagerConfig; KIP-939",
    B,
    "two_phase_commit_enable",
    asks="May a producer switch the time limit of its transactions off?",
)
TRANSACTION_PARTITION_VERIFICATION_ENABLE = SettingDef(
    "transaction.partition.verification.enable",
    BROKERS,
    Type.BOOLEAN,
    True,
    "TransactionLogConfig; KIP-890",
    B,
    "partition_verification",
    asks="Does a leader ask whether an older client has added its partition?",
)
# A feature level, which an operator finalizes, and no setting of a broker.
TRANSACTION_VERSION = SettingDef(
    "transaction.version",
    BROKERS,
    INT,
    2,
    "TransactionVersion; KIP-890, a feature level",
    Place.CLUSTER,
    "transaction_version",
    asks="Which transaction.version is finalized?",
)
GROUP_CONSUMER_SESSION_TIMEOUT_MS = SettingDef(
    "group.consumer.session.timeout.ms",
    BROKERS,
    INT,
    45_000,
    "KIP-848; GroupMetadataManager.scheduleConsumerGroupSessionTimeout",
    D,
    "consumer_session_timeout_ms",
    1,
    unit="ms",
    says="a silent member is removed from a regular group",
)
GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS = SettingDef(
    "group.consumer.heartbeat.interval.ms",
    BROKERS,
    INT,
    5_000,
    "KIP-848; AbstractHeartbeatRequestManager",
    D,
    "consumer_heartbeat_interval_ms",
    1,
    unit="ms",
    says="a member's next heartbeat is due, from when the last one was sent",
)
GROUP_SHARE_SESSION_TIMEOUT_MS = SettingDef(
    "group.share.session.timeout.ms",
    BROKERS,
    INT,
    45_000,
    "KIP-932; GroupMetadataManager.scheduleShareGroupSessionTimeout",
    D,
    "share_session_timeout_ms",
    1,
    unit="ms",
    says="a silent member is removed from a share group",
)
GROUP_SHARE_HEARTBEAT_INTERVAL_MS = SettingDef(
    "group.share.heartbeat.interval.ms",
    BROKERS,
    INT,
    5_000,
    "KIP-932; ShareHeartbeatRequestManager",
    D,
    "share_heartbeat_interval_ms",
    1,
    unit="ms",
    says="a share group member's next heartbeat is due",
)
TRANSACTIONAL_ID_EXPIRATION_MS = SettingDef(
    "transactional.id.expiration.ms",
    BROKERS,
    INT,
    604_800_000,
    "KIP-98; TransactionStateManager.removeExpiredTransactionalIds",
    D,
    "transactional_id_expiration_ms",
    1,
    unit="ms",
    says="an unused transactional id expires, in the scan that finds it",
)
TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS = SettingDef(
    "transaction.remove.expired.transaction.cleanup.interval.ms",
    BROKERS,
    INT,
    3_600_000,
    "TransactionStateManagerConfig",
    D,
    "transactional_id_scan_ms",
    1,
    unit="ms",
    says="the coordinator scans for unused transactional ids",
)
PRODUCER_ID_EXPIRATION_MS = SettingDef(
    "producer.id.expiration.ms",
    BROKERS,
    INT,
    86_400_000,
    "KIP-854; ProducerStateManager.isProducerExpired",
    D,
    "producer_id_expiration_ms",
    1,
    unit="ms",
    says="a log expires a silent producer, in the check that finds it",
)
PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS = SettingDef(
    "producer.id.expiration.check.interval.ms",
    BROKERS,
    INT,
    600_000,
    "TransactionLogConfig (internal); UnifiedLog",
    D,
    "producer_id_scan_ms",
    1,
    unit="ms",
    says="a log scans for silent producers",
)
OFFSETS_RETENTION_MINUTES = SettingDef(
    "offsets.retention.minutes",
    BROKERS,
    INT,
    10_080,
    "KIP-211, KIP-496; OffsetMetadataManager.cleanupExpiredOffsets",
    D,
    "offsets_retention_minutes",
    1,
    unit="minutes",
    says="an unneeded offset expires, in the check that finds it",
)
OFFSETS_RETENTION_CHECK_INTERVAL_MS = SettingDef(
    "offsets.retention.check.interval.ms",
    BROKERS,
    LONG,
    600_000,
    "KIP-211; GroupCoordinatorService",
    D,
    "offsets_retention_check_ms",
    1,
    unit="ms",
    says="the coordinator scans for unneeded offsets",
)
LOG_RETENTION_CHECK_INTERVAL_MS = SettingDef(
    "log.retention.check.interval.ms",
    BROKERS,
    LONG,
    300_000,
    "LogManager.cleanupLogs",
    D,
    "log_retention_check_ms",
    1,
    unit="ms",
    says="a job scans for expired data",
)
SHARE_COORDINATOR_STATE_TOPIC_PRUNE_INTERVAL_MS = SettingDef(
    "share.coordinator.state.topic.prune.interval.ms",
    BROKERS,
    INT,
    300_000,
    "ShareCoordinatorService; KIP-932",
    unit="ms",
    says="a share coordinator deletes redundant records of its log",
)
TRANSACTION_STATE_LOG_MIN_ISR = SettingDef(
    "transaction.state.log.min.isr",
    BROKERS,
    INT,
    2,
    "TransactionLogConfig.TRANSACTIONS_TOPIC_MIN_ISR_CONFIG",
    says="how many replicas of __transaction_state have to be in sync for an append",
)
NUM_PARTITIONS = SettingDef(
    "num.partitions",
    BROKERS,
    INT,
    1,
    "ServerLogConfigs; KIP-464",
    says="how many partitions a topic gets that is created without a number",
)
DEFAULT_REPLICATION_FACTOR = SettingDef(
    "default.replication.factor",
    BROKERS,
    INT,
    1,
    "ReplicationConfigs; KIP-464",
    says="how many replicas a partition gets in a topic that is created without a number",
)

BROKER_CONFIGS: tuple[AnySetting, ...] = (
    GROUP_SHARE_DELIVERY_COUNT_LIMIT,
    GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS,
    SHARE_COORDINATOR_SNAPSHOT_UPDATE_RECORDS_PER_SNAPSHOT,
    TRANSACTION_MAX_TIMEOUT_MS,
    GROUP_SHARE_RECORD_LOCK_DURATION_MS,
    GROUP_SHARE_MIN_RECORD_LOCK_DURATION_MS,
    GROUP_SHARE_MAX_RECORD_LOCK_DURATION_MS,
    TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS,
    GROUP_INITIAL_REBALANCE_DELAY_MS,
    OFFSET_METADATA_MAX_BYTES,
    GROUP_MIN_SESSION_TIMEOUT_MS,
    GROUP_MAX_SESSION_TIMEOUT_MS,
    GROUP_SHARE_MAX_SIZE,
    GROUP_SHARE_MAX_SHARE_SESSIONS,
    GROUP_CONSUMER_MAX_SIZE,
    GROUP_MAX_SIZE,
    LOG_RETENTION_MS,
    GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS,
    ERRORS_DEADLETTERQUEUE_TOPIC_NAME_PREFIX,
    ERRORS_DEADLETTERQUEUE_AUTO_CREATE_TOPICS_ENABLE,
    AUTO_CREATE_TOPICS_ENABLE,
    TRANSACTION_TWO_PHASE_COMMIT_ENABLE,
    TRANSACTION_PARTITION_VERIFICATION_ENABLE,
    TRANSACTION_VERSION,
    GROUP_CONSUMER_SESSION_TIMEOUT_MS,
    GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS,
    GROUP_SHARE_SESSION_TIMEOUT_MS,
    GROUP_SHARE_HEARTBEAT_INTERVAL_MS,
    TRANSACTIONAL_ID_EXPIRATION_MS,
    TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS,
    PRODUCER_ID_EXPIRATION_MS,
    PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS,
    OFFSETS_RETENTION_MINUTES,
    OFFSETS_RETENTION_CHECK_INTERVAL_MS,
    LOG_RETENTION_CHECK_INTERVAL_MS,
    SHARE_COORDINATOR_STATE_TOPIC_PRUNE_INTERVAL_MS,
    TRANSACTION_STATE_LOG_MIN_ISR,
    NUM_PARTITIONS,
    DEFAULT_REPLICATION_FACTOR,
)
