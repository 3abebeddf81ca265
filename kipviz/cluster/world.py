"""The world: everything that exists, at one moment, as one immutable value.

It contains no dice, no correlation ids and no ledgers, because these would keep two equal situations apart. Times are
absolute only if records carry them, and a search sets the clock back (see `record_timestamps`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias, TypeVar

from kipviz.brokers import kafka_apis
from kipviz.brokers.context import NOBODY, Image, Leadership
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.logs.partition_log import PartitionLog, append, replicate
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.brokers.share_leaders import share_partition_leader
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.clients.application import Application, Call, Worker
from kipviz.clients.groups.classic_consumer import ClassicConsumer
from kipviz.clients.groups.consumer import Consumer
from kipviz.clients.groups.consumer_coordinator import ConsumerCoordinator
from kipviz.clients.groups.consumer_membership import ConsumerMembership
from kipviz.clients.groups.group_consumer import GroupConsumer
from kipviz.clients.groups.reading_member import Fetcher, OffsetRequests
from kipviz.clients.groups.subscribing import subscription_of
from kipviz.clients.groups.subscription_state import SubscriptionState
from kipviz.clients.kinds import Client, MemberConsumer
from kipviz.clients.operators import admin as administering
from kipviz.clients.operators.admin import Admin
from kipviz.clients.operators.group_calls import groups_of
from kipviz.clients.sending.awaited_topics import KnownTopics
from kipviz.clients.sending.producer import Producer
from kipviz.clients.sending.record_accumulator import RecordAccumulator
from kipviz.clients.sessions.transaction_session import TransactionSession
from kipviz.clients.shares import share_member
from kipviz.clients.shares.acknowledge_requests import AcknowledgeRequests
from kipviz.clients.shares.handover import NOBODY_ASKS, TOLD, Handover
from kipviz.clients.shares.share_member import ShareMember
from kipviz.clients.shares.share_memory import ShareConsumer, ShareSubscription
from kipviz.clients.transactions.external_database import NAME as DATABASE
from kipviz.clients.transactions.external_database import ExternalDatabase
from kipviz.clients.transactions.topic_ids import TopicIds
from kipviz.clients.transactions.transaction_manager import TransactionManager
from kipviz.cluster.specs.kafka_defaults import CLASSIC
from kipviz.cluster.specs.session_config import SESSION, SessionSpec
from kipviz.cluster.specs.share_levels import share_level
from kipviz.cluster.specs.spec import (
    ApplicationSpec,
    ClusterSpec,
    FaultBudget,
    Placement,
)
from kipviz.cluster.timing.clock import Deadline
from kipviz.core.table import Table
from kipviz.core.values import Part, Value
from kipviz.messages.features import Features
from kipviz.messages.message import Message
from kipviz.records.batches import COORDINATOR_SEQUENCE, NO_TIMESTAMP, Batch, DataRecord
from kipviz.records.consumer_offsets import MemberRecord
from kipviz.records.placement import (
    CONSUMER_OFFSETS,
    INTERNAL_TOPICS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    index_of,
    partition_for,
    share_partition_key,
    topic_of,
)
from kipviz.records.share_group_state import ShareSnapshotRecord

RoleKey = tuple[int, str, str]

COORDINATOR_OF = {
    TRANSACTION_STATE: "transaction_coordinator",
    CONSUMER_OFFSETS: "group_coordinator",
    SHARE_GROUP_STATE: "share_coordinator",
}

# A new group starts at epoch 1 and the first member that joins bumps it. Recorded from Kafka 4.4.0.
FIRST_EPOCH = 2


class Envelope(Value, frozen=True):
    """A message and its sender: the role, shard and tag that its response goes to.

    For a client that uses another client's connections the tag is its own name. `refused` are the topics of a request
    in progress that its sender may not use.
    """

    message: Message
    role: str = ""
    shard: str = ""
    tag: str = ""
    refused: tuple[str, ...] = ()


class ServedInParts(Envelope, frozen=True):
    """A request of several partitions or transactions, some of which have their result, and others not yet."""

    answers: tuple[Message, ...] = ()


class Connection(Part, frozen=True):
    """One TCP connection from a client, or from one of a broker's clients, to a broker.

    A broker reads the next request of a connection only after it has answered the one before (`serving`), so responses
    come in order and need no numbers. `incarnation` distinguishes a response for a broken connection from one for the
    connection that replaced it. An abandoned connection (`left`) stays under a name of its own until the broker has
    read its requests; a response on it goes nowhere.
    """

    requests: tuple[Envelope, ...] = ()
    serving: Envelope | None = None
    responses: tuple[Envelope, ...] = ()
    incarnation: int = 0
    open: bool = True
    left: bool = False


@lru_cache(maxsize=1024)
def idle(incarnation: int) -> Connection:
    """Return an open connection without messages: one shared object, because most connections are idle."""
    return Connection(incarnation=incarnation)


@lru_cache(maxsize=4096)
def channel_of(broker: int, name: str) -> str:
    """Return the name of one of a broker's own clients: "B5/persister" (one shared object for each)."""
    return f"{broker_host(broker)}/{name}"


