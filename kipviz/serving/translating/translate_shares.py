"""Share groups (KIP-932): heartbeats, ShareFetch with its session, ShareAcknowledge, ShareGroupDescribe.

A ShareFetch waits at the listener, as DelayedShareFetch does in Kafka, and the model gets it once, without waiting. One
with acknowledgements is handled at once, so they take effect when they arrive.

Source: KafkaApis.handleShareFetchRequest and those beside it, SharePartitionManager.
"""

from __future__ import annotations

from collections.abc import Iterable

from kipviz.brokers.share_leaders.share_partition import ShareLeader, SharePartition, Status
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.shares.share_groups import (
    AcknowledgeType,
    AcquiredRecords,
    ShareAcknowledge,
    ShareFetch,
    ShareFetchResponse,
    TxnShareAcknowledge,
)
from kipviz.messages.wire.codec import Struct
from kipviz.records.placement import index_of, share_partition_key, topic_of
from kipviz.records.share_group_state import RecordState
from kipviz.serving.translating.batch_bytes import readable
from kipviz.serving.translating.reply_context import (
    ClientRequest,
    ClosedConnection,
    Replies,
    ServedDesk,
    TranslatedRequest,
    as_written,
)

BYTES_MAX = 50 * 1024 * 1024  # of fetch.max.bytes, for a version without a limit for each partition
OFFSETS_MAX = (
    100_000  # the maximum number of offsets that one request acknowledges with their own types
)
_TYPES = frozenset(AcknowledgeType)


def _check_types(topics: Iterable[Struct] | None) -> None:
    """Check that every acknowledgement batch has one type, or one for each of its offsets.

    Raises:
        Refused: if one has not, or a number is no type.
    """
    parts = (part for topic in topics or () for part in topic["Partitions"])
    for batch in (batch for part in parts for batch in part["AcknowledgementBatches"]):
        first, last, types = batch["FirstOffset"], batch["LastOffset"], batch["AcknowledgeTypes"]
        for number in types:
            if number not in _TYPES:
                raise ClosedConnection(
                    f"a record is not acknowledged so: {number} is not an AcknowledgeType"
                )
        if len(types) != 1 and not len(types) == last - first + 1 <= OFFSETS_MAX:
            raise ClosedConnection(f"{len(types)} types acknowledge the offsets {first} to {last}")


def _unknown(said: Struct, desk: ServedDesk, **more: bytes) -> tuple[Struct, ...]:
    """Return the answer for unknown topic ids; `more` are additional fields of each partition."""
    return tuple(
        {
            "TopicId": topic["TopicId"],
            "Partitions": tuple(
                {
                    "PartitionIndex": p["PartitionIndex"],
                    "ErrorCode": Errors.UNKNOWN_TOPIC_ID,
                    **more,
                }
                for p in topic["Partitions"]
            ),
        }
        for topic in said["Topics"] or ()
        if desk.topic_named(topic) is None
    )


