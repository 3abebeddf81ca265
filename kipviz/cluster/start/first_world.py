"""The world that a spec describes: logs with what was written before the run, leaders, and coordinators that still load."""

from __future__ import annotations

from kipviz.brokers.context import Image, Leadership
from kipviz.brokers.logs.partition_log import PartitionLog, append, replicate
from kipviz.clients.operators.group_calls import groups_of
from kipviz.cluster.specs.share_levels import share_level
from kipviz.cluster.specs.spec import (
    ApplicationSpec,
    ClusterSpec,
)
from kipviz.cluster.start.processes import (
    FIRST_EPOCH,
    configured_ids,
    make_application,
    task_id,
    transactional_groups,
)
from kipviz.cluster.world import (
    BrokerRole,
    RoleKey,
    World,
    host_roles,
    leadership,
    new_role,
    role_key,
)
from kipviz.core.table import Table
from kipviz.core.values import Value
from kipviz.messages.cluster.features import Features
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
        Table.of({a.name: make_application(a, spec) for a in spec.applications}),
        Table.of(),
        spec.brokers,
        spec.budget,
        next_producer_id=spec.first_producer_id,
        now_ms=0 if spec.clock.stamps else NO_TIMESTAMP,
    )


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
