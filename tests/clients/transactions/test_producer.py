"""The transactional producer: its states, its queue, and what an error means to it."""

from __future__ import annotations

import pytest

from kipviz.clients.sending import producer as p
from kipviz.clients.sending import sender
from kipviz.clients.sending.outgoing import OutgoingBatch
from kipviz.clients.throwing.client_errors import StatePoisoned
from kipviz.clients.transactions import producer_state
from kipviz.clients.transactions import transaction_manager as managing
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.clients.transactions.transaction_manager import TransactionManager
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import GroupOffset, TxnOffsetCommit
from kipviz.messages.logs.producing import PartitionProduceResponse, Produce, ProduceResponse
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    TxnShareAcknowledge,
)
from kipviz.messages.transactions.transactions import (
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
)
from kipviz.records.batches import DataRecord
from tests.clients.parts import (
    batch_of,
    begin_transaction,
    change,
    init_transactions,
    offsets_response,
    producer_of,
    send_offsets,
    send_share_acknowledgements,
)
from tests.messages.shares import staging_response

S = ProducerState
RECORD = (DataRecord("r", "src-0@100"),)
SAID = (AcknowledgementBatch(100, 100, AcknowledgeType.ACCEPT),)


def ready(epoch=0):
    me = init_transactions(producer_of("app-1/producer", "t"))
    request = p.next_request(me)
    assert isinstance(request, InitProducerId)
    me, request = p.note_sent(me, request, 1)
    return p.on_response(me, InitProducerIdResponse(Errors.NONE, 9, epoch))


def begin(epoch=0):
    return begin_transaction(ready(epoch))


def sends(me, broker=1):
    """Put the next request on the wire; give it and the producer."""
    request = p.next_request(me)
    assert request is not None
    me, request = p.note_sent(me, request, broker)
    return request, me


def sends_both(broker=3):
    """Put a batch on the wire and offsets after it; give both and the producer."""
    produce, me = sends(p.send(begin(), "out-0", RECORD), broker)
    me = send_offsets(me, "g", "m", 2, (GroupOffset("src-0", 1),))
    offsets, me = sends(me, broker)
    return produce, offsets, me


def answer_produce(me, error=Errors.NONE):
    return p.on_response(me, ProduceResponse((PartitionProduceResponse("out-0", error),)))


def test_a_transaction_begins_locally():
    me = begin()
    assert (me.manager.state, p.next_request(me)) == (S.IN_TRANSACTION, None)


def test_the_end_of_a_transaction_waits_until_no_batch_is_left():
    """TMgr.testEndTxnNotSentIfIncompleteBatches."""
    me = p.end_transaction(p.send(begin(), "out-0", RECORD), committed=True)
    request, me = sends(me)
    assert isinstance(request, Produce)
    assert p.next_request(me) is None
    request, me = sends(answer_produce(me))
    assert request == EndTxn("t", 9, 0, committed=True)


def test_the_answer_to_the_end_is_the_identity_of_the_next_transaction():
    me = p.end_transaction(p.send(begin(), "out-0", RECORD), committed=True)
    _, me = sends(me)
    _, me = sends(answer_produce(me))
    me = p.on_response(me, EndTxnResponse(Errors.NONE, 12, 0))
    assert (me.manager.state, me.manager.producer_id, me.manager.producer_epoch, me.done) == (
        S.READY,
        12,
        0,
        True,
    )
    request, _ = sends(p.send(begin_transaction(me), "out-0", RECORD))
    batch = batch_of(request)
    assert (batch.identity, batch.base_sequence) == ((12, 0), 0)


@pytest.mark.parametrize("committed", [True, False])
def test_a_transaction_without_anything_in_it_ends_without_a_request(committed):
    """Recorded of Kafka 4.4.0."""
    me = p.end_transaction(begin(), committed=committed)
    assert (me.manager.state, me.done, p.next_request(me)) == (S.READY, True, None)


def test_staging_alone_starts_the_transaction():
    """Finding X11: otherwise it would never be ended at the coordinator."""
    me = send_share_acknowledgements(begin(), "g", "m", 2, "src-0", SAID)
    request, me = sends(p.end_transaction(me, committed=True))
    assert isinstance(request, TxnShareAcknowledge)
    me = p.on_response(me, staging_response(Errors.NONE, "src-0"))
    assert isinstance(p.next_request(me), EndTxn)


def test_only_one_transactional_request_is_on_the_wire():
    me = send_share_acknowledgements(begin(), "g", "m", 2, "src-0", SAID)
    me = send_share_acknowledgements(me, "g", "m", 2, "src-1", SAID)
    _, me = sends(me)
    assert p.next_request(me) is None


