"""Messages as bytes: what the model fills in, what is a default, and what is refused."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from kipviz.messages.apis.groups.consumer_protocol import ASSIGNMENT
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import (
    Assigned,
    JoinGroup,
    LeaveGroup,
    LeaveGroupResponse,
    Leaver,
    Left,
    SyncGroup,
    SyncGroupResponse,
)
from kipviz.messages.groups.group_admin import (
    ConsumerGroupDescribeResponse,
    DescribedConsumerGroup,
    GroupMemberDescription,
)
from kipviz.messages.groups.groups import (
    GroupOffset,
    TxnOffsetCommit,
    committed_response,
    fetch_offsets,
)
from kipviz.messages.logs.producing import (
    Fetch,
    FetchedRecord,
    FetchPartition,
    FetchResponse,
    PartitionData,
    PartitionProduceData,
    PartitionProduceResponse,
    Produce,
    ProduceResponse,
)
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_in
from kipviz.messages.shares.share_admin import (
    DeleteShareGroupOffsets,
    DeleteShareGroupOffsetsResponse,
    TopicResult,
)
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    FetchedPartition,
    PartitionAcknowledgements,
    ShareFetch,
    ShareFetchResponse,
)
from kipviz.messages.shares.share_state import (
    PendingBatch,
    ReadShareGroupStateResponse,
    ReadStateResult,
)
from kipviz.messages.transactions.transactions import (
    LAST_OF_A_CLIENT,
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    PartitionResult,
    TxnMarker,
    TxnMarkerResult,
    TxnPartitions,
    TxnPartitionsResult,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
    refused_partitions,
    response_with_error,
)
from kipviz.messages.wire.batches import encode_batch
from kipviz.messages.wire.codec import WireError, decode, encode
from kipviz.messages.wire.frame import KINDS, bytes_of, places, read_message
from kipviz.messages.wire.kind import Around
from kipviz.messages.wire.schema import Field, Schema, covers
from kipviz.records.batches import DataRecord
from kipviz.records.classic_groups import Subscription
from kipviz.records.share_group_state import RecordState, StagedBatch, StateBatch
from tests.messages.in_flight import sent
from tests.messages.offset_fetches import response_of
from tests.messages.shares import (
    acknowledge_response,
    acknowledges,
    fetch_response,
    fetches,
    stages,
    staging_response,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python on Python 3.11
    from kafka.record import MemoryRecords

TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAg"
AROUND = Around((("src", TOPIC_ID), ("out", "AAAAAAAAAAAAAAAAAAAAAw")), None, "app-1/producer")
END = EndTxn("my-txn", 9, 1, committed=True)


def body(message: Message, around: Around = AROUND) -> dict[str, Any]:
    _, read, _ = read_message(
        KINDS[type(message)].schema, around.version_of(message), bytes_of(message, around).data
    )
    return read


def classes() -> list[type[Message]]:
    """Every message class there is; a base that others are made from has no bytes of its own."""
    found, todo = [], [Message]
    while todo:
        for cls in todo.pop().__subclasses__():
            found.append(cls)
            todo.append(cls)
    return [cls for cls in found if cls.__module__.startswith("kipviz.messages")]


def test_every_message_has_a_schema_with_its_key_and_its_version() -> None:
    assert set(classes()) == set(KINDS)
    for cls, kind in KINDS.items():
        way = "" if cls.IS_RESPONSE else "Request"
        # What KIP-447's first draft made of version 2 is a class of its own.
        assert kind.schema.name == f"{cls.__name__.removesuffix('OfGroup')}{way}"
        assert kind.schema.key == cls.API_KEY
        assert kind.schema.status == cls.STATUS
        assert covers(kind.schema.versions, cls.VERSION)


def test_all_bytes_of_a_message_belong_to_a_place_and_come_back_as_they_were() -> None:
    assert len({type(message) for message, _, _ in sent()}) > 15
    for message, written, _ in sent():
        schema = KINDS[type(message)].schema
        assert b"".join(written.data[s.start : s.start + s.size] for s in written.spans) == (
            written.data
        )
        known = places(type(message), message.spoken)
        assert {(s.path, s.type) for s in written.spans} <= set(known)
        _, found, read = read_message(schema, message.spoken, written.data)
        assert read.data == written.data
        assert encode(schema, message.spoken, found).data in written.data


def test_what_a_default_stands_for_is_a_place_that_the_message_has() -> None:
    for cls, kind in KINDS.items():
        assert set(kind.defaults) <= {path for path, _ in places(cls)}


def test_a_whole_request_by_hand() -> None:
    assert bytes_of(END, AROUND).data.hex(" ") == (
        "00 00 00 2c "  # size
        "00 1a 00 05 00 00 00 00 00 0e 61 70 70 2d 31 2f 70 72 6f 64 75 63 65 72 00 "  # header 2
        "07 6d 79 2d 74 78 6e 00 00 00 00 00 00 00 09 00 01 01 00"
    )


def test_a_draft_by_hand() -> None:
    message = stages(
        "t", "g", 9, 1, "m", 3, "src-0", (AcknowledgementBatch(100, 101, AcknowledgeType.REJECT),)
    )
    written = bytes_of(message, AROUND)
    (start,) = (s.start for s in written.spans if s.path == "TxnShareAcknowledgeRequest")
    assert written.data[start:].hex(" ") == (
        "02 74 02 67 00 00 00 00 00 00 00 09 00 01 02 6d 00 00 00 03 "
        "02 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 02 "  # one topic, its id
        "02 00 00 00 00 02 00 00 00 00 00 00 00 64 00 00 00 00 00 00 00 65 02 03 00 00 00 00"
    )


def test_what_the_model_does_not_carry_is_marked() -> None:
    message = Fetch((FetchPartition("src-0", 100),), read_committed=True)
    told = {s.path: s.told for s in bytes_of(message, AROUND).spans}
    assert told["FetchRequest.IsolationLevel"]
    assert told["FetchRequest.Topics[].Partitions[].FetchOffset"]
    assert told["FetchRequest.MaxWaitMs"]
    for name in ("MinBytes", "MaxBytes", "SessionId", "RackId"):
        assert not told[f"FetchRequest.{name}"]
    assert not told["RequestHeader.CorrelationId"]
    found = body(message)
    assert (found["MaxWaitMs"], found["MinBytes"], found["MaxBytes"]) == (500, 1, 52_428_800)


def test_partitions_are_put_together_by_topic() -> None:
    message = AddPartitionsToTxn((TxnPartitions("t", 9, 0, ("a-1", "b-0", "a-0")),))
    (transaction,) = body(message)["Transactions"]
    assert transaction["Topics"] == (
        {"Name": "a", "Partitions": (1, 0)},
        {"Name": "b", "Partitions": (0,)},
    )


def test_an_answer_takes_from_its_request_what_it_does_not_say_itself() -> None:
    offsets = (GroupOffset("src-0", 5), GroupOffset("src-1", 6))
    request = TxnOffsetCommit("t", "g", 9, 0, "m", 3, offsets)
    answer = committed_response(request, Errors.STALE_MEMBER_EPOCH)
    (topic,) = body(answer, AROUND.but(request=request))["Topics"]
    assert topic["TopicId"] == TOPIC_ID
    assert [p["PartitionIndex"] for p in topic["Partitions"]] == [0, 1]
    assert {p["ErrorCode"] for p in topic["Partitions"]} == {Errors.STALE_MEMBER_EPOCH}
    assert body(answer)["Topics"] == ()

    fetch = fetch_offsets("g", ("src-0",))
    (group,) = body(response_of(Errors.NONE, "src-0", 7), AROUND.but(request=fetch))["Groups"]
    assert group["GroupId"] == "g"
    assert group["Topics"][0]["Partitions"][0]["CommittedOffset"] == 7


def test_an_error_stands_where_kafka_puts_it() -> None:
    (group,) = body(response_of(Errors.NOT_COORDINATOR, "src-0"))["Groups"]
    assert (group["ErrorCode"], group["Topics"]) == (Errors.NOT_COORDINATOR, ())
    (group,) = body(response_of(Errors.UNSTABLE_OFFSET_COMMIT, "src-0"))["Groups"]
    assert group["ErrorCode"] == 0
    assert group["Topics"][0]["Partitions"][0]["ErrorCode"] == Errors.UNSTABLE_OFFSET_COMMIT
    for answer, whole in (
        (fetch_response(Errors.SHARE_SESSION_NOT_FOUND, "src-0"), True),
        (fetch_response(Errors.NOT_LEADER_OR_FOLLOWER, "src-0"), False),
        (acknowledge_response(Errors.INVALID_SHARE_SESSION_EPOCH, "src-0"), True),
        (acknowledge_response(Errors.INVALID_RECORD_STATE, "src-0"), False),
        (staging_response(Errors.PRODUCER_FENCED, "src-0"), True),
        (staging_response(Errors.INVALID_RECORD_STATE, "src-0"), False),
    ):
        found = body(answer)
        error = error_in(answer)
        assert found["ErrorCode"] == (error if whole else 0)
        if whole:
            assert found["Responses"] == ()
        else:
            assert found["Responses"][0]["Partitions"][0]["ErrorCode"] == error


def test_offsets_are_asked_for_by_one_group_before_version_8_and_by_several_after() -> None:
    for version in (6, 7, 8, 9, 10):
        fetch = fetch_offsets("g", ("src-0",), require_stable=True, version=version)
        asked = body(fetch)
        (topic,) = (asked if version < 8 else asked["Groups"][0])["Topics"]
        assert topic.get("Name" if version < 10 else "TopicId") == ("src", TOPIC_ID)[version >= 10]
        assert asked.get("RequireStable", False) == (version >= 7)
        around = AROUND.but(request=fetch)
        found = body(response_of(Errors.NONE, "src-0", 7), around)
        (told,) = (found if version < 8 else found["Groups"][0])["Topics"]
        assert told["Partitions"][0]["CommittedOffset"] == 7
        whole = body(response_of(Errors.NOT_COORDINATOR, "src-0"), around)
        assert (whole if version < 8 else whole["Groups"][0])["ErrorCode"] == Errors.NOT_COORDINATOR


def test_a_share_fetch_of_no_record_waits_for_none() -> None:
    asked = body(fetches("m", 1, "src-0", 0, group_id="g"))
    assert (asked["MaxWaitMs"], asked["MinBytes"], asked["MaxBytes"]) == (0, 0, 0)


def test_a_topic_that_may_not_be_read_stands_in_an_answer_that_else_serves() -> None:
    answer = fetch_response(Errors.NONE, "src-0", refused=("out-0",))
    served, refused = body(answer)["Responses"]
    assert served["Partitions"][0]["ErrorCode"] == Errors.NONE
    assert refused["Partitions"][0]["ErrorCode"] == Errors.TOPIC_AUTHORIZATION_FAILED


def test_a_renewal_is_announced() -> None:
    for kind in (AcknowledgeType.RENEW, AcknowledgeType.ACCEPT):
        message = acknowledges("g", "m", 1, "src-0", (AcknowledgementBatch(1, 1, kind),))
        assert body(message)["IsRenewAck"] == (kind is AcknowledgeType.RENEW)


def test_a_fetch_of_a_session_names_what_changes_and_what_is_acknowledged() -> None:
    renewed = (AcknowledgementBatch(7, 8, AcknowledgeType.RENEW),)
    parts = (PartitionAcknowledgements("src-2"), PartitionAcknowledgements("src-0", renewed))
    asked = body(ShareFetch("g", "m", 3, parts, 0, forgotten=("src-1",)))
    (topic,) = asked["Topics"]
    assert [p["PartitionIndex"] for p in topic["Partitions"]] == [2, 0]
    assert [len(p["AcknowledgementBatches"]) for p in topic["Partitions"]] == [0, 1]
    assert asked["ForgottenTopicsData"][0]["Partitions"] == (1,)
    assert asked["IsRenewAck"]


def test_each_partition_of_a_share_answer_has_its_own_errors() -> None:
    refused = Errors.NOT_LEADER_OR_FOLLOWER
    gone = Errors.UNKNOWN_TOPIC_OR_PARTITION
    each = (FetchedPartition("src-0", refused, gone), FetchedPartition("src-1"))
    (topic,) = body(ShareFetchResponse(Errors.NONE, each))["Responses"]
    errors = [(p["ErrorCode"], p["AcknowledgeErrorCode"]) for p in topic["Partitions"]]
    assert errors == [(refused, gone), (Errors.NONE, Errors.NONE)]
    whole = body(ShareFetchResponse(Errors.INVALID_REQUEST))
    assert (whole["ErrorCode"], whole["Responses"]) == (Errors.INVALID_REQUEST, ())
    accepted = (AcknowledgementBatch(1, 1, AcknowledgeType.ACCEPT),)
    others = (PartitionAcknowledgements("src-1", accepted),)
    asked = body(acknowledges("g", "m", 1, "src-0", accepted, *others))
    assert len(asked["Topics"][0]["Partitions"]) == 2
    answer = acknowledge_response(refused, "src-0", ("src-1", Errors.NONE))
    (topic,) = body(answer)["Responses"]
    assert [p["ErrorCode"] for p in topic["Partitions"]] == [refused, Errors.NONE]


def test_a_topic_without_an_id_gets_the_id_of_zeros() -> None:
    (topic,) = body(Fetch((FetchPartition("elsewhere-3", 0),), read_committed=False))["Topics"]
    assert topic["TopicId"] == "A" * 22
    assert topic["Partitions"][0]["Partition"] == 3


def test_open_transactional_acknowledgements_stand_behind_a_tag_that_kafkas_reader_skips() -> None:
    state = StateBatch(100, 100, RecordState.AVAILABLE, 1)
    acknowledgement = PendingBatch(9, 1, StagedBatch(101, 101, AcknowledgeType.ACCEPT, 1))
    key = f"g:with:colons:{TOPIC_ID}:4"
    message = ReadShareGroupStateResponse(
        (ReadStateResult(Errors.NONE, key, 2, 100, (state,), (acknowledgement,)),)
    )
    (partition,) = body(message)["Results"][0]["Partitions"]
    assert partition["Partition"] == 4
    assert partition["PendingAcknowledgements"][0]["ProducerId"] == 9
    assert partition["PendingAcknowledgements"][0]["StagedBatches"][0]["FirstOffset"] == 101

    without_acknowledgements = message.but(results=(message.only.but(pending=()),))
    schema = KINDS[ReadShareGroupStateResponse].schema
    written = encode(schema, 0, body(message)).data
    found, _ = decode(without_drafts(schema), 0, written)
    (partition,) = found["Results"][0]["Partitions"]
    assert partition["StateBatches"][0]["DeliveryState"] == 0
    assert set(partition) - {f.name for f in schema.fields[0].fields[1].fields} == {"#0"}
    assert encode(without_drafts(schema), 0, found).data == written
    assert "#0" not in body(without_acknowledgements)["Results"][0]["Partitions"][0]


def without_drafts(schema: Schema) -> Schema:
    """The schema without what Kafka's does not have."""

    def keep_shipped(fields: tuple[Field, ...]) -> tuple[Field, ...]:
        return tuple(f.but(fields=keep_shipped(f.fields)) for f in fields if f.status == "shipped")

    return schema.but(fields=keep_shipped(schema.fields))


