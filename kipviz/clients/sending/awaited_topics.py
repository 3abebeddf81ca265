"""The wait of send() until the producer knows the partitions of a topic.

WHERE IN KAFKA: KafkaProducer.waitOnMetadata, ProducerMetadata.
Only a producer of a cluster whose topics come and go (`later_topics`, `deletable_topics` of a spec) looks up the topics
to which it writes; the others know all of them.
NOT MODELLED: metadata.max.age.ms, after which a deleted topic leaves the cache: here it leaves when one of its batches
fails; that the back-off between two lookups grows (KIP-580).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kipviz.clients.throwing.client_errors import TopicUnknown
from kipviz.clients.transactions.producer_errors import EXPIRED
from kipviz.core.values import Value
from kipviz.messages.cluster.metadata import Metadata, MetadataResponse
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import PartitionProduceResponse
from kipviz.messages.message import Message
from kipviz.records.batches import DataRecord
from kipviz.records.placement import topic_of

if TYPE_CHECKING:
    from kipviz.clients.sending.producer import Producer

P = TypeVar("P", bound="Producer")
# The errors of a batch whose topic may be deleted.
NOBODY_LEADS = (EXPIRED, Errors.UNKNOWN_TOPIC_ID, Errors.UNKNOWN_TOPIC_OR_PARTITION)


class KnownTopics(Value, frozen=True):
    """The topics whose partitions a producer knows: `topics`, or all of them if it never looks them up.

    `held` is what a send() holds until its topic is known: a partition and the records for it. `resting` says that the
    topic did not exist, and is looked up again after the back-off.
    """

    looks_up: bool = False
    topics: tuple[str, ...] = ()
    held: tuple[tuple[str, tuple[DataRecord, ...]], ...] = ()
    resting: bool = False

    @property
    def awaited(self) -> str:
        """The topic that a send() waits for, or ""."""
        return topic_of(self.held[0][0]) if self.held else ""

    @property
    def anew(self) -> KnownTopics:
        """What the producer knows in its next life."""
        return KnownTopics(self.looks_up)


def is_unknown(me: KnownTopics, partition: str) -> bool:
    """Return whether send() has to wait for the metadata of a partition's topic."""
    return me.looks_up and topic_of(partition) not in me.topics


def asking(me: P, partition: str, records: tuple[DataRecord, ...]) -> P:
    """Let a send() wait, and look up its topic."""
    question = Metadata((topic_of(partition),))
    return me.but(
        metadata=me.metadata.but(held=((partition, records),)),
        manager=me.manager.but(queue=(question, *me.manager.queue), done=False),
    )


def asks(me: Producer) -> bool:
    """Return whether the metadata request is sent next: it waits for no other request, as in Kafka."""
    queue = me.manager.queue
    return bool(me.metadata.held) and bool(queue) and isinstance(queue[0], Metadata)


def on_metadata(me: P, answer: MetadataResponse) -> P:
    """Handle a response: the awaited topic is known, or it is looked up again after the back-off.

    Clause: KafkaProducer.waitOnMetadata; Metadata.handleMetadataResponse.
    """
    known = me.metadata
    if not known.held:
        return me
    there = next((t for t in answer.topics if t.topic == known.awaited), None)
    if there is None or not there.topic_id:
        return me.but(metadata=known.but(resting=True))
    return me.but(
        metadata=known.but(topics=(*known.topics, there.topic)), manager=me.manager.but(done=True)
    )


def why_refused(me: KnownTopics, answer: MetadataResponse) -> Errors:
    """Return the error that the brokers return for the awaited topic, or NONE."""
    refused = (t.error for t in answer.topics if me.held and t.topic == me.awaited)
    return next(refused, Errors.NONE)


def end_wait(me: P) -> P:
    """End the wait of a send(), with or without its topic."""
    question = Metadata((me.metadata.awaited,))
    left = tuple(m for m in me.manager.queue if m != question)
    return me.but(
        metadata=me.metadata.but(held=(), resting=False),
        manager=me.manager.but(queue=left, done=True),
    )


def after_failure(me: P, about: Message | PartitionProduceResponse, error: Errors) -> P:
    """End the wait of a send(), and forget a topic whose batch failed because no broker leads it."""
    me = end_wait(me)
    if not isinstance(about, PartitionProduceResponse) or error not in NOBODY_LEADS:
        return me
    left = tuple(t for t in me.metadata.topics if t != topic_of(about.partition))
    return me.but(metadata=me.metadata.but(topics=left))


def look_up_again(me: P) -> P:
    """Look up the awaited topic again after the back-off."""
    if not me.metadata.resting:
        return me
    question = Metadata((me.metadata.awaited,))
    return me.but(
        metadata=me.metadata.but(resting=False),
        manager=me.manager.but(queue=(question, *me.manager.queue)),
    )


def why_timed_out(me: KnownTopics) -> TopicUnknown:
    """Return the exception of a send()'s Future when its topic is still unknown after max.block.ms."""
    return TopicUnknown(me.awaited)
