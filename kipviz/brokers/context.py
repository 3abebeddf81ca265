"""What a handler of a broker's role receives, and what it returns.

A handler is a function from (its state, a message, the context) to `Effects`: plain data that the cluster carries out.
It changes nothing itself, so it can be read, tested and compared.
"""

from __future__ import annotations

from typing import Generic, TypeAlias, TypeVar

from kipviz.brokers.authorizer import Acl
from kipviz.brokers.checks import Check
from kipviz.brokers.logs.partition_log import PartitionLog, append
from kipviz.brokers.rules import BrokerRules
from kipviz.brokers.settings import BrokerSettings, GroupConfig, SimplifiedConsumers
from kipviz.core.model import Event
from kipviz.core.table import Table
from kipviz.core.values import Part, TextEnum, TextValue, Value
from kipviz.messages.cluster.features import DEAD_LETTER_LEVEL, Features
from kipviz.messages.cluster.releases import EVERYTHING, Release, release
from kipviz.messages.cluster.topic_configs import Configs
from kipviz.messages.message import Message
from kipviz.messages.transactions.transactions import TxnPartitions
from kipviz.records.batches import NO_TIMESTAMP, Batch
from kipviz.records.placement import (
    TRANSACTION_STATE,
    index_of,
    partition_for,
    share_partition_key,
    topic_of,
)

NOBODY = -1
# Used in place of a broker's id: no request is needed.
NOT_ASKED = -2


class Leadership(Value, frozen=True):
    """The leader of a partition, its leader epoch, and the live brokers that may take over."""

    leader: int
    epoch: int
    replicas: tuple[int, ...]


class Image(Part, frozen=True, cache_hash=True):
    """The cluster's metadata, as every live broker and client sees it.

    `min_insync_replicas` has the topics with a min.insync.replicas above 1. Only if there are any does it matter which
    brokers are `offline`: a replica is in sync as long as its broker runs. `transactional_groups` are (transactional
    id, group) of producers that are configured with a transactional.group.id (KIP-447, first draft). `topics_created`
    counts the topics that got their id from the controller, `topic_configs` are the configs that topics were given.

    NOT MODELLED: the time until each broker and client learns of a change; the Metadata and FindCoordinator round
    trips: a sender looks up the address at once. A request that is in flight when a leader moves still arrives at the
    old leader, which rejects it.
    """

    leaders: Table[str, Leadership]
    internal_partitions: int
    topic_ids: Table[str, str]
    group_configs: tuple[GroupConfig, ...] = ()
    dead_letter_topics: tuple[str, ...] = ()
    features: Features = Features()
    keeps_topic_ids: bool = False
    acls: tuple[Acl, ...] | None = None
    min_insync_replicas: tuple[tuple[str, int], ...] = ()
    offline: tuple[int, ...] = ()
    releases: tuple[tuple[int, str], ...] = ()
    transactional_groups: tuple[tuple[str, str], ...] = ()
    topics_created: int = 0
    topic_configs: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()

    def release_of(self, broker: int) -> Release:
        """Return the release that a broker runs, or ran when it was stopped."""
        return release(dict(self.releases).get(broker, "")) if self.releases else EVERYTHING

    def unsupporting(self, feature: str, level: int) -> tuple[int, ...]:
        """Return the brokers, running or not, whose releases do not support a level of a feature."""
        brokers = (broker for broker, _ in self.releases)
        return tuple(b for b in brokers if self.release_of(b).supports(feature) < level)

    def topic_id_of(self, topic: str) -> str:
        """Return the topic id that groups store, or "" if they store none."""
        return self.topic_ids.get(topic, "") if self.keeps_topic_ids else ""

    def leader_of(self, partition: str) -> int:
        """Return the broker that leads a partition, or -1."""
        found = self.leaders.get(partition)
        return found.leader if found else NOBODY

    def any_led(self) -> str:
        """Return a partition that has a leader, the first one of all, or ""."""
        return next((p for p, held in self.leaders.items() if held.leader != NOBODY), "")

    def has_enough_replicas(self, partition: str) -> bool:
        """Return whether a partition has min.insync.replicas replicas in sync.

        If not, its high watermark does not advance, and its leader rejects produce requests with acks=all. A topic with
        fewer replicas than that needs all of them. Source: Partition.effectiveMinIsr.
        """
        if not self.min_insync_replicas:
            return True
        least = next((n for t, n in self.min_insync_replicas if t == topic_of(partition)), 1)
        held = self.leaders.get(partition)
        if least < 2 or held is None:
            return True
        in_sync = [broker for broker in held.replicas if broker not in self.offline]
        return len(in_sync) >= min(least, len(held.replicas))

    def group_config(self, group_id: str) -> GroupConfig:
        """Return the configuration of a share group; without one of its own it has the defaults."""
        found = (c for c in self.group_configs if c.group_id == group_id)
        return next(found, None) or GroupConfig(group_id)

    def dead_letter_queue(self, group_id: str) -> str:
        """Return the topic that a group's archived records are copied to, or "" (KIP-1191)."""
        known = self.features.share_version >= DEAD_LETTER_LEVEL
        return self.group_config(group_id).dead_letter_topic if known else ""

    def home_of(self, topic: str, key: str) -> str:
        """Return the partition of an internal topic that holds a key."""
        return f"{topic}-{partition_for(key, self.internal_partitions)}"

    def share_key(self, group_id: str, partition: str) -> str:
        """Return a share-partition's key, group:topicId:partition. The topic id of a deleted topic is empty."""
        topic_id = self.topic_ids.get(topic_of(partition), "")
        return share_partition_key(group_id, topic_id, index_of(partition))

    def home_of_transactions(self, transactional_id: str) -> str:
        """Return the partition whose leader coordinates a producer's transactions.

        The key is the producer's transactional id, or its group (KIP-447, first draft: FindCoordinator by the group's
        id).
        """
        key = transactional_id
        if self.transactional_groups:
            key = dict(self.transactional_groups).get(key, key)
        return self.home_of(TRANSACTION_STATE, key)