# -- batches ---------------------------------------------------------------------------------------


def test_a_batch_is_one_that_another_reader_takes() -> None:
    records = (DataRecord("a", "src-0@100"), DataRecord("ü"))
    produce = Produce("t", (PartitionProduceData("out-0", 9, 1, 7, records),))
    raw = body(produce)["TopicData"][0]["PartitionData"][0]["Records"]
    (batch,) = list_of(raw)
    assert batch.validate_crc()
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (9, 1, 7)
    assert batch.is_transactional
    found = list(batch)
    assert [r.value.decode() for r in found] == ["a", "ü"]
    assert [r.offset for r in found] == [0, 1]
    assert found[0].headers == [("origin", b"src-0@100")]


@pytest.mark.parametrize("version", [11, 13])
def test_one_produce_request_has_batches_of_several_partitions_of_several_topics(version) -> None:
    places = ("out-0", "other-1", "out-1")
    data = (PartitionProduceData(p, 9, n, n, (DataRecord(p),)) for n, p in enumerate(places))
    produce = Produce("t", tuple(data), version)
    topics = body(produce)["TopicData"]
    assert [[p["Index"] for p in topic["PartitionData"]] for topic in topics] == [[0, 1], [1]]
    batches = [list_of(p["Records"])[0] for topic in topics for p in topic["PartitionData"]]
    assert [(b.producer_epoch, b.base_sequence) for b in batches] == [(0, 0), (2, 2), (1, 1)]
    errors = (Errors.NONE, Errors.NOT_ENOUGH_REPLICAS, Errors.NONE)
    results = (PartitionProduceResponse(p, e, 5) for e, p in zip(errors, places, strict=True))
    around = AROUND.but(request=produce)
    answers = body(ProduceResponse(tuple(results)), around)["Responses"]
    assert [[p["ErrorCode"] for p in each["PartitionResponses"]] for each in answers] == [
        [0, 0],
        [Errors.NOT_ENOUGH_REPLICAS],
    ]
    if version == 11:
        assert [topic["Name"] for topic in (*topics, *answers)] == ["out", "other"] * 2


