"""An operator's requests that create topics, add partitions to them, and delete them.

WHO: every broker (KafkaApis). It forwards them to the controller and waits for the response.
WHERE IN KAFKA: ControllerApis, ReplicationControlManager, StripedReplicaPlacer.
KIPS: KIP-4 (the requests), KIP-195 (CreatePartitions), KIP-464 (default numbers), KIP-516 (topic ids), KIP-1191.
DURABILITY: topics are metadata of the cluster.
NOT MODELLED: the round trip to the controller, and the time until each broker learns of it; quotas and policies; racks;
that Kafka begins to place a topic at a random broker: here the first running one leads the first partition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kipviz.brokers.authorizer import may_delete, principal_of, seen
from kipviz.brokers.checks import Check
from kipviz.brokers.context import Context, Effects, NewTopic, Reply, ReplyTo
from kipviz.brokers.handling import takes
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.messages.apis.rights import Resource
from kipviz.messages.cluster import topic_configs
from kipviz.messages.cluster.topic_creation import (
    BY_DEFAULT,
    CreatableTopic,
    CreatableTopicResult,
    CreatePartitions,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
    CreateTopics,
    CreateTopicsResponse,
)
from kipviz.messages.cluster.topic_deletion import (
    DeletableTopicResult,
    DeleteTopics,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kipviz.messages.errors import Errors
from kipviz.records.placement import INTERNAL_TOPICS, index_of, topic_of, why_invalid_name
from kipviz.settings import broker_configs

PARTITIONS_MAX = 10_000  # ReplicationControlManager.MAX_PARTITIONS_PER_BATCH
_CLUSTER_METADATA = "__cluster_metadata"
DUPLICATE = "Duplicate topic name."
UNKNOWN = "This server does not host this topic-partition."

Replicas = tuple[tuple[int, ...], ...]


class TopicRefusedError(Exception):
    """Why a topic is not created or changed: the error, and Kafka's sentence about it."""

    def __init__(self, error: Errors, why: str = "") -> None:
        super().__init__(why)
        self.error = error
        self.why = why


# -- creation ------------------------------------------------------------------------------------


@takes(CreateTopics)
def on_create_topics(
    me: KafkaApis, request: CreateTopics, reply_to: ReplyTo, on: Context
) -> Effects[KafkaApis]:
    """Create topics: each valid one is created, even if others are rejected.

    WHEN: an operator creates topics, or a broker has dead letters for a topic that does not exist, or has no known
    leader. CHECKS: each name, whether the topic exists, its configs, its numbers or its assignment; CREATE on the topic
    or the cluster was checked before. DOES: passes the request to the controller, which places the partitions.
    ANSWERS: when the topics are created, with a result for each.
    Clause: KIP-4 "Create Topics Request"; ControllerApis.createTopics, ReplicationControlManager.createTopics.
    """
    counts = Counter(topic.name for topic in request.topics)
    made: list[NewTopic] = []
    results: list[CreatableTopicResult] = []
    too_many = _count_partitions(request) > PARTITIONS_MAX
    for topic in request.topics:
        try:
            if counts[topic.name] > 1:
                raise TopicRefusedError(Errors.INVALID_REQUEST, DUPLICATE)
            if too_many:
                why = "Excessively large number of partitions per request."
                raise TopicRefusedError(Errors.POLICY_VIOLATION, why)
            new = new_topic(topic, made, on)
        except TopicRefusedError as refused:
            result = CreatableTopicResult(topic.name, refused.error, error_message=refused.why)
        else:
            made.append(new)
            result = _render_created(new)
        if result not in results:
            results.append(result)
    checks = tuple(
        Check("topic there", r.name, r.name in on.image.topic_ids, r.error) for r in results
    )
    answer = Reply(reply_to, CreateTopicsResponse(tuple(results)))
    creates = () if request.validate_only else tuple(made)
    return Effects(me, replies=(answer,), creates=creates, checks=checks)


def _render_created(new: NewTopic) -> CreatableTopicResult:
    partitions, replicas = len(new.replicas), len(new.replicas[0])
    return CreatableTopicResult(
        new.name, Errors.NONE, new.topic_id, partitions, replicas, new.configs
    )


def _count_partitions(request: CreateTopics) -> int:
    default = broker_configs.NUM_PARTITIONS.default
    return sum(
        len(topic.assignments)
        or (default if topic.num_partitions == BY_DEFAULT else max(topic.num_partitions, 0))
        for topic in request.topics
    )


