"""Which rules fired in a campaign, and which never did."""

from __future__ import annotations

import pytest

from kipviz.checking.judging.coverage import Coverage, Fired, coverage_of
from kipviz.checking.single_run.seeded_run import Task
from kipviz.cluster.dispatch import HANDLERS


def tasks(faults: str, runs: int = 3) -> list[Task]:
    return [Task("kip-1289-small", "repaired", faults, seed) for seed in range(runs)]


def times(coverage: Coverage, role: str, rule: str, guard: str = "") -> int:
    return sum(r.times for r in coverage.rows() if (r.role, r.rule, r.guard) == (role, rule, guard))


def test_before_any_run_every_rule_is_one_that_never_fired() -> None:
    coverage = coverage_of(())
    assert coverage.never() == coverage.rows()
    assert {row.rule for row in coverage.rows()} > {m.__name__ for m in HANDLERS}


def test_a_calm_campaign_never_fires_the_rules_for_accidents() -> None:
    coverage = coverage_of(tasks("calm"))
    never = {(row.role, row.rule) for row in coverage.never()}
    assert {("action", "CrashBroker"), ("action", "ExpireLock")} < never
    assert ("group_coordinator", "TxnOffsetCommit") in never
    assert times(coverage, "transaction_coordinator", "EndTxn") > 0


def test_a_rule_is_told_apart_by_what_it_answered() -> None:
    coverage = coverage_of(tasks("hostile", 6))
    answers = [r for r in coverage.rows() if r.guard and r.role not in ("slot", "action")]
    assert {"NONE"} < {r.guard for r in answers}
    assert len(answers) > len({r.rule for r in answers})
    for row in coverage.rows():
        if row.role == "slot" and row.guard:
            assert row.times <= times(coverage, "slot", row.rule)


def test_the_same_campaign_has_the_same_table() -> None:
    one, other = coverage_of(tasks("rough")), coverage_of(tasks("rough"))
    assert one.lines() == other.lines()
    assert any(line.endswith("never") for line in one.lines())


def test_counting_can_be_ended_early() -> None:
    assert (
        coverage_of(tasks("calm"), lambda done: done < 1).rows()
        == coverage_of(tasks("calm", 1)).rows()
    )


def test_a_task_that_names_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no scenario"):
        coverage_of([Task("kip-0", "repaired", "calm", 0)])
    assert Fired("slot", "lock_expiry", "", 1) == Fired("slot", "lock_expiry", "", 1)