# The roles that a broker may have: KafkaApis and ShareLeader once, each other one per partition that it leads.
BrokerRole: TypeAlias = (
    KafkaApis
    | ShareLeader
    | TransactionCoordinator
    | GroupCoordinator
    | ShareCoordinator
    | PartitionLeader
)
R = TypeVar("R", bound=BrokerRole)


class World(Part, frozen=True):
    """A cluster and its clients at one moment.

    `deadlines` are the deadlines from now on; with an untimed clock there are none. `now_ms` is the time since the run
    began if records carry timestamps; otherwise it is NO_TIMESTAMP.
    """

    image: Image
    logs: Table[str, PartitionLog]
    roles: Table[RoleKey, BrokerRole]
    applications: Table[str, Application]
    connections: Table[tuple[str, int], Connection]
    up: tuple[int, ...]
    budget: FaultBudget
    cuts: tuple[tuple[str, str], ...] = ()
    next_producer_id: int = 0
    deadlines: tuple[Deadline, ...] = ()
    now_ms: int = NO_TIMESTAMP


@lru_cache(maxsize=4096)
def host_of(source: str) -> str:
    """Return the host of an endpoint: "B5/persister" is on B5, "app-1/producer" on app-1."""
    return source.partition("/")[0]


@lru_cache(maxsize=4096)
def broker_host(broker: int) -> str:
    """Return the host name of a broker."""
    return f"B{broker}"