def test_batches_of_a_partition_go_one_after_the_other_and_of_two_side_by_side():
    me = p.send(p.send(p.send(begin(), "out-0", RECORD), "out-0", RECORD), "out-1", RECORD)
    both, me = sends(me)
    numbered = [(batch.partition, batch.base_sequence) for batch in both.partition_data]
    assert numbered == [("out-0", 0), ("out-1", 0)]
    assert p.next_request(me) is None
    third, _ = sends(answer_produce(me))
    assert (batch_of(third).partition, batch_of(third).base_sequence) == ("out-0", 1)


# What each error does to the producer: R try again, A abort, F give the producer up.
ERRORS = """
                                 InitPid  TxnOffsetCommit  EndTxn  Produce  TxnShareAck
NOT_LEADER_OR_FOLLOWER           R        R                R       R        A
NETWORK_EXCEPTION                R        R                R       R        R
COORDINATOR_LOAD_IN_PROGRESS     R        R                R       R        R
COORDINATOR_NOT_AVAILABLE        R        R                R       R        A
NOT_COORDINATOR                  R        R                R       R        A
NOT_ENOUGH_REPLICAS              R        R                R       R        R
CONCURRENT_TRANSACTIONS          R        R                R       R        R
INVALID_PRODUCER_EPOCH           F        F                F       A        F
PRODUCER_FENCED                  F        F                F       F        F
INVALID_TXN_STATE                F        F                F       A        F
INVALID_PRODUCER_ID_MAPPING      F        F                F       F        F
OUT_OF_ORDER_SEQUENCE_NUMBER     F        F                F       A        F
TRANSACTION_ABORTABLE            A        A                A       A        A
UNKNOWN_MEMBER_ID                F        A                F       A        A
STALE_MEMBER_EPOCH               F        A                F       A        A
GROUP_ID_NOT_FOUND               F        A                F       A        F
INVALID_RECORD_STATE             F        F                F       A        A
UNKNOWN_SERVER_ERROR             F        F                F       A        F
"""
COLUMNS = ERRORS.split("\n")[1].split()
TABLE = [
    (Errors[row[0]], column, cell)
    for row in (line.split() for line in ERRORS.strip().splitlines()[1:])
    for column, cell in zip(COLUMNS, row[1:], strict=True)
]


def asking(column):
    """A producer with one request of a kind on the wire, and how it is answered."""
    offsets = (GroupOffset("src-0", 1),)
    match column:
        case "InitPid":
            me = init_transactions(producer_of("app-1/producer", "t"))
            return sends(me)[1], InitProducerIdResponse
        case "TxnOffsetCommit":
            return sends(send_offsets(begin(), "g", "m", 2, offsets))[1], offsets_response
        case "EndTxn":
            _, me = sends(p.end_transaction(p.send(begin(), "out-0", RECORD), committed=True))
            return sends(answer_produce(me))[1], EndTxnResponse
        case "Produce":
            _, me = sends(p.send(begin(), "out-0", RECORD))
            return me, lambda error: ProduceResponse((PartitionProduceResponse("out-0", error),))
        case "TxnShareAck":
            me = send_share_acknowledgements(begin(), "g", "m", 2, "src-0", SAID)
            return sends(me)[1], lambda error: staging_response(error, "src-0")
    raise AssertionError(column)


@pytest.mark.parametrize(("error", "column", "cell"), TABLE)
def test_every_error_is_retried_aborts_the_transaction_or_ends_the_producer(error, column, cell):
    """Sheet 5.5, TransactionManager; KIP-1289's call is a draft's (X10, X20)."""
    me, answer = asking(column)
    asked = me.on_wire or me.accumulator.batches[0].records
    after = p.on_response(me, answer(error))
    if cell == "R":
        assert after.manager.state is me.manager.state
        request = p.next_request(after)
        assert asked == (batch_of(request).records if isinstance(request, Produce) else request)
    else:
        assert after.manager.state is {"A": S.ABORTABLE_ERROR, "F": S.FATAL_ERROR}[cell]
        assert after.done
        fenced = error is Errors.INVALID_PRODUCER_EPOCH and column != "Produce"
        assert (Errors.PRODUCER_FENCED if fenced else error) is after.error.error


def test_an_abort_that_is_itself_refused_as_abortable_ends_the_producer():
    me = p.end_transaction(p.send(begin(), "out-0", RECORD), committed=False)
    _, me = sends(me)
    after = p.on_response(me, EndTxnResponse(Errors.TRANSACTION_ABORTABLE))
    assert after.manager.state is S.FATAL_ERROR


