"""How state batches are merged: a join per offset, and an overwrite for decisions."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipviz.records.share_group_state import RecordState, StateBatch, clip, merge, replace

AVL, ACK, ARCHIVING, ARCH = (
    RecordState.AVAILABLE,
    RecordState.ACKNOWLEDGED,
    RecordState.ARCHIVING,
    RecordState.ARCHIVED,
)


def batch(first, last, state=AVL, count=1):
    return StateBatch(first, last, RecordState(state), count)


# PersisterStateBatchCombinerTest: stored, new, start offset, result
VECTORS = [
    (
        [batch(100, 110)],
        [batch(100, 105, AVL, 2)],
        -1,
        [batch(100, 105, AVL, 2), batch(106, 110)],
    ),
    (
        [batch(111, 120)],
        [batch(111, 113, AVL, 2), batch(114, 114, ACK, 1), batch(115, 119, AVL, 2)],
        -1,
        [
            batch(111, 113, AVL, 2),
            batch(114, 114, ACK, 1),
            batch(115, 119, AVL, 2),
            batch(120, 120),
        ],
    ),
    (
        [batch(121, 130)],
        [batch(111, 119, ACK, 2), batch(116, 123, ACK, 2)],
        120,
        [batch(120, 123, ACK, 2), batch(124, 130)],
    ),
    ([batch(11, 20, ARCH, 1)], [batch(0, 20)], 5, [batch(5, 10), batch(11, 20, ARCH, 1)]),
    # A stale write cannot undo newer state; an equal count cannot undo a higher state.
    ([batch(0, 9, ACK, 3)], [batch(0, 9, AVL, 2)], -1, [batch(0, 9, ACK, 3)]),
    ([batch(0, 9, ACK, 1)], [batch(0, 9, AVL, 1)], -1, [batch(0, 9, ACK, 1)]),
    ([batch(0, 9, ARCHIVING, 1)], [batch(0, 9, ARCH, 1)], -1, [batch(0, 9, ARCH, 1)]),
    # Neighbours that are equal become one; gaps stay.
    ([batch(0, 4)], [batch(5, 9)], -1, [batch(0, 9)]),
    ([batch(0, 4)], [batch(6, 9)], -1, [batch(0, 4), batch(6, 9)]),
    ([batch(0, 9)], [], 10, []),
    ([], [], -1, []),
]


@pytest.mark.parametrize(("stored", "new", "start", "result"), VECTORS)
def test_batches_are_joined_as_kafka_joins_them(stored, new, start, result):
    assert merge(tuple(stored), tuple(new), start) == tuple(result)


def test_a_state_5_kept_in_the_join_could_never_be_decided():
    """Finding X15: that is why transactional acknowledgements are kept apart and decisions overwrite."""
    staged = (batch(0, 0, RecordState.TX_PENDING, 1),)
    assert merge(staged, (batch(0, 0, ACK, 1),), -1) == staged
    assert replace(staged, (batch(0, 0, ACK, 1),), -1) == (batch(0, 0, ACK, 1),)


batches = st.lists(
    st.builds(
        lambda first, more, state, count: batch(first, first + more, state, count),
        st.integers(0, 15),
        st.integers(0, 6),
        st.sampled_from([0, 2, 4]),
        st.integers(1, 3),
    ),
    max_size=4,
)


def by_offset(stored, new, start, *, always):
    best = {}
    for at, b in enumerate(stored + new):
        for offset in range(max(b.first, start), b.last + 1):
            rank = (b.delivery_count, b.state)
            if offset not in best or best[offset] < rank or (always and at >= len(stored)):
                best[offset] = rank
    return best


@given(batches, batches, st.integers(-1, 12), st.booleans())
def test_per_offset_the_highest_rank_wins_or_the_newest(stored, new, start, always):
    kept = merge((), tuple(stored), -1)
    found = (replace if always else merge)(kept, tuple(new), start)
    expected = by_offset(kept, tuple(new), start, always=always)
    ranks = {o: (b.delivery_count, b.state) for b in found for o in range(b.first, b.last + 1)}
    assert ranks == expected
    for one, other in itertools.pairwise(found):
        assert one.last < other.first
        touching = one.last + 1 == other.first
        assert not (
            touching and (one.state, one.delivery_count) == (other.state, other.delivery_count)
        )


@given(batches, batches, batches)
def test_the_join_does_not_depend_on_the_order_of_writes(one, other, third):
    stored = merge((), tuple(third), -1)
    first = merge(merge(stored, tuple(one), -1), tuple(other), -1)
    assert first == merge(merge(stored, tuple(other), -1), tuple(one), -1)
    assert merge(first, tuple(one), -1) == first


def test_what_lies_below_the_start_offset_is_clipped():
    assert clip((batch(0, 4), batch(5, 9), batch(10, 12)), 7) == (batch(7, 9), batch(10, 12))
    assert clip((batch(0, 4),), -1) == (batch(0, 4),)
