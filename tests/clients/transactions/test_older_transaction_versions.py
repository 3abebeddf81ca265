"""The producer under transaction versions 0 and 1, and on the way from one version to another."""

from __future__ import annotations

import pytest

from kipviz.clients.sending import producer as p
from kipviz.clients.sending import sender
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.core.table import Table
from kipviz.messages.cluster.features import Features
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import GroupOffset, TxnOffsetCommit
from kipviz.messages.logs.producing import PartitionProduceResponse, Produce, ProduceResponse
from kipviz.messages.transactions.transactions import (
    AddOffsetsToTxn,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxn,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    TxnPartitions,
)
from kipviz.records.batches import DataRecord
from tests.clients.parts import (
    batch_of,
    begin_transaction,
    change,
    init_transactions,
    partitions_response,
    producer_of,
    send_offsets,
)

S = ProducerState
RECORD = (DataRecord("r", "src-0@100"),)


def sends(me, broker=1):
    request = p.next_request(me)
    assert request is not None
    me, request = p.note_sent(me, request, broker)
    return request, me


def begin(level=1):
    me = p.note_features(producer_of("app-1/producer", "t"), Features(level))
    _, me = sends(init_transactions(me))
    return begin_transaction(p.on_response(me, InitProducerIdResponse(Errors.NONE, 9, 0)))


def add_response(me, error=Errors.NONE, partitions=("out-0",)):
    return p.on_response(me, partitions_response(error, *partitions))


def produce_response(me, error=Errors.NONE):
    return p.on_response(me, ProduceResponse((PartitionProduceResponse("out-0", error),)))


def write_batch():
    """A transaction whose batch is in the log."""
    _, me = sends(p.send(begin(), "out-0", RECORD))
    _, me = sends(add_response(me))
    return produce_response(me)


def end(me):
    request, me = sends(me)
    assert isinstance(request, EndTxn)
    return p.on_response(me, EndTxnResponse(Errors.NONE))


def test_a_batch_waits_until_its_partition_is_added():
    me = p.send(p.send(begin(), "out-0", RECORD), "out-1", RECORD)
    request, me = sends(me)
    assert request == AddPartitionsToTxn((TxnPartitions("t", 9, 0, ("out-0", "out-1")),), version=3)
    assert p.next_request(me) is None
    me = p.send(me, "out-0", RECORD)
    request, _ = sends(add_response(me, partitions=("out-0", "out-1")))
    assert isinstance(request, Produce)
    assert request.version == 11


def test_offsets_are_added_before_they_are_committed():
    me = send_offsets(begin(), "g1", "M1", 2, (GroupOffset("src-0", 101),))
    request, me = sends(me)
    assert request == AddOffsetsToTxn("t", 9, 0, "g1")
    request, me = sends(p.on_response(me, AddOffsetsToTxnResponse(Errors.NONE)))
    assert isinstance(request, TxnOffsetCommit)
    assert (request.version, me.manager.transaction_started) == (4, True)


def test_identity_and_sequences_go_on_in_the_next_transaction():
    me = end(p.end_transaction(write_batch(), committed=True))
    assert (me.manager.state, me.manager.producer_epoch, me.partition_map.sequences["out-0"]) == (
        S.READY,
        0,
        1,
    )
    assert me.manager.partitions == ()
    me = p.send(begin_transaction(me), "out-0", RECORD)
    request, me = sends(me)
    assert isinstance(request, AddPartitionsToTxn), "every transaction adds its partitions anew"
    request, _ = sends(add_response(me))
    assert batch_of(request).base_sequence == 1


def test_a_transaction_that_no_coordinator_has_heard_of_ends_at_home():
    me = p.end_transaction(p.send(begin(), "out-0", RECORD), committed=False)
    assert (me.manager.state, me.done, me.accumulator.batches, p.next_request(me)) == (
        S.READY,
        True,
        (),
        None,
    )
    assert "out-0" not in me.partition_map.sequences, "what was not sent has no sequence"


def test_an_abort_waits_for_the_answer_that_says_whether_it_has_begun():
    _, me = sends(p.send(begin(), "out-0", RECORD))
    me = p.end_transaction(me, committed=False)
    assert (me.manager.state, p.next_request(me)) == (S.ABORTING_TRANSACTION, None)
    request, _ = sends(add_response(me))
    assert isinstance(request, EndTxn)
    assert add_response(me, Errors.TRANSACTION_ABORTABLE).manager.state is S.READY