def test_one_request_has_the_markers_of_several_transactions() -> None:
    one = TxnMarker(9, 1, True, ("out-0", "out-1"), 2)
    other = TxnMarker(10, 3, False, ("other-0",), 2)
    found = body(WriteTxnMarkers((one, other)))["Markers"]
    assert [(m["ProducerId"], m["ProducerEpoch"], m["TransactionResult"]) for m in found] == [
        (9, 1, True),
        (10, 3, False),
    ]
    assert [m["Topics"][0]["PartitionIndexes"] for m in found] == [(0, 1), (0,)]
    results = (PartitionResult("out-0", Errors.NONE),)
    told = WriteTxnMarkersResponse((TxnMarkerResult(9, results), TxnMarkerResult(10, results)))
    assert [m["ProducerId"] for m in body(told)["Markers"]] == [9, 10]


def test_one_request_asks_about_several_transactions() -> None:
    one = TxnPartitions("t", 9, 1, ("out-0", "out-1"))
    other = TxnPartitions("u", 10, 3, ("other-0",), verify_only=True)
    asked = AddPartitionsToTxn((one, other))
    found = body(asked)["Transactions"]
    assert [(t["TransactionalId"], t["ProducerId"], t["VerifyOnly"]) for t in found] == [
        ("t", 9, False),
        ("u", 10, True),
    ]
    assert [t["Topics"][0]["Partitions"] for t in found] == [(0, 1), (0,)]
    told = AddPartitionsToTxnResponse(
        (
            refused_partitions(one, Errors.INVALID_PRODUCER_EPOCH),
            refused_partitions(other, Errors.NONE),
        )
    )
    results = body(told, AROUND.but(request=asked))["ResultsByTransaction"]
    errors = [
        [p["PartitionErrorCode"] for p in each["TopicResults"][0]["ResultsByPartition"]]
        for each in results
    ]
    assert errors == [[Errors.INVALID_PRODUCER_EPOCH] * 2, [Errors.NONE]]


