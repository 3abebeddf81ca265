"""Requests about deleted topics: which error they get, and from whom.

WHO: every broker (KafkaApis). WHERE IN KAFKA: KafkaApis, with the metadata cache.
KIPS: KIP-516 (topic ids), KIP-98 (AddPartitionsToTxn).
DURABILITY: nothing is stored.

A topic named by an unknown id gets UNKNOWN_TOPIC_ID before any right is checked, because there is no name to check. A
topic named by name gets UNKNOWN_TOPIC_OR_PARTITION, if the sender may use a topic of that name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kipviz.brokers.checks import Check, Checks, compare, in_order
from kipviz.brokers.context import Context, Image
from kipviz.brokers.groups import offset_topics
from kipviz.brokers.rules import BrokerRules
from kipviz.messages.apis.catalogue import api_of
from kipviz.messages.errors import Errors
from kipviz.messages.logs.list_offsets import ListOffsets
from kipviz.messages.logs.producing import Fetch, PartitionProduceData, Produce
from kipviz.messages.message import Message
from kipviz.messages.parts import has_several_parts
from kipviz.messages.shares.share_groups import ShareAcknowledge, ShareFetch
from kipviz.messages.transactions.admin import DescribeProducers
from kipviz.messages.transactions.transactions import (
    PartitionResult,
    TxnPartitions,
    TxnPartitionsResult,
)
from kipviz.records.placement import topic_of


def lost_partitions(partitions: tuple[str, ...], image: Image) -> tuple[str, ...]:
    """Return those of some partitions that do not exist, or no longer exist."""
    return tuple(p for p in partitions if p not in image.leaders)


def nameless(message: Message, image: Image, rules: BrokerRules) -> tuple[str, ...]:
    """Return the topics that a request names by an unknown id.

    Clause: KIP-516; KIP-1319 "Topic ID resolution" for offsets.
    """
    if not _by_id(message):
        return offset_topics.unknown_ids(message, image, rules)
    if isinstance(message, Produce):
        topics = tuple(topic_of(batch.partition) for batch in message.partition_data)
    else:
        assert isinstance(message, Fetch | ShareAcknowledge | ShareFetch), message
        topics = tuple(topic_of(part.partition) for part in message.partitions)
    return tuple(topic for topic in dict.fromkeys(topics) if topic not in image.topic_ids)


def error_of(message: Message, image: Image) -> Errors:
    """Return the error of a request about a partition that does not exist, or NONE if it exists.

    The roles that handle share groups' requests check this themselves, because of the share session. The handlers of a
    Produce, a Fetch, a ListOffsets and a DescribeProducers for several partitions check each of them.
    Clause: KafkaApis.handleProduceRequest, handleFetchRequest, handleListOffsetRequest, handleDescribeProducersRequest.
    """
    if has_several_parts(message):
        return Errors.NONE
    if isinstance(message, Produce):
        return produce_error(message, message.partition_data[0], image)
    if isinstance(message, Fetch):
        return fetch_error(message, message.partitions[0].partition, image)
    if isinstance(message, ListOffsets):
        return name_error(message.partitions[0].partition, image)
    if isinstance(message, DescribeProducers):
        return name_error(message.partitions[0], image)
    return Errors.NONE


def produce_error(request: Produce, batch: PartitionProduceData, image: Image) -> Errors:
    """Return the error of a batch whose partition does not exist, or NONE if it exists."""
    return _missing_error(batch.partition, image, by_id=_by_id(request))


def fetch_error(request: Fetch, partition: str, image: Image) -> Errors:
    """Return the error of a partition of a Fetch that does not exist, or NONE if it exists."""
    return _missing_error(partition, image, by_id=_by_id(request))


def name_error(partition: str, image: Image) -> Errors:
    """Return the error of a partition that a request names by its topic's name and that does not exist, or NONE."""
    return _missing_error(partition, image, by_id=False)


