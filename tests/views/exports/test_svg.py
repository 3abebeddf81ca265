"""A run as a still picture."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.seeded_run import Task
from kipviz.views.exports.svg import _wide, beside, svg
from kipviz.views.payload import payload
from kipviz.widgets.lab import stepper_of
from kipviz.widgets.stepping.sharing import whole
from tests.views.told import find_drawing
from tests.widgets import flow

NAME = "{http://www.w3.org/2000/svg}"


def payload_of(run):
    return payload(run.scenario, run.design, run.model, run.trace.last(), run.told)[0]


@pytest.fixture(scope="module")
def story():
    return payload_of(runs.play("kip-1289-lock-expiry"))


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
    lossy = payload_of(runs.replay(Task("kip-1289-two-members", "repaired", "hostile", 1)))
    assert any(message["lost"] is not None for message in lossy["messages"])
    picture = svg(lossy)
    assert "✗ lost" in picture
    assert 'stroke-dasharray="2 6"' in picture
    cut = next(m["sent"] for m in story["messages"] if m["arrived"] - m["sent"] > 1)
    assert "(in flight)" in svg({**story, "steps": story["steps"][: cut + 1]})


@pytest.mark.parametrize("narrow", [False, True])
def test_a_long_title_is_whole_and_the_design_and_its_status_have_a_line_of_their_own(
    story, narrow
):
    title = "WWWW transactional.id.expiration.ms MMMM, and the coordinator's memory of it " * 2
    named = {**story["design"], "name": "kip-1319-two-versions", "status": "our inference"}
    shown = words(svg({**story, "title": title, "design": named}, around=3, narrow=narrow))
    ends = shown.index("design kip-1319-two-versions (our inference)")
    assert " ".join(shown[:ends]) == title.strip()
    assert 1 < ends < 7


@pytest.mark.parametrize("narrow", [False, True])
def test_every_text_ends_within_the_picture_in_the_widest_face(story, narrow):
    for run in (story, {**story, "title": "m" * 90}):
        picture = ET.fromstring(svg(run, cursor=40, all_lanes=not narrow, narrow=narrow))
        for text in picture.iter(f"{NAME}text"):
            size, weight = int(text.get("font-size", "12")), int(text.get("font-weight", "400"))
            wide, x = _wide(text.text or "", size, weight), float(text.get("x", "nan"))
            share = {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor", "")]
            left = x - share * wide
            assert left >= 0, text.text
            assert left + wide <= int(picture.get("width", "0")), text.text
            assert size >= 12


def test_bold_letters_are_wider_than_regular_ones():
    for letter in "aemwMW0:":
        assert _wide(letter, 12, 600) > _wide(letter, 12, 500)
    # What Chromium 156 measured in DejaVu Sans.
    assert _wide("transactional.id", 12, 700) == pytest.approx(106.76, abs=0.1)
    assert _wide("transactional.id", 12, 400) == pytest.approx(93.24, abs=0.1)
    assert _wide("漢字", 12) == 24


def test_a_comparison_at_full_size_is_as_wide_as_a_cell_beside_the_file_browser(story):
    sides = [svg(story, cursor=30, all_lanes=False, narrow=True)] * 2
    assert int(ET.fromstring(beside(sides)).get("width", "0")) <= 833


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
        picture = find_drawing(data["text/html"])
        assert (f"step {step}" if step else "start") in words(picture)
        sizes.append(len(picture.encode()))
    assert max(sizes) < 60_000


@pytest.mark.parametrize("lanes", [1, 2, 9])
def test_any_number_of_lanes_has_a_picture(lanes):
    shown = flow.share_payload()
    first = shown["lanes"][0]
    names = [{**first, "id": f"x{n}", "title": f"Lane {n}"} for n in range(lanes)]
    picture = svg({**shown, "lanes": [*names, *shown["lanes"]][: max(lanes, 1)]})
    assert "Lane 0" in words(picture)