def new_topic(topic: CreatableTopic, before: Iterable[NewTopic], on: Context) -> NewTopic:
    """Return the topic that is created; `before` are the ones that the same request creates before it.

    Raises:
        TopicRefusedError: if it is not.
    """
    _check_name(topic.name, on)
    if topic.name in on.image.topic_ids or topic.name in INTERNAL_TOPICS:
        why = f"Topic '{topic.name}' already exists."
        raise TopicRefusedError(Errors.TOPIC_ALREADY_EXISTS, why)
    if why := topic_configs.why_invalid(topic.configs):
        raise TopicRefusedError(Errors.INVALID_CONFIG, why)
    configs = tuple((name, value or "") for name, value in topic.configs)
    by_default = topic.num_partitions == topic.replication_factor == BY_DEFAULT
    if by_default and not topic.assignments:
        placed = next((each for each in on.controller.placed if each.name == topic.name), None)
        if placed is not None:
            return placed.but(configs=configs)
    # A topic that the spec places has its id from there.
    ids = {each.topic_id for each in on.controller.placed}
    count = sum(each.topic_id not in ids for each in before)
    topic_id = make_topic_id(on.image.topics_created + count)
    return NewTopic(topic.name, topic_id, _replicas_of(topic, on), configs=configs)


def make_topic_id(number: int) -> str:
    """Return the id of the topic that is created after a number of others; Kafka takes a random one."""
    return f"created{number:014d}g"


