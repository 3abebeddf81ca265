"""producer.id.expiration.ms: a log forgets a producer, and with it all by which it judged its batches."""

from __future__ import annotations

import pytest

from kipviz.brokers.checks import error_of
from kipviz.brokers.logs import log_timers
from kipviz.brokers.logs import partition_leader as leader
from kipviz.brokers.logs import partition_log as logs
from kipviz.brokers.logs import producer_expiry as expiry
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.brokers.logs.verification import Verification
from kipviz.brokers.timers import ProducerExpiry
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.events import ProducerForgotten
from kipviz.messages.logs.producing import PartitionProduceData, Produce
from kipviz.messages.message_errors import error_in
from kipviz.records.batches import COMMIT, Batch, DataRecord

OUT = "out-0"
TIMER = ProducerExpiry(4, "out-0")


@pytest.fixture
def desk() -> Desk:
    """The leader of out-0, which has three batches of producer 4: sequences 0 to 2 of epoch 1."""
    made = Desk(leader, PartitionLeader(OUT, 0), leaders={OUT: 1}, producer_ids_expire=True)
    for sequence in range(3):
        assert error_in(produce(made, sequence)) is Errors.NONE
    return made


def offset_in(answer) -> int:
    (result,) = answer.partition_responses
    return result.base_offset


def produce(desk: Desk, sequence: int, epoch: int = 1):
    return desk.ask(
        leader.on_produce,
        Produce("", (PartitionProduceData(OUT, 4, epoch, sequence, (DataRecord("x"),)),)),
    )


def forget(desk: Desk) -> None:
    desk.do(log_timers.on_timer(desk.role, TIMER, desk.on))


def batch(log: PartitionLog, pid: int, sequence: int, *, transactional: bool = False) -> Batch:
    records = (DataRecord(f"{pid}/{sequence}"),)
    return Batch(log.end_offset, records, pid, 0, sequence, transactional=transactional)


def put(log: PartitionLog, pid: int, sequence: int, **how: bool) -> PartitionLog:
    return logs.replicate(logs.append(log, batch(log, pid, sequence, **how)))


def test_the_timer_of_a_producer_names_it_and_its_log(desk):
    assert expiry.timers(desk.role, desk.on) == (TIMER,)
    desk.settings = desk.settings.but(producer_ids_expire=False)
    assert expiry.timers(desk.role, desk.on) == ()


def test_what_is_forgotten_is_the_producer_and_not_its_records(desk):
    forget(desk)
    log = desk.logs[OUT]
    assert (len(log.producers), log.end_offset, len(log.batches)) == (0, 3, 3)
    assert desk.events[-1] == ProducerForgotten(OUT, 4)
    assert expiry.timers(desk.role, desk.on) == ()


@pytest.mark.parametrize("sequence", [0, 3, 17])
def test_any_first_sequence_of_a_forgotten_producer_is_taken(desk, sequence):
    """PSM.testPidExpirationTimeout and later: without a current epoch every sequence fits."""
    forget(desk)
    assert error_in(produce(desk, sequence)) is Errors.NONE
    assert error_in(produce(desk, sequence + 2)) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert error_in(produce(desk, sequence + 1)) is Errors.NONE


def test_a_batch_that_comes_again_after_that_is_in_the_log_twice(desk):
    assert offset_in(produce(desk, 2)) == 2, "a duplicate, while it is known"
    forget(desk)
    assert offset_in(produce(desk, 2)) == 3


def test_an_epoch_that_was_fenced_is_taken_after_that(desk):
    assert error_in(produce(desk, 0, epoch=0)) is Errors.INVALID_PRODUCER_EPOCH
    forget(desk)
    assert error_in(produce(desk, 0, epoch=0)) is Errors.NONE


def test_under_transaction_version_2_the_first_sequence_of_a_stranger_is_0(desk):
    forget(desk)
    log, late = desk.logs[OUT], batch(desk.logs[OUT], 4, 3, transactional=True)

    def says(*, bumps: bool) -> Errors:
        verification = Verification(late.producer_id, late.producer_epoch, 4, bumps)
        checks = logs.check_client_batch(
            log, late, desk.rules, verified=True, origin_client=True, verification=verification
        )
        return error_of(checks)

    assert says(bumps=True) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert says(bumps=False) is Errors.NONE, "versions 0 and 1 take it"


def test_a_producer_with_an_open_transaction_is_not_forgotten(desk):
    """PSM.testProducerExpirationWithOngoingTransaction, as isProducerExpired asks it."""
    log = put(PartitionLog(OUT), 5, 0, transactional=True)
    desk.logs[OUT] = log
    assert expiry.timers(desk.role, desk.on) == ()
    marker = Batch(log.end_offset, (), 5, 1, transactional=True, control=COMMIT)
    desk.logs[OUT] = logs.append(log, marker)
    assert expiry.timers(desk.role, desk.on) == (ProducerExpiry(5, "out-0"),)


def test_the_next_leader_has_forgotten_it_as_well():
    log = logs.forget(put(put(PartitionLog(OUT), 4, 0), 5, 0), 4)
    unreplicated = logs.append(log, batch(log, 5, 1))
    found = logs.rebuild(unreplicated)
    assert found.end_offset == 2
    assert found.producers.keys() == (5,)
    assert found.producers == log.producers


def test_what_came_after_the_silence_is_known_to_the_next_leader():
    log = put(logs.forget(put(PartitionLog(OUT), 4, 0), 4), 4, 7)
    again = logs.rebuild(logs.append(log, batch(log, 5, 0)))
    assert again.producers == log.producers
    assert [span.first for span in again.producers[4].batches] == [7]


def test_a_silence_above_the_high_watermark_is_one_for_the_next_leader_too():
    log = put(PartitionLog(OUT), 4, 0)
    ahead = logs.forget(logs.append(log, batch(log, 5, 0)), 4)
    found = logs.rebuild(ahead)
    assert (found.end_offset, len(found.producers)) == (1, 0)


@pytest.mark.parametrize("up_to", [1, 2, 3])
def test_records_that_are_deleted_bring_no_producer_back(up_to):
    log = put(PartitionLog(OUT), 4, 0)
    log = put(logs.forget(put(log, 5, 0), 4), 5, 1)
    kept = logs.delete_records(log, up_to)
    assert kept.producers.keys() == (5,)
    ahead = logs.append(kept, batch(kept, 6, 0))
    assert logs.rebuild(ahead).producers == kept.producers
