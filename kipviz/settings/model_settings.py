"""The settings that Kafka does not have: what the model decides, and whether rare things may happen in it.

Some stand for a setting whose duration no story lasts, such as a week: what happens when it is over may happen at any
moment, or never.
"""

from __future__ import annotations

from kipviz.clauses import OURS
from kipviz.settings.setting_def import AnySetting, Owner, Place, SettingDef, Type

B, C, CLUSTER = Place.BROKERS, Place.CLOCK, Place.CLUSTER
MODEL, BOOLEAN, INT, STRING = Owner.MODEL, Type.BOOLEAN, Type.INT, Type.STRING
NEVER = -1

TRANSACTIONAL_IDS_EXPIRE = SettingDef(
    "transactional_ids_expire",
    MODEL,
    BOOLEAN,
    False,
    "transactional.id.expiration.ms is a week; TransactionStateManager, KIP-98",
    B,
    "transactional_ids_expire",
    asks="Do unused transactional ids expire?",
)
OFFSETS_EXPIRE = SettingDef(
    "offsets_expire",
    MODEL,
    BOOLEAN,
    False,
    "offsets.retention.minutes are a week; OffsetMetadataManager, KIP-211",
    B,
    "offsets_expire",
    asks="Do the offsets of an unused group expire?",
    rare=True,
)
PRODUCER_IDS_EXPIRE = SettingDef(
    "producer_ids_expire",
    MODEL,
    BOOLEAN,
    False,
    "producer.id.expiration.ms is a day; ProducerStateManager, KIP-98",
    B,
    "producer_ids_expire",
    asks="Does a producer's state in a log expire after a day without a batch?",
    rare=True,
)
STATE_UPKEEP = SettingDef(
    "state_upkeep",
    MODEL,
    BOOLEAN,
    False,
    "share.coordinator.state.topic.prune.interval.ms and share.coordinator.cold.partition.snapshot.interval.ms are "
    "five minutes; ShareCoordinatorService, KIP-932",
    B,
    "state_upkeep",
    asks="Does the share coordinator prune its log and snapshot cold share-partitions?",
    rare=True,
)
# It cannot be set: it states how far the time is that an untimed clock does not show.
TARGETS_WAIT = SettingDef(
    "targets_wait",
    MODEL,
    BOOLEAN,
    False,
    "group.consumer.assignment.interval.ms, group.share.assignment.interval.ms; KIP-1263",
    B,
    "targets_wait",
    says="whether the interval since the last target of any group is not over",
)
ASKS_TOGETHER = SettingDef(
    "asks_together",
    MODEL,
    BOOLEAN,
    True,
    "AddPartitionsToTxnManager; KIP-890",
    B,
    "asks_together",
    asks="Does a broker gather what it asks a transaction coordinator meanwhile?",
    rare=True,
)
REMEMBERS_VERIFICATIONS = SettingDef(
    "remembers_verifications",
    MODEL,
    BOOLEAN,
    True,
    "ProducerStateManager.maybeCreateVerificationStateEntry; KIP-890",
    B,
    "remembers_verifications",
    asks="Does the leader keep every failed verification entry?",
    rare=True,
)
# Kafka has only a group's own share.auto.offset.reset.
SHARE_AUTO_OFFSET_RESET = SettingDef(
    "share_auto_offset_reset",
    MODEL,
    STRING,
    "latest",
    "GroupConfig.SHARE_AUTO_OFFSET_RESET_DEFAULT; KIP-932",
    B,
    "share_auto_offset_reset",
    asks="Where does an unconfigured share group start?",
    rare=True,
)
PROFILE = SettingDef(
    "profile",
    MODEL,
    STRING,
    "kafka-defaults",
    "cluster.specs.abstraction",
    asks="How much of Kafka does the cluster leave out?",
)
REPLICATION = SettingDef(
    "replication",
    MODEL,
    STRING,
    "stepwise",
    "ReplicaFetcherThread, Partition.maybeIncrementLeaderHW",
    CLUSTER,
    "replication",
    asks="When do the replicas have a batch?",
    options=(("instant", "at once"), ("stepwise", "as an event of its own")),
)
# One number for the three internal topics of transactions, offsets and share states, of which each has its own.
INTERNAL_PARTITIONS = SettingDef(
    "internal_partitions",
    MODEL,
    INT,
    50,
    "TransactionLogConfig, GroupCoordinatorConfig, ShareCoordinatorConfig",
    CLUSTER,
    "internal_partitions",
    1,
    10_000,
    says="how many partitions an internal topic has",
)
CLOCK = SettingDef(
    "clock",
    MODEL,
    STRING,
    "untimed",
    "cluster.timing.clock",
    C,
    "kind",
    asks="When does a timer expire?",
    options=(
        ("untimed", "at any moment after it was set"),
        ("timed", "when its time is over, no sooner and no later"),
    ),
)
TICK = SettingDef(
    "tick",
    MODEL,
    STRING,
    "exact",
    "cluster.timing.clock",
    C,
    "tick",
    asks="How does time pass?",
    options=(
        ("exact", "by the greatest common divisor of all durations: no order is left out"),
        ("next", "to the next moment at which something is due: faster, some orders are missing"),
    ),
)
STAMPS = SettingDef(
    "stamps",
    MODEL,
    BOOLEAN,
    False,
    "message.timestamp.type; DefaultRecordBatch.maxTimestamp",
    C,
    "stamps",
    asks="Do records carry the time at which they were written?",
)
BACKS_OFF = SettingDef(
    "backs_off",
    MODEL,
    BOOLEAN,
    False,
    "retry.backoff.ms; Sender.maybeSendAndPollTransactionalRequest",
    C,
    "backs_off",
    asks="Does a sender rest before it asks again (retry.backoff.ms)?",
)
DELAY_MAX_MS = SettingDef(
    "delay_max_ms",
    MODEL,
    INT,
    NEVER,
    "cluster.timing.clock",
    C,
    "delay_max_ms",
    NEVER,
    unit="ms",
    asks="How long may a message be in flight (ms)?",
    says="how long a message is in flight at most",
)
PAUSE_MAX_MS = SettingDef(
    "pause_max_ms",
    MODEL,
    INT,
    NEVER,
    "cluster.timing.clock",
    C,
    "pause_max_ms",
    NEVER,
    unit="ms",
    asks="How long may a client thread be paused (ms)?",
)
REFRESH_MS = SettingDef(
    "refresh_ms",
    MODEL,
    INT,
    NEVER,
    "KIP-1289 does not say it",
    C,
    "refresh_ms",
    NEVER,
    unit="ms",
    asks="How often does a leader query the outcome of transactional acknowledgements (ms)?",
    says="how often a leader looks up the outcome of transactional acknowledgements (our inference)",
    status=OURS,
)
WORK_MS = SettingDef(
    "work_ms",
    MODEL,
    INT,
    0,
    "an application's program",
    Place.APPLICATION,
    "work_ms",
    0,
    unit="ms",
    asks="How many ms does it work on a batch before it commits?",
    says="how long an application processes a batch before it commits",
)

MODEL_SETTINGS: tuple[AnySetting, ...] = (
    TRANSACTIONAL_IDS_EXPIRE,
    OFFSETS_EXPIRE,
    PRODUCER_IDS_EXPIRE,
    STATE_UPKEEP,
    TARGETS_WAIT,
    ASKS_TOGETHER,
    REMEMBERS_VERIFICATIONS,
    SHARE_AUTO_OFFSET_RESET,
    PROFILE,
    REPLICATION,
    INTERNAL_PARTITIONS,
    CLOCK,
    TICK,
    STAMPS,
    BACKS_OFF,
    DELAY_MAX_MS,
    PAUSE_MAX_MS,
    REFRESH_MS,
    WORK_MS,
)