def test_fetched_records_keep_their_offsets_and_do_not_say_who_wrote_them() -> None:
    records = (FetchedRecord("src-0", 100, "a"), FetchedRecord("src-0", 103, "b"))
    message = FetchResponse((PartitionData("src-0", Errors.NONE, records, 104),))
    raw = body(message)["Responses"][0]["Partitions"][0]["Records"]
    (batch,) = list_of(raw)
    assert [(r.offset, r.value) for r in batch] == [(100, b"a"), (103, b"b")]
    told = {s.path.rpartition(".")[2]: s.told for s in bytes_of(message, AROUND).spans}
    assert not told["producerId"]
    assert told["baseOffset"]
    empty = FetchResponse((PartitionData("src-0", Errors.NONE, (), 100),))
    assert body(empty)["Responses"][0]["Partitions"][0]["Records"] == b""


def list_of(raw: bytes) -> list[Any]:
    found, records = [], MemoryRecords(raw)
    while records.has_next():
        found.append(records.next_batch())
    return found


def test_the_sizes_inside_a_batch_add_up() -> None:
    written = encode_batch(((5, DataRecord("a" * 300, "b")),))
    size = {s.path: s.size for s in written.spans}
    length = written.data[8:12]
    assert int.from_bytes(length, "big") == len(written.data) - 12
    assert sum(s.size for s in written.spans) == len(written.data)
    assert size["RecordBatch.Record[].value"] == 302


