"""Beats of a rolling restart, which stories of several KIPs have in common."""

from __future__ import annotations

from kipviz.scenarios.material import Checkpoint

BROKERS_DIFFER = Checkpoint("saw brokers of different binaries in one cluster", "brokers differ")
ONE_BINARY = Checkpoint("saw the last broker get the new binary", "one binary")


def restarted(brokers: tuple[int, ...], release: str) -> tuple[str, ...]:
    """Give the instructions that stop brokers one after the other and start them with a binary."""
    steps: tuple[str, ...] = ()
    for broker in brokers:
        steps += (f"B{broker} is stopped for {release}", "quiet", f"B{broker} starts", "quiet")
    return steps
