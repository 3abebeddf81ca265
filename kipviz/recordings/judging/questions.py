"""Recorded requests and answers as the model's messages: one question for each part with an answer.

A request may have several subjects (partitions, groups, transactions), each with its own answer, and the model's
messages have one. `ASKED` has for each API how an exchange is decoded, and which part of the model's reply is compared
with it. Fields without a decision of the protocol are left out: `uncompared_fields.LEFT_OUT`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import (
    GroupOffset,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetchResponse,
    TxnOffsetCommit,
    TxnOffsetCommitResponse,
    fetch_offset,
)
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_of_response
from kipviz.messages.shares.share_membership import ShareGroupHeartbeat, ShareGroupHeartbeatResponse
from kipviz.messages.shares.share_state import (
    DeleteShareGroupState,
    InitializeShareGroupState,
    ReadShareGroupState,
    ReadShareGroupStateResponse,
    ReadShareGroupStateSummary,
    ReadShareGroupStateSummaryResponse,
    WriteShareGroupState,
)
from kipviz.messages.transactions.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    TxnMarker,
    TxnPartitions,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from kipviz.messages.transactions.two_phase import InitProducerId2Pc, InitProducerId2PcResponse
from kipviz.recordings.decoded.group_records import subscribed
from kipviz.recordings.recorded import Exchange, Plain
from kipviz.recordings.replayed_roles.answer_text import (
    Compared,
    Names,
    Question,
    Said,
    Taken,
    error_name,
    named,
    only,
    partitions_of,
    with_more,
)
from kipviz.recordings.replayed_roles.operators import OF_OPERATORS
from kipviz.records.share_group_state import RecordState, StateBatch

# -- transactions ------------------------------------------------------------------------------


def _init_producer_id(x: Exchange, names: Names) -> Taken:
    said, answer = x.request, x.response
    name = said["transactionalId"]
    asked = (name, said["transactionTimeoutMs"], said["producerId"], said["producerEpoch"])
    message: Message = InitProducerId(*asked, version=x.version)
    identity = [("producer id", answer["producerId"]), ("epoch", answer["producerEpoch"])]
    if x.version >= InitProducerId2Pc.VERSION:
        message = InitProducerId2Pc(
            *asked, enable_2pc=said["enable2Pc"], keep_prepared_txn=said["keepPreparedTxn"]
        )
        identity += [
            ("ongoing producer id", answer["ongoingTxnProducerId"]),
            ("ongoing epoch", answer["ongoingTxnProducerEpoch"]),
        ]
    yield name or "nobody", message, with_more(answer["errorCode"], *identity)


def _identity(
    reply: InitProducerIdResponse | InitProducerId2PcResponse | EndTxnResponse,
) -> Said:
    more = [("producer id", reply.producer_id), ("epoch", reply.producer_epoch)]
    if isinstance(reply, InitProducerId2PcResponse):
        more += [
            ("ongoing producer id", reply.ongoing_txn_producer_id),
            ("ongoing epoch", reply.ongoing_txn_producer_epoch),
        ]
    return with_more(reply.error, *more)


def _add_partitions(x: Exchange, names: Names) -> Taken:
    """Yield one transaction at a time: up to version 3 there is one, a client's."""
    said, answer = x.request, x.response
    if x.version <= 3:
        partitions = partitions_of(said["v3AndBelowTopics"], names)
        asked = TxnPartitions(
            said["v3AndBelowTransactionalId"],
            said["v3AndBelowProducerId"],
            said["v3AndBelowProducerEpoch"],
            partitions,
        )
        told = _added(0, answer["resultsByTopicV3AndBelow"], partitions)
        yield asked.transactional_id, AddPartitionsToTxn((asked,), x.version), told
        return
    found = {r["transactionalId"]: r["topicResults"] for r in answer["resultsByTransaction"]}
    for one in said["transactions"]:
        name = one["transactionalId"]
        partitions = partitions_of(one["topics"], names)
        identity = (one["producerId"], one["producerEpoch"])
        asked = TxnPartitions(name, *identity, partitions, one["verifyOnly"])
        told = _added(answer["errorCode"], found.get(name, ()), partitions)
        yield name, AddPartitionsToTxn((asked,), x.version), told


def _added(code: int, results: Plain, partitions: tuple[str, ...]) -> Said:
    """Return the answer for each partition; an error of the whole request applies to all of them."""
    if code:
        return tuple(sorted((partition, error_name(code)) for partition in partitions))
    return tuple(
        sorted(
            (f"{t['name']}-{p['partitionIndex']}", error_name(p["partitionErrorCode"]))
            for t in results
            for p in t["resultsByPartition"]
        )
    )


