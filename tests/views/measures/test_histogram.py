"""Histograms of durations, by themselves and of a run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipviz.views.measures import histogram as h
from kipviz.views.measures import proposed_metrics as pm
from tests.scenarios.story import nodes, play_once

DURATIONS = st.lists(st.integers(0, 100_000), min_size=1, max_size=30)


def test_a_percentile_is_one_of_the_durations_by_nearest_rank() -> None:
    durations = (15, 20, 35, 40, 50)
    told = [h.percentile(durations, percent) for percent in (5, 30, 40, 50, 99, 100)]
    assert told == [15, 20, 20, 35, 50, 50]


@given(DURATIONS, st.integers(1, 100))
def test_so_many_in_a_hundred_do_not_exceed_a_percentile(
    durations: list[int], percent: int
) -> None:
    found = h.percentile(durations, percent)
    assert sum(d <= found for d in durations) * 100 >= percent * len(durations)
    assert sum(d < found for d in durations) * 100 < percent * len(durations)


@pytest.mark.parametrize(("durations", "percent"), [((), 50), ((1,), 0), ((1,), 101)])
def test_a_percentile_of_nothing_is_refused(durations: tuple[int, ...], percent: int) -> None:
    with pytest.raises(ValueError, match=f"not {percent} of {len(durations)}"):
        h.percentile(durations, percent)


@given(DURATIONS)
def test_every_duration_is_in_one_bucket(durations: list[int]) -> None:
    assert sum(h.buckets(durations, h.LIMITS_MS)) == len(durations)


def test_a_limit_belongs_to_its_own_bucket() -> None:
    assert h.buckets((5, 6, 10, 51), h.LIMITS_STEPS) == (1, 2, 0, 0, 1)


def test_it_is_told_in_a_line_with_the_buckets_that_have_some() -> None:
    assert h.words((8, 12), timed=False) == (
        "at most 12 steps, p50 8, p99 12; within 10: 1, within 20: 1"
    )
    assert h.words((70_000,), timed=True) == (
        "at most 70000 ms, p50 70000, p99 70000; beyond 60000: 1"
    )


def test_the_residency_is_told_share_partition_by_share_partition() -> None:
    metrics = pm.ProposedMetrics()
    for node in nodes(play_once("kip-1289-several-partitions", "repaired")[0]):
        metrics.observe(node.world, node.events)
    assert {partition: len(took) for partition, took in metrics.residencies.items()} == {
        "src-0": 1,
        "src-1": 1,
        "pay-0": 1,
    }
    told = metrics.card[pm.RESIDENCY]["value"]
    assert told.count("1 resolved, at most ") == 3
    assert told.startswith("src-0: ")
