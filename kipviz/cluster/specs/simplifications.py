"""What the model leaves out of Kafka, row by row: each row is one simplification.

A row of `CHOSEN` has two values, Kafka's and a simple one; a profile chooses between them (`abstraction`). A row of
`ALWAYS` applies to every cluster under every profile, unless its spec differs: the model has nothing else, or Kafka's
value is far beyond any run that can be followed step by step.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar

from kipviz.clients.application import STAGING, Call
from kipviz.clients.groups.subscribing import MODERN
from kipviz.cluster.specs.kafka_defaults import (
    CLASSIC,
    GIVEN,
    default_in_flight,
    default_protocol,
    default_reset,
    reads_by_session,
)
from kipviz.cluster.specs.spec import (
    INSTANT,
    MIN_INSYNC_REPLICAS,
    ApplicationSpec,
    ClusterSpec,
)
from kipviz.cluster.timing.clock import UNTIMED
from kipviz.core.values import Value
from kipviz.messages.groups.reset_policy import EARLIEST
from kipviz.records.classic_groups import RANGE
from kipviz.settings import (
    broker_configs,
    client_configs,
    consumer_configs,
    model_settings,
    topic_configs,
)
from kipviz.settings.broker_configs import LOG_RETENTION_MS


class Owner(StrEnum):
    """The owner of a row's field: an application, the cluster or its brokers; a row of the model itself has no field."""

    APPLICATION = "application"
    CLUSTER = "cluster"
    BROKERS = "brokers"
    MODEL = "model"


# The value of a field.
FieldValue: TypeAlias = str | int | tuple[str, ...] | tuple[tuple[str, int], ...] | None
# The spec that decides whether a row makes a difference: an application's, or the cluster's.
S = TypeVar("S")


class Simplification(Value, Generic[S], frozen=True):
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
    values: tuple[FieldValue, FieldValue] = (None, None)
    occurs: Callable[[S], bool] = lambda _: True
    default: Callable[[S], FieldValue] | None = None
    configures: bool = False

    @property
    def chosen(self) -> bool:
        """Whether a profile chooses; otherwise the row applies to every cluster."""
        return bool(self.field) and self.values[0] is not None

    def kafkas(self, holder: S) -> FieldValue:
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


