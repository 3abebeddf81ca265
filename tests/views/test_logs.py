"""Logs as pictures: a marker stands with the batches that it decides."""

from __future__ import annotations

import pytest

from kipviz.views.role_cards.logs import tape
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
    cells = [row for row in tape(log).values() if row.get("batch")]
    assert {cell["batch"] for cell in cells} == {stands_with}
    assert {bool(cell["control"]) for cell in cells} == {False, True}
