"""A kind of message: its schema, and what the model's message puts into it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kipviz.core.values import Value
from kipviz.messages.message import Message, version_of
from kipviz.messages.wire.codec import Encoded, Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.schema import ZERO_ID, Schema
from kipviz.records.placement import index_of, topic_of

T = TypeVar("T")
# The message of a kind, which is filled from that message alone: any kind is a `Kind[Message]`.
M_co = TypeVar("M_co", bound=Message, covariant=True)


class Around(Value, frozen=True):
    """What the encoding of a message needs besides the message.

    `topic_ids` are (topic, id); a topic without one gets the id of zeros. `request` is the request of a response, None
    if it is unknown. `client_id` and `correlation_id` are in the header.
    """

    topic_ids: tuple[tuple[str, str], ...] = ()
    request: Message | None = None
    client_id: str = ""
    correlation_id: int = 0

    def topic_id(self, topic: str) -> str:
        """Return the id of a topic."""
        return dict(self.topic_ids).get(topic, ZERO_ID)

    def version_of(self, message: Message) -> int:
        """Return the version in which a message is encoded: a response in its request's."""
        return version_of(message, self.request)

    def by_topic(
        self, version: int, ids_from: int, partition: str, name: str, **fields: Any
    ) -> tuple[Struct, ...]:
        """Return a list of one topic, named by its id if the version has ids."""
        return self.by_topics(version, ids_from, ((partition, fields),), name)

    def by_topics(
        self, version: int, ids_from: int, partitions: Iterable[tuple[str, Struct]], name: str
    ) -> tuple[Struct, ...]:
        """Return partitions grouped by topic; topics are named as in `by_topic`."""
        if version >= ids_from:
            return self.by_topic_ids(partitions, name)
        return topics(partitions, lambda topic, items: {"Name": topic, name: items})

    def by_topic_ids(
        self, partitions: Iterable[tuple[str, Struct]], name: str
    ) -> tuple[Struct, ...]:
        """Return partitions grouped by topic, topics by id, in the array `name` of each."""
        return topics(
            partitions, lambda topic, items: {"TopicId": self.topic_id(topic), name: items}
        )


@dataclass(frozen=True)
class Kind(Generic[M_co]):
    """One request or response: `fill` returns the fields that the model has.

    `defaults` are, by path, what Kafka's client or broker sends in a field that the model does not have, and its
    source: a setting's name or a few words. `inside` are examples of the content of bytes fields, by the field's name.
    `notes` are sentences for a reader of the bytes, by path; a path may begin with the header's name.
    """

    schema: Schema
    fill: Callable[[M_co, Around], Struct]
    defaults: Mapping[str, tuple[Any, str]] = field(default_factory=dict)
    inside: Mapping[str, Encoded] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RequestKind(Kind[M_co]):
    """A request, which can also be decoded: `decode` is the inverse of `fill`.

    It returns the model's messages for the fields of one request. There are several if Kafka's request has an array
    and the model's message has one item of it. A field that the model does not have is ignored.

    Raises (`decode`):
        NotModelledError: if the model's message cannot hold the request.
        KeyError: if a field of its version is missing.
    """

    decode: Callable[[Struct, Incoming], tuple[Message, ...]]


def topics(
    partitions: Iterable[tuple[str, T]], give: Callable[[str, tuple[T, ...]], Struct]
) -> tuple[Struct, ...]:
    """Group partitions, each with an item, by topic, in their order."""
    found: dict[str, list[T]] = {}
    for partition, item in partitions:
        found.setdefault(topic_of(partition), []).append(item)
    return tuple(give(topic, tuple(items)) for topic, items in found.items())


def indexes(
    partitions: Iterable[str], give: Callable[[str, tuple[int, ...]], Struct]
) -> tuple[Struct, ...]:
    """Group the indexes of partitions by topic."""
    return topics(((p, index_of(p)) for p in partitions), give)
