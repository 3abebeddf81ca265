"""Every message that the library's stories have in flight, and the decoding of bytes."""

from __future__ import annotations

from functools import cache

from kipviz.messages.apis.catalogue import API_OF
from kipviz.messages.events import MessageSent
from kipviz.messages.groups.groups import OffsetFetch, TxnOffsetCommit
from kipviz.messages.logs.producing import Fetch, Produce
from kipviz.messages.message import Message
from kipviz.messages.wire.codec import Encoded
from kipviz.messages.wire.decoding import Incoming, ProducedBatch
from kipviz.messages.wire.frame import bytes_of, read_message
from kipviz.messages.wire.kind import Around
from kipviz.recordings.files.segments import batches
from kipviz.records.batches import DataRecord
from kipviz.records.placement import topic_of
from kipviz.scenarios.library import LIBRARY
from tests.scenarios.story import nodes, play_once


@cache
def sent() -> tuple[tuple[Message, Encoded, Around], ...]:
    """Every different message of every story, with its bytes and with what they need besides the message."""
    found = {}
    for story in LIBRARY:
        for name in story.designs:
            for node in nodes(play_once(story.name, name)[0]):
                for event in node.events:
                    if isinstance(event, MessageSent):
                        around = Around(story.spec.topic_ids, None, event.source)
                        found[event.message] = (bytes_of(event.message, around), around)
    return tuple((message, *rest) for message, rest in found.items())


def read_batch(data: bytes) -> ProducedBatch:
    """Decode the one batch of a partition, with the origins of its records."""
    (found,) = batches(data, "the batch of a Produce request")
    records = tuple(
        DataRecord(
            (r.value or b"").decode(),
            (dict(r.headers).get("origin") or b"").decode(),
            create_time_ms=r.timestamp,
        )
        for r in found.records
    )
    identity = (found.producer_id, found.producer_epoch, found.base_sequence)
    return ProducedBatch(*identity, found.transactional, records)


def _topics_of(message: Message) -> tuple[str, ...]:
    match message:
        case Produce():
            return tuple(topic_of(each.partition) for each in message.partition_data)
        case Fetch():
            return tuple(topic_of(each.partition) for each in message.partitions)
        case TxnOffsetCommit():
            return tuple(topic_of(each.partition) for each in message.offsets)
        case OffsetFetch():
            return tuple(topic_of(p) for group in message.groups for p in group.partitions or ())
        case _:
            return ()


def decoded(message: Message, data: bytes, around: Around) -> tuple[Message, ...]:
    """The messages that the row of a request decodes from its bytes.

    The names of topics are those of the sender: a topic that was deleted, or has no id in its story, has one, too.
    """
    kind = API_OF[type(message)].request_bytes
    assert kind is not None
    version = around.version_of(message)
    _, fields, _ = read_message(kind.schema, version, data)
    names = {around.topic_id(topic): topic for topic in _topics_of(message)}
    names |= {topic_id: topic for topic, topic_id in around.topic_ids}
    names |= {topic_id: topic for topic, topic_id in getattr(message, "topic_ids", ())}
    incoming = Incoming(version, lambda topic_id: names.get(topic_id, ""), read_batch)
    return kind.decode(fields, incoming)
