"""A leader asks the coordinator whether the client has added its partition, before it appends (KIP-890, transaction versions 0 and 1)."""

from __future__ import annotations

import pytest

from kipviz.brokers.logs import partition_leader as pl
from kipviz.messages.errors import Errors
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.transactions import AddPartitionsToTxn
from tests.brokers.coordinator_answers import enlisted, with_tag
from tests.brokers.transactions.older_desk import (
    PRODUCE,
    answer_question,
    end_transaction,
    leader_desk,
    list_errors,
    produce,
    verify,
)


@pytest.fixture
def leader():
    return leader_desk()


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (Errors.NONE, Errors.NONE),
        (Errors.TRANSACTION_ABORTABLE, Errors.TRANSACTION_ABORTABLE),
        (Errors.PRODUCER_FENCED, Errors.INVALID_PRODUCER_EPOCH),
        (Errors.CONCURRENT_TRANSACTIONS, Errors.NOT_ENOUGH_REPLICAS),
        (Errors.NOT_COORDINATOR, Errors.NOT_ENOUGH_REPLICAS),
    ],
)
def test_a_leader_asks_whether_the_client_has_added_its_partition(leader, said, answer):
    assert produce(leader) is None
    assert verify(leader, said).transactions[0].verify_only
    assert error_in(leader.last) is answer
    assert leader.logs["out-0"].end_offset == (1 if answer is Errors.NONE else 0)


def test_a_yes_that_comes_after_the_abort_marker_is_too_late_though_the_epoch_is_the_same(leader):
    """Found by search: below version 2 the marker of this very transaction has its epoch."""
    assert produce(leader) is None
    end_transaction(leader)
    verify(leader, Errors.NONE)
    assert list_errors(leader) == [Errors.INVALID_TXN_STATE]


@pytest.mark.parametrize(
    ("second", "refused"), [("app/1", []), ("app/1 #0", [Errors.INVALID_TXN_STATE])]
)
def test_a_yes_from_before_the_marker_does_not_verify_who_asks_after_it(leader, second, refused):
    """VerificationGuard is unique: the stale yes is for the request that asked for it, and no other."""
    assert leader.ask(pl.on_produce, PRODUCE, "app/1") is None
    end_transaction(leader)
    assert leader.ask(pl.on_produce, PRODUCE, second) is None
    answer_question(leader, 0)
    assert list_errors(leader) == refused
    assert leader.logs["out-0"].end_offset == 1, "nothing but the marker"
    answer_question(leader, 1)
    assert list_errors(leader) == [*refused, Errors.NONE]
    assert leader.role.verifying == ()


def test_two_markers_tell_three_askings_apart(leader):
    for _ in range(2):
        assert produce(leader) is None
        end_transaction(leader)
    assert produce(leader) is None
    assert [r.tag.number for r in leader.requests] == ["", "1", "2"]
    answer_question(leader, 1)
    answer_question(leader, 0)
    assert list_errors(leader) == [Errors.INVALID_TXN_STATE] * 2
    answer_question(leader, 2)
    assert error_in(leader.last) is Errors.NONE
    assert leader.role.verifying == ()


def test_a_yes_that_nobody_needs_any_more_does_not_verify_a_later_transaction(leader):
    """Two batches went on with the first yes; the second one arrives behind the marker."""
    assert produce(leader, 0) is None
    assert produce(leader, 1) is None
    answer_question(leader, 0)
    assert list_errors(leader) == [Errors.NONE] * 2
    end_transaction(leader, committed=True)
    assert produce(leader, 2) is None
    answer_question(leader, 1)
    assert list_errors(leader) == [Errors.NONE] * 2, "it was for the transaction before"
    answer_question(leader, 2)
    assert list_errors(leader) == [Errors.NONE] * 3


def test_whoever_loses_the_partition_refuses_those_that_still_wait(leader):
    assert leader.ask(pl.on_produce, PRODUCE, "app/1") is None
    assert leader.ask(pl.on_produce, PRODUCE, "app/1") is None
    leader.do(pl.on_resigned(leader.role, leader.on).but(state=leader.role))
    assert list_errors(leader) == [Errors.NOT_LEADER_OR_FOLLOWER]


