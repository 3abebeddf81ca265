"""What a leader remembers of batches that were verified in vain: the lowest sequence that came (KAFKA-14920)."""

from __future__ import annotations

import itertools

import pytest

from kipviz.brokers.context import NOBODY
from kipviz.brokers.logs import partition_leader as pl
from kipviz.brokers.logs import verification
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.logs.verification import Verification
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import PartitionProduceData, Produce
from kipviz.messages.message_errors import error_in
from tests.brokers.coordinator_answers import answer_of, enlisted, with_tag
from tests.brokers.transactions.older_desk import (
    RECORD,
    OlderDesk,
    end_transaction,
    leader_desk,
    produce,
)


@pytest.fixture
def leader():
    return leader_desk()


def in_vain(leader, sequence, epoch=0):
    """A batch comes, and the connection to the coordinator breaks before it is verified."""
    request = Produce("t", (PartitionProduceData("out-0", 9, epoch, sequence, RECORD),), 11)
    assert leader.ask(pl.on_produce, request) is None
    (asked,) = leader.requests[-1].message.transactions
    lost = answer_of(asked, Errors.NETWORK_EXCEPTION)
    leader.do(pl.on_enlisted(leader.role, lost, leader.on))
    assert error_in(leader.last) is Errors.NOT_ENOUGH_REPLICAS


def try_batch(leader, sequence, error=Errors.NONE):
    assert produce(leader, sequence) is None
    answer = enlisted(error, "t", 9, 0, ("out-0",))
    leader.do(pl.on_enlisted(leader.role, with_tag(answer, leader.requests[-1].tag), leader.on))
    return error_in(leader.last)


def test_what_comes_behind_a_batch_that_was_verified_in_vain_does_not_go_first(leader):
    """ProducerAppendInfo.checkSequence: KAFKA-14920."""
    in_vain(leader, 0)
    assert try_batch(leader, 1) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert try_batch(leader, 0) is Errors.NONE
    assert error_in(produce(leader, 1)) is Errors.NONE
    assert leader.role.verifications == ()


def test_a_batch_that_the_coordinator_refused_is_remembered_until_a_marker_comes(leader):
    assert try_batch(leader, 5, Errors.TRANSACTION_ABORTABLE) is Errors.TRANSACTION_ABORTABLE
    assert try_batch(leader, 6) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    end_transaction(leader)
    assert leader.role.verifications == ()


@pytest.mark.parametrize(
    ("came", "lowest"),
    [
        (((4, 0), (2, 0), (3, 0)), Verification(9, 0, 2, False)),
        (((4, 0), (7, 1)), Verification(9, 1, 7, False)),
        (((7, 1), (4, 0)), Verification(9, 1, 7, False)),
    ],
)
def test_the_lowest_of_the_newest_epoch_is_remembered(leader, came, lowest):
    for sequence, epoch in came:
        in_vain(leader, sequence, epoch)
    assert leader.role.verifications == (lowest,)


def reject_batch(leader, sequence, epoch=0, version=11, error=Errors.NETWORK_EXCEPTION):
    """A batch of an older or a newer client comes, and it is verified in vain."""
    request = Produce("t", (PartitionProduceData("out-0", 9, epoch, sequence, RECORD),), version)
    assert leader.ask(pl.on_produce, request) is None
    (asked,) = leader.requests[-1].message.transactions
    leader.do(pl.on_enlisted(leader.role, answer_of(asked, error), leader.on))


def take_batch(leader, sequence, epoch=0, version=11):
    """A batch comes, and the coordinator says yes."""
    request = Produce("t", (PartitionProduceData("out-0", 9, epoch, sequence, RECORD),), version)
    if (answer := leader.ask(pl.on_produce, request)) is not None:
        return error_in(answer)
    asked = leader.requests[-1]
    answer = enlisted(Errors.NONE, "t", 9, epoch, ("out-0",))
    leader.do(pl.on_enlisted(leader.role, with_tag(answer, asked.tag), leader.on))
    return error_in(leader.last)


@pytest.fixture
def real(leader):
    """A leader that keeps what came to nothing, as Kafka's does, also where only strangers could tell."""
    leader.settings = leader.settings.but(remembers_verifications=True)
    return leader


def test_the_protocol_of_the_first_request_counts_for_an_older_client_of_the_same_id(real):
    """VerificationStateEntry.supportsEpochBump: a log without the producer wants 0, whoever asks now."""
    reject_batch(real, 0, version=13)
    assert real.role.verifications == (Verification(9, 0, 0, True),)
    assert take_batch(real, 5, epoch=1) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert real.role.verifications == (Verification(9, 1, 5, True),)
    assert take_batch(real, 0, epoch=1) is Errors.NONE


