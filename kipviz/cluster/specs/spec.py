"""What exists in a cluster, and how fine the model looks at it."""

from __future__ import annotations

from msgspec.structs import force_setattr

from kipviz.brokers.authorizer import SUPPORTED, Acl
from kipviz.brokers.settings import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    BrokerSettings,
    GroupConfig,
    why_no_group,
)
from kipviz.clients.application import STAGING, Line
from kipviz.clients.calls import ADMIN, CALLS, TARGETS
from kipviz.clients.groups.assignors import why_no_such_assignors
from kipviz.clients.groups.consumer import why_no_reset
from kipviz.clients.groups.subscribing import MODERN, why_not_subscribed
from kipviz.clients.operators.admin import Filters, Hanging
from kipviz.clients.operators.group_calls import OF_REGULAR_GROUPS, OF_SHARE_GROUPS
from kipviz.clients.sending.in_flight import MAX_IN_FLIGHT, why_no_such_producer
from kipviz.clients.shares.staged_records import why_no_gathering
from kipviz.cluster.network.partition_sides import why_no_splits
from kipviz.cluster.specs import kafka_defaults, spec_limits
from kipviz.cluster.specs.further_members import why_no_further_members
from kipviz.cluster.specs.kafka_defaults import CLASSIC, MAX_POLL_RECORDS
from kipviz.cluster.specs.program_limits import why_no_program
from kipviz.cluster.specs.session_config import (
    SESSION,
    ConfigException,
    SessionSpec,
    session_timeout,
)
from kipviz.cluster.specs.share_levels import SHARE_VERSION, share_level, why_no_share_version
from kipviz.cluster.specs.threads import ThreadSpec, why_no_threads
from kipviz.cluster.specs.topic_lists import why_no_coming_topics
from kipviz.cluster.timing.clock import Clock, why_no_clock
from kipviz.cluster.timing.duration_limits import why_no_durations
from kipviz.core.values import Value
from kipviz.messages.features import STAGING_LEVEL
from kipviz.messages.releases import NAMES, release
from kipviz.messages.share_groups import BATCH_OPTIMIZED
from kipviz.records.classic_groups import COOPERATIVE_STICKY, RANGE
from kipviz.records.placement import INTERNAL_TOPICS, TRANSACTION_STATE, topic_of
from kipviz.records.transaction_state import TransactionRecord

KAFKA_VERSION = "4.4.0"
TRANSACTION_VERSION = 2
TRANSACTION_VERSIONS = (0, 1, 2)
TRANSACTION_TIMEOUT_MS = 60_000  # transaction.timeout.ms of a producer that nobody configures
# How the consumer of a regular group becomes a member of it (group.protocol).
PROTOCOLS = ("", MODERN, CLASSIC)
INSTANT, STEPWISE = "instant", "stepwise"
MIN_INSYNC_REPLICAS = ((TRANSACTION_STATE, 2),)  # transaction.state.log.min.isr

# For how long it is counted how long ago a transaction began, where an operator asks.
OLDEST_MS = 3_600_000