def test_a_commit_sends_what_is_not_added_yet():
    me = p.end_transaction(p.send(begin(), "out-0", RECORD), committed=True)
    request, me = sends(me)
    assert isinstance(request, AddPartitionsToTxn)
    request, me = sends(add_response(me))
    assert isinstance(request, Produce)
    request, _ = sends(produce_response(me))
    assert (type(request), request.version) == (EndTxn, 4)


def test_an_abort_after_a_failed_batch_bumps_the_epoch_by_itself():
    """KIP-360: EndTxn, then InitProducerId with the identity so far."""
    _, me = sends(p.send(begin(), "out-0", RECORD))
    _, me = sends(add_response(me))
    me = produce_response(me, Errors.TRANSACTION_ABORTABLE)
    assert (me.manager.state, me.manager.bump) == (S.ABORTABLE_ERROR, True)
    me = end(p.end_transaction(me, committed=False))
    assert (me.manager.state, me.done) == (S.INITIALIZING, False)
    request, me = sends(me)
    assert request == InitProducerId("t", 60_000, 9, 0)
    me = p.on_response(me, InitProducerIdResponse(Errors.NONE, 9, 1))
    assert (me.manager.state, me.done, me.manager.producer_epoch, me.manager.bump) == (
        S.READY,
        True,
        1,
        False,
    )
    assert me.partition_map.sequences.get("out-0") is None


def test_an_abort_goes_on_with_a_batch_of_which_nobody_knows_whether_it_arrived():
    _, me = sends(p.send(begin(), "out-0", RECORD))
    _, me = sends(add_response(me), broker=3)
    me = p.end_transaction(p.on_disconnected(me, 3), committed=False)
    request, me = sends(me)
    assert isinstance(request, Produce)
    request, _ = sends(produce_response(me))
    assert isinstance(request, EndTxn)


@pytest.mark.parametrize("committed", [True, False])
def test_the_version_changes_between_two_transactions_and_the_way_up_bumps_the_epoch(committed):
    """TransactionManager.maybeUpdateTransactionV2Enabled."""
    me = p.note_features(write_batch(), Features(2))
    assert me.manager.version == 1, "a transaction ends in the version in which it began"
    me = p.end_transaction(me, committed=committed)
    assert p.next_request(me) == EndTxn("t", 9, 0, committed, 4)
    me = end(me)
    request, me = sends(me)
    assert request == InitProducerId("t", 60_000, 9, 0)
    me = p.on_response(me, InitProducerIdResponse(Errors.NONE, 9, 1))
    assert (me.manager.version, me.manager.state) == (2, S.READY)
    request, _ = sends(p.send(begin_transaction(me), "out-0", RECORD))
    assert (type(request), request.version) == (Produce, 13)


def test_the_way_down_needs_no_bump():
    _, me = sends(p.send(begin(2), "out-0", RECORD))
    me = p.note_features(produce_response(me), Features(1))
    _, me = sends(p.end_transaction(me, committed=True))
    me = p.on_response(me, EndTxnResponse(Errors.NONE, 9, 1))
    assert (me.manager.state, me.manager.version, me.manager.bump) == (S.READY, 1, False)
    request, _ = sends(p.send(begin_transaction(me), "out-0", RECORD))
    assert isinstance(request, AddPartitionsToTxn)


