"""Lessons in a real browser: questions from what is possible, notes, checkpoints."""

from __future__ import annotations

import functools

import pytest

import kipviz
from tests.browser.bare_page import wait_painted, write_page

pytestmark = pytest.mark.browser


@functools.cache
def payload() -> dict:
    return kipviz.open("kip-1289-share-commit").payload


@pytest.fixture
def show(show):
    return lambda **more: show(payload(), **more)


def value(page, name: str):
    return page.evaluate("(name) => window.model.get(name)", name)


def question_at(step: int) -> tuple[dict, list]:
    asks = payload()["asks"]
    return asks["texts"], next(q for q in asks["questions"] if q[0] == step)


def press(page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


ANSWERED = {"kip-1289-share-commit-1": 0}


def test_q_asks_what_can_happen_and_hides_the_list_that_tells(show):
    page = show(step=30, answers=ANSWERED)
    press(page, "q")
    texts, question = question_at(30)
    assert page.locator(".kv-ask").inner_text() == texts[question[2]]
    shown = page.locator(".kv-options button > span:nth-of-type(1)").all_inner_texts()
    assert shown == [texts[option[0]] for option in question[4]]
    assert page.locator(".kv-choices").is_hidden()


def test_a_number_answers_forward_reveals_and_the_next_forward_steps(show):
    page = show(step=30, answers=ANSWERED)
    _, question = question_at(30)
    right = next(n for n, option in enumerate(question[4]) if option[1])
    press(page, "q", str(right + 1))
    assert page.locator(".kv-options [aria-pressed=true]").count() == 1
    press(page, "ArrowRight")
    assert value(page, "step") == 30
    assert "Correct." in page.locator(".kv-reveal").inner_text()
    assert page.locator(".kv-choices").is_visible()
    press(page, "ArrowRight")
    assert value(page, "step") > 30


def test_what_was_revealed_is_closed_for_good(show):
    page = show(step=30, answers=ANSWERED)
    press(page, "q", "ArrowRight", "1")
    assert len(value(page, "answers")) == 1
    press(page, "Shift+ArrowRight", "Shift+ArrowLeft", "q", "1")
    assert len(value(page, "answers")) == 1
    assert "Not answered." in page.locator(".kv-reveal").inner_text()


def test_a_story_question_takes_number_keys_after_q_and_closes_once_its_step_was_seen(show):
    page = show()
    press(page, "q", "3")
    assert value(page, "answers") == {"kip-1289-share-commit-1": 2}
    press(page, "End", "Home")
    page.locator(".kv-options button").first.click(force=True)
    assert value(page, "answers") == {"kip-1289-share-commit-1": 2}


def test_shift_q_asks_at_every_step(show):
    page = show(step=22, answers=ANSWERED)
    press(page, "Q", "1", "ArrowRight", "ArrowRight")
    assert value(page, "step") > 22
    assert page.locator(".kv-choices").is_hidden()
    assert page.locator(".kv-options kbd").first.is_visible()
    press(page, "Q")
    assert page.locator(".kv-choices").is_visible()


def test_a_note_is_shown_before_and_while_its_beat_is_played(show):
    page = show()
    note = payload()["lesson"]["watch"][0]
    seen = []
    while value(page, "step") < note["to"]:
        seen.append((value(page, "step"), note["text"] in page.locator(".kv-watch").inner_text()))
        press(page, "Shift+ArrowRight")
    assert {step for step, is_there in seen if is_there} == set(range(note["from"], note["to"]))


def test_a_checkpoint_is_reached_where_its_goal_holds_and_said_aloud(show):
    page = show(answers=ANSWERED)
    page.locator(".kv-checkpoint-button").click()
    assert page.locator(".kv-checkpoint-list li").all_inner_texts()[0].startswith("☐ saw the last")
    page.locator(".kv").focus()
    span = next(goal for goal in payload()["goals"] if goal["goal"] == "lso held back")
    while value(page, "step") < span["from"]:
        press(page, "Shift+ArrowRight")
    assert page.locator(".kv-checkpoint-list .kv-done").count() == 1
    assert "1 of 3 done" in page.locator(".kv-checkpoint-button").inner_text()
    assert "you saw the last stable offset" in page.locator(".kv-reached").inner_text()
    press(page, "Home")
    assert value(page, "reached") == ["lso held back"]


@pytest.mark.parametrize("width", [1280, 1000, 800])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_of_a_lesson_sticks_out_at_any_width(show, width, scheme):
    page = show(width=width, scheme=scheme, step=30, answers=ANSWERED)
    press(page, "q", "1", "ArrowRight")
    page.locator(".kv-checkpoint-button").click()
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(".kv-error").is_hidden()


def test_the_title_and_the_notes_tell_the_outcome_only_when_the_question_was_answered(
    open_file, tmp_path
):
    zombie = kipviz.open("kip-447-zombie").payload
    (question,) = zombie["questions"]
    page = open_file(write_page(tmp_path / "zombie.html", zombie))
    wait_painted(page)
    page.locator(".kv").focus()
    late = [note["text"] for note in zombie["lesson"]["watch"] if note["to"] > question["step"]]
    assert late
    seen = set()
    while value(page, "step") < question["step"]:
        assert page.locator(".kv h2").inner_text() == "A zombie wakes up"
        seen |= set(page.locator(".kv-watch-list li").all_inner_texts())
        press(page, "Shift+ArrowRight")
    assert not seen & set(late)
    assert page.locator(".kv h2").inner_text() == zombie["title"]
    assert set(page.locator(".kv-watch-list li").all_inner_texts()) & set(late)