class FaultBudget(Value, frozen=True):
    """How many faults of each kind may still happen. Repairs are free.

    `expire_lock`, `time_out` and `run_out` are timers that run out: with an untimed clock a timer may
    fire at any moment after it was set, so a search needs a bound for them as for faults. With a
    timed one time ends before a timer that is not allowed to run out. So are the clients'
    `request_timeout` (a request stays on its way, its connection is given up) and
    `delivery_timeout` (a batch expires). `upgrade` is an operator's change of a feature level,
    `pause` a host that stands still, `acls` an operator's change of one ACL,
    `restart` a broker that is stopped to get another binary, `max_block` a blocking call of a producer
    that comes back before its result is there, `delete_records` a partition's oldest batch that is
    deleted, `miss_poll` a member of a regular group that does not call poll() in time.
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
    """Who leads a partition at the start, and which other brokers have a copy."""

    partition: str
    leader: int
    others: tuple[int, ...] = ()


class Durations(Value, frozen=True):
    """How long timers take that belong to the cluster as a whole, in ms; a timed clock reads them.

    The defaults are Kafka's. `cluster.timing.durations.DURATIONS` has Kafka's name of each, and those that
    lie elsewhere: in the brokers' settings, and in what an application is configured with.
    """

    consumer_session_timeout_ms: int = 45_000
    consumer_heartbeat_interval_ms: int = 5_000
    share_session_timeout_ms: int = 45_000
    share_heartbeat_interval_ms: int = 5_000
    max_poll_interval_ms: int = 300_000
    transactional_id_expiration_ms: int = 604_800_000
    transactional_id_scan_ms: int = 3_600_000
    retry_backoff_ms: int = 100
    fetch_max_wait_ms: int = 500
    max_block_ms: int = 60_000
    metadata_max_idle_ms: int = 300_000
    request_timeout_ms: int = 30_000
    delivery_timeout_ms: int = 120_000
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    producer_id_expiration_ms: int = 86_400_000
    producer_id_scan_ms: int = 600_000
    retry_backoff_max_ms: int = 1_000
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_ms: int = 600_000
    log_retention_check_ms: int = 300_000


class PlainSpec(Value, frozen=True):
    """A producer without a transactional id: enable.idempotence, and how many batches are on the way.

    `max_in_flight` is max.in.flight.requests.per.connection.
    """

    idempotence: bool = True
    max_in_flight: int = MAX_IN_FLIGHT


class ApplicationSpec(Value, frozen=True):
    """One application process.

    `session` is there if its transactions are those of a TransactionSession.
    `share` says whether its consumer is in a share group, `explicit` whether that one has to
    acknowledge every record (share.acknowledgement.mode). What is not said is as Kafka's clients have it, where the model
    has that for such a process (`kafka_defaults`); `abstraction` says what is left out where a spec says less. `source` and `output` are partitions.
    `two_phase_commit` is the producer's transaction.two.phase.commit.enable (KIP-939); `database` says
    that it writes to an external database, too. `heartbeat_interval_ms` is the producer's
    transaction.heartbeat.interval.ms (KIP-1309, draft), 0 for none.
    `admin` says that it is an operator's: it has an admin client and uses neither of the others.
    `read_uncommitted` is the isolation level that a consumer has unless it is configured; here it
    has to be asked for.
    `protocol` is how the consumer of a regular group becomes a member: "" it is one since before
    the run, at one epoch for ever; "consumer" it joins with its first poll (KIP-848), subscribes to
    the topic of its source, and is given partitions; "classic", Kafka's default, the same by JoinGroup and SyncGroup,
    where `member_id` is its client.id, of which the coordinator makes its id, and `instance_id` its
    group.instance.id; a member of a share group does so with "share". `listener` says whether
    partitions are given and taken in poll() only (ConsumerRebalanceListener),
    `offset_fetch_version` the newest version of OffsetFetch that its client knows (6: before KIP-447). `tasks` are the names of further producers
    with a transactional id each, as Kafka Streams had one for every task until 2.6, or with `shares_sender`
    of further ids of one producer (KIP-447, rejected).
    `work_ms` is how long it works on a batch before it commits (timed clock).
    `acquire_mode` is share.acquire.mode, `callback` says that there is an acknowledgement callback.
    `further_sources` are more partitions that a member of a share group reads; one that `gathers`
    comes back from poll() with what all of them have, not with the first that has some, and with `by_session`
    asks a broker for all that it leads in one ShareFetch, as Kafka's does. `plain` is there if its
    producer has no transactional id, which is "" then. `shares` names the database that it writes to
    if several processes do. `max_in_flight` is max.in.flight.requests.per.connection of a producer with
    a transactional id.
    Such a producer may have a `buffer`: how many batches buffer.memory has room for, 0 for any number.
    `auto_offset_reset` is what the consumer of a regular group does without a
    position that the log has: earliest, latest or none; "" is earliest, without the round trips.
    `assignors` are the partition.assignment.strategy of a classic consumer, `later_assignors` those of its next
    lives. `threads` are further application threads of the process, `rack` is its consumer's client.rack.
    `further_members` are the member ids of further share consumers of the process, which a line names as its client.
    """

    name: str
    transactional_id: str
    program: tuple[Line, ...]
    group_id: str
    member_id: str
    share: bool
    source: str
    output: str
    max_records: int = MAX_POLL_RECORDS
    explicit: bool = False
    transaction_timeout_ms: int = TRANSACTION_TIMEOUT_MS
    session: SessionSpec | None = None
    two_phase_commit: bool = False
    admin: bool = False
    protocol: str = kafka_defaults.DEFAULT
    listener: bool = True
    database: bool = False
    heartbeat_interval_ms: int = 0
    work_ms: int = 0
    acquire_mode: int = BATCH_OPTIMIZED
    callback: bool = False
    offset_fetch_version: int = 10
    tasks: tuple[str, ...] = ()
    read_uncommitted: bool = False
    further_sources: tuple[str, ...] = ()
    instance_id: str = ""
    plain: PlainSpec | None = None
    shares: str = ""
    gathers: bool | None = None
    shares_sender: bool = False
    max_in_flight: int = kafka_defaults.DEFAULT_NUMBER
    buffer: int = 0
    auto_offset_reset: str = kafka_defaults.DEFAULT
    assignors: tuple[str, ...] = (RANGE, COOPERATIVE_STICKY)
    later_assignors: tuple[tuple[str, ...], ...] = ()
    threads: tuple[ThreadSpec, ...] = ()
    by_session: bool | None = None
    rack: str = ""
    further_members: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, value in kafka_defaults.resolved(self).items():
            force_setattr(self, name, value)


class Remade(Value, frozen=True):
    """A topic that may be deleted and made again under its name: its next id, and what is in it."""

    topic: str
    topic_id: str
    values: tuple[str, ...]


class ClusterSpec(Value, frozen=True):
    """A whole cluster at its start.

    `replication` is "instant" (a batch is on every in-sync replica as soon as it is appended) or
    "stepwise" (that is an action of its own). `records` are the source records of each partition
    and the offset of the first one. `internal_partitions` is the number of partitions of each
    internal topic; only those that something hashes to are kept. `dead_letter_topics` are those
    that allow it (errors.deadletterqueue.group.enable). `share_version` is the finalized level of share.version
    if it is 0 (no share groups) or 1 (no dead-letter queues); 2 is the highest level that all binaries know.
    `transaction_version` is the finalized level of the feature transaction.version.
    `share_rollout` is the level of share.version at which a rollout of KIP-1289 (draft) begins, 2 or
    3; 0 is no rollout: what the draft adds is there.
    Without `acls` everything is allowed, with some only what they allow; an operator may delete
    these, create them again, and create those of `further_acls`. `transactions` is what earlier
    producers have left in `__transaction_state`. `min_insync_replicas` are (topic, number) of topics
    that need more than their leader in sync. `releases`
    names the binary of every broker, and `binaries` those that an operator may give it; without them every broker knows everything.
    `inter_broker_protocol` is 0 where the roll-out of KIP-447 begins, as its drafts describe it.
    `staging_level` is the level of share.version that turns KIP-1289 on: 3, or 2 as its draft has it.
    `staging_transaction_version` is the lowest transaction.version under which acknowledgements are staged: 2 as KIP-1289
    has it, or 1, where an epoch lasts for many transactions (the early iteration does not ask; no source runs it).
    `deletable_topics` may be deleted for good; `later_topics` are not there until an operator makes them.
    `topic_ids_from` is the version of TxnOffsetCommit with topic ids: 6, or 7 (KIP-1319, rejected).
    `transactional_group_id` says that producers of classic groups have that config (KIP-447, first draft).
    `splits` are cuts between sets of hosts that searches and dice try besides those of two hosts, each as
    "B1 B3 | B5 app-1".
    """

    brokers: tuple[int, ...]
    placements: tuple[Placement, ...]
    applications: tuple[ApplicationSpec, ...]
    records: tuple[tuple[str, int, tuple[str, ...]], ...]
    topic_ids: tuple[tuple[str, str], ...]
    budget: FaultBudget = FaultBudget()
    internal_partitions: int = 50
    replication: str = STEPWISE
    first_producer_id: int = 9
    kafka_version: str = KAFKA_VERSION
    transaction_version: int = TRANSACTION_VERSION
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
        """The applications with a producer and a consumer: all but the operators'."""
        return tuple(a for a in self.applications if not a.admin)


