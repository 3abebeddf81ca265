"""Going through a run: interesting steps, places, branches, and a presenter's remote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kipviz.widgets.lab import open_run
from tests.browser.bare_page import no_error
from tests.widgets import flow

pytestmark = pytest.mark.browser

Open = Callable[..., Any]


def trait(page, name: str) -> Any:
    return page.evaluate("name => window.model.get(name)", name)


def grow_branches() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The share flow with two branches from the main line and one from a branch."""
    respond = flow.Responder(flow.share_flow())
    first = respond({"branch": 0, "step": 40, "choice": "crash-src"})["branch"]
    late = respond({"branch": 0, "step": 70, "choice": "crash-src"})["branch"]
    items = respond.items(respond.lines[1], 43)
    other = next(item["id"] for item in items if item["enabled"] and not item["taken"])
    inner = respond({"branch": 1, "step": 43, "choice": other})["branch"]
    return flow.share_payload(), [first, late, inner]


def test_i_goes_from_one_interesting_step_to_the_next_and_back(show):
    payload = flow.share_payload()
    broken = {v["from"] for v in payload["verdicts"] if v["state"] == "broken"}
    notable = [
        k
        for k, step in enumerate(payload["steps"])
        if step["interesting"] or step["kind"] == "fault" or step["tone"] == "broken" or k in broken
    ]
    page = show(payload)
    seen = []
    for _ in notable:
        page.keyboard.press("i")
        seen.append(trait(page, "step"))
    assert seen == notable
    page.keyboard.press("i")
    assert trait(page, "step") == notable[-1], "after the last one it stays"
    page.keyboard.press("I")
    assert trait(page, "step") == notable[-2]


def test_letters_step_as_arrows_do(show):
    payload = flow.share_payload()
    page = show(payload)
    for forward, back in (("l", "h"), ("n", "p")):
        page.keyboard.press(forward)
        assert trait(page, "step") == payload["bigs"][0]["to"] - 1
        page.keyboard.press(back)
        assert trait(page, "step") == 0


@pytest.mark.parametrize("drawer", ["t", "x"])
@pytest.mark.parametrize("key", ["s", "m", "v", "same"])
def test_a_drawer_that_gives_way_leaves_the_focus_in_the_stepper(show, drawer, key):
    # Outside of it JupyterLab would take the next key for a command: x cuts the cell.
    page = show(open_run("kip-1289-share-commit", "repaired").payload, step=38)
    page.keyboard.press(drawer)
    page.locator(".kv-drawer:visible button").first.focus()
    page.keyboard.press(drawer if key == "same" else key)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    assert page.evaluate("() => document.querySelector('.kv').contains(document.activeElement)")
    page.locator(".kv").focus()
    assert no_error(page)


def test_g_goes_to_a_number_or_to_words_of_a_title(show):
    payload = flow.share_payload()
    page = show(payload)
    page.keyboard.press("g")
    page.keyboard.type("37")
    page.keyboard.press("Enter")
    assert trait(page, "step") == 37
    page.keyboard.press("g")
    page.keyboard.type("prepare_com")
    page.keyboard.press("Enter")
    assert payload["steps"][trait(page, "step")]["title"] == "PREPARE_COMMIT"
    page.keyboard.press("g")
    page.keyboard.type("nowhere")
    page.keyboard.press("Enter")
    assert "No step is called “nowhere”" in page.get_by_role("alert").inner_text()
    there = trait(page, "step")
    for number in ("-1", str(len(payload["steps"]))):
        page.keyboard.press("g")
        page.keyboard.type(number)
        page.keyboard.press("Enter")
        said = page.get_by_role("alert").inner_text()
        assert f"No step is called “{number}”; enter a number from 0 to" in said
        assert trait(page, "step") == there, "a number is no word of a title"
    page.keyboard.press("Shift+ArrowRight")
    assert trait(page, "step") == there + 1, "the focus is back, and keys step again"
    page.keyboard.press("g")
    page.keyboard.insert_text("nowhere" * 100)
    page.keyboard.press("Enter")
    assert len(page.get_by_role("alert").inner_text()) < 200
    page.keyboard.press("g")
    page.keyboard.press("Enter")
    assert page.get_by_role("alert").count() == 0, "nothing typed is no wish"
    assert trait(page, "step") == there + 1


def test_forward_follows_the_branch_visited_last_after_going_back_above_the_fork(show):
    payload, branches = grow_branches()
    page = show(payload, branches=branches, branch=3, step=45)
    for _ in range(15):
        page.keyboard.press("Shift+ArrowLeft")
    assert trait(page, "step") == 30
    assert trait(page, "branch") == 3
    for _ in range(15):
        page.keyboard.press("Shift+ArrowRight")
    assert (trait(page, "branch"), trait(page, "step")) == (3, 45)
    page.keyboard.press("Home")
    page.keyboard.press("End")
    assert trait(page, "step") == branches[2]["at"] + len(branches[2]["steps"])


def test_the_tree_shows_what_was_left_and_goes_to_the_same_step_there(show):
    payload, branches = grow_branches()
    page = show(payload, branches=branches, branch=1, step=43)
    page.keyboard.press("t")
    rows = page.locator(".kv-tree-list li")
    assert [row.split("\n")[0] for row in rows.all_inner_texts()] == [
        "main",
        branches[0]["name"],
        branches[2]["name"],
        branches[1]["name"],
    ], "a branch stands under the line it leaves"
    assert page.locator(".kv-tree-list [aria-current]").count() == 1
    assert "kv-tree-left" in rows.nth(3).get_attribute("class")
    rows.nth(0).locator(".kv-tree-go").click()
    assert (trait(page, "branch"), trait(page, "step")) == (0, 43), "the same step, over there"
    rows.nth(1).get_by_role("button", name="parts at 41").click()
    assert (trait(page, "branch"), trait(page, "step")) == (1, 41)
    page.locator(".kv").focus()
    page.keyboard.press("}")
    assert trait(page, "step") == 41
    assert no_error(page)


