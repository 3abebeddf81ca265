"""What the model leaves out of Kafka, row by row: each row is one simplification.

A row of `CHOSEN` has two values, Kafka's and a simple one; a profile chooses between them (`abstraction`). A row of
`ALWAYS` applies to every cluster under every profile, unless its spec differs: the model has nothing else, or Kafka's
value is far beyond any run that can be followed step by step.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from kipviz.clients.application import STAGING, Call
from kipviz.clients.groups.subscribing import MODERN
from kipviz.clients.sending.in_flight import MAX_IN_FLIGHT
from kipviz.cluster.specs.kafka_defaults import (
    CLASSIC,
    GIVEN,
    MAX_POLL_RECORDS,
    default_in_flight,
    default_protocol,
    default_reset,
    reads_by_session,
)
from kipviz.cluster.specs.spec import (
    INSTANT,
    MIN_INSYNC_REPLICAS,
    STEPWISE,
    ApplicationSpec,
    ClusterSpec,
)
from kipviz.cluster.timing.clock import UNTIMED
from kipviz.core.values import Value
from kipviz.messages.reset_policy import EARLIEST, LATEST
from kipviz.records.classic_groups import COOPERATIVE_STICKY, RANGE


class Owner(StrEnum):
    """The owner of a row's field: an application, the cluster or its brokers; a row of the model itself has no field."""

    APPLICATION = "application"
    CLUSTER = "cluster"
    BROKERS = "brokers"
    MODEL = "model"


class Simplification(Value, frozen=True):
    """One thing that a cluster of the model may leave out.

    Attributes:
        owner: the owner of the field.
        field: the field's name, "clock.kind" for one inside another; "" without a field.
        setting: Kafka's name of it, a setting or the class that does it.
        kafka: what Kafka does, in words; "{}" stands for the value.
        small: what is there instead.
        lost: what can then not be seen.
        source: the KIP or class.
        values: Kafka's value and the simple one. A row of every cluster has only the simple one, in second place.
        configures: whether the simple value is one that Kafka can be configured with, too.
        occurs: whether it makes a difference for an application or a cluster.
        default: Kafka's value for one application or cluster, the simple one where the model has no other; None means
            the first of `values`.
    """

    owner: Owner
    field: str
    setting: str
    kafka: str
    small: str
    lost: str
    source: str
    values: tuple[Any, Any] = (None, None)
    occurs: Callable[[Any], bool] = lambda _: True
    default: Callable[[Any], Any] | None = None
    configures: bool = False

    @property
    def chosen(self) -> bool:
        """Whether a profile chooses; otherwise the row applies to every cluster."""
        return bool(self.field) and self.values[0] is not None

    def kafkas(self, holder: Any) -> Any:
        """Return Kafka's value for an application or a cluster, the simple one where the model has no other."""
        return self.values[0] if self.default is None else self.default(holder)


def _reads(app: ApplicationSpec) -> bool:
    return any(line.call is Call.POLL for line in app.program)


def _reads_regular(app: ApplicationSpec) -> bool:
    return not app.share and _reads(app)


def _transactional(app: ApplicationSpec) -> bool:
    return not app.admin and app.plain is None


def _pipelines(app: ApplicationSpec) -> bool:
    return _transactional(app) and any(line.call is Call.SEND for line in app.program)


def _shares_several(app: ApplicationSpec) -> bool:
    return app.share and bool(app.further_sources)


def _any(of: Callable[[ApplicationSpec], bool]) -> Callable[[ClusterSpec], bool]:
    """Return whether it occurs in a cluster: in an application, or possibly in an external client."""
    return lambda spec: not spec.applications or any(of(app) for app in spec.applications)


_of_transactions = _any(_transactional)


def _sends_offsets(app: ApplicationSpec) -> bool:
    calls = {line.call for line in app.program}
    return _transactional(app) and Call.SEND_OFFSETS in calls and calls.isdisjoint(STAGING)


