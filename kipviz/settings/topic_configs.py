"""The settings of topics, and those of share groups that Kafka keeps in the metadata log."""

from __future__ import annotations

from kipviz.settings.setting_def import AnySetting, Owner, Place, SettingDef, Type

TOPIC, GROUP, G = Owner.TOPIC, Owner.GROUP, Place.GROUP

MIN_INSYNC_REPLICAS = SettingDef(
    "min.insync.replicas",
    TOPIC,
    Type.INT,
    1,
    "TopicConfig, LogConfig",
    lowest=1,
    says="how many replicas have to be in sync for an append with acks=all",
)
ERRORS_DEADLETTERQUEUE_GROUP_ENABLE = SettingDef(
    "errors.deadletterqueue.group.enable",
    TOPIC,
    Type.BOOLEAN,
    False,
    "KIP-1191",
    says="whether a topic accepts dead letters",
)
MESSAGE_TIMESTAMP_TYPE = SettingDef(
    "message.timestamp.type",
    TOPIC,
    Type.STRING,
    "CreateTime",
    "TopicConfig, LogConfig",
    says="whether a record has the time at which it was made, or that of its append",
)
REMOTE_STORAGE_ENABLE = SettingDef(
    "remote.storage.enable",
    TOPIC,
    Type.BOOLEAN,
    False,
    "TopicConfig; KIP-405",
    says="whether a log has its older segments in remote storage",
)
MAX_MESSAGE_BYTES = SettingDef(
    "max.message.bytes",
    TOPIC,
    Type.INT,
    1_048_588,
    "TopicConfig, LogConfig",
    unit="bytes",
    says="how large a batch may be",
)
INDEX_INTERVAL_BYTES = SettingDef(
    "index.interval.bytes",
    TOPIC,
    Type.INT,
    4_096,
    "TopicConfig, LogConfig",
    unit="bytes",
    says="how many bytes of a log lie between two entries of its offset index",
)

# "" means the brokers' start offset.
SHARE_AUTO_OFFSET_RESET = SettingDef(
    "share.auto.offset.reset",
    GROUP,
    Type.STRING,
    "latest",
    "GroupConfig; KIP-932",
    G,
    "auto_offset_reset",
    here="",
    says="where a share group starts in a partition",
)
SHARE_ISOLATION_LEVEL = SettingDef(
    "share.isolation.level",
    GROUP,
    Type.STRING,
    "read_uncommitted",
    "GroupConfig; KIP-932",
    G,
    "isolation_level",
    says="whether a share group reads records of open and aborted transactions",
)
# The two limits of a group are its own: 0, the default here, is the brokers' limit.
SHARE_DELIVERY_COUNT_LIMIT = SettingDef(
    "share.delivery.count.limit",
    GROUP,
    Type.INT,
    5,
    "GroupConfig; KIP-932",
    G,
    "delivery_count_limit",
    2,
    10,
    here=0,
    says="how many times a record of the group is delivered at most",
)
SHARE_PARTITION_MAX_RECORD_LOCKS = SettingDef(
    "share.partition.max.record.locks",
    GROUP,
    Type.INT,
    2_000,
    "GroupConfig; KIP-932",
    G,
    "record_locks_max",
    1,
    10_000,
    here=0,
    says="how many records of a share-partition may be in flight",
)
ERRORS_DEADLETTERQUEUE_TOPIC_NAME = SettingDef(
    "errors.deadletterqueue.topic.name",
    GROUP,
    Type.STRING,
    "",
    "GroupConfig; KIP-1191",
    G,
    "dead_letter_topic",
    says="the topic that gets the dead letters of a share group",
)
ERRORS_DEADLETTERQUEUE_COPY_RECORD_ENABLE = SettingDef(
    "errors.deadletterqueue.copy.record.enable",
    GROUP,
    Type.BOOLEAN,
    False,
    "GroupConfig; KIP-1191",
    G,
    "dead_letter_copy_record",
    says="whether a dead letter has the key and the value of its record",
)
SHARE_RENEW_ACKNOWLEDGE_ENABLE = SettingDef(
    "share.renew.acknowledge.enable",
    GROUP,
    Type.BOOLEAN,
    True,
    "GroupConfig; KIP-1222",
    G,
    "renew_acknowledge_enable",
    says="whether a member may renew an acquisition lock",
)

TOPIC_CONFIGS: tuple[AnySetting, ...] = (
    MIN_INSYNC_REPLICAS,
    ERRORS_DEADLETTERQUEUE_GROUP_ENABLE,
    MESSAGE_TIMESTAMP_TYPE,
    REMOTE_STORAGE_ENABLE,
    MAX_MESSAGE_BYTES,
    INDEX_INTERVAL_BYTES,
)
GROUP_CONFIGS: tuple[AnySetting, ...] = (
    SHARE_AUTO_OFFSET_RESET,
    SHARE_ISOLATION_LEVEL,
    SHARE_DELIVERY_COUNT_LIMIT,
    SHARE_PARTITION_MAX_RECORD_LOCKS,
    ERRORS_DEADLETTERQUEUE_TOPIC_NAME,
    ERRORS_DEADLETTERQUEUE_COPY_RECORD_ENABLE,
    SHARE_RENEW_ACKNOWLEDGE_ENABLE,
)
