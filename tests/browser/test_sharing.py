"""The share drawer on a page without a kernel: links, pictures and what cannot be had there."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.permalink import open_link
from kipviz.checking.single_run.seeded_run import Task
from kipviz.views.exports.mermaid import mermaid
from kipviz.widgets.lab import stepper_of
from kipviz.widgets.pages.page import page as page_of
from kipviz.widgets.stepping.stepper import Stepper
from tests.browser.bare_page import wait_painted, write_page
from tests.widgets import flow
from tests.widgets.branched import branch_story

pytestmark = pytest.mark.browser
TWO = "kip-1289-two-members"


@pytest.fixture
def show(open_file, tmp_path):
    """Show a stepper's payload, with its drawer open."""

    def show_one(stepper, **more):
        state = {"branches": stepper.branches, "step": stepper.step, "branch": stepper.branch}
        state |= {name: more.pop(name) for name in ("step",) if name in more}
        size = {name: more.pop(name) for name in ("width", "scheme") if name in more}
        shown = open_file(
            write_page(tmp_path / "stepper.html", stepper.payload, **state, **more), **size
        )
        wait_painted(shown)
        shown.locator(".kv").focus()
        shown.keyboard.press("s")
        return shown

    return show_one


def link_on(shown) -> str:
    shown.wait_for_function("() => document.querySelector('.kv-link-text').value")
    return shown.locator(".kv-link-text").input_value()


def go_to(shown, branch: int, step: int) -> None:
    shown.evaluate(
        "([branch, step]) => { model.set('branch', branch); model.set('step', step); }",
        [branch, step],
    )


def branched_and_changed():
    """A story with branches, and with two lines under another setting, one of which has a branch."""
    stepper = branch_story()
    for change in ("replication=stepwise", "crash_broker=1"):
        stepper.branch, stepper.step = 0, 30
        stepper.change(change)
    stepper.step = stepper._line.last - 3
    stepper.take(stepper.possible()[-1])
    return stepper


@pytest.mark.parametrize("seed", [1, 2])
def test_the_page_and_python_make_the_same_link_at_every_place_of_a_run(show, seed):
    stepper = stepper_of(runs.replay(Task(TWO, "finding-D", "hostile", seed)))
    shown = show(stepper)
    for step in range(0, len(stepper.payload["steps"]), 37):
        stepper.step = step
        go_to(shown, 0, step)
        assert link_on(shown) == stepper.permalink()
        assert open_link(stepper.permalink()).trace.depth == step


def test_the_page_and_python_make_the_same_link_on_every_branch(show):
    stepper = branched_and_changed()
    shown = show(stepper)
    for branch in range(len(stepper.branches) + 1):
        stepper.branch = branch
        for step in range(branch % 7, stepper._line.last + 1, 23):
            stepper.step = step
            go_to(shown, branch, step)
            assert link_on(shown) == stepper.permalink(), (branch, step)
            again = open_link(stepper.permalink())
            assert again.changes == ()
            assert again.trace.depth == step


@pytest.fixture
def offline(open_file, tmp_path):
    """Show an exported page from disk where there is no network."""
    contexts = []

    def show_one(payload, branch=0, step=0):
        file = tmp_path / "run.html"
        file.write_text(page_of(payload, branch, step), encoding="utf-8")
        shown = open_file(file)
        shown.context.set_offline(True)
        contexts.append(shown.context)
        shown.wait_for_selector(".kv-say:not(:empty)")
        return shown

    yield show_one
    for context in contexts:
        context.set_offline(False)


def save_file(shown, button, folder):
    with shown.expect_download() as coming:
        shown.get_by_role("button", name=button, exact=True).click()
    path = folder / coming.value.suggested_filename
    coming.value.save_as(path)
    return path


