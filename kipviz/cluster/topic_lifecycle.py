"""Topics that an operator deletes for good, and topics that are made while clients wait for them.

WHERE IN KAFKA: ReplicationControlManager.deleteTopics, createTopics; BrokerMetadataPublisher.
KIPS: KIP-4 (CreateTopics, DeleteTopics), KIP-516 (topic ids), KIP-599.
NOT MODELLED: that brokers learn of it one by one; the requests of an admin client for it, and their
  rights; a topic of the same name after one was deleted (that is `RemakeTopic`); partitions that
  are added to a topic; brokers that make a topic because somebody asks for it (auto.create.topics.enable),
  but for one that dead letters go to (KIP-1191).
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.cluster.actions import CreateTopic, DeleteTopic
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.world import World


def removable(spec: ClusterSpec, world: World) -> Iterator[str]:
    """Give the topics that an operator may delete now."""
    return (topic for topic in spec.deletable_topics if topic in world.image.topic_ids)


def creatable(spec: ClusterSpec, world: World) -> Iterator[str]:
    """Give the topics that an operator may make now."""
    return (topic for topic in spec.later_topics if topic not in world.image.topic_ids)


def why_no_removal(spec: ClusterSpec, world: World, action: DeleteTopic) -> str | None:
    """Say why an operator does not delete a topic now."""
    if action.topic not in spec.deletable_topics:
        names = ", ".join(spec.deletable_topics) or "none"
        return f"{action.topic} cannot be deleted here; topics that can: {names}"
    gone = action.topic not in world.image.topic_ids
    return f"{action.topic} is already deleted" if gone else None


def why_no_creation(spec: ClusterSpec, world: World, action: CreateTopic) -> str | None:
    """Say why an operator does not make a topic now."""
    if action.topic not in spec.later_topics:
        names = ", ".join(spec.later_topics) or "none"
        return f"{action.topic} cannot be created here; topics that can: {names}"
    there = action.topic in world.image.topic_ids
    return f"topic {action.topic} already exists" if there else None
