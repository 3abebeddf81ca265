"""A rate as in Kafka's clients: over samples of 30 s, and what is old is forgotten."""

from __future__ import annotations

import pytest

from kipviz.views.measures.rates import Rate


def rate(*events_ms: int) -> Rate:
    told = Rate()
    for at in events_ms:
        told.record(at)
    return told


@pytest.mark.parametrize(
    ("events", "now", "per_second"),
    [
        ((), 5_000, 0),
        ((0,), 0, 1 / 30),  # as if a window were over
        ((0, 0, 0), 15_000, 3 / 45),  # one window is lacking, and is added
        ((0, 10_000), 40_000, 2 / 40),
        ((0, 31_000), 59_000, 2 / 59),
        (
            (0, 31_000),
            60_000,
            1 / 59,
        ),  # the first sample is 60 s old: forgotten, one window is added
        ((0,), 60_000, 0),
        ((0, 30_000, 60_000, 90_000), 95_000, 2 / 35),
    ],
)
def test_a_rate_is_what_kafkas_client_would_tell(events, now, per_second):
    assert rate(*events).per_second(now) == pytest.approx(per_second)