class ReplyTo(Value, frozen=True):
    """Where a response goes: a connection and its incarnation."""

    source: str
    broker: int
    incarnation: int


class Reply(Value, frozen=True):
    """The response to a request that a broker holds."""

    to: ReplyTo
    message: Message


class MarkersOf(TextValue, frozen=True):
    """The tag of a request with markers: the first transaction in it, and the epoch of its coordinator."""

    TEXT = "%s %s"
    coordinator_epoch: int
    transactional_id: str


class TransactionQuestion(Value, frozen=True):
    """The tag of a question about a transaction: what is asked, and a number if there is an equal question."""

    asked: TxnPartitions
    number: str


Tag: TypeAlias = str | MarkersOf | TransactionQuestion
"""What comes back with a response to the role that sent the request."""


class Channel(TextEnum):
    """A broker's client that sends requests to other brokers: Kafka has one per purpose, each with its own connections.

    Its text is in the names of connections, which runs and links contain: it is never reworded.
    Sources: TransactionMarkerChannelManager, AddPartitionsToTxnManager, PersisterStateManager.
    """

    MARKERS = "markers"
    ADD_PARTITIONS = "add-partitions"
    PERSISTER = "persister"
    DEAD_LETTERS = "dlq"
    INITIALIZER = "initializer"
    OUTCOMES = "share-coordinator"

    @property
    def sender(self) -> str:
        """The words for the part of a broker that sends on it."""
        match self:
            case Channel.MARKERS:
                return "coordinator"
            case Channel.ADD_PARTITIONS:
                return "leader"
            case Channel.PERSISTER:
                return "share-partition leader"
            case Channel.DEAD_LETTERS:
                return "dead-letter producer"
            case Channel.INITIALIZER:
                return "group coordinator"
            case Channel.OUTCOMES:
                return "share coordinator"


class Request(Value, frozen=True):
    """A request from one broker to another; `tag` comes with the response, as a callback would."""

    channel: Channel
    broker: int
    message: Message
    role: str
    shard: str
    tag: Tag = ""


class LocalCall(Value, frozen=True):
    """A call into another role on the same broker, within the same step."""

    role: str
    shard: str
    message: Value


# The state of a role, or of a part of one.
S_co = TypeVar("S_co", covariant=True)
S = TypeVar("S")


class NewTopic(Value, frozen=True):
    """A topic to create, or partitions to add to one.

    `replicas` are those of each partition, the preferred leader first; the first one has the index `first`, which is 0
    for a new topic.
    """

    name: str
    topic_id: str
    replicas: tuple[tuple[int, ...], ...]
    first: int = 0
    configs: tuple[tuple[str, str], ...] = ()


class Controller(Value, frozen=True):
    """What the controller knows besides the image: the registered brokers, and those that run.

    `placed` are topics that the spec places, for a creation with the default numbers.
    """

    brokers: tuple[int, ...] = ()
    up: tuple[int, ...] = ()
    placed: tuple[NewTopic, ...] = ()


