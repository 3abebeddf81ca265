"""A request that is decoded from its bytes is the message that was encoded."""

from __future__ import annotations

import types
from enum import Enum
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kipviz.core.values import Value
from kipviz.messages.apis.api import Api
from kipviz.messages.apis.catalogue import APIS
from kipviz.messages.cluster import acls
from kipviz.messages.groups.groups import TxnOffsetCommit
from kipviz.messages.logs.list_offsets import ListOffsets, ListOffsetsPartition
from kipviz.messages.logs.producing import PartitionProduceData, Produce
from kipviz.messages.message import Message
from kipviz.messages.shares.share_groups import AcknowledgeType, ShareFetch
from kipviz.messages.transactions.group_transactions import InitProducerIdOfGroup
from kipviz.messages.transactions.transactions import InitProducerId
from kipviz.messages.wire.frame import bytes_of
from kipviz.messages.wire.kind import Around
from tests.messages.in_flight import decoded, sent

TOPICS = {"a": "AAAAAAAAAAAAAAAAAAAAAg", "b": "AAAAAAAAAAAAAAAAAAAAAw"}
AROUND = Around(tuple(TOPICS.items()))


def as_encoded(message: Message, around: Around) -> Message:
    """The message as its bytes have it: what Kafka has in no field of the request is left out."""
    match message:
        case Produce():
            # Records are encoded without their headers.
            return message.but(partition_data=tuple(map(_without_headers, message.partition_data)))
        case InitProducerIdOfGroup():
            # The draft has no fields for what Kafka's request has in later versions.
            later = {"enable_2pc": False, "keep_prepared_txn": False, "heartbeat_interval_ms": 0}
            return message.but(producer_id=-1, producer_epoch=-1, **later)
        case TxnOffsetCommit() if message.version >= 6:
            # Without ids the encoder takes the current ones.
            topics = dict.fromkeys(each.partition.rpartition("-")[0] for each in message.offsets)
            known = dict(message.topic_ids)
            return message.but(
                topic_ids=tuple((t, known.get(t) or around.topic_id(t)) for t in topics)
            )
        case _:
            return message


def _without_headers(data: PartitionProduceData) -> PartitionProduceData:
    return data.but(records=tuple(record.but(headers=()) for record in data.records))


def test_every_request_in_flight_is_decoded_to_what_was_encoded() -> None:
    requests = [each for each in sent() if not each[0].IS_RESPONSE]
    assert len({type(message) for message, _, _ in requests}) > 35
    for message, written, around in requests:
        assert decoded(message, written.data, around) == (as_encoded(message, around),)


# -- generated requests ---------------------------------------------------------------------------

PARTITIONS = tuple(f"{topic}-{index}" for topic in TOPICS for index in range(3))
NAMES = st.sampled_from(("x", "y", "a-longer-name"))
SMALL = st.integers(0, 100)


def _name_of(part: Any) -> str:
    if isinstance(part, str):
        return part
    return part.key if hasattr(part, "key") else part.partition


def _without_repeats(items: list[Any]) -> tuple[Any, ...]:
    """Each partition once, and in the order in which bytes have them: by topic."""
    found = {_name_of(each): each for each in items}
    return tuple(found[name] for name in sorted(found))


# Fields whose values are not just any of their type.
OF_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "partition": st.sampled_from(PARTITIONS),
    "key": st.builds("g1:{}:{}".format, st.sampled_from(tuple(TOPICS.values())), SMALL),
    "topic": st.sampled_from(tuple(TOPICS)),
    "topics": st.lists(st.sampled_from(tuple(TOPICS)), unique=True).map(tuple),
    "subscribed_topic_names": st.lists(st.sampled_from(tuple(TOPICS)), unique=True).map(tuple),
    "topic_ids": st.just(()),
    "topic_id": st.sampled_from(("", *TOPICS.values())),
    "assignment": st.none(),
    "starts": st.dictionaries(st.sampled_from(PARTITIONS), SMALL).map(
        lambda found: tuple(sorted(found.items()))
    ),
    "headers": st.just(()),
    "acquire_mode": st.integers(0, 1),
    "resource": st.sampled_from(("TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID")),
    "operation": st.sampled_from(("READ", "WRITE", "DESCRIBE")),
    "pattern": st.sampled_from((acls.LITERAL, acls.PREFIXED)),
    "version": st.nothing(),  # the newest one
}
OF_PARTITIONS = ("partitions", "assigned", "owned", "forgotten", "offsets", "partition_data")


def of_type(name: str, kind: Any) -> st.SearchStrategy[Any]:
    """Values of a field."""
    parts = get_origin(kind) is tuple and isinstance(get_args(kind)[0], type)
    if name in OF_FIELDS and not (parts and issubclass(get_args(kind)[0], Value)):
        return OF_FIELDS[name]
    if kind == tuple[bytes, ...]:
        return st.just(())  # bytes that say more than the subscription beside them
    if name in OF_PARTITIONS and get_origin(kind) is tuple:
        item = get_args(kind)[0]
        one = st.sampled_from(PARTITIONS) if item is str else of_type(name, item)
        return st.lists(one, min_size=1, max_size=3).map(_without_repeats)
    if isinstance(kind, types.UnionType):
        return st.one_of(*(of_type(name, each) for each in get_args(kind)))
    if get_origin(kind) is tuple and get_args(kind)[-1] is Ellipsis:
        return st.lists(of_type("", get_args(kind)[0]), min_size=1, max_size=3).map(tuple)
    if get_origin(kind) is tuple:
        return st.tuples(*(of_type("", each) for each in get_args(kind)))
    if kind is type(None):
        return st.none()
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from([each for each in kind if each is not AcknowledgeType.UNKNOWN])
    if isinstance(kind, type) and issubclass(kind, Value):
        return values_of(kind)
    return {str: NAMES, int: SMALL, bool: st.booleans()}[kind]


@cache
def values_of(kind: type[Value]) -> st.SearchStrategy[Any]:
    """Messages, or parts of messages, of a class."""
    hints = get_type_hints(kind)
    fields = {name: of_type(name, hints[name]) for name in kind.__struct_fields__}
    return st.builds(kind, **{n: each for n, each in fields.items() if not each.is_empty})


def _valid_place(asked: ListOffsetsPartition) -> ListOffsetsPartition:
    return asked if asked.timestamp >= 50 else asked.but(timestamp=-1 - asked.timestamp % 6)


def made_valid(message: Message) -> Message:
    """The message as a client of Kafka would send it."""
    match message:
        case ListOffsets():
            return message.but(partitions=tuple(map(_valid_place, message.partitions)))
        case InitProducerId() if not isinstance(message, InitProducerIdOfGroup):
            return message.but(version=max(message.version, message.oldest))
        case ShareFetch(max_records=0):
            return message.but(max_wait_ms=500)  # it is sent with 0, whatever it says
        case _:
            return message


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_a_generated_request_is_decoded_to_what_was_encoded(api: Api) -> None:
    @settings(max_examples=30, deadline=None, database=None, derandomize=True)
    @given(values_of(api.request).map(made_valid))
    def check(message: Message) -> None:
        data = bytes_of(message, AROUND).data
        assert decoded(message, data, AROUND) == (as_encoded(message, AROUND),)

    check()
