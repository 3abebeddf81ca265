"""The requests of transactions whose answers are not just the model's reply.

Source: the schemas of Kafka 4.4.0, in `messages.apis.transactions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import (
    OffsetCommit,
    OffsetCommitResponse,
    TxnOffsetCommit,
    TxnOffsetCommitResponse,
)
from kipviz.messages.message import Message
from kipviz.messages.transactions.transactions import LAST_OF_A_CLIENT
from kipviz.messages.wire.codec import Struct
from kipviz.serving.translating.reply_context import (
    ClientRequest,
    ClosedConnection,
    Replies,
    ServedDesk,
    TranslatedRequest,
    as_written,
)


def add_partitions(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """Add partitions to a transaction; from version 4 on only brokers send this request."""
    if request.version > LAST_OF_A_CLIENT:
        raise ClosedConnection("AddPartitionsToTxn 4 and above is for brokers (CLUSTER_ACTION)")
    return as_written(request, messages)


def commit_offsets(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """Commit a group's offsets, at once or in a transaction; a partition of an unknown topic id has its own error."""
    (message,) = messages
    assert isinstance(message, OffsetCommit | TxnOffsetCommit)
    offsets, topics, desk = message.offsets, request.said["Topics"], request.desk
    unknown = {
        f"{topic['TopicId']}-{part['PartitionIndex']}": Errors.UNKNOWN_TOPIC_ID
        for topic in topics
        if desk.topic_named(topic) is None
        for part in topic["Partitions"]
    }

    def answer(replies: Replies) -> Struct:
        errors = dict(unknown)
        for told in replies:
            assert isinstance(told, OffsetCommitResponse | TxnOffsetCommitResponse)
            errors |= {each.partition: each.error for each in told.results}
        return _encode_committed(topics, errors, desk)

    return TranslatedRequest((message,) if offsets else (), answer)


def _encode_committed(
    topics: Iterable[Struct], errors: Mapping[str, Errors], desk: ServedDesk
) -> Struct:
    """Return the answer to a commit of offsets: an error for each partition."""
    found: list[Struct] = []
    for topic in topics:
        name = desk.topic_named(topic)
        name = topic["TopicId"] if name is None else name
        partitions = tuple(
            {
                "PartitionIndex": each["PartitionIndex"],
                "ErrorCode": errors[f"{name}-{each['PartitionIndex']}"],
            }
            for each in topic["Partitions"]
        )
        found.append(_encode_topic_name(topic) | {"Partitions": partitions})
    return {"Topics": tuple(found)}


def _encode_topic_name(topic: Struct) -> Struct:
    return {name: topic[name] for name in ("Name", "TopicId") if name in topic}
