"""The controller's part of a step: leaders of partitions, running brokers, topics.

WHERE IN KAFKA: ReplicationControlManager (handleBrokerFenced, handleBrokerUnfenced, electLeaders, deleteTopics,
createTopics, createPartitions); BrokerMetadataPublisher.
KIPS: KIP-631 (brokers), KIP-4 (CreateTopics, DeleteTopics), KIP-516 (topic ids), KIP-599.
NOT MODELLED: the time until each broker learns of a change. The requests of an admin client are in
`brokers.topic_administration`, and the lookup that creates a topic in `brokers.logs.requests.metadata_requests`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kipviz.brokers.context import NOBODY, Controller, Image, Leadership, NewTopic
from kipviz.brokers.logs.partition_log import PartitionLog, append, rebuild, replicate
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.cluster import dispatch
from kipviz.cluster.actions import CreateTopic, DeleteTopic
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.world import (
    World,
    broker_host,
    host_of,
    host_roles,
    leadership,
    new_role,
    role_as,
    role_key,
)
from kipviz.messages.apis.api import Role
from kipviz.messages.cluster import topic_configs
from kipviz.messages.events import (
    LeaderMoved,
    PartitionsAdded,
    TopicCreated,
    TopicDeleted,
    TopicRemade,
)
from kipviz.records.batches import Batch, DataRecord
from kipviz.records.placement import topic_of

if TYPE_CHECKING:
    from kipviz.cluster.turn import Turn


def removable(spec: ClusterSpec, world: World) -> Iterator[str]:
    """Return the topics that an operator may delete now."""
    return (topic for topic in spec.deletable_topics if topic in world.image.topic_ids)


def creatable(spec: ClusterSpec, world: World) -> Iterator[str]:
    """Return the topics that an operator may create now."""
    return (topic for topic in spec.later_topics if topic not in world.image.topic_ids)


def why_no_removal(spec: ClusterSpec, world: World, action: DeleteTopic) -> str | None:
    """Return why an operator cannot delete a topic now."""
    if action.topic not in spec.deletable_topics:
        names = ", ".join(spec.deletable_topics) or "none"
        return f"{action.topic} cannot be deleted here; topics that can: {names}"
    gone = action.topic not in world.image.topic_ids
    return f"{action.topic} is already deleted" if gone else None


def why_no_creation(spec: ClusterSpec, world: World, action: CreateTopic) -> str | None:
    """Return why an operator cannot create a topic now."""
    if action.topic not in spec.later_topics:
        names = ", ".join(spec.later_topics) or "none"
        return f"{action.topic} cannot be created here; topics that can: {names}"
    there = action.topic in world.image.topic_ids
    return f"topic {action.topic} already exists" if there else None


# -- leaders and brokers ---------------------------------------------------------------------


def elect(turn: Turn, partition: str, to: int) -> None:
    """Make another broker the leader of a partition, or none (-1)."""
    held = turn.image.leaders[partition]
    fresh = held.but(leader=to, epoch=held.epoch + 1)
    turn.image = turn.image.but(leaders=turn.image.leaders.set(partition, fresh))
    turn.events.append(LeaderMoved(partition, held.leader, to, fresh.epoch))
    _resign(turn, held.leader, partition)
    turn.logs = turn.logs.set(partition, rebuild(turn.logs[partition]))
    if to != NOBODY:
        loading = role_key(to, partition)[1] != Role.PARTITION_LEADER
        turn.roles = turn.roles.set(
            role_key(to, partition), new_role(partition, fresh, loading=loading)
        )
        _image_changed(turn, (partition,), was_leaderless=held.leader == NOBODY)


def crash(turn: Turn, broker: int) -> None:
    """Stop a broker: its roles end, its partitions move, its connections break."""
    turn.up = tuple(b for b in turn.up if b != broker)
    _in_sync_changed(turn)
    for key in tuple(turn.roles):
        if key[0] == broker:
            turn.roles = turn.roles.without(key)
    for partition, held in turn.image.leaders.items():
        if held.leader == broker:
            heirs = [b for b in held.replicas if b in turn.up]
            elect(turn, partition, heirs[0] if heirs else NOBODY)
    host = broker_host(broker)
    for source, other in tuple(turn.connections):
        if (other == broker or host_of(source) == host) and turn.connections[source, other].open:
            turn.lose(source, other)


def start(turn: Turn, broker: int) -> None:
    """Start a broker; it becomes the leader of partitions without one."""
    turn.up = tuple(sorted((*turn.up, broker)))
    for key, role in host_roles(broker).items():
        turn.roles = turn.roles.set(key, role)
    for partition, held in turn.image.leaders.items():
        if held.leader == NOBODY and broker in held.replicas:
            elect(turn, partition, broker)
    _in_sync_changed(turn)


def _in_sync_changed(turn: Turn) -> None:
    """Update the in-sync replicas after brokers stopped or started, and continue work that lacked replicas."""
    if not turn.image.min_insync_replicas:
        return
    offline = tuple(b for b in turn.spec.brokers if b not in turn.up)
    before, turn.image = turn.image, turn.image.but(offline=offline)
    _replicate_again(turn, before)


def _replicate_again(turn: Turn, before: Image) -> None:
    """Continue the work of partitions that lacked in-sync replicas before, and have enough now."""
    for partition in turn.image.leaders:
        if before.has_enough_replicas(partition) or not turn.image.has_enough_replicas(partition):
            continue
        if turn.instant:
            turn.replicate(partition)
        key = role_key(turn.image.leader_of(partition), partition)
        if key in turn.roles and dispatch.heeds_image(
            turn.roles[key], partition, was_leaderless=False
        ):
            turn.carry_out(key, dispatch.image_changed(turn.roles[key], turn.context(key[0])))


def _image_changed(turn: Turn, partitions: tuple[str, ...], *, was_leaderless: bool) -> None:
    """Notify every role that depends on the state of some partitions."""
    for key in turn.roles:
        role = turn.roles[key]
        if any(dispatch.heeds_image(role, p, was_leaderless=was_leaderless) for p in partitions):
            turn.carry_out(key, dispatch.image_changed(role, turn.context(key[0])))


def _resign(turn: Turn, broker: int, partition: str) -> None:
    key = role_key(broker, partition)
    role = turn.roles.get(key)
    if role is None:
        return
    turn.roles = turn.roles.without(key)
    turn.carry_out((broker, "", ""), dispatch.resign_role(role, turn.context(broker)))
    if key[1] == Role.PARTITION_LEADER:
        shares = (broker, Role.SHARE_PARTITION_LEADER, "")
        leader = role_as(turn.roles[shares], ShareLeader)
        done = dispatch.leadership_lost(leader, partition, turn.context(broker))
        turn.carry_out(shares, done)


# -- topics ----------------------------------------------------------------------------------


def remake(turn: Turn, topic: str) -> None:
    """Delete a topic and create it again: with another id and other records, without any earlier state."""
    fresh = next(each for each in turn.spec.remade if each.topic == topic)
    before = turn.image.topic_ids[topic]
    ids = turn.image.topic_ids.set(topic, fresh.topic_id)
    turn.image = turn.image.but(topic_ids=ids)
    turn.events.append(TopicRemade(topic, before, fresh.topic_id))
    for partition, held in turn.image.leaders.items():
        if topic_of(partition) != topic:
            continue
        first = partition == f"{topic}-0"
        log = PartitionLog(partition)
        for offset, value in enumerate(fresh.values if first else ()):
            log = append(log, Batch(offset, (DataRecord(value),)))
        turn.logs = turn.logs.set(partition, replicate(log))
        if held.leader != NOBODY:
            elect(turn, partition, held.leader)
    _tell_of_deletion(turn, topic, before)


def delete_topic(turn: Turn, topic: str) -> None:
    """Delete a topic for good: its leaders respond to waiting requests, and every role removes its state.

    Its logs are empty and have no leader.
    """
    gone = {p: held for p, held in turn.image.leaders.items() if topic_of(p) == topic}
    leaders = turn.image.leaders
    for partition in gone:
        leaders = leaders.without(partition)
        turn.logs = turn.logs.set(partition, PartitionLog(partition))
    topic_id = turn.image.topic_ids[topic]
    ids = turn.image.topic_ids.without(topic)
    # The spec has the configs of its topics; such a topic may be created again as it is there.
    image = (
        _drop_configs(turn.image, topic) if topic in dict(turn.image.topic_configs) else turn.image
    )
    turn.image = image.but(leaders=leaders, topic_ids=ids)
    turn.events.append(TopicDeleted(topic, topic_id))
    for partition, held in gone.items():
        _resign(turn, held.leader, partition)
    _tell_of_deletion(turn, topic, topic_id)
    _image_changed(turn, tuple(gone), was_leaderless=True)


def _drop_configs(image: Image, topic: str) -> Image:
    """Return the metadata without the configs of a topic."""
    return image.but(
        topic_configs=tuple(each for each in image.topic_configs if each[0] != topic),
        dead_letter_topics=tuple(t for t in image.dead_letter_topics if t != topic),
        min_insync_replicas=tuple(m for m in image.min_insync_replicas if m[0] != topic),
    )


def create_topic(turn: Turn, new: NewTopic) -> None:
    """Create a topic, or add partitions to one; partitions of brokers that are down wait for them."""
    if new.first == 0:
        _add_topic(turn, new)
    turn.events.append(
        PartitionsAdded(new.name, len(new.replicas))
        if new.first
        else TopicCreated(new.name, new.topic_id)
    )
    for index, replicas in enumerate(new.replicas, new.first):
        partition = f"{new.name}-{index}"
        up = [broker for broker in replicas if broker in turn.up]
        held = Leadership(up[0] if up else NOBODY, 0, replicas)
        turn.image = turn.image.but(leaders=turn.image.leaders.set(partition, held))
        if partition not in turn.logs:
            turn.logs = turn.logs.set(partition, PartitionLog(partition))
        if up:
            fresh = new_role(partition, held, loading=False)
            turn.roles = turn.roles.set(role_key(up[0], partition), fresh)


def _add_topic(turn: Turn, new: NewTopic) -> None:
    """Add a topic to the metadata, with its configs."""
    made = new.topic_id not in dict(turn.spec.topic_ids).values()
    image = _drop_configs(turn.image, new.name) if made else turn.image
    image = image.but(
        topic_ids=image.topic_ids.set(new.name, new.topic_id),
        topics_created=image.topics_created + made,
    )
    if not made or not new.configs:
        turn.image = image  # the spec has the configs of its topics
        return
    turn.image = _add_configs(turn, image, new.name, new.configs)


def set_configs(turn: Turn, topic: str, configs: topic_configs.Configs) -> None:
    """Let a topic have some configs instead of its own; what waited for more in-sync replicas may continue."""
    before = turn.image
    image = _drop_configs(before, topic)
    turn.image = _add_configs(turn, image, topic, configs) if configs else image
    _replicate_again(turn, before)


def _add_configs(turn: Turn, image: Image, topic: str, configs: topic_configs.Configs) -> Image:
    """Return the metadata with the configs of a topic that has none."""
    image = image.but(topic_configs=(*image.topic_configs, (topic, configs)))
    if topic_configs.allows_dead_letters(configs):
        image = image.but(dead_letter_topics=(*image.dead_letter_topics, topic))
    least = topic_configs.min_insync_replicas(configs)
    if least > 1:
        image = image.but(
            min_insync_replicas=(*image.min_insync_replicas, (topic, least)),
            offline=tuple(b for b in turn.spec.brokers if b not in turn.up),
        )
    return image


def placed_topic(spec: ClusterSpec, topic: str) -> NewTopic:
    """Return a topic that the spec places, as it is created."""
    placed = (p for p in spec.placements if topic_of(p.partition) == topic)
    replicas = tuple(leadership(p).replicas for p in placed)
    return NewTopic(topic, dict(spec.topic_ids)[topic], replicas)


def controller_of(spec: ClusterSpec, up: tuple[int, ...]) -> Controller:
    """Return what the controller knows besides the image; `up` are the running brokers."""
    placed = tuple(placed_topic(spec, topic) for topic in spec.later_topics)
    return Controller(spec.brokers, up, placed)


def _tell_of_deletion(turn: Turn, topic: str, topic_id: str) -> None:
    for key in turn.roles:
        on = turn.context(key[0])
        turn.carry_out(key, dispatch.topic_deleted(turn.roles[key], topic, topic_id, on))
