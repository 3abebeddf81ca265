"""Recorded requests and answers as the model's messages: one question for each part with an answer.

A request may have several subjects (partitions, groups, transactions), each with its own answer, and the model's
messages have one or several. Its row decodes the request (`request_fields`); `ASKED` has for each API its parts, each
with the recorded answer, and which part of the model's reply is compared with that. Fields without a decision of the
protocol are left out: `uncompared_fields.LEFT_OUT`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kipviz.messages.apis.shares.state_batches import STATE_BATCHES, decode_states
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import (
    OF_SEVERAL_GROUPS,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    TxnOffsetCommit,
    TxnOffsetCommitResponse,
)
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_of_response
from kipviz.messages.shares.share_membership import ShareGroupHeartbeat, ShareGroupHeartbeatResponse
from kipviz.messages.shares.share_state import (
    ReadShareGroupStateResponse,
    ReadShareGroupStateSummaryResponse,
    StatesRequest,
)
from kipviz.messages.transactions.transactions import (
    LAST_OF_A_CLIENT,
    TWO_PHASE,
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from kipviz.recordings.recorded import Exchange, Plain
from kipviz.recordings.replayed_roles.answer_text import (
    Compared,
    Names,
    RequestPart,
    Said,
    Taken,
    error_name,
    only,
    partitions_of,
    topic_name,
    with_more,
)
from kipviz.recordings.replayed_roles.operators import OF_OPERATORS
from kipviz.recordings.replayed_roles.request_fields import decode_request, fields_in_log
from kipviz.records.placement import share_partition_key
from kipviz.records.share_group_state import StateBatch

# -- transactions ------------------------------------------------------------------------------


def _init_producer_id(x: Exchange, names: Names) -> Taken:
    (message,) = decode_request(x, names)
    assert isinstance(message, InitProducerId)
    answer = x.response
    identity = [("producer id", answer["producerId"]), ("epoch", answer["producerEpoch"])]
    if x.version >= TWO_PHASE:
        kept = answer["ongoingTxnProducerId"], answer["ongoingTxnProducerEpoch"]
        identity += _kept_identity(*kept)
    yield message.transactional_id or "nobody", message, with_more(answer["errorCode"], *identity)


def _identity(reply: InitProducerIdResponse | EndTxnResponse) -> Said:
    more = [("producer id", reply.producer_id), ("epoch", reply.producer_epoch)]
    if isinstance(reply, InitProducerIdResponse):
        kept = reply.ongoing_txn_producer_id, reply.ongoing_txn_producer_epoch
        more += _kept_identity(*kept)
    return with_more(reply.error, *more)


def _kept_identity(producer_id: int, epoch: int) -> list[tuple[str, int]]:
    """Return the identity of a kept transaction, nothing if there is none: a response of older versions has no field."""
    nothing = (producer_id, epoch) == (-1, -1)
    return [] if nothing else [("ongoing producer id", producer_id), ("ongoing epoch", epoch)]


def _add_partitions(x: Exchange, names: Names) -> Taken:
    """Yield one transaction at a time: up to version 3 there is one, a client's."""
    (message,) = decode_request(x, names)
    assert isinstance(message, AddPartitionsToTxn)
    answer = x.response
    if x.version <= LAST_OF_A_CLIENT:
        (only,) = message.transactions
        told = _answers_by_partition(0, answer["resultsByTopicV3AndBelow"], only.partitions)
        yield only.transactional_id, message, told
        return
    found = {r["transactionalId"]: r["topicResults"] for r in answer["resultsByTransaction"]}
    for one in message.transactions:
        name = one.transactional_id
        told = _answers_by_partition(answer["errorCode"], found.get(name, ()), one.partitions)
        yield name, message.but(transactions=(one,)), told


def _answers_by_partition(code: int, results: Plain, partitions: tuple[str, ...]) -> Said:
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


def _added_partitions(message: AddPartitionsToTxn, reply: AddPartitionsToTxnResponse) -> Said:
    """Return the result for each partition; an error of the whole request applies to all of them."""
    (asked,) = message.transactions
    results = reply.results[0].results if reply.results else ()
    said = {each.partition: each.error for each in results}
    return tuple(sorted((p, said.get(p, reply.error).name) for p in asked.partitions))