# -- what is refused -------------------------------------------------------------------------------


def test_a_message_that_is_cut_off_anywhere_names_field_and_byte() -> None:
    for message, written, _ in sent():
        schema = KINDS[type(message)].schema
        for end in range(4, len(written.data)):
            cut = (end - 4).to_bytes(4, "big") + written.data[4:end]
            with pytest.raises(WireError) as wrong:
                read_message(schema, message.spoken, cut)
            assert wrong.value.field.startswith((schema.name, "RequestHeader", "ResponseHeader"))
            assert 4 <= wrong.value.at <= end


END_SCHEMA = KINDS[EndTxn].schema
GOOD = bytes_of(END, AROUND).data


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"\0\0", "Size, byte 0: a message begins with 4 bytes of size, there are 2"),
        (GOOD + b"\0", "Size, byte 0: it says 44 bytes, and 45 follow"),
        (
            b"\0\0\0\x2d" + GOOD[4:] + b"\0",
            "EndTxnRequest, byte 48: 1 bytes follow the last field",
        ),
        (
            GOOD[:4] + b"\0\x16" + GOOD[6:],
            "RequestHeader.RequestApiKey, byte 4: 22 is not 26",
        ),
        (
            GOOD[:6] + b"\0\x04" + GOOD[8:],
            "RequestHeader.RequestApiVersion, byte 6: 4 is not 5",
        ),
        (
            GOOD[:29] + b"\0" + GOOD[30:],
            "EndTxnRequest.TransactionalId, byte 29: null is not allowed",
        ),
        (
            GOOD[:29] + b"\x7f" + GOOD[30:],
            "EndTxnRequest.TransactionalId, byte 30: the string needs 126 bytes, 18 are left",
        ),
        (
            GOOD[:30] + b"\xff" + GOOD[31:],
            "EndTxnRequest.TransactionalId, byte 30: the string is not UTF-8 text",
        ),
    ],
)
def test_bytes_that_are_not_the_message_name_the_field_and_the_byte(
    data: bytes, sentence: str
) -> None:
    with pytest.raises(WireError) as wrong:
        read_message(END_SCHEMA, 5, data)
    assert str(wrong.value) == sentence


