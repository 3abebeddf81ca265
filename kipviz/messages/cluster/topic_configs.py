"""The configs of topics: Kafka's names, types and defaults, and which values are refused.

Source: LogConfig, ConfigurationControlManager; KIP-4 (CreateTopics), KIP-525 (configs in its response), KIP-1191.
NOT MODELLED: that a config has an effect, except min.insync.replicas, max.message.bytes and errors.deadletterqueue.group.enable; ranges
of numbers.
"""

from __future__ import annotations

from typing import TypeAlias

from kipviz.settings import topic_configs

ConfigValue: TypeAlias = bool | int | float | str
Configs: TypeAlias = tuple[tuple[str, str], ...]

_LONG_MAX = 2**63 - 1
_WEEK_MS = 7 * 24 * 60 * 60 * 1000
# Those that the model has settings for are among them, under the names that these have.
DEFAULTS: dict[str, ConfigValue] = {
    "cleanup.policy": "delete",
    "compression.gzip.level": -1,
    "compression.lz4.level": 9,
    "compression.type": "producer",
    "compression.zstd.level": 3,
    "delete.retention.ms": 24 * 60 * 60 * 1000,
    topic_configs.ERRORS_DEADLETTERQUEUE_GROUP_ENABLE.name: False,
    "file.delete.delay.ms": 60_000,
    "flush.messages": _LONG_MAX,
    "flush.ms": _LONG_MAX,
    "follower.replication.throttled.replicas": "",
    topic_configs.INDEX_INTERVAL_BYTES.name: topic_configs.INDEX_INTERVAL_BYTES.default,
    "leader.replication.throttled.replicas": "",
    "local.retention.bytes": -2,
    "local.retention.ms": -2,
    "max.compaction.lag.ms": _LONG_MAX,
    topic_configs.MAX_MESSAGE_BYTES.name: topic_configs.MAX_MESSAGE_BYTES.default,
    "message.timestamp.after.max.ms": 3_600_000,
    "message.timestamp.before.max.ms": _LONG_MAX,
    topic_configs.MESSAGE_TIMESTAMP_TYPE.name: "CreateTime",
    "min.cleanable.dirty.ratio": 0.5,
    "min.compaction.lag.ms": 0,
    topic_configs.MIN_INSYNC_REPLICAS.name: 1,
    "preallocate": False,
    "remote.log.copy.disable": False,
    "remote.log.delete.on.disable": False,
    topic_configs.REMOTE_STORAGE_ENABLE.name: False,
    "retention.bytes": -1,
    "retention.ms": _WEEK_MS,
    "segment.bytes": 1 << 30,
    "segment.index.bytes": 10 * 1024 * 1024,
    "segment.jitter.ms": 0,
    "segment.ms": _WEEK_MS,
    "unclean.leader.election.enable": False,
}
LISTS = (
    "cleanup.policy",
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
)
_INTS = (
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.zstd.level",
    topic_configs.INDEX_INTERVAL_BYTES.name,
    topic_configs.MAX_MESSAGE_BYTES.name,
    topic_configs.MIN_INSYNC_REPLICAS.name,
    "segment.bytes",
    "segment.index.bytes",
)
# The values of those configs that have only a few.
_VALUES: dict[str, tuple[str, ...]] = {
    "cleanup.policy": ("compact", "delete"),
    "compression.type": ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    topic_configs.MESSAGE_TIMESTAMP_TYPE.name: ("CreateTime", "LogAppendTime"),
}


def why_invalid(configs: tuple[tuple[str, str | None], ...]) -> str:
    """Return Kafka's sentence about the first config that a topic cannot have, or "".

    Source: ReplicationControlManager.computeConfigChanges, LogConfig.validateNames, ConfigDef.parseType.
    """
    missing = [name for name, value in configs if value is None]
    if missing:
        return f"Null value not supported for topic configs: {','.join(missing)}"
    for name, _ in configs:
        if name not in DEFAULTS:
            return f"Unknown topic config name: {name}"
    return next(filter(None, (_why_not(name, value or "") for name, value in configs)), "")


def _why_not(name: str, value: str) -> str:
    default, wrong = DEFAULTS[name], f"Invalid value {value} for configuration {name}: "
    if isinstance(default, bool):
        return (
            ""
            if value.lower() in ("true", "false")
            else f"{wrong}Expected value to be either true or false"
        )
    if isinstance(default, int | float):
        kind = float if isinstance(default, float) else int
        try:
            kind(value)
        except ValueError:
            return f"{wrong}Not a number of type {'DOUBLE' if kind is float else 'LONG'}"
        return ""
    known = _VALUES.get(name)
    if known and not all(each.strip() in known for each in value.split(",")):
        return f"{wrong}String must be one of: {', '.join(known)}"
    return ""


def type_of(name: str) -> int:
    """Return the number of a config's type (DescribeConfigsResponse.ConfigType)."""
    default = DEFAULTS[name]
    if isinstance(default, bool):
        return 1
    if isinstance(default, str):
        return 7 if name in LISTS else 2
    if isinstance(default, float):
        return 6
    return 3 if name in _INTS else 5


def write_value(value: ConfigValue) -> str:
    """Return a value as Kafka writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def min_insync_replicas(configs: Configs) -> int:
    """Return the min.insync.replicas of a topic with these configs."""
    setting = topic_configs.MIN_INSYNC_REPLICAS
    return int(dict(configs).get(setting.name, setting.default))


def max_message_bytes(configs: Configs) -> int:
    """Return the max.message.bytes of a topic with these configs."""
    setting = topic_configs.MAX_MESSAGE_BYTES
    return int(dict(configs).get(setting.name, setting.default))


def is_only_compacted(configs: Configs) -> bool:
    """Return whether the records of a topic with these configs are compacted and never deleted."""
    return "delete" not in dict(configs).get("cleanup.policy", "delete")


def allows_dead_letters(configs: Configs) -> bool:
    """Return whether a topic with these configs accepts dead letters."""
    name = topic_configs.ERRORS_DEADLETTERQUEUE_GROUP_ENABLE.name
    return dict(configs).get(name, "").lower() == "true"
