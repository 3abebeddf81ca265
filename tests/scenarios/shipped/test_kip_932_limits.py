"""Share groups: what is skipped with latest, what closes the window, which copies are there twice."""

from __future__ import annotations

from kipviz.brokers.settings import GroupConfig
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.events import DELIVERED, RecordsMoved
from kipviz.messages.groups.reset_policy import EARLIEST
from kipviz.scenarios.library import scenario
from kipviz.scenarios.scenario import Scenario
from kipviz.scenarios.script import follow
from kipviz.scenarios.setting import SHARE_GROUP

LATEST_SKIPS, TAKES, WINDOW, NO_COPY = (
    scenario(name)
    for name in (
        "kip-932-latest-skips",
        "kip-932-acquire-mode",
        "kip-932-in-flight-limit",
        "kip-1191-no-copy",
    )
)


def play_story(story: Scenario, spec: ClusterSpec | None = None) -> Trace:
    rules = design("kafka")
    model = rules.model(spec or story.spec)
    trace = Trace.start(model, ())
    for beat in story.beats:
        for step in beat.steps:
            trace = follow(trace, model, step, "")
    return trace


def list_delivered(trace: Trace) -> list[tuple[int, str]]:
    events = (event for n in trace.line for event in trace.node(n).events)
    moves = (e for e in events if isinstance(e, RecordsMoved) and e.because == DELIVERED)
    return [(e.first, e.member_id) for e in moves]


def test_with_latest_what_was_not_acknowledged_before_the_first_leader_crashed_is_skipped() -> None:
    assert list_delivered(play_story(LATEST_SKIPS)) == [(102, "M1"), (103, "M1")]
    earliest = (GroupConfig(SHARE_GROUP, auto_offset_reset=EARLIEST),)
    loose = {
        b: tuple(f"maybe {s}" if s != "quiet" else s for s in b.steps) for b in LATEST_SKIPS.beats
    }
    again = LATEST_SKIPS.but(beats=tuple(b.but(steps=steps) for b, steps in loose.items()))
    seen = list_delivered(play_story(again, again.spec.but(group_configs=earliest)))
    assert seen.count((100, "M1")) == 2  # with earliest they come again


def test_one_record_at_the_front_closes_the_window_for_all() -> None:
    assert list_delivered(play_story(WINDOW)) == [
        *((100, "M1"), (101, "M1"), (100, "M2"), (102, "M2"), (103, "M2"))
    ]


def test_a_batch_of_the_log_is_taken_whole_or_by_the_record() -> None:
    assert list_delivered(play_story(TAKES)) == [
        *((100, "M1"), (101, "M1"), (102, "M1"), (103, "M2"), (104, "M2"))
    ]


def test_a_copy_whose_answer_is_lost_is_there_twice_and_one_without_a_leader_never() -> None:
    log = play_story(NO_COPY).world.logs["dlq.orders-0"]
    copies = [record for batch in log.batches for record in batch.records]
    assert len(copies) == 2
    assert copies[0] == copies[1]
