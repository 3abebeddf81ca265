"""CreateTopics and CreatePartitions: an operator, or a broker for dead letters (KIP-1191), adds topics or partitions."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message

# The brokers' defaults apply (num.partitions, default.replication.factor; KIP-464).
BY_DEFAULT = -1


class ReplicaAssignment(Value, frozen=True):
    """The replicas of one partition as the sender wants them, the preferred leader first."""

    partition_index: int
    broker_ids: tuple[int, ...]


class CreatableTopic(Value, frozen=True):
    """One topic to create: with numbers, or with an assignment for each partition."""

    name: str
    num_partitions: int = BY_DEFAULT
    replication_factor: int = BY_DEFAULT
    assignments: tuple[ReplicaAssignment, ...] = ()
    configs: tuple[tuple[str, str | None], ...] = ()


class CreateTopics(Message, frozen=True):
    """A request for topics; with `validate_only` the controller only says whether it would create them.

    NOT MODELLED: that its receiver forwards it to the controller; the request's timeout.
    """

    API_KEY: ClassVar[int] = 19
    VERSION: ClassVar[int] = 7
    IF_USED: ClassVar[tuple[str, ...]] = ("validate_only",)
    topics: tuple[CreatableTopic, ...]
    validate_only: bool = False


class CreatableTopicResult(Value, frozen=True):
    """Whether one topic was created; without an error its id, its numbers, and its configs as they were given.

    `error_message` is Kafka's sentence about an error.
    """

    name: str
    error: Errors
    topic_id: str = ""
    num_partitions: int = BY_DEFAULT
    replication_factor: int = BY_DEFAULT
    configs: tuple[tuple[str, str], ...] = ()
    error_message: str = ""


class CreateTopicsResponse(Message, frozen=True):
    """Which topics were created."""

    API_KEY: ClassVar[int] = 19
    VERSION: ClassVar[int] = 7
    IS_RESPONSE: ClassVar[bool] = True
    topics: tuple[CreatableTopicResult, ...]


class CreatePartitionsTopic(Value, frozen=True):
    """How many partitions a topic is to have; `assignments` are the replicas of those that are added, or None."""

    name: str
    count: int
    assignments: tuple[tuple[int, ...], ...] | None = None


class CreatePartitions(Message, frozen=True):
    """A request for more partitions of topics.

    NOT MODELLED: that its receiver forwards it to the controller; the request's timeout.
    """

    API_KEY: ClassVar[int] = 37
    VERSION: ClassVar[int] = 3
    IF_USED: ClassVar[tuple[str, ...]] = ("validate_only",)
    topics: tuple[CreatePartitionsTopic, ...]
    validate_only: bool = False


class CreatePartitionsTopicResult(Value, frozen=True):
    """Whether one topic got its partitions; `error_message` is Kafka's sentence about an error."""

    name: str
    error: Errors
    error_message: str = ""


class CreatePartitionsResponse(Message, frozen=True):
    """Which topics got their partitions."""

    API_KEY: ClassVar[int] = 37
    VERSION: ClassVar[int] = 3
    IS_RESPONSE: ClassVar[bool] = True
    results: tuple[CreatePartitionsTopicResult, ...]