def _can_look_up(spec: ClusterSpec) -> bool:
    return not any(app.threads and app.session is None for app in spec.applications)


def _begins_anywhere(spec: ClusterSpec) -> bool:
    named = {c.group_id for c in spec.group_configs if c.auto_offset_reset}
    return _any(lambda app: app.share and app.group_id not in named)(spec)


CHOSEN: tuple[Simplification, ...] = (
    Simplification(
        Owner.APPLICATION,
        "protocol",
        "group.protocol",
        "members join their groups",
        "members are in their groups before the run",
        "joining, rebalances, assignments that change, and fencing by the epoch of a member",
        "ConsumerConfig.DEFAULT_GROUP_PROTOCOL; KIP-848, KIP-932",
        (CLASSIC, GIVEN),
        _reads,
        default_protocol,
    ),
    Simplification(
        Owner.APPLICATION,
        "auto_offset_reset",
        "auto.offset.reset",
        "a consumer without an offset begins at {}",
        "a consumer without an offset begins at the earliest record, without asking",
        "the round trip of ListOffsets, and records that a consumer passes over when it begins at the end",
        "ConsumerConfig.AUTO_OFFSET_RESET_CONFIG; KIP-1106",
        (LATEST, ""),
        _reads_regular,
        default_reset,
    ),
    Simplification(
        Owner.APPLICATION,
        "max_in_flight",
        "max.in.flight.requests.per.connection",
        "up to {} batches of a partition in flight",
        "one batch of a partition in flight",
        "batches that arrive behind one that failed, and what the sequence numbers of several do to each other",
        "ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION; KIP-98",
        (MAX_IN_FLIGHT, 1),
        _pipelines,
        default_in_flight,
        configures=True,
    ),
    Simplification(
        Owner.APPLICATION,
        "gathers",
        "ShareFetchBuffer",
        "poll() of a share consumer returns what all partitions have",
        "poll() of a share consumer returns records of one partition",
        "a batch of several partitions that is acknowledged as one",
        "ShareConsumerImpl.collect; KIP-932",
        (True, False),
        _shares_several,
        reads_by_session,
    ),
    Simplification(
        Owner.APPLICATION,
        "by_session",
        "ShareSessionHandler",
        "one ShareFetch asks a broker for a whole share session",
        "one ShareFetch asks for one partition",
        "session epochs that count on, and partitions that are added to a session or leave it",
        "ShareSessionHandler.newShareFetchBuilder; KIP-932",
        (True, False),
        _shares_several,
        reads_by_session,
    ),
    Simplification(
        Owner.APPLICATION,
        "max_records",
        "max.poll.records",
        "poll() returns up to {} records",
        "poll() returns one record",
        "batches in which some records succeed and others fail",
        "ConsumerConfig.MAX_POLL_RECORDS_CONFIG",
        (MAX_POLL_RECORDS, 1),
        _reads,
        configures=True,
    ),
    Simplification(
        Owner.APPLICATION,
        "assignors",
        "partition.assignment.strategy",
        "classic members know range and cooperative-sticky",
        "classic members know range alone",
        "a change to cooperative rebalances by rolling restarts",
        "ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG; KIP-429",
        ((RANGE, COOPERATIVE_STICKY), (RANGE,)),
        lambda app: app.protocol == CLASSIC and not app.share,
        configures=True,
    ),
    Simplification(
        Owner.CLUSTER,
        "look_up_topics",
        "ProducerMetadata",
        "a producer looks up the ids of topics whose offsets it sends",
        "a producer knows the id of every topic",
        "the Metadata request before TxnOffsetCommit, and ids that are out of date",
        "TransactionManager.sendOffsetsToTransaction; KIP-1319",
        (True, False),
        lambda spec: _any(_sends_offsets)(spec) and spec.txn_offset_commit >= spec.topic_ids_from,
        _can_look_up,
    ),
    Simplification(
        Owner.CLUSTER,
        "replication",
        "ReplicaFetcherThread",
        "followers fetch in steps of their own",
        "followers have a batch as soon as it is appended",
        "leaders that fail between an append and its replication",
        "ReplicaFetcherThread, Partition.maybeIncrementLeaderHW",
        (STEPWISE, INSTANT),
    ),
    Simplification(
        Owner.CLUSTER,
        "min_insync_replicas",
        "transaction.state.log.min.isr",
        "__transaction_state needs two replicas in sync",
        "__transaction_state needs its leader alone",
        "coordinators that cannot append while a follower is away (NOT_ENOUGH_REPLICAS)",
        "TransactionLogConfig.TRANSACTIONS_TOPIC_MIN_ISR_CONFIG",
        (MIN_INSYNC_REPLICAS, ()),
        _of_transactions,
        configures=True,
    ),
    Simplification(
        Owner.BROKERS,
        "asks_together",
        "AddPartitionsToTxnManager",
        "a broker gathers the verifications that wait into one AddPartitionsToTxn",
        "each verification is an AddPartitionsToTxn of its own",
        "verifications that wait for the answer to another transaction's",
        "AddPartitionsToTxnManager; KIP-890",
        (True, False),
        _of_transactions,
    ),
    Simplification(
        Owner.BROKERS,
        "remembers_verifications",
        "VerificationStateEntry",
        "a leader keeps every verification",
        "a leader forgets a verification that only other clients could notice",
        "clients of another version with the same transactional id, and forged epochs",
        "ProducerStateManager.maybeCreateVerificationStateEntry; KIP-890",
        (True, False),
        _of_transactions,
    ),
    Simplification(
        Owner.BROKERS,
        "consumer_assignment_interval_ms",
        "group.consumer.assignment.interval.ms",
        "a group of KIP-848 keeps a target for {} ms at least",
        "a group of KIP-848 makes a target with every change",
        "several changes of a group that become one target",
        "GroupCoordinatorConfig.CONSUMER_GROUP_ASSIGNMENT_INTERVAL_MS_CONFIG; KIP-1263",
        (1_000, 0),
        _any(lambda app: app.protocol == MODERN),
        configures=True,
    ),
    Simplification(
        Owner.BROKERS,
        "share_auto_offset_reset",
        "share.auto.offset.reset",
        "a share group begins at {}",
        "a share group begins at the earliest record",
        "records that were written before the first member came",
        "GroupConfig.SHARE_AUTO_OFFSET_RESET_DEFAULT; KIP-932",
        (LATEST, EARLIEST),
        _begins_anywhere,
        configures=True,
    ),
)

