"""A producer id that has most of a log is judged like any other, and needs no memory for it."""

import tracemalloc

import pytest

from kipviz.recordings.auditing.audit_evidence import (
    AuditedDecision,
    Latest,
    PartitionEnd,
    PartitionTransaction,
    surroundings,
)
from kipviz.recordings.auditing.audit_rules import findings_together
from kipviz.recordings.auditing.gathered_evidence import GatheredEvidence

PID, COORDINATOR = 7, "__transaction_state-0"
PARTITIONS = ("out-0", "out-1")
SECOND = 1_000


def decision(turn, epoch, committed=True):
    at = turn * SECOND
    return AuditedDecision(
        "app", PID, epoch, committed, PARTITIONS, at, at + 1, at + 2, 60_000, COORDINATOR, turn
    )


def make_held(partition, turn, epoch, committed=True, lasts=3):
    first, ms = turn * 3, turn * SECOND
    return PartitionTransaction(
        partition, PID, epoch, first, ms, first + 1, 2, first + 2, ms + lasts, epoch, committed
    )


def one_producer(transactions, epoch_of, spoilt=()):
    """Make whole transactions, in which `spoilt` ones have a marker of the other kind in the second partition."""
    for partition in PARTITIONS:
        for turn in range(transactions):
            other = turn in spoilt and partition == "out-1"
            yield make_held(partition, turn, epoch_of(turn), committed=not other)
    for turn in range(transactions):
        yield decision(turn, epoch_of(turn))
    last = epoch_of(transactions - 1)
    yield Latest("app", PID, -1, last, "COMPLETE_COMMIT", (), 0, 0, 60_000, COORDINATOR, 10**6)


def around(transactions):
    end = (0, transactions * 3, transactions * SECOND, transactions * SECOND, transactions, 1)
    return surroundings([PartitionEnd(each, 1, *end) for each in (*PARTITIONS, COORDINATOR)], 1)


def judge_evidence(evidence, transactions, pieces_most):
    with GatheredEvidence(pieces_most=pieces_most) as together:
        for each in evidence:
            together.add(each)
        surrounded = around(transactions)
        return [f for each in together.producers() for f in findings_together(each, surrounded)]


# Since transaction version 2 each transaction has an epoch of its own, before all may have the same one.
EPOCHS = pytest.mark.parametrize(
    "epoch_of", [lambda turn: turn, lambda _: 0], ids=["an epoch each", "one epoch"]
)


@EPOCHS
@pytest.mark.parametrize("pieces_most", [1, 50, 10_000])
def test_a_wrong_marker_is_found_among_many_transactions_of_one_producer_id(epoch_of, pieces_most):
    evidence = one_producer(200, epoch_of, spoilt=(3, 150))
    found = judge_evidence(evidence, 200, pieces_most)
    assert [(f.kind, f.partition, f.offset) for f in found] == [
        ("wrong-marker", "out-1", 3 * 3 + 2),
        ("wrong-marker", "out-1", 150 * 3 + 2),
    ]


@EPOCHS
def test_the_memory_of_an_audit_does_not_go_with_the_transactions_of_one_producer_id(epoch_of):
    def peak(transactions):
        tracemalloc.start()
        assert judge_evidence(one_producer(transactions, epoch_of), transactions, 100) == []
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    peak(100)  # what is imported and cached once
    assert peak(800) < 2 * peak(100)


def test_the_temporary_file_is_gone_afterwards(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with GatheredEvidence(pieces_most=1) as together:
        together.add(decision(0, 0))
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())


def test_only_the_producer_ids_of_a_bucket_are_kept():
    latest = Latest("app", 8, PID, 0, "EMPTY", (), 0, 0, 60_000, COORDINATOR, 0)
    kept = []
    for bucket in range(3):
        with GatheredEvidence(bucket, 3) as together:
            together.add(latest)
            kept.append(len(list(together.producers())))
    assert kept == [0, 1, 1]  # 7 is in bucket 1, 8 in bucket 2
