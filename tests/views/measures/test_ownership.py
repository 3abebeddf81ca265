"""Who owns what: counted from runs, drawn with a box for each client and a line for each connection."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from kipviz.checking.timed.ledger import Ledger, ledger
from kipviz.scenarios.library import scenario
from kipviz.studies.counting.sessions import USE_CASES
from kipviz.views.measures.ownership import PANEL, panel, picture, side_by_side, table, words
from tests.scenarios.story import play_once

STORIES = pytest.mark.parametrize(
    "story",
    [scenario(f"kip-1310-{case}-{side}") for case in USE_CASES for side in ("producer", "session")],
    ids=lambda story: story.name,
)


SHARED = [scenario(f"kip-1310-share-{side}") for side in ("producer", "session")]


def count_story(story) -> Ledger:
    return ledger(play_once(story.name, story.designs[0])[0])


@STORIES
def test_every_request_of_a_client_is_on_one_of_its_connections(story) -> None:
    found = count_story(story)
    assert sum(owner.requests for owner in found.owners) == sum(n for *_, n in found.requests) > 0
    trace, _ = play_once(story.name, story.designs[0])
    opened = {
        source: broker
        for source, broker in trace.world.connections
        if source.partition("/")[0] in trace.world.applications
    }
    assert {f"{owner.process}/{owner.name}" for owner in found.owners if owner.connections} == set(
        opened
    )


@STORIES
def test_the_picture_has_a_box_for_each_object_and_a_line_for_each_connection(story) -> None:
    found = count_story(story)
    text = picture([panel(story.title, found)])
    root = ET.fromstring(text)
    lines = [e for e in root.iter() if e.tag.endswith("path")]
    assert len(lines) == found.connections
    boxes = [e for e in root.iter() if e.tag.endswith("rect")]
    brokers = {broker for owner in found.owners for broker, _ in owner.connections}
    assert len(boxes) == 1 + len(found.processes) + len(found.owners) + len(brokers)
    assert text == picture([panel(story.title, found)])
    assert "<script" not in text


def test_boxes_of_a_panel_do_not_lie_over_each_other() -> None:
    drawn = panel("x", count_story(scenario("kip-1310-flink-producer")))
    ends = [(box.y, box.y + box.height) for box in drawn.boxes]
    assert all(end < start for (_, end), (start, _) in pairwise(ends))


def test_a_session_takes_over_the_identity_and_leaves_the_accumulator() -> None:
    today, draft = (
        count_story(scenario(f"kip-1310-produce-{side}")) for side in ("producer", "session")
    )
    head, *rows = table((("today", today), ("session", draft)))
    assert head == ("", "today", "session")
    found = {name: cells for name, *cells in rows}
    assert found["TransactionSession"] == ["0", "1"]
    assert found["accumulators"] == ["1", "1"]
    assert found["EndTxn of KafkaProducer"] == ["1", "0"]
    assert found["EndTxn of TransactionSession"] == ["0", "1"]
    assert found["Produce of KafkaProducer"] == ["1", "1"]
    assert found["WriteTxnMarkers between brokers"] == ["1", "1"]
    assert all(re.fullmatch(r"\d+", cell) for cells in found.values() for cell in cells)


@STORIES
def test_what_is_drawn_is_said_as_well(story) -> None:
    found = count_story(story)
    said = words(panel(story.title, found))
    root = ET.fromstring(picture([panel(story.title, found)]))
    assert root.get("role") == "img"
    assert root.get("aria-label") == said
    assert next(e.text for e in root if e.tag.endswith("desc")) == said
    for owner in found.owners:
        assert owner.kind in said
        for broker, sent in owner.connections:
            requests = ", ".join(f"{name} {count}" for name, count in sent)
            assert f"to Broker {broker} with {requests}" in said


def test_panels_stand_below_each_other_where_there_is_no_room_for_two() -> None:
    drawn = [panel(s.title, count_story(s)) for s in SHARED]
    text = side_by_side(drawn)
    assert "flex-wrap:wrap" in text
    assert text.count(f'width="{PANEL}"') >= len(drawn)
    assert PANEL <= 800
    assert text.count('fill="#fff"/>') == len(
        drawn
    )  # a light ground of its own, in the dark as well


@STORIES
def test_no_line_of_a_picture_is_wider_than_its_place(story) -> None:
    """Estimated: 0.56 of the size for a letter."""
    drawn = panel(story.title, count_story(story))
    assert len(drawn.title) * 14 * 0.56 <= PANEL
    for box in drawn.boxes:
        assert all(len(line) * 11 * 0.56 <= 200 for line in box.lines), box.lines
