"""Logs as pictures: a marker stands with the batches that it decides."""

from __future__ import annotations

import pytest

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.seeded_run import Task
from kipviz.records.placement import INTERNAL_TOPICS, topic_of
from kipviz.views.role_cards.logs import Entries, Tape
from tests.scenarios.story import play_once


@pytest.mark.parametrize(
    ("story", "design", "stands_with"),
    [
        # The decision bumps the epoch: the marker has the next one.
        ("kip-1289-group-commit", "kafka", "pid 9 epoch 0"),
        # The marker has the epoch of its transaction, found nothing, and the late batch came behind.
        ("kip-890-hanging", "kafka-tv0", "pid 9 epoch 0"),
    ],
)
def test_a_marker_stands_with_its_batches_in_every_version(
    story: str, design: str, stands_with: str
) -> None:
    log = play_once(story, design)[0].last().world.logs["output-A-0"]
    cells = [row for row in Tape()(log).values() if row.get("batch")]
    assert {cell["batch"] for cell in cells} == {stands_with}
    assert {bool(cell["control"]) for cell in cells} == {False, True}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_picture_of_a_log_along_a_run_is_that_of_a_log_seen_for_the_first_time(
    seed: int,
) -> None:
    run = runs.replay(Task("kip-1289-two-members", "repaired", "hostile", seed, 250))
    along = {
        name: Entries(str.upper) if topic_of(name) in INTERNAL_TOPICS else Tape()
        for name in run.trace.world.logs
    }
    changed = 0
    for node in run.trace.line:
        for name, log in run.trace.node(node).world.logs.items():
            first = Entries(str.upper) if isinstance(along[name], Entries) else Tape()
            picture = along[name](log)
            assert list(picture.items()) == list(first(log).items())
            changed += bool(log.batches)
    assert changed > 100
