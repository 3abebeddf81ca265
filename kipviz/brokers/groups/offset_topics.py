"""Which topics a request with offsets means: ids are resolved first, then rights, then partitions.

WHO: every broker (KafkaApis), before the group coordinator is asked.
WHERE IN KAFKA: KafkaApis.handleTxnOffsetCommitRequest and handleOffsetCommitRequest.
KIPS: KIP-1319 "Topic ID resolution", KIP-848 (OffsetCommit version 10).
DURABILITY: nothing is kept.
NOT MODELLED: OffsetCommit and OffsetFetch say no ids here. Topics are looked for again when an addition to the
  transaction is answered; Kafka looks once. A broker that is no coordinator says NOT_COORDINATOR of all, unless nothing
  of a request is there.
"""

from __future__ import annotations

from kipviz.brokers.checks import Check, Checks
from kipviz.brokers.context import Image
from kipviz.brokers.rules import BrokerRules
from kipviz.messages.errors import Errors
from kipviz.messages.groups import (
    OffsetCommit,
    OffsetCommitResponse,
    RefusedOffset,
    TxnOffsetCommit,
    TxnOffsetCommitResponse,
)
from kipviz.messages.message import Message
from kipviz.records.placement import topic_of

# The first version of TxnOffsetCommit that names topics by id, and has errors of its own (KIP-1319).
BY_ID = 6


def unknown_ids(request: Message, image: Image, rules: BrokerRules) -> tuple[str, ...]:
    """Return the topics of a request that no name is found for: no right can be asked of them.

    A version 6 that says no ids means those that the topics have. Clause: KIP-1319 "Topic ID resolution":
    UNKNOWN_TOPIC_ID comes before TOPIC_AUTHORIZATION_FAILED. With names beside the ids (rejected) there is a name to go
    by.
    """
    if not isinstance(request, TxnOffsetCommit) or request.version < BY_ID:
        return ()
    if rules.name_beside_id():
        return ()
    return tuple(t for t, said in request.topic_ids if said != image.topic_ids.get(t))


def unresolved(
    request: OffsetCommit | TxnOffsetCommit, image: Image, rules: BrokerRules
) -> tuple[RefusedOffset, ...]:
    """Return the partitions that are not there, in Kafka's order: by id or name, then by index.

    Whether a topic may be read stands between the two: what may not be is taken out of the request before it is handed
    on (`cluster.topic_authorization`), and what no id is known of is not asked about there.
    Clause: KIP-1319 "Topic ID resolution"; KafkaApis.handleTxnOffsetCommitRequest.
    """
    nameless = unknown_ids(request, image, rules)
    known = {topic_of(partition): True for partition in image.leaders}
    found = []
    for offset in request.offsets:
        topic = topic_of(offset.partition)
        if topic in nameless:
            found.append(RefusedOffset(offset.partition, Errors.UNKNOWN_TOPIC_ID))
        elif topic not in known or offset.partition not in image.leaders:
            found.append(RefusedOffset(offset.partition, Errors.UNKNOWN_TOPIC_OR_PARTITION))
    return tuple(found)


def missing_checks(lost: tuple[RefusedOffset, ...]) -> Checks:
    """Return the check by which each partition that is not there has an error of its own.

    The others of the request continue: these checks stand before those of the coordinator, whose last one decides on
    the rest. Source: KafkaApis.handleTxnOffsetCommitRequest, handleOffsetCommitRequest.
    """
    return tuple(
        Check("partition there", each.partition, False, each.error, (each.error,)) for each in lost
    )


def answer_alone(
    request: Message, image: Image, rules: BrokerRules
) -> OffsetCommitResponse | TxnOffsetCommitResponse | None:
    """Return the answer to a request of which nothing is left for a coordinator, or None.

    Any broker gives it, coordinator or not. Each partition has its own error: all of them are errors to ask again
    after, and the one that has to wait for a back-off stands for the whole.
    Clause: KafkaApis.handleTxnOffsetCommitRequest, handleOffsetCommitRequest.
    """
    if not isinstance(request, OffsetCommit | TxnOffsetCommit):
        return None
    lost = unresolved(request, image, rules)
    if not lost or len(lost) < len(request.offsets):
        return None
    nameless = any(each.error is Errors.UNKNOWN_TOPIC_ID for each in lost)
    error = Errors.UNKNOWN_TOPIC_ID if nameless else Errors.UNKNOWN_TOPIC_OR_PARTITION
    refused = tuple(each for each in lost if each.error is not error)
    if isinstance(request, OffsetCommit):
        return OffsetCommitResponse(error, refused)
    return TxnOffsetCommitResponse(error, refused)