OF_APPLICATIONS: tuple[Simplification[ApplicationSpec], ...] = (
    Simplification(
        Owner.APPLICATION,
        "protocol",
        consumer_configs.GROUP_PROTOCOL.name,
        "members join their groups",
        "members are in their groups before the run",
        "joins, rebalances, changed assignments, and fencing by a member epoch",
        "ConsumerConfig.DEFAULT_GROUP_PROTOCOL; KIP-848, KIP-932",
        (consumer_configs.GROUP_PROTOCOL.default, GIVEN),
        _reads,
        default_protocol,
    ),
    Simplification(
        Owner.APPLICATION,
        "auto_offset_reset",
        consumer_configs.AUTO_OFFSET_RESET.name,
        "a consumer without an offset begins at {}",
        "a consumer without an offset begins at the earliest record, without asking",
        "the round trip of ListOffsets, and records that a consumer skips because it begins at the end",
        "ConsumerConfig.AUTO_OFFSET_RESET_CONFIG; KIP-1106",
        (consumer_configs.AUTO_OFFSET_RESET.default, ""),
        _reads_regular,
        default_reset,
    ),
    Simplification(
        Owner.APPLICATION,
        "max_in_flight",
        client_configs.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION.name,
        "up to {} batches of a partition in flight",
        "one batch of a partition in flight",
        "batches that arrive after a failed one, and out-of-order sequence numbers among several batches",
        "ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION; KIP-98",
        (client_configs.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION.default, 1),
        _pipelines,
        default_in_flight,
        configures=True,
    ),
    Simplification(
        Owner.APPLICATION,
        "gathers",
        "ShareFetchBuffer",
        "a share consumer's poll() returns records of all partitions",
        "a share consumer's poll() returns records of one partition",
        "one acknowledgement for records of several partitions",
        "ShareConsumerImpl.collect; KIP-932",
        (True, False),
        _shares_several,
        reads_by_session,
    ),
    Simplification(
        Owner.APPLICATION,
        "by_session",
        "ShareSessionHandler",
        "one ShareFetch fetches all partitions of a share session",
        "one ShareFetch fetches one partition",
        "increasing session epochs, and partitions that a member adds to its session or removes from it",
        "ShareSessionHandler.newShareFetchBuilder; KIP-932",
        (True, False),
        _shares_several,
        reads_by_session,
    ),
    Simplification(
        Owner.APPLICATION,
        "max_records",
        consumer_configs.MAX_POLL_RECORDS.name,
        "poll() returns up to {} records",
        "poll() returns one record",
        "batches in which some records succeed and others fail",
        "ConsumerConfig.MAX_POLL_RECORDS_CONFIG",
        (consumer_configs.MAX_POLL_RECORDS.default, 1),
        _reads,
        configures=True,
    ),
    Simplification(
        Owner.APPLICATION,
        "assignors",
        consumer_configs.PARTITION_ASSIGNMENT_STRATEGY.name,
        "classic members know range and cooperative-sticky",
        "classic members know range alone",
        "the switch to cooperative rebalancing by rolling restarts",
        "ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG; KIP-429",
        (consumer_configs.PARTITION_ASSIGNMENT_STRATEGY.default, (RANGE,)),
        lambda app: app.protocol == CLASSIC and not app.share,
        configures=True,
    ),
)

OF_CLUSTERS: tuple[Simplification[ClusterSpec], ...] = (
    Simplification(
        Owner.CLUSTER,
        "look_up_topics",
        "ProducerMetadata",
        "a producer looks up the ids of topics whose offsets it sends",
        "a producer knows the id of every topic",
        "the Metadata request before TxnOffsetCommit, and outdated topic ids",
        "TransactionManager.sendOffsetsToTransaction; KIP-1319",
        (True, False),
        lambda spec: _any(_sends_offsets)(spec) and spec.txn_offset_commit >= spec.topic_ids_from,
        _can_look_up,
    ),
    Simplification(
        Owner.CLUSTER,
        model_settings.REPLICATION.name,
        "ReplicaFetcherThread",
        "followers fetch in steps of their own",
        "followers have a batch as soon as it is appended",
        "a leader that fails between an append and its replication",
        "ReplicaFetcherThread, Partition.maybeIncrementLeaderHW",
        (model_settings.REPLICATION.default, INSTANT),
    ),
    Simplification(
        Owner.CLUSTER,
        "min_insync_replicas",
        broker_configs.TRANSACTION_STATE_LOG_MIN_ISR.name,
        "__transaction_state needs two replicas in sync",
        "__transaction_state needs its leader alone",
        "a coordinator that cannot append while a follower is out of sync (NOT_ENOUGH_REPLICAS)",
        "TransactionLogConfig.TRANSACTIONS_TOPIC_MIN_ISR_CONFIG",
        (MIN_INSYNC_REPLICAS, ()),
        _of_transactions,
        configures=True,
    ),
)

