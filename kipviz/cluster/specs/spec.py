"""The spec of a cluster: what exists in it, and its level of detail."""

from __future__ import annotations

from typing import Self

from msgspec.structs import force_setattr

from kipviz.brokers.authorizer import Acl
from kipviz.brokers.settings import (
    BrokerSettings,
    GroupConfig,
    SimplifiedConsumers,
)
from kipviz.clients.application import Line
from kipviz.clients.groups.subscribing import MODERN
from kipviz.cluster.specs import kafka_defaults
from kipviz.cluster.specs.kafka_defaults import CLASSIC
from kipviz.cluster.timing.clock import Clock
from kipviz.core.values import Value
from kipviz.messages.cluster.features import STAGING_LEVEL
from kipviz.messages.shares.share_groups import BATCH_OPTIMIZED
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.records.transaction_state import TransactionRecord
from kipviz.settings import broker_configs, client_configs, consumer_configs, model_settings

KAFKA_VERSION = "4.4.0"
TRANSACTION_VERSION = broker_configs.TRANSACTION_VERSION.ours
TRANSACTION_VERSIONS = (0, 1, 2)
# The newest level of share.version that is shipped.
SHARE_VERSION = 2
# How the consumer of a regular group becomes a member of it (group.protocol).
PROTOCOLS = ("", MODERN, CLASSIC)
INSTANT, STEPWISE = "instant", "stepwise"
MIN_INSYNC_REPLICAS = ((TRANSACTION_STATE, broker_configs.TRANSACTION_STATE_LOG_MIN_ISR.ours),)

# The fields that decide which producer a process has, and with it the default of max_in_flight.
_KIND_OF_PRODUCER = frozenset({"admin", "plain", "session"})

# The highest age of a transaction that is counted for an operator's query.
OLDEST_MS = 3_600_000


class FaultBudget(Value, frozen=True):
    """How many faults of each kind may still happen. Repairs are free.

    `expire_lock`, `time_out` and `run_out` are timers that expire: with an untimed clock a timer may expire at any
    moment after it was set, so a search needs a bound for them as for faults. With a timed clock, time stops before a
    timer that is not allowed to expire. So are the clients' `request_timeout` (a request stays in flight, its
    connection is abandoned) and `delivery_timeout` (a batch expires). `upgrade` is an operator's change of a feature
    level, `pause` a paused host, `acls` an operator's change of one ACL, `restart` a broker that is stopped to install
    another release, `max_block` a blocking call of a producer that returns without its result, `delete_records` the
    deletion of a partition's oldest batch, `miss_poll` a member of a regular group that does not call poll() in time.
    """

    crash_broker: int = 0
    move_leader: int = 0
    lose_connection: int = 0
    cut: int = 0
    crash_client: int = 0
    expire_lock: int = 0
    time_out: int = 0
    run_out: int = 0
    request_timeout: int = 0
    delivery_timeout: int = 0
    upgrade: int = 0
    pause: int = 0
    acls: int = 0
    restart: int = 0
    max_block: int = 0
    delete_records: int = 0
    miss_poll: int = 0


class Placement(Value, frozen=True):
    """The leader of a partition at the start, and the other brokers with a replica."""

    partition: str
    leader: int
    others: tuple[int, ...] = ()