def first_world(spec: ClusterSpec) -> World:
    """Build the world that a spec describes; its coordinators have not loaded their logs yet."""
    logs: dict[str, PartitionLog] = {
        p.partition: PartitionLog(p.partition) for p in spec.placements
    }
    leaders = {
        p.partition: leadership(p)
        for p in spec.placements
        if topic_of(p.partition) not in spec.later_topics
    }
    for home in _homes(spec):
        if home not in leaders:
            order = _replicas(home, spec.brokers)
            leaders[home] = Leadership(order[0], 0, order)
            logs[home] = PartitionLog(home)
    for partition, first, values in spec.records:
        log = PartitionLog(partition, first, end_offset=first, high_watermark=first)
        at_ms = NO_TIMESTAMP if spec.settings.log_retention_ms < 0 else 0
        for offset, value in enumerate(values, first):
            log = append(log, Batch(offset, (DataRecord(value),), max_timestamp_ms=at_ms))
        logs[partition] = replicate(log)
    for application in spec.applications:
        if not application.admin:
            _join(application, spec, logs)
    for left in spec.transactions:
        home = (
            f"{TRANSACTION_STATE}-{partition_for(left.transactional_id, spec.internal_partitions)}"
        )
        logs[home] = replicate(append(logs[home], Batch(logs[home].end_offset, (left,))))
    image = Image(
        Table.of(leaders),
        spec.internal_partitions,
        Table.of({t: known for t, known in spec.topic_ids if t not in spec.later_topics}),
        spec.group_configs,
        spec.dead_letter_topics,
        Features(
            spec.transaction_version,
            spec.txn_offset_commit,
            share_level(spec),
            spec.inter_broker_protocol,
            spec.staging_level,
        ),
        spec.look_up_topics and spec.txn_offset_commit >= spec.topic_ids_from,
        spec.acls,
        spec.min_insync_replicas,
        releases=spec.releases,
        transactional_groups=transactional_groups(spec),
    )
    roles: dict[RoleKey, BrokerRole] = {}
    for broker in spec.brokers:
        roles |= host_roles(broker)
    for partition, held in leaders.items():
        roles[role_key(held.leader, partition)] = new_role(partition, held, loading=True)
    return World(
        image,
        Table.of(logs),
        Table.of(roles),
        Table.of({a.name: _application(a, spec) for a in spec.applications}),
        Table.of(),
        spec.brokers,
        spec.budget,
        next_producer_id=spec.first_producer_id,
        now_ms=0 if spec.clock.stamps else NO_TIMESTAMP,
    )


def leadership(placed: Placement) -> Leadership:
    """Return the leadership of a new partition."""
    return Leadership(placed.leader, 0, (placed.leader, *placed.others))


def host_roles(broker: int) -> dict[RoleKey, BrokerRole]:
    """Return the roles that every broker has, whatever it leads."""
    return {
        (broker, kafka_apis.ROLE, ""): KafkaApis(),
        (broker, share_partition_leader.ROLE, ""): ShareLeader(),
    }


def role_of(partition: str) -> str:
    """Return the role of a partition's leader."""
    return COORDINATOR_OF.get(topic_of(partition), "partition_leader")


@lru_cache(maxsize=4096)
def role_key(broker: int, partition: str) -> RoleKey:
    """Return the key of the role instance that leads a partition on a broker (one shared object for each)."""
    return (broker, role_of(partition), partition)


def role_as(role: BrokerRole, kind: type[R]) -> R:
    """Return a role as an instance of its class, which its key names."""
    assert isinstance(role, kind), f"{type(role).__name__} is no {kind.__name__}"
    return role


def role_at(roles: Table[RoleKey, BrokerRole], key: RoleKey, kind: type[R]) -> R | None:
    """Return the role under a key as an instance of its class, or None if the broker does not have it."""
    role = roles.get(key)
    assert role is None or isinstance(role, kind), f"{key} is no {kind.__name__}"
    return role


# The roles that load a log before they respond.
COORDINATORS = (GroupCoordinator, ShareCoordinator, TransactionCoordinator)


def is_loading(role: BrokerRole | None) -> bool:
    """Return whether a coordinator still has to load its log; no other role loads one."""
    return isinstance(role, COORDINATORS) and role.loading


def new_role(partition: str, held: Leadership, *, loading: bool) -> BrokerRole:
    """Return a new role instance for a partition; coordinators still have to load."""
    match role_of(partition):
        case "transaction_coordinator":
            return TransactionCoordinator(partition, held.epoch, loading)
        case "group_coordinator":
            return GroupCoordinator(partition, loading)
        case "share_coordinator":
            return ShareCoordinator(partition, loading)
        case _:
            return PartitionLeader(partition, held.epoch)