def test_the_protocol_of_the_first_request_counts_for_a_newer_client_of_the_same_id(real):
    """The other way round the log takes any first sequence up to the lowest one that came."""
    reject_batch(real, 3)
    assert take_batch(real, 4, version=13) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert take_batch(real, 3, version=13) is Errors.NONE


def test_the_lowest_sequence_counts_for_an_older_epoch_too(real):
    """An open transaction's next batch is behind what a newer epoch's first batch has left."""
    assert take_batch(real, 0) is Errors.NONE
    assert take_batch(real, 1) is Errors.NONE
    reject_batch(real, 0, epoch=1)
    assert take_batch(real, 2) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_batch_that_nobody_can_verify_is_remembered_too(real):
    """The entry is made before the coordinator is looked for."""
    with_home = real.leaders
    real.leaders = dict.fromkeys(with_home, NOBODY) | {"out-0": with_home["out-0"]}
    assert (
        real.ask(pl.on_produce, Produce("t", (PartitionProduceData("out-0", 9, 0, 0, RECORD),), 11))
        is not None
    )
    real.leaders = with_home
    assert take_batch(real, 1) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_marker_of_the_epoch_that_is_verified_leaves_a_newer_clients_entry_alone(real):
    reject_batch(real, 0, epoch=1, version=13)
    kept = real.role.verifications
    end_transaction(real, epoch=1)
    assert real.role.verifications == kept
    end_transaction(real, epoch=2)
    assert real.role.verifications == ()


def test_a_log_that_knows_the_producer_remembers_a_verification_as_well(real):
    assert take_batch(real, 0) is Errors.NONE
    end_transaction(real)
    reject_batch(real, 1)
    assert real.role.verifications == (Verification(9, 0, 1, False),)
    assert take_batch(real, 1) is Errors.NONE
    assert real.role.verifications == ()


def test_among_clients_of_one_version_only_what_can_refuse_something_is_kept(leader):
    """A leader that need not remember it refuses and takes the same batches."""
    reject_batch(leader, 0, version=13)
    assert leader.role.verifications == ()
    reject_batch(leader, 0, version=11)
    assert leader.role.verifications == (Verification(9, 0, 0, False),)
    assert take_batch(leader, 0) is Errors.NONE


@pytest.mark.parametrize("version", [11, 13])
@pytest.mark.parametrize(
    "tries", list(itertools.product(((0, 0), (1, 0), (0, 1)), (True, False), repeat=2))
)
def test_what_is_forgotten_changes_no_answer_to_clients_of_one_version(real, tries, version):
    """Each course of two batches, taken or refused, and then a third, with the memory and without it."""
    short = OlderDesk(pl, PartitionLeader("out-0", 0), leaders=real.leaders)
    answers = []
    for desk in (real, short):
        said = []
        for (sequence, epoch), yes in (tries[0:2], tries[2:4], ((0, 1), True)):
            if yes:
                said.append(take_batch(desk, sequence, epoch, version))
            else:
                try_it = Produce(
                    "t", (PartitionProduceData("out-0", 9, epoch, sequence, RECORD),), version
                )
                if desk.ask(pl.on_produce, try_it) is None:
                    (asked,) = desk.requests[-1].message.transactions
                    answer = answer_of(asked, Errors.NETWORK_EXCEPTION)
                    desk.do(
                        pl.on_enlisted(desk.role, with_tag(answer, desk.requests[-1].tag), desk.on)
                    )
                said.append(error_in(desk.last))
        answers.append(said)
    assert answers[0] == answers[1]


def test_a_log_that_knows_an_older_epoch_wants_0_of_a_newer_one_by_itself(leader):
    """ProducerAppendInfo.checkSequence: a failed verification of sequence 0 refuses nothing more than that."""
    assert take_batch(leader, 0) is Errors.NONE
    end_transaction(leader)
    reject_batch(leader, 0, epoch=1)
    assert leader.role.verifications == ()
    reject_batch(leader, 1, epoch=1)
    assert leader.role.verifications == (Verification(9, 1, 1, False),)


def test_each_producer_id_has_an_entry_of_its_own():
    """ProducerStateManager.verificationStates."""
    one, other = Verification(9, 0, 3, False), Verification(10, 2, 5, True)
    known = verification.verifying(verification.verifying((), one), other)
    assert known == (one, other)
    assert [verification.verification_of(known, who) for who in (9, 10, 11)] == [one, other, None]
    assert verification.verifying(known, one.but(lowest=1)) == (other, one.but(lowest=1))
    assert verification.without(known, 9) == (other,)