class Durations(Value, frozen=True):
    """The durations of timers that belong to the cluster as a whole, in ms; a timed clock uses them.

    The defaults are Kafka's; `kipviz.settings` has Kafka's name of each. `cluster.timing.durations.DURATIONS` has these
    and the durations that are elsewhere: in the brokers' settings, and in an application's configuration.
    """

    consumer_session_timeout_ms: int = broker_configs.GROUP_CONSUMER_SESSION_TIMEOUT_MS.ours
    consumer_heartbeat_interval_ms: int = broker_configs.GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS.ours
    share_session_timeout_ms: int = broker_configs.GROUP_SHARE_SESSION_TIMEOUT_MS.ours
    share_heartbeat_interval_ms: int = broker_configs.GROUP_SHARE_HEARTBEAT_INTERVAL_MS.ours
    max_poll_interval_ms: int = consumer_configs.MAX_POLL_INTERVAL_MS.ours
    transactional_id_expiration_ms: int = broker_configs.TRANSACTIONAL_ID_EXPIRATION_MS.ours
    transactional_id_scan_ms: int = (
        broker_configs.TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS.ours
    )
    retry_backoff_ms: int = client_configs.RETRY_BACKOFF_MS.ours
    fetch_max_wait_ms: int = consumer_configs.FETCH_MAX_WAIT_MS.ours
    max_block_ms: int = client_configs.MAX_BLOCK_MS.ours
    metadata_max_idle_ms: int = client_configs.METADATA_MAX_IDLE_MS.ours
    request_timeout_ms: int = client_configs.REQUEST_TIMEOUT_MS.ours
    delivery_timeout_ms: int = client_configs.DELIVERY_TIMEOUT_MS.ours
    session_timeout_ms: int = consumer_configs.SESSION_TIMEOUT_MS.ours
    heartbeat_interval_ms: int = consumer_configs.HEARTBEAT_INTERVAL_MS.ours
    producer_id_expiration_ms: int = broker_configs.PRODUCER_ID_EXPIRATION_MS.ours
    producer_id_scan_ms: int = broker_configs.PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS.ours
    retry_backoff_max_ms: int = client_configs.RETRY_BACKOFF_MAX_MS.ours
    offsets_retention_minutes: int = broker_configs.OFFSETS_RETENTION_MINUTES.ours
    offsets_retention_check_ms: int = broker_configs.OFFSETS_RETENTION_CHECK_INTERVAL_MS.ours
    log_retention_check_ms: int = broker_configs.LOG_RETENTION_CHECK_INTERVAL_MS.ours


class PlainSpec(Value, frozen=True):
    """A producer without a transactional id: enable.idempotence, and the number of batches in flight.

    `max_in_flight` is max.in.flight.requests.per.connection.
    """

    idempotence: bool = client_configs.ENABLE_IDEMPOTENCE.ours
    max_in_flight: int = client_configs.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION.ours


