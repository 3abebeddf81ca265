"""The processes of a spec at their start: each with its program and its clients, which have done nothing yet.

What a client is configured with is here, too: transactional ids, and the group of a producer (KIP-447, first draft).
"""

from __future__ import annotations

from kipviz.clients.application import Application, Call, Worker
from kipviz.clients.groups.consumer import (
    ClassicConsumer,
    Consumer,
    Fetcher,
    GroupConsumer,
    OffsetRequests,
    RegularConsumer,
)
from kipviz.clients.groups.consumer_coordinator import ConsumerCoordinator
from kipviz.clients.groups.consumer_membership import ConsumerMembership
from kipviz.clients.groups.subscribing import subscription_of
from kipviz.clients.groups.subscription_state import SubscriptionState
from kipviz.clients.kinds import Client
from kipviz.clients.operators import admin as administering
from kipviz.clients.operators.admin import Admin
from kipviz.clients.sending.awaited_topics import KnownTopics
from kipviz.clients.sending.producer import Producer
from kipviz.clients.sending.record_accumulator import RecordAccumulator
from kipviz.clients.sessions.bound_producer import BoundProducer
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
from kipviz.cluster.specs.session_config import SESSION
from kipviz.cluster.specs.spec import (
    ApplicationSpec,
    ClusterSpec,
    SessionSpec,
)
from kipviz.core.table import Table
from kipviz.messages.groups.groups import NAMES_TOPICS
from kipviz.records.placement import (
    index_of,
    topic_of,
)

# A new group starts at epoch 1 and the first member that joins bumps it. Recorded from Kafka 4.4.0.
FIRST_EPOCH = 2


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
    """Make a consumer of the classic protocol; its client.id is what is its member id elsewhere.

    It asks for offsets by names of topics, also where the brokers know ids. Source:
    ConsumerCoordinator.sendOffsetFetchRequest (OffsetFetchRequest.Builder.forTopicNames).
    """
    topic = topic_of(a.source)
    topics = _subscribable(a, spec)
    known = sorted(
        (p.partition for p in spec.placements if topic_of(p.partition) in topics),
        key=lambda partition: (topics.index(topic_of(partition)), index_of(partition)),
    )
    return Consumer(
        source,
        a.group_id,
        a.source,
        SubscriptionState((topic,), auto_offset_reset=a.auto_offset_reset),
        Fetcher(a.max_records, a.read_uncommitted),
        ConsumerCoordinator(
            a.member_id, tuple(known), a.instance_id, a.assignors, a.later_assignors
        ),
        OffsetRequests(min(a.offset_fetch_version, NAMES_TOPICS)),
    )


def _group_consumer(a: ApplicationSpec, source: str) -> GroupConsumer:
    """Make a consumer that joins by KIP-848."""
    return Consumer(
        source,
        a.group_id,
        a.source,
        SubscriptionState((topic_of(a.source),), auto_offset_reset=a.auto_offset_reset),
        Fetcher(a.max_records, a.read_uncommitted),
        ConsumerMembership(a.member_id, a.listener, a.instance_id, a.rack),
        OffsetRequests(a.offset_fetch_version),
    )


def _assigned_consumer(
    a: ApplicationSpec, spec: ClusterSpec, source: str, member_id: str, partition: str
) -> GroupConsumer:
    """Make a consumer that reads a partition by assign(); its group knows it as a member before the run."""
    return Consumer(
        source,
        a.group_id,
        partition,
        SubscriptionState.assign((partition,), a.auto_offset_reset),
        Fetcher(a.max_records, a.read_uncommitted),
        ConsumerMembership(member_id, member_epoch=FIRST_EPOCH),
        OffsetRequests(backs_off=spec.clock.timed and spec.clock.backs_off),
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


def make_application(a: ApplicationSpec, spec: ClusterSpec) -> Application:
    """Make a process with the clients that its spec asks for."""
    source = f"{a.name}/consumer"
    consumer: RegularConsumer | ShareConsumer
    if a.share:
        consumer = _share_consumer(a, source)
    elif a.protocol == CLASSIC:
        consumer = _classic_consumer(a, spec, source)
    elif a.protocol:
        consumer = _group_consumer(a, source)
    else:
        consumer = _assigned_consumer(a, spec, source, a.member_id, a.source)
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
    others |= _further_consumers(a, spec)
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
        name: ShareMember(f"{a.name}/{name}", a.group_id, ids[member], (topic_of(a.source),))
        for member, name in names.items()
    }


def _further_consumers(a: ApplicationSpec, spec: ClusterSpec) -> dict[str, Client]:
    """Return the consumers of a process's threads and of its further members, by name."""
    further: dict[str, Client] = {}
    for thread in a.threads:
        if thread.consumer and not a.share:
            source = f"{a.name}/{thread.consumer}"
            further[thread.consumer] = _assigned_consumer(
                a, spec, source, thread.member_id, thread.source
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
        others[name] = BoundProducer(
            f"{a.name}/{name}",
            producer.accumulator,
            metadata=producer.metadata,
            topics=own.topics,
            heartbeat_interval_ms=own.heartbeat_interval_ms,
        )
    bound = others.pop("producer", producer)
    return made.but(own_producer=bound, others=Table.of(others))
