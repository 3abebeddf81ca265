"""An operator's requests: transactions, producers, groups, share groups' offsets, ACLs, and the abort marker.

Source: KafkaApis.handleListTransactionsRequest and those beside it (KIP-664, KIP-518, KIP-1226, KIP-140).
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.messages.apis.cluster import acls
from kipviz.messages.cluster.acls import AclFilter, DescribeAcls
from kipviz.messages.groups.group_admin import ConsumerGroupDescribe, DescribeGroups, ListGroups
from kipviz.messages.shares.share_admin import DescribeShareGroupOffsets
from kipviz.messages.transactions.admin import (
    DescribeProducers,
    DescribeProducersResponse,
    DescribeTransactions,
    DescribeTransactionsResponse,
    ListTransactions,
)
from kipviz.messages.transactions.transactions import TxnMarker, WriteTxnMarkers
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.frame import KINDS
from kipviz.messages.wire.kind import Around
from kipviz.records.batches import NO_TIMESTAMP
from kipviz.serving.translating.reply_context import Asked, Desk, Refused, Replies
from kipviz.serving.translating.translate_groups import as_written


def list_transactions(said: Struct, version: int, desk: Desk) -> Asked:
    """List the transactional ids that the broker coordinates."""
    duration = said.get("DurationFilter", -1)
    if duration >= 0:
        raise Refused("the served cluster's model has no time: ListTransactions takes no duration")
    message = ListTransactions(
        tuple(said["StateFilters"]),
        tuple(said["ProducerIdFilters"]),
        said.get("TransactionalIdPattern") or "",
    )
    return as_written(message, desk)


def describe_transactions(said: Struct, version: int, desk: Desk) -> Asked:
    """Describe transactional ids, one after the other."""
    messages = tuple(DescribeTransactions(name) for name in said["TransactionalIds"])

    def answer(replies: Replies) -> Struct:
        states: list[Struct] = []
        for told in replies:
            assert isinstance(told, DescribeTransactionsResponse)
            began = told.start_timestamp_ms
            if not told.error and began == NO_TIMESTAMP:
                began = desk.moments.began(told.transactional_id)
            timed = told.but(start_timestamp_ms=began)
            states += KINDS[type(told)].fill(timed, Around())["TransactionStates"]
        return {
            "TransactionStates": tuple({"TransactionStartTimeMs": -1} | each for each in states)
        }

    return Asked(messages, answer)


def describe_producers(said: Struct, version: int, desk: Desk) -> Asked:
    """Describe the producers in partitions' logs."""
    places = [(t["Name"], i) for t in said["Topics"] for i in t["PartitionIndexes"]]
    messages = tuple(DescribeProducers(f"{name}-{index}") for name, index in places)

    def answer(replies: Replies) -> Struct:
        rows: dict[str, list[Struct]] = {t["Name"]: [] for t in said["Topics"]}
        for (name, index), told in zip(places, replies, strict=True):
            assert isinstance(told, DescribeProducersResponse)
            rows[name].append(_producers(told, index, desk))
        return {"Topics": tuple({"Name": n, "Partitions": tuple(each)} for n, each in rows.items())}

    return Asked(messages, answer)


def _producers(told: DescribeProducersResponse, index: int, desk: Desk) -> Struct:
    def at(producer_id: int, known: int) -> int:
        return known if known != NO_TIMESTAMP else desk.moments.wrote(told.partition, producer_id)

    return {
        "PartitionIndex": index,
        "ErrorCode": told.error,
        "ActiveProducers": tuple(
            {
                "ProducerId": p.producer_id,
                "ProducerEpoch": p.producer_epoch,
                "LastSequence": p.last_sequence,
                "LastTimestamp": at(p.producer_id, p.last_timestamp_ms),
                "CoordinatorEpoch": p.coordinator_epoch,
                "CurrentTxnStartOffset": p.start_offset,
            }
            for p in told.producers
        ),
    }


def write_txn_markers(said: Struct, version: int, desk: Desk) -> Asked:
    """Write markers, with which an operator aborts a hanging transaction; brokers send them inside the model."""
    if not said["Markers"]:
        raise Refused("a WriteTxnMarkers has at least one marker here")
    markers = tuple(
        TxnMarker(
            each["ProducerId"],
            each["ProducerEpoch"],
            each["TransactionResult"],
            tuple(f"{t['Name']}-{i}" for t in each["Topics"] for i in t["PartitionIndexes"]),
            each["CoordinatorEpoch"],
            each.get("TransactionVersion", 0),
        )
        for each in said["Markers"]
    )
    return as_written(WriteTxnMarkers(markers), desk)


def list_groups(said: Struct, version: int, desk: Desk) -> Asked:
    """List the groups that the broker coordinates."""
    states, types = said.get("StatesFilter", ()), said.get("TypesFilter", ())
    return as_written(ListGroups(tuple(states), tuple(types)), desk)


def describe_groups(said: Struct, version: int, desk: Desk) -> Asked:
    """Describe groups of the classic protocol."""
    return as_written(DescribeGroups(_decode_groups(said["Groups"])), desk)


def consumer_group_describe(said: Struct, version: int, desk: Desk) -> Asked:
    """Describe groups of KIP-848."""
    return as_written(ConsumerGroupDescribe(_decode_groups(said["GroupIds"])), desk)


def _decode_groups(groups: tuple[str, ...]) -> tuple[str, ...]:
    if not groups:
        raise Refused("a request about groups names at least one group here")
    return groups


def describe_share_group_offsets(said: Struct, version: int, desk: Desk) -> Asked:
    """Return the start offsets of share groups; a group without topics means all of its topics."""
    messages = tuple(
        DescribeShareGroupOffsets(group["GroupId"], tuple(_partitions(group)))
        for group in said["Groups"]
    )
    around = Around(tuple(desk.image.topic_ids.items()))

    def answer(replies: Replies) -> Struct:
        found: list[Struct] = []
        for told in replies:
            found += KINDS[type(told)].fill(told, around)["Groups"]
        return {"Groups": tuple(found)}

    return Asked(messages, answer)


def _partitions(group: Struct) -> Iterator[str]:
    if group["Topics"] == ():
        raise Refused("DescribeShareGroupOffsets names topics, or null for all of them")
    for topic in group["Topics"] or ():
        yield from (f"{topic['TopicName']}-{index}" for index in topic["Partitions"])


_ALLOW = {acls.ANY: None, acls.ALLOW: True, acls.DENY: False}


def describe_acls(said: Struct, version: int, desk: Desk) -> Asked:
    """List the ACLs that match a filter."""
    try:
        wanted = AclFilter(
            _any_or(acls.RESOURCE_NAMES, said["ResourceTypeFilter"]),
            said["ResourceNameFilter"] or "",
            acls.PATTERN_NAMES[said.get("PatternTypeFilter", acls.PATTERNS["LITERAL"])],
            said["PrincipalFilter"] or "",
            _any_or(acls.OPERATION_NAMES, said["Operation"]),
            _ALLOW[said["PermissionType"]],
        )
    except KeyError as number:
        raise Refused(f"a filter of ACLs has the number {number}, which the model lacks") from None
    return as_written(DescribeAcls(wanted), desk)


def _any_or(names: dict[int, str], number: int) -> str:
    return "" if number == acls.ANY else names[number]