class SessionSpec(Value, frozen=True):
    """The TransactionSession of an application (KIP-1310, draft).

    `producers` are the names of the producers bound to it: "producer" is the one that every application has, any other
    is made for the session. `session_timeout_ms` is transaction.session.timeout.ms, -1 for no heartbeats. The interval
    of a session's heartbeats is on no page: a third of the timeout, so that it equals the three intervals of KIP-1309;
    our inference.
    """

    producers: tuple[str, ...] = ("producer",)
    session_timeout_ms: int = client_configs.TRANSACTION_SESSION_TIMEOUT_MS.ours

    @property
    def heartbeat_interval_ms(self) -> int:
        """The interval of the session's heartbeats, 0 for none."""
        return max(1, self.session_timeout_ms // 3) if self.session_timeout_ms > 0 else 0


class ThreadSpec(Value, frozen=True):
    """A further application thread: its name, and its first line of the program.

    `consumer` names a consumer of its own that reads `source` as member `member_id` of the process's group, "" for
    none. A thread begins when the program submits it, and may be submitted again.
    """

    name: str
    first: int
    consumer: str = ""
    source: str = ""
    member_id: str = ""


class ApplicationSpec(Value, frozen=True):
    """One application process.

    `session` is set if its transactions are those of a TransactionSession. `share` says whether its consumer is in a
    share group, `explicit` whether that one has to acknowledge every record (share.acknowledgement.mode). Unset fields
    are as in Kafka's clients, if the model has that for such a process (`kafka_defaults`); `abstraction` names what a
    spec leaves out. `source` and `output` are partitions. `two_phase_commit` is the producer's
    transaction.two.phase.commit.enable (KIP-939); `database` means that it writes to an external database, too.
    `heartbeat_interval_ms` is the producer's transaction.heartbeat.interval.ms (KIP-1309, draft), 0 for none. `admin`
    means that it is an operator's: it has an admin client and neither a producer nor a consumer. `read_uncommitted` is
    the default isolation level of a Kafka consumer; here it has to be set. `protocol` is how the consumer of a regular
    group becomes a member: "" it has been one since before the run, and its epoch never changes; "consumer" it joins
    with its first poll (KIP-848), subscribes to the topic of its source, and gets partitions; "classic", Kafka's
    default, the same by JoinGroup and SyncGroup, where `member_id` is its client.id, from which the coordinator makes
    its id, and `instance_id` its group.instance.id; a member of a share group does so with "share". `listener` says
    whether partitions are assigned and revoked in poll() only (ConsumerRebalanceListener), `offset_fetch_version` the
    newest version of OffsetFetch that its client supports (6: before KIP-447). `tasks` are the names of further
    producers with a transactional id each, as Kafka Streams had one for every task until 2.6, or with `shares_sender`
    of further ids of one producer (KIP-447, rejected). `work_ms` is how long it processes a batch before it commits
    (timed clock). `acquire_mode` is share.acquire.mode, `callback` means that it has an acknowledgement callback.
    `further_sources` are more partitions that a member of a share group reads. With `gathers` poll() returns the
    records of all of them, not only of the first one with records; with `by_session` it fetches all partitions of a
    broker in one ShareFetch, as Kafka's does. `plain` is set if its producer has no transactional id, which is "" then.
    `shares` names the database that it writes to if several processes do. `max_in_flight` is
    max.in.flight.requests.per.connection of a producer with a transactional id. Such a producer may have a `buffer`:
    the number of batches that fit into buffer.memory, 0 for any number. `auto_offset_reset` is what the consumer of a
    regular group does without a valid position: earliest, latest or none; "" is earliest, without the round trips.
    `assignors` are the partition.assignment.strategy of a classic consumer, `later_assignors` those after its restarts.
    `threads` are further application threads of the process, `rack` is its consumer's client.rack. `further_members`
    are the member ids of further share consumers of the process, which a line names as its client.
    """

    name: str
    transactional_id: str
    program: tuple[Line, ...]
    group_id: str
    member_id: str
    share: bool
    source: str
    output: str
    max_records: int = consumer_configs.MAX_POLL_RECORDS.ours
    explicit: bool = False
    transaction_timeout_ms: int = client_configs.TRANSACTION_TIMEOUT_MS.ours
    session: SessionSpec | None = None
    two_phase_commit: bool = client_configs.TRANSACTION_TWO_PHASE_COMMIT_ENABLE.ours
    admin: bool = False
    protocol: str = kafka_defaults.DEFAULT
    listener: bool = True
    database: bool = False
    heartbeat_interval_ms: int = client_configs.TRANSACTION_HEARTBEAT_INTERVAL_MS.ours
    work_ms: int = model_settings.WORK_MS.ours
    acquire_mode: int = BATCH_OPTIMIZED
    callback: bool = False
    offset_fetch_version: int = 10
    tasks: tuple[str, ...] = ()
    read_uncommitted: bool = False
    further_sources: tuple[str, ...] = ()
    instance_id: str = consumer_configs.GROUP_INSTANCE_ID.ours
    plain: PlainSpec | None = None
    shares: str = ""
    gathers: bool | None = None
    shares_sender: bool = False
    max_in_flight: int = kafka_defaults.DEFAULT_NUMBER
    buffer: int = 0
    auto_offset_reset: str = kafka_defaults.DEFAULT
    assignors: tuple[str, ...] = consumer_configs.PARTITION_ASSIGNMENT_STRATEGY.ours
    later_assignors: tuple[tuple[str, ...], ...] = ()
    threads: tuple[ThreadSpec, ...] = ()
    by_session: bool | None = None
    rack: str = consumer_configs.CLIENT_RACK.ours
    further_members: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, value in kafka_defaults.resolve_defaults(self).items():
            force_setattr(self, name, value)

    def but(self, /, **changes: object) -> Self:
        """Return the same application with some fields changed.

        Kafka's default of five batches in flight becomes one if the process gets a session, or a producer without a
        transactional id: `max_in_flight` is for a producer with a transaction of its own.

        Raises:
            TypeError: if a name is not a field of this value.
        """
        usual = client_configs.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION.default
        had_default = self.max_in_flight == usual
        if had_default and "max_in_flight" not in changes and _KIND_OF_PRODUCER & changes.keys():
            changes["max_in_flight"] = kafka_defaults.DEFAULT_NUMBER
        return super().but(**changes)


class Remade(Value, frozen=True):
    """A topic that may be deleted and created again under its name: its next id and records."""

    topic: str
    topic_id: str
    values: tuple[str, ...]


class ClusterSpec(Value, frozen=True):
    """A whole cluster at its start.

    `replication` is "instant" (a batch is on every in-sync replica as soon as it is appended) or "stepwise"
    (replication is a separate action). `records` are the source records of each partition and the offset of the first
    one. `internal_partitions` is the number of partitions of each internal topic; only those that some key hashes to
    are kept. `dead_letter_topics` are those that allow dead letters (errors.deadletterqueue.group.enable).
    `share_version` is the finalized level of share.version if it is 0 (no share groups) or 1 (no dead-letter queues); 2
    is the highest level that all releases support. `transaction_version` is the finalized level of the feature
    transaction.version. `share_rollout` is the level of share.version at which a rollout of KIP-1289 (draft) begins, 2
    or 3; with 0 there is no rollout: what the draft adds is available. Without `acls` everything is allowed, otherwise
    only what they allow; an operator may delete these, create them again, and create those of `further_acls`.
    `transactions` are the records of earlier producers in `__transaction_state`. `min_insync_replicas` are (topic,
    number) of topics that need more than their leader in sync. `releases` names the release of every broker, and
    `binaries` those that an operator may install; without them every broker supports everything.
    `inter_broker_protocol` is 0 at the start of KIP-447's rollout, as its drafts describe it. `staging_level` is the
    level of share.version that turns KIP-1289 on: 3, or 2 as its draft has it. `staging_transaction_version` is the
    lowest transaction.version under which acknowledgements are staged: 2 as KIP-1289 has it, or 1, where an epoch lasts
    for many transactions (the early iteration does not check it; no source runs it). `deletable_topics` may be deleted
    for good; `later_topics` do not exist until an operator creates them. `topic_ids_from` is the version of
    TxnOffsetCommit with topic ids: 6, or 7 (KIP-1319, rejected). `transactional_group_id` means that producers of
    classic groups have that config (KIP-447, first draft). `splits` are network partitions between sets of hosts that
    searches and dice try besides those of two hosts, each as "B1 B3 | B5 app-1".
    """

    brokers: tuple[int, ...]
    placements: tuple[Placement, ...]
    applications: tuple[ApplicationSpec, ...]
    records: tuple[tuple[str, int, tuple[str, ...]], ...]
    topic_ids: tuple[tuple[str, str], ...]
    budget: FaultBudget = FaultBudget()
    internal_partitions: int = model_settings.INTERNAL_PARTITIONS.ours
    replication: str = model_settings.REPLICATION.ours
    first_producer_id: int = 9
    kafka_version: str = KAFKA_VERSION
    transaction_version: int = broker_configs.TRANSACTION_VERSION.ours
    settings: BrokerSettings = BrokerSettings()
    group_configs: tuple[GroupConfig, ...] = ()
    dead_letter_topics: tuple[str, ...] = ()
    share_version: int = SHARE_VERSION
    clock: Clock = Clock()
    acls: tuple[Acl, ...] | None = None
    transactions: tuple[TransactionRecord, ...] = ()
    look_up_topics: bool = True
    txn_offset_commit: int = 6
    remade: tuple[Remade, ...] = ()
    share_rollout: int = 0
    durations: Durations = Durations()
    further_acls: tuple[Acl, ...] = ()
    min_insync_replicas: tuple[tuple[str, int], ...] = MIN_INSYNC_REPLICAS
    releases: tuple[tuple[int, str], ...] = ()
    binaries: tuple[str, ...] = ()
    inter_broker_protocol: int = 1
    staging_level: int = STAGING_LEVEL
    transactional_group_id: bool = False
    deletable_topics: tuple[str, ...] = ()
    later_topics: tuple[str, ...] = ()
    topic_ids_from: int = 6
    splits: tuple[str, ...] = ()
    staging_transaction_version: int = TRANSACTION_VERSION

    @property
    def members(self) -> tuple[ApplicationSpec, ...]:
        """The applications with a producer and a consumer: all except the operators'."""
        return tuple(a for a in self.applications if not a.admin)

    @property
    def simplified(self) -> SimplifiedConsumers:
        """The processes whose consumers brokers serve in a simplified way."""
        without_reset = tuple(a.name for a in self.applications if not a.auto_offset_reset)
        shares = (a for a in self.applications if a.share)
        return SimplifiedConsumers(without_reset, tuple(a.name for a in shares if not a.by_session))


class BadSpec(ValueError):
    """An impossible cluster."""