def _added_partitions(reply: AddPartitionsToTxnResponse) -> Said:
    (only,) = reply.results
    return tuple(sorted((p, only.error_of(p).name) for p in only.partitions))


def _add_offsets(x: Exchange, names: Names) -> Taken:
    said = x.request
    name = said["transactionalId"]
    identity = (said["producerId"], said["producerEpoch"])
    message = AddOffsetsToTxn(name, *identity, said["groupId"], x.version)
    yield name, message, only(x.response["errorCode"])


def _end_txn(x: Exchange, names: Names) -> Taken:
    said, answer = x.request, x.response
    name = said["transactionalId"]
    identity = (said["producerId"], said["producerEpoch"], said["committed"])
    message = EndTxn(name, *identity, x.version)
    # Below version 5 the answer has no identity.
    more = (answer.get("producerId", -1), answer.get("producerEpoch", -1))
    told = (("producer id", more[0]), ("epoch", more[1]))
    yield name, message, with_more(answer["errorCode"], *told)


def _write_markers(x: Exchange, names: Names) -> Taken:
    answers = {m["producerId"]: m["topics"] for m in x.response["markers"]}
    for marker in x.request["markers"]:
        topics = marker["topics"]
        partitions = tuple(f"{t['name']}-{p}" for t in topics for p in t["partitionIndexes"])
        told_to_end = TxnMarker(
            marker["producerId"],
            marker["producerEpoch"],
            marker["transactionResult"],
            partitions,
            marker["coordinatorEpoch"],
            marker.get("transactionVersion", 0),
        )
        told = sorted(
            (f"{t['name']}-{p['partitionIndex']}", error_name(p["errorCode"]))
            for t in answers.get(told_to_end.producer_id, ())
            for p in t["partitions"]
        )
        about, message = f"producer id {told_to_end.producer_id}", WriteTxnMarkers((told_to_end,))
        yield about, message, (("results", tuple(told)),)


def _results(reply: WriteTxnMarkersResponse) -> Said:
    return (("results", tuple(sorted((r.partition, r.error.name) for r in reply.results))),)


# -- regular groups ----------------------------------------------------------------------------


def _txn_offset_commit(x: Exchange, names: Names) -> Taken:
    said = x.request
    message = TxnOffsetCommit(
        said["transactionalId"],
        said["groupId"],
        said["producerId"],
        said["producerEpoch"],
        *_member(said),
        _offsets(said["topics"], names),
        x.version,
    )
    yield said["groupId"], message, _per_partition(x.response["topics"], names)


def _offset_commit(x: Exchange, names: Names) -> Taken:
    said = x.request
    message = OffsetCommit(said["groupId"], *_member(said), _offsets(said["topics"], names))
    yield said["groupId"], message, _per_partition(x.response["topics"], names)


def _member(said: Plain) -> tuple[str, int]:
    """Return member id and epoch; until 4.4 Kafka named the field after the classic protocol alone."""
    epoch = said.get("generationIdOrMemberEpoch", said.get("generationId", -1))
    return said.get("memberId", ""), epoch


def _offsets(topics: Plain, names: Names) -> tuple[GroupOffset, ...]:
    return tuple(
        GroupOffset(f"{named(t, names)}-{p['partitionIndex']}", p["committedOffset"])
        for t in topics
        for p in t["partitions"]
    )


def _per_partition(topics: Plain, names: Names) -> Said:
    return tuple(
        sorted(
            (f"{named(t, names)}-{p['partitionIndex']}", error_name(p["errorCode"]))
            for t in topics
            for p in t["partitions"]
        )
    )


def _each_offset(
    message: TxnOffsetCommit | OffsetCommit, reply: TxnOffsetCommitResponse | OffsetCommitResponse
) -> Said:
    own = {each.partition: each.error for each in reply.refused}
    parts = (offset.partition for offset in message.offsets)
    return tuple(sorted((p, own.get(p, reply.error).name) for p in parts))


def _offset_fetch(x: Exchange, names: Names) -> Taken:
    """Yield one partition of one group at a time; before version 8 there is one group."""
    said, answer = x.request, x.response
    groups, answers = ([said], [answer]) if x.version < 8 else (said["groups"], answer["groups"])
    for group, told in zip(groups, answers, strict=True):
        own = {
            f"{named(t, names)}-{p['partitionIndex']}": p
            for t in told["topics"]
            for p in t["partitions"]
        }
        for topic in group["topics"] or ():
            for index in topic["partitionIndexes"]:
                partition = f"{named(topic, names)}-{index}"
                member = (group.get("memberId") or "", group.get("memberEpoch", -1))
                stable = bool(said.get("requireStable", False))
                message = fetch_offset(group["groupId"], partition, stable, *member, x.version)
                yield (
                    f"{group['groupId']} {partition}",
                    message,
                    _fetched_answer(told, own.get(partition)),
                )