def _check_name(name: str, on: Context) -> None:
    """Check a new topic's name. Source: Topic.validate, ReplicationControlManager.validateNewTopicNames."""
    if name == _CLUSTER_METADATA:
        why = f"Creation of internal topic {name} is prohibited."
        raise TopicRefusedError(Errors.INVALID_REQUEST, why)
    if wrong := why_invalid_name(name):
        raise TopicRefusedError(Errors.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {wrong}")
    unified = name.replace(".", "_")
    like = (t for t in (*on.image.topic_ids, *INTERNAL_TOPICS) if t.replace(".", "_") == unified)
    colliding = next((t for t in like if t != name), None)
    if colliding is not None:
        why = f"Topic '{name}' collides with existing topic: {colliding}"
        raise TopicRefusedError(Errors.INVALID_TOPIC_EXCEPTION, why)


def _replicas_of(topic: CreatableTopic, on: Context) -> Replicas:
    """Return the replicas of each partition of a new topic. Source: ReplicationControlManager.createTopic."""
    if topic.assignments:
        return _read_assignment(topic, on)
    if topic.replication_factor < BY_DEFAULT or topic.replication_factor == 0:
        why = "Replication factor must be larger than 0, or -1 to use the default value."
        raise TopicRefusedError(Errors.INVALID_REPLICATION_FACTOR, why)
    if topic.num_partitions < BY_DEFAULT or topic.num_partitions == 0:
        why = "Number of partitions was set to an invalid non-positive value."
        raise TopicRefusedError(Errors.INVALID_PARTITIONS, why)
    partitions, factor = topic.num_partitions, topic.replication_factor
    if partitions == BY_DEFAULT:
        partitions = broker_configs.NUM_PARTITIONS.default
    if factor == BY_DEFAULT:
        factor = broker_configs.DEFAULT_REPLICATION_FACTOR.default
    try:
        return _place(range(partitions), factor, on)
    except TopicRefusedError as refused:
        why = f"Unable to replicate the partition {factor} time(s): {refused.why}"
        raise TopicRefusedError(refused.error, why) from None


def _place(indexes: Iterable[int], factor: int, on: Context) -> Replicas:
    """Place partitions: each is led by the next running broker; brokers that are down come last.

    Source: StripedReplicaPlacer, with one rack.
    """
    controller, error = on.controller, Errors.INVALID_REPLICATION_FACTOR
    if not controller.up:
        raise TopicRefusedError(error, "All brokers are currently fenced.")
    if factor > len(controller.brokers):
        why = (
            f"The target replication factor of {factor} cannot be reached because only "
            f"{len(controller.brokers)} broker(s) are registered."
        )
        raise TopicRefusedError(error, why)
    up = controller.up
    down = tuple(b for b in controller.brokers if b not in up)
    starts = (index % len(up) for index in indexes)
    return tuple((*up[at:], *up[:at], *down)[:factor] for at in starts)


def _read_assignment(topic: CreatableTopic, on: Context) -> Replicas:
    """Return the replicas of a new topic as its sender assigned them."""
    if topic.replication_factor != BY_DEFAULT:
        why = (
            "A manual partition assignment was specified, but replication factor was not set to -1."
        )
        raise TopicRefusedError(Errors.INVALID_REQUEST, why)
    if topic.num_partitions != BY_DEFAULT:
        why = "A manual partition assignment was specified, but numPartitions was not set to -1."
        raise TopicRefusedError(Errors.INVALID_REQUEST, why)
    found: dict[int, tuple[int, ...]] = {}
    size = None
    for each in topic.assignments:
        index = each.partition_index
        if index in found:
            why = f"Found multiple manual partition assignments for partition {index}"
            raise TopicRefusedError(Errors.INVALID_REPLICA_ASSIGNMENT, why)
        found[index] = _check_assignment(each.broker_ids, index, size, on)
        size = len(each.broker_ids)
    if sorted(found) != list(range(len(found))):
        why = "partitions should be a consecutive 0-based integer sequence"
        raise TopicRefusedError(Errors.INVALID_REPLICA_ASSIGNMENT, why)
    return tuple(found[index] for index in range(len(found)))


def _check_assignment(
    brokers: tuple[int, ...], index: int, size: int | None, on: Context
) -> tuple[int, ...]:
    """Check one partition's assignment. Source: ReplicationControlManager.validateManualPartitionAssignment."""
    known, first = on.controller.brokers, "The manual partition assignment includes"
    why = ""
    unknown = next((b for b in sorted(brokers) if b not in known), None)
    twice = next((b for b in sorted(brokers) if brokers.count(b) > 1), None)
    if not brokers:
        why = f"{first} an empty replica list."
    elif unknown is not None:
        why = f"{first} broker {unknown}, but no such broker is registered."
    elif twice is not None:
        why = f"{first} the broker {twice} more than once."
    elif size is not None and len(brokers) != size:
        why = (
            f"{first} a partition with {len(brokers)} replica(s), but this is not consistent with previous "
            f"partitions, which have {size} replica(s)."
        )
    elif not any(b in on.controller.up for b in brokers):
        why = (
            f"All brokers specified in the manual partition assignment for partition {index} are fenced or in "
            "controlled shutdown."
        )
    if why:
        raise TopicRefusedError(Errors.INVALID_REPLICA_ASSIGNMENT, why)
    return brokers


# -- more partitions -----------------------------------------------------------------------------


@takes(CreatePartitions)
def on_create_partitions(
    me: KafkaApis, request: CreatePartitions, reply_to: ReplyTo, on: Context
) -> Effects[KafkaApis]:
    """Add partitions to topics.

    WHEN: an operator adds some. CHECKS: that each topic exists, that it gets more partitions than it has, and the
    assignment; ALTER on the topic was checked before. DOES: passes the request to the controller, which places them.
    ANSWERS: when they are created, with a result for each topic.
    Clause: KIP-195; ControllerApis.createPartitions, ReplicationControlManager.createPartitions.
    """
    counts = Counter(topic.name for topic in request.topics)
    made: list[NewTopic] = []
    results: list[CreatePartitionsTopicResult] = []
    for topic in request.topics:
        try:
            if counts[topic.name] > 1:
                raise TopicRefusedError(Errors.INVALID_REQUEST, DUPLICATE)
            made.append(_extend_topic(topic, on))
            result = CreatePartitionsTopicResult(topic.name, Errors.NONE)
        except TopicRefusedError as refused:
            result = CreatePartitionsTopicResult(topic.name, refused.error, refused.why)
        if result not in results:
            results.append(result)
    checks = tuple(
        Check("topic there", r.name, r.name in on.image.topic_ids, r.error) for r in results
    )
    answer = Reply(reply_to, CreatePartitionsResponse(tuple(results)))
    creates = () if request.validate_only else tuple(made)
    return Effects(me, replies=(answer,), creates=creates, checks=checks)


def _extend_topic(topic: CreatePartitionsTopic, on: Context) -> NewTopic:
    """Return the partitions that are added to a topic.

    Raises:
        TopicRefusedError: if none are.
    """
    _refuse_internal(topic.name)
    topic_id = on.image.topic_ids.get(topic.name)
    if topic_id is None:
        raise TopicRefusedError(Errors.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN)
    there = sorted((p for p in on.image.leaders if topic_of(p) == topic.name), key=index_of)
    known, count = len(there), topic.count
    if count <= known:
        why = f"Topic already has {known} partition(s)."
        if count < known:
            why = f"The topic {topic.name} currently has {known} partition(s); {count} would not be an increase."
        raise TopicRefusedError(Errors.INVALID_PARTITIONS, why)
    if count - known > PARTITIONS_MAX:
        why = "Excessively large number of partitions per request."
        raise TopicRefusedError(Errors.POLICY_VIOLATION, why)
    factor = len(on.image.leaders[there[0]].replicas)
    if topic.assignments is None:
        replicas = _place(range(known, count), factor, on)
    else:
        given = len(topic.assignments)
        if given != count - known:
            why = (
                f"Attempted to add {count - known} additional partition(s), but only {given} assignment(s) "
                "were specified."
            )
            raise TopicRefusedError(Errors.INVALID_REPLICA_ASSIGNMENT, why)
        replicas = tuple(
            _check_assignment(brokers, known + at, factor, on)
            for at, brokers in enumerate(topic.assignments)
        )
    return NewTopic(topic.name, topic_id, replicas, known)


def _refuse_internal(topic: str) -> None:
    if topic in INTERNAL_TOPICS:
        why = f"{topic} is an internal topic: in the model its partitions stay as they are."
        raise TopicRefusedError(Errors.INVALID_REQUEST, why)


# -- deletion ------------------------------------------------------------------------------------


@takes(DeleteTopics)
def on_delete_topics(
    me: KafkaApis, request: DeleteTopics, reply_to: ReplyTo, on: Context
) -> Effects[KafkaApis]:
    """Delete topics, each named by its name or its id.

    WHEN: an operator deletes them. CHECKS: that each is named once, in one way, exists, and that the sender has DELETE on
    the topic or the cluster, each for itself. DOES: passes the request to the controller; the partitions' leaders resign,
    and every role removes its state of them. ANSWERS: when the topics are deleted, with a result for each; Kafka shuffles
    them.
    Clause: KIP-4 "Delete Topics Request", KIP-516; ControllerApis.deleteTopics, ReplicationControlManager.deleteTopics.
    """
    results = []
    for at, each in enumerate(request.topics):
        malformed = _why_malformed(each, request)
        if malformed is None:
            results.append(_find_deleted(each, reply_to, on))
        elif each in request.topics[:at] and (each.name is None) == bool(each.topic_id):
            continue  # a name or an id that is repeated has one result
        else:
            results.append(
                DeletableTopicResult(each.name, each.topic_id, Errors.INVALID_REQUEST, malformed)
            )
    results = _reject_named_twice(request, results)
    gone = tuple(r.name for r in results if r.name is not None and r.error is Errors.NONE)
    checks = tuple(
        Check("rights", principal_of(reply_to.source), False, r.error)
        if r.error is Errors.TOPIC_AUTHORIZATION_FAILED
        else Check("topic there", r.name or r.topic_id, not r.error, r.error)
        for r in results
    )
    answer = Reply(reply_to, DeleteTopicsResponse(tuple(results)))
    return Effects(me, replies=(answer,), drops=gone, checks=checks)


def _why_malformed(each: DeleteTopicState, request: DeleteTopics) -> str | None:
    """Return Kafka's sentence about a topic that is not named once and in one way, or None."""
    if each.name is not None and each.topic_id:
        return "You may not specify both topic name and topic id."
    if each.name is None and not each.topic_id:
        return "Neither topic name nor id were specified."
    if request.topics.count(each) > 1:
        return "Duplicate topic id." if each.name is None else DUPLICATE
    return None


def _find_deleted(each: DeleteTopicState, reply_to: ReplyTo, on: Context) -> DeletableTopicResult:
    """Return the result for a topic: NONE with its name and id if it may be deleted.

    A sender without DESCRIBE learns neither the name of an id nor whether a name exists.
    """
    acls, source, ids = on.image.acls, reply_to.source, on.image.topic_ids
    name, topic_id = each.name, each.topic_id
    if name is None:
        name = next((topic for topic, known in ids.items() if known == topic_id), None)
        if name is None:
            why = "This server does not host this topic ID."
            return DeletableTopicResult(None, topic_id, Errors.UNKNOWN_TOPIC_ID, why)
    deletable = may_delete(acls, source, name)
    describable = deletable or seen(acls, source, Resource.TOPIC, name)
    denied = DeletableTopicResult(
        each.name, topic_id, Errors.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed."
    )
    if not describable:
        return denied
    if name not in ids and name not in INTERNAL_TOPICS:
        return denied.but(error=Errors.UNKNOWN_TOPIC_OR_PARTITION, error_message=UNKNOWN)
    if not deletable:
        return denied.but(name=name)
    try:
        _refuse_internal(name)
    except TopicRefusedError as refused:
        return denied.but(error=refused.error, error_message=refused.why)
    return DeletableTopicResult(name, ids[name], Errors.NONE)


def _reject_named_twice(
    request: DeleteTopics, results: list[DeletableTopicResult]
) -> list[DeletableTopicResult]:
    """Reject a topic that is named by its name and by its id: it has one result and is not deleted."""
    by_id = [each.topic_id for each in request.topics if each.name is None]
    names = [each.name for each in request.topics if not each.topic_id]
    why = "The provided topic name maps to an ID that was already supplied."
    found = []
    for result in results:
        # A name that is itself repeated does not count.
        if not result.error and result.topic_id in by_id and names.count(result.name) == 1:
            twice = result.but(error=Errors.INVALID_REQUEST, error_message=why)
            found += [] if twice in found else [twice]
        else:
            found.append(result)
    return found
