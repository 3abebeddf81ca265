"""One look is one screen: at a laptop's size, on a beamer and in full screen nothing that a step needs is out of sight."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from kipviz.widgets.comparing.compare import Compare
from kipviz.widgets.lab import open_run
from tests.browser.bare_page import no_error, step_named, step_of
from tests.widgets.branched import branch_story

pytestmark = pytest.mark.browser

# The width of a cell's output in JupyterLab with its file browser open (765: closed, at 1,024), and the window it stands in.
LAPTOPS = [(833, 800), (993, 900), (765, 768), (592, 768), (1256, 800)]
TALL = 640
NEEDED = [".kv-transport", ".kv-say", ".kv-question", ".kv-choices", ".kv-sequence", ".kv-right"]
# What of a part is in sight: within the window, and within every box around it that scrolls.
IN_SIGHT = """selector => {
  const node = document.querySelector(selector);
  const { left, right, top, bottom } = node.getBoundingClientRect();
  let box = { left, right, top, bottom };
  const clip = (r) => { box = { left: Math.max(box.left, r.left), right: Math.min(box.right, r.right), top: Math.max(box.top, r.top), bottom: Math.min(box.bottom, r.bottom) }; };
  clip({ left: 0, right: innerWidth, top: 0, bottom: innerHeight });
  for (let up = node.parentElement; up; up = up.parentElement)
    if (getComputedStyle(up).display !== "contents" && getComputedStyle(up).overflowY !== "visible") clip(up.getBoundingClientRect());
  return { wide: Math.max(0, box.right - box.left), tall: Math.max(0, box.bottom - box.top), whole: bottom - top };
}"""


@pytest.fixture(scope="module")
def lock_expiry() -> dict[str, Any]:
    return open_run("kip-1289-lock-expiry", "repaired").payload


@pytest.fixture(scope="module")
def split() -> dict[str, Any]:
    return open_run("kip-98-split-network", "kafka").payload


@pytest.mark.parametrize(("width", "height"), LAPTOPS)
def test_everything_that_a_step_needs_is_in_sight_without_scrolling(
    show, lock_expiry, width, height
):
    page = show(lock_expiry, width=width, height=height, step=30)
    whole = page.locator(".kv").bounding_box()
    assert whole is not None
    assert whole["height"] <= TALL
    for part in NEEDED:
        seen = page.evaluate(IN_SIGHT, part)
        assert seen["tall"] >= min(seen["whole"], 56), f"{part} is out of sight"
    for choice in page.locator(".kv-next-list button").all()[:3]:
        assert choice.is_visible()
    changed = page.evaluate(IN_SIGHT, ".kv-changed")
    assert changed["tall"] > 40, "what changed is out of sight"
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), (
        "scrolls sideways"
    )
    assert no_error(page)


def test_the_stepper_is_as_tall_at_every_step(show, lock_expiry):
    page = show(lock_expiry, width=833, height=800)
    tall = set()
    while not tall or step_of(page) < len(lock_expiry["steps"]) - 1:
        tall.add(page.locator(".kv").bounding_box()["height"])
        page.keyboard.press("ArrowRight")
    assert len(tall) == 1


def test_no_text_is_smaller_than_twelve_pixels(show, lock_expiry):
    page = show(lock_expiry, width=833, height=800, step=30)
    small = page.evaluate(
        """() => [...document.querySelectorAll('.kv *')].filter(node =>
          [...node.childNodes].some(one => one.nodeType === 3 && one.textContent.trim()) &&
          !node.closest('style, .kv-machine-svg') && parseFloat(getComputedStyle(node).fontSize) < 12)
          .map(node => node.className + ': ' + node.textContent.slice(0, 30))"""
    )
    assert small == []


def test_a_long_value_leaves_room_for_its_name(show, lock_expiry):
    page = show(lock_expiry, width=833, height=800, step=30)
    narrow = page.evaluate(
        """() => [...document.querySelectorAll('.kv-fact dt')].filter(node =>
          node.offsetWidth && node.offsetWidth < 40 && !node.closest('.kv-entries')).map(node => node.textContent)"""
    )
    assert narrow == []


def test_one_row_of_tools_and_the_others_behind_more(show, lock_expiry):
    page = show(lock_expiry, width=833, height=800)
    row = page.locator(".kv-transport").bounding_box()
    assert row["height"] < 64
    assert not page.get_by_role("button", name="bytes").first.is_visible()
    page.get_by_role("button", name="more").first.click()
    for tool in ("find", "tree", "what if", "table", "bytes", "views", "share", "present"):
        assert page.locator(".kv-more-tools").get_by_text(tool, exact=True).is_visible(), tool
    page.keyboard.press("Escape")
    assert not page.locator(".kv-more-tools").is_visible()


def test_an_answer_leaves_the_diagram_its_room_and_what_to_watch_for_is_whole(show, lock_expiry):
    page = show(lock_expiry, width=592, height=768, step=30)
    page.locator(".kv-options button").first.click()
    page.get_by_role("button", name="show what happens").click()
    assert page.locator(".kv-watch").is_visible()
    watched = page.evaluate(IN_SIGHT, ".kv-watch")
    assert watched["tall"] >= watched["whole"] - 1
    assert page.evaluate(IN_SIGHT, ".kv-view")["tall"] >= 64
    for part in (".kv-next-list button", ".kv-changed"):
        assert page.evaluate(IN_SIGHT, part)["tall"] >= 24, f"{part} is out of sight"
    assert no_error(page)


def test_at_200_percent_on_a_laptop_every_part_is_in_one_look(show, lock_expiry):
    page = show(lock_expiry, width=640, height=400, step=30)
    assert page.locator(".kv").bounding_box()["height"] <= 400
    for part in (*NEEDED, ".kv-view", ".kv-next-list button", ".kv-changed"):
        assert page.evaluate(IN_SIGHT, part)["tall"] >= 16, f"{part} is out of sight"
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert no_error(page)


@pytest.mark.parametrize(("width", "height"), [(592, 768), (833, 800), (993, 900), (1280, 800)])
@pytest.mark.parametrize("step", [33, 34])
def test_a_comparison_has_both_diagrams_and_what_differs_in_sight(
    show, lock_expiry, width, height, step
):
    broken = open_run("kip-1289-lock-expiry", "finding-D").payload
    page = show(Compare(broken, lock_expiry).payload, width=width, height=height, step=step)
    page.locator(".kv-side .kv-differing").first.wait_for()
    assert page.locator(".kv").bounding_box()["height"] <= TALL
    for part in (".kv-transport", ".kv-say", ".kv-alarm", ".kv-side .kv-view"):
        seen = page.evaluate(IN_SIGHT, part)
        assert seen["tall"] >= min(seen["whole"], 56), f"{part} is out of sight"
    assert page.evaluate(IN_SIGHT, ".kv-side .kv-differing")["tall"] > 40
    sides = page.locator(".kv-side").all()
    for side in sides:
        right = side.bounding_box()["x"] + side.bounding_box()["width"]
        for chip in side.locator(".kv-chip:visible").all():
            box = chip.bounding_box()
            assert box["x"] + box["width"] <= right, "a chip stands on the other side"
    assert no_error(page)


@pytest.mark.parametrize("width", [560, 592, 833])
def test_the_cards_of_a_comparison_stay_on_their_side(show, lock_expiry, width):
    broken = open_run("kip-1289-lock-expiry", "finding-D").payload
    page = show(Compare(broken, lock_expiry).payload, width=width, height=768, step=34)
    page.locator(".kv-side .kv-differing").first.wait_for()
    assert page.evaluate(
        """() => [...document.querySelectorAll('.kv-side')].every(side =>
          [...side.querySelectorAll('.kv-card')].every(card =>
            card.getBoundingClientRect().right <= side.getBoundingClientRect().right))"""
    )
    assert page.evaluate(
        "() => (sides => sides.scrollWidth <= sides.clientWidth)(document.querySelector('.kv-sides'))"
    )


@pytest.mark.parametrize("width", [833, 938])
def test_the_buttons_of_a_comparison_stand_in_one_row_and_an_empty_side_says_so(
    show, lock_expiry, width
):
    broken = open_run("kip-1289-lock-expiry", "finding-D").payload
    page = show(Compare(broken, lock_expiry).payload, width=width, height=768)
    assert page.locator(".kv-header").first.bounding_box()["height"] < 44
    words = page.get_by_text("Nothing differs here, and nothing changed in this step.")
    assert words.count() == 2
    assert words.first.is_visible()
    page.get_by_role("button", name="only what differs").click()
    assert not words.first.is_visible(), "all cards are shown"
    page.get_by_role("button", name="only what differs").click()
    page.locator(".kv").focus()
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    page.locator(".kv-side .kv-differing").first.wait_for()
    assert not words.first.is_visible()
    assert no_error(page)


@pytest.mark.parametrize(("width", "height"), LAPTOPS)
def test_a_broken_property_is_read_beside_the_sentence_without_scrolling(show, width, height):
    broken = open_run("kip-1289-lock-expiry", "finding-D").payload
    page = show(broken, width=width, height=height, step=33)
    assert page.locator(".kv").bounding_box()["height"] <= TALL
    parts = [".kv-alarm", ".kv-say"]
    for part in parts if width < 600 else [*parts, ".kv-reveal"]:
        seen = page.evaluate(IN_SIGHT, part)
        assert seen["tall"] >= seen["whole"] - 1, f"{part} is cut"


def test_what_breaks_at_length_is_read_whole_beside_the_sentence(show):
    payload = open_run("kip-447-group-id-only", "kafka").payload
    long = next(v for v in payload["verdicts"] if v["state"] == "broken")
    assert len(long["reason"]) > 150
    for width, height in LAPTOPS:
        page = show(payload, width=width, height=height, step=long["from"])
        for part in (".kv-alarm", ".kv-say"):
            seen = page.evaluate(IN_SIGHT, part)
            assert seen["tall"] >= seen["whole"] - 1, f"{part} is cut at {width}"
        assert page.locator(".kv").bounding_box()["height"] <= TALL
        tall = page.locator(".kv").bounding_box()["height"]
        page.keyboard.press("Home")
        assert page.locator(".kv").bounding_box()["height"] == tall


@pytest.mark.parametrize(("width", "height"), [*LAPTOPS, (760, 800), (640, 400)])
def test_every_answer_and_the_checkpoints_are_whole_beside_a_note_of_four_lines(
    show, width, height
):
    page = show(
        open_run("kip-1289-share-commit", "repaired").payload, width=width, height=height, step=12
    )
    assert page.locator(".kv").bounding_box()["height"] <= TALL
    answers = page.locator(".kv-options button")
    assert answers.count() == 3
    inside = page.locator(".kv-teach").bounding_box()
    for button in (*answers.all(), page.locator(".kv-checkpoint-button")):
        if button.is_visible():
            box = button.bounding_box()
            assert box["y"] + box["height"] <= inside["y"] + inside["height"] + 0.5, (
                button.inner_text()
            )
            assert box["x"] + box["width"] <= inside["x"] + inside["width"] + 0.5
    now = page.locator(".kv-cursor .kv-tag").bounding_box()
    view = page.locator(".kv-view").bounding_box()
    assert now["y"] + now["height"] <= view["y"] + view["height"] + 1, (
        "where we are is below the diagram"
    )


@pytest.mark.parametrize(("width", "height"), [(592, 768), (833, 800), (1256, 800)])
def test_on_a_branch_the_checkpoints_take_one_row(show, width, height):
    stepper = branch_story()
    page = show(
        stepper.payload, branches=stepper.branches, branch=1, step=31, width=width, height=height
    )
    teach = page.locator(".kv-teach").bounding_box()
    button = page.locator(".kv-checkpoint-button").bounding_box()
    assert teach["height"] <= button["height"] + 14, "an empty strip"
    tall = page.locator(".kv").bounding_box()["height"]
    page.keyboard.press("q")
    page.locator(".kv-question").wait_for()
    assert page.evaluate(IN_SIGHT, ".kv-options button:last-child")["tall"] >= 20
    assert page.locator(".kv").bounding_box()["height"] == tall
    assert no_error(page)


@pytest.mark.parametrize(
    ("width", "letters"), [(592, 4), (833, 9), (900, 16), (1256, 16), (1600, 16)]
)
def test_the_list_of_branches_has_room_beside_the_tools(show, width, letters):
    stepper = branch_story()
    page = show(
        stepper.payload, branches=stepper.branches, branch=1, step=31, width=width, height=800
    )
    rows = ".kv-buttons > *, .kv-track, .kv-place, .kv-branch-box, .kv-branch, .kv-tools > *"
    boxes = page.locator(rows).evaluate_all(
        "nodes => nodes.filter(node => node.checkVisibility())"
        ".map(node => [node.className, node.getBoundingClientRect()])"
        ".map(([name, box]) => [name, box.left, box.right, box.top, box.bottom])"
    )
    bar = page.locator(".kv-transport").bounding_box()
    by_place = sorted((box for box in boxes if "kv-branch-box" not in box[0]), key=lambda b: b[1])
    assert len(by_place) >= 11
    for (before, _, end, *_), (after, start, *_) in itertools.pairwise(by_place):
        assert end <= start + 0.5, f"{before} lies under {after}"
    assert by_place[-1][2] <= bar["x"] + bar["width"]
    branch = page.locator(".kv-branch")
    assert branch.bounding_box()["width"] >= 40 + 7 * letters
    assert "B5 and B7 are partitioned" in branch.get_attribute("title")


@pytest.mark.parametrize("width", [592, 833, 900, 1256])
def test_the_field_for_a_place_pushes_no_tool_out_of_sight(show, width):
    stepper = branch_story()
    page = show(
        stepper.payload, branches=stepper.branches, branch=1, step=31, width=width, height=800
    )
    page.keyboard.press("g")
    page.locator(".kv-go").wait_for()
    bar = page.locator(".kv-transport").bounding_box()
    for tool in (page.locator(".kv-go"), *page.locator(".kv-tools > *:visible").all()):
        box = tool.bounding_box()
        assert box["x"] + box["width"] <= bar["x"] + bar["width"]
    page.keyboard.press("Escape")
    assert page.locator(".kv-branch").is_visible()


@pytest.mark.parametrize("width", [592, 833, 1256])
def test_the_words_for_who_has_not_clicked_cover_no_cursor(show, lock_expiry, width):
    page = show(lock_expiry, width=width, height=800, step=len(lock_expiry["steps"]) - 1)
    page.evaluate("() => document.activeElement.blur()")
    for step in (0, len(lock_expiry["steps"]) - 1):
        page.evaluate("step => window.model.set('step', step)", step)
        hint = page.locator(".kv-hint").bounding_box()
        here = page.locator(".kv-overview .kv-needle").bounding_box()
        apart = hint["x"] > here["x"] + here["width"] or hint["x"] + hint["width"] < here["x"]
        assert apart, step


@pytest.mark.parametrize("width", [592, 833, 1256])
def test_what_to_watch_for_has_the_whole_width_where_nothing_is_asked(show, lock_expiry, width):
    note = lock_expiry["lesson"]["watch"][0]
    page = show({**lock_expiry, "questions": []}, width=width, height=800, step=note["from"])
    lesson = page.locator(".kv-lesson").bounding_box()
    teach = page.locator(".kv-teach").bounding_box()
    assert page.locator(".kv-watch").is_visible()
    assert lesson["width"] >= teach["width"] - 2
    assert teach["height"] <= 98


def test_at_200_percent_an_answer_leaves_the_diagram_in_sight(show):
    broken = open_run("kip-1289-lock-expiry", "finding-D").payload
    page = show(broken, width=640, height=400, step=33)
    assert page.locator(".kv").bounding_box()["height"] <= 400
    assert page.locator(".kv-options .kv-right").is_visible()
    said = page.evaluate(IN_SIGHT, ".kv-reveal p")
    assert said["tall"] >= said["whole"] - 1, "the answer is cut"
    assert page.evaluate(IN_SIGHT, ".kv-view")["tall"] >= 30
    now = page.locator(".kv-cursor .kv-tag").bounding_box()
    view = page.locator(".kv-view").bounding_box()
    assert now["y"] >= view["y"] - 1
    assert now["y"] + now["height"] <= view["y"] + view["height"] + 1


def test_a_window_that_becomes_lower_takes_the_stepper_with_it(show, lock_expiry):
    page = show(lock_expiry, width=1280, height=1000)
    tall = page.locator(".kv").bounding_box()["height"]
    page.set_viewport_size({"width": 1280, "height": 700})
    page.wait_for_function(
        "tall => document.querySelector('.kv').getBoundingClientRect().height < tall", arg=tall
    )
    assert page.locator(".kv").bounding_box()["height"] <= 700


def test_the_name_of_a_message_in_flight_is_beside_its_key(show):
    payload = open_run("kip-98-zombie", "kafka").payload
    page = show(payload, width=788, height=768, step=25)
    drawn = page.evaluate(
        """() => [...document.querySelectorAll('.kv-flying')].map(node => {
          const [circle, label] = [node.querySelector('circle'), node.querySelector('text:not(.kv-key)')].map(one => one.getBoundingClientRect());
          return [label.right <= circle.left || label.left >= circle.right, node.textContent];
        })"""
    )
    assert drawn
    assert [words for apart, words in drawn if not apart] == []


def test_at_200_percent_a_comparison_has_its_diagrams_and_the_cards_that_differ_in_sight(
    show, lock_expiry
):
    broken = open_run("kip-1289-lock-expiry", "finding-D").payload
    page = show(Compare(broken, lock_expiry).payload, width=640, height=400, step=34)
    page.locator(".kv-side .kv-differing").first.wait_for()
    assert page.locator(".kv").bounding_box()["height"] <= 400
    for part in (".kv-transport", ".kv-say", ".kv-alarm", ".kv-side .kv-verdicts .kv-chip"):
        seen = page.evaluate(IN_SIGHT, part)
        assert seen["tall"] >= min(seen["whole"], 22) - 1, f"{part} is out of sight"
    for side in page.locator(".kv-side").all():
        view, card = (
            side.locator(".kv-view").bounding_box(),
            side.locator(".kv-differing").first.bounding_box(),
        )
        assert view["height"] >= 40
        assert view["y"] + view["height"] <= card["y"], "a card stands on the diagram"
        now = side.locator(".kv-cursor .kv-tag").bounding_box()
        assert now["y"] + now["height"] <= view["y"] + view["height"] + 1
    assert page.evaluate(IN_SIGHT, ".kv-side .kv-differing")["tall"] > 40
    assert no_error(page)


def test_on_a_beamer_beside_the_file_browser_every_tool_is_whole_and_the_diagram_has_the_width(
    show, lock_expiry
):
    page = show(lock_expiry, width=592, height=768, step=22)
    row = page.locator(".kv-transport").bounding_box()
    for tool in page.locator(".kv-transport button").all():
        if tool.is_visible():
            box = tool.bounding_box()
            assert box["x"] + box["width"] <= row["x"] + row["width"]
    assert page.locator(".kv-view").bounding_box()["width"] > 560
    lanes = page.get_by_role("button", name="all lanes +1").bounding_box()
    assert lanes["y"] + lanes["height"] <= page.locator(".kv-view").bounding_box()["y"], (
        "a button stands on the messages"
    )
    page.get_by_role("button", name="yes, the lock has expired").click()
    seen = page.evaluate(IN_SIGHT, ".kv-question .kv-link")
    assert seen["tall"] >= seen["whole"] - 1, "how to go on is cut"


# -- the hand ---------------------------------------------------------------------------------------

ENDS = "producer sends EndTxn"


def test_a_click_on_a_broker_lists_what_can_happen_to_it_and_takes_it(show, split):
    page = show(split, width=833, height=800, step=20)
    page.locator(".kv-head", has_text="Broker 1").click()
    menu = page.get_by_role("dialog", name="Broker 1: what can happen to it")
    assert menu.get_by_text("B1 crashes").is_visible()
    assert not menu.get_by_text("B3 crashes").is_visible()
    menu.get_by_text("B1 crashes").click()
    assert not menu.is_visible()
    command = page.evaluate("() => window.model.get('command')")
    assert command["do"] == "take"
    assert '"CrashBroker"' in command["choice"]


def test_a_message_on_the_wire_can_be_held_delayed_lost_and_read(show, split):
    page = show(split, width=833, height=800, step=step_named(split, ENDS))
    page.locator(".kv-flying .kv-key").first.click()
    menu = page.locator(".kv-menu")
    for words in (
        "arrives at",
        "hold it back",
        "deliver it when nothing else can happen",
        "break its connection and lose the message",
        "read its bytes",
    ):
        assert menu.get_by_text(words).first.is_visible(), words
    menu.get_by_text("hold it back").click()
    assert page.evaluate("() => window.model.get('command')")["do"] == "hold"
    assert no_error(page)


def test_keys_open_the_same_menus_and_escape_gives_the_focus_back(show, split):
    page = show(split, width=833, height=800, step=step_named(split, ENDS))
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert page.locator(".kv-menu").is_visible()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("() => document.activeElement.closest('.kv-menu') !== null")
    page.keyboard.press("Escape")
    assert not page.locator(".kv-menu").is_visible()
    head = page.locator(".kv-head", has_text="Broker 3")
    head.focus()
    page.keyboard.press("Enter")
    assert page.get_by_role("dialog", name="Broker 3: what can happen to it").is_visible()
    page.keyboard.press("Escape")
    assert head.evaluate("node => node === document.activeElement")


def test_what_is_hidden_or_needs_no_scrolling_any_more_leaves_the_focus_to_the_stepper(show, split):
    page = show(split, width=1256, height=500, step=len(split["steps"]) - 1)
    page.locator(".kv").focus()
    page.keyboard.press("u")
    page.locator(".kv-beliefs").focus()
    page.keyboard.press("s")
    assert page.evaluate("() => document.activeElement.closest('.kv') !== null")
    page.keyboard.press("s")
    choices = page.locator(".kv-choices")
    choices.focus()
    assert page.evaluate("() => document.activeElement.matches('.kv-choices')"), "it is scrolled"
    page.set_viewport_size({"width": 1256, "height": 900})
    page.wait_for_function(
        "() => { const list = document.querySelector('.kv-choices'); return list.scrollHeight === list.clientHeight; }"
    )
    page.wait_for_function("() => !document.activeElement.matches('.kv-choices')")
    assert page.evaluate("() => document.activeElement.matches('.kv')")


def test_what_happens_to_a_client_itself_stands_before_what_happens_to_its_connections(show, split):
    page = show(split, width=833, height=800, step=step_named(split, ENDS))
    page.locator(".kv-head", has_text="app-1").click()
    words = page.locator(".kv-menu .kv-what").all_inner_texts()
    crash = words.index("app-1 crashes")
    links = [
        k for k, each in enumerate(words) if "partitioned" in each or " is disconnected " in each
    ]
    assert links
    assert crash < min(links)


def test_a_chosen_message_is_not_called_on_the_wire_before_it_is_sent(show, lock_expiry):
    page = show(lock_expiry, width=993, height=900, step=30)
    message = next(m for m in lock_expiry["messages"] if m["sent"] > 20 and m["sent"] < 30)
    page.evaluate("(id) => window.model.set('selection', { kind: 'message', id })", message["id"])
    detail = page.locator(".kv-detail")
    assert "not sent yet" not in detail.inner_text()
    page.evaluate("(step) => window.model.set('step', step)", message["sent"] - 1)
    assert "not sent yet at this step" in detail.inner_text()
    assert no_error(page)


def test_dragging_along_the_overview_steps(show, lock_expiry):
    page = show(lock_expiry, width=833, height=800)
    box = page.locator(".kv-overview").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 2, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, middle, steps=6)
    half = step_of(page)
    page.mouse.move(box["x"] + box["width"] - 3, middle, steps=6)
    page.mouse.up()
    assert 5 < half < step_of(page)
    page.mouse.move(box["x"] + 2, middle)
    assert step_of(page) > half, "a pointer that is up drags nothing"


def test_keys_are_offered_only_while_the_stepper_has_the_focus(show, lock_expiry):
    page = show(lock_expiry, width=833, height=800)
    assert not page.get_by_text("click here, then").is_visible()
    keys = page.locator(".kv kbd, .kv-keys-hint")
    advertised = [key for key in keys.all() if key.is_visible()]
    assert len(advertised) > 2
    assert any("next step of the flow" in (key.text_content() or "") for key in advertised)
    page.evaluate("() => document.activeElement.blur()")
    assert page.get_by_text("click here, then").is_visible()
    assert not [key for key in keys.all() if key.is_visible()], (
        "a key is offered that goes elsewhere"
    )
    page.locator(".kv-sequence").click(position={"x": 30, "y": 120})
    assert not page.get_by_text("click here, then").is_visible()


# -- a failure looks like one -----------------------------------------------------------------------


def test_a_crashed_lane_is_crossed_out_and_labelled(show, split):
    crash = split["downs"][0]["from"]
    page = show(split, width=833, height=800, step=crash)
    head = page.locator(".kv-head", has_text="Broker 1")
    assert "✕ crashed" in head.inner_text()
    assert "leads nothing" not in head.inner_text(), "another line shows below the mark"
    assert page.locator(".kv-down .kv-dead").count() == 1
    page.keyboard.press("Shift+ArrowLeft")
    assert "crashed" not in head.inner_text()


def test_lane_heads_follow_the_leaderships(show, split):
    moved = next(head for head in split["heads"] if head["lane"] == "B5")
    page = show(split, width=833, height=800, step=moved["from"])
    assert (
        page.locator(".kv-head", has_text="Broker 5").locator("span").inner_text() == moved["sub"]
    )
    page.keyboard.press("Home")
    lane = next(lane for lane in split["lanes"] if lane["id"] == "B5")
    assert page.locator(".kv-head", has_text="Broker 5").locator("span").inner_text() == lane["sub"]


def test_a_step_that_changes_no_head_writes_none(show, split):
    page = show(split, width=833, height=800, step=3)
    written = page.evaluate(
        """() => {
          const toggle = DOMTokenList.prototype.toggle;
          let count = 0;
          DOMTokenList.prototype.toggle = function (name, on) {
            count += name === 'kv-head-moved';
            return toggle.call(this, name, on);
          };
          const root = document.querySelector('.kv');
          const before = document.querySelector('.kv-place').textContent;
          root.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', shiftKey: true, bubbles: true }));
          DOMTokenList.prototype.toggle = toggle;
          return [count, document.querySelector('.kv-place').textContent !== before];
        }"""
    )
    assert written == [0, True]


def test_a_cut_is_drawn_between_its_sides_for_as_long_as_it_lasts(show, split):
    cut = split["cuts"][0]
    page = show(split, width=833, height=800, step=cut["from"] + 1)
    lines = page.locator(".kv-cut-line")
    # app-1 and B1 on one side, B3 on the other, B5 with the first: two borders between four lanes.
    assert lines.count() == 2
    page.keyboard.press("Home")
    assert lines.count() == 0


def test_a_fenced_client_is_marked(show):
    zombie = open_run("kip-98-zombie", "kafka").payload
    page = show(zombie, width=833, height=800, step=len(zombie["steps"]) - 1)
    assert "✕ fenced" in page.locator(".kv-head", has_text="app-1").inner_text()


# -- presenting -------------------------------------------------------------------------------------


def test_p_fills_the_screen_and_escape_of_the_browser_ends_it(show, lock_expiry):
    page = show(lock_expiry, width=1024, height=768, step=30)
    page.keyboard.press("P")
    page.wait_for_function("() => document.fullscreenElement?.classList.contains('kv-presenter')")
    box = page.locator(".kv").bounding_box()
    assert box["height"] <= 768 + 2
    page.keyboard.press("PageDown")
    assert step_of(page) > 30
    page.evaluate("() => document.exitFullscreen()")
    page.wait_for_function("() => window.model.get('presenter') === false")
    assert page.evaluate("() => document.activeElement.classList.contains('kv')")
    assert no_error(page)


def test_escape_ends_what_is_large_where_the_browser_gives_no_whole_screen(show, lock_expiry):
    page = show(lock_expiry, width=1024, height=768, step=30)
    # As in a frame that may not fill the screen.
    page.evaluate("() => { document.querySelector('.kv').requestFullscreen = undefined; }")
    page.keyboard.press("P")
    page.keyboard.press("?")
    page.keyboard.press("Escape")
    assert page.evaluate("() => window.model.get('presenter')"), "Escape closes the help first"
    page.keyboard.press("Escape")
    assert page.evaluate("() => window.model.get('presenter')") is False
    assert page.evaluate("() => document.activeElement.classList.contains('kv')")
    page.keyboard.press("Escape")
    assert not page.evaluate("() => document.activeElement.classList.contains('kv')")
    assert no_error(page)


# -- words ------------------------------------------------------------------------------------------


def test_a_term_is_explained_where_it_stands_and_under_why(show, lock_expiry):
    page = show(lock_expiry, width=833, height=800, step=30)
    term = page.locator(".kv-say abbr", has_text="PREPARE_COMMIT")
    assert "can only commit" in (term.get_attribute("title") or "")
    assert page.locator(".kv-say").inner_text().startswith("Broker 1 logs PREPARE_COMMIT")
    page.keyboard.press("w")
    assert page.locator(".kv-why").get_by_text("The decision is logged").is_visible()
    assert no_error(page)