def _fetched_answer(group: Plain, one: Plain) -> Said:
    """Return the answer for one partition; if the whole group has an error there is none."""
    if group.get("errorCode", 0):
        return with_more(group["errorCode"], ("offset", -1))
    if one is None:
        return (("error", "no answer"),)
    return with_more(one["errorCode"], ("offset", one["committedOffset"]))


def _read_offset(reply: OffsetFetchResponse) -> Said:
    """Return the model's answer for one partition."""
    (group,) = reply.groups
    found = next(iter(group.offsets), None)
    if found is None:
        return with_more(group.error, ("offset", -1))
    return with_more(group.error or found.error, ("offset", found.offset))


def _group_heartbeat(x: Exchange, names: Names) -> Taken:
    said = x.request
    owned = said["topicPartitions"]
    topics, regex = said["subscribedTopicNames"], said["subscribedTopicRegex"]
    topic, *further = topics or ("",)
    if topics == () and regex is None:
        # An empty list subscribes to nothing; without a list the subscription stays unchanged.
        regex = ""
    message = ConsumerGroupHeartbeat(
        said["groupId"],
        said["memberId"],
        said["memberEpoch"],
        topic,
        None if owned is None else tuple(sorted(partitions_of(owned, names))),
        said["instanceId"] or "",
        tuple(further),
        regex,
        said["rackId"] or "",
    )
    yield f"{message.group_id} {message.member_id}", message, _heartbeat_answer(x.response, names)


def _share_heartbeat(x: Exchange, names: Names) -> Taken:
    """Yield the heartbeat, unless it was accepted with several topics, or with no topic any more.

    The model's subscription is one topic; a member that may not use one of several is rejected here, too.
    """
    said, error = x.request, x.response["errorCode"]
    topics = said["subscribedTopicNames"]
    several, none_any_more = len(set(topics or ())) > 1, topics == () and said["memberEpoch"] > 0
    if error == 0 and (several or none_any_more):
        return
    message = ShareGroupHeartbeat(
        said["groupId"],
        said["memberId"],
        said["memberEpoch"],
        subscribed(topics or ()),
    )
    yield f"{message.group_id} {message.member_id}", message, _heartbeat_answer(x.response, names)


def _heartbeat_answer(answer: Plain, names: Names) -> Said:
    given = answer["assignment"]
    partitions = None if given is None else partitions_of(given["topicPartitions"], names)
    return with_more(
        answer["errorCode"],
        ("member epoch", answer["memberEpoch"]),
        ("assignment", None if partitions is None else tuple(sorted(partitions))),
    )


def _membership(
    reply: ConsumerGroupHeartbeatResponse | ShareGroupHeartbeatResponse,
) -> Said:
    given = None if reply.assignment is None else tuple(sorted(reply.assignment.partitions))
    return with_more(reply.error, ("member epoch", reply.member_epoch), ("assignment", given))


# -- the state of share groups -----------------------------------------------------------------


def _list_by_key(x: Exchange) -> Iterator[tuple[str, Plain, Plain]]:
    """Yield (key, question, answer) for every share-partition of a request."""
    group = x.request["groupId"]
    answers = {
        (t["topicId"], p["partition"]): p for t in x.response["results"] for p in t["partitions"]
    }
    for topic in x.request["topics"]:
        for one in topic["partitions"]:
            place = (topic["topicId"], one["partition"])
            yield f"{group}:{place[0]}:{place[1]}", one, answers[place]


def _initialize_state(x: Exchange, names: Names) -> Taken:
    for key, one, told in _list_by_key(x):
        message = InitializeShareGroupState(key, one["stateEpoch"], one["startOffset"])
        yield key, message, only(told["errorCode"])


def _delete_state(x: Exchange, names: Names) -> Taken:
    for key, _, told in _list_by_key(x):
        yield key, DeleteShareGroupState(key), only(told["errorCode"])


def _read_state(x: Exchange, names: Names) -> Taken:
    for key, one, told in _list_by_key(x):
        yield (
            key,
            ReadShareGroupState(key, one["leaderEpoch"]),
            with_more(
                told["errorCode"],
                ("state epoch", told["stateEpoch"]),
                ("start offset", told["startOffset"]),
                ("batches", _batches(state_batches_of(told["stateBatches"]))),
            ),
        )