# Kafka's value of a broker's setting depends on nothing: no row here has a `default`.
OF_BROKERS: tuple[Simplification[ClusterSpec], ...] = (
    Simplification(
        Owner.BROKERS,
        "asks_together",
        "AddPartitionsToTxnManager",
        "a broker batches waiting verifications into one AddPartitionsToTxn",
        "each verification is an AddPartitionsToTxn of its own",
        "a verification that waits for the response to an earlier one",
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
        "a client of another version with the same transactional id, and forged epochs",
        "ProducerStateManager.maybeCreateVerificationStateEntry; KIP-890",
        (True, False),
        _of_transactions,
    ),
    Simplification(
        Owner.BROKERS,
        "consumer_assignment_interval_ms",
        broker_configs.GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS.name,
        "a consumer group (KIP-848) keeps its target assignment for at least {} ms",
        "a consumer group (KIP-848) computes a target assignment with every change",
        "one target assignment for several changes of a group",
        "GroupCoordinatorConfig.CONSUMER_GROUP_ASSIGNMENT_INTERVAL_MS_CONFIG; KIP-1263",
        (broker_configs.GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS.default, 0),
        _any(lambda app: app.protocol == MODERN),
        configures=True,
    ),
    Simplification(
        Owner.BROKERS,
        "share_auto_offset_reset",
        topic_configs.SHARE_AUTO_OFFSET_RESET.name,
        "a share group begins at {}",
        "a share group begins at the earliest record",
        "records that producers sent before the first member joined",
        "GroupConfig.SHARE_AUTO_OFFSET_RESET_DEFAULT; KIP-932",
        (model_settings.SHARE_AUTO_OFFSET_RESET.default, EARLIEST),
        _begins_anywhere,
        configures=True,
    ),
)

Row: TypeAlias = Simplification[ApplicationSpec] | Simplification[ClusterSpec]
CHOSEN: tuple[Row, ...] = (*OF_APPLICATIONS, *OF_CLUSTERS, *OF_BROKERS)