def _homes(spec: ClusterSpec) -> tuple[str, ...]:
    """Return the internal partitions that this cluster's names hash to."""
    count = spec.internal_partitions
    ids = dict(spec.topic_ids)
    groups = dict(transactional_groups(spec)).values()
    homes = [f"{TRANSACTION_STATE}-{partition_for(group_id, count)}" for group_id in groups]
    for a in spec.applications:
        if a.admin:
            homes += [
                f"{CONSUMER_OFFSETS}-{partition_for(group_id, count)}"
                for line in a.program
                for group_id in groups_of(line)
            ]
            continue
        if a.plain is None:
            homes.append(f"{TRANSACTION_STATE}-{partition_for(a.transactional_id, count)}")
        ids_of_its_own = (task_id(a, task) for task in a.tasks)
        homes += [
            f"{TRANSACTION_STATE}-{partition_for(each, count)}"
            for each in (*ids_of_its_own, *configured_ids(a))
        ]
        if a.share:
            sources = (a.source, *a.further_sources)
            if a.protocol:
                topic = topic_of(a.source)
                sources = tuple(
                    p.partition for p in spec.placements if topic_of(p.partition) == topic
                )
                homes.append(f"{CONSUMER_OFFSETS}-{partition_for(a.group_id, count)}")
            for source in sources:
                key = share_partition_key(a.group_id, ids[topic_of(source)], index_of(source))
                homes.append(f"{SHARE_GROUP_STATE}-{partition_for(key, count)}")
            # KIP-1289 names this one, too: partitionFor(groupId).
            homes.append(f"{SHARE_GROUP_STATE}-{partition_for(a.group_id, count)}")
        else:
            homes.append(f"{CONSUMER_OFFSETS}-{partition_for(a.group_id, count)}")
    left = (each.transactional_id for each in spec.transactions)
    homes += [f"{TRANSACTION_STATE}-{partition_for(each, count)}" for each in left]
    return tuple(homes)


def transactional_groups(spec: ClusterSpec) -> tuple[tuple[str, str], ...]:
    """Return the producers that are configured with their group's id, and that id (KIP-447, first draft).

    It is for groups with generations, those of the classic protocol, the only one at that time, and for the one
    producer of a thread: producers per task are what the draft wants to remove.
    """
    asked = spec.applications if spec.transactional_group_id else ()
    return tuple((a.transactional_id, a.group_id) for a in asked if a.protocol == CLASSIC)


def configured_ids(a: ApplicationSpec) -> tuple[str, ...]:
    """Return the transactional ids with which a program configures producers, beside a session (KIP-1310)."""
    made = (line.target for line in a.program if line.call is Call.NEW_PRODUCER)
    return tuple(dict.fromkeys(each for each in made if each))


def task_id(a: ApplicationSpec, task: str) -> str:
    """Return the transactional id of a task's own producer."""
    return f"{a.transactional_id}-{task}"


def _replicas(partition: str, brokers: tuple[int, ...]) -> tuple[int, ...]:
    """Return the replicas of an internal partition without a placement, spread over the brokers."""
    first = (index_of(partition) + INTERNAL_TOPICS.index(topic_of(partition))) % len(brokers)
    return (*brokers[first:], *brokers[:first])


def _join(a: ApplicationSpec, spec: ClusterSpec, logs: dict[str, PartitionLog]) -> None:
    """Write the records of a member that joined before the run to the logs."""
    if a.protocol:
        return
    count = spec.internal_partitions
    found: list[tuple[str, Value]] = []
    for source in (a.source, *a.further_sources) if a.share else ():
        topic_id = dict(spec.topic_ids)[topic_of(source)]
        key = share_partition_key(a.group_id, topic_id, index_of(source))
        home = f"{SHARE_GROUP_STATE}-{partition_for(key, count)}"
        record = ShareSnapshotRecord(key, 0, FIRST_EPOCH, 0, -1)
        if not any(record in batch.records for batch in logs[home].batches):
            found.append((home, record))
    if not a.share:
        home = f"{CONSUMER_OFFSETS}-{partition_for(a.group_id, count)}"
        ids = (a.member_id, *(t.member_id for t in a.threads if t.consumer))
        found += [(home, MemberRecord(a.group_id, each, FIRST_EPOCH)) for each in ids]
    for home, member in found:
        end = logs[home].end_offset
        batch = Batch(end, (member,), base_sequence=COORDINATOR_SEQUENCE)
        logs[home] = replicate(append(logs[home], batch))


