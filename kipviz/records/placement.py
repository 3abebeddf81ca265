"""The partition of an internal topic that holds a key, computed as Kafka computes it."""

from __future__ import annotations

from functools import lru_cache

TRANSACTION_STATE = "__transaction_state"
CONSUMER_OFFSETS = "__consumer_offsets"
SHARE_GROUP_STATE = "__share_group_state"
INTERNAL_TOPICS = (TRANSACTION_STATE, CONSUMER_OFFSETS, SHARE_GROUP_STATE)


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
def topic_of(partition: str) -> str:
    """Return the topic of a partition name: output-A-0 gives output-A."""
    return partition.rpartition("-")[0]


def index_of(partition: str) -> int:
    """Return the index of a partition name: output-A-0 gives 0."""
    return int(partition.rpartition("-")[2])


def share_partition_key(group_id: str, topic_id: str, index: int) -> str:
    """Return the key of a share-partition, group:topicId:partition (SharePartitionKey.asCoordinatorKey)."""
    return f"{group_id}:{topic_id}:{index}"
