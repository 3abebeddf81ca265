"""The settings of consumers, of share consumers and of both."""

from __future__ import annotations

from kipviz.settings.setting_def import AnySetting, Owner, Place, SettingDef, Type

A, D = Place.APPLICATION, Place.DURATIONS
CONSUMER, SHARE_CONSUMER, INT = Owner.CONSUMER, Owner.SHARE_CONSUMER, Type.INT

GROUP_ID = SettingDef(
    "group.id",
    CONSUMER,
    Type.STRING,
    "",
    "ConsumerConfig",
    A,
    "group_id",
    says="the group of a consumer or of a share consumer",
)
GROUP_INSTANCE_ID = SettingDef(
    "group.instance.id",
    CONSUMER,
    Type.STRING,
    "",
    "ConsumerConfig; KIP-345",
    A,
    "instance_id",
    says="the identity of a static member, which outlives its process",
)
GROUP_PROTOCOL = SettingDef(
    "group.protocol",
    CONSUMER,
    Type.STRING,
    "classic",
    "ConsumerConfig.DEFAULT_GROUP_PROTOCOL; KIP-848, KIP-932",
    A,
    "protocol",
    says="how a consumer becomes a member of its group",
)
PARTITION_ASSIGNMENT_STRATEGY = SettingDef(
    "partition.assignment.strategy",
    CONSUMER,
    Type.LIST,
    ("range", "cooperative-sticky"),
    "ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG; KIP-429",
    A,
    "assignors",
    says="the assignors of a classic member, in the order of its preference",
)
CLIENT_RACK = SettingDef(
    "client.rack",
    CONSUMER,
    Type.STRING,
    "",
    "ConsumerConfig; KIP-392, KIP-1101",
    A,
    "rack",
    says="the rack of a consumer",
)
AUTO_OFFSET_RESET = SettingDef(
    "auto.offset.reset",
    CONSUMER,
    Type.STRING,
    "latest",
    "ConsumerConfig.AUTO_OFFSET_RESET_CONFIG; KIP-1106",
    A,
    "auto_offset_reset",
    asks="Where does the consumer read on, without a position that the log has?",
    options=(
        ("earliest", "at the first record that there is"),
        ("latest", "behind the last one"),
        ("none", "nowhere: poll() throws"),
    ),
)
ISOLATION_LEVEL = SettingDef(
    "isolation.level",
    CONSUMER,
    Type.STRING,
    "read_uncommitted",
    "ConsumerConfig.DEFAULT_ISOLATION_LEVEL; KIP-98",
    A,
    "read_uncommitted",
    says="whether a consumer reads records of open and aborted transactions",
    coded="true for read_uncommitted, and false, the default here, for read_committed",
)
MAX_POLL_RECORDS = SettingDef(
    "max.poll.records",
    CONSUMER,
    INT,
    500,
    "ConsumerConfig.MAX_POLL_RECORDS_CONFIG",
    A,
    "max_records",
    1,
    asks="How many records may poll() return?",
)
MAX_POLL_INTERVAL_MS = SettingDef(
    "max.poll.interval.ms",
    CONSUMER,
    INT,
    300_000,
    "KIP-62, KIP-848; GroupMetadataManager.scheduleConsumerGroupRebalanceTimeout, "
    "AbstractCoordinator.HeartbeatThread, AbstractHeartbeatRequestManager.poll",
    D,
    "max_poll_interval_ms",
    1,
    unit="ms",
    says="a member that has to revoke partitions or rejoin is removed (rebalance timeout); a consumer that did not poll leaves its group",
)
SESSION_TIMEOUT_MS = SettingDef(
    "session.timeout.ms",
    CONSUMER,
    INT,
    45_000,
    "KIP-62, KIP-735; GroupMetadataManager.rescheduleClassicGroupMemberHeartbeat",
    D,
    "session_timeout_ms",
    1,
    unit="ms",
    says="a silent member is removed from a classic group",
)
HEARTBEAT_INTERVAL_MS = SettingDef(
    "heartbeat.interval.ms",
    CONSUMER,
    INT,
    3_000,
    "KIP-62; AbstractCoordinator.HeartbeatThread",
    D,
    "heartbeat_interval_ms",
    1,
    unit="ms",
    says="a classic member's next heartbeat is due",
)
FETCH_MAX_WAIT_MS = SettingDef(
    "fetch.max.wait.ms",
    CONSUMER,
    INT,
    500,
    "ConsumerConfig; the brokers wait in Kafka, the client here",
    D,
    "fetch_max_wait_ms",
    1,
    unit="ms",
    says="a poll() without new records fetches again",
)
FETCH_MIN_BYTES = SettingDef(
    "fetch.min.bytes",
    CONSUMER,
    INT,
    1,
    "ConsumerConfig",
    unit="bytes",
    says="for how many bytes a broker waits before it responds to a Fetch",
)
FETCH_MAX_BYTES = SettingDef(
    "fetch.max.bytes",
    CONSUMER,
    INT,
    52_428_800,
    "ConsumerConfig",
    unit="bytes",
    says="how many bytes a response to a Fetch has at most",
)
MAX_PARTITION_FETCH_BYTES = SettingDef(
    "max.partition.fetch.bytes",
    CONSUMER,
    INT,
    1_048_576,
    "ConsumerConfig",
    unit="bytes",
    says="how many bytes of one partition a response to a Fetch has at most",
)
SHARE_ACKNOWLEDGEMENT_MODE = SettingDef(
    "share.acknowledgement.mode",
    SHARE_CONSUMER,
    Type.STRING,
    "implicit",
    "ConsumerConfig; KIP-932",
    A,
    "explicit",
    asks="Does the consumer acknowledge each record itself?",
    coded="true for explicit, false for implicit",
)
SHARE_ACQUIRE_MODE = SettingDef(
    "share.acquire.mode",
    SHARE_CONSUMER,
    Type.STRING,
    "batch_optimized",
    "ConsumerConfig; KIP-1206",
    A,
    "acquire_mode",
    0,
    1,
    says="whether a ShareFetch acquires whole batches, or max.poll.records at most",
    coded="0 for batch_optimized, 1 for record_limit",
)

CONSUMER_CONFIGS: tuple[AnySetting, ...] = (
    GROUP_ID,
    GROUP_INSTANCE_ID,
    GROUP_PROTOCOL,
    PARTITION_ASSIGNMENT_STRATEGY,
    CLIENT_RACK,
    AUTO_OFFSET_RESET,
    ISOLATION_LEVEL,
    MAX_POLL_RECORDS,
    MAX_POLL_INTERVAL_MS,
    SESSION_TIMEOUT_MS,
    HEARTBEAT_INTERVAL_MS,
    FETCH_MAX_WAIT_MS,
    FETCH_MIN_BYTES,
    FETCH_MAX_BYTES,
    MAX_PARTITION_FETCH_BYTES,
    SHARE_ACKNOWLEDGEMENT_MODE,
    SHARE_ACQUIRE_MODE,
)