def test_an_abort_drops_what_was_not_sent_and_waits_for_what_was():
    _, me = sends(p.send(begin(), "out-0", RECORD))
    me = p.send(me, "out-1", RECORD)
    me = p.end_transaction(me, committed=False)
    assert [b.partition for b in me.accumulator.batches] == ["out-0"]
    assert p.next_request(me) is None
    assert isinstance(p.next_request(answer_produce(me, Errors.INVALID_PRODUCER_EPOCH)), EndTxn)


def test_an_abort_is_not_over_with_the_late_answer_to_an_earlier_call():
    """A send fails while offsets are in flight: their answer must not end the abort."""
    produce, offsets, me = sends_both()
    assert isinstance(produce, Produce)
    assert isinstance(offsets, TxnOffsetCommit)
    me = answer_produce(me, Errors.INVALID_TXN_STATE)
    me = p.end_transaction(me, committed=False)
    me = p.on_response(me, offsets_response(Errors.NONE))
    assert (me.manager.state, me.done) == (S.ABORTING_TRANSACTION, False)
    _, me = sends(me)
    me = p.on_response(me, EndTxnResponse(Errors.NONE, 9, 1))
    assert (me.manager.state, me.done) == (S.READY, True)


def test_a_fatal_error_stays_whatever_else_fails():
    *_, me = sends_both()
    me = p.on_response(me, offsets_response(Errors.PRODUCER_FENCED))
    assert answer_produce(me, Errors.INVALID_TXN_STATE).manager.state is S.FATAL_ERROR


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, str(StatePoisoned())),
        (Errors.INVALID_TXN_STATE, str(StatePoisoned())),
        (Errors.INVALID_PRODUCER_EPOCH, str(StatePoisoned())),
        (Errors.PRODUCER_FENCED, "Produce: PRODUCER_FENCED"),
        (Errors.CLUSTER_AUTHORIZATION_FAILED, "Produce: CLUSTER_AUTHORIZATION_FAILED"),
    ],
)
def test_a_batch_that_fails_while_no_transaction_is_open_poisons_the_producer(error, words):
    """TransactionManager.transitionTo: a fatal error is a legal step from READY, an abortable one is not."""
    batch = OutgoingBatch("out-0", RECORD, 0, broker=3)
    me = answer_produce(change(ready(), batches=(batch,)), error)
    assert (me.manager.state, str(me.error)) == (S.FATAL_ERROR, words)


def test_offsets_that_fail_when_the_producer_is_prepared_poison_it_too():
    """TransactionManager.State.isTransitionValid: there is no step from PREPARED_TRANSACTION either."""
    *_, me = sends_both()
    me = change(me, state=S.PREPARED_TRANSACTION, batches=())
    me = p.on_response(me, offsets_response(Errors.ILLEGAL_GENERATION))
    assert (me.manager.state, me.error) == (S.FATAL_ERROR, StatePoisoned())


def test_what_was_on_a_broken_connection_is_sent_again():
    """The transactional request goes first now, and the batch when it is answered."""
    produce, offsets, me = sends_both()
    me = p.on_disconnected(me, 3)
    again, me = sends(me, 5)
    assert again == offsets
    assert p.on_disconnected(me, 3) == me  # the request is on its way to another broker
    me = p.on_response(me, offsets_response(Errors.NONE))
    assert p.next_request(me) == produce


@pytest.mark.parametrize("most", [1, 5])
def test_an_abort_sends_again_what_a_leader_may_have_but_where_one_request_is_in_flight(most):
    """RecordAccumulator.abortUndrainedBatches drops what has no sequence yet; with one we drop more."""
    asked, me = sends(p.send(change(begin(), max_in_flight=most), "out-0", RECORD), 3)
    me = p.on_disconnected(p.end_transaction(me, committed=False), 3)
    again, _ = sends(me, 3)
    assert again == asked if most > 1 else isinstance(again, EndTxn)


def test_a_batch_that_came_back_alone_has_the_same_number_when_it_is_sent_again():
    first, me = sends(p.send(begin(), "out-0", RECORD), 3)
    me = p.on_disconnected(me, 3)
    assert (me.accumulator.batches[0].base_sequence, me.partition_map.sequences) == (-1, Table.of())
    again, me = sends(me, 3)
    assert (again, me.partition_map.sequences["out-0"]) == (first, 1)


@pytest.mark.parametrize(("state", "target"), [(s, t) for s in S for t in S])
def test_no_transition_is_made_that_the_table_does_not_have(state, target):
    """TransactionManager.State.isTransitionValid."""
    me = TransactionManager("t", state=state)
    if target in producer_state.TRANSITIONS[state]:
        assert managing._change_state(me, target).state is target
    else:
        with pytest.raises(AssertionError):
            managing._change_state(me, target)


