"""The bytes of each iteration of the draft implementation of KIP-1289."""

from __future__ import annotations

import pytest

from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
)
from kipviz.messages.shares.share_state import (
    ReadShareGroupStateResponse,
    ReadStateResult,
    WriteShareGroupState,
    WriteStateData,
)
from kipviz.messages.wire.codec import WireError
from kipviz.messages.wire.drafts import ITERATIONS, Iteration, bytes_in, iteration, schema_of
from kipviz.messages.wire.frame import bytes_of, read_message
from kipviz.messages.wire.kind import Around
from kipviz.records.share_group_state import RecordState, StateBatch
from tests.messages.shares import stages, staging_response

SOURCE_ID = "AAAAAAAAAAAAAAAAAAAAAg"
AROUND = Around((("src", SOURCE_ID),), client_id="app-1")
KEY = f"g1:{SOURCE_ID}:0"
ACCEPT = AcknowledgementBatch(100, 101, AcknowledgeType.ACCEPT)
STAGING = stages("my-txn", "g1", 9, 0, "M1", 1, "src-0", (ACCEPT,))
PENDING = StateBatch(100, 101, RecordState.TX_PENDING, 1, 9, 0, 1, 2)
WRITE = WriteShareGroupState((WriteStateData(KEY, 1, 0, 100, 0, (PENDING,)),))
EACH = pytest.mark.parametrize("of", ITERATIONS, ids=lambda of: of.name)


@EACH
def test_a_staging_has_the_key_of_its_iteration_and_is_read_back(of: Iteration) -> None:
    schema, version = schema_of(TxnShareAcknowledge, of)
    header, body, _ = read_message(schema, version, bytes_in(STAGING, of, AROUND).data)
    assert (header["RequestApiKey"], version) == (of.key, 0)
    (topic,) = body["Topics"]
    (partition,) = topic["Partitions"]
    assert partition["AcknowledgementBatches"][0]["AcknowledgeTypes"] == (1,)
    assert "Deliveries" not in partition


def test_the_iterations_have_three_keys() -> None:
    assert [of.key for of in ITERATIONS] == [93, 94, 95]


def test_a_gap_can_be_staged_in_the_newest_schema_alone() -> None:
    batches = (AcknowledgementBatch(100, 100, AcknowledgeType.GAP),)
    gap = STAGING.but(partitions=(STAGING.only.but(acknowledgements=batches),))
    assert bytes_in(gap, iteration("late"), AROUND).data
    with pytest.raises(WireError, match=r"GAP \(0\); early takes ACCEPT \(1\), REJECT \(3\)"):
        bytes_in(gap, iteration("early"), AROUND)


@EACH
def test_no_iteration_answers_with_a_current_leader(of: Iteration) -> None:
    answer = staging_response(Errors.NOT_LEADER_OR_FOLLOWER, "src-0")
    schema, version = schema_of(TxnShareAcknowledgeResponse, of)
    _, body, encoded = read_message(schema, version, bytes_in(answer, of, AROUND).data)
    assert "NodeEndpoints" not in body
    assert not any("CurrentLeader" in span.path for span in encoded.spans)


def test_the_early_iteration_writes_a_state_as_kafka_does() -> None:
    plain = WRITE.but(
        partitions=(WRITE.only.but(batches=(StateBatch(100, 101, RecordState.ACKNOWLEDGED, 1),)),)
    )
    assert bytes_in(plain, iteration("early"), AROUND) == bytes_of(plain, AROUND)


@pytest.mark.parametrize(("name", "more"), [("middle", 11), ("late", 12)])
def test_the_staged_fields_of_a_batch_take_so_many_bytes_more(name: str, more: int) -> None:
    of = iteration(name)
    plain = WRITE.but(
        partitions=(WRITE.only.but(batches=(StateBatch(100, 101, RecordState.ACKNOWLEDGED, 1),)),)
    )
    written, kafkas = bytes_in(plain, of, AROUND), bytes_of(plain, AROUND)
    assert len(written.data) - len(kafkas.data) == more


@pytest.mark.parametrize("name", ["middle", "late"])
def test_a_staged_batch_is_read_back_with_its_producer(name: str) -> None:
    of = iteration(name)
    schema, version = schema_of(WriteShareGroupState, of)
    _, body, _ = read_message(schema, version, bytes_in(WRITE, of, AROUND).data)
    (batch,) = body["Topics"][0]["Partitions"][0]["StateBatches"]
    assert batch["DeliveryState"] == 5
    assert (batch["StagedProducerId"], batch["StagedProducerEpoch"]) == (9, 0)
    assert batch["StagedAcknowledgeType"] == 1
    assert batch.get("StagedDeliveryState") == (2 if name == "late" else None)


def test_an_answer_to_a_read_carries_the_staged_batch_and_no_list_of_transactional_acknowledgements() -> (
    None
):
    of = iteration("late")
    answer = ReadShareGroupStateResponse((ReadStateResult(Errors.NONE, KEY, 1, 100, (PENDING,)),))
    schema, version = schema_of(ReadShareGroupStateResponse, of)
    _, body, _ = read_message(schema, version, bytes_in(answer, of, AROUND).data)
    result = body["Results"][0]["Partitions"][0]
    assert result["StateBatches"][0]["StagedProducerId"] == 9
    assert "PendingAcknowledgements" not in result


def test_in_the_models_own_schema_a_batch_without_a_transactional_acknowledgement_has_kafkas_bytes() -> (
    None
):
    acknowledged = PENDING.but(
        state=RecordState.ACKNOWLEDGED,
        **dict.fromkeys(
            ("staged_producer_id", "staged_producer_epoch", "staged_type", "staged_state"),
            -1,
        ),
    )
    plain = WRITE.but(partitions=(WRITE.only.but(batches=(acknowledged,)),))
    with_acknowledgement = bytes_of(WRITE, AROUND)
    assert len(bytes_of(plain, AROUND).data) < len(with_acknowledgement.data)


def test_an_iteration_that_there_is_not_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="the iterations are early, middle, late"):
        iteration("newest")
