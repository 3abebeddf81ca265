"""Campaigns on Spark: equal to the loop, whatever the partitions; crashes, deaths and cancels."""

import threading

import pytest

from kipviz.campaigns.cancellation import Cancelled, CancelSwitch
from kipviz.campaigns.plan import TASK_MODULE, known_names, make_plan
from kipviz.spark.campaign import Campaign, in_a_loop, on_spark, verdict_frame
from kipviz.spark.saved.event_log import event_frame, write_events
from kipviz.spark.sessions.failures import CampaignFailed
from kipviz.spark.sessions.progress import watch_action
from kipviz.spark.workers.worker_runs import EVENT_SCHEMA
from tests.patience import PATIENCE
from tests.spark import stand_in_task
from tests.spark.conftest import STAND_IN

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("partitions", [1, 3, 7, None])
def test_spark_gives_the_same_table_as_the_loop_whatever_the_partitions(spark, plan, partitions):
    assert on_spark(spark, plan, partitions).equals(in_a_loop(plan))


def test_the_real_model_gives_the_same_verdicts_in_a_loop_and_on_spark(spark):
    known = known_names(TASK_MODULE)
    plan = make_plan(
        known["scenarios"][-2:], ("repaired", "finding-I"), ("calm", "rough"), runs=2, steps_max=150
    )
    table = on_spark(spark, plan, 3)
    assert table.equals(in_a_loop(plan))
    assert set(table["status"].to_pylist()) <= {"holds", "breaks", "program"}
    assert all(table["fingerprint"].to_pylist())


def test_verdicts_are_values_that_can_be_run_again(spark, plan):
    campaign = Campaign(
        "copy", ("right", "twice"), runs=6, seed=3, spark=spark, task_module=STAND_IN
    )
    for verdict in campaign.run().verdicts:
        assert stand_in_task.run(verdict.task) == verdict


def test_a_crashing_run_is_an_error_row_and_the_others_are_untouched(spark):
    campaign = Campaign("copy", "crashes", runs=10, spark=spark, task_module=STAND_IN)
    statuses = [verdict.status for verdict in campaign.run().verdicts]
    assert [seed for seed, status in enumerate(statuses) if status == "error"] == [3, 8]


def test_a_worker_that_dies_gives_one_sentence_and_the_session_lives_on(spark, plan):
    campaign = Campaign("copy", "dies", runs=6, spark=spark, task_module=STAND_IN)
    with pytest.raises(CampaignFailed) as failure:
        campaign.run()
    assert str(failure.value).startswith("a worker process died in the middle")
    assert "\n" not in str(failure.value)
    assert on_spark(spark, plan, 2).num_rows == plan.jobs


def test_progress_is_told_in_runs_grows_and_reaches_the_end(spark, plan):
    seen = []
    on_spark(spark, plan, None, lambda done, runs: seen.append((done, runs)))
    assert seen == sorted(seen)
    assert seen[-1] == (plan.jobs, plan.jobs)
    assert len(seen) > 1


def test_a_cancel_from_another_thread_ends_it_soon_and_leaves_the_session_usable(spark, plan):
    campaign = Campaign("copy", "slow", runs=400, spark=spark, task_module=STAND_IN)
    begun, seen = threading.Event(), [0]

    def note_progress(done, _):
        seen.append(done)
        if done:
            begun.set()

    def cancel():
        begun.wait(PATIENCE)
        campaign.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(Cancelled, match="the campaign was cancelled"):
        campaign.run(note_progress)
    canceller.join()
    assert 0 < seen[-1] < 400
    assert campaign.result is None
    assert on_spark(spark, plan, 2).num_rows == plan.jobs


def test_a_cancel_before_the_start_starts_nothing(spark):
    switch = CancelSwitch()
    switch.cancel()
    with pytest.raises(Cancelled):
        watch_action(spark, lambda: pytest.fail("was started"), None, switch)