ALWAYS: tuple[Simplification[object], ...] = (
    Simplification(
        Owner.CLUSTER,
        "clock.kind",
        "all timeouts",
        "a timer expires when its duration is over",
        "a timer can expire at any moment after it was set",
        "which orders of events the configured durations rule out; clock: timed applies the durations",
        "SystemTimer, Timer",
        (None, UNTIMED),
    ),
    Simplification(
        Owner.CLUSTER,
        "clock.stamps",
        topic_configs.MESSAGE_TIMESTAMP_TYPE.name,
        "a batch carries a timestamp",
        "a batch carries no timestamp",
        f"{LOG_RETENTION_MS.name}, by_duration and offsets by timestamp; a timed clock with stamps has them",
        "DefaultRecordBatch.maxTimestamp",
        (None, False),
    ),
    Simplification(
        Owner.CLUSTER,
        "clock.backs_off",
        client_configs.RETRY_BACKOFF_MS.name,
        "a client waits before it retries a transactional request or an OffsetFetch",
        "a producer, and a consumer in its group before the run, may retry it at once",
        "nothing while delays are arbitrary, because a longer delay has the same effect",
        "Sender.maybeSendAndPollTransactionalRequest, CommitRequestManager",
        (None, False),
    ),
    Simplification(
        Owner.APPLICATION,
        "read_uncommitted",
        consumer_configs.ISOLATION_LEVEL.name,
        "a consumer with the default isolation level reads uncommitted records",
        "a consumer reads only committed records",
        "a consumer that processes records of aborted transactions; read_uncommitted shows it",
        "ConsumerConfig.DEFAULT_ISOLATION_LEVEL; KIP-98",
        (None, False),
    ),
    Simplification(
        Owner.APPLICATION,
        "buffer",
        client_configs.BUFFER_MEMORY.name,
        "send() blocks while unsent and unacknowledged batches fill 32 MB",
        "the buffer holds any number of batches",
        "a send() that blocks for free memory; the field buffer limits the number of batches",
        "BufferPool.allocate",
        (None, 0),
    ),
    Simplification(
        Owner.BROKERS,
        "transactional_ids_expire",
        broker_configs.TRANSACTIONAL_ID_EXPIRATION_MS.name,
        "the coordinator removes an unused transactional id after a week",
        "the coordinator keeps every transactional id",
        "a producer that returns after a week",
        "TransactionStateManager; KIP-98",
        (None, False),
    ),
    Simplification(
        Owner.BROKERS,
        "offsets_expire",
        broker_configs.OFFSETS_RETENTION_MINUTES.name,
        "the group coordinator deletes the offsets of a group without members after a week",
        "offsets are kept",
        "a group that returns after a week",
        "GroupMetadataManager; KIP-211",
        (None, False),
    ),
    Simplification(
        Owner.BROKERS,
        "producer_ids_expire",
        broker_configs.PRODUCER_ID_EXPIRATION_MS.name,
        "a partition leader removes a producer id after a day without a batch",
        "a partition leader keeps every producer id",
        "a producer that sends nothing for a day",
        "ProducerStateManager.removeExpiredProducers; KIP-98",
        (None, False),
    ),
    Simplification(
        Owner.BROKERS,
        "state_upkeep",
        broker_configs.SHARE_COORDINATOR_STATE_TOPIC_PRUNE_INTERVAL_MS.name,
        "the share coordinator prunes __share_group_state and writes snapshots every five minutes",
        "the share coordinator keeps all records of its log",
        "a pruned __share_group_state",
        "ShareCoordinatorService; KIP-932",
        (None, False),
    ),
    Simplification(
        Owner.BROKERS,
        "targets_wait",
        "group.share.assignment.interval.ms",
        "a share group keeps its target assignment for at least one second",
        "a share group computes a target assignment with every change",
        "one target assignment for several changes of a share group",
        "KIP-1263",
        (None, False),
    ),
    Simplification(
        Owner.BROKERS,
        "log_retention_ms",
        broker_configs.LOG_RETENTION_MS.name,
        "a partition leader deletes segments after a week",
        "a partition leader keeps all records",
        "offsets out of range in a log that begins later; log_retention_ms has them on a timed clock",
        "UnifiedLog.deleteRetentionMsBreachedSegments",
        (None, -1),
    ),
    Simplification(
        Owner.BROKERS,
        "auto_create_topics",
        broker_configs.AUTO_CREATE_TOPICS_ENABLE.name,
        "a lookup creates a topic that does not exist",
        "a topic that does not exist stays unknown; a served cluster creates it",
        "topics that are created by a lookup, such as those with a misspelt name",
        "AutoTopicCreationManager",
        (None, False),
    ),
    Simplification(
        Owner.MODEL,
        "",
        "Metadata, FindCoordinator",
        "clients look up a leader or a coordinator, and may find the previous one",
        "clients always know the current leaders and coordinators",
        "requests to a previous coordinator; real clients of a served cluster look up both, and can send them",
        "MetadataResponse, FindCoordinatorRequest",
    ),
    Simplification(
        Owner.MODEL,
        "",
        "FetchSessionHandler",
        "a regular consumer keeps a fetch session with each broker, and fetches ahead of poll()",
        "a regular consumer names all of its partitions in each Fetch, and fetches in poll() alone",
        "fetch sessions of regular consumers (KIP-227), and several Fetch requests in flight",
        "FetchSessionHandler; KIP-227",
    ),
    Simplification(
        Owner.MODEL,
        "",
        "InFlightBatch",
        "records acquired together form one in-flight batch until their states differ",
        "each in-flight record has a state of its own",
        "the sizes of persisted state batches",
        "SharePartition.InFlightBatch; KIP-932",
    ),
    Simplification(
        Owner.MODEL,
        "",
        "ReplicaFetcherThread",
        "the leader tracks the position of each follower",
        "the leader has one position for all followers",
        "an in-sync replica that is behind another one, and in-sync sets that shrink",
        "Partition.maybeShrinkIsr",
    ),
    Simplification(
        Owner.MODEL,
        "",
        consumer_configs.GROUP_PROTOCOL.name,
        "a group can migrate from the classic to the consumer protocol and back",
        "a group keeps its protocol",
        "the online migration of KIP-848",
        "GroupMetadataManager.convertToConsumerGroup; KIP-848",
    ),
)
