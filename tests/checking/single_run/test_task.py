"""One seeded run: its verdict, its rows, and the same again anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from kipviz.checking.single_run import seeded_run as tasks
from kipviz.checking.single_run.runs import replay
from kipviz.checking.single_run.seeded_run import EventRow, Task, Verdict, moments, rows, run
from kipviz.cluster.model import ClusterModel
from kipviz.core.model import NotEnabled
from kipviz.properties.verdict import BROKEN
from kipviz.scenarios.scenario import PROPERTIES

SMALL, TWO = "kip-1289-small", "kip-1289-two-members"


def first_seed(wanted: str, scenario: str, design: str, faults: str) -> Task:
    """The first seed, from 0, whose verdict names a property ("" for none)."""
    for seed in range(60):
        task = Task(scenario, design, faults, seed)
        verdict = run(task)
        if verdict.status != "error" and verdict.broken == wanted:
            return task
    raise AssertionError(f"no seed under 60 gives {wanted!r} for {scenario} under {design}")


# -- verdicts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("faults", ["calm", "rough"])
def test_the_repaired_design_holds_whatever_the_dice_say(seed: int, faults: str) -> None:
    verdict = run(Task(TWO, "repaired", faults, seed))
    assert (verdict.status, verdict.broken, verdict.step) == ("holds", "", -1)
    assert verdict.transactions > 0
    assert 0 < verdict.steps <= 600


def test_a_run_in_which_a_property_breaks_says_which_one_where_and_why() -> None:
    task = first_seed("atomic", TWO, "finding-D", "rough")
    verdict = run(task)
    assert verdict.status == "breaks"
    assert "delivered again" in verdict.reason or "duplicated" in verdict.reason
    for moment in moments(task):
        finding = PROPERTIES[0].finding(moment.observations[0])
        assert (finding.status == BROKEN) == (moment.step >= verdict.step)


def test_what_is_pending_for_ever_breaks_at_no_step_but_at_the_end() -> None:
    verdict = run(first_seed("no stuck transactions or records", SMALL, "finding-I", "calm"))
    assert (verdict.status, verdict.step) == ("breaks", -1)
    assert (
        verdict.reason
        == "record src-0@100 is TX_PENDING, and no continuation without a new fault resolves it"
    )


def test_a_run_counts_its_committed_transactions() -> None:
    verdict = run(Task(SMALL, "repaired", "calm", 3))
    assert (verdict.status, verdict.transactions) == ("holds", 1)


@pytest.mark.parametrize("steps_max", [0, 1, 17, 600])
def test_a_run_is_no_longer_than_it_may_be(steps_max: int) -> None:
    task = Task(TWO, "repaired", "rough", 1, steps_max)
    verdict = run(task)
    assert verdict.steps == len(list(moments(task)))
    if steps_max < 600:
        assert verdict.steps == steps_max
    whole = list(moments(Task(TWO, "repaired", "rough", 1)))
    assert [m.action for m in moments(task)] == [m.action for m in whole[:steps_max]]


def test_a_run_that_is_cut_off_is_not_blamed_for_what_it_had_no_time_for() -> None:
    cut_off = run(Task(SMALL, "repaired", "calm", 3, 20))
    assert cut_off.status == "holds"


# -- the same again ----------------------------------------------------------------------------

AGAIN = [
    Task(TWO, "repaired", "rough", 5),
    Task(TWO, "as-written", "rough", 2),
    Task(SMALL, "finding-D", "rough", 1),
]
PROGRAM = """
import sys, msgspec
from kipviz.checking.single_run.seeded_run import Task, rows, run
tasks = msgspec.json.decode(sys.stdin.buffer.read(), type=list[Task])
print(msgspec.json.encode([[run(task), list(rows(task))] for task in tasks]).decode())
"""


def elsewhere(hash_seed: str) -> list[Any]:
    """The verdicts and rows of `AGAIN`, made in another process."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=msgspec.json.encode(AGAIN),
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )
    return msgspec.json.decode(done.stdout)