def test_an_array_cannot_have_more_items_than_there_are_bytes() -> None:
    schema = KINDS[AddPartitionsToTxn].schema
    with pytest.raises(WireError, match=r"Transactions, byte 0: the array cannot have 99 items"):
        decode(schema, 5, bytes([100, 0]))
    with pytest.raises(WireError, match=r"Transactions, byte 0: null is not allowed"):
        decode(schema, 5, bytes([0, 0]))


def test_tags_come_in_order_and_are_as_long_as_they_say() -> None:
    schema = Schema("S", -1, "0", "0+", (Field("A", "int16", tagged="0+", tag=1),))
    assert decode(schema, 0, bytes([1, 1, 2, 0, 5]))[0] == {"A": 5}
    assert decode(schema, 0, bytes([2, 0, 1, 7, 1, 2, 0, 5]))[0] == {"#0": b"\x07", "A": 5}
    with pytest.raises(WireError, match=r"S.A, byte 5: tag 1 says that it ends at byte 6"):
        decode(schema, 0, bytes([1, 1, 3, 0, 5, 0]))
    with pytest.raises(WireError, match=r"S.tagged fields, byte 5: tag 1 follows tag 1"):
        decode(schema, 0, bytes([2, 1, 2, 0, 5, 1, 2, 0, 5]))


@pytest.mark.parametrize("given", ["", "AAAA", "!" * 22, "A" * 24])
def test_an_id_of_other_than_16_bytes_is_refused(given: str) -> None:
    schema = Schema("S", -1, "0", "0+", (Field("Id", "uuid"),))
    with pytest.raises(WireError, match=r"S\.Id: .* is not of type uuid"):
        encode(schema, 0, {"Id": given})