class BadSpec(ValueError):
    """A cluster that cannot be."""


def check(spec: ClusterSpec) -> None:
    """Refuse a cluster that cannot be, with one sentence.

    Raises:
        BadSpec: what is wrong and what is allowed.
    """
    wrong = spec_limits.why_no_type(spec)
    if wrong:
        raise BadSpec(wrong)
    if not spec.brokers or len(set(spec.brokers)) != len(spec.brokers):
        raise BadSpec(f"brokers must be different numbers and at least one, not {spec.brokers}")
    if spec.replication not in (INSTANT, STEPWISE):
        raise BadSpec(f"replication is instant or stepwise, not {spec.replication!r}")
    wrong = spec_limits.why_no_names(spec)
    wrong = wrong or spec_limits.why_out_of_range(spec_limits.OF_CLUSTERS, spec)
    if wrong:
        raise BadSpec(wrong)
    placed = {p.partition for p in spec.placements}
    for placement in spec.placements:
        unknown = [b for b in (placement.leader, *placement.others) if b not in spec.brokers]
        if unknown:
            raise BadSpec(
                f"{placement.partition} is placed on broker {unknown[0]}, "
                f"but the brokers are {', '.join(map(str, spec.brokers))}"
            )
    for partition, first, _ in spec.records:
        if partition not in placed or first < 0:
            raise BadSpec(
                f"records lie in placed partitions from offset 0 on, "
                f"not in {partition} from {first}"
            )
    _check_topics(spec)
    if spec.transaction_version not in TRANSACTION_VERSIONS:
        raise BadSpec(
            f"transaction.version is one of {', '.join(map(str, TRANSACTION_VERSIONS))}, "
            f"not {spec.transaction_version}"
        )
    wrong = why_no_share_version(spec)
    if wrong:
        raise BadSpec(wrong)
    for config in spec.group_configs:
        _check_group(spec, config)
    if spec.clock.timed and spec.budget.pause:
        raise BadSpec("a timed clock has pauses of its own (pause_max_ms): leave pause at 0")
    settings = spec_limits.why_no_settings(spec.settings) or why_no_splits(spec)
    settings = settings or spec_limits.why_no_retention(spec)
    wrong = why_no_clock(spec.clock) or settings or why_no_durations(spec.durations) or ""
    if wrong:
        raise BadSpec(wrong)
    _check_acls(spec)
    _check_releases(spec)
    for application in spec.applications:
        _check_application(spec, application, placed)
    wrong = spec_limits.why_no_transactions(spec) or spec_limits.why_no_numbers(spec)
    if wrong:
        raise BadSpec(wrong)


