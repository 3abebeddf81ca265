"""log.retention.ms: what a log deletes by its age, and what it does not ask before it does."""

from __future__ import annotations

import pytest

from kipviz.brokers.logs import log_retention as retention
from kipviz.brokers.logs import log_timers
from kipviz.brokers.logs import partition_leader as leader
from kipviz.brokers.logs import partition_log as logs
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.brokers.timers import LogRetention
from kipviz.cluster.actions import RunOut
from kipviz.cluster.behaviour.due_actions import action_of, place_of
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec
from kipviz.cluster.timing.clock import Clock, Due
from kipviz.cluster.timing.durations import DURATIONS
from kipviz.cluster.timing.record_timestamps import horizon_of
from kipviz.cluster.timing.timers import front_of
from kipviz.driving.desk import Desk
from kipviz.messages.events import LogPruned
from kipviz.records.batches import Batch, DataRecord
from kipviz.scenarios.library import searched_scenario
from tests.scenarios.story import after, committed_outputs, nodes, play_once

OUT = "out-0"
TIMER = LogRetention("out-0")
STORY = "kip-98-older-than-retention"
SPEC = searched_scenario(STORY).spec
RETENTION_MS = SPEC.settings.log_retention_ms


def log_of(*written_ms: int, high_watermark: int = -1) -> PartitionLog:
    log = PartitionLog(OUT)
    for offset, at in enumerate(written_ms):
        log = logs.append(log, Batch(offset, (DataRecord("x"),), max_timestamp_ms=at))
    return logs.replicate(log, high_watermark)


def desk_of(log: PartitionLog, now_ms: int = 100, retention_ms: int = 50) -> Desk:
    desk = Desk(leader, PartitionLeader(OUT, 0), leaders={OUT: 1}, log_retention_ms=retention_ms)
    desk.logs[OUT], desk.now_ms = log, now_ms
    return desk


@pytest.mark.parametrize(
    ("written_ms", "high_watermark", "start"),
    [((0, 49, 50, 51), 4, 3), ((0, 10), 1, 1), ((60, 0), 2, 0), ((), 0, 0)],
)
def test_what_is_too_old_goes_from_the_front_and_never_beyond_the_high_watermark(
    written_ms: tuple[int, ...], high_watermark: int, start: int
) -> None:
    log = log_of(*written_ms, high_watermark=high_watermark)
    assert retention.retention_start(log, 100, 50) == start


def test_the_log_begins_behind_what_is_gone() -> None:
    desk = desk_of(log_of(0, 20, 90))
    desk.do(log_timers.on_timer(desk.role, TIMER, desk.on))
    assert (desk.logs[OUT].start_offset, len(desk.logs[OUT].batches)) == (2, 1)
    assert desk.events == [LogPruned(OUT, 0, 2)]


@pytest.mark.parametrize(
    ("log", "retention_ms"),
    [(log_of(0), -1), (log_of(), 50), (log_of(0, high_watermark=0), 50)],
)
def test_nothing_is_due_where_nothing_may_be_deleted(log: PartitionLog, retention_ms: int) -> None:
    desk = desk_of(log, retention_ms=retention_ms)
    assert log_timers.timers(desk.role, desk.on) == ()


def test_the_oldest_batch_has_a_timer() -> None:
    desk = desk_of(log_of(90))
    assert log_timers.timers(desk.role, desk.on) == (TIMER,)


# -- on a clock -----------------------------------------------------------------------------------------


def test_the_records_of_an_open_transaction_are_deleted_and_it_commits() -> None:
    """The story: the marker is the first thing in the log, the offset is committed, and nobody reads f(a)."""
    world = after(STORY, "kafka", "app-1 commits without an error")
    log = world.logs["output-A-0"]
    assert (log.start_offset, log.last_stable_offset) == (1, 2)
    assert [batch.control for batch in log.batches] == ["COMMIT"]
    assert world.applications["app-1"].consumer.error == ""
    assert committed_outputs(world) == {}


def test_the_front_of_a_log_is_due_when_it_is_old_enough() -> None:
    trace, _ = play_once(STORY, "kafka")
    first = next(node.world for node in nodes(trace) if node.world.now_ms == RETENTION_MS)
    fronts = [d for d in first.deadlines if d.kind == Due.LOG_FRONT]
    assert [(d.place, d.after, d.by) for d in fronts] == [
        (("output-A-0", 0), 0, 300_000),
        (("src-0", 100), 0, 300_000),
    ]
    action = action_of(first, fronts[0])
    assert action == RunOut(3, "partition_leader", "output-A-0", LogRetention("output-A-0"))
    assert place_of(first, action) == front_of(first, "output-A-0")
    assert not [d for d in nodes(trace)[-1].world.deadlines if d.place == ("output-A-0", 0)]
    assert front_of(
        trace.world.but(logs=trace.world.logs.set("src-0", PartitionLog("src-0"))), "src-0"
    ) == (
        Due.LOG_FRONT,
        ("src-0", -1),
    )


def test_it_takes_times_in_records_and_is_off_unless_it_is_set() -> None:
    with pytest.raises(BadSpec, match=r"log.retention.ms \(300000\) needs times in records"):
        check(SPEC.but(clock=Clock()))
    check(SPEC.but(settings=SPEC.settings.but(log_retention_ms=-1), clock=Clock()))
    assert horizon_of(SPEC) == RETENTION_MS
    row = {row.setting: row.values for row in DURATIONS}
    for setting in ("log.retention.ms", "log.retention.check.interval.ms"):
        assert row[setting](SPEC) == (300_000,)
        assert row[setting](SPEC.but(settings=SPEC.settings.but(log_retention_ms=-1))) == ()