ALWAYS: tuple[Simplification, ...] = (
    Simplification(
        Owner.CLUSTER,
        "clock.kind",
        "every time-out",
        "a timer runs out when its time is over",
        "a timer may run out at any moment after it was set",
        "which orders of events the configured durations rule out; clock: timed shows those",
        "SystemTimer, Timer",
        (None, UNTIMED),
    ),
    Simplification(
        Owner.CLUSTER,
        "clock.stamps",
        "message.timestamp.type",
        "a batch carries the time at which it was written",
        "a batch carries no time",
        "log.retention.ms, by_duration and look-ups by time; a timed clock with stamps has them",
        "DefaultRecordBatch.maxTimestamp",
        (None, False),
    ),
    Simplification(
        Owner.CLUSTER,
        "clock.backs_off",
        "retry.backoff.ms",
        "a sender rests before it sends a transactional request again",
        "a sender may send it again at once",
        "nothing where delays are free, because a longer delay says the same",
        "Sender.maybeSendAndPollTransactionalRequest",
        (None, False),
    ),
    Simplification(
        Owner.APPLICATION,
        "read_uncommitted",
        "isolation.level",
        "a consumer that nobody configures reads uncommitted records",
        "a consumer reads committed records",
        "records of aborted transactions in a consumer's hands; read_uncommitted shows them",
        "ConsumerConfig.DEFAULT_ISOLATION_LEVEL; KIP-98",
        (None, False),
    ),
    Simplification(
        Owner.APPLICATION,
        "buffer",
        "buffer.memory",
        "send() waits where 32 MB of batches are on the way",
        "there is room for any number of batches",
        "a send() that waits for room; buffer has it in batches",
        "BufferPool.allocate",
        (None, 0),
    ),
    Simplification(
        Owner.BROKERS,
        "transactional_ids_expire",
        "transactional.id.expiration.ms",
        "a transactional id is forgotten after a week",
        "a transactional id is kept",
        "producers that come back after a week",
        "TransactionStateManager; KIP-98",
        (None, False),
    ),
    Simplification(
        Owner.BROKERS,
        "offsets_expire",
        "offsets.retention.minutes",
        "offsets of a group without members are forgotten after a week",
        "offsets are kept",
        "groups that come back after a week",
        "GroupMetadataManager; KIP-211",
        (None, False),
    ),
    Simplification(
        Owner.BROKERS,
        "producer_ids_expire",
        "producer.id.expiration.ms",
        "a log forgets a producer after a day without a batch",
        "a log keeps every producer",
        "producers that are silent for a day",
        "ProducerStateManager.removeExpiredProducers; KIP-98",
        (None, False),
    ),
    Simplification(
        Owner.BROKERS,
        "state_upkeep",
        "share.coordinator.state.topic.prune.interval.ms",
        "__share_group_state is pruned and snapshots are written every five minutes",
        "the log keeps what it has",
        "a log of share states that begins later",
        "ShareCoordinatorService; KIP-932",
        (None, False),
    ),
    Simplification(
        Owner.BROKERS,
        "targets_wait",
        "group.share.assignment.interval.ms",
        "a share group keeps a target for a second at least",
        "a share group makes a target with every change",
        "several changes of a share group that become one target",
        "KIP-1263",
        (None, False),
    ),
    Simplification(
        Owner.BROKERS,
        "log_retention_ms",
        "log.retention.ms",
        "segments are deleted after a week",
        "records are kept",
        "offsets out of range because a log begins later; log_retention_ms has it on a timed clock",
        "UnifiedLog.deleteRetentionMsBreachedSegments",
        (None, -1),
    ),
    Simplification(
        Owner.MODEL,
        "",
        "Metadata, FindCoordinator",
        "clients ask where a leader or a coordinator is, and may be told the old one",
        "clients know the leaders and coordinators of the moment",
        "requests to a broker that was the coordinator before, but for real clients of a served cluster",
        "MetadataResponse, FindCoordinatorRequest",
    ),
    Simplification(
        Owner.MODEL,
        "",
        "FetchResponse",
        "an answer to a regular consumer's fetch has records of several partitions",
        "an answer to a regular consumer's fetch has records of one partition",
        "fetch sessions of regular consumers (KIP-227)",
        "FetchSessionHandler; KIP-227",
    ),
    Simplification(
        Owner.MODEL,
        "",
        "InFlightBatch",
        "records that were acquired together are one in-flight batch until they differ",
        "each in-flight record stands alone",
        "the sizes of persisted state batches",
        "SharePartition.InFlightBatch; KIP-932",
    ),
    Simplification(
        Owner.MODEL,
        "",
        "ReplicaFetcherThread",
        "each follower has a position of its own",
        "followers are not told apart",
        "an in-sync replica that is behind another one, and shrinking in-sync sets",
        "Partition.maybeShrinkIsr",
    ),
    Simplification(
        Owner.MODEL,
        "",
        "group.protocol",
        "a group may go from classic to consumer and back",
        "a group speaks one protocol for good",
        "the online migration of KIP-848",
        "GroupMetadataManager.convertToConsumerGroup; KIP-848",
    ),
)
