"""A run as a still picture."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from kipviz.checking import runs
from kipviz.checking.task import Task
from kipviz.views.payload import payload
from kipviz.views.svg import svg
from kipviz.widgets.lab import stepper_of
from kipviz.widgets.sharing import whole
from tests.widgets import flow

NAME = "{http://www.w3.org/2000/svg}"


def told(run):
    return payload(run.scenario, run.design, run.model, run.trace.last(), run.told)[0]


@pytest.fixture(scope="module")
def story():
    return told(runs.play("kip-1289-lock-expiry"))


def words(picture: str) -> list[str]:
    return [text.text or "" for text in ET.fromstring(picture).iter(f"{NAME}text")]


def test_a_picture_has_every_lane_message_note_and_big_step(story):
    shown = words(svg(story))
    for lane in story["lanes"]:
        assert lane["title"] in shown
    for number, big in enumerate(story["bigs"], 1):
        assert f"{number}. {big['title']}" in shown
    ended = [m["label"] for m in story["messages"] if m["arrived"] is not None]
    for label in ended:
        assert shown.count(label) >= ended.count(label)
    assert sum(note["text"] in text for note in story["notes"] for text in shown) >= len(
        story["notes"]
    )
    assert any(text.startswith("⚠ atomic: the output of") for text in shown)


def test_a_picture_around_a_step_says_where_it_is_and_what_is_left_out(story):
    shown = words(svg(story, cursor=40, around=20, all_lanes=False))
    assert "step 40" in shown
    assert "… 27 earlier steps are not drawn" in shown
    assert "… 20 later steps are not drawn" in shown
    assert " ".join(shown).endswith(f"40. {story['steps'][40]['sentence']}")
    assert "Broker 7" not in shown


def test_what_is_lost_down_or_on_the_wire_is_said_in_words(story):
    lossy = told(runs.replay(Task("kip-1289-two-members", "repaired", "hostile", 1)))
    assert any(message["lost"] is not None for message in lossy["messages"])
    picture = svg(lossy)
    assert "✗ lost" in picture
    assert 'stroke-dasharray="2 6"' in picture
    cut = next(m["sent"] for m in story["messages"] if m["arrived"] - m["sent"] > 1)
    assert "(on the wire)" in svg({**story, "steps": story["steps"][: cut + 1]})


def test_a_picture_of_a_branch_is_that_of_its_run_told_alone():
    stepper = stepper_of(runs.play("kip-1289-lock-expiry"))
    stepper.step = 30
    free = [c for c in stepper._line.choices_at(30) if c["enabled"] and not c["taken"]]
    stepper.take(free[-1]["id"])
    run = stepper.lab.run_at(1, 31)
    alone, _ = payload(run.scenario, run.design, run.model, run.trace, run.told)
    branch = whole(stepper.payload, stepper.known_branches, 1)
    assert svg(branch, cursor=31) == svg(alone, cursor=31)


def test_a_picture_reaches_nothing_outside_itself(story):
    picture = svg(story)
    for word in ("<style", "<script", "href", "url(", "<image", "class="):
        assert word not in picture
    assert picture == svg(story)


def test_the_still_picture_of_a_stepper_is_small_and_follows_it():
    stepper = stepper_of(runs.replay(Task("kip-1289-two-members", "repaired", "hostile", 1)))
    sizes = []
    for step in (0, 100, stepper._line.last):
        stepper.step = step
        bundle = stepper._repr_mimebundle_()
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        assert "application/vnd.jupyter.widget-view+json" in data
        assert data["text/plain"].startswith(f"message {step} of ")
        assert (f"step {step}" if step else "start") in words(data["image/svg+xml"])
        sizes.append(len(data["image/svg+xml"].encode()))
    assert max(sizes) < 60_000


@pytest.mark.parametrize("lanes", [1, 2, 9])
def test_any_number_of_lanes_has_a_picture(lanes):
    shown = flow.share_payload()
    first = shown["lanes"][0]
    names = [{**first, "id": f"x{n}", "title": f"Lane {n}"} for n in range(lanes)]
    picture = svg({**shown, "lanes": [*names, *shown["lanes"]][: max(lanes, 1)]})
    assert "Lane 0" in words(picture)
