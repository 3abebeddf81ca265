"""Share groups (KIP-932): heartbeats, ShareFetch with its session, ShareAcknowledge, ShareGroupDescribe.

A ShareFetch waits at the listener, as DelayedShareFetch does in Kafka, and the model gets it once, without waiting. One
with acknowledgements is handled at once, so they take effect when they arrive.

Source: KafkaApis.handleShareFetchRequest and those beside it, SharePartitionManager.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.share_leaders.share_partition import ShareLeader, SharePartition, Status
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_admin import ShareGroupDescribe
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    AcquiredRecords,
    PartitionAcknowledgements,
    ShareAcknowledge,
    ShareFetch,
    ShareFetchResponse,
    TxnPartitionAcknowledgements,
    TxnShareAcknowledge,
)
from kipviz.messages.shares.share_membership import ShareGroupHeartbeat
from kipviz.messages.wire.codec import Struct
from kipviz.records.placement import index_of, share_partition_key, topic_of
from kipviz.records.share_group_state import RecordState
from kipviz.serving.translating.batch_bytes import readable
from kipviz.serving.translating.reply_context import Asked, Desk, Refused, Replies
from kipviz.serving.translating.translate_groups import as_written

BYTES_MAX = 50 * 1024 * 1024  # of fetch.max.bytes, for a version without a limit for each partition
OFFSETS_MAX = (
    100_000  # the maximum number of offsets that one request acknowledges with their own types
)


def share_group_heartbeat(said: Struct, version: int, desk: Desk) -> Asked:
    """Join a share group, stay in it, or leave it."""
    topics = said["SubscribedTopicNames"] or ("",)
    if len(topics) > 1:
        raise Refused(
            f"a member of the model's share groups can subscribe to only one topic, not {topics}"
        )
    message = ShareGroupHeartbeat(said["GroupId"], said["MemberId"], said["MemberEpoch"], topics[0])
    return as_written(message, desk)


def share_group_describe(said: Struct, version: int, desk: Desk) -> Asked:
    """Describe share groups."""
    groups = said["GroupIds"]
    if not groups:
        raise Refused("a ShareGroupDescribe names at least one group here")
    return as_written(ShareGroupDescribe(tuple(groups)), desk)


def _acknowledgements(part: Struct) -> tuple[AcknowledgementBatch, ...]:
    """Return the acknowledgements of a partition; separate types for each offset become separate batches.

    Source: AcknowledgementBatch: one type applies to the whole batch, otherwise there is one for each offset.
    """
    found: list[AcknowledgementBatch] = []
    for each in part["AcknowledgementBatches"]:
        first, last, types = each["FirstOffset"], each["LastOffset"], each["AcknowledgeTypes"]
        try:
            kinds = [AcknowledgeType(number) for number in types]
        except ValueError as wrong:
            raise Refused(f"a record is not acknowledged so: {wrong}") from None
        if len(kinds) == 1:
            found.append(AcknowledgementBatch(first, last, kinds[0]))
        elif len(kinds) == last - first + 1 <= OFFSETS_MAX:
            runs = zip(range(first, last + 1), kinds, strict=True)
            found += [AcknowledgementBatch(offset, offset, kind) for offset, kind in runs]
        else:
            raise Refused(f"{len(kinds)} types acknowledge the offsets {first} to {last}")
    return tuple(found)


def _parts(said: Struct, desk: Desk) -> Iterator[PartitionAcknowledgements]:
    """Yield each partition that a request names, with its acknowledgements."""
    for topic in said["Topics"] or ():
        name = desk.topic_named(topic)
        for part in topic["Partitions"]:
            if name:
                partition = f"{name}-{part['PartitionIndex']}"
                yield PartitionAcknowledgements(partition, _acknowledgements(part))


def _unknown(said: Struct, desk: Desk, **more: bytes) -> tuple[Struct, ...]:
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
        if not desk.topic_named(topic)
    )


def share_acknowledge(said: Struct, version: int, desk: Desk) -> Asked:
    """Acknowledge records that a member holds; epoch -1 closes its session, too."""
    who = (said["GroupId"] or "", said["MemberId"] or "")
    parts = tuple(_parts(said, desk))
    message = ShareAcknowledge(*who, said["ShareSessionEpoch"], parts)
    asked = as_written(message, desk)

    def answer(replies: Replies) -> Struct | None:
        found = asked.answer(replies)
        assert found is not None
        lost = () if found["ErrorCode"] else _unknown(said, desk)
        return found | {"Responses": found["Responses"] + lost}

    return Asked(asked.messages, answer)


def txn_share_acknowledge(said: Struct, version: int, desk: Desk) -> Asked:
    """Stage acknowledgements of a share group in a transaction (KIP-1289, a draft)."""
    parts = tuple(
        TxnPartitionAcknowledgements(
            f"{desk.topic_named(topic)}-{part['PartitionIndex']}",
            _acknowledgements(part),
            tuple((each["Offset"], each["DeliveryCount"]) for each in part.get("Deliveries", ())),
        )
        for topic in said["Topics"]
        for part in topic["Partitions"]
        if desk.topic_named(topic)
    )
    unknown = _unknown(said, desk)
    if not parts:
        return Asked((), lambda _: {"ErrorCode": Errors.NONE, "Responses": unknown})
    message = TxnShareAcknowledge(
        said["TransactionalId"] or "",
        said["GroupId"],
        said["ProducerId"],
        said["ProducerEpoch"],
        said["MemberId"],
        said["MemberEpoch"],
        parts,
    )
    asked = as_written(message, desk)

    def answer(replies: Replies) -> Struct | None:
        found = asked.answer(replies)
        assert found is not None
        return found | {"Responses": found["Responses"] + unknown}

    return Asked(asked.messages, answer)


def _in_sessions(who: tuple[str, str], desk: Desk) -> tuple[str, ...]:
    """Return the partitions of a member's share sessions on all brokers."""
    return tuple(
        partition
        for role in desk.world.roles.values()
        if isinstance(role, ShareLeader) and who in role.sessions
        for partition in role.sessions[who].partitions
    )


