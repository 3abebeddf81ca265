"""A producer's stagings of several partitions: what is left for other leaders, what was refused."""

from __future__ import annotations

from kipviz.clients.transactions import stagings
from kipviz.clients.transactions.transaction_manager import TransactionManager
from kipviz.messages.errors import Errors
from kipviz.messages.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    PartitionAcknowledgements,
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
    joined,
    parts_of,
    told,
)
from kipviz.messages.transactions import EndTxn


def saying(first):
    return (AcknowledgementBatch(first, first, AcknowledgeType.ACCEPT),)


MORE = tuple(PartitionAcknowledgements(p, saying(n)) for p, n in (("src-1", 200), ("pay-0", 300)))
CALL = TxnShareAcknowledge("t", "g", 9, 1, "m", 3, "src-0", saying(100), MORE)
N = Errors.NONE


def test_a_request_is_the_requests_of_its_partitions_and_they_are_it_again():
    parts = parts_of(CALL)
    assert [(p.partition, p.acknowledgements[0].first, p.further) for p in parts] == [
        ("src-0", 100, ()),
        ("src-1", 200, ()),
        ("pay-0", 300, ()),
    ]
    assert joined(parts) == CALL
    assert joined(parts[:1]) == parts[0]


def test_what_another_leader_has_to_hear_stays_to_be_sent():
    to_b5 = CALL.but(further=MORE[:1])
    (rest,) = stagings.left_over(CALL, to_b5)
    assert [p.partition for p in parts_of(rest)] == ["pay-0"]
    assert stagings.left_over(CALL, CALL) == ()
    end = EndTxn("t", 9, 1, True)
    assert stagings.left_over(end, end) == ()


def test_an_answer_names_what_was_refused_first():
    answer = told((("src-0", N), ("src-1", Errors.INVALID_RECORD_STATE), ("pay-0", N)))
    assert (answer.error, answer.partition) == (Errors.INVALID_RECORD_STATE, "src-1")
    assert answer.further == (("src-0", N), ("pay-0", N))


def test_only_the_refused_parts_came_to_nothing():
    answer = told((("src-0", N), ("src-1", Errors.INVALID_RECORD_STATE), ("pay-0", N)))
    left, error = stagings.refused(CALL, answer, answer.error)
    assert [p.partition for p in parts_of(left)] == ["src-1"]
    assert error is Errors.INVALID_RECORD_STATE


def test_an_error_that_ends_the_transaction_goes_before_one_after_which_it_is_asked_again():
    busy, bad = Errors.CONCURRENT_TRANSACTIONS, Errors.INVALID_RECORD_STATE
    answer = TxnShareAcknowledgeResponse(busy, "src-0", (("src-1", bad), ("pay-0", N)))
    left, error = stagings.refused(CALL, answer, busy)
    assert [p.partition for p in parts_of(left)] == ["src-0", "src-1"]
    assert error is bad


def test_an_answer_about_one_partition_is_as_it_was():
    answer = TxnShareAcknowledgeResponse(Errors.INVALID_RECORD_STATE, "src-0")
    assert stagings.refused(CALL, answer, answer.error) == (CALL, answer.error)
    everything = told((("src-0", N), ("src-1", N), ("pay-0", N)))
    assert stagings.refused(CALL, everything, N) == (CALL, N)


def test_who_staged_hears_of_stagings_that_came_to_nothing_and_of_nothing_else():
    me = TransactionManager("t")
    assert stagings.dropping(me, EndTxn("t", 9, 1, True)) is me
    assert stagings.dropping(me, CALL).dropped == (CALL,)
