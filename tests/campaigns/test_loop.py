"""A campaign in a plain loop: what it makes is what Arrow holds, and it needs neither Arrow nor a thread."""

from __future__ import annotations

import pytest

from kipviz.campaigns.cancellation import Cancelled
from kipviz.campaigns.loop import LoopCampaign
from kipviz.campaigns.verdict_rows import COLUMNS
from kipviz.spark.campaign import Campaign
from kipviz.spark.workers.worker_runs import VERDICT_SCHEMA

STAND_IN = "tests.spark.stand_in_task"
WORDS = ("copy", ("right", "twice", "sticks", "crashes"), ("calm", "rough"), 6, 3)


@pytest.fixture(scope="module")
def loop():
    return LoopCampaign(*WORDS, task_module=STAND_IN).run()


@pytest.fixture(scope="module")
def arrow():
    return Campaign(*WORDS, way="loop", task_module=STAND_IN).run()


def test_the_columns_are_those_of_the_arrow_table():
    assert list(COLUMNS) == VERDICT_SCHEMA.names


def test_a_loop_gives_the_verdicts_the_rows_and_the_tables_that_arrow_has(loop, arrow):
    assert loop.rows() == arrow.table.to_pylist()
    assert loop.rows("seed", "job") == arrow.rows("seed", "job")
    assert loop.verdicts == arrow.verdicts
    assert {verdict.status for verdict in loop.verdicts} == {"holds", "breaks", "error"}
    for by in ("design", "scenario", "faults"):
        assert loop.summary(by) == arrow.summary(by)
        assert loop.text(by) == arrow.text(by)
    assert loop.jobs_with("breaks") == arrow.jobs_with("breaks") != ()


def test_a_loop_tells_how_far_it_is_and_stops_when_it_is_cancelled():
    campaign = LoopCampaign(*WORDS, task_module=STAND_IN)
    seen = []

    def listener(done, runs):
        seen.append((done, runs))
        if done == 5:
            campaign.cancel()

    with pytest.raises(Cancelled, match=r"^the campaign was cancelled$"):
        campaign.run(listener)
    assert seen == [(k, 48) for k in range(1, 6)]
    assert campaign.result is not None
    assert [row["job"] for row in campaign.result.rows()] == [0, 1, 2, 3, 4], (
        "what was made is kept"
    )
    assert len(campaign.run().rows()) == 48, "it can be run again"


def test_a_word_that_names_nothing_is_refused_before_anything_runs():
    with pytest.raises(ValueError, match=r"^there is no design 'none': choose from right, twice"):
        LoopCampaign("copy", "none", task_module=STAND_IN)