def share_fetch(said: Struct, version: int, desk: Desk) -> Asked:
    """Read records of a share session's partitions, and acknowledge earlier ones."""
    parts = tuple(_parts(said, desk))
    forgotten = tuple(
        f"{desk.topic_named(topic)}-{index}"
        for topic in said["ForgottenTopicsData"] or ()
        for index in topic["Partitions"]
        if desk.topic_named(topic)
    )
    who = (said["GroupId"] or "", said["MemberId"] or "")
    mode = said.get("ShareAcquireMode", 0)
    if mode not in (0, 1):
        raise Refused(f"ShareAcquireMode must be 0 or 1, not {mode}")
    message = ShareFetch(
        *who,
        said["ShareSessionEpoch"],
        parts,
        said["MaxRecords"],
        acquire_mode=mode,
        wait=False,
        forgotten=forgotten,
    )
    asked = as_written(message, desk)

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

    given = any(part.acknowledgements for part in parts)
    waits = said["ShareSessionEpoch"] >= 0 and said["MaxRecords"] > 0 and not given
    return Asked(asked.messages, answer, ready, said["MaxWaitMs"] if waits else 0)


def _of_session(who: tuple[str, str], message: ShareFetch, desk: Desk) -> tuple[str, ...]:
    """Return the partitions of a fetch: its own, and those of the member's sessions."""
    known = _in_sessions(who, desk) if message.session_epoch > 0 else ()
    left = message.forgotten
    return tuple(p for p in dict.fromkeys((*known, *message.names)) if p not in left)


def _has(group_id: str, partition: str, desk: Desk) -> bool:
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


def _records(acquired: tuple[AcquiredRecords, ...], partition: str, desk: Desk) -> bytes:
    """Return the batches with a member's acquired records, as they were produced."""
    if not acquired:
        return b""
    log, held = desk.world.logs[partition], desk.image.leaders[partition]
    first, last = acquired[0].first, acquired[-1].last
    return readable(log, first, BYTES_MAX, desk.kept, held.epoch, committed=False, last=last)


def _with_records(topic: Struct, records: dict[str, bytes], desk: Desk) -> Struct:
    name = desk.topic_named(topic)
    partitions = tuple(
        part | {"Records": records.get(f"{name}-{part['PartitionIndex']}", b"")}
        for part in topic["Partitions"]
    )
    return topic | {"Partitions": partitions}
