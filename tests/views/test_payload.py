"""The payload of every story against the worlds it was made from."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from kipviz.checking.single_run.continuation import breaks_later
from kipviz.cluster.specs.spec import ApplicationSpec
from kipviz.core.traces.trace import Node, Trace
from kipviz.designs.catalogue import REPAIRED, design
from kipviz.designs.options.options import STATUSES
from kipviz.messages.events import MessageSent
from kipviz.messages.wire.frame import KINDS, read_message
from kipviz.properties.verdict import Finding
from kipviz.scenarios.applications.program_faults import THE_PROGRAM, blame_for_harm
from kipviz.scenarios.library import LIBRARY, scenario
from kipviz.scenarios.scenario import PROPERTIES, Scenario
from kipviz.scenarios.script import play
from kipviz.views.choices import action_of, choice_id
from kipviz.views.exports.hexdump import places_of
from kipviz.views.payload import payload
from kipviz.views.reasons.beliefs import Beliefs
from kipviz.views.role_cards.cards import Cards
from kipviz.widgets.pages.payload import read
from tests.scenarios.story import nodes, play_once, under_one_design_each
from tests.views.page import (
    cards_at,
    choices_at,
    down_at,
    ending,
    main_line,
    on_wire_at,
    verdicts_at,
    wire_of,
)
from tests.views.told import payload_of

Part = dict[str, Any]
AS_STORY = pytest.mark.parametrize(("name", "under"), under_one_design_each())


def lines(name: str, under: str) -> tuple[Part, list[Node], Part]:
    """A payload, the nodes it was made from, and its main line as the page has it."""
    whole = payload_of(name, under)
    trace, _ = play_once(name, under)
    return whole, nodes(trace), main_line(whole)


@AS_STORY
def test_a_payload_is_one_that_the_page_reads(name: str, under: str) -> None:
    whole = payload_of(name, under)
    read(whole)
    assert json.loads(json.dumps(whole)) == whole
    assert whole["scenario"] == name
    assert whole["design"]["name"] == under
    assert "Kafka 4." in whole["spec_line"]


@AS_STORY
def test_every_step_has_words_and_the_clause_that_it_follows(name: str, under: str) -> None:
    whole = payload_of(name, under)
    start, *steps = whole["steps"]
    assert start["kind"] == "start"
    lanes = {lane["id"] for lane in whole["lanes"]} | {""}
    for step in steps:
        assert step["title"]
        assert step["sentence"].endswith(".")
        assert "  " not in step["sentence"]
        assert step["actor"] in lanes
        assert step["why"]["clause"]
        assert step["why"]["rule"]
        assert step["why"]["kafka"]
        assert step["why"]["status"] in STATUSES


@AS_STORY
def test_exactly_one_choice_is_taken_at_every_step_but_the_last(name: str, under: str) -> None:
    _, path, line = lines(name, under)
    for step in range(len(path)):
        taken = [item for item in choices_at(line, step) if item["taken"]]
        if step == len(path) - 1:
            assert taken == []
        else:
            (item,) = taken
            assert item["enabled"]
            assert action_of(item["id"]) == path[step + 1].action


@AS_STORY
def test_the_choices_are_what_the_model_allows_and_the_grey_ones_say_why(
    name: str, under: str
) -> None:
    _, path, line = lines(name, under)
    model = play_once(name, under)[0].model
    for step, node in enumerate(path):
        items = choices_at(line, step)
        ids = [item["id"] for item in items]
        assert len(set(ids)) == len(ids)
        possible = {item["id"] for item in items if item["enabled"]}
        offered = {choice_id(action) for action in model.enabled(node.world)}
        assert possible == offered | {item["id"] for item in items if item["taken"]}
        for item in items:
            assert item["text"]
            if not item["enabled"]:
                assert item["why"] == model.why_not(node.world, action_of(item["id"])) != ""
            else:
                assert item["why"] == ""


def test_a_choice_that_cannot_be_taken_is_shown_with_its_reason() -> None:
    _, path, line = lines("kip-1289-lock-expiry", "repaired")
    why = {
        item["why"]
        for step in range(len(path))
        for item in choices_at(line, step)
        if not item["enabled"] and "ExpireLock" in item["id"]
    }
    assert why
    assert all("src-0@100 is TX_PENDING" in sentence for sentence in why)


@AS_STORY
def test_a_message_is_on_the_wire_as_long_as_it_is_in_the_world(name: str, under: str) -> None:
    _, path, line = lines(name, under)
    for step, node in enumerate(path):
        shown = Counter((m["from"], m["to"], m["kind"], m["label"]) for m in on_wire_at(line, step))
        assert shown == wire_of(node.world)


@AS_STORY
def test_every_message_arrives_is_lost_or_is_on_the_wire_at_the_end(name: str, under: str) -> None:
    whole, path, line = lines(name, under)
    on_wire = {m["id"] for m in on_wire_at(line, len(path) - 1)}
    for message in whole["messages"]:
        ends = [
            message["arrived"] is not None,
            message["lost"] is not None,
            message["id"] in on_wire,
        ]
        assert ends.count(True) == 1
        if (end := ending(message)) is not None:
            assert 0 < message["sent"] < end < len(path)
    assert len({m["id"] for m in whole["messages"]}) == len(whole["messages"])


@AS_STORY
def test_the_rows_alive_at_a_step_are_the_cards_of_that_world(name: str, under: str) -> None:
    whole, path, line = lines(name, under)
    model = play_once(name, under)[0].model
    cards, views = Cards(model), Beliefs(model.spec)
    heads = [head.id for head in (*cards.heads, *views.heads)]
    assert [card["id"] for card in whole["cards"]] == heads
    for step, node in enumerate(path):
        cards.observe(node.world, node.events)
        views.observe(node.world, node.events)
        snapshot = {**cards.snapshot(node.world), **views.snapshot(node.world)}
        expected = {
            card: {row: {"tone": "calm", **cells} for row, cells in rows.items()}
            for card, rows in snapshot.items()
            if rows
        }
        assert cards_at(line, step) == expected


def with_the_program(name: str, found: Finding) -> tuple[str, str]:
    """What the page says of a property: where the program breaks it, the program is named."""
    whose = blame_for_harm(scenario(name).spec, found.harm) if found.status == "broken" else ""
    return found.status, f"{found.reason}; {THE_PROGRAM}: {whose}" if whose else found.reason


@AS_STORY
def test_the_verdicts_shown_are_what_the_properties_say(name: str, under: str) -> None:
    _, path, line = lines(name, under)
    for step, node in enumerate(path):
        findings = {
            prop.name: prop.finding(state)
            for prop, state in zip(PROPERTIES, node.observations, strict=True)
        }
        if step and step == len(path) - 1:  # what the cluster does next by itself counts at the end
            model = scenario(name).model(design(under))
            later = breaks_later(model, node.world, node.observations, PROPERTIES)
            findings |= {
                each.property_name: Finding("broken", each.sentence, each.harm) for each in later
            }
        assert verdicts_at(line, step) == {
            n: with_the_program(name, each) for n, each in findings.items()
        }


@AS_STORY
def test_whoever_is_down_in_a_story_is_down_in_its_world(name: str, under: str) -> None:
    _, path, line = lines(name, under)
    brokers = scenario(name).spec.brokers
    for step, node in enumerate(path):
        dead = {app.name for app in node.world.applications.values() if not app.alive}
        dead |= {f"B{broker}" for broker in brokers if broker not in node.world.up}
        assert down_at(line, step) == dead


@AS_STORY
def test_the_big_steps_cover_the_story_one_after_the_other(name: str, under: str) -> None:
    whole, path, _ = lines(name, under)
    at = 1
    for big in whole["bigs"]:
        assert big["from"] == at
        assert big["to"] > at
        assert big["say"]
        at = big["to"]
    assert at == len(path)


def test_a_telling_changes_nothing_and_is_the_same_twice() -> None:
    trace, chapters = play_once("kip-1289-share-commit", "repaired")
    story = scenario("kip-1289-share-commit")
    before = trace.world.digest
    one = payload(story, REPAIRED, trace.model, trace, chapters)[0]
    assert payload(story, REPAIRED, trace.model, trace, chapters)[0] == one
    assert trace.world.digest == before


# -- text from outside stays text ------------------------------------------------------------------

# A slash would part a host from its client, so no closing tag.
NAME, VALUE = "<i>app & co", "<b>&amp;"


def marked_up() -> Scenario:
    """The small story with markup in the application's name, its ids and the record's value."""
    story = scenario("kip-1289-small")
    (app,) = story.spec.applications
    evil: ApplicationSpec = app.but(name=NAME, member_id="<u>M", group_id="g1")
    spec = story.spec.but(applications=(evil,), records=(("src-0", 100, (VALUE,)),))
    beats = tuple(
        beat.but(steps=tuple(step.replace("app-1", "<i>app*") for step in beat.steps))
        for beat in story.beats
    )
    return story.but(spec=spec, lanes=(NAME, "B1", "B3", "B5"), beats=beats)


def test_markup_in_names_and_values_stays_the_text_that_it_is() -> None:
    story = marked_up()
    model = story.model(REPAIRED)
    trace, chapters = play(Trace.start(model, PROPERTIES), model, story.beats)
    whole = payload(story, REPAIRED, model, trace, chapters)[0]
    read(whole)
    assert whole["lanes"][0]["id"] == whole["lanes"][0]["title"] == NAME
    assert {m["from"] for m in whole["messages"]} >= {NAME, "B1"}
    assert any(NAME in step["sentence"] for step in whole["steps"])
    texts = {row["cells"].get("text") for row in whole["rows"] if row["card"] == "log:output-A-0"}
    assert f"f({VALUE})"[:8] in texts
    assert "&lt;" not in json.dumps(whole)
    assert len(whole["steps"]) == len(payload_of("kip-1289-small", "repaired")["steps"])


@AS_STORY
def test_every_message_of_a_story_has_its_bytes_and_they_are_read_back(
    name: str, under: str
) -> None:
    whole = payload_of(name, under)
    sent = [
        event.message
        for node in nodes(play_once(name, under)[0])
        for event in node.events
        if isinstance(event, MessageSent)
    ]
    assert len(sent) == len(whole["messages"])
    for was, shown in zip(sent, whole["messages"], strict=True):
        shape, digits = shown["bytes"]
        raw = bytes.fromhex(digits)
        name_of_kind = whole["wire"]["shapes"][shape]["kind"]
        assert name_of_kind.partition(" ")[0] == type(was).__name__
        version = whole["wire"]["kinds"][name_of_kind]["version"]
        read_message(KINDS[type(was)].schema, version, raw)
        found = list(places_of(shown, whole["wire"]))
        assert b"".join(place.data for place in found) == raw


def test_values_of_every_type_are_told_as_kafka_prints_them() -> None:
    values = {
        ("uuid", "AAAAAAAAAAAAAAAAAAAAAg"),
        ("compact string", "null"),
        ("varint string", "null"),
        ("varint", "1"),
        ("int64", "-1"),
        ("bool", "true"),
    }
    types = {"uint32", "compact records", "compact array", "string"}
    # As many stories as it takes.
    for story in LIBRARY:
        whole = payload_of(story.name, story.designs[0])
        for shown in whole["messages"]:
            for place in places_of(shown, whole["wire"]):
                values.discard((place.type, place.value))
                types.discard(place.type)
        if not values and not types:
            break
    assert (values, types) == (set(), set())