def test_an_exported_page_shares_itself_without_a_network(offline, tmp_path):
    stepper = stepper_of(runs.play("kip-1289-lock-expiry"))
    shown = offline(stepper.payload, 0, 40)
    assert shown.locator(".kv-say").inner_text() == stepper._line.steps[40]["sentence"]
    shown.keyboard.press("s")
    stepper.step = 40
    assert link_on(shown) == stepper.permalink()
    assert save_file(shown, "SVG", tmp_path).name == "kip-1289-lock-expiry-step-40.svg"
    assert save_file(shown, "PNG", tmp_path).read_bytes().startswith(b"\x89PNG")
    diagram = save_file(shown, "Mermaid", tmp_path).read_text(encoding="utf-8")
    assert diagram == mermaid(stepper.payload)
    for name in ("page", "trace file", "pytest", "PlantUML", "ITF", "ShiViz"):
        assert shown.get_by_role("button", name=name, exact=True).is_disabled()
    assert "needs the model: this page has none" in shown.locator(".kv-share").inner_text()
    assert shown.locator(".kv-error").is_hidden()


@pytest.mark.parametrize("seed", [1, 3])
def test_a_diagram_of_a_hostile_run_is_the_same_from_page_and_python(show, tmp_path, seed):
    stepper = stepper_of(runs.replay(Task(TWO, "finding-D", "hostile", seed)))
    shown = show(stepper)
    assert save_file(shown, "Mermaid", tmp_path).read_text(encoding="utf-8") == mermaid(
        stepper.payload
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_picture_looks_like_the_screen_and_reaches_nothing(show, tmp_path, scheme, open_file):
    stepper = stepper_of(runs.play("kip-1289-lock-expiry"))
    shown = show(stepper, step=40, theme=scheme, scheme=scheme)
    path = save_file(shown, "SVG", tmp_path)
    text = path.read_text(encoding="utf-8")
    for word in ("<style", "<script", "var(", "color(srgb", "class=", "http://", "https://"):
        assert word not in text.replace('xmlns="http://www.w3.org/2000/svg"', ""), word
    drawn = {t.text for t in ET.fromstring(text).iter("{http://www.w3.org/2000/svg}text")}
    assert {"app-1", "Broker 5", "100 ACQUIRED", "now · 40"} <= drawn
    ground = shown.evaluate("() => getComputedStyle(document.querySelector('.kv')).backgroundColor")
    assert f'fill="{ground}"' in text


def test_a_link_is_copied_and_where_that_is_forbidden_the_text_is_selected(show):
    stepper = stepper_of(runs.play("kip-1289-small"))
    shown = show(stepper)
    shown.context.grant_permissions(["clipboard-read", "clipboard-write"])
    link = link_on(shown)
    shown.get_by_role("button", name="copy Python line").click()
    shown.wait_for_function(
        "() => document.querySelector('.kv-shared').textContent.startsWith('Copied')"
    )
    assert shown.evaluate("() => navigator.clipboard.readText()") == f'kipviz.open("{link}")'
    shown.evaluate(
        """() => {
          Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true });
          document.execCommand = () => false;
        }"""
    )
    shown.get_by_role("button", name="copy link").click()
    shown.wait_for_function(
        "() => document.querySelector('.kv-shared').textContent.includes('Ctrl+C')"
    )
    selected = "() => { const f = document.activeElement; return f.value.slice(f.selectionStart, f.selectionEnd) }"
    assert shown.evaluate(selected) == link
    shown.context.clear_permissions()


def test_a_run_of_no_scenario_says_why_it_has_no_link(show):
    shown = show(Stepper(flow.share_payload()))
    shown.wait_for_selector(".kv-shared:not(:empty)")
    assert "is not in the library" in shown.locator(".kv-shared").inner_text()
    assert shown.get_by_role("button", name="copy link").is_disabled()
    assert shown.locator(".kv-error").is_hidden()


def test_the_drawer_opens_and_closes_by_key_and_gives_the_focus_back(show):
    shown = show(stepper_of(runs.play("kip-1289-small")), width=800)
    assert shown.locator(".kv-share").is_visible()
    wide = "() => document.querySelector('.kv-share').scrollWidth <= document.querySelector('.kv-share').clientWidth"
    assert shown.evaluate(wide)
    shown.locator(".kv-link-text").focus()
    shown.keyboard.press("Escape")
    assert shown.locator(".kv-share").is_hidden()
    shown.keyboard.press("ArrowRight")
    assert shown.evaluate("() => window.model.get('step')") > 0