def _check_acls(spec: ClusterSpec) -> None:
    if spec.further_acls and spec.acls is None:
        raise BadSpec("ACLs can be created where there are some: give the cluster acls, or ()")
    for acl in (*(spec.acls or ()), *spec.further_acls):
        if acl.operation not in SUPPORTED[acl.resource]:
            known = ", ".join(SUPPORTED[acl.resource])
            raise BadSpec(
                f"an ACL of a {acl.resource.value} is for {known}, not for {acl.operation.value}"
            )


def _check_releases(spec: ClusterSpec) -> None:
    """Refuse brokers without a binary, and binaries that do not know what is finalized."""
    named = tuple(broker for broker, _ in spec.releases)
    if spec.releases and sorted(named) != sorted(spec.brokers):
        raise BadSpec(f"either no broker has a release or each has one, not {named}")
    if spec.binaries and not spec.releases:
        raise BadSpec("brokers that can get another binary need one to begin with: give releases")
    levels = (
        ("transaction_version", spec.transaction_version),
        ("share_version", share_level(spec)),
        ("inter_broker_protocol", spec.inter_broker_protocol),
    )
    for broker, name in (*spec.releases, *((0, name) for name in spec.binaries)):
        if name not in NAMES:
            raise BadSpec(f"a release is one of {', '.join(NAMES)}, not {name!r}")
        for feature, level in levels if broker else ():
            most = release(name).supports(feature)
            if most < level:
                raise BadSpec(
                    f"broker {broker} has {name}, which knows {feature.replace('_', '.')} up to "
                    f"{most}, and {level} is finalized"
                )