class Effects(Value, Generic[S_co], frozen=True):
    """What a handler wants done: its new state and everything that the cluster is to carry out.

    `given_up` are (partition, offset) of records whose writer no longer waits for the replicas. `deletes` are logs of
    its own and the offsets up to which their records are deleted, `forgets` are (partition, producer id) of producers
    that a log removes. `acls` are the ones in force from now on, `creates` topics to create, `drops` topics to delete, `configs` topics with all configs of their own from now on.
    `checks` is what was compared, in order (see `checks`).
    """

    state: S_co
    appends: tuple[tuple[str, Batch], ...] = ()
    replies: tuple[Reply, ...] = ()
    requests: tuple[Request, ...] = ()
    local: tuple[LocalCall, ...] = ()
    events: tuple[Event, ...] = ()
    new_producer_ids: int = 0
    given_up: tuple[tuple[str, int], ...] = ()
    deletes: tuple[tuple[str, int], ...] = ()
    forgets: tuple[tuple[str, int], ...] = ()
    acls: tuple[Acl, ...] | None = None
    creates: tuple[NewTopic, ...] = ()
    drops: tuple[str, ...] = ()
    configs: tuple[tuple[str, Configs], ...] = ()
    checks: tuple[Check, ...] = ()

    def after(self, checks: tuple[Check, ...]) -> Effects[S_co]:
        """Return the same effects with checks that were made before them."""
        return self.but(checks=(*checks, *self.checks)) if checks else self

    def with_state(self, state: S) -> Effects[S]:
        """Return the same effects with the state of another role, such as the role of a part that changed."""
        return self.but(state=state)  # type: ignore[return-value]  # `but` keeps the type of the former state


class Context(Value, frozen=True):
    """What a handler may read besides its own state; it can change none of it.

    `ages` is how many ms ago transactions began, where a timed clock counts that. `now_ms` is the timestamp for
    records, NO_TIMESTAMP if they carry none. `client_id` is the client.id in the header of the request that is handled.
    """

    broker: int
    image: Image
    logs: Table[str, PartitionLog]
    rules: BrokerRules
    next_producer_id: int
    settings: BrokerSettings = BrokerSettings()
    ages: tuple[tuple[str, int], ...] = ()
    now_ms: int = NO_TIMESTAMP
    simplified: SimplifiedConsumers = SimplifiedConsumers()
    controller: Controller = Controller()
    client_id: str = ""

    def began_ms(self, transactional_id: str) -> int:
        """Return how many ms ago a transaction began, or -1 where time is not counted."""
        return dict(self.ages).get(transactional_id, -1)

    def log(self, partition: str) -> PartitionLog:
        """Return the log of a partition that this broker leads."""
        return self.logs[partition]

    def delivery_count_limit(self, group_id: str) -> int:
        """Return the maximum number of deliveries of a share group's record."""
        own = self.image.group_config(group_id).delivery_count_limit
        return own or self.settings.delivery_count_limit

    def record_locks_max(self, group_id: str) -> int:
        """Return the maximum distance of a share-partition of a group, from its SPSO to its last offset."""
        own = self.image.group_config(group_id).record_locks_max
        return own or self.settings.record_locks_max

    def after(self, *parts: Effects[object]) -> Context:
        """Return the context as it is after the effects of earlier decisions of the same handler."""
        if not parts:
            return self
        logs, ids = self.logs, self.next_producer_id
        for part in parts:
            ids += part.new_producer_ids
            for partition, batch in part.appends:
                logs = logs.set(partition, append(logs[partition], batch))
        return self.but(logs=logs, next_producer_id=ids)


def with_effects(state: S, *parts: Effects[S]) -> Effects[S]:
    """Merge the effects of several decisions into one, with the last state."""
    # Most decisions only set a state, or are the only ones with other effects.
    parts = tuple(part for part in parts if part != Effects(part.state))
    if not parts:
        return Effects(state)
    if len(parts) == 1:
        (alone,) = parts
        return alone if alone.state is state else alone.with_state(state)
    appends: tuple[tuple[str, Batch], ...] = ()
    replies: tuple[Reply, ...] = ()
    requests: tuple[Request, ...] = ()
    local: tuple[LocalCall, ...] = ()
    events: tuple[Event, ...] = ()
    new_producer_ids = 0
    given_up: tuple[tuple[str, int], ...] = ()
    deletes: tuple[tuple[str, int], ...] = ()
    forgets: tuple[tuple[str, int], ...] = ()
    acls: tuple[Acl, ...] | None = None
    creates: tuple[NewTopic, ...] = ()
    drops: tuple[str, ...] = ()
    configs: tuple[tuple[str, Configs], ...] = ()
    checks: tuple[Check, ...] = ()
    for part in parts:
        acls = acls if part.acls is None else part.acls
        given_up += part.given_up
        appends += part.appends
        replies += part.replies
        requests += part.requests
        local += part.local
        events += part.events
        new_producer_ids += part.new_producer_ids
        deletes += part.deletes
        forgets += part.forgets
        creates += part.creates
        drops += part.drops
        configs += part.configs
        checks += part.checks
    return Effects(
        state,
        appends,
        replies,
        requests,
        local,
        events,
        new_producer_ids,
        given_up,
        deletes,
        forgets,
        acls,
        creates,
        drops,
        configs,
        checks,
    )