def test_a_branch_gets_a_name_and_is_pruned_and_its_reader_stands_where_it_left(show):
    payload, branches = grow_branches()
    page = show(payload, branches=branches, branch=3, step=45)
    page.keyboard.press("t")
    row = page.locator(".kv-tree-list [aria-current]")
    row.get_by_role("button", name="rename").click()
    page.keyboard.type("late marker")
    page.keyboard.press("Enter")
    wish = trait(page, "command")
    assert (wish["do"], wish["branch"], wish["name"]) == ("rename", 3, "late marker")
    page.evaluate(
        "tree => window.model.set('tree', tree)", {"names": {"3": "late marker"}, "gone": []}
    )
    page.evaluate("id => window.model.set('answer', {id})", wish["id"])
    assert row.locator(".kv-tree-go").inner_text() == "late marker"
    assert page.locator(".kv-branch option:checked").inner_text() == "↳ late marker"
    page.locator(".kv-tree-list li").nth(1).get_by_role("button", name="prune").click()
    assert page.get_by_role("button", name="really? 1 more started from it").is_visible()
    page.get_by_role("button", name="really?").click()
    wish = trait(page, "command")
    assert (wish["do"], wish["branch"]) == ("prune", 1)
    page.evaluate("tree => window.model.set('tree', tree)", {"names": {}, "gone": [1, 3]})
    page.evaluate("id => window.model.set('answer', {id})", wish["id"])
    assert (trait(page, "branch"), trait(page, "step")) == (0, 40)
    assert page.locator(".kv-tree-list li").count() == 2
    assert no_error(page)


def test_a_presenter_steps_plays_and_blanks_with_a_remote(show):
    payload = flow.share_payload()
    page = show(payload)
    page.keyboard.press("PageDown")
    assert trait(page, "step") == 0, "outside presenter mode the diagram scrolls"
    page.keyboard.press("P")
    assert trait(page, "presenter") is True
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    assert trait(page, "step") == payload["bigs"][1]["to"] - 1
    page.keyboard.press("PageUp")
    assert trait(page, "step") == payload["bigs"][0]["to"] - 1
    page.keyboard.press("b")
    assert page.locator(".kv-cover").is_visible()
    page.keyboard.press("PageDown")
    assert page.locator(".kv-cover").is_hidden()
    assert trait(page, "step") == payload["bigs"][0]["to"] - 1, "the key only uncovers"
    page.keyboard.press(".")
    assert page.locator(".kv-play").get_attribute("aria-pressed") == "true"
    page.keyboard.press(".")
    size = "() => parseFloat(getComputedStyle(document.querySelector('.kv-say')).fontSize) * (document.querySelector('.kv').currentCSSZoom ?? 1)"
    large = page.evaluate(size)
    page.evaluate("() => window.model.set('presenter', false)")
    assert large > 1.3 * page.evaluate(size), "the sentence can be read from the last row"


@pytest.mark.parametrize("width", [1400, 1280, 1040, 800])
@pytest.mark.parametrize("drawer", ["/", "t", "m"])
def test_a_drawer_stays_in_its_box_at_any_width(show, width, drawer):
    payload, branches = grow_branches()
    page = show(payload, width=width, branches=branches, step=30)
    page.keyboard.press(drawer)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    over = """() => [...document.querySelectorAll('.kv-drawer:not([hidden]) button, .kv-transport button, .kv-transport select')]
        .filter(node => node.offsetParent && node.scrollWidth > node.clientWidth + 1 && getComputedStyle(node).overflow !== 'hidden').map(node => node.className)"""
    assert page.evaluate(over) == []
    page.locator(".kv").focus()
    page.keyboard.press("Escape")
    assert page.locator(".kv-drawer:visible").count() == 0
    assert no_error(page)


def test_nothing_glides_for_who_wants_no_motion(show):
    page = show(flow.share_payload(), step=60)
    gliding = "() => getComputedStyle(document.querySelector('.kv-world')).transitionDuration"
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    assert page.evaluate(gliding) != "0s"
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(gliding) == "0s"


def test_arrows_up_and_down_select_messages_as_they_stand(show):
    page = show(flow.share_payload(), step=20)
    page.keyboard.press("ArrowUp")
    last = trait(page, "selection")
    page.keyboard.press("ArrowUp")
    above = trait(page, "selection")
    assert last["kind"] == above["kind"] == "message"
    assert last != above
    page.keyboard.press("ArrowDown")
    assert trait(page, "selection") == last
    assert page.locator(".kv-message.kv-selected").count() == 1
    assert page.locator(".kv-detail").is_visible()


def test_python_drives_branch_step_and_presenter_and_hears_of_them(show):
    payload, branches = grow_branches()
    page = show(payload, branches=branches)
    page.evaluate("() => { window.model.set('branch', 1); window.model.set('step', 44); }")
    assert page.locator(".kv-say").inner_text() == branches[0]["steps"][3]["sentence"]
    page.evaluate("() => window.model.set('presenter', true)")
    assert "kv-presenter" in page.locator(".kv").get_attribute("class")
    page.keyboard.press("P")
    page.keyboard.press("Home")
    page.wait_for_function(
        "() => window.sent.some(state => state.step === 0 && state.branch === 1)"
    )
    assert trait(page, "presenter") is False
