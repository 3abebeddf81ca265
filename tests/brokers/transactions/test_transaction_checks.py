"""What a transaction coordinator compares: each check by itself, with what was asked and what is known."""

from __future__ import annotations

import pytest

from kipviz.brokers.checks import Check, error_of
from kipviz.brokers.transactions import transaction_checks as tx
from kipviz.brokers.transactions.transaction_append import answer_add
from kipviz.brokers.transactions.transaction_metadata import TransactionMetadata
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.group_transactions import InitProducerIdOfGroup
from kipviz.messages.transactions.transactions import (
    AddOffsetsToTxn,
    EndTxn,
    InitProducerId,
    TxnPartitions,
)
from kipviz.records.transaction_state import EPOCH_MAX, LAST_CLIENT_EPOCH, TransactionState

S = TransactionState
E = Errors
OPEN = TransactionMetadata("t", 9, 4, S.ONGOING, partitions=("out-0",))


def row(check: Check) -> tuple[object, ...]:
    return check.name, check.asked, check.found, check.error


def test_a_transactional_id_is_compared_with_the_one_that_the_coordinator_knows() -> None:
    assert row(tx.is_known(OPEN, "t")) == ("transactional id", "t", "t", E.NONE)
    unknown = ("transactional id", "u", None, E.INVALID_PRODUCER_ID_MAPPING)
    assert row(tx.is_known(None, "u")) == unknown


def test_only_who_adds_partitions_is_shown_those_that_are_there() -> None:
    added = tx.add_partitions_checks(OPEN, TxnPartitions("t", 9, 4, ("out-1",)))
    assert row(added[-1]) == ("partitions", ("out-1",), ("out-0",), E.NONE)
    offsets = tx.add_partitions_checks(OPEN, AddOffsetsToTxn("t", 9, 4, "g"))
    assert offsets == added[:-1]


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize(("committed", "asked"), [(True, "COMMIT"), (False, "ABORT")])
def test_an_end_is_compared_by_what_it_asks_for(version: int, committed: bool, asked: str) -> None:
    checks = (tx.end_txn_checks if version == 5 else tx.end_txn_checks_below_5)(
        OPEN, EndTxn("t", 9, 4, committed, version)
    )
    assert row(checks[-1]) == ("state", asked, S.ONGOING, E.NONE)


def test_a_group_s_producer_expects_no_epoch_whatever_it_names() -> None:
    stale = InitProducerId("t", producer_id=9, producer_epoch=1)
    assert error_of(tx.identity_checks(OPEN, stale)) is E.PRODUCER_FENCED
    of_group = InitProducerIdOfGroup("t", producer_id=9, producer_epoch=1, group_id="g")
    assert tx.identity_checks(OPEN, of_group) == ()


def test_an_end_from_before_the_producer_id_was_rotated_does_not_end_the_next_transaction() -> None:
    known = OPEN.but(producer_epoch=0, state=S.PREPARE_COMMIT, previous_producer_id=8)
    late = EndTxn("t", 8, LAST_CLIENT_EPOCH, True)
    assert error_of(tx.end_txn_checks(known, late)) is E.PRODUCER_FENCED
    complete = known.but(state=S.COMPLETE_COMMIT)
    assert error_of(tx.end_txn_checks(complete, late)) is E.NONE


def test_only_the_commit_of_an_open_transaction_that_nobody_keeps_wastes_a_producer_id() -> None:
    """KAFKA-20090: the epoch after 32767 is none."""
    last = OPEN.but(producer_epoch=EPOCH_MAX)
    commit = EndTxn("t", 9, EPOCH_MAX, True)
    assert tx.wastes_producer_id(last, commit)
    kept = last.but(next_producer_id=9, next_producer_epoch=EPOCH_MAX)
    assert kept.is_kept
    for known in (last.but(state=S.EMPTY), last.but(producer_epoch=4), kept):
        assert not tx.wastes_producer_id(known, commit)
    assert not tx.wastes_producer_id(last, commit.but(committed=False))


@pytest.mark.parametrize(
    ("producer_id", "epoch", "error"),
    [
        (9, 4, E.NONE),
        (8, LAST_CLIENT_EPOCH, E.NONE),
        (8, 4, E.PRODUCER_FENCED),
        (7, LAST_CLIENT_EPOCH, E.PRODUCER_FENCED),
    ],
)
def test_a_producer_is_expected_by_its_id_or_by_the_one_that_it_exhausted(
    producer_id: int, epoch: int, error: Errors
) -> None:
    known = OPEN.but(previous_producer_id=8)
    request = InitProducerId("t", producer_id=producer_id, producer_epoch=epoch)
    assert error_of(tx.init_producer_id_checks(known, request)) is error


def test_the_partitions_that_are_in_the_transaction_are_named_only_where_others_are_missing() -> (
    None
):
    """KIP-890 part 1: TRANSACTION_ABORTABLE is for those that are not in it."""
    request = TxnPartitions("t", 9, 4, ("out-0", "out-1"), verify_only=True)

    def errors(error: Errors, known: TransactionMetadata | None = OPEN) -> list[Errors]:
        return [r.error for r in answer_add(error, request, 5, known).results[0].results]

    assert errors(E.TRANSACTION_ABORTABLE) == [E.NONE, E.TRANSACTION_ABORTABLE]
    for error in (E.NONE, E.CONCURRENT_TRANSACTIONS):
        assert errors(error) == [error, error]
    unmapped = E.INVALID_PRODUCER_ID_MAPPING
    assert errors(unmapped, None) == [unmapped, unmapped]
