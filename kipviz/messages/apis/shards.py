"""The partition whose leader a request is sent to, by what the request names.

A row of an API names one of these shards, and mypy rejects a shard whose field its request lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from kipviz.messages.groups.several_groups import OfGroups, groups_of
from kipviz.messages.logs.list_offsets import ListOffsets
from kipviz.messages.logs.producing import Fetch, Produce
from kipviz.messages.shares.share_state import StatesRequest
from kipviz.messages.transactions.admin import DescribeProducers, DescribeTransactions
from kipviz.messages.transactions.transactions import AddPartitionsToTxn, WriteTxnMarkers
from kipviz.records.placement import CONSUMER_OFFSETS, SHARE_GROUP_STATE


class Placed(Protocol):
    """The cluster's metadata, as far as the place of a key depends on it."""

    def home_of(self, topic: str, key: str) -> str:
        """Return the partition of an internal topic that holds a key."""

    def home_of_transactions(self, transactional_id: str) -> str:
        """Return the partition whose leader coordinates a producer's transactions."""

    def any_led(self) -> str:
        """Return a partition that has a leader, or ""."""


class NamesTransaction(Protocol):
    """A request of one producer; a producer without a transactional id has None."""

    @property
    def transactional_id(self) -> str | None:
        """The transactional id."""


class NamesGroup(Protocol):
    """A request about one group."""

    @property
    def group_id(self) -> str:
        """The group."""


class NamesKey(Protocol):
    """A request about the state of one share-partition."""

    @property
    def key(self) -> str:
        """The share-partition's key."""


class NamesPartition(Protocol):
    """A request about one partition, or a part of a request that is about one."""

    @property
    def partition(self) -> str:
        """The partition."""


class NamesPartitions(Protocol):
    """A request about several partitions."""

    @property
    def partitions(self) -> Sequence[NamesPartition]:
        """The parts, each about one partition."""


Q_contra = TypeVar("Q_contra", contravariant=True)


@dataclass(frozen=True, eq=False)
class ShardBy(Generic[Q_contra]):
    """How requests of one form name the partition whose leader they are for."""

    name: str
    partition: Callable[[Q_contra, Placed], str]

    def __str__(self) -> str:
        return self.name


def _by_transactional_id(m: NamesTransaction, image: Placed) -> str:
    name = m.transactional_id
    return image.any_led() if name is None else image.home_of_transactions(name)


def _by_first_transaction(m: AddPartitionsToTxn, image: Placed) -> str:
    return image.home_of_transactions(m.transactions[0].transactional_id)


def _by_first_transactional_id(m: DescribeTransactions, image: Placed) -> str:
    return image.home_of_transactions(m.transactional_ids[0])


def _by_group(m: NamesGroup, image: Placed) -> str:
    return image.home_of(CONSUMER_OFFSETS, m.group_id)


def _by_first_group(m: OfGroups, image: Placed) -> str:
    return image.home_of(CONSUMER_OFFSETS, groups_of(m)[0])


def _by_key(m: NamesKey, image: Placed) -> str:
    return image.home_of(SHARE_GROUP_STATE, m.key)


def _by_first_key(m: StatesRequest, image: Placed) -> str:
    return image.home_of(SHARE_GROUP_STATE, m.partitions[0].key)


def _by_partition(m: NamesPartition, image: Placed) -> str:
    return m.partition


def _by_first_part(m: Produce | Fetch | ListOffsets | DescribeProducers, image: Placed) -> str:
    if isinstance(m, DescribeProducers):
        return m.partitions[0]
    parts = m.partition_data if isinstance(m, Produce) else m.partitions
    return parts[0].partition


def _by_first_of_partitions(m: NamesPartitions, image: Placed) -> str:
    return m.partitions[0].partition


def _by_first_marker(m: WriteTxnMarkers, image: Placed) -> str:
    return m.markers[0].partitions[0]


def _by_anybody(m: object, image: Placed) -> str:
    return image.any_led()


def _by_broker(m: object, image: Placed) -> str:
    raise AssertionError(f"{type(m).__name__} is for a broker, whatever that leads")


class Shard:
    """The partition whose leader a request is sent to.

    `TRANSACTIONAL_ID`, `GROUP` and `KEY` (of a share-partition) are keys of partitions in the coordinators' topics;
    `TRANSACTIONAL_IDS`, `TRANSACTIONS`, `GROUPS` and `KEYS` are several such keys, and with more than one KafkaApis
    passes each to its coordinator.
    `PARTITION` is the partition that the request names; `PARTITIONS` are several, and with more than one KafkaApis
    passes each to its leader; `ONE_LEADER` are several that one broker leads. `FIRST_PARTITION` is the first one of its
    markers. `ANY` is any partition: every broker serves the request, also one without a transactional id. `BROKER`
    means the broker that its sender addresses, whatever it names.
    """

    TRANSACTIONAL_ID = ShardBy("transactional id", _by_transactional_id)
    TRANSACTIONAL_IDS = ShardBy("transactional ids", _by_first_transactional_id)
    TRANSACTIONS = ShardBy("transactions", _by_first_transaction)
    GROUP = ShardBy("group", _by_group)
    GROUPS = ShardBy("groups", _by_first_group)
    KEY = ShardBy("key", _by_key)
    KEYS = ShardBy("keys", _by_first_key)
    PARTITION = ShardBy("partition", _by_partition)
    PARTITIONS = ShardBy("partitions", _by_first_part)
    ONE_LEADER = ShardBy("partitions of one leader", _by_first_of_partitions)
    FIRST_PARTITION = ShardBy("first partition", _by_first_marker)
    ANY = ShardBy("any", _by_anybody)
    BROKER = ShardBy("broker", _by_broker)
