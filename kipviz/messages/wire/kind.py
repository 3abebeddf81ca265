"""A kind of message on the wire: its schema, and what the model's message puts into it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kipviz.core.values import Value
from kipviz.messages.message import Message
from kipviz.messages.wire.codec import Encoded, Struct
from kipviz.messages.wire.schema import ZERO_ID, Schema
from kipviz.records.placement import index_of, topic_of

T = TypeVar("T")


class Around(Value, frozen=True):
    """What a message's bytes need that the message itself does not say.

    `topic_ids` are (topic, id); a topic without one gets the id of zeros. `request` is what a
    response answers, None where nobody knows. `client_id` names the connection.
    """

    topic_ids: tuple[tuple[str, str], ...] = ()
    request: Message | None = None
    client_id: str = ""

    def topic_id(self, topic: str) -> str:
        """Return the id of a topic."""
        return dict(self.topic_ids).get(topic, ZERO_ID)

    def version_of(self, message: Message) -> int:
        """Return the version in which a message is written: an answer in its request's."""
        if message.IS_RESPONSE and self.request is not None:
            return self.request.spoken
        return message.spoken

    def by_topic(
        self, version: int, ids_from: int, partition: str, name: str, **fields: Any
    ) -> tuple[Struct, ...]:
        """Return the one topic of a list, by its name below the version that has ids."""
        return self.by_topics(version, ids_from, ((partition, fields),), name)

    def by_topics(
        self, version: int, ids_from: int, partitions: Iterable[tuple[str, Struct]], name: str
    ) -> tuple[Struct, ...]:
        """Return partitions together by topic; topics are named as in `by_topic`."""
        if version >= ids_from:
            return self.by_topic_ids(partitions, name)
        return topics(partitions, lambda topic, items: {"Name": topic, name: items})

    def by_topic_id(self, partition: str, name: str, **fields: Any) -> tuple[Struct, ...]:
        """Return the one topic of a list by id, with one partition in its array `name`."""
        return self.by_topic_ids(((partition, fields),), name)

    def by_topic_ids(
        self, partitions: Iterable[tuple[str, Struct]], name: str
    ) -> tuple[Struct, ...]:
        """Return partitions together by topic, topics by id, in the array `name` of each."""
        return topics(
            partitions, lambda topic, items: {"TopicId": self.topic_id(topic), name: items}
        )


@dataclass(frozen=True)
class Kind:
    """One request or response: `fill` gives the fields that the model knows.

    `defaults` are, by path, what Kafka's client or broker sends in a field that the model does not
    carry, and where that comes from: a setting's name or a few words. `inside` are examples of what
    stands in fields of bytes, by the field's name.
    """

    schema: Schema
    fill: Callable[[Any, Around], Struct]
    defaults: Mapping[str, tuple[Any, str]] = field(default_factory=dict)
    inside: Mapping[str, Encoded] = field(default_factory=dict)


def topics(
    partitions: Iterable[tuple[str, T]], give: Callable[[str, tuple[T, ...]], Struct]
) -> tuple[Struct, ...]:
    """Put partitions, each with something of its own, together by topic, in the order they come."""
    found: dict[str, list[T]] = {}
    for partition, item in partitions:
        found.setdefault(topic_of(partition), []).append(item)
    return tuple(give(topic, tuple(items)) for topic, items in found.items())


def indexes(
    partitions: Iterable[str], give: Callable[[str, tuple[int, ...]], Struct]
) -> tuple[Struct, ...]:
    """Put the indexes of partitions together by topic."""
    return topics(((p, index_of(p)) for p in partitions), give)
