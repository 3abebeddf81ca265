"""How runs end, by outcome; and what breaks first without some of Kafka's own rules."""

from __future__ import annotations

import pytest

from kipviz.checking.judging.ablation import RULES, UnknownRule, ablate
from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.outcomes import (
    CUT,
    Decided,
    group_interleavings,
    group_seeds,
    run_seeds,
)
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.seeded_run import Task
from kipviz.core.model import Outcome
from kipviz.designs.catalogue import design
from kipviz.properties.verdict import BROKEN
from kipviz.scenarios.library import searched_scenario
from kipviz.views.reports.review import ablation_page, outcomes_page

SMALL, TWO = "kip-1289-small", "kip-1289-two-members"


def test_without_a_fault_every_interleaving_ends_in_one_outcome() -> None:
    found = group_interleavings(SMALL, "repaired")
    (only,) = found.groups
    assert (only.ended.outputs, only.ended.committed) == ((("src-0@100", 1),), 1)
    assert only.ended.records == (("src-0@100", "done"),)
    assert len(found.run(only).trace.line) - 1 == only.steps


def test_a_transactional_acknowledgement_that_nobody_resolves_is_an_outcome_although_its_leader_keeps_looking() -> (
    None
):
    (only,) = group_interleavings(SMALL, "finding-I").groups
    assert only.ended.records == (("src-0@100", "TX_PENDING"),)


@pytest.mark.slow
def test_a_broken_property_is_seen_in_how_its_runs_end() -> None:
    found = group_interleavings(SMALL, "finding-D", budget_of("expire_lock=1"))
    twice = next(g for g in found.groups if g.ended.outputs == (("src-0@100", 2),))
    made = found.run(twice)
    assert runs.judge(made)[0].status == BROKEN
    assert "src-0@100: 2" in outcomes_page(found)


def test_seeded_runs_are_counted_once_each_and_the_shortest_is_the_example() -> None:
    found = group_seeds(TWO, "repaired", "rough", range(6))
    assert sum(group.count for group in found.groups) == 6
    for group in found.groups:
        assert group.task is not None
        assert len(runs.replay(group.task).trace.line) - 1 == group.steps
        assert {count for _, count in group.ended.outputs} == {1}


def test_a_run_that_is_cut_off_is_no_finished_one() -> None:
    (ended,) = run_seeds([Task(TWO, "repaired", "calm", 0, 20)])
    assert ended.how == CUT


def test_counting_can_be_stopped_and_keeps_what_was_counted() -> None:
    found = group_seeds(TWO, "repaired", "calm", range(50), lambda done: done < 2)
    assert found.sentence == "2 seeded runs, calm, stopped before the others"


# -- rules switched off -------------------------------------------------------------------------


def test_a_rule_without_which_nothing_breaks_says_how_far_that_was_searched() -> None:
    base, off = ablate(SMALL, rules=("lock_timeout",), budgets=("",))
    assert base.rules == ()
    assert off.first is None
    assert "nothing up to this bound" in ablation_page([base, off])
    assert [held.words for held in off.held] == ["no fault: all 686 states"]


def test_an_ablation_that_is_stopped_keeps_what_was_searched() -> None:
    rows = list(ablate(SMALL, progress=lambda *_: False))
    assert [row.rules for row in rows] == [()]
    assert "the first" in ablation_page(rows)


def test_an_unknown_rule_is_refused_with_those_there_are() -> None:
    with pytest.raises(
        UnknownRule, match="there is no rule 'lock_expiry'; the rules are epoch_check"
    ):
        list(ablate(SMALL, rules=("lock_expiry",)))


@pytest.mark.thorough
def test_the_guard_and_the_epoch_check_stand_in_for_each_other() -> None:
    rules = ("epoch_check", "verification_guard")
    _, *alone, both = ablate(SMALL, rules=rules, budgets=("", "time_out=1"))
    assert [row.first for row in alone] == [None, None]
    assert both.cell is not None
    assert both.cell.asked == "nothing hangs"
    assert both.rules == rules


@pytest.mark.thorough
def test_a_log_that_looks_at_no_sequences_breaks_as_soon_as_a_connection_is_lost() -> None:
    bounds = Bounds(states_max=15_000)
    _, off = ablate(
        SMALL, rules=("sequence_check",), budgets=("", "lose_connection=1"), bounds=bounds
    )
    assert off.cell is not None
    assert off.cell.asked == "atomic"
    assert "duplicated" in off.cell.reason
    assert set(RULES) >= {"sequence_check", "epoch_check"}


def test_where_a_search_is_too_large_seeded_runs_go_on_and_what_they_break_is_opened() -> None:
    bounds = Bounds(states_max=150)
    rows = list(
        ablate(
            SMALL,
            rules=("sequence_check",),
            budgets=("lose_connection=1",),
            bounds=bounds,
            pairs=False,
            runs=25,
            profile="hostile",
        )
    )
    base, off = rows
    assert base.sampled is None
    assert off.first is None
    assert off.sampled is not None
    assert off.sampled.broken is not None
    assert off.sampled.runs == off.sampled.broken.task.seed + 1
    assert "duplicated" in off.sampled.words
    assert off.sampled.words[:40] in ablation_page(rows)
    assert runs.replay(off.sampled.broken.task).design.name == off.design


def test_seeded_runs_that_break_nothing_are_told_with_their_number_and_can_be_stopped() -> None:
    def sample(progress=None):
        _, off = ablate(
            SMALL,
            rules=("lock_timeout",),
            budgets=("",),
            bounds=Bounds(states_max=20),
            pairs=False,
            runs=3,
            profile="calm",
            progress=progress,
        )
        return off.sampled.words

    assert sample() == "3 seeded runs, calm: nothing breaks"
    asked: list[int] = []

    def until_the_third_run(name: str, at: int, depth: int) -> bool:
        asked.append(at)
        return not (depth == 0 and at == 2 and "lock_timeout" in name)

    assert sample(until_the_third_run) == "2 seeded runs, calm: nothing breaks"
    assert asked
    with pytest.raises(ValueError, match="runs must be a whole number of at least 0, not -1"):
        list(ablate(SMALL, runs=-1))
    with pytest.raises(ValueError, match="there is no fault profile 'odd'"):
        list(ablate(SMALL, runs=1, profile="odd"))


def test_an_output_that_was_aborted_by_hand_is_not_counted_as_committed() -> None:
    """The transaction commits at its coordinator; an operator ended it in one partition before."""
    story, chosen = searched_scenario("kip-664-abort-not-hanging"), design("kafka")
    trace, _ = story.play(chosen)
    tally = Decided().initial(None)
    for number in trace.line[1:]:
        node = trace.node(number)
        tally = Decided().observe(tally, node.action, Outcome(node.world, node.events))
    assert tally.decided == (1, 0)
    assert not len(tally.committed)
