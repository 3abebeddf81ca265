"""What the decoding of a request needs besides its fields: its header, the cluster's topics, and the bytes of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kipviz.core.values import Value
from kipviz.messages.wire.codec import Struct
from kipviz.records.batches import DataRecord


class NotModelledError(ValueError):
    """A request that the model's message cannot hold; the sentence says what it lacks."""


class ProducedBatch(Value, frozen=True):
    """The fields of a produced batch that the model has; producer id, epoch and sequence are -1 without a producer id."""

    producer_id: int
    producer_epoch: int
    base_sequence: int
    transactional: bool
    records: tuple[DataRecord, ...]


def name_no_topic(topic_id: str) -> str:
    """Return "", the name of a topic whose id is unknown."""
    return ""


def read_no_batch(data: bytes) -> None:
    """Return None, as for bytes that are not a batch."""
    return


@dataclass(frozen=True, slots=True)
class Incoming:
    """The version of a request, and what its receiver knows.

    `name_topic` returns the name of the topic with an id, "" for an
    unknown id: the message is without that topic. `read_batch` decodes the bytes of one batch, and returns None for
    anything else: the message is without that partition.
    """

    version: int
    name_topic: Callable[[str], str] = name_no_topic
    read_batch: Callable[[bytes], ProducedBatch | None] = read_no_batch

    def topic_of(self, struct: Struct) -> str | None:
        """Return the name of the topic of a structure, which has its name or its id; None for an unknown id.

        A name may be empty: no topic has it.

        Raises:
            KeyError: if it has neither.
        """
        name = struct.get("Name") or struct.get("Topic") or struct.get("TopicName")
        if name:
            return str(name)
        if "TopicId" in struct:
            return self.name_topic(struct["TopicId"]) or None
        if not any(field in struct for field in ("Name", "Topic", "TopicName")):
            raise KeyError("name or topicId")
        return ""

    def partitions_of(
        self, topics: Iterable[Struct], indexes: str = "Partitions"
    ) -> tuple[str, ...]:
        """Return the partitions of topics, in their order, without topics of an unknown id.

        `indexes` is the array of a topic that has the indexes of partitions.
        """
        return tuple(
            f"{name}-{index}"
            for topic in topics
            if (name := self.topic_of(topic)) is not None
            for index in topic[indexes]
        )

    def parts_of(
        self,
        topics: Iterable[Struct],
        partitions: str = "Partitions",
        index: str = "PartitionIndex",
    ) -> tuple[tuple[str, Struct], ...]:
        """Return each partition of topics with its fields, in their order, without topics of an unknown id.

        `partitions` is the array of a topic, `index` the field of a partition that has its index.
        """
        return tuple(
            (f"{name}-{part[index]}", part)
            for topic in topics
            if (name := self.topic_of(topic)) is not None
            for part in topic[partitions]
        )
