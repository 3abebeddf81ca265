"""A rate like that of Kafka's clients: events a second, over samples of one window each.

Source: Rate, SampledStat; metrics.sample.window.ms is 30 s and metrics.num.samples 2 unless they are set.
"""

from __future__ import annotations

WINDOW_MS = 30_000
SAMPLES = 2


class Rate:
    """The rate of an event.

    A new rate is computed as if all windows but the last were over, so it is never too high at first. Events older than
    all windows together are dropped.
    """

    def __init__(self) -> None:
        """Start without events."""
        self._samples: list[tuple[int, int, int]] = []

    def record(self, now_ms: int) -> None:
        """Count one event; a sample that is one window old gets a successor."""
        if not self._samples or now_ms - self._samples[-1][0] >= WINDOW_MS:
            self._samples = [*self._samples[-SAMPLES:], (now_ms, now_ms, 0)]
        start, _, count = self._samples[-1]
        self._samples[-1] = (start, now_ms, count + 1)

    def per_second(self, now_ms: int) -> float:
        """Return the rate at a time that is not before the last event."""
        kept = [s for s in self._samples if now_ms - s[1] < SAMPLES * WINDOW_MS]
        elapsed = now_ms - min((start for start, _, _ in kept), default=now_ms)
        missing = max(SAMPLES - 1 - elapsed // WINDOW_MS, 0)
        return sum(count for _, _, count in kept) * 1_000 / (elapsed + missing * WINDOW_MS)
