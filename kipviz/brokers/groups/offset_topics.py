"""The topics of a request with offsets: ids are resolved first, then rights and partitions are checked.

WHO: every broker (KafkaApis), before the group coordinator is asked.
WHERE IN KAFKA: KafkaApis.handleTxnOffsetCommitRequest and handleOffsetCommitRequest.
KIPS: KIP-1319 "Topic ID resolution", KIP-848 (OffsetCommit version 10).
DURABILITY: nothing is stored.
NOT MODELLED: topic ids in OffsetCommit and OffsetFetch. Topics are looked up again after the partition was added to the
transaction; Kafka looks them up once. A broker that is not the coordinator answers NOT_COORDINATOR for all topics,
unless none of them exists.
"""

from __future__ import annotations

from kipviz.brokers.checks import Check, Checks
from kipviz.brokers.context import Image
from kipviz.brokers.rules import BrokerRules
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import (
    GroupOffset,
    OffsetCommit,
    OffsetCommitResponse,
    TxnOffsetCommit,
    TxnOffsetCommitResponse,
    committed_response,
)
from kipviz.messages.message import Message
from kipviz.messages.transactions.transactions import PartitionResult
from kipviz.records.placement import topic_of
from kipviz.settings.broker_configs import OFFSET_METADATA_MAX_BYTES

# The first version of TxnOffsetCommit that names topics by id, and has errors of its own (KIP-1319).
BY_ID = 6


def unknown_ids(request: Message, image: Image, rules: BrokerRules) -> tuple[str, ...]:
    """Return the topics of a request whose id is unknown; no right can be checked for them.

    A version 6 request without ids is taken to mean the topics' current ids. Clause: KIP-1319 "Topic ID resolution":
    UNKNOWN_TOPIC_ID takes precedence over TOPIC_AUTHORIZATION_FAILED. With names beside the ids (a rejected option) the
    name can be checked.
    """
    if not isinstance(request, TxnOffsetCommit) or request.version < BY_ID:
        return ()
    if rules.name_beside_id():
        return ()
    return tuple(t for t, said in request.topic_ids if said != image.topic_ids.get(t))


def unknown_partitions(
    request: OffsetCommit | TxnOffsetCommit, image: Image, rules: BrokerRules
) -> tuple[PartitionResult, ...]:
    """Return the partitions that do not exist, in Kafka's order: first unknown ids or names, then unknown indexes.

    The check of the right to read a topic comes between the two: unauthorized topics are removed from the request
    before it is passed on (`cluster.topic_authorization`), and topics with unknown ids are not checked there.
    Clause: KIP-1319 "Topic ID resolution"; KafkaApis.handleTxnOffsetCommitRequest.
    """
    nameless = unknown_ids(request, image, rules)
    known = {topic_of(partition): True for partition in image.leaders}
    found = []
    for offset in request.offsets:
        topic = topic_of(offset.partition)
        if topic in nameless:
            found.append(PartitionResult(offset.partition, Errors.UNKNOWN_TOPIC_ID))
        elif topic not in known or offset.partition not in image.leaders:
            found.append(PartitionResult(offset.partition, Errors.UNKNOWN_TOPIC_OR_PARTITION))
    return tuple(found)


def too_large(offsets: tuple[GroupOffset, ...]) -> tuple[PartitionResult, ...]:
    """Return the offsets whose metadata is too long; the others are committed.

    The length is that of Java's String, so a character beyond 16 bits counts twice.
    Source: OffsetMetadataManager.isMetadataInvalid (offset.metadata.max.bytes).
    """
    error = Errors.OFFSET_METADATA_TOO_LARGE
    return tuple(
        PartitionResult(each.partition, error)
        for each in offsets
        if len(each.metadata.encode("utf-16-le")) > 2 * OFFSET_METADATA_MAX_BYTES.default
    )


def without(
    offsets: tuple[GroupOffset, ...], refused: tuple[PartitionResult, ...]
) -> tuple[GroupOffset, ...]:
    """Return the offsets that are not rejected."""
    gone = {each.partition for each in refused}
    return tuple(each for each in offsets if each.partition not in gone)


def missing_checks(lost: tuple[PartitionResult, ...]) -> Checks:
    """Return a check for each partition that does not exist, with its own error.

    The request continues for its other partitions. These checks come before the coordinator's, because the last check
    decides on the rest. Source: KafkaApis.handleTxnOffsetCommitRequest, handleOffsetCommitRequest.
    """
    return tuple(
        Check("partition there", each.partition, False, each.error, (each.error,)) for each in lost
    )


def size_checks(large: tuple[PartitionResult, ...]) -> Checks:
    """Return a check for each offset whose metadata is too long."""
    most = OFFSET_METADATA_MAX_BYTES.default
    return tuple(
        Check(f"length of metadata of {each.partition}", f"at most {most}", None, each.error)
        for each in large
    )


def answer_alone(
    request: Message, image: Image, rules: BrokerRules
) -> OffsetCommitResponse | TxnOffsetCommitResponse | None:
    """Return the response to a request that has no existing partition, or None if it has one.

    Any broker responds, coordinator or not. Each partition has its own error.
    Clause: KafkaApis.handleTxnOffsetCommitRequest, handleOffsetCommitRequest.
    """
    if not isinstance(request, OffsetCommit | TxnOffsetCommit):
        return None
    lost = unknown_partitions(request, image, rules)
    if not lost or len(lost) < len(request.offsets):
        return None
    return committed_response(request, own=lost)
