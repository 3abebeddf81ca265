"""The model could have given the answers that a real broker gave."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kipviz.recordings.accept import NOT_ASKED, accept
from kipviz.recordings.recorded import load_recording

HERE = Path(__file__).parent
RELEASE = HERE / "kafka-4.4.0"
SCENARIOS = sorted(folder.name for folder in RELEASE.iterdir() if folder.is_dir())


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_answer_of_a_coordinator_is_one_that_the_model_could_have_given(
    name: str, release: Path
) -> None:
    for asked in accept(release / name):
        assert asked.accepted, asked


def test_the_recordings_ask_for_refusals_too() -> None:
    asked = [each for name in SCENARIOS for each in accept(RELEASE / name)]
    assert Counter(each.api for each in asked) == {
        "INIT_PRODUCER_ID": 10,
        "ADD_PARTITIONS_TO_TXN": 12,
        "END_TXN": 9,
    }
    errors = {each.recorded[0] for each in asked}
    assert {"NONE", "CONCURRENT_TRANSACTIONS", "INVALID_TXN_STATE"} <= errors


def test_an_answer_that_the_model_cannot_give_is_not_accepted() -> None:
    for asked in accept(RELEASE / "commit-and-abort"):
        error, producer_id, epoch = asked.recorded
        assert not asked.but(recorded=(error, producer_id, epoch + 100)).accepted


def test_of_every_other_request_it_is_said_why_it_is_not_asked() -> None:
    seen = {x.api for name in SCENARIOS for x in load_recording(RELEASE / name).wire}
    assert seen - {"INIT_PRODUCER_ID", "ADD_PARTITIONS_TO_TXN", "END_TXN"} == set(NOT_ASKED)