def share_acknowledge(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """Acknowledge records that a member holds; epoch -1 closes its session, too."""
    (message,) = messages
    assert isinstance(message, ShareAcknowledge)
    _check_types(request.said["Topics"])
    asked = as_written(request, messages)

    def answer(replies: Replies) -> Struct | None:
        found = asked.answer(replies)
        assert found is not None
        lost = () if found["ErrorCode"] else _unknown(request.said, request.desk)
        return found | {"Responses": found["Responses"] + lost}

    return TranslatedRequest(asked.messages, answer)


def txn_share_acknowledge(
    request: ClientRequest, messages: tuple[Message, ...]
) -> TranslatedRequest:
    """Stage acknowledgements of a share group in a transaction (KIP-1289, a draft)."""
    (message,) = messages
    assert isinstance(message, TxnShareAcknowledge)
    _check_types(request.said["Topics"])
    unknown = _unknown(request.said, request.desk)
    if not message.partitions:
        return TranslatedRequest((), lambda _: {"ErrorCode": Errors.NONE, "Responses": unknown})
    asked = as_written(request, messages)

    def answer(replies: Replies) -> Struct | None:
        found = asked.answer(replies)
        assert found is not None
        return found | {"Responses": found["Responses"] + unknown}

    return TranslatedRequest(asked.messages, answer)


def _in_sessions(who: tuple[str, str], desk: ServedDesk) -> tuple[str, ...]:
    """Return the partitions of a member's share sessions on all brokers."""
    return tuple(
        partition
        for role in desk.world.roles.values()
        if isinstance(role, ShareLeader) and who in role.sessions
        for partition in role.sessions[who].partitions
    )


def share_fetch(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """Read records of a share session's partitions, and acknowledge earlier ones."""
    (message,) = messages
    assert isinstance(message, ShareFetch)
    _check_types(request.said["Topics"])
    said, desk = request.said, request.desk
    who = (message.group_id, message.member_id)
    asked = as_written(request, (message.but(max_wait_ms=0),))

    def answer(replies: Replies) -> Struct | None:
        found = asked.answer(replies)
        (told,) = replies
        assert isinstance(told, ShareFetchResponse)
        assert found is not None
        records = {
            part.partition: _records(part.acquired, part.partition, desk) for part in told.responses
        }
        topics = tuple(_with_records(topic, records, desk) for topic in found["Responses"])
        return found | {
            "Responses": topics + (() if found["ErrorCode"] else _unknown(said, desk, Records=b""))
        }

    def ready() -> bool:
        # A session that has no partition left is answered at once (KafkaApis.handleFetchFromShareFetchRequest).
        there = _of_session(who, message, desk)
        return not there or any(_has(who[0], p, desk) for p in there)

    given = any(part.acknowledgements for part in message.partitions)
    waits = said["ShareSessionEpoch"] >= 0 and said["MaxRecords"] > 0 and not given
    return TranslatedRequest(asked.messages, answer, ready, said["MaxWaitMs"] if waits else 0)


def _of_session(who: tuple[str, str], message: ShareFetch, desk: ServedDesk) -> tuple[str, ...]:
    """Return the partitions of a fetch: its own, and those of the member's sessions."""
    known = _in_sessions(who, desk) if message.session_epoch > 0 else ()
    left = message.forgotten
    return tuple(p for p in dict.fromkeys((*known, *message.names)) if p not in left)


def _has(group_id: str, partition: str, desk: ServedDesk) -> bool:
    """Return whether there may be a result for a partition: a record to deliver, or an error."""
    topic_id = desk.image.topic_ids.get(topic_of(partition))
    log = desk.world.logs.get(partition)
    role = desk.world.roles.get((desk.image.leader_of(partition), Role.SHARE_PARTITION_LEADER, ""))
    if topic_id is None or log is None or not isinstance(role, ShareLeader):
        return True
    share = role.shares.get(share_partition_key(group_id, topic_id, index_of(partition)))
    if share is None:
        return True  # it is loaded at the first request
    return _delivers(share, log.high_watermark)


def _delivers(share: SharePartition, end: int) -> bool:
    if share.status is not Status.ACTIVE:
        return share.status is not Status.INITIALIZING
    free = any(r.state is RecordState.AVAILABLE for r in share.records.values())
    return free or share.next_offset < end


def _records(acquired: tuple[AcquiredRecords, ...], partition: str, desk: ServedDesk) -> bytes:
    """Return the batches with a member's acquired records, as they were produced."""
    if not acquired:
        return b""
    log, held = desk.world.logs[partition], desk.image.leaders[partition]
    first, last = acquired[0].first, acquired[-1].last
    return readable(log, first, BYTES_MAX, desk.kept, held.epoch, committed=False, last=last)


def _with_records(topic: Struct, records: dict[str, bytes], desk: ServedDesk) -> Struct:
    name = desk.topic_named(topic)
    partitions = tuple(
        part | {"Records": records.get(f"{name}-{part['PartitionIndex']}", b"")}
        for part in topic["Partitions"]
    )
    return topic | {"Partitions": partitions}
