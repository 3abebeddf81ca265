"""A share group, an output and a database in one transaction: what holds, whoever crashes and when."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.verdicts import judge, property_named
from kipviz.checking.search.search_result import Bounds
from kipviz.designs.catalogue import design
from kipviz.properties.verdict import BROKEN, HOLDS
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.studies.counting import databases
from kipviz.studies.counting.databases import APART, HASTY, PROMPT, run
from kipviz.studies.library import study
from kipviz.studies.study import answer
from tests.scenarios.story import committed_outputs, play_once, states_of

FLUSHES = "repaired+prepare_waits=for_batches_alone"
REPAIRED_WORDS, FLUSHES_WORDS, IN_MEMORY_WORDS = (words for words, _, _ in databases.RIVALS)
PROPERTY_NAMES = ("stores agree", "atomic", "no stuck transactions or records")


@pytest.mark.parametrize("schedule", [PROMPT, HASTY])
def test_a_run_ends_with_the_record_in_all_three_places(schedule: str) -> None:
    trace = run(searched_scenario(APART).model(design("repaired")), schedule)
    assert committed_outputs(trace.world) == {"src-0@100": 1}
    app = trace.world.applications["app-1"]
    assert app.others["database"].rows == ("src-0@100",)
    assert str(app.others["database"].prepared_txn_state) == "9:0"


@pytest.fixture(scope="module")
def counted() -> dict[tuple[str, str], tuple[str, ...]]:
    """The table of the study, asked once: crashes, all agree, broken, pending, and the first that is not well."""
    found = answer(study("share database"))
    heads, rows = found.heads, found.rows
    assert all(len(row) == len(heads) for row in rows)
    found = {(row[0], row[1]): row[2:] for row in rows}
    assert list(found) == [(words, s) for words, _, _ in databases.RIVALS for s in (PROMPT, HASTY)]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("schedule", [PROMPT, HASTY])
def test_no_crash_at_any_step_tears_the_three_apart(counted: Any, schedule: str) -> None:
    assert counted[REPAIRED_WORDS, schedule] == ("220", "220", "0", "0", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rival", "schedule", "broken", "stuck"),
    [
        (FLUSHES_WORDS, PROMPT, 0, 0),
        (FLUSHES_WORDS, HASTY, 2, 14),
        (IN_MEMORY_WORDS, PROMPT, 18, 0),
        (IN_MEMORY_WORDS, HASTY, 17, 0),
    ],
)
def test_what_it_takes_is_a_transactional_acknowledgement_that_is_answered_before_and_outlives_a_process(
    counted: Any, rival: str, schedule: str, broken: int, stuck: int
) -> None:
    crashes, kept, *bad, first = counted[rival, schedule]
    assert bad == [str(broken), str(stuck)]
    assert int(crashes) == int(kept) + broken + stuck
    assert bool(first) is bool(broken + stuck)


def test_without_any_crash_a_transactional_acknowledgement_that_is_not_waited_for_leaves_a_transaction_for_ever() -> (
    None
):
    """A lock that runs out is enough: a two-phase commit has no time limit, and its owner is dead."""
    asked = tuple(property_named(name) for name in PROPERTY_NAMES)
    words = {}
    for under in ("repaired", FLUSHES):
        judged = judge(APART, under, budget_of("expire_lock=1"), Bounds(), None, asked)
        assert judged.explored.complete
        words[under] = [judged.cell(name).words for name in PROPERTY_NAMES]
    assert words["repaired"] == ["holds", "holds", "holds"]
    assert words[FLUSHES] == ["holds", "holds", "breaks after 23"]


def test_who_decides_before_the_transactional_acknowledgement_commits_the_output_of_a_record_that_is_free() -> (
    None
):
    trace, _ = play_once("kip-1289-database-too-early", FLUSHES)
    found = PROPERTIES[0].finding(trace.observations[0])
    assert found.status == BROKEN
    assert "but the record is available to be delivered again" in found.reason
    assert trace.world.applications["app-1"].others["database"].rows == ("src-0@100",)
    trace, _ = play_once("kip-1289-database-too-early", "repaired")
    assert PROPERTIES[0].finding(trace.observations[0]).status == HOLDS
    assert trace.world.applications["app-1"].others["database"].rows == ()


def test_a_process_that_dies_after_the_decision_is_followed_by_one_that_carries_it_out() -> None:
    trace, _ = play_once("kip-1289-database", "repaired")
    assert committed_outputs(trace.world) == {"src-0@100": 1}
    assert [s.name for s in states_of(trace, 100)][:2] == ["ACQUIRED", "TX_PENDING"]
    assert trace.world.applications["app-1"].life == 2
