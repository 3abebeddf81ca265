"""Requests about topics that have been deleted: which error, and who gives it.

WHO: every broker (KafkaApis). WHERE IN KAFKA: KafkaApis, with the metadata cache.
KIPS: KIP-516 (topic ids), KIP-98 (AddPartitionsToTxn).
DURABILITY: nothing is kept. What is said by an id that nobody knows is UNKNOWN_TOPIC_ID, before any right is asked:
there is no name to ask for. What is said by name is UNKNOWN_TOPIC_OR_PARTITION, to whoever may use a topic of that
name.
"""

from __future__ import annotations

from typing import Any

from kipviz.brokers.checks import Check, compare
from kipviz.brokers.context import Context, Image
from kipviz.brokers.groups import offset_topics
from kipviz.brokers.rules import BrokerRules
from kipviz.messages.apis.catalogue import api_of
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.producing import Fetch, Produce
from kipviz.messages.transactions import AddPartitionsToTxn, AddPartitionsToTxnResponse, with_error
from kipviz.records.placement import topic_of


def lost_partitions(partitions: tuple[str, ...], image: Image) -> tuple[str, ...]:
    """Return those of some partitions that are not there, or not any more."""
    return tuple(p for p in partitions if p not in image.leaders)


def nameless(message: Message, image: Image, rules: BrokerRules) -> tuple[str, ...]:
    """Return the topics of a request that are said by an id of which no name is known.

    Clause: KIP-516; KIP-1319 "Topic ID resolution" for offsets.
    """
    if not _by_id(message):
        return offset_topics.unknown_ids(message, image, rules)
    said: Any = message
    if isinstance(message, Produce):
        topics = (topic_of(part.partition) for part in message.parts)
    else:
        topics = (topic_of(p) for p in (said.partition, *getattr(said, "further", ())))
    return tuple(topic for topic in dict.fromkeys(topics) if topic not in image.topic_ids)


def error_of(message: Message, image: Image) -> Errors:
    """Return the error of a request about a partition that is not there, NONE if it is.

    The roles that take share groups' requests see to theirs, because of the share session; who takes a Produce of
    several partitions sees to each.
    Clause: KafkaApis.handleProduceRequest, handleFetchRequest, handleListOffsetRequest, handleDescribeProducersRequest.
    """
    if isinstance(message, Produce) and message.further:
        return Errors.NONE
    by_id = isinstance(message, Produce | Fetch) and _by_id(message)
    if not by_id and not api_of(message).by_name:
        return Errors.NONE
    partition: str = message.partition  # type: ignore[attr-defined]
    if partition in image.leaders:
        return Errors.NONE
    return Errors.UNKNOWN_TOPIC_ID if by_id else Errors.UNKNOWN_TOPIC_OR_PARTITION


def why_no_state(key: str, image: Image) -> Errors:
    """Return why a share coordinator has nothing to do with a share-partition: its topic is not there.

    The key has the topic's id. Source: ShareCoordinatorShard.maybeGetInitializeStateError and its like.
    """
    there = key.rsplit(":", 2)[1] in image.topic_ids.values()
    return Errors.NONE if there else Errors.UNKNOWN_TOPIC_OR_PARTITION


def not_led(partition: str, image: Image) -> Errors:
    """Return why a broker that does not lead a source partition does not serve it to who names it by id."""
    there = partition in image.leaders
    return Errors.NOT_LEADER_OR_FOLLOWER if there else Errors.UNKNOWN_TOPIC_ID


def leader_check(partition: str, on: Context) -> Check:
    """Check that this broker leads a source partition (`not_led`)."""
    leader = on.image.leader_of(partition)
    here = leader == on.broker
    return compare("leader", on.broker, leader, here, not_led(partition, on.image))


def why_lost(partition: str, image: Image) -> tuple[Errors, str]:
    """Say to who waits for the leader of a partition why it leads it no more, as an error and in words.

    Clause: ReplicaManager.getPartitionOrError, when a delayed operation is completed by force.
    """
    if partition in image.leaders:
        return Errors.NOT_LEADER_OR_FOLLOWER, "another broker leads the source partition"
    return Errors.UNKNOWN_TOPIC_OR_PARTITION, "its topic is deleted"


def unknown(partition: str, image: Image) -> Errors:
    """Return why nothing is known of a share-partition: its leader has not begun it, or its id is nobody's."""
    there = partition in image.leaders
    return Errors.UNKNOWN_TOPIC_OR_PARTITION if there else Errors.UNKNOWN_TOPIC_ID


def not_added(request: AddPartitionsToTxn, image: Image) -> AddPartitionsToTxnResponse | None:
    """Answer a request to enlist or verify partitions of which one is not there: then none is.

    WHEN: before the transaction coordinator is asked, or whether there is one here. The others of the
    request have OPERATION_NOT_ATTEMPTED.
    Clause: KIP-98 "AddPartitionsToTxnRequest"; KafkaApis.handleAddPartitionsToTxnRequest.
    """
    lost = lost_partitions(request.partitions, image)
    if not lost:
        return None
    others = tuple(p for p in request.partitions if p not in lost)
    return with_error(request, Errors.UNKNOWN_TOPIC_OR_PARTITION).but(not_attempted=others)


def _by_id(message: Message) -> bool:
    first = api_of(message).topic_ids_from
    return first is not None and message.spoken >= first
