"""The options of KIP-1309's slots: which transactions are aborted without heartbeats, and after how long."""

from __future__ import annotations

from kipviz.designs.conditions import has_heartbeats
from kipviz.designs.slot import DRAFT, OURS, SHIPPED, Option, Slot

# -- liveness: Which transactions are aborted after three intervals without a heartbeat? ------------


def not_in_two_phases(two_phase: bool) -> bool:
    """All except those of a two-phase commit, which must outlive their owner."""
    return not two_phase


def every_transaction(two_phase: bool) -> bool:
    """All: the text makes no exception."""
    return True


def no_transaction(two_phase: bool) -> bool:
    """None: the only time limit is transaction.timeout.ms."""
    return False


# -- silence: For how long may the owner of a transaction be silent? -------------------------------


def three_intervals(told_ms: int) -> int:
    """For three times the reported interval of its heartbeats."""
    return 3 * told_ms


def one_session_timeout(told_ms: int) -> int:
    """For the reported timeout of its session."""
    return told_ms


LIVENESS_SLOTS: tuple[Slot, ...] = (
    Slot(
        "liveness",
        "Which transactions are aborted after three intervals without a heartbeat?",
        "KIP-1309",
        True,
        (
            Option("not_in_two_phases", not_in_two_phases, OURS, "KIP-1309 and KIP-939 together"),
            Option("every_transaction", every_transaction, DRAFT, "KIP-1309 (draft)"),
            Option("no_transaction", no_transaction, SHIPPED, "transaction.timeout.ms, 4.4.0"),
        ),
        has_heartbeats,
        written="no_transaction",
    ),
    Slot(
        "silence",
        "For how long may the owner of a transaction be silent?",
        "KIP-1309",
        True,
        (
            Option(
                "three_intervals",
                three_intervals,
                DRAFT,
                "KIP-1309, transaction.heartbeat.interval.ms, 0 is off",
            ),
            Option(
                "one_session_timeout",
                one_session_timeout,
                DRAFT,
                "KIP-1310 2.2, transaction.session.timeout.ms, -1 is off",
            ),
        ),
        has_heartbeats,
    ),
)