def _missing_error(partition: str, image: Image, *, by_id: bool) -> Errors:
    if partition in image.leaders:
        return Errors.NONE
    return Errors.UNKNOWN_TOPIC_ID if by_id else Errors.UNKNOWN_TOPIC_OR_PARTITION


def why_no_state(key: str, image: Image) -> Errors:
    """Return the error of a share coordinator if the share-partition's topic does not exist, or NONE.

    The key has the topic's id. Source: ShareCoordinatorShard.maybeGetInitializeStateError and similar methods.
    """
    there = key.rsplit(":", 2)[1] in image.topic_ids.values()
    return Errors.NONE if there else Errors.UNKNOWN_TOPIC_OR_PARTITION


def not_led(partition: str, image: Image) -> Errors:
    """Return the error of a broker that does not lead a source partition, for a request that names it by id."""
    there = partition in image.leaders
    return Errors.NOT_LEADER_OR_FOLLOWER if there else Errors.UNKNOWN_TOPIC_ID


def leader_check(partition: str, on: Context) -> Check:
    """Check that this broker leads a source partition (see `not_led`)."""
    leader = on.image.leader_of(partition)
    here = leader == on.broker
    return compare("leader", on.broker, leader, here, not_led(partition, on.image))


@in_order
def partition_checks(partition: str, on: Context) -> Iterator[Check]:
    """Check that a partition that a request names by its topic's name exists and is led here."""
    there = partition in on.image.leaders
    yield Check("topic there", None, there, name_error(partition, on.image))
    yield leader_check(partition, on)


def why_lost(partition: str, image: Image) -> tuple[Errors, str]:
    """Return the error and the reason for requests that wait on a leader that no longer leads the partition.

    Clause: ReplicaManager.getPartitionOrError, when a delayed operation is forced to complete.
    """
    if partition in image.leaders:
        return Errors.NOT_LEADER_OR_FOLLOWER, "another broker leads the source partition"
    return Errors.UNKNOWN_TOPIC_OR_PARTITION, "its topic is deleted"


def unknown(partition: str, image: Image) -> Errors:
    """Return the error for an unknown share-partition: its leader has not loaded it, or its topic id is unknown."""
    there = partition in image.leaders
    return Errors.UNKNOWN_TOPIC_OR_PARTITION if there else Errors.UNKNOWN_TOPIC_ID


def not_added(asked: TxnPartitions, image: Image) -> TxnPartitionsResult | None:
    """Reject what is to be added to a transaction, or verified, if one of the partitions does not exist.

    WHEN: before the transaction coordinator is involved, or is even looked up. The other partitions get
    OPERATION_NOT_ATTEMPTED.
    Clause: KIP-98 "AddPartitionsToTxnRequest"; KafkaApis.handleAddPartitionsToTxnRequest.
    """
    lost = lost_partitions(asked.partitions, image)
    if not lost:
        return None
    return TxnPartitionsResult(asked.transactional_id, kept_out(asked.partitions, lost))


def kept_out(partitions: Iterable[str], lost: tuple[str, ...]) -> tuple[PartitionResult, ...]:
    """Return the results of partitions that are not added: the missing ones, then those that were not attempted."""
    others = (partition for partition in partitions if partition not in lost)
    return (
        *(PartitionResult(partition, Errors.UNKNOWN_TOPIC_OR_PARTITION) for partition in lost),
        *(PartitionResult(partition, Errors.OPERATION_NOT_ATTEMPTED) for partition in others),
    )


def kept_out_checks(result: TxnPartitionsResult) -> Checks:
    """Return the checks of the partitions that are not added besides those whose error decides; they come before its check.

    A missing partition beside an unauthorized one has an error of its own; the others were not attempted.
    """
    made: list[Check] = []
    for each in result.results:
        if each.error is Errors.OPERATION_NOT_ATTEMPTED:
            made.append(Check("every other partition allowed and there", None, False, each.error))
            break
        if each.error is not result.error:
            made.append(Check("partition there", each.partition, False, each.error))
    return tuple(made)


def _by_id(message: Message) -> bool:
    first = api_of(message).topic_ids_from
    return first is not None and message.spoken >= first