def _add_offsets(x: Exchange, names: Names) -> Taken:
    (message,) = decode_request(x, names)
    assert isinstance(message, AddOffsetsToTxn)
    yield message.transactional_id, message, only(x.response["errorCode"])


def _end_txn(x: Exchange, names: Names) -> Taken:
    (message,) = decode_request(x, names)
    assert isinstance(message, EndTxn)
    answer = x.response
    # Below version 5 the answer has no identity.
    more = (answer.get("producerId", -1), answer.get("producerEpoch", -1))
    told = (("producer id", more[0]), ("epoch", more[1]))
    yield message.transactional_id, message, with_more(answer["errorCode"], *told)


def _write_markers(x: Exchange, names: Names) -> Taken:
    answers = {m["producerId"]: m["topics"] for m in x.response["markers"]}
    (message,) = decode_request(x, names)
    assert isinstance(message, WriteTxnMarkers)
    for marker in message.markers:
        told = sorted(
            (f"{t['name']}-{p['partitionIndex']}", error_name(p["errorCode"]))
            for t in answers.get(marker.producer_id, ())
            for p in t["partitions"]
        )
        said = (("results", tuple(told)),)
        yield f"producer id {marker.producer_id}", message.but(markers=(marker,)), said


def _results(reply: WriteTxnMarkersResponse) -> Said:
    return (("results", tuple(sorted((r.partition, r.error.name) for r in reply.results))),)


# -- regular groups ----------------------------------------------------------------------------


def _commit_offsets(x: Exchange, names: Names) -> Taken:
    (message,) = decode_request(x, names)
    assert isinstance(message, OffsetCommit | TxnOffsetCommit)
    # The instance id is not compared, and a recording has the ids of its topics at its end.
    message = message.but(instance_id="")
    if isinstance(message, TxnOffsetCommit):
        message = message.but(topic_ids=())
    yield message.group_id, message, _per_partition(x.response["topics"], names)


def _per_partition(topics: Plain, names: Names) -> Said:
    return tuple(
        sorted(
            (f"{topic_name(t, names)}-{p['partitionIndex']}", error_name(p["errorCode"]))
            for t in topics
            for p in t["partitions"]
        )
    )


def _each_offset(_: Message, reply: TxnOffsetCommitResponse | OffsetCommitResponse) -> Said:
    return tuple(sorted((each.partition, each.error.name) for each in reply.results))


