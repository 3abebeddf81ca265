"""Logs that are deleted by their age, in a cluster: what a share group and a consumer make of it."""

from __future__ import annotations

import pytest

from kipviz.cluster.specs.spec import ClusterSpec, FaultBudget
from kipviz.cluster.timing.clock import TICKS, TIMED, Clock
from kipviz.core.traces.trace import Trace
from kipviz.messages.events import ShareStartFollowed
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.applications.programs import SHARE_LOOP
from kipviz.scenarios.script import follow
from tests.cluster.invariants import wrong_between, wrong_in
from tests.cluster.small_clusters import EVERYTHING, FIRST_OFFSET, model_of, small_spec, steps_of

MINUTE_MS = 60_000
RETAINED = ("time passes", "the log retention of src-0 runs out at B5", "quiet")


def retaining(flow: str, budget: FaultBudget, **changes: object) -> ClusterSpec:
    """A small cluster that keeps records for a minute, and locks for longer."""
    spec = small_spec(flow, budget=budget, **changes)
    settings = spec.settings.but(
        log_retention_ms=MINUTE_MS, record_lock_duration_ms=3 * MINUTE_MS, delivery_count_limit=2
    )
    return spec.but(settings=settings, clock=Clock(TIMED, tick=TICKS[1], stamps=True))


def play_steps(spec: ClusterSpec, *instructions: str) -> Trace:
    model = model_of(spec)
    trace = Trace.start(model, ())
    for instruction in instructions:
        trace = follow(trace, model, instruction, "")
    return trace


def test_a_share_partition_s_start_follows_when_it_reads_again() -> None:
    """As with records that an operator deletes: what a member holds stays its own until then."""
    spec = retaining("share", FaultBudget(run_out=1), program=SHARE_LOOP, max_records=1)
    reads = ("app-1 goes on", "quiet") * 4
    trace = play_steps(spec, *reads, *RETAINED)
    (share,) = trace.world.roles[5, "share_partition_leader", ""].shares.values()
    assert trace.world.logs["src-0"].start_offset > FIRST_OFFSET
    assert (share.start_offset, share.records[FIRST_OFFSET].state) == (
        FIRST_OFFSET,
        RecordState.ACQUIRED,
    )
    whole = play_steps(spec, *reads, *RETAINED, *("maybe app-1 goes on", "quiet") * 8)
    events = [e for at in whole.line for e in whole.node(at).events]
    assert any(isinstance(event, ShareStartFollowed) for event in events)


def test_a_consumer_that_is_behind_goes_to_where_the_log_begins() -> None:
    trace = play_steps(
        retaining("group", FaultBudget(run_out=1)), *RETAINED, *("app-1 goes on", "quiet") * 3
    )
    log = trace.world.logs["src-0"]
    consumer = trace.world.applications["app-1"].consumer
    assert (log.start_offset, len(log.batches)) == (log.end_offset, 0)
    assert (consumer.records, consumer.error) == ((), "")


@pytest.mark.parametrize("flow", ["share", "group"])
def test_what_holds_in_every_world_holds_when_logs_are_deleted_by_age(flow: str) -> None:
    spec = retaining(flow, EVERYTHING.but(run_out=2))
    for seed in range(6):
        for step, (before, action, outcome) in enumerate(steps_of(model_of(spec), seed, 120)):
            wrong = wrong_in(outcome.world) + wrong_between(before, outcome.world)
            assert not wrong, (seed, step, action, wrong)
