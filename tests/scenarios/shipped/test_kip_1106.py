"""auto.offset.reset=by_duration: what is read, what is passed over, and what is refused."""

from __future__ import annotations

import pytest

from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import OLDEST_MS, BadSpec
from kipviz.cluster.timing.clock import Clock
from kipviz.cluster.timing.durations import DURATIONS
from kipviz.cluster.timing.record_timestamps import horizon_of
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import scenario
from kipviz.scenarios.setting_changes import apply_changes
from tests.scenarios.story import after

STORY = "kip-1106-passed-over"
SPEC = scenario(STORY).spec


def read_by(reset: str) -> list[str]:
    """What poll() brings in the story's run under another policy."""
    story = scenario(STORY)
    spec, _ = apply_changes(story.spec, design("kafka"), [f"app-1.auto_offset_reset={reset}"])
    trace, _ = story.but(spec=spec).play(design("kafka"))
    return [record.value for record in trace.world.applications["app-1"].consumer.records]


def test_a_record_of_the_time_between_two_questions_is_read_by_nobody() -> None:
    world = after(STORY, "kafka", "app-1 asks again, 30 s after its first request")
    reader = world.applications["app-1"].consumer
    assert [record.offset for record in reader.records] == [1]
    assert (reader.error, world.logs["src-0"].start_offset) == ("", 0)


def test_a_duration_that_is_longer_than_the_wait_passes_over_nothing() -> None:
    world = after(STORY, "kafka", "app-1 asks again, 30 s after its first request")
    (of_b,) = world.applications["app-1"].consumer.records
    assert read_by("by_duration:PT31S")[-1] == of_b.value
    assert len(read_by("by_duration:PT31S")) == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"auto_offset_reset": "by_duration:5"}, "with a duration like PT10S"),
        ({"auto_offset_reset": "yesterday"}, "'yesterday' is not allowed there"),
        ({"protocol": ""}, "takes a consumer that joins its group"),
    ],
)
def test_a_reset_that_cannot_be_is_refused_in_one_sentence(
    changes: dict[str, str], said: str
) -> None:
    reader, writer = SPEC.applications
    with pytest.raises(BadSpec, match=said):
        check(SPEC.but(applications=(reader.but(**changes), writer)))


def test_without_a_clock_there_is_no_duration() -> None:
    with pytest.raises(BadSpec, match=r"clock=timed, stamps=true"):
        check(SPEC.but(clock=Clock()))


def test_a_search_looks_back_as_far_as_a_question_on_its_way_and_meets_its_wait() -> None:
    """Without a limit of delays it is an hour besides the duration."""
    assert horizon_of(SPEC) == 5_000 + OLDEST_MS + 1
    assert horizon_of(SPEC.but(clock=SPEC.clock.but(delay_max_ms=1_000))) == 6_001
    (wait,) = (row for row in DURATIONS if row.setting == "request.timeout.ms")
    assert wait.values(SPEC) == (30_000,)