def _share_consumer(a: ApplicationSpec, source: str) -> ShareConsumer:
    return ShareConsumer(
        source,
        a.group_id,
        a.member_id,
        FIRST_EPOCH,
        a.source,
        a.max_records,
        a.explicit,
        acquire_mode=a.acquire_mode,
        gathers=bool(a.gathers),
        by_session=bool(a.by_session),
        subscription=ShareSubscription(
            (a.source, *a.further_sources) if a.further_sources else (), bool(a.protocol)
        ),
        acknowledging=AcknowledgeRequests(callback=a.callback),
        handover=Handover(staging_told=TOLD if _asks_for_metadata(a) else NOBODY_ASKS),
    )


def _subscribable(a: ApplicationSpec, spec: ClusterSpec) -> list[str]:
    """Return the topics that members of an application's group subscribe to, or may later: a leader knows them."""
    group = [each for each in spec.applications if each.group_id == a.group_id and not each.admin]
    first = [topic_of(each.source) for each in group]
    lines = [line for each in group for line in each.program if line.call is Call.SUBSCRIBE]
    later = [topic for line in lines for topic in subscription_of(line.target)[0]]
    return sorted(dict.fromkeys((*first, *later)))


def _asks_for_metadata(a: ApplicationSpec) -> bool:
    return any(line.call is Call.SHARE_GROUP_METADATA for line in a.program)


def _classic_consumer(a: ApplicationSpec, spec: ClusterSpec, source: str) -> ClassicConsumer:
    """Make a consumer of the classic protocol; its client.id is what is its member id elsewhere."""
    topic = topic_of(a.source)
    topics = _subscribable(a, spec)
    known = sorted(
        (p.partition for p in spec.placements if topic_of(p.partition) in topics),
        key=lambda partition: (topics.index(topic_of(partition)), index_of(partition)),
    )
    return ClassicConsumer(
        source,
        a.group_id,
        a.source,
        SubscriptionState(topic, auto_offset_reset=a.auto_offset_reset),
        Fetcher(a.max_records, a.read_uncommitted),
        OffsetRequests(a.offset_fetch_version),
        coordinator=ConsumerCoordinator(
            a.member_id, tuple(known), a.instance_id, a.assignors, a.later_assignors
        ),
    )


def _producer(a: ApplicationSpec, spec: ClusterSpec) -> Producer:
    name = f"{a.name}/producer"
    if a.plain is not None:
        return Producer(
            name,
            TransactionManager(""),
            idempotence=a.plain.idempotence,
            max_in_flight=a.plain.max_in_flight,
        )
    backs_off = spec.clock.timed and (spec.clock.backs_off or a.max_in_flight > 1)
    manager = TransactionManager(
        a.transactional_id,
        a.transaction_timeout_ms,
        two_phase_commit=a.two_phase_commit,
        topics=TopicIds(looks_up=spec.look_up_topics, ids_from=spec.topic_ids_from),
        heartbeat_interval_ms=a.heartbeat_interval_ms,
        group_id=dict(transactional_groups(spec)).get(a.transactional_id, ""),
        backs_off=backs_off,
        finds=spec.acls is not None,
    )
    return Producer(
        name,
        manager,
        RecordAccumulator(buffer=a.buffer, backs_off=backs_off),
        metadata=KnownTopics(looks_up=bool(spec.later_topics or spec.deletable_topics)),
        max_in_flight=a.max_in_flight,
    )


