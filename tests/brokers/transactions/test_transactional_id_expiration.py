"""transactional.id.expiration.ms: a name that nobody uses is forgotten."""

from __future__ import annotations

import pytest

from kipviz.brokers.timers import TransactionalIdExpiry
from kipviz.brokers.transactions import transaction_coordinator as tc
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.events import TransactionForgotten
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    TxnPartitions,
)
from kipviz.records.transaction_state import Tombstone, TransactionState

HOME = "__transaction_state-0"
TIMER = TransactionalIdExpiry("t")


@pytest.fixture
def desk():
    leaders = {HOME: 1, "out-0": 3}
    coordinator = TransactionCoordinator(HOME, 2)
    return Desk(tc, coordinator, leaders=leaders, transactional_ids_expire=True)


def init(desk):
    return desk.ask(tc.on_init_producer_id, InitProducerId("t"))


def timers(desk):
    return tc.timers(desk.role, desk.on)


def expire(desk):
    desk.do(tc.on_timer(desk.role, TIMER, desk.on))


def test_a_name_that_nobody_uses_is_forgotten_with_a_tombstone(desk):
    init(desk)
    assert timers(desk) == (TIMER,)
    expire(desk)
    assert desk.written(HOME)[-1] == Tombstone("t")
    assert len(desk.role.transactions) == 0
    assert desk.events[-1] == TransactionForgotten("t")
    assert timers(desk) == ()


def test_only_what_is_empty_or_complete_expires(desk):
    init(desk)
    desk.ask(tc.on_add_partitions, AddPartitionsToTxn((TxnPartitions("t", 9, 0, ("out-0",)),)))
    assert timers(desk) == (), "ONGOING"
    desk.ask(tc.on_end_txn, EndTxn("t", 9, 0, True))
    assert timers(desk) == (), "PREPARE_COMMIT waits for its markers, however long"


def test_without_the_setting_nothing_expires(desk):
    desk.settings = desk.settings.but(transactional_ids_expire=False)
    init(desk)
    assert timers(desk) == ()


def test_nobody_uses_a_name_while_its_tombstone_is_on_the_way(desk):
    init(desk)
    desk.instant = False
    expire(desk)
    assert desk.role.transactions["t"].pending_state is TransactionState.DEAD
    assert init(desk).error is Errors.CONCURRENT_TRANSACTIONS
    desk.replicate()
    assert "t" not in desk.role.transactions


def test_whoever_still_has_the_old_identity_is_unknown_and_the_next_one_is_new(desk):
    init(desk)
    expire(desk)
    late = desk.ask(
        tc.on_add_partitions, AddPartitionsToTxn((TxnPartitions("t", 9, 0, ("out-0",)),))
    )
    assert error_in(late) is Errors.INVALID_PRODUCER_ID_MAPPING
    fresh = init(desk)
    assert (fresh.producer_id, fresh.producer_epoch) == (10, 0)


def test_the_next_coordinator_reads_the_tombstone(desk):
    init(desk)
    expire(desk)
    desk.role = TransactionCoordinator(HOME, 3, loading=True)
    desk.do(tc.on_loaded(desk.role, desk.on))
    assert len(desk.role.transactions) == 0