def test_a_task_gives_the_same_verdict_twice_and_in_other_processes() -> None:
    here = [[run(task), list(rows(task))] for task in AGAIN]
    assert [[run(task), list(rows(task))] for task in AGAIN] == here
    plain = msgspec.to_builtins(here)
    assert elsewhere("0") == plain
    assert elsewhere("12345") == plain
    assert len({verdict.fingerprint for verdict, _ in here}) == len(AGAIN)


def test_another_seed_is_another_run() -> None:
    verdicts = [run(Task(TWO, "repaired", "rough", seed)) for seed in range(5)]
    assert len({verdict.fingerprint for verdict in verdicts}) == 5


def test_a_campaigns_run_is_made_again_as_a_trace_with_the_fingerprint_of_its_verdict() -> None:
    for task in AGAIN:
        trace = replay(task).trace.last()
        verdict = run(task)
        assert trace.depth == verdict.steps
        assert trace.world.digest.hex() == verdict.fingerprint


# -- what cannot be run ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        (Task("kip-0", "repaired", "calm", 0), "there is no scenario 'kip-0'; nearest are"),
        (Task(SMALL, "perfect", "calm", 0), "there is no design 'perfect'; nearest are"),
        (Task(SMALL, "repaired+a=b", "calm", 0), "there is no slot 'a'; nearest are"),
        (Task(SMALL, "repaired", "stormy", 0), "there is no fault profile 'stormy'; the profiles"),
        (Task(SMALL, "repaired", "calm", "7"), "a seed must be a whole number, such as 7, not '7'"),
        (
            Task(SMALL, "repaired", "calm", True),
            "a seed must be a whole number, such as 7, not True",
        ),
        (
            Task(SMALL, "repaired", "calm", 0, -1),
            "steps_max must be a whole number of at least 0, not -1",
        ),
        (
            Task(SMALL, "repaired", "calm", 0, 9.5),
            "steps_max must be a whole number of at least 0, not 9.5",
        ),
    ],
)
@pytest.mark.parametrize("use", [run, lambda task: next(iter(rows(task)))])
def test_a_task_that_names_nothing_is_answered_with_one_sentence(
    task: Task, sentence: str, use: Any
) -> None:
    with pytest.raises(ValueError, match=r".") as wrong:
        use(task)
    assert str(wrong.value).startswith(sentence)
    assert "\n" not in str(wrong.value)


