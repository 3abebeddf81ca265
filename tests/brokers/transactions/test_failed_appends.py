"""Where min.insync.replicas are not in sync: what fails at once, what waits, what is taken back."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import MarkersOf
from kipviz.brokers.local_calls import MarkerWritten, WriteMarker
from kipviz.brokers.logs import partition_leader as pl
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.logs.partition_log import append, replicate
from kipviz.brokers.transactions import transaction_coordinator as tc
from kipviz.brokers.transactions.transaction_append import unreported_decisions
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.events import TransactionDecided
from kipviz.messages.logs.producing import PartitionProduceData, Produce
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    PartitionResult,
    TxnMarkerResult,
    TxnPartitions,
)
from kipviz.records.batches import Batch, DataRecord
from kipviz.records.transaction_state import Tombstone, TransactionState

S = TransactionState
HOME = "__transaction_state-0"
NEEDS_TWO = (("__transaction_state", 2), ("out", 2))


def desk_of(**image: object) -> Desk:
    """A coordinator whose log needs two replicas, broker 1 and the follower 99."""
    desk = Desk(tc, TransactionCoordinator(HOME, 2), leaders={HOME: 1, "out-0": 3})
    desk.image |= {"min_insync_replicas": NEEDS_TWO, **image}
    return desk


@pytest.fixture
def desk() -> Desk:
    return desk_of()


def follower(desk: Desk, *, up: bool) -> None:
    desk.image["offline"] = () if up else (99,)


def init(desk: Desk, *expected: int):
    return desk.ask(tc.on_init_producer_id, InitProducerId("t", 60_000, *expected))


def add(desk: Desk, version: int = 5):
    request = AddPartitionsToTxn((TxnPartitions("t", 9, 0, ("out-0",)),), version=version)
    answer = desk.ask(tc.on_add_partitions, request)
    return None if answer is None else answer.results[0]


def end(desk: Desk, *, committed: bool = True, epoch: int = 0, version: int = 5):
    return desk.ask(tc.on_end_txn, EndTxn("t", 9, epoch, committed, version))


def transaction_of(desk: Desk):
    return desk.role.transactions["t"]


def give_up(desk: Desk) -> None:
    """Let the oldest append run out of time."""
    timer = tc.timers(desk.role, desk.on)[0]
    done = tc.on_timer(desk.role, timer, desk.on)
    for partition, offset in done.given_up:
        log = desk.logs[partition]
        desk.logs[partition] = log.but(given_up=(*log.given_up, offset))
    desk.do(done)


def test_an_append_without_enough_replicas_fails_at_once_and_leaves_nothing_in_the_log(desk):
    init(desk)
    before = desk.written(HOME)
    follower(desk, up=False)
    assert add(desk).error is Errors.COORDINATOR_NOT_AVAILABLE
    assert desk.written(HOME) == before
    assert (transaction_of(desk).state, transaction_of(desk).pending_state) == (S.EMPTY, None)
    follower(desk, up=True)
    assert add(desk).error is Errors.NONE


def test_a_new_name_keeps_the_producer_id_that_could_not_be_logged(desk):
    follower(desk, up=False)
    refused = init(desk)
    assert (refused.error, refused.producer_id) == (Errors.COORDINATOR_NOT_AVAILABLE, -1)
    follower(desk, up=True)
    answer = init(desk)
    assert (answer.producer_id, answer.producer_epoch, desk.next_producer_id) == (9, 0, 10)


def test_a_commit_that_cannot_be_logged_leaves_the_transaction_open(desk):
    init(desk)
    add(desk)
    follower(desk, up=False)
    refused = end(desk)
    assert (refused.error, refused.producer_id) == (Errors.COORDINATOR_NOT_AVAILABLE, -1)
    assert transaction_of(desk).state is S.ONGOING
    assert not desk.requests, "no marker is sent"
    follower(desk, up=True)
    assert end(desk).error is Errors.NONE


def test_a_completion_that_cannot_be_logged_is_logged_when_the_replicas_are_back(desk):
    init(desk)
    add(desk)
    end(desk)
    follower(desk, up=False)
    written = TxnMarkerResult(9, (PartitionResult("out-0", Errors.NONE),))
    desk.do(tc.on_markers_answered(desk.role, written, MarkersOf(2, "t"), desk.on))
    assert (transaction_of(desk).state, transaction_of(desk).pending_state) == (
        S.PREPARE_COMMIT,
        S.COMPLETE_COMMIT,
    )
    assert init(desk).error is Errors.CONCURRENT_TRANSACTIONS
    follower(desk, up=True)
    desk.do(tc.on_image_changed(desk.role, desk.on))
    assert transaction_of(desk).state is S.COMPLETE_COMMIT


def test_an_append_that_ran_out_of_time_is_taken_back_but_its_record_stays(desk):
    init(desk)
    add(desk)
    desk.instant = False
    assert end(desk) is None
    give_up(desk)
    assert desk.last.error is Errors.COORDINATOR_NOT_AVAILABLE
    assert transaction_of(desk).state is S.ONGOING
    assert desk.written(HOME)[-1].state is S.PREPARE_COMMIT
    assert not desk.events or not isinstance(desk.events[-1], TransactionDecided)


def test_the_next_coordinator_takes_a_given_up_decision_for_what_it_says(desk):
    init(desk)
    add(desk)
    desk.instant = False
    end(desk)
    give_up(desk)
    end(desk)
    give_up(desk)
    next_one = desk_of()
    next_one.role = TransactionCoordinator(HOME, 3, loading=True)
    next_one.logs = {name: replicate(log) for name, log in desk.logs.items()}
    next_one.do(tc.on_loaded(next_one.role, next_one.on))
    assert next_one.events[1:] == [TransactionDecided("t", 9, 0, committed=True)]
    assert transaction_of(next_one).state is S.PREPARE_COMMIT
    assert next_one.requests


def test_a_decision_that_was_overtaken_in_the_log_is_none(desk):
    init(desk)
    add(desk)
    desk.instant = False
    end(desk)
    give_up(desk)
    desk.instant = True
    end(desk, committed=False)
    next_one = desk_of()
    next_one.role = TransactionCoordinator(HOME, 3, loading=True)
    next_one.logs = desk.logs
    next_one.do(tc.on_loaded(next_one.role, next_one.on))
    assert next_one.events == []
    assert transaction_of(next_one).state is S.PREPARE_ABORT


def test_a_given_up_decision_of_a_transactional_id_that_was_forgotten_since_is_no_news(desk):
    init(desk)
    add(desk)
    desk.instant = False
    end(desk)
    give_up(desk)
    log = desk.logs[HOME]
    assert [type(event).__name__ for event in unreported_decisions(log)] == [
        "TransactionMoved",
        "TransactionDecided",
    ]
    assert unreported_decisions(append(log, Batch(log.end_offset, (Tombstone("t"),)))) == ()


@pytest.mark.parametrize(("version", "epochs"), [(1, [1, 1]), (2, [0, 0])])
def test_a_fence_that_could_not_be_logged_does_not_use_up_another_epoch(version, epochs):
    """Below transaction version 2 the bumped epoch stays in memory, and is not bumped again."""
    desk = desk_of()
    desk.image["features"] = desk.on.image.features.but(transaction_version=version)
    init(desk)
    add(desk, version=3 if version < 2 else 5)
    follower(desk, up=False)
    seen = []
    for _ in range(2):
        assert init(desk).error is Errors.COORDINATOR_NOT_AVAILABLE
        seen.append(transaction_of(desk).producer_epoch)
    assert seen == epochs
    follower(desk, up=True)
    assert init(desk).error is Errors.CONCURRENT_TRANSACTIONS
    record = desk.written(HOME)[-1]
    assert (record.state, record.producer_epoch) == (S.PREPARE_ABORT, 1)


def test_whoever_was_to_be_fenced_is_shut_out_though_the_fence_is_not_logged():
    desk = desk_of()
    desk.image["features"] = desk.on.image.features.but(transaction_version=1)
    init(desk)
    add(desk, version=3)
    follower(desk, up=False)
    init(desk)
    assert end(desk, version=4).error is Errors.PRODUCER_FENCED


def leader() -> Desk:
    desk = Desk(pl, PartitionLeader("out-0", 0), leaders={"out-0": 1, HOME: 3})
    desk.image["min_insync_replicas"] = NEEDS_TWO
    return desk


def test_a_leader_without_enough_replicas_takes_no_batch():
    desk = leader()
    follower(desk, up=False)
    answer = desk.ask(
        pl.on_produce, Produce("", (PartitionProduceData("out-0", -1, -1, -1, (DataRecord("a"),)),))
    )
    assert error_in(answer) is Errors.NOT_ENOUGH_REPLICAS
    assert not desk.written("out-0")


def test_a_leader_without_enough_replicas_takes_no_marker():
    desk = leader()
    follower(desk, up=False)
    marker = WriteMarker(None, "out-0", 9, 1, True, 0, 2)
    desk.do(pl.on_write_marker(desk.role, marker, desk.on))
    assert [c.message for c in desk.local] == [
        MarkerWritten(None, "out-0", Errors.NOT_ENOUGH_REPLICAS)
    ]


def test_a_topic_with_fewer_replicas_than_it_needs_needs_all_of_them():
    desk = desk_of(min_insync_replicas=(("out", 3),))
    assert desk.on.image.has_enough_replicas("out-0")
    follower(desk, up=False)
    assert not desk.on.image.has_enough_replicas("out-0")
    assert desk.on.image.has_enough_replicas(HOME)
