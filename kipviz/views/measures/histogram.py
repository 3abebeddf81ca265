"""A histogram of durations: their number, their percentiles, and how many lie within each limit.

KIP-1289 has two: the latency of stagings, of which it wants the p99, and the time in TX_PENDING, for each
share-partition, "useful for diagnosing slow producers" (deferred). On a timed clock the limits are durations of the
protocol; without one, steps are counted.
"""

from __future__ import annotations

from collections.abc import Sequence

# A round trip, the coordinator's scan, group.share.record.lock.duration.ms, transaction.timeout.ms.
LIMITS_MS = (1_000, 10_000, 30_000, 60_000)
LIMITS_STEPS = (5, 10, 20, 50)
PERCENTILES = (50, 99)


def percentile(durations: Sequence[int], percent: int) -> int:
    """Return the smallest duration that `percent` % of them do not exceed (nearest rank).

    Raises:
        ValueError: if there are none, or `percent` is not from 1 to 100.
    """
    if not durations or not 1 <= percent <= 100:
        raise ValueError(
            f"a percentile must be from 1 to 100, and of at least one duration, not {percent} of {len(durations)}"
        )
    rank = -(-percent * len(durations) // 100)
    return sorted(durations)[rank - 1]


def buckets(durations: Sequence[int], limits: Sequence[int]) -> tuple[int, ...]:
    """Return how many lie within each limit and not within the previous one; the last number is beyond all limits."""
    found = [0] * (len(limits) + 1)
    for duration in durations:
        found[sum(duration > limit for limit in limits)] += 1
    return tuple(found)


def words(durations: Sequence[int], *, timed: bool) -> str:
    """Render it in one line: "at most 12 steps, p50 8, p99 12; within 10: 1, within 20: 1"."""
    unit, limits = ("ms", LIMITS_MS) if timed else ("steps", LIMITS_STEPS)
    counts = buckets(durations, limits)
    names = (*(f"within {limit}" for limit in limits), f"beyond {limits[-1]}")
    filled = ", ".join(f"{name}: {n}" for name, n in zip(names, counts, strict=True) if n)
    ranks = ", ".join(f"p{p} {percentile(durations, p)}" for p in PERCENTILES)
    return f"at most {max(durations)} {unit}, {ranks}; {filled}"
