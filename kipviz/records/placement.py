"""The partition of an internal topic that holds a key, computed as Kafka computes it."""

from __future__ import annotations

import re
from functools import lru_cache

TRANSACTION_STATE = "__transaction_state"
CONSUMER_OFFSETS = "__consumer_offsets"
SHARE_GROUP_STATE = "__share_group_state"
INTERNAL_TOPICS = (TRANSACTION_STATE, CONSUMER_OFFSETS, SHARE_GROUP_STATE)
TOPIC_NAME_MAX = 249  # Topic.MAX_NAME_LENGTH
_LEGAL_CHARS = re.compile(r"[a-zA-Z0-9._-]+")


def java_hash(text: str) -> int:
    """Return Java's 32-bit String.hashCode, h = 31 * h + unit over the UTF-16 code units."""
    h = 0
    units = text.encode("utf-16-be")
    for i in range(0, len(units), 2):
        h = (31 * h + (units[i] << 8 | units[i + 1])) & 0xFFFFFFFF
    return h - (1 << 32) if h & 0x80000000 else h


@lru_cache(maxsize=4096)
def partition_for(key: str, partitions: int) -> int:
    """Return the partition of an internal topic that holds a key: abs(hash) mod count.

    Source: org.apache.kafka.common.utils.Utils.abs, which maps the smallest int to 0.
    """
    h = java_hash(key)
    return (0 if h == -(1 << 31) else abs(h)) % partitions


@lru_cache(maxsize=4096)
def why_invalid_name(topic: str) -> str:
    """Return why no topic can have a name, "" if one can. Source: org.apache.kafka.common.internals.Topic.validate."""
    if not topic:
        return "the empty string is not allowed"
    if topic in (".", ".."):
        return f"'{topic}' is not allowed"
    if len(topic) > TOPIC_NAME_MAX:
        return f"the length of '{topic}' is longer than the max allowed length {TOPIC_NAME_MAX}"
    if not _LEGAL_CHARS.fullmatch(topic):
        return f"'{topic}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return ""


def topic_of(partition: str) -> str:
    """Return the topic of a partition name: output-A-0 gives output-A."""
    return partition.rpartition("-")[0]


def index_of(partition: str) -> int:
    """Return the index of a partition name: output-A-0 gives 0."""
    return int(partition.rpartition("-")[2])


def share_partition_key(group_id: str, topic_id: str, index: int) -> str:
    """Return the key of a share-partition, group:topicId:partition (SharePartitionKey.asCoordinatorKey)."""
    return f"{group_id}:{topic_id}:{index}"
