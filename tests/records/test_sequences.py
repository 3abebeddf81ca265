"""Sequence numbers begin again at 0 behind 2147483647, within a batch, too."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipviz.records.sequences import (
    SEQUENCE_MAX,
    as_java_int,
    last_sequence,
    sequence_after,
)

SEQUENCES = st.integers(0, SEQUENCE_MAX)
COUNTS = st.integers(1, 100_000)


def increment_sequence(sequence: int, increment: int) -> int:
    """DefaultRecordBatch.incrementSequence, as its text says it."""
    if sequence > SEQUENCE_MAX - increment:
        return increment - (SEQUENCE_MAX - sequence) - 1
    return sequence + increment


def decrement_sequence(sequence: int, decrement: int) -> int:
    """DefaultRecordBatch.decrementSequence, as its text says it."""
    if sequence < decrement:
        return SEQUENCE_MAX - (decrement - sequence) + 1
    return sequence - decrement


@given(SEQUENCES, COUNTS)
def test_a_sequence_goes_on_and_back_as_kafkas_does(sequence: int, count: int) -> None:
    after = sequence_after(sequence, count)
    assert after == increment_sequence(sequence, count)
    assert decrement_sequence(after, count) == sequence


@pytest.mark.parametrize(
    ("base", "count", "last"),
    [(0, 1, 0), (2_147_483_637, 20, 8), (SEQUENCE_MAX, 1, SEQUENCE_MAX), (-1, 3, -1)],
)
def test_the_last_sequence_of_a_batch_wraps_within_it(base: int, count: int, last: int) -> None:
    assert last_sequence(base, count) == last


@pytest.mark.parametrize(
    ("number", "known"),
    [(7, 7), (-1, -1), (SEQUENCE_MAX, SEQUENCE_MAX), (SEQUENCE_MAX + 1, -SEQUENCE_MAX - 1)],
)
def test_a_sum_of_java_ints_becomes_negative_behind_the_largest(number: int, known: int) -> None:
    assert as_java_int(number) == known
