"""Verdicts counted into a table."""

import pytest

from kipviz.campaigns.loop import LoopCampaign
from kipviz.campaigns.summary import properties_of

STAND_IN = "tests.spark.stand_in_task"


@pytest.fixture(scope="module")
def result():
    designs = ("right", "twice", "sticks", "crashes")
    return LoopCampaign("copy", designs, runs=20, task_module=STAND_IN).run()


def test_every_run_is_counted_once(result):
    for row in result.summary():
        errors = row.errors.count if row.errors else 0
        assert row.runs == 20 == row.holds + errors + sum(cell.count for cell in row.broken)


def test_a_cell_names_the_smallest_seed_that_shows_the_break(result):
    row = next(row for row in result.summary() if row.name == "twice")
    seeds = [v.task.seed for v in result.verdicts if v.task.design == "twice" and v.broken]
    assert (row.cell("no_duplicate").count, row.cell("no_duplicate").seed) == (
        len(seeds),
        min(seeds),
    )
    assert result.first("twice", "no_duplicate").task.seed == min(seeds)


def test_rows_keep_the_order_in_which_they_were_named(result):
    assert [row.name for row in result.summary()] == ["right", "twice", "sticks", "crashes"]
    assert properties_of(result.summary()) == ("no_duplicate", "no_stuck_record")


def test_runs_can_be_counted_by_fault_profile(result):
    (row,) = result.summary("faults")
    assert (row.name, row.runs) == ("calm", 80)


def test_counting_by_another_word_is_refused(result):
    with pytest.raises(ValueError, match="runs cannot be counted by 'seed': choose from scenario"):
        result.summary("seed")


def test_the_first_of_nothing_is_refused(result):
    with pytest.raises(LookupError, match="no run of right breaks a property in this campaign"):
        result.first("right")


def test_the_text_is_a_table_that_never_changes(result):
    assert repr(result) == TEXT


TEXT = """\
Campaign of 80 runs: scenario copy x 4 designs x fault profile calm x seeds 0..19
         runs  holds  no_duplicate  no_stuck_record  errors
right    20    20     -             -                -
twice    20    15     5 (seed 2)    -                -
sticks   20    11     -             9 (seed 2)       -
crashes  20    16     -             -                4 (seed 3)"""
