"""The stories of KIP-890 under each transaction version."""

from __future__ import annotations

import pytest

from kipviz.designs.catalogue import design
from kipviz.lessons.goals import Spans
from kipviz.scenarios.library import scenario


def told(name, under):
    trace, _ = scenario(name).play(design(under))
    return trace


def output(trace):
    return trace.world.logs["output-A-0"]


def reached(trace, *goals):
    seen = Spans(goals)
    for k, node in enumerate(map(trace.node, trace.line)):
        seen.see(k, node.action, node.world, node.events)
    return {span["goal"] for span in seen.found}


@pytest.mark.parametrize(
    ("under", "batches", "hangs"),
    [
        ("kafka-tv0", ["ABORT", ""], True),
        ("kafka-tv1", ["ABORT"], False),
        ("kafka", [], False),
    ],
)
def test_a_late_batch_hangs_only_where_nobody_is_asked(under, batches, hangs):
    trace = told("kip-890-hanging", under)
    log = output(trace)
    assert [batch.control for batch in log.batches] == batches
    assert (log.last_stable_offset < log.high_watermark) is hangs
    goals = ("hangs", "late one refused")
    assert reached(trace, *goals) == {goals[0] if hangs else goals[1]}
