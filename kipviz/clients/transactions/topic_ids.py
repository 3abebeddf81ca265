"""How a producer learns the ids of the topics whose offsets it sends (KIP-1319).

WHERE IN KAFKA: KafkaProducer.sendOffsetsToTransaction, ProducerMetadata, TransactionManager.
A producer knows the topics that it writes to; it must look up those that its consumer reads, and waits for that within
max.block.ms. It forgets a topic that is not used for metadata.max.idle.ms. Only a producer with `looks_up` does so
here: the others know every id.
"""

from __future__ import annotations

from kipviz.clients.timers import MaxBlock, MaxIdle, RetryBackOff, TimerOfClient
from kipviz.core.values import Value
from kipviz.messages.cluster.metadata import Metadata, TopicId
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.groups.groups import TxnOffsetCommit, TxnOffsetCommitResponse
from kipviz.records.placement import topic_of

BY_ID = 6


class TopicIds(Value, frozen=True):
    """The topic ids in a producer's metadata cache.

    `ids_from` is the first version of TxnOffsetCommit that names topics by id. `refused` says that the brokers do not
    know an id that was sent: the request waits for the back-off and is sent again unchanged.
    """

    looks_up: bool = False
    known: tuple[TopicId, ...] = ()
    refused: bool = False
    ids_from: int = BY_ID

    @property
    def anew(self) -> TopicIds:
        """The ids that the producer knows in its next life."""
        return TopicIds(self.looks_up, ids_from=self.ids_from)


def next_metadata(me: TopicIds, request: TxnOffsetCommit, newest: int) -> tuple[Metadata, ...]:
    """Return the Metadata request to send before offsets, if one is necessary.

    It is also sent where the ids may not be used, below transaction version 2: Java waits for the topics first and
    chooses the version when it builds the request. If the brokers know no version with ids, it is left out here.
    """
    topics = missing(me, request) if newest >= me.ids_from else ()
    return (Metadata(topics),) if topics else ()


def missing(me: TopicIds, request: TxnOffsetCommit) -> tuple[str, ...]:
    """Return the topics that must be looked up before their offsets can be sent by id."""
    if not me.looks_up:
        return ()
    known = tuple(t.topic for t in me.known)
    topics = dict.fromkeys(topic_of(o.partition) for o in request.offsets)
    return tuple(topic for topic in topics if topic not in known)


def learn_ids(me: TopicIds, told: tuple[TopicId, ...]) -> TopicIds:
    """Add ids to the cache; a topic that the broker does not know gets none."""
    new = tuple(t for t in told if t.topic_id)
    names = tuple(t.topic for t in new)
    return me.but(known=(*(t for t in me.known if t.topic not in names), *new))


def timers(me: TopicIds, *, idle: bool) -> tuple[TimerOfClient, ...]:
    """Return the timers that are set; `idle` says that the producer is between two transactions."""
    if me.refused:
        return (RetryBackOff(), MaxBlock())
    return (MaxIdle(),) if idle and me.known else ()


def after(me: TopicIds, timer: RetryBackOff | MaxIdle) -> TopicIds:
    """Forget unused topics, or end the back-off."""
    return me.but(known=()) if isinstance(timer, MaxIdle) else me.but(refused=False)


def error_of(answer: TxnOffsetCommitResponse) -> Errors:
    """Return the error of a response: of several, the first that is not retriable, else one that needs a back-off.

    Source: TransactionManager.TxnOffsetCommitHandler, which goes through the partitions.
    """
    found = tuple(r.error for r in answer.results if r.error)
    final = next((error for error in found if error not in RETRIABLE), None)
    if final is not None:
        return final
    return Errors.UNKNOWN_TOPIC_ID if Errors.UNKNOWN_TOPIC_ID in found else answer.error


def build_request(me: TopicIds, request: TxnOffsetCommit) -> TxnOffsetCommit:
    """Return the request as it is built: by ids if all are known, otherwise entirely by names.

    A request that was built before stays unchanged: a retry sends the same request.
    """
    built = bool(request.topic_ids) or request.version < me.ids_from
    if not me.looks_up or built:
        return request
    ids = {t.topic: t.topic_id for t in me.known}
    topics = tuple(dict.fromkeys(topic_of(o.partition) for o in request.offsets))
    if any(topic not in ids for topic in topics):
        return request.but(version=me.ids_from - 1)
    return request.but(topic_ids=tuple((topic, ids[topic]) for topic in topics))
