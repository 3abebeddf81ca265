"""The upkeep of a log that has a transactional acknowledgement in it: what a new coordinator and a new leader find of it."""

from __future__ import annotations

import pytest

from kipviz.checking.judging.verdicts import EVERY_PROPERTY
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.events import LogPruned, SharePartitionLoaded
from kipviz.properties.verdict import BROKEN
from kipviz.scenarios.library import scenario
from kipviz.scenarios.script import follow, play
from tests.scenarios.story import nodes

STORY = scenario("kip-1289-small-pruned")
SNAPSHOT, PRUNING, TAKEN_OVER, COMMIT = STORY.beats[6:10]
LOADED_AGAIN = ("src-0 moves to B3", "app-1 goes on", "app-1 goes on", "quiet")


@pytest.mark.parametrize(("name", "lost"), [("repaired", False), ("finding-X16", True)])
def test_a_snapshot_of_a_pending_transactional_acknowledgement_and_a_marker_behind_it_lose_no_acknowledgement(
    name: str, lost: bool
) -> None:
    """The log is pruned when the transactional acknowledgement is decided already, and the snapshot has no outcome of it."""
    model = STORY.model(design(name))
    begun = Trace.start(model, EVERY_PROPERTY)
    trace, _ = play(begun, model, (*STORY.beats[:6], SNAPSHOT))
    for step in (*COMMIT.steps, *PRUNING.steps, *TAKEN_OVER.steps, *LOADED_AGAIN):
        trace = follow(
            trace,
            model,
            step,
            "the transactional acknowledgement is decided before the log is pruned",
        )
    assert any(isinstance(e, LogPruned) for n in nodes(trace) for e in n.events)
    found = [e for n in nodes(trace) for e in n.events if isinstance(e, SharePartitionLoaded)]
    assert found[-1].held == (() if lost else (100,))
    last = zip(EVERY_PROPERTY, trace.here.observations, strict=True)
    broken = {p.name for p, state in last if p.finding(state).status == BROKEN}
    assert broken == ({"atomic", "committed stays"} if lost else set())