def test_a_version_that_there_is_not_is_refused() -> None:
    with pytest.raises(WireError, match=r"EndTxnRequest, byte 0: version 6 is outside 0-5"):
        decode(END_SCHEMA, 6, b"")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"Nonsense": 1}, "EndTxnRequest.Nonsense: version 5 has no such field"),
        ({"ProducerEpoch": 40_000}, "EndTxnRequest.ProducerEpoch: 40000 is not of type int16"),
        ({"ProducerId": "nine"}, "EndTxnRequest.ProducerId: 'nine' is not of type int64"),
        ({"TransactionalId": None}, "EndTxnRequest.TransactionalId: may not be null"),
    ],
)
def test_values_that_do_not_fit_name_the_field(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(WireError) as wrong:
        encode(END_SCHEMA, 5, values)
    assert str(wrong.value) == sentence


def test_half_a_surrogate_pair_is_a_question_mark_as_in_java() -> None:
    assert encode(END_SCHEMA, 5, {"TransactionalId": "a\ud800"}).data.startswith(b"\x03a?")
    assert b"\x06a?b" in encode_batch(((0, DataRecord("a\ud800b")),)).data


def test_the_model_speaks_versions_whose_fields_it_knows() -> None:
    """An older version of the same message simply has fewer fields."""
    values = {"TransactionalId": "t", "TransactionTimeoutMs": 5}
    schema = KINDS[InitProducerId].schema
    assert encode(schema, 0, values).data == b"\0\x01t\0\0\0\x05"
    assert encode(schema, 2, values).data == b"\x02t\0\0\0\x05\0"


@pytest.mark.parametrize(
    "later", [{"enable_2pc": True}, {"keep_prepared_txn": True}, {"heartbeat_interval_ms": 5}]
)
def test_a_value_is_not_left_out_because_the_version_has_no_field_for_it(
    later: dict[str, bool | int],
) -> None:
    """As Kafka's generated write(): an UnsupportedVersionException for a non-default value."""
    message = InitProducerId("t", 5, **later)
    with pytest.raises(WireError, match="version 5 has no such field"):
        bytes_of(message, AROUND)
    assert message.oldest == 6
    assert len(bytes_of(message.but(version=6), AROUND).data) > len(
        bytes_of(InitProducerId("t", 5), AROUND).data
    )


def test_a_response_has_the_fields_of_its_requests_version() -> None:
    answer = InitProducerIdResponse(Errors.NONE, 9, 0)
    kept = answer.but(ongoing_txn_producer_id=9, ongoing_txn_producer_epoch=3)
    sizes = {
        version: len(bytes_of(answer, Around(request=InitProducerId("t", version=version))).data)
        for version in (5, 6)
    }
    assert sizes[6] - sizes[5] == 10
    assert len(bytes_of(answer, Around()).data) == sizes[5]
    assert len(bytes_of(kept, Around()).data) == sizes[6]
    with pytest.raises(WireError, match="version 5 has no such field"):
        bytes_of(kept, Around(request=InitProducerId("t")))


JOIN = JoinGroup("g", "C1.1", Subscription(("src",), (), 1))


def test_what_members_tell_each_other_has_its_places_inside_the_bytes() -> None:
    written = bytes_of(JOIN, AROUND)
    found = {s.path: written.data[s.start : s.start + s.size] for s in written.spans}
    inside = "JoinGroupRequest.Protocols[].Metadata"
    assert found[inside] == bytes([26])  # 25 bytes follow
    told = f"{inside}.ConsumerProtocolSubscription"
    assert found[f"{told}.version"] == b"\0\3"
    assert found[f"{told}.Topics[]"] == b"\0\3src"
    assert found[f"{told}.GenerationId"] == b"\0\0\0\1"


def test_an_assignment_goes_there_and_back_between_two_versions_of_a_string() -> None:
    sync = SyncGroup("g", 2, "C1.1", (Assigned("C1.1", ("src-0", "src-1")),))
    _, body, _ = read_message(KINDS[SyncGroup].schema, 5, bytes_of(sync, AROUND).data)
    (given,) = body["Assignments"]
    known, _ = decode(ASSIGNMENT, 3, given["Assignment"], 2)
    assert known["AssignedPartitions"] == ({"Topic": "src", "Partitions": (0, 1)},)
    nothing = bytes_of(SyncGroupResponse(Errors.ILLEGAL_GENERATION), AROUND)
    assert read_message(KINDS[SyncGroupResponse].schema, 5, nothing.data)[1]["Assignment"] == b""


@pytest.mark.parametrize("name", ["", "static"])
def test_who_leaves_a_classic_group_is_named_in_the_question_and_in_the_answer(name: str) -> None:
    found = body(LeaveGroup("g", (Leaver("C1.1", name),)))
    assert found["GroupId"] == "g"
    (member,) = found["Members"]
    assert (member["MemberId"], member["GroupInstanceId"]) == ("C1.1", name or None)
    left = (Left("C1.1", name, Errors.UNKNOWN_MEMBER_ID),)
    found = body(LeaveGroupResponse(Errors.NONE, left))
    (member,) = found["Members"]
    assert (member["MemberId"], member["GroupInstanceId"]) == ("C1.1", name or None)
    assert (found["ErrorCode"], member["ErrorCode"]) == (Errors.NONE, Errors.UNKNOWN_MEMBER_ID)
    whole = body(LeaveGroupResponse(Errors.NOT_COORDINATOR))
    assert (whole["ErrorCode"], whole["Members"]) == (Errors.NOT_COORDINATOR, ())


def test_a_share_group_that_forgets_a_topic_is_told_its_name_and_answers_with_its_id() -> None:
    asked = body(DeleteShareGroupOffsets("g", ("src",)))
    assert (asked["GroupId"], asked["Topics"]) == ("g", ({"TopicName": "src"},))
    wrong = Errors.UNKNOWN_TOPIC_OR_PARTITION
    found = body(DeleteShareGroupOffsetsResponse(Errors.NONE, "g", (TopicResult("src", wrong),)))
    (topic,) = found["Responses"]
    assert (topic["TopicName"], topic["TopicId"], topic["ErrorCode"]) == ("src", TOPIC_ID, wrong)
    found = body(DeleteShareGroupOffsetsResponse(Errors.NON_EMPTY_GROUP, "g"))
    assert (found["ErrorCode"], found["Responses"]) == (Errors.NON_EMPTY_GROUP, ())


def test_an_older_client_gets_the_answers_of_its_version() -> None:
    old = AROUND.but(request=END.but(version=4))
    found = body(EndTxnResponse(Errors.NONE), old)
    assert "ProducerId" not in found, "it keeps the identity that it has"
    assert body(EndTxnResponse(Errors.NONE, 9, 2))["ProducerEpoch"] == 2
    asked = AddPartitionsToTxn((TxnPartitions("t", 9, 0, ("a-0", "a-1")),), version=3)
    forbidden = PartitionResult("a-0", Errors.TOPIC_AUTHORIZATION_FAILED)
    kept_out = PartitionResult("a-1", Errors.OPERATION_NOT_ATTEMPTED)
    answer = AddPartitionsToTxnResponse((TxnPartitionsResult("t", (forbidden, kept_out)),))
    (topic,) = body(answer, AROUND.but(request=asked))["ResultsByTopicV3AndBelow"]
    assert [p["PartitionErrorCode"] for p in topic["ResultsByPartition"]] == [
        Errors.TOPIC_AUTHORIZATION_FAILED,
        Errors.OPERATION_NOT_ATTEMPTED,
    ]


def test_a_request_that_only_a_broker_may_send_is_rejected_as_a_whole() -> None:
    """AddPartitionsToTxnRequest.getErrorResponse: up to version 3 each partition has the error."""
    asked = AddPartitionsToTxn((TxnPartitions("t", 9, 0, ("a-0",)),))
    found = body(response_with_error(asked, Errors.CLUSTER_AUTHORIZATION_FAILED))
    assert found["ErrorCode"] == Errors.CLUSTER_AUTHORIZATION_FAILED
    assert found["ResultsByTransaction"] == ()
    of_a_client = asked.but(version=LAST_OF_A_CLIENT)
    answer = response_with_error(of_a_client, Errors.CLUSTER_AUTHORIZATION_FAILED)
    (topic,) = body(answer, AROUND.but(request=of_a_client))["ResultsByTopicV3AndBelow"]
    (result,) = topic["ResultsByPartition"]
    assert result["PartitionErrorCode"] == Errors.CLUSTER_AUTHORIZATION_FAILED


def test_bytes_that_nobody_gave_are_none_at_all_or_empty() -> None:
    assert Field("Metadata", "bytes").empty == b""
    assert Field("UserData", "bytes", default="null", nullable="0+").empty is None
    schema = Schema("S", -1, "0", "", (Field("Metadata", "bytes"),))
    assert encode(schema, 0, {}).data == bytes(4)


def test_a_staging_of_several_partitions_has_them_by_topic() -> None:
    said = (AcknowledgementBatch(100, 100, AcknowledgeType.ACCEPT),)
    more = (("src-1", said), ("output-A-0", said))
    request = stages("t", "g", 9, 1, "m", 3, "src-0", said, *more)
    topics = body(request)["Topics"]
    assert [[p["PartitionIndex"] for p in t["Partitions"]] for t in topics] == [[0, 1], [0]]


def test_an_error_of_one_partition_may_be_one_that_only_the_whole_answer_has() -> None:
    """KIP-1289 lists CONCURRENT_TRANSACTIONS nowhere, and coordinator errors for no partition."""
    answer = staging_response(Errors.CONCURRENT_TRANSACTIONS, "src-0", ("src-1", Errors.NONE))
    found = body(answer)
    assert found["ErrorCode"] == Errors.CONCURRENT_TRANSACTIONS
    assert [p["PartitionIndex"] for t in found["Responses"] for p in t["Partitions"]] == [1]
    refused = staging_response(Errors.INVALID_RECORD_STATE, "src-1", ("src-0", Errors.NONE))
    found = body(refused)
    assert found["ErrorCode"] == Errors.NONE
    each = {p["PartitionIndex"]: p["ErrorCode"] for p in found["Responses"][0]["Partitions"]}
    assert each == {0: Errors.NONE, 1: Errors.INVALID_RECORD_STATE}


def test_what_a_member_of_kip_848_has_is_told_with_the_name_and_the_id_of_its_topic():
    member = GroupMemberDescription(
        "C1", ("src-0", "src-1"), subscribed_topic_names=("src",), target=("src-0",)
    )
    described = DescribedConsumerGroup(Errors.NONE, "g", "Stable", 4, 4, "uniform", (member,))
    answer = ConsumerGroupDescribeResponse((described,))
    kind, version = KINDS[type(answer)], AROUND.version_of(answer)
    encoded = encode(kind.schema, version, kind.fill(answer, AROUND))
    read, _ = decode(kind.schema, version, encoded.data)
    (group,) = read["Groups"]
    (told_of,) = group["Members"]
    (held,) = told_of["Assignment"]["TopicPartitions"]
    assert (held["TopicName"], held["TopicId"]) == ("src", TOPIC_ID)
    assert tuple(held["Partitions"]) == (0, 1)
    (target,) = told_of["TargetAssignment"]["TopicPartitions"]
    assert tuple(target["Partitions"]) == (0,)
