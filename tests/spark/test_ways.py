"""The loop, the processes and what a campaign refuses; without Spark."""

import multiprocessing
import threading
import time

import pytest

from kipviz.campaigns.cancellation import Cancelled, CancelSwitch
from kipviz.spark.campaign import Campaign, in_a_loop, in_processes, task_count
from kipviz.spark.sessions.failures import CampaignFailed, explain_error
from tests.patience import PATIENCE
from tests.spark.conftest import STAND_IN


def test_the_loop_gives_one_verdict_per_job_in_order(plan):
    table = in_a_loop(plan)
    assert table["job"].to_pylist() == list(range(plan.jobs))


def test_processes_give_the_same_table_as_the_loop(plan):
    seen = []
    table = in_processes(plan, 2, lambda done, runs: seen.append((done, runs)))
    assert table.equals(in_a_loop(plan))
    assert seen[-1] == (plan.jobs, plan.jobs)


def test_a_process_that_dies_gives_one_sentence():
    campaign = Campaign("copy", "dies", runs=8, way="processes", task_module=STAND_IN)
    with pytest.raises(
        CampaignFailed,
        match=r"^a worker process died 3 times, and \d of 8 runs are not made: run the",
    ):
        campaign.run()


def test_the_loop_tells_its_progress_and_can_be_cancelled(plan):
    switch = CancelSwitch()
    seen = []

    def listener(done, runs):
        seen.append((done, runs))
        if done == 5:
            switch.cancel()

    with pytest.raises(Cancelled):
        in_a_loop(plan, listener, switch)
    assert seen == [(k, plan.jobs) for k in range(1, 6)]


def test_processes_can_be_cancelled_from_another_thread():
    campaign = Campaign("copy", "slow", runs=400, way="processes", task_module=STAND_IN)
    timer = threading.Timer(0.5, campaign.cancel)
    timer.start()
    with pytest.raises(Cancelled):
        campaign.run()
    assert campaign.result is None


def comes_to_hold(condition):
    for _ in range(10 * PATIENCE):
        if condition():
            return True
        time.sleep(0.1)
    return False


def test_a_cancelled_campaign_ends_its_worker_processes_in_the_middle_of_a_run(
    tmp_path, monkeypatch
):
    asleep = tmp_path / "asleep"
    monkeypatch.setenv("KIPVIZ_TEST_ASLEEP", str(asleep))
    before = set(multiprocessing.active_children())
    campaign = Campaign("copy", "sleeps", runs=8, way="processes", task_module=STAND_IN)
    ended = []

    def run():
        try:
            campaign.run()
        except Cancelled as error:
            ended.append(error)

    running = threading.Thread(target=run, daemon=True)
    running.start()
    try:
        assert comes_to_hold(asleep.exists)
        campaign.cancel()
        running.join(PATIENCE)
        assert len(ended) == 1
        assert comes_to_hold(lambda: set(multiprocessing.active_children()) <= before)
    finally:
        for worker in set(multiprocessing.active_children()) - before:
            worker.kill()


def test_a_cancelled_campaign_can_be_run_again():
    campaign = Campaign("copy", "right", runs=10, way="loop", task_module=STAND_IN)
    with pytest.raises(Cancelled):
        campaign.run(lambda *_: campaign.cancel())
    assert campaign.run().table.num_rows == 10


def test_a_way_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="a campaign cannot run 'gpu': choose from spark, loop"):
        Campaign("copy", "right", way="gpu", task_module=STAND_IN)


@pytest.mark.parametrize(
    ("jobs", "cores", "tasks"),
    [
        (1, 2, 1),
        (39, 2, 39),
        (1000, 2, 40),
        (100_000, 2, 100),
        (1000, 64, 256),
        (5_000_000, 2, 2000),
    ],
)
def test_there_are_enough_tasks_for_a_smooth_bar_and_not_too_many(jobs, cores, tasks):
    assert task_count(jobs, cores) == tasks


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("Python worker exited unexpectedly (crashed)", "a worker process died in the middle"),
        ("ModuleNotFoundError: No module named 'msgspec'", "the workers cannot import msgspec:"),
        ("java.lang.OutOfMemoryError: Java heap space", "Spark's JVM ran out of memory: stop()"),
        (
            "a\nCaused by: java.io.IOException: x\nCaused by: y: the cause\n",
            "Spark could not do it: y",
        ),
    ],
)
def test_what_spark_throws_becomes_one_sentence(words, sentence):
    from py4j.protocol import Py4JError

    explanation = str(explain_error(Py4JError(words)))
    assert explanation.startswith(sentence)
    assert "\n" not in explanation


def test_an_error_of_somebody_else_stays_what_it_is():
    error = KeyError("mine")
    assert explain_error(error) is error