@pytest.mark.parametrize(
    "failure", [RuntimeError("two\nlines"), ValueError("no value"), AssertionError(), KeyError("x")]
)
def test_a_model_that_fails_is_a_verdict_and_no_exception(
    failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, steps = ClusterModel.step, iter(range(100))

    def step(self: ClusterModel, world: Any, action: Any) -> Any:
        if next(steps) == 12:
            raise failure
        return real(self, world, action)

    monkeypatch.setattr(ClusterModel, "step", step)
    task = Task(SMALL, "repaired", "calm", 3)
    verdict = run(task)
    assert (verdict.status, verdict.steps, verdict.fingerprint) == ("error", 12, "")
    assert verdict.reason.startswith(f"{type(failure).__name__} at step 13: ")
    assert "\n" not in verdict.reason
    assert verdict.task == task


def test_a_step_that_the_model_offers_and_refuses_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def step(self: ClusterModel, world: Any, action: Any) -> Any:
        raise NotEnabled(action, "it is not")

    monkeypatch.setattr(ClusterModel, "step", step)
    verdict = run(Task(SMALL, "repaired", "calm", 3))
    assert (verdict.status, verdict.steps) == ("error", 0)
    assert "it is not" in verdict.reason


# -- rows --------------------------------------------------------------------------------------

KINDS = {
    "action",
    "message_delivered",
    "output_appended",
    "record_state",
    "run_ended",
    "share_partition_loaded",
    "transaction_decided",
}


def select_rows(task: Task, *kinds: str) -> Iterator[EventRow]:
    return (row for row in rows(task) if row.kind in kinds)


@pytest.mark.parametrize("task", AGAIN, ids=lambda task: f"{task.design}-{task.seed}")
def test_rows_are_whole_in_order_and_end_with_the_end_of_the_run(task: Task) -> None:
    made, verdict = list(rows(task)), run(task)
    assert {row.kind for row in made} <= KINDS
    for row in made:
        assert (row.scenario, row.design, row.faults, row.seed) == (
            task.scenario,
            task.design,
            task.faults,
            task.seed,
        )
        assert msgspec.convert(msgspec.to_builtins(row), EventRow) == row
    assert [row.step for row in made] == sorted(row.step for row in made)
    assert [row.kind for row in made].count("run_ended") == 1
    assert (made[-1].kind, made[-1].step) == ("run_ended", verdict.steps + 1)
    assert [row.step for row in select_rows(task, "action")] == list(range(1, verdict.steps + 1))


@pytest.mark.parametrize("task", AGAIN, ids=lambda task: f"{task.design}-{task.seed}")
def test_rows_carry_what_an_audit_reads(task: Task) -> None:
    for row in select_rows(task, "output_appended"):
        assert (row.source, row.offset >= 100) == ("src-0", True)
        assert row.producer_id >= 0
        assert row.producer_epoch >= 0
    for row in select_rows(task, "transaction_decided"):
        assert row.committed in (0, 1)
        assert row.transactional_id.startswith("my-txn")
        assert row.producer_id >= 0
    for row in select_rows(task, "record_state"):
        assert row.state in ("AVAILABLE", "ACQUIRED", "TX_PENDING", "ACKNOWLEDGED", "ARCHIVED")
        assert row.delivery_count >= 0
        assert row.source == "src-0"


def count_committed(task: Task) -> Counter[int]:
    """How many committed outputs each source record has, counted from the rows alone."""
    decided = {
        (row.producer_id, row.producer_epoch): row.committed
        for row in select_rows(task, "transaction_decided")
    }
    return Counter(
        row.offset
        for row in select_rows(task, "output_appended")
        if decided.get((row.producer_id, row.producer_epoch)) == 1
    )


def test_rows_of_a_run_that_holds_have_one_committed_output_for_each_acknowledged_record() -> None:
    task = Task(TWO, "repaired", "rough", 5)
    assert run(task).status == "holds"
    last = {row.offset: row.state for row in select_rows(task, "record_state")}
    done = sorted(offset for offset, state in last.items() if state == "ACKNOWLEDGED")
    assert done
    counts = count_committed(task)
    assert {counts[offset] for offset in done} == {1}
    assert max(counts.values()) == 1


def test_rows_of_a_run_that_finding_d_breaks_have_a_record_with_two_committed_outputs() -> None:
    for seed in range(60):
        task = Task(TWO, "finding-D", "rough", seed)
        if run(task).broken == "atomic" and max(count_committed(task).values()) > 1:
            break
    else:
        raise AssertionError("no seed under 60 puts a second output out")


def test_rows_of_a_run_that_finding_i_breaks_leave_a_record_pending() -> None:
    task = first_seed("no stuck transactions or records", SMALL, "finding-I", "calm")
    assert [row.state for row in select_rows(task, "record_state")][-1] == "TX_PENDING"
    assert count_committed(task) == {100: 1}


def test_a_verdict_and_its_rows_agree_on_the_transactions() -> None:
    for task in AGAIN:
        decided = sum(row.committed == 1 for row in select_rows(task, "transaction_decided"))
        assert run(task).transactions <= decided


def test_a_verdict_travels_as_plain_data() -> None:
    verdict = run(Task(SMALL, "finding-I", "calm", 0))
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict) == verdict
    assert tasks.model_of(verdict.task).spec.budget == replay(verdict.task).budget