def test_an_error_in_the_listener_is_not_swallowed(spark):
    plan = make_plan("copy", "slow", runs=100, task_module=STAND_IN)

    def listener(done, runs):
        raise ZeroDivisionError("in the listener")

    with pytest.raises(ZeroDivisionError, match="in the listener"):
        on_spark(spark, plan, None, listener)


def test_the_job_group_of_the_caller_is_restored(spark, plan):
    spark.sparkContext.setJobGroup("mine", "my job")
    try:
        on_spark(spark, plan, 1)
        assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") == "mine"
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
        spark.sparkContext.setLocalProperty("spark.job.description", None)


def test_verdicts_can_stay_a_frame(spark, plan):
    broken = verdict_frame(spark, plan, 2).where("status = 'breaks'").count()
    assert broken == in_a_loop(plan)["status"].to_pylist().count("breaks")


@pytest.mark.parametrize("partitions", [0, -1, 2.5, "3"])
def test_a_number_of_partitions_that_is_none_is_refused(spark, plan, partitions):
    with pytest.raises(ValueError, match="partitions must be a whole number of at least 1, not"):
        on_spark(spark, plan, partitions)


def test_the_event_log_holds_every_step_of_every_run(spark, plan, tmp_path):
    write_events(spark, plan, tmp_path / "log", partitions=3)
    log = spark.read.parquet(str(tmp_path / "log"))
    assert log.columns == EVENT_SCHEMA.names
    failed = 0
    for row in log.groupBy("design", "faults", "seed").count().collect():
        task = stand_in_task.Task("copy", row["design"], row["faults"], row["seed"])
        if row["design"] == "crashes" and row["seed"] == 3:
            failed += 1
            assert row["count"] == 1
        else:
            assert row["count"] == len(list(stand_in_task.rows(task)))
    assert failed == 2
    assert log.groupBy("design", "faults", "seed").count().count() == plan.jobs


def test_the_log_of_chosen_jobs_holds_only_those(spark, plan):
    campaign = Campaign("copy", ("right", "twice"), runs=12, way="loop", task_module=STAND_IN)
    jobs = campaign.run().jobs_with("breaks")
    frame = event_frame(spark, campaign.plan, jobs, partitions=2)
    seeds = {(row.design, row.seed) for row in frame.select("design", "seed").distinct().collect()}
    assert jobs
    assert seeds == {(campaign.plan.task(j).design, campaign.plan.task(j).seed) for j in jobs}


def test_no_jobs_give_an_empty_log(spark, plan, tmp_path):
    write_events(spark, plan, tmp_path / "log", jobs=())
    assert spark.read.parquet(str(tmp_path / "log")).count() == 0


def test_a_log_is_never_half_written_when_a_worker_dies(spark, tmp_path):
    plan = make_plan("copy", ("right", "dies"), runs=20, task_module=STAND_IN)
    with pytest.raises(CampaignFailed):
        write_events(spark, plan, tmp_path / "log", partitions=8)
    assert list(tmp_path.iterdir()) == []


def test_a_log_is_never_half_written_when_it_is_cancelled(spark, tmp_path):
    plan = make_plan("copy", ("right", "slow"), runs=200, task_module=STAND_IN)
    switch = CancelSwitch()

    def listener(done, runs):
        if done:
            switch.cancel()

    with pytest.raises(Cancelled):
        write_events(spark, plan, tmp_path / "log", on_progress=listener, switch=switch)
    assert list(tmp_path.iterdir()) == []


def test_a_log_does_not_overwrite_what_is_there(spark, plan, tmp_path):
    (tmp_path / "log").write_text("mine")
    with pytest.raises(
        FileExistsError, match=r"there is something at .*log already: choose another"
    ):
        write_events(spark, plan, tmp_path / "log")
    assert (tmp_path / "log").read_text() == "mine"


def test_a_job_that_there_is_not_is_refused(spark, plan, tmp_path):
    with pytest.raises(ValueError, match="there is no job 80: this campaign has 0 to 79"):
        write_events(spark, plan, tmp_path / "log", jobs=[80])
