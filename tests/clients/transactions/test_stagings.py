"""A producer's stagings of several partitions: what is left for other leaders, what was refused."""

from __future__ import annotations

from kipviz.clients.transactions import stagings
from kipviz.clients.transactions.transaction_manager import TransactionManager
from kipviz.messages.errors import Errors
from kipviz.messages.message_errors import error_of_response
from kipviz.messages.shares.share_groups import AcknowledgementBatch, AcknowledgeType
from kipviz.messages.transactions.transactions import EndTxn
from tests.messages.shares import stages, staging_response


def saying(first):
    return (AcknowledgementBatch(first, first, AcknowledgeType.ACCEPT),)


MORE = (("src-1", saying(200)), ("pay-0", saying(300)))
CALL = stages("t", "g", 9, 1, "m", 3, "src-0", saying(100), *MORE)
N = Errors.NONE


def test_what_another_leader_has_to_hear_stays_to_be_sent():
    to_b5 = CALL.but(partitions=CALL.partitions[:2])
    (rest,) = stagings.remaining_staging(CALL, to_b5)
    assert [p.partition for p in rest.partitions] == ["pay-0"]
    assert stagings.remaining_staging(CALL, CALL) == ()
    end = EndTxn("t", 9, 1, True)
    assert stagings.remaining_staging(end, end) == ()


def test_only_the_refused_parts_came_to_nothing():
    answer = staging_response(Errors.INVALID_RECORD_STATE, "src-1", ("src-0", N), ("pay-0", N))
    left, error = stagings.rejected_parts(CALL, answer, error_of_response(answer))
    assert [p.partition for p in left.partitions] == ["src-1"]
    assert error is Errors.INVALID_RECORD_STATE


def test_an_error_that_ends_the_transaction_goes_before_one_after_which_it_is_asked_again():
    busy, bad = Errors.CONCURRENT_TRANSACTIONS, Errors.INVALID_RECORD_STATE
    answer = staging_response(busy, "src-0", ("src-1", bad), ("pay-0", N))
    left, error = stagings.rejected_parts(CALL, answer, busy)
    assert [p.partition for p in left.partitions] == ["src-0", "src-1"]
    assert error is bad


def test_an_answer_about_one_partition_is_as_it_was():
    wrong = Errors.INVALID_RECORD_STATE
    assert stagings.rejected_parts(CALL, staging_response(wrong, "src-0"), wrong) == (CALL, wrong)
    everything = staging_response(N, "src-0", ("src-1", N), ("pay-0", N))
    assert stagings.rejected_parts(CALL, everything, N) == (CALL, N)


def test_who_staged_hears_of_stagings_that_came_to_nothing_and_of_nothing_else():
    me = TransactionManager("t")
    assert stagings.dropping(me, EndTxn("t", 9, 1, True)) is me
    assert stagings.dropping(me, CALL).dropped == (CALL,)