# What an error of the two requests of older versions comes to: R again, A ends the transaction,
# F ends the producer. Sheet of TransactionManager's handlers, every error that the model knows.
ADDING = """
                                       AddPartitions  AddOffsets
COORDINATOR_NOT_AVAILABLE              R              R
NOT_COORDINATOR                        R              R
REQUEST_TIMED_OUT                      R              R
COORDINATOR_LOAD_IN_PROGRESS           R              R
CONCURRENT_TRANSACTIONS                R              R
UNKNOWN_TOPIC_OR_PARTITION             R              R
NETWORK_EXCEPTION                      R              R
NOT_ENOUGH_REPLICAS                    R              R
INVALID_PRODUCER_EPOCH                 F              F
PRODUCER_FENCED                        F              F
INVALID_TXN_STATE                      F              F
INVALID_PRODUCER_ID_MAPPING            F              F
TRANSACTIONAL_ID_AUTHORIZATION_FAILED  F              F
CLUSTER_AUTHORIZATION_FAILED           A              F
GROUP_AUTHORIZATION_FAILED             A              A
TOPIC_AUTHORIZATION_FAILED             A              F
TRANSACTION_ABORTABLE                  A              A
UNSUPPORTED_VERSION                    A              F
UNKNOWN_SERVER_ERROR                   A              F
INVALID_REQUEST                        A              F
OUT_OF_ORDER_SEQUENCE_NUMBER           A              F
INVALID_TRANSACTION_TIMEOUT            A              F
TRANSACTION_COORDINATOR_FENCED         A              F
"""
CELLS = [
    (row[0], column, cell)
    for row in (line.split() for line in ADDING.strip().splitlines()[1:])
    for column, cell in zip(("AddPartitions", "AddOffsets"), row[1:], strict=True)
]


@pytest.mark.parametrize(("error", "column", "cell"), CELLS)
def test_what_an_error_of_the_older_requests_comes_to(error, column, cell):
    if column == "AddPartitions":
        request, me = sends(p.send(begin(), "out-0", RECORD))
        after = add_response(me, Errors[error])
    else:
        offsets = (GroupOffset("src-0", 101),)
        request, me = sends(send_offsets(begin(), "g1", "M1", 2, offsets))
        after = p.on_response(me, AddOffsetsToTxnResponse(Errors[error]))
    expected = {
        "R": S.IN_TRANSACTION,
        "A": S.ABORTABLE_ERROR,
        "F": S.FATAL_ERROR,
    }
    assert after.manager.state is expected[cell]
    assert (p.next_request(after) == request) is (cell == "R")


@pytest.mark.parametrize("before", [True, False])
def test_what_is_lost_while_the_transaction_ends_is_asked_for_by_nobody(before):
    """TransactionManager: InitProducerId is put behind EndTxn when the abort begins, or never."""
    _, me = sends(p.send(begin(), "out-0", RECORD))
    _, me = sends(add_response(me), broker=3)
    me = p.on_disconnected(me, 3)
    me = p.end_transaction(sender.fail_expired(me) if before else me, committed=False)
    me = end(me if before else sender.fail_expired(me))
    assert me.manager.state is S.INITIALIZING
    assert me.done is not before, "the abort waits for the next epoch, or for nothing"
    if not before:
        assert p.next_request(me) is None
        return
    request, me = sends(me)
    assert (request.producer_id, request.producer_epoch) == (9, 0)
    me = p.on_response(me, InitProducerIdResponse(Errors.NONE, 9, 1))
    assert (me.manager.state, me.done, me.manager.bump) == (S.READY, True, False)


def test_a_partition_that_is_not_there_is_asked_for_for_ever_and_an_abort_waits_behind_it():
    """AddPartitionsToTxnHandler, TransactionManager.Priority: a topic was deleted meanwhile."""
    first, me = sends(p.send(begin(), "out-0", RECORD))
    me = add_response(me, Errors.UNKNOWN_TOPIC_OR_PARTITION)
    assert (me.manager.state, me.manager.queue) == (S.IN_TRANSACTION, (first,))
    me = p.end_transaction(me, committed=False)
    assert [type(m) for m in me.manager.queue] == [AddPartitionsToTxn, EndTxn]
    assert me.accumulator.batches == ()
    for _ in range(2):
        again, me = sends(me)
        assert again == first
        me = add_response(me, Errors.UNKNOWN_TOPIC_OR_PARTITION)
    _, me = sends(me)
    assert isinstance(p.next_request(add_response(me)), EndTxn)


def test_what_was_never_sent_has_no_sequence_that_an_abort_had_to_give_back():
    """RecordAccumulator.drainBatchesForOneNode numbers a batch; near the last sequence it is as everywhere."""
    first = 2_147_483_647 - 10
    me = change(add_response(begin()), sequences=Table.of({"out-0": first}))
    for count in (20, 3):
        me = p.send(me, "out-0", RECORD * count)
    assert [b.base_sequence for b in me.accumulator.batches] == [-1, -1]
    me = p.end_transaction(me, committed=False)
    assert (me.accumulator.batches, me.partition_map.sequences["out-0"]) == ((), first)
