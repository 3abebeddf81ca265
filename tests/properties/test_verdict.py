"""The words of a verdict: tables of campaigns, saved runs and --json have them, and are read by them."""

from __future__ import annotations

from kipviz.properties.atomic import Atomic
from kipviz.properties.pending import NothingPending
from kipviz.properties.verdict import Finding
from kipviz.records.transaction_state import TransactionState
from tests.properties.history import decision, findings, output, transaction

COMMIT = decision(committed=True)


def test_a_verdict_is_holds_pending_or_broken() -> None:
    start, *_, once, twice = findings(Atomic(), output(100), COMMIT, (output(100), COMMIT))
    due = findings(NothingPending(), transaction(TransactionState.ONGOING))[-1]
    assert start == once == Finding("holds")
    assert [once.status, due.status, twice.status] == ["holds", "pending", "broken"]
