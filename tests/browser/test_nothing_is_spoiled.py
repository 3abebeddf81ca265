"""Nothing on the page tells the answer to a question of the story before it was shown."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.widgets.lab import open_run
from kipviz.widgets.pages.page import page as page_of
from tests.browser.bare_page import no_error, step_of

pytestmark = pytest.mark.browser

MARKS = """() => [...document.querySelectorAll('.kv-overview [class*=kv-tone-], .kv-flag')].map(node => node.getAttribute('class'))"""


@pytest.fixture(scope="module")
def broken() -> dict[str, Any]:
    """A story in which a property breaks at step 33, and whose question is about the steps after it."""
    return open_run("kip-1289-lock-expiry", "finding-D").payload


@pytest.fixture(scope="module")
def told_late() -> dict[str, Any]:
    """A story in whose last part a property breaks before its end, and whose title tells what happens."""
    return open_run("kip-447-group-id-only", "kafka").payload


def tones(page) -> set[str]:
    return {name.split("kv-tone-")[-1] for name in page.evaluate(MARKS)}


def test_the_overview_marks_what_breaks_only_when_the_answer_was_shown(show, broken):
    page = show(broken, width=833, height=800)
    assert not tones(page) & {"broken", "warning", "done"}
    assert page.locator(".kv-flag-broken").count() == 0
    (question,) = broken["questions"]
    page.locator(".kv-options button").first.click()
    assert "warning" not in tones(page), "an answer can still be changed"
    page.get_by_text("show what happens").click()
    assert step_of(page) == question["step"]
    assert "warning" in tones(page)
    assert page.locator(".kv-flag-broken").count() > 0
    page.keyboard.press("Home")
    assert "warning" in tones(page), "what was shown once stays"
    assert no_error(page)


def test_a_step_after_the_question_has_no_name_under_the_pointer(show, broken):
    page = show(broken, width=833, height=800)
    box = page.locator(".kv-overview").bounding_box()
    middle = box["y"] + 16
    page.mouse.move(box["x"] + 20, middle)
    tip = page.locator(".kv-tip-box")
    assert broken["steps"][1]["title"] in tip.inner_text()
    page.mouse.move(box["x"] + box["width"] * 0.6, middle)
    assert tip.inner_text().endswith("· after your prediction")


def test_no_list_names_what_comes_after_the_question(show, broken):
    page = show(broken, width=1280, height=1000)
    page.keyboard.press("/")
    chapters = page.get_by_role("list", name="chapters")
    steps = [int(words.split()[-1]) for words in chapters.locator("b").all_inner_texts()]
    assert steps
    assert max(steps) < 33
    assert page.locator(".kv-find").get_by_text("What comes after the question").is_visible()
    states = page.get_by_label("state or property").locator("option").all_inner_texts()
    assert not [state for state in states if "broken" in state]
    page.get_by_label("words to find").fill("AVAILABLE")
    early = page.locator(".kv-find-count").inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("m")
    caption = page.locator(".kv-steps caption").inner_text()
    assert "of 33." in caption
    page.keyboard.press("End")
    assert f"of {len(broken['steps'])}." in page.locator(".kv-steps caption").inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    assert page.locator(".kv-find-count").inner_text() != early
    states = page.get_by_label("state or property").locator("option").all_inner_texts()
    assert [state for state in states if "broken" in state]
    assert no_error(page)


def test_what_if_names_no_event_after_the_question(show, broken):
    page = show(broken, width=1280, height=1000, step=28)
    page.keyboard.press("o")
    for name in ("the other event", "deliver it"):
        events = page.get_by_label(name, exact=True).locator("option").all_inner_texts()
        named = [int(words.split()[1]) for words in events if words.split()[1].isdigit()]
        assert max(named) == 32, name
    page.keyboard.press("Escape")
    page.keyboard.press("End")
    for _ in range(len(broken["steps"]) - 1 - 28):
        page.keyboard.press("Shift+ArrowLeft")
    assert step_of(page) == 28
    page.keyboard.press("o")
    events = page.get_by_label("the other event").locator("option").all_inner_texts()
    assert max(int(words.split()[1]) for words in events) > 33
    assert no_error(page)


def test_a_fault_by_words_names_no_moment_after_the_question(show, broken):
    page = show(broken, width=1280, height=1000)

    def moments() -> list[str]:
        page.keyboard.press("f")
        page.locator(".kv-fault-find").fill("B1 crashes after COMPLETE_COMMIT")
        found = page.locator(".kv-fault-list .kv-what").all_inner_texts()
        page.keyboard.press("Escape")
        page.locator(".kv").focus()
        return found

    assert moments() == []
    page.keyboard.press("End")
    page.keyboard.press("Home")
    assert [words for words in moments() if "COMPLETE_COMMIT" in words]
    assert no_error(page)


def test_a_prediction_is_told_neither_by_a_menu_nor_by_the_keys_in_the_diagram(show, broken):
    page = show({**broken, "questions": []}, width=1280, height=1000, step=30)

    def read_menu_and_keys() -> tuple[list[str], list[str]]:
        page.locator(".kv-head", has_text="Broker 3").click()
        menu = page.locator(".kv-menu .kv-what").all_inner_texts()
        page.keyboard.press("Escape")
        page.locator(".kv").focus()
        keys = page.locator(".kv-flying .kv-key").all_text_contents()
        return [words for words in menu if "arrives" in words], [key for key in keys if key]

    assert all(read_menu_and_keys())
    page.keyboard.press("q")
    assert page.locator(".kv-options button").count() > 1
    assert read_menu_and_keys() == ([], [])
    page.keyboard.press("1")
    page.keyboard.press("ArrowRight")
    assert all(read_menu_and_keys()), "the answer was shown"
    assert no_error(page)


def test_the_tree_says_how_a_branch_ends_only_when_the_answer_was_shown(show, broken):
    page = show(broken, width=1280, height=1000)
    page.keyboard.press("t")
    assert page.locator(".kv-tree-verdicts").first.inner_text() == ""
    page.keyboard.press("End")
    assert "atomic" in page.locator(".kv-tree-verdicts").first.inner_text()


def test_where_the_answer_is_being_played_nobody_predicts_it(show, told_late):
    (question,) = told_late["questions"]
    late = next(v["from"] for v in told_late["verdicts"] if v["state"] == "broken")
    assert late < question["step"]
    page = show(told_late, width=833, height=800, step=late)
    assert page.locator(".kv-alarm").is_visible()
    assert page.locator(".kv-options button:enabled").count() == 0
    assert "Step back to predict it first" in page.locator(".kv-reveal").inner_text()
    page.locator(".kv-options button").first.click(force=True)
    assert page.evaluate("() => window.model.get('answers')") == {}
    page.keyboard.press("Home")
    assert page.locator(".kv-options button:enabled").count() == len(question["options"])
    page.locator(".kv-options button").first.click()
    assert page.evaluate("() => window.model.get('answers')") == {question["id"]: 0}


def test_playing_stops_before_the_part_that_tells_the_answer(show, told_late):
    (question,) = told_late["questions"]
    begin = next(b["from"] for b in told_late["bigs"] if b["from"] <= question["step"] < b["to"])
    page = show(told_late, width=833, height=800, step=begin - 2)
    page.keyboard.press("Space")
    page.wait_for_function("step => window.model.get('step') === step", arg=begin - 1)
    page.locator(".kv-play[aria-pressed=false]").wait_for()
    assert step_of(page) == begin - 1


def test_the_title_of_a_saved_page_tells_the_outcome_only_when_the_answer_was_shown(
    open_file, tmp_path, told_late
):
    file = tmp_path / "run.html"
    file.write_text(page_of(told_late), encoding="utf-8")
    page = open_file(file, width=1280, height=800)
    page.locator(".kv-say:not(:empty)").wait_for()
    assert page.title() == told_late["untold"]
    assert page.locator("h1").text_content() == told_late["untold"]
    assert (
        page.locator(".kv")
        .get_attribute("aria-label")
        .startswith(f"Stepper: {told_late['untold']}")
    )
    page.keyboard.press("End")
    page.wait_for_function("title => document.title === title", arg=told_late["title"])
    assert page.locator("h1").text_content() == told_late["title"]


def test_a_printed_page_tells_no_answer_either(open_file, tmp_path, broken):
    file = tmp_path / "run.html"
    file.write_text(page_of(broken, step=10), encoding="utf-8")
    page = open_file(file, width=1280, height=1000)
    page.locator(".kv-say:not(:empty)").wait_for()
    page.emulate_media(media="print")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".kv-overview").is_visible()
    assert not tones(page) & {"broken", "warning", "done"}
    assert page.locator(".kv-flag-broken").count() == 0
    words = page.locator(".kv").inner_text()
    assert broken["steps"][33]["title"] not in words
