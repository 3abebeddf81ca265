"""What a producer does in send() before it knows the partitions of a topic: it waits.

WHERE IN KAFKA: KafkaProducer.waitOnMetadata, ProducerMetadata.
Only a producer of a cluster whose topics come and go (`later_topics`, `deletable_topics` of a spec) looks
the topics up to which it writes; the others know every one.
NOT MODELLED: metadata.max.age.ms, after which a topic that is deleted leaves the cache: here it does when a
  batch of it fails; that the back-off between two looks grows (KIP-580).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kipviz.clients.transactions.producer_errors import EXPIRED
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.metadata import Metadata, MetadataResponse
from kipviz.messages.producing import ProduceResponse
from kipviz.records.batches import DataRecord
from kipviz.records.placement import topic_of

if TYPE_CHECKING:
    from kipviz.clients.sending.producer import Producer

P = TypeVar("P", bound="Producer")
# What a batch fails with if its topic may be gone.
NOBODY_LEADS = (EXPIRED, Errors.UNKNOWN_TOPIC_ID, Errors.UNKNOWN_TOPIC_OR_PARTITION)


class KnownTopics(Value, frozen=True):
    """The topics of which a producer knows the partitions: `topics`, or all of them if it never looks.

    `held` is what a send() waits with until its topic is known: a partition and the records for it.
    `resting` says that the topic was not there, and is asked for again after the back-off.
    """

    looks_up: bool = False
    topics: tuple[str, ...] = ()
    held: tuple[tuple[str, tuple[DataRecord, ...]], ...] = ()
    resting: bool = False

    @property
    def awaited(self) -> str:
        """The topic that a send() waits for, or nothing."""
        return topic_of(self.held[0][0]) if self.held else ""

    @property
    def anew(self) -> KnownTopics:
        """What the next life of the producer knows."""
        return KnownTopics(self.looks_up)


def is_unknown(me: KnownTopics, partition: str) -> bool:
    """Say whether send() has to wait for the metadata of a partition's topic."""
    return me.looks_up and topic_of(partition) not in me.topics


def asking(me: P, partition: str, records: tuple[DataRecord, ...]) -> P:
    """Let a send() wait, and ask for its topic."""
    question = Metadata((topic_of(partition),))
    return me.but(
        metadata=me.metadata.but(held=((partition, records),)),
        manager=me.manager.but(queue=(question, *me.manager.queue), done=False),
    )


def asks(me: Producer) -> bool:
    """Say whether the question for a topic goes out next: it waits for no other request, as in Kafka."""
    queue = me.manager.queue
    return bool(me.metadata.held) and bool(queue) and isinstance(queue[0], Metadata)


def told(me: P, answer: MetadataResponse) -> P:
    """Take an answer: the awaited topic is known, or it is asked for again after the back-off.

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
    """Say why nobody tells this producer of the awaited topic, NONE if that is not so."""
    refused = (t.error for t in answer.topics if me.held and t.topic == me.awaited)
    return next(refused, Errors.NONE)


def released(me: P) -> P:
    """End the wait of a send(), with or without its topic."""
    question = Metadata((me.metadata.awaited,))
    left = tuple(m for m in me.manager.queue if m != question)
    return me.but(
        metadata=me.metadata.but(held=(), resting=False),
        manager=me.manager.but(queue=left, done=True),
    )


def after_failure(me: P, about: Message, error: Errors) -> P:
    """End the wait of a send(), and forget a topic whose batch has failed because nobody leads it."""
    me = released(me)
    if not isinstance(about, ProduceResponse) or error not in NOBODY_LEADS:
        return me
    left = tuple(t for t in me.metadata.topics if t != topic_of(about.partition))
    return me.but(metadata=me.metadata.but(topics=left))


def asked_again(me: P) -> P:
    """Ask again for the awaited topic: the back-off is over."""
    if not me.metadata.resting:
        return me
    question = Metadata((me.metadata.awaited,))
    return me.but(
        metadata=me.metadata.but(resting=False),
        manager=me.manager.but(queue=(question, *me.manager.queue)),
    )


def why_timed_out(me: KnownTopics) -> str:
    """Say what the Future of a send() has after max.block.ms without its topic."""
    return f"TimeoutException: Topic {me.awaited} not present in metadata after max.block.ms"
