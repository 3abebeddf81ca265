"""A property states what a violation costs beside its reason: the reason can be reworded, and nothing reads it."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.checking.search.liveness import FOR_EVER, settle
from kipviz.checking.single_run import seeded_run
from kipviz.checking.single_run.seeded_run import Task, run
from kipviz.core.table import Table
from kipviz.properties import atomic
from kipviz.properties.agreement import Agreement, Stores
from kipviz.properties.atomic import Atomic, Ledger
from kipviz.properties.harm import Harm
from kipviz.properties.verdict import BROKEN, HOLDS, Finding


def test_a_finding_has_what_the_violation_costs() -> None:
    assert Atomic().finding(Ledger(Table.of())) == Finding(HOLDS)
    found = Atomic().finding(Ledger(Table.of()).add_violation("b has two outputs", Harm.DUPLICATE))
    assert found == Finding(BROKEN, "b has two outputs", Harm.DUPLICATE)
    torn = Stores(torn="a is in the database only", harm=Harm.LOSS)
    assert Agreement().finding(torn) == Finding(BROKEN, torn.torn, Harm.LOSS)


@pytest.mark.parametrize(
    "task",
    [
        Task("kip-1289-small-members", "as-written", "rough", 0, 300),  # a record is lost
        Task("kip-1310-unlisted-setting", "repaired", "rough", 0, 300),  # a database in doubt
    ],
    ids=lambda task: task.scenario,
)
def test_other_words_of_a_reason_leave_the_program_at_fault(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(task).status == seeded_run.PROGRAM

    def other_words(ledger: Ledger, reason: str, harm: Harm | None = None) -> Ledger:
        return ledger.but(broken="something is wrong", harm=harm)

    def settled(*arguments: Any) -> Any:
        found = settle(*arguments)
        return found.but(what="something waits") if found.answer == FOR_EVER else found

    monkeypatch.setattr(atomic.Ledger, "add_violation", other_words)
    monkeypatch.setattr(seeded_run, "settle", settled)
    verdict = run(task)
    assert verdict.status == seeded_run.PROGRAM
    assert verdict.reason.startswith("something ")
