"""PartitionsWithLateTransactionsCount: transactions that are open longer than any may be (KIP-664)."""

from __future__ import annotations

import pytest

from kipviz.messages.events import BatchAppended, TimePassed
from kipviz.records.batches import ABORT
from kipviz.views.measures.metrics import LATE, LATE_AFTER_MS, Metrics

LONGEST = 900_000
LATE_FROM = LONGEST + LATE_AFTER_MS


def make_batch(producer_id: int, control: str = "", partition: str = "out-0") -> BatchAppended:
    return BatchAppended(partition, 0, (), producer_id, 0, control)


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(longest_ms=LONGEST)


def late(metrics: Metrics) -> int:
    return int(metrics.card[LATE]["value"])


def test_a_partition_is_late_when_its_oldest_transaction_is_open_too_long(metrics: Metrics) -> None:
    metrics.observe((make_batch(9), TimePassed(LATE_FROM)))
    assert late(metrics) == 0, "20 min are not longer than 20 min"
    metrics.observe((TimePassed(1),))
    assert late(metrics) == 1
    metrics.observe((make_batch(9, ABORT),))
    assert late(metrics) == 0


def test_who_writes_again_is_not_late_and_only_the_oldest_one_counts(metrics: Metrics) -> None:
    metrics.observe((make_batch(9), TimePassed(LONGEST), make_batch(7), make_batch(9)))
    metrics.observe((TimePassed(LATE_FROM),))
    assert late(metrics) == 0
    metrics.observe((make_batch(9), TimePassed(1)))
    assert late(metrics) == 0, "producer id 7 is late, but the oldest transaction is of 9"
    metrics.observe((make_batch(9, ABORT),))
    assert late(metrics) == 1


def test_each_partition_counts_once_and_what_has_no_producer_never(metrics: Metrics) -> None:
    metrics.observe(
        (
            make_batch(9),
            make_batch(7),
            make_batch(9, partition="out-1"),
            make_batch(-1, partition="log-0"),
        )
    )
    metrics.observe((TimePassed(LATE_FROM + 1),))
    assert late(metrics) == 2


def test_without_a_timed_clock_nobody_can_say() -> None:
    assert LATE not in Metrics().card
