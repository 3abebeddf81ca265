"""Before a question is answered, neither titles nor stored pictures nor words tell its answer."""

from __future__ import annotations

import re
from html import escape
from typing import Any

import pytest

import kipviz
from kipviz.checking.single_run.learner_record import Learned
from kipviz.scenarios.library import scenario
from kipviz.widgets.comparing.compare import Compare
from kipviz.widgets.pages.open_question import open_question, tells_at, title_of
from kipviz.widgets.pages.page import page

LATE = "kip-447-group-id-only"


@pytest.fixture
def stepper() -> Any:
    return kipviz.open(LATE)


def face(stepper: Any) -> dict[str, str]:
    found = stepper._repr_mimebundle_()
    return found[0] if isinstance(found, tuple) else found


def test_a_title_that_tells_the_outcome_comes_with_the_answer(stepper: Any) -> None:
    payload = stepper.payload
    (question,) = payload["questions"]
    assert open_question(payload, ()) == question
    assert title_of(payload, ()) == payload["untold"]
    assert title_of(payload, [question["id"]]) == payload["title"]


def test_the_part_that_is_asked_about_tells_the_answer_or_what_breaks_before_it() -> None:
    payload = kipviz.open(LATE).payload
    (question,) = payload["questions"]
    part = next(b for b in payload["bigs"] if b["from"] <= question["step"] < b["to"])
    assert tells_at(payload, ()) == part["from"]
    assert tells_at(payload, [question["id"]]) == len(payload["steps"])
    early = kipviz.open("kip-1289-lock-expiry", "finding-D").payload
    assert tells_at(early, ()) == next(
        v["from"] for v in early["verdicts"] if v["state"] == "broken"
    )


def test_the_still_face_of_a_stepper_ends_with_the_question(stepper: Any) -> None:
    payload = stepper.payload
    words = face(stepper)["text/plain"]
    assert "Predict: app-1's offsets were accepted." in words
    assert re.sub(r"\s+", " ", payload["bigs"][-1]["say"])[:60] not in re.sub(r"\s+", " ", words)
    still = stepper.still()
    assert payload["untold"] in re.sub(r"</tspan>.*?<tspan[^>]*>", " ", still)
    assert payload["title"] not in face(stepper)["text/html"]


def test_a_still_picture_draws_no_step_that_tells_the_answer() -> None:
    stepper = kipviz.open("kip-1289-lock-expiry", "finding-D")
    tells = tells_at(stepper.payload, ())
    stepper.step = tells - 1
    later = len(stepper.payload["steps"]) - tells
    assert f"{later} later steps are not drawn" in stepper.still()
    stepper.last()
    assert "later steps are not drawn" not in stepper.still()


def test_at_the_end_the_still_face_has_every_part_and_the_title_that_tells(stepper: Any) -> None:
    stepper.last()
    words = face(stepper)["text/plain"]
    assert "Predict: " not in words
    assert f"{len(stepper.payload['bigs']):>3}. " in words
    assert "A zombie that no broker can detect" in face(stepper)["text/html"].replace("%20", " ")


def test_a_saved_page_has_the_title_for_its_reader(stepper: Any) -> None:
    payload = stepper.payload
    named = re.compile(r"<title>(.*?)</title>")
    begun = named.search(page(payload))
    assert begun
    assert begun[1] == payload["untold"]
    known = Learned(revealed=(payload["questions"][0]["id"],))
    ended = named.search(page(payload, learned=known))
    assert ended
    assert ended[1] == payload["title"]


def test_without_scripts_a_page_folds_what_tells_the_answer() -> None:
    payload = kipviz.open(LATE).payload
    (question,) = payload["questions"]
    words = re.search(r"<noscript>(.*)</noscript>", page(payload), re.DOTALL)[1]
    open_, _, folded = words.partition("<details>")
    assert payload["untold"] in open_
    assert f"Predict: {escape(question['text'])}" in open_
    for told in (payload["title"], payload["bigs"][-1]["say"], "✗ atomic"):
        assert escape(told) not in open_
        assert escape(told) in folded
    answered = Learned(((question["id"], 0),), (question["id"],), ())
    words = re.search(r"<noscript>(.*)</noscript>", page(payload, learned=answered), re.DOTALL)[1]
    assert "<details>" not in words
    assert escape(payload["title"]) in words


def test_no_list_of_stories_and_no_comparison_has_a_title_that_tells_the_answer() -> None:
    story = scenario(LATE)
    shown = kipviz.list_scenarios()
    for text in (repr(shown), shown.html(), str(shown.entries)):
        assert story.untold in text
        assert story.title not in text
    both = kipviz.open(LATE).payload
    assert Compare(both, both).payload["title"] == story.untold
    pictures = (
        Compare(both, both).still(),
        kipviz.compare(LATE, "kafka", "before-447", "kip-447-first-draft").still(),
    )
    for picture in pictures:
        said = re.sub(r"<[^>]+>", " ", picture)
        assert "A zombie that no broker can detect" not in said
        assert story.untold.split()[-1] in said