def _check_topics(spec: ClusterSpec) -> None:
    if spec.inter_broker_protocol not in (0, 1):
        raise BadSpec(
            f"inter_broker_protocol is 0 (below KIP-447) or 1, not {spec.inter_broker_protocol}"
        )
    if spec.txn_offset_commit not in (5, 6):
        raise BadSpec(
            f"brokers know TxnOffsetCommit up to version 5 or 6, not {spec.txn_offset_commit}"
        )
    topics = {topic_of(p.partition) for p in spec.placements} | set(INTERNAL_TOPICS)
    for topic, least in spec.min_insync_replicas:
        if topic not in topics or least < 1:
            raise BadSpec(
                f"min.insync.replicas is 1 or more, of a topic that there is, not {least} of {topic}"
            )
    for remade in spec.remade:
        if remade.topic not in dict(spec.topic_ids):
            raise BadSpec(f"{remade.topic} cannot be made again: there is no such topic")
    wrong = why_no_coming_topics(
        tuple(topic for topic, _ in spec.topic_ids if topic in topics - set(INTERNAL_TOPICS)),
        spec.deletable_topics,
        spec.later_topics,
        tuple(each.topic for each in spec.remade),
        tuple(topic_of(p) for p, _, values in spec.records if values),
    )
    if spec.topic_ids_from not in (6, 7):
        wrong = f"TxnOffsetCommit has topic ids from version 6 or 7, not {spec.topic_ids_from}"
    if wrong:
        raise BadSpec(wrong)


def _check_group(spec: ClusterSpec, config: GroupConfig) -> None:
    name, topic = config.group_id, config.dead_letter_topic
    wrong = why_no_group(config, spec.settings, dict(spec.topic_ids), dated=spec.clock.stamps)
    if wrong:
        raise BadSpec(wrong)
    if config.isolation_level not in (READ_COMMITTED, READ_UNCOMMITTED):
        raise BadSpec(
            f"share.isolation.level of {name} is {READ_COMMITTED} or {READ_UNCOMMITTED}, "
            f"not {config.isolation_level!r}"
        )
    wrong = spec_limits.why_no_own_limits(config)
    if wrong:
        raise BadSpec(wrong)
    if topic.startswith("__"):
        raise BadSpec(f"the dead-letter topic of {name} is no internal one, not {topic!r}")


def _check_application(spec: ClusterSpec, application: ApplicationSpec, placed: set[str]) -> None:
    names = [a.name for a in spec.applications]
    hosts = [f"B{broker}" for broker in spec.brokers]
    name = application.name
    if not name.isprintable() or not name or "/" in name or name in hosts or names.count(name) > 1:
        raise BadSpec(
            f"an application's name is its own, printable, has no '/' and is no broker's, such as B3; "
            f"{name!r} is not allowed"
        )
    _check_admin(spec, application)
    used = (application.source, application.output, *application.further_sources)
    for partition in () if application.admin else used:
        if partition not in placed:
            raise BadSpec(f"{name} uses {partition}, which no placement gives a leader")
    stages = any(line.call in STAGING for line in application.program)
    least = spec.staging_transaction_version
    if stages and spec.transaction_version < least:
        raise BadSpec(
            f"{name} stages share-group acknowledgements, which takes transaction version "
            f"{least}, not {spec.transaction_version}"
        )
    for source in (application.source, *application.further_sources) if application.share else ():
        if topic_of(source) not in dict(spec.topic_ids):
            raise BadSpec(f"{name} shares {source}, but topic {topic_of(source)} has no id")
    if application.further_sources and not application.share:
        raise BadSpec(f"{name} reads further partitions, which only a member of a share group can")
    program, whole = application.program, application.by_session
    wrong = why_no_gathering(program, by_session=bool(whole)) if application.gathers else ""
    if wrong or (application.gathers and (application.explicit or not application.further_sources)):
        raise BadSpec(wrong or f"{name} gathers implicitly and from further_sources, or not at all")
    if application.by_session and not application.gathers:
        raise BadSpec(f"{name} asks by_session for several partitions: gathers has to be on")
    _check_membership(spec, application)
    wrong = why_no_such_producer(application) or why_no_threads(spec, application)
    wrong = (
        wrong or why_no_further_members(application) or spec_limits.why_no_isolation(application)
    )
    wrong = wrong or why_not_subscribed(application, placed)
    wrong = wrong or why_no_such_assignors(application) or why_no_program(application)
    if wrong:
        raise BadSpec(wrong)
    if not application.program:
        raise BadSpec(f"{name} has no program: a program has at least one line")
    if (
        application.two_phase_commit
        and application.transaction_timeout_ms != TRANSACTION_TIMEOUT_MS
    ):
        raise BadSpec(
            f"{name} takes part in a two-phase commit, which has no time limit: "
            "leave transaction_timeout_ms as it is"
        )
    wrong = spec_limits.why_out_of_range(spec_limits.OF_APPLICATIONS, application, name)
    if wrong:
        raise BadSpec(wrong)
    if application.session is not None:
        _check_session(name, application.session)
    members = [(a.group_id, a.member_id) for a in spec.members]
    if members.count((application.group_id, application.member_id)) > 1:
        raise BadSpec(
            f"member {application.member_id} is twice in group {application.group_id}: "
            "every member has an id of its own"
        )