def test_an_answer_that_nobody_here_has_asked_for_changes_nothing(leader):
    """The partition was led elsewhere in between: who asked is gone."""
    before = leader.role
    answer = enlisted(Errors.NONE, "t", 9, 0, ("out-0",))
    leader.do(pl.on_enlisted(leader.role, with_tag(answer, "1"), leader.on))
    assert (leader.role, leader.replies) == (before, [])


def test_a_leader_that_is_told_not_to_verify_appends_at_once(leader):
    leader.settings = leader.settings.but(partition_verification=False)
    assert error_in(produce(leader)) is Errors.NONE
    assert not leader.sent(AddPartitionsToTxn)


def test_enlisting_cannot_be_switched_off(leader):
    leader.settings = leader.settings.but(partition_verification=False)
    assert produce(leader, version=13) is None
    assert not verify(leader, Errors.NONE).transactions[0].verify_only


def test_an_unknown_producer_may_go_on_with_its_sequence_where_the_epoch_lasts(leader):
    """From version 12 on the first sequence has to be 0 (KAFKA-18202)."""
    leader.settings = leader.settings.but(partition_verification=False)
    assert error_in(produce(leader, sequence=7)) is Errors.NONE
    assert error_in(produce(leader, sequence=9)) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_leader_of_a_release_from_before_kip_890_asks_nobody(leader):
    """Release 3.5 has no ReplicaManager.maybeStartTransactionVerificationForPartition."""
    leader.image = {"releases": ((1, "3.5"),)}
    assert error_in(produce(leader)) is Errors.NONE
    assert not leader.sent(AddPartitionsToTxn)
    leader = leader_desk()
    leader.image = {"releases": ((1, "3.6"),)}
    assert produce(leader) is None
    assert leader.sent(AddPartitionsToTxn)


@pytest.mark.parametrize(
    ("release", "error"), [("3.6", None), ("4.4", Errors.INVALID_PRODUCER_EPOCH)]
)
def test_before_kafka_19690_a_batch_of_an_older_epoch_is_put_to_the_coordinator(release, error):
    """From then on UnifiedLog.maybeStartTransactionVerification compares the epoch first."""
    leader = leader_desk()
    end_transaction(leader, epoch=1)
    leader.image = {"releases": ((1, release),)}
    said = produce(leader)
    assert error_in(said) is error
    assert bool(leader.sent(AddPartitionsToTxn)) is (error is None)


@pytest.mark.parametrize(("sequence", "kept"), [(2, False), (1, True)])
def test_a_failed_verification_is_kept_where_it_would_refuse_a_later_batch(sequence, kept):
    """VerificationStateEntry.lowestSequence: no batch is appended before the one with the lowest sequence."""
    leader = leader_desk()
    leader.settings = leader.settings.but(partition_verification=False)
    for each in (0, 1):
        assert error_in(produce(leader, each)) is Errors.NONE
    end_transaction(leader, committed=True)
    leader.settings = leader.settings.but(partition_verification=True)
    assert produce(leader, sequence) is None
    verify(leader, Errors.TRANSACTION_ABORTABLE)
    assert [each.lowest for each in leader.role.verifications] == ([sequence] if kept else [])


def test_a_failed_verification_is_kept_while_another_batch_of_its_producer_waits():
    """ProducerStateManager.clearVerificationStateEntry: an append or a marker removes it, and no refusal does."""
    leader = leader_desk()
    assert produce(leader) is None
    end_transaction(leader)
    assert produce(leader) is None
    refusal = enlisted(Errors.TRANSACTION_ABORTABLE, "t", 9, 0, ("out-0",))
    first, second = (r.tag for r in leader.requests)
    leader.do(pl.on_enlisted(leader.role, with_tag(refusal, first), leader.on))
    assert [each.lowest for each in leader.role.verifications] == [0]
    leader.do(pl.on_enlisted(leader.role, with_tag(refusal, second), leader.on))
    assert leader.role.verifications == ()
    assert list_errors(leader) == [Errors.TRANSACTION_ABORTABLE] * 2


def test_what_a_coordinator_says_too_late_is_shown_beside_what_the_log_says(leader):
    assert produce(leader) is None
    end_transaction(leader)
    verify(leader, Errors.NONE)
    assert ("marker since the request", True) in [(c.name, c.found) for c in leader.checks]
