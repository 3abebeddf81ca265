"""The requests of transactions: a client's fields to the model's message, and its reply to the answer.

Source: the schemas of Kafka 4.4.0, in `messages.apis.transactions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import GroupOffset, TxnOffsetCommit, TxnOffsetCommitResponse
from kipviz.messages.transactions.transactions import (
    AddOffsetsToTxn,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    TxnPartitions,
)
from kipviz.messages.transactions.two_phase import InitProducerId2Pc, InitProducerId2PcResponse
from kipviz.messages.wire.codec import Struct
from kipviz.serving.translating.reply_context import Asked, Desk, Refused, Replies


def init_producer_id(said: Struct, version: int, desk: Desk) -> Asked:
    """Ask for a producer id and epoch; version 6 (KIP-939) also for a transaction without a time limit, or a kept one."""
    identity = (
        said["TransactionalId"],
        said["TransactionTimeoutMs"],
        said.get("ProducerId", -1),
        said.get("ProducerEpoch", -1),
        version,
    )
    message = (
        InitProducerId(*identity)
        if version < InitProducerId2Pc.VERSION
        else InitProducerId2Pc(*identity, said["Enable2Pc"], said["KeepPreparedTxn"])
    )

    def answer(replies: Replies) -> Struct:
        (told,) = replies
        assert isinstance(told, InitProducerIdResponse)
        found = {"ProducerId": told.producer_id, "ProducerEpoch": told.producer_epoch}
        if isinstance(told, InitProducerId2PcResponse):
            found["OngoingTxnProducerId"] = told.ongoing_txn_producer_id
            found["OngoingTxnProducerEpoch"] = told.ongoing_txn_producer_epoch
        return {"ErrorCode": told.error, **found}

    return Asked((message,), answer)


def partitions_in(topics: Iterable[Struct]) -> tuple[str, ...]:
    """Return the partitions of topics with names, in their order."""
    return tuple(f"{t['Name']}-{index}" for t in topics for index in t["Partitions"])


def add_partitions(said: Struct, version: int, desk: Desk) -> Asked:
    """Add partitions to a transaction; from version 4 on only brokers send this request."""
    if version > 3:
        raise Refused("AddPartitionsToTxn 4 and above is for brokers (CLUSTER_ACTION)")
    topics = said["V3AndBelowTopics"]
    asked = TxnPartitions(
        said["V3AndBelowTransactionalId"],
        said["V3AndBelowProducerId"],
        said["V3AndBelowProducerEpoch"],
        partitions_in(topics),
    )
    message = AddPartitionsToTxn((asked,), version)

    def answer(replies: Replies) -> Struct:
        (told,) = replies
        assert isinstance(told, AddPartitionsToTxnResponse)
        (result,) = told.results
        found = tuple(
            {
                "Name": t["Name"],
                "ResultsByPartition": tuple(
                    {
                        "PartitionIndex": index,
                        "PartitionErrorCode": result.error_of(f"{t['Name']}-{index}"),
                    }
                    for index in t["Partitions"]
                ),
            }
            for t in topics
        )
        return {"ResultsByTopicV3AndBelow": found}

    return Asked((message,), answer)


def add_offsets(said: Struct, version: int, desk: Desk) -> Asked:
    """Add a group's offsets to a transaction (transaction versions 0 and 1)."""
    message = AddOffsetsToTxn(
        said["TransactionalId"],
        said["ProducerId"],
        said["ProducerEpoch"],
        said["GroupId"],
        version,
    )

    def answer(replies: Replies) -> Struct:
        (told,) = replies
        assert isinstance(told, AddOffsetsToTxnResponse)
        return {"ErrorCode": told.error}

    return Asked((message,), answer)


def end_txn(said: Struct, version: int, desk: Desk) -> Asked:
    """Commit or abort a transaction."""
    message = EndTxn(
        said["TransactionalId"],
        said["ProducerId"],
        said["ProducerEpoch"],
        said["Committed"],
        version,
    )

    def answer(replies: Replies) -> Struct:
        (told,) = replies
        assert isinstance(told, EndTxnResponse)
        found = {"ProducerId": told.producer_id, "ProducerEpoch": told.producer_epoch}
        return {"ErrorCode": told.error, **found}

    return Asked((message,), answer)


def txn_offset_commit(said: Struct, version: int, desk: Desk) -> Asked:
    """Add a group's offsets to a transaction."""
    offsets, unknown = offsets_in(said["Topics"], desk)
    ids = tuple((desk.topic_named(t), t["TopicId"]) for t in said["Topics"] if version >= 6)
    message = TxnOffsetCommit(
        said["TransactionalId"],
        said["GroupId"],
        said["ProducerId"],
        said["ProducerEpoch"],
        said.get("MemberId", ""),
        said.get("GenerationIdOrMemberEpoch", -1),
        offsets,
        version,
        tuple(each for each in ids if each[0]),
        said.get("GroupInstanceId") or "",
    )

    def answer(replies: Replies) -> Struct:
        errors = dict(unknown)
        for told in replies:
            assert isinstance(told, TxnOffsetCommitResponse)
            own = {each.partition: each.error for each in told.refused}
            errors |= {o.partition: own.get(o.partition, told.error) for o in offsets}
        return committed(said["Topics"], errors, desk)

    return Asked((message,) if offsets else (), answer)


def offsets_in(
    topics: Iterable[Struct], desk: Desk
) -> tuple[tuple[GroupOffset, ...], dict[str, Errors]]:
    """Return the offsets that a request commits, and the errors of those whose topic id is unknown."""
    offsets: list[GroupOffset] = []
    unknown: dict[str, Errors] = {}
    for topic in topics:
        name = desk.topic_named(topic)
        for each in topic["Partitions"]:
            if name:
                partition = f"{name}-{each['PartitionIndex']}"
                offsets.append(GroupOffset(partition, each["CommittedOffset"]))
            else:
                place = f"{topic['TopicId']}-{each['PartitionIndex']}"
                unknown[place] = Errors.UNKNOWN_TOPIC_ID
    return tuple(offsets), unknown


def committed(topics: Iterable[Struct], errors: Mapping[str, Errors], desk: Desk) -> Struct:
    """Return the answer to a commit of offsets: an error for each partition."""
    found: list[Struct] = []
    for topic in topics:
        name = desk.topic_named(topic) or topic.get("TopicId", "")
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