def _application(a: ApplicationSpec, spec: ClusterSpec) -> Application:
    source = f"{a.name}/consumer"
    consumer: Consumer | MemberConsumer | ShareConsumer
    if a.share:
        consumer = _share_consumer(a, source)
    elif a.protocol == CLASSIC:
        consumer = _classic_consumer(a, spec, source)
    elif a.protocol:
        consumer = GroupConsumer(
            source,
            a.group_id,
            a.source,
            SubscriptionState(topic_of(a.source), auto_offset_reset=a.auto_offset_reset),
            Fetcher(a.max_records, a.read_uncommitted),
            OffsetRequests(a.offset_fetch_version),
            membership=ConsumerMembership(a.member_id, a.listener, a.instance_id, a.rack),
        )
    else:
        consumer = Consumer(
            source,
            a.group_id,
            a.member_id,
            FIRST_EPOCH,
            a.source,
            a.max_records,
            read_uncommitted=a.read_uncommitted,
            auto_offset_reset=a.auto_offset_reset,
        )
    producer = _producer(a, spec)
    others: dict[str, Client] = {
        task: producer.but(
            source=f"{a.name}/{task}",
            manager=producer.manager.but(transactional_id=task_id(a, task), group_id=""),
            network=producer.source if a.shares_sender else "",
        )
        for task in a.tasks
    }
    if a.share and a.protocol:
        others |= _share_members(a)
    if a.admin:
        others[administering.NAME] = Admin(f"{a.name}/{administering.NAME}", spec.brokers)
    if a.database:
        place = a.transactional_id if a.shares else ""
        others[DATABASE] = ExternalDatabase(f"{a.name}/{DATABASE}", shared=a.shares, place=place)
    others |= _further_consumers(a, consumer)
    made = Application(
        a.name,
        a.program,
        a.output,
        producer,
        consumer,
        others=Table.of(others),
        workers=tuple(Worker(t.name, t.first) for t in a.threads),
    )
    return made if a.session is None else _with_session(made, a, a.session)


def _share_members(a: ApplicationSpec) -> dict[str, Client]:
    """Return the memberships of a process's share consumers, its own and those of further members, by name."""
    ids = {"": a.member_id, **{member: member for member in a.further_members}}
    names = {member: share_member.name_of(member) for member in ids}
    return {
        name: ShareMember(f"{a.name}/{name}", a.group_id, ids[member], topic_of(a.source))
        for member, name in names.items()
    }


def _further_consumers(
    a: ApplicationSpec, consumer: Consumer | MemberConsumer | ShareConsumer
) -> dict[str, Client]:
    """Return the consumers of a process's threads and of its further members, by name."""
    further: dict[str, Client] = {}
    for thread in a.threads:
        if thread.consumer and isinstance(consumer, Consumer):
            further[thread.consumer] = consumer.but(
                source=f"{a.name}/{thread.consumer}",
                member_id=thread.member_id,
                partition=thread.source,
            )
    for member in a.further_members:
        further[member] = _share_consumer(a, f"{a.name}/{member}").but(member_id=member)
    return further


def _with_session(made: Application, a: ApplicationSpec, session: SessionSpec) -> Application:
    """Return a process with a session, and the producers that are bound to it."""
    producer, others = made.producer, dict(made.others.items())
    own = producer.manager
    others[SESSION] = TransactionSession(
        f"{a.name}/{SESSION}",
        TransactionManager(
            a.transactional_id,
            a.transaction_timeout_ms,
            two_phase_commit=a.two_phase_commit,
            heartbeat_interval_ms=session.heartbeat_interval_ms,
            finds=own.finds,
            backs_off=own.backs_off,
        ),
        session_timeout_ms=session.session_timeout_ms,
    )
    for name in session.producers:
        bound = producer.but(source=f"{a.name}/{name}", manager=own.but(session=SESSION))
        if name == "producer":
            producer = bound
        else:
            others[name] = bound
    return made.but(producer=producer, others=Table.of(others))


def has_active_coordinator(world: World, home: str) -> bool:
    """Return whether a partition of an internal topic has a coordinator that has loaded it."""
    broker = world.image.leader_of(home)
    role = None if broker == NOBODY else world.roles.get(role_key(broker, home))
    return role is not None and not is_loading(role)