def _check_session(name: str, session: SessionSpec) -> None:
    if SESSION in session.producers:
        raise BadSpec(f"a producer of {name} is not called {SESSION!r}: that is its session's name")
    try:
        session_timeout(session.session_timeout_ms)
    except ConfigException as wrong:
        raise BadSpec(f"the session of {name}: {wrong}") from wrong


def _check_membership(spec: ClusterSpec, application: ApplicationSpec) -> None:
    """Refuse what a consumer cannot be in its group, and groups in which several protocols are spoken."""
    name = application.name
    protocols = ("", "share") if application.share else PROTOCOLS
    if application.protocol not in protocols:
        raise BadSpec(
            f"the protocol of {name} is {application.protocol!r}; a regular group's consumer has "
            f"one of {', '.join(map(repr, PROTOCOLS))}, a share group's '' or 'share'"
        )
    if not 6 <= application.offset_fetch_version <= 10:
        raise BadSpec(
            f"{name} asks for offsets in version 6 to 10, not {application.offset_fetch_version}"
        )
    mixed = [
        a.name
        for a in (() if application.admin else spec.members)
        if a.share == application.share
        and a.group_id == application.group_id
        and a.protocol != application.protocol
    ]
    if mixed:
        raise BadSpec(
            f"{name} and {mixed[0]} are in group {application.group_id}: either all members of a "
            "group join it, by one protocol, or all are in it before the run"
        )
    others = [
        a.name
        for a in spec.members
        if a.share != application.share and a.group_id == application.group_id and not a.protocol
    ]
    if others:
        raise BadSpec(
            f"{application.group_id} is one kind of group: {others[0]} is in it before the run, so that "
            f"{name} cannot be of the other kind"
        )
    wrong = why_no_reset(application, dated=spec.clock.stamps)
    if wrong:
        raise BadSpec(wrong)
    if application.instance_id and application.protocol not in (CLASSIC, MODERN):
        raise BadSpec(
            f"{name} has the instance id {application.instance_id}: a static member joins its group by "
            f"protocol {CLASSIC!r} or {MODERN!r}"
        )


def _check_admin(spec: ClusterSpec, application: ApplicationSpec) -> None:
    """Refuse calls of a client that a process does not have, and filters that are none."""
    for line in application.program:
        operating = CALLS[line.call].of == ADMIN
        if operating != application.admin and not line.client:
            has = "an admin client alone" if application.admin else "no admin client"
            raise BadSpec(f"{application.name} has {has}: {line.call.value}() is not for it")
        if line.call in OF_SHARE_GROUPS and not line.target:
            raise BadSpec(f"{application.name}: {line.call.value}() needs the id of a share group")
        if line.call in OF_REGULAR_GROUPS and not line.target:
            raise BadSpec(f"{application.name}: {line.call.value}() needs the id of a group")
        read = TARGETS.get(line.call)
        try:
            wanted = read(line.target) if read is not None else None
        except ValueError as wrong:
            raise BadSpec(f"{application.name}: {wrong}") from wrong
        if isinstance(wanted, Filters):
            _check_duration(spec, application.name, wanted)
        if isinstance(wanted, Hanging) and wanted.silent_for_ms >= 0 and not spec.clock.stamps:
            raise BadSpec(
                f"{application.name} looks for producers that are silent for long, which takes times in "
                "records (clock=timed, stamps=true)"
            )


def _check_duration(spec: ClusterSpec, name: str, wanted: Filters) -> None:
    if wanted.duration_ms >= 0 and not spec.clock.timed:
        raise BadSpec(
            f"{name} asks for transactions that take long, which takes a timed clock (clock=timed)"
        )
    if wanted.duration_ms > OLDEST_MS:
        raise BadSpec(
            f"{name} asks for transactions that take {wanted.duration_ms} ms; it is counted up to "
            f"{OLDEST_MS}"
        )
