"""While Spark starts a campaign makes runs itself; its table is that of Spark alone."""

import threading

import pyarrow as pa
import pytest

from kipviz.campaigns.cancellation import Cancelled
from kipviz.spark import campaign as campaigns
from kipviz.spark.campaign import Campaign, in_a_loop, run_places
from kipviz.spark.sessions import cold_start
from kipviz.spark.sessions.session import SparkUnavailable
from kipviz.spark.workers.worker_runs import VERDICT_SCHEMA
from tests.patience import PATIENCE
from tests.spark.conftest import STAND_IN


class Start:
    """A session that is there when a test says so, or cannot be had."""

    def __init__(self, monkeypatch, error=None):
        self.there, self.asked, self.places, self.error = threading.Event(), [], [], error
        monkeypatch.setattr(cold_start, "session", self.session)
        monkeypatch.setattr(campaigns, "on_spark", self.on_spark)
        monkeypatch.setattr(cold_start, "_THERE_SECONDS", 0.01)

    def session(self, master):
        self.asked.append(master)
        self.there.wait(PATIENCE)
        if self.error is not None:
            raise self.error
        return "a session"

    def on_spark(self, spark, plan, partitions, on_progress, switch, places):
        assert spark == "a session"
        self.places.append(places)
        if on_progress is not None:
            on_progress(1, places[1] - places[0])
        return pa.Table.from_batches(run_places(plan, *places), VERDICT_SCHEMA)


def campaign(**more):
    return Campaign("copy", ("right", "twice", "slow"), "rough", 8, task_module=STAND_IN, **more)


@pytest.mark.parametrize("after", [1, 5, 24])
def test_the_first_verdicts_are_there_before_spark_is(monkeypatch, after):
    start = Start(monkeypatch)
    seen = []

    def note_progress(done, runs):
        seen.append((done, runs))
        if done >= after:
            start.there.set()

    monkeypatch.setattr(cold_start, "_REPORT_SECONDS", 0)
    work = campaign(master="local[1]")
    assert work.run(note_progress).table.equals(in_a_loop(work.plan))
    start.there.set()
    assert start.asked == ["local[1]"]
    assert seen[0] == (1, 24)
    assert seen == sorted(seen)
    assert seen[-1] == (24, 24)
    if after < 24:
        ((first, last),) = start.places
        assert after <= first < last == 24
    else:
        assert start.places == []


def test_a_session_that_is_there_makes_all_runs(monkeypatch):
    start = Start(monkeypatch)
    start.there.set()
    monkeypatch.setattr(cold_start, "_THERE_SECONDS", 20)
    work = campaign()
    assert work.run().table.equals(in_a_loop(work.plan))
    assert start.places == [(0, 24)]


def test_spark_that_cannot_be_had_is_told_though_runs_were_made(monkeypatch):
    start = Start(monkeypatch, SparkUnavailable("there is no Java"))
    monkeypatch.setattr(cold_start, "_REPORT_SECONDS", 0)
    with pytest.raises(SparkUnavailable, match="there is no Java"):
        campaign().run(lambda *_: start.there.set())


def test_a_campaign_can_be_cancelled_while_spark_starts(monkeypatch):
    start = Start(monkeypatch)
    monkeypatch.setattr(cold_start, "_REPORT_SECONDS", 0)
    work = campaign()
    with pytest.raises(Cancelled):
        work.run(lambda *_: work.cancel())
    start.there.set()


def test_missing_parts_are_made_by_a_session_that_was_started_for_them(monkeypatch, tmp_path):
    start = Start(monkeypatch)
    start.there.set()
    monkeypatch.setattr(campaigns, "cores", lambda _: 2)
    work = campaign(folder=tmp_path, master="local[2]")
    seen = []
    assert work.run(lambda *now: seen.append(now)).table.equals(in_a_loop(work.plan))
    assert start.asked == ["local[2]"]
    assert seen[-1] == (24, 24)
    # Four parts in a job; they have what they would have one by one.
    assert [last - first for first, last in start.places] == [4] * 3 + [5, 4, 3] or len(
        start.places
    ) == -(-20 // 4)
    again = campaign(folder=tmp_path)
    start.places.clear()
    assert again.run().table.equals(in_a_loop(work.plan))
    assert start.places == []