def _offset_fetch(x: Exchange, names: Names) -> Taken:
    """Yield one partition of one group at a time; before version 8 there is one group."""
    (message,) = decode_request(x, names)
    assert isinstance(message, OffsetFetch)
    answers = [x.response] if x.version < OF_SEVERAL_GROUPS else x.response["groups"]
    for group, told in zip(message.groups, answers, strict=True):
        own = {
            f"{topic_name(t, names)}-{p['partitionIndex']}": p
            for t in told["topics"]
            for p in t["partitions"]
        }
        for partition in group.partitions or ():
            yield (
                f"{group.group_id} {partition}",
                message.but(groups=(group.but(partitions=(partition,)),)),
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
    (message,) = decode_request(x, names)
    assert isinstance(message, ConsumerGroupHeartbeat)
    yield f"{message.group_id} {message.member_id}", message, _heartbeat_answer(x.response, names)


def _share_heartbeat(x: Exchange, names: Names) -> Taken:
    (message,) = decode_request(x, names)
    assert isinstance(message, ShareGroupHeartbeat)
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


def list_by_key(x: Exchange, names: Names) -> Iterator[tuple[Any, Plain]]:
    """Yield (message, answer) for every share-partition of a request to a share coordinator."""
    group = x.request["groupId"]
    answers = {
        share_partition_key(group, t["topicId"], p["partition"]): p
        for t in x.response["results"]
        for p in t["partitions"]
    }
    (message,) = decode_request(x, names)
    assert isinstance(message, StatesRequest)
    for part in message.partitions:
        yield message.but(partitions=(part,)), answers[part.key]


def _change_state(x: Exchange, names: Names) -> Taken:
    for message, told in list_by_key(x, names):
        yield message.key, message, only(told["errorCode"])


def _read_state(x: Exchange, names: Names) -> Taken:
    for message, told in list_by_key(x, names):
        yield (
            message.key,
            message,
            with_more(
                told["errorCode"],
                ("state epoch", told["stateEpoch"]),
                ("start offset", told["startOffset"]),
                ("batches", _batches(state_batches_of(told["stateBatches"]))),
            ),
        )


def _state(reply: ReadShareGroupStateResponse) -> Said:
    state = reply.only
    if state.error is not Errors.NONE:
        # An answer with an error has no other content: the other fields are the schema's zeros.
        state = state.but(state_epoch=0, start_offset=0, batches=())
    return with_more(
        state.error,
        ("state epoch", state.state_epoch),
        ("start offset", state.start_offset),
        ("batches", _batches(state.batches)),
    )


def _read_summary(x: Exchange, names: Names) -> Taken:
    for message, told in list_by_key(x, names):
        said = with_more(
            told["errorCode"],
            ("state epoch", told["stateEpoch"]),
            ("leader epoch", told.get("leaderEpoch", 0)),
            ("start offset", told["startOffset"]),
            ("delivery complete", told.get("deliveryCompleteCount", -1)),
        )
        yield message.key, message, said


def _summary(reply: ReadShareGroupStateSummaryResponse) -> Said:
    summary = reply.only
    if summary.error is not Errors.NONE:
        summary = summary.but(
            state_epoch=0, leader_epoch=0, start_offset=0, delivery_complete_count=-1
        )
    return with_more(
        summary.error,
        ("state epoch", summary.state_epoch),
        ("leader epoch", summary.leader_epoch),
        ("start offset", summary.start_offset),
        ("delivery complete", summary.delivery_complete_count),
    )


def state_batches_of(batches: Plain) -> tuple[StateBatch, ...]:
    """Return recorded state batches as the model has them."""
    return decode_states(fields_in_log(STATE_BATCHES.fields, each) for each in batches)


def _batches(batches: tuple[StateBatch, ...]) -> tuple[tuple[int, int, str, int], ...]:
    return tuple((b.first, b.last, b.state.name, b.delivery_count) for b in batches)


def _error(reply: Message) -> Said:
    return only(error_of_response(reply))


def _reply(read: Callable[[Any], Said]) -> Callable[[Any, Any], Said]:
    return lambda _, reply: read(reply)


# For each API: the parts of an exchange, and which part of (the model's message, its reply) is compared.
ASKED: dict[str, Compared] = {
    "INIT_PRODUCER_ID": (_init_producer_id, _reply(_identity)),
    "ADD_PARTITIONS_TO_TXN": (
        _add_partitions,
        _added_partitions,
    ),
    "ADD_OFFSETS_TO_TXN": (_add_offsets, _reply(_error)),
    "END_TXN": (_end_txn, _reply(_identity)),
    "WRITE_TXN_MARKERS": (_write_markers, _reply(_results)),
    "TXN_OFFSET_COMMIT": (_commit_offsets, _each_offset),
    "OFFSET_COMMIT": (_commit_offsets, _each_offset),
    "OFFSET_FETCH": (_offset_fetch, _reply(_read_offset)),
    "CONSUMER_GROUP_HEARTBEAT": (_group_heartbeat, _reply(_membership)),
    "SHARE_GROUP_HEARTBEAT": (_share_heartbeat, _reply(_membership)),
    "INITIALIZE_SHARE_GROUP_STATE": (_change_state, _reply(_error)),
    "DELETE_SHARE_GROUP_STATE": (_change_state, _reply(_error)),
    "READ_SHARE_GROUP_STATE": (_read_state, _reply(_state)),
    "READ_SHARE_GROUP_STATE_SUMMARY": (_read_summary, _reply(_summary)),
    "WRITE_SHARE_GROUP_STATE": (_change_state, _reply(_error)),
    **OF_OPERATORS,
}


def questions(exchange: Exchange, names: Names) -> tuple[RequestPart, ...]:
    """Decode an exchange into questions; empty for an API that is not compared.

    Raises:
        KeyError, TypeError, ValueError: if the exchange lacks a field of its API and version.
    """
    if exchange.api not in ASKED:
        return ()
    take, _ = ASKED[exchange.api]
    return tuple(RequestPart(*found) for found in take(exchange, names))


def reply_said(api: str, message: Message, reply: Message) -> Said:
    """Return the part of the model's reply that is compared with the recorded answer."""
    return ASKED[api][1](message, reply)