def _state(reply: ReadShareGroupStateResponse) -> Said:
    if reply.error is not Errors.NONE:
        # An answer with an error has no other content: the other fields are the schema's zeros.
        reply = reply.but(state_epoch=0, start_offset=0, batches=())
    return with_more(
        reply.error,
        ("state epoch", reply.state_epoch),
        ("start offset", reply.start_offset),
        ("batches", _batches(reply.batches)),
    )


def _read_summary(x: Exchange, names: Names) -> Taken:
    for key, _, told in _list_by_key(x):
        said = with_more(
            told["errorCode"],
            ("state epoch", told["stateEpoch"]),
            ("leader epoch", told.get("leaderEpoch", 0)),
            ("start offset", told["startOffset"]),
            ("delivery complete", told.get("deliveryCompleteCount", -1)),
        )
        yield key, ReadShareGroupStateSummary(key), said


def _summary(reply: ReadShareGroupStateSummaryResponse) -> Said:
    if reply.error is not Errors.NONE:
        reply = reply.but(state_epoch=0, leader_epoch=0, start_offset=0, delivery_complete_count=-1)
    return with_more(
        reply.error,
        ("state epoch", reply.state_epoch),
        ("leader epoch", reply.leader_epoch),
        ("start offset", reply.start_offset),
        ("delivery complete", reply.delivery_complete_count),
    )


def _write_state(x: Exchange, names: Names) -> Taken:
    for key, one, told in _list_by_key(x):
        message = write_of(key, one)
        yield key, message, only(told["errorCode"])


def write_of(key: str, one: Plain) -> WriteShareGroupState:
    """Return a state write of a share-partition leader as the model has it."""
    return WriteShareGroupState(
        key,
        one["stateEpoch"],
        one["leaderEpoch"],
        one["startOffset"],
        one.get("deliveryCompleteCount", -1),
        state_batches_of(one["stateBatches"]),
    )


def state_batches_of(batches: Plain) -> tuple[StateBatch, ...]:
    """Return recorded state batches as the model has them."""
    return tuple(
        StateBatch(
            b["firstOffset"], b["lastOffset"], RecordState(b["deliveryState"]), b["deliveryCount"]
        )
        for b in batches
    )


def _batches(batches: tuple[StateBatch, ...]) -> tuple[tuple[int, int, str, int], ...]:
    return tuple((b.first, b.last, b.state.name, b.delivery_count) for b in batches)


def _error(reply: Message) -> Said:
    return only(error_of_response(reply))


def _reply(read: Callable[[Any], Said]) -> Callable[[Any, Any], Said]:
    return lambda _, reply: read(reply)


# For each API: how an exchange is decoded, and which part of (the model's message, its reply) is compared.
ASKED: dict[str, Compared] = {
    "INIT_PRODUCER_ID": (_init_producer_id, _reply(_identity)),
    "ADD_PARTITIONS_TO_TXN": (
        _add_partitions,
        _reply(_added_partitions),
    ),
    "ADD_OFFSETS_TO_TXN": (_add_offsets, _reply(_error)),
    "END_TXN": (_end_txn, _reply(_identity)),
    "WRITE_TXN_MARKERS": (_write_markers, _reply(_results)),
    "TXN_OFFSET_COMMIT": (_txn_offset_commit, _each_offset),
    "OFFSET_COMMIT": (_offset_commit, _each_offset),
    "OFFSET_FETCH": (_offset_fetch, _reply(_read_offset)),
    "CONSUMER_GROUP_HEARTBEAT": (_group_heartbeat, _reply(_membership)),
    "SHARE_GROUP_HEARTBEAT": (_share_heartbeat, _reply(_membership)),
    "INITIALIZE_SHARE_GROUP_STATE": (_initialize_state, _reply(_error)),
    "DELETE_SHARE_GROUP_STATE": (_delete_state, _reply(_error)),
    "READ_SHARE_GROUP_STATE": (_read_state, _reply(_state)),
    "READ_SHARE_GROUP_STATE_SUMMARY": (_read_summary, _reply(_summary)),
    "WRITE_SHARE_GROUP_STATE": (_write_state, _reply(_error)),
    **OF_OPERATORS,
}


def questions(exchange: Exchange, names: Names) -> tuple[Question, ...]:
    """Decode an exchange into questions; empty for an API that is not compared.

    Raises:
        KeyError, TypeError, ValueError: if the exchange lacks a field of its API and version.
    """
    if exchange.api not in ASKED:
        return ()
    take, _ = ASKED[exchange.api]
    return tuple(Question(*found) for found in take(exchange, names))


def reply_said(api: str, message: Message, reply: Message) -> Said:
    """Return the part of the model's reply that is compared with the recorded answer."""
    return ASKED[api][1](message, reply)