def test_an_answer_to_what_is_not_on_the_way_changes_nothing():
    me = p.end_transaction(p.send(begin(), "out-0", RECORD), committed=True)
    _, me = sends(me)
    me = answer_produce(me)
    assert answer_produce(me) == me, "the batch is through"
    _, me = sends(me)
    me = p.on_disconnected(me, 1)
    assert p.on_response(me, EndTxnResponse(Errors.NONE, 12, 0)) == me


def test_a_batch_that_expires_while_the_transaction_is_aborted_is_only_given_up():
    me = p.send(begin(), "out-0", RECORD)
    _, me = sends(me)
    me = p.end_transaction(me, committed=False)
    me = change(me, batches=tuple(b.but(broker=-1) for b in me.accumulator.batches))
    me = sender.fail_expired(me)
    assert (me.manager.state, me.error, me.accumulator.batches) == (S.ABORTING_TRANSACTION, "", ())
    request, _ = sends(me)
    assert request == EndTxn("t", 9, 0, committed=False)


@pytest.mark.parametrize(("version", "bump"), [(1, True), (2, False)])
def test_a_batch_that_expires_after_it_was_sent_asks_for_a_bump_only_below_version_2(version, bump):
    """TransactionManager.maybeResolveSequences: whether it arrived is not known (KIP-360)."""
    me = p.send(begin(), "out-0", RECORD)
    sent = tuple(b.but(sent=True, retried=True, broker=-1) for b in me.accumulator.batches)
    me = sender.fail_expired(change(me, version=version, batches=sent))
    assert (me.manager.state, me.accumulator.batches, me.manager.bump) == (
        S.ABORTABLE_ERROR,
        (),
        bump,
    )


@pytest.mark.parametrize("was_sent", [True, False])
def test_a_batch_that_expires_in_an_abort_asks_for_a_bump_only_if_it_can_have_arrived(was_sent):
    """Sender.sendProducerData marks a sequence as unresolved only where the batch is in retry."""
    _, me = sends(p.send(begin(), "out-0", RECORD))
    me = p.end_transaction(me, committed=False)
    assert (me.manager.state, me.manager.bump) == (S.ABORTING_TRANSACTION, False)
    batches = tuple(
        b.but(sent=was_sent, retried=was_sent, broker=-1) for b in me.accumulator.batches
    )
    me = sender.fail_expired(change(me, version=1, batches=batches))
    assert (me.accumulator.batches, me.manager.bump) == ((), was_sent)


def test_behind_an_end_everything_of_the_transaction_is_forgotten():
    me = p.send(begin(), "out-0", RECORD)
    produce, me = sends(me)
    me = p.on_response(me, ProduceResponse((PartitionProduceResponse("out-0", Errors.NONE),)))
    me = p.end_transaction(me, committed=True)
    _, me = sends(me)
    me = p.on_response(me, EndTxnResponse(Errors.NONE, 9, 1))
    assert (me.manager.state, me.manager.producer_id, me.manager.producer_epoch, me.done) == (
        S.READY,
        9,
        1,
        True,
    )
    assert (me.partition_map.sequences, me.manager.partitions, me.manager.transaction_started) == (
        Table.of(),
        (),
        False,
    )
    assert isinstance(produce, Produce)


def test_a_client_that_hears_of_version_2_at_its_commit_and_has_to_abort_bumps_its_epoch_after_end_txn_5():
    """TransactionManager.beginCompletingTransaction and resetTransactionState; found by a swarm."""
    me = p.send(begin(), "out-0", RECORD)
    me = change(me, version=1, transaction_started=True, partitions=("out-0",))
    _, me = sends(me)
    me = p.end_transaction(change(me, finalized=2), committed=True)
    assert (me.manager.version, me.manager.bump) == (2, True)
    sent = tuple(b.but(sent=True, retried=True, broker=-1) for b in me.accumulator.batches)
    me = sender.fail_expired(change(me, batches=sent, on_wire=None))
    assert me.manager.state is S.ABORTABLE_ERROR
    me = p.end_transaction(me, committed=False)
    end, me = sends(me)
    assert isinstance(end, EndTxn)
    assert end.version == 5
    me = p.on_response(me, EndTxnResponse(Errors.NONE, 9, 1))
    assert (me.manager.state, me.manager.producer_epoch, me.done) == (S.INITIALIZING, 1, False)
    bump, me = sends(me)
    assert isinstance(bump, InitProducerId)
    assert (bump.producer_id, bump.producer_epoch) == (9, 0), (
        "the identity when the end was asked for"
    )
    me = p.on_response(me, InitProducerIdResponse(Errors.NONE, 9, 1))
    assert (me.manager.state, me.manager.bump, me.done) == (S.READY, False, True)
