"""A client's lookup of topics, which may create those that do not exist.

WHO: every broker (KafkaApis). It forwards a creation to the controller, and does not wait for it.
WHERE IN KAFKA: KafkaApis.handleTopicMetadataRequest, AutoTopicCreationManager.
KIPS: KIP-361 (allow.auto.create.topics), KIP-516 (topic ids).
DURABILITY: topics are metadata of the cluster.
NOT MODELLED: the round trip to the controller; a second creation while the first one is in flight.
"""

from __future__ import annotations

from collections.abc import Iterable

from kipviz.brokers.authorizer import may_create, principal_of
from kipviz.brokers.checks import Check
from kipviz.brokers.context import Context, Effects, NewTopic, Reply, ReplyTo
from kipviz.brokers.handling import takes
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.topic_administration import TopicRefusedError, new_topic
from kipviz.messages.cluster.metadata import Metadata, MetadataResponse, TopicId
from kipviz.messages.cluster.topic_creation import CreatableTopic
from kipviz.messages.errors import Errors
from kipviz.records.placement import INTERNAL_TOPICS, why_invalid_name


@takes(Metadata)
def on_metadata(
    me: KafkaApis, request: Metadata, reply_to: ReplyTo, on: Context
) -> Effects[KafkaApis]:
    """Return the ids of topics by name; a topic that does not exist has none.

    WHEN: a client looks topics up. CHECKS: the name of a topic that does not exist and, where it may be created, CREATE on
    the topic or the cluster. DOES: creates missing topics if auto.create.topics.enable and the request allow it.
    ANSWERS: at once; a topic that is created is still unknown, and the next lookup finds it.
    Clause: KIP-516 topic ids; KafkaApis.handleTopicMetadataRequest, AutoTopicCreationManager.createTopics.
    """
    creates = on.settings.auto_create_topics and request.allow_auto_topic_creation
    told = tuple(_look_up(topic, reply_to, on, creates=creates) for topic in request.topics)
    missing = (each.topic for each in told if _is_missing(each)) if creates else ()
    made, refusals = _create(missing, on)
    checks = (*(_check(each, reply_to) for each in told), *refusals)
    answer = Reply(reply_to, MetadataResponse(Errors.NONE, told))
    return Effects(me, replies=(answer,), creates=made, checks=checks)


def _look_up(topic: str, reply_to: ReplyTo, on: Context, *, creates: bool) -> TopicId:
    """Return what the response says of a topic; `creates` is whether missing topics are created."""
    topic_id = on.image.topic_ids.get(topic, "")
    if topic_id or topic in INTERNAL_TOPICS:
        return TopicId(topic, topic_id)
    if creates and not may_create(on.image.acls, reply_to.source, topic):
        return TopicId(topic, "", Errors.TOPIC_AUTHORIZATION_FAILED)
    if why_invalid_name(topic):
        return TopicId(topic, "", Errors.INVALID_TOPIC_EXCEPTION)
    return TopicId(topic, "")


def _is_missing(told: TopicId) -> bool:
    return not told.topic_id and not told.error and told.topic not in INTERNAL_TOPICS


def _create(missing: Iterable[str], on: Context) -> tuple[tuple[NewTopic, ...], tuple[Check, ...]]:
    """Return the topics that are created, and a check for each one: the controller may refuse it, which no client sees."""
    made: list[NewTopic] = []
    checks: list[Check] = []
    for topic in dict.fromkeys(missing):
        try:
            made.append(new_topic(CreatableTopic(topic), made, on))
        except TopicRefusedError as refused:
            checks.append(Check("topic created", topic, refused.error))
        else:
            checks.append(Check("topic created", topic, True))
    return tuple(made), tuple(checks)


def _check(told: TopicId, reply_to: ReplyTo) -> Check:
    if told.error is Errors.TOPIC_AUTHORIZATION_FAILED:
        return Check("rights", principal_of(reply_to.source), False, told.error)
    return Check(f"id of {told.topic}", None, told.topic_id or None, told.error)
