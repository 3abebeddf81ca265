"""The stepper in a real browser, on a page without a kernel."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import kipviz
from kipviz.widgets.pages.open_question import tells_at
from tests.browser.bare_page import no_error, step_named, step_of, wait_painted, write_page
from tests.widgets import flow

pytestmark = pytest.mark.browser

Open = Callable[..., Any]


def sentence(page) -> str:
    return page.locator(".kv-say").inner_text()


def test_right_is_one_big_step_and_shift_right_is_one_message(show):
    payload = flow.share_payload()
    page = show(payload)
    page.keyboard.press("ArrowRight")
    assert step_of(page) == payload["bigs"][0]["to"] - 1
    assert sentence(page) == payload["bigs"][0]["say"]
    page.keyboard.press("Shift+ArrowRight")
    assert step_of(page) == payload["bigs"][0]["to"]
    assert sentence(page) == payload["steps"][step_of(page)]["sentence"]
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert step_of(page) == 0
    assert no_error(page)


def test_a_long_big_step_rests_after_six_messages_at_most_and_says_which_part_it_is(show):
    payload = kipviz.open("kip-229-several").payload
    page = show(payload)
    long = next(big for big in payload["bigs"] if len(big["rests"]) == 3)
    while step_of(page) < long["from"] - 1:
        page.keyboard.press("ArrowRight")
    number = payload["bigs"].index(long) + 1
    stops = [*long["rests"], long["to"] - 1]
    for part, stop in enumerate(stops, 1):
        page.keyboard.press("ArrowRight")
        assert step_of(page) == stop
        head = page.locator(".kv-context").inner_text()
        assert head == f"{number} · {long['title']} (part {part} of 4)"
    assert sentence(page) == long["say"], "the end of the whole is told in its own words"
    for stop in [*stops[-2::-1], long["from"] - 1]:
        page.keyboard.press("ArrowLeft")
        assert step_of(page) == stop
    assert no_error(page)


def test_going_on_and_back_again_shows_the_same_page(show):
    page = show(flow.share_payload(), all_lanes=True)
    pictures = {}
    # Once through first: an answer that was shown stays shown, and the diagram is lower by what it takes.
    before = None
    while step_of(page) != before:
        before = step_of(page)
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    # The diagram has its height when the frame after the step is painted: an answer above it takes room, too.
    look = """async () => {
      for (const _ of [1, 2, 3]) await new Promise(requestAnimationFrame);
      return [...document.querySelectorAll('.kv-choices, .kv-middle, section.kv-right, .kv-bottom, .kv-header')].map(node => node.innerText).join('|');
    }"""
    while step_of(page) not in pictures:
        pictures[step_of(page)] = page.evaluate(look)
        page.keyboard.press("ArrowRight")
    for place in sorted(pictures, reverse=True):
        assert page.evaluate(look) == pictures[place], (
            f"step {place} looks different on the way back"
        )
        page.keyboard.press("ArrowLeft")
    assert len(pictures) == 15
    assert no_error(page)


def test_home_end_and_the_slider_go_anywhere(show):
    payload = flow.share_payload()
    page = show(payload)
    page.keyboard.press("End")
    assert step_of(page) == len(payload["steps"]) - 1
    page.keyboard.press("Home")
    assert step_of(page) == 0
    page.locator(".kv-slider").fill("37")
    assert step_of(page) == 37
    assert "message 37" in page.locator(".kv-slider").get_attribute("aria-valuetext")


def test_a_message_hangs_hollow_below_the_cursor_until_it_is_delivered(show):
    payload = flow.share_payload()
    told = step_named(payload, "commit returns")
    page = show(payload, step=told)
    assert page.locator(".kv-flying").all_inner_texts() != []
    assert page.locator(".kv-flying .kv-hollow").count() == 2
    page.keyboard.press("1")  # the first choice is the one this line takes, or leads there
    page.keyboard.press("End")
    assert page.locator(".kv-flying").count() == 0
    assert page.locator(".kv-message:not(.kv-flying)").count() > 0


def test_the_first_screen_has_four_lanes_and_a_button_for_all(show):
    page = show(flow.share_payload())
    assert page.locator(".kv-head").count() == 4
    assert page.locator(".kv-question").is_visible()
    page.keyboard.press("a")
    assert page.locator(".kv-head").count() == 6
    assert page.get_by_text("__share_group_state-16").is_visible()


def test_an_answer_is_kept_and_the_reveal_says_whether_it_was_right(show):
    payload = flow.share_payload()
    page = show(payload)
    page.get_by_role("button", name="no", exact=True).click()
    assert page.evaluate("() => window.model.get('answers')") == {"again": 1}
    page.get_by_role("button", name="show what happens").click()
    assert step_of(page) == step_named(payload, "acquired again")
    assert page.locator(".kv-reveal").inner_text().startswith("Not quite: it is “yes”.")


def test_playing_stops_before_an_unanswered_question_and_at_a_fault(show):
    payload = flow.share_payload()
    expiry = step_named(payload, "lock of 100, 101 expires")
    page = show(payload, step=expiry - 2)
    for _ in range(2):
        page.keyboard.press("+")
    page.keyboard.press(" ")
    page.wait_for_function(
        "() => document.querySelector('.kv-play').getAttribute('aria-pressed') === 'false'"
    )
    assert step_of(page) == expiry
    page.keyboard.press(" ")
    page.wait_for_function(
        "() => document.querySelector('.kv-play').getAttribute('aria-pressed') === 'false'"
    )
    assert step_of(page) == tells_at(payload, ()) - 1


def test_the_fault_list_opens_with_a_key_and_says_what_is_not_possible(show):
    page = show(flow.share_payload(), step=20)
    assert page.locator(".kv-fault-list").is_hidden()
    page.keyboard.press("f")
    assert page.get_by_role("button", name="Crash Broker 5").is_visible()
    assert page.evaluate("() => document.activeElement.closest('.kv-fault-menu') !== null")
    off = page.locator(".kv-fault-list .kv-off button")
    assert off.get_attribute("aria-disabled") == "true"
    assert "one fault is allowed in this scenario" in off.inner_text()
    before = page.evaluate("() => window.sent.length")
    off.click(force=True)
    assert page.evaluate("() => window.sent.slice(-1)[0]?.command?.choice ?? null") is None
    assert page.evaluate("() => window.sent.length") == before
    page.keyboard.press("Escape")
    assert page.locator(".kv-fault-list").is_hidden()


def test_the_choice_this_line_takes_steps_on_and_another_asks_python(show):
    payload = flow.share_payload()
    told = step_named(payload, "commit returns")
    page = show(payload, step=told + 1)
    page.keyboard.press("1")
    assert step_of(page) == told + 2
    assert page.evaluate("() => window.model.get('command')") == {}
    page.keyboard.press("2")
    command = page.evaluate("() => window.model.get('command')")
    assert {k: command[k] for k in ("do", "branch", "step")} == {
        "do": "take",
        "branch": 0,
        "step": told + 2,
    }
    assert page.get_by_text("Asking the model").is_visible()


def test_a_branch_is_followed_and_the_old_line_stays(show):
    payload = flow.share_payload()
    page = show(payload, step=40)
    respond = flow.Responder(flow.share_flow())
    page.keyboard.press("f")
    page.get_by_role("button", name="Crash Broker 5").click()
    command = page.evaluate("() => window.model.get('command')")
    page.evaluate(
        "answer => window.model.set('answer', answer)",
        {"id": command["id"], **respond(command)},
    )
    assert (step_of(page), page.evaluate("() => window.model.get('branch')")) == (41, 1)
    assert "Broker 5 is gone" in sentence(page)
    assert page.locator(".kv-branch").input_value() == "1"
    assert page.locator(".kv-down").count() == 1
    page.keyboard.press("[")
    assert page.evaluate("() => window.model.get('branch')") == 0
    assert sentence(page) == payload["steps"][41]["sentence"]
    page.keyboard.press("Shift+ArrowLeft")
    assert step_of(page) == 40, "the focus survives a redraw of the button that had it"
    sent = page.evaluate("() => window.model.get('command').id")
    page.get_by_role("button", name="Crash Broker 5").first.click()
    assert page.evaluate("() => window.model.get('command').id") == sent, (
        "a known branch is not asked for again"
    )
    assert page.evaluate("() => window.model.get('branch')") == 1
    assert no_error(page)


def test_a_refusal_of_python_is_shown_as_its_sentence(show):
    page = show(flow.share_payload(), step=40)
    page.keyboard.press("f")
    page.get_by_role("button", name="Move the leader of output-A-0").click()
    number = page.evaluate("() => window.model.get('command').id")
    page.evaluate(
        "answer => window.model.set('answer', answer)",
        {"id": number, "error": "Broker 4 is not in sync."},
    )
    assert page.get_by_role("alert").inner_text().strip().endswith("Broker 4 is not in sync.")
    page.keyboard.press("ArrowRight")
    assert step_of(page) > 40, "an error does not stop the stepping"


def test_what_cannot_be_drawn_says_so_on_the_page(show):
    payload = flow.share_payload()
    payload["steps"][30]["why"]["guards"] = [["owner"], None]
    page = show(payload, step=29)
    page.keyboard.press("w")
    page.keyboard.press("Shift+ArrowRight")
    assert "could not be drawn" in page.get_by_role("alert").inner_text()
    page.keyboard.press("Shift+ArrowRight")
    assert step_of(page) == 31


def test_a_payload_of_another_format_is_refused_in_words(open_file, tmp_path):
    payload = {**flow.share_payload(), "format": 9}
    page = open_file(write_page(tmp_path / "other.html", payload))
    wait_painted(page)
    assert "reads format 1, the trace has format 9" in page.get_by_role("alert").inner_text()


def test_why_shows_rule_guards_clause_and_kafka_class(show):
    payload = flow.share_payload()
    page = show(payload, step=step_named(payload, "100, 101 staged"))
    page.keyboard.press("w")
    words = page.locator(".kv-why").inner_text()
    for part in ("stage", "owner m1", "KIP-1289, step 6", "draft", "SharePartitionManager.stage"):
        assert part in words
    page.keyboard.press("Escape")
    assert page.locator(".kv-why").is_hidden()


def test_a_change_says_what_was_before(show):
    payload = flow.share_payload()
    page = show(payload, step=step_named(payload, "PREPARE_COMMIT"))
    fact = page.locator(".kv-fact.kv-new", has_text="state").first
    assert fact.locator("s").inner_text() == "ONGOING"
    assert fact.locator("b").inner_text() == "PREPARE_COMMIT"
    page.keyboard.press("Shift+ArrowRight")
    assert page.locator(".kv-fact.kv-new").count() == 0


def test_a_big_step_marks_everything_that_changed_in_it(show):
    payload = flow.share_payload()
    page = show(payload)
    page.keyboard.press("ArrowRight")
    assert page.locator(".kv-record.kv-new").count() == 4
    assert page.locator(".kv-said", has_text="100-103: AVAILABLE → ACQUIRED").is_visible()


def test_what_came_back_to_its_old_value_within_a_big_step_is_no_change(show):
    payload = flow.share_payload()
    produced = next(big for big in payload["bigs"] if big["title"] == "Output is produced")
    page = show(payload, step=produced["to"] - 1)
    sent = page.locator(".kv-fact", has=page.get_by_text("in flight", exact=True))
    assert sent.locator("b").inner_text() == "0"  # it was 0, then 1, and is 0 again
    assert "kv-new" not in sent.get_attribute("class")
    assert page.locator(".kv-fact.kv-new", has_text="participants").is_visible()


def test_a_broken_property_is_said_in_words_in_the_title_and_below(show):
    payload = flow.share_payload()
    page = show(payload, step=step_named(payload, "two outputs of one record"))
    assert page.get_by_role("button", name="once: broken").is_visible()
    assert "src-0 offset 100 has two committed outputs" in page.locator(".kv-alarm").inner_text()
    assert page.locator(".kv-flag-broken").count() == 1
    assert page.locator(".kv-flag-fault").count() == 1


def test_a_click_into_the_strip_goes_there(show):
    payload = flow.share_payload()
    page = show(payload)
    box = page.locator(".kv-overview").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + 20)
    assert abs(step_of(page) - len(payload["steps"]) // 2) <= 1


def markup(value: Any) -> Any:
    """The same payload with markup in every text a page could draw."""
    bad = '<img src=x onerror="window.hacked=1"><b>'
    fixed = {
        "id",
        "card",
        "kind",
        "lane",
        "from",
        "to",
        "actor",
        "tone",
        "group",
        "state",
        "status",
        "format",
        "message",
        "property",
        "control",
        "batch",
    }
    if isinstance(value, dict):
        return {
            k: v if k in fixed and not isinstance(v, dict | list) else markup(v)
            for k, v in value.items()
        }
    if isinstance(value, list):
        return [markup(part) for part in value]
    return bad + value if isinstance(value, str) else value


def test_markup_in_any_text_stays_text(show):
    payload = markup(flow.share_payload())
    page = show(payload, all_lanes=True)
    for keys in ("w", "?", "f"):
        page.keyboard.press(keys)
    page.locator(".kv").focus()  # the words that look for a fault take the arrows
    for keys in ("ArrowRight", "ArrowRight", "ArrowRight", "End"):
        page.keyboard.press(keys)
    page.locator(".kv-message").first.click(force=True)
    page.locator(".kv-verdict").first.click()
    assert page.locator(".kv img, .kv h2 b").count() == 0
    assert "<img" in page.locator(".kv h2").inner_text()
    assert page.evaluate("() => window.hacked") is None


@pytest.mark.parametrize(
    ("width", "size"),
    [(1280, "three"), (1040, "three"), (800, "two"), (600, "two"), (500, "one")],
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_leaves_its_box_at_any_width(show, width, size, scheme):
    page = show(flow.share_payload(), width=width, scheme=scheme, theme=scheme, step=60)
    assert page.locator(".kv").get_attribute("data-size") == size
    assert page.locator(".kv").get_attribute("data-theme") == scheme
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    overflow = """() => [...document.querySelectorAll('.kv button, .kv-say, .kv-card, .kv-chip')]
        .filter(node => node.offsetParent && node.scrollWidth > node.clientWidth + 1).map(node => node.className)"""
    assert page.evaluate(overflow) == []
    assert no_error(page)


def test_every_button_of_the_transport_is_in_sight_at_320_pixels(show):
    page = show(flow.share_payload(), width=320, step=60)
    beyond = """() => [...document.querySelectorAll('.kv-transport button, .kv-verdict, .kv-where-big')]
        .filter(node => node.offsetParent && node.getBoundingClientRect().right > innerWidth).map(node => node.className)"""
    assert page.evaluate(beyond) == []
    assert no_error(page)


CONTRAST = """() => {
  const parse = (colour) => { const n = colour.match(/[\\d.]+/g).map(Number);
    const k = colour.startsWith('color(') ? 255 : 1; return [n[0] * k, n[1] * k, n[2] * k, n[3] ?? 1]; };
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = ([r, g, b]) => { const [x, y, z] = [r, g, b].map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * x + .7152 * y + .0722 * z; };
  const behind = (node) => { const layers = [];
    for (let n = node; n; n = n.parentElement) { const style = getComputedStyle(n);
      if (style.backgroundImage !== 'none' && style.backgroundImage.includes('gradient')) return null;
      layers.push(parse(style.backgroundColor)); if (layers.at(-1)[3] === 1) break; }
    return layers.reverse().reduce((under, layer) => over(layer, under), [255, 255, 255, 1]); };
  const poor = [];
  for (const node of document.querySelectorAll('.kv *')) {
    if (node instanceof SVGElement || !node.offsetParent) continue;
    if (![...node.childNodes].some(child => child.nodeType === 3 && child.textContent.trim())) continue;
    const back = behind(node); if (!back) continue;
    const [a, b] = [light(over(parse(getComputedStyle(node).color), back)), light(back)].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) poor.push(`${node.className} ${node.textContent.slice(0, 20)} ${ratio.toFixed(2)}`);
  }
  return poor;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_a_contrast_of_at_least_four_and_a_half(show, scheme):
    payload = flow.share_payload()
    broken = step_named(payload, "two outputs of one record")
    page = show(payload, scheme=scheme, theme=scheme, step=broken, all_lanes=True)
    for keys in ("w", "?", "f"):
        page.keyboard.press(keys)
    assert page.evaluate(CONTRAST) == []


def test_the_same_trace_compared_with_itself_and_with_another_design(show):
    from kipviz.widgets import Compare

    same = Compare(flow.share_payload(), flow.share_payload()).payload
    assert same["differences"] == []
    both = Compare(flow.share_payload(), flow.repaired_payload()).payload
    page = show(both)
    page.get_by_role("button", name="first difference").click()
    assert step_of(page) == both["differences"][0]["at"]
    assert page.locator(".kv-differs:visible").count() == 2
    words = page.locator(".kv-side-say").all_inner_texts()
    assert "releases 100 and 101" in words[0]
    assert "pinned" in words[1]
    assert page.locator(".kv-differing").count() >= 2
    page.locator(".kv").focus()
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    assert step_of(page) == len(both["pairs"]) - 1
    verdicts = [side.all_inner_texts() for side in (page.locator(".kv-side .kv-verdicts").all())]
    assert "once" in verdicts[0][0]
    assert page.get_by_role("button", name="once: broken").count() == 1
    assert no_error(page)


def test_reduced_motion_moves_nothing_slowly(show, lab):
    page = show(flow.share_payload(), step=50)
    page.emulate_media(reduced_motion="reduce")
    page.keyboard.press("Shift+ArrowRight")
    assert page.evaluate(
        "() => getComputedStyle(document.querySelector('.kv-world')).transitionDuration"
    ) in ("0s", "")


def test_two_views_of_one_model_stay_together_and_a_closed_one_is_deaf(show):
    page = show(copy.deepcopy(flow.share_payload()))
    page.keyboard.press("ArrowRight")
    page.evaluate("() => window.model.set('step', 5)")
    assert "message 5" in page.locator(".kv-where-small").inner_text()
    page.evaluate("() => window.cleanup()")
    page.evaluate("() => window.model.set('step', 9)")
    assert "message 5" in page.locator(".kv-where-small").inner_text()


def small_payload(**changes: Any) -> dict[str, Any]:
    """Nothing but steps: no big ones, no message, no card, no property."""
    names = ("lanes", "cards", "bigs", "messages", "notes", "rows", "verdicts", "choices")
    step = {"kind": "local", "actor": "a", "tone": "calm", "interesting": False}
    steps = [{**step, "title": f"t{k}", "sentence": f"Sentence {k}."} for k in range(6)]
    design = {"name": "bare", "status": "shipped"}
    bare = {"format": 1, "title": "bare", "design": design, "steps": steps}
    return {**bare, **{name: [] for name in names}, **changes}


def test_a_trace_without_big_steps_or_anything_else_still_steps(show):
    page = show(small_payload(lanes=[{"id": "a", "title": "A", "first": True}]))
    page.keyboard.press("ArrowRight")
    assert (step_of(page), sentence(page)) == (1, "Sentence 1.")
    page.keyboard.press("ArrowLeft")
    for key in ("ArrowLeft", "f", "b", "]", "a", "w", "?", "5", "End", "ArrowRight"):
        page.keyboard.press(key)
    assert step_of(page) == 5
    assert page.locator(".kv-place").inner_text() == "message 5 of 5"
    assert no_error(page)


def test_without_big_steps_right_goes_to_the_next_notable_one(show):
    payload = small_payload(lanes=[{"id": "a", "title": "A"}])
    payload["steps"][3]["interesting"] = True
    page = show(payload)
    places = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
        places.append(step_of(page))
    assert places == [3, 5, 3, 0]


LOOK = """() => {
  const words = (selector, root = document) => [...root.querySelectorAll(selector)].filter(node => !node.closest('[hidden]'));
  return {
    records: words('.kv-record').map(node => node.getAttribute('aria-label').replace(/;.*/, '')),
    facts: Object.fromEntries(words('.kv-card').filter(card => card.querySelector('.kv-fact')).map(card => [
      card.querySelector('h4').textContent,
      words('.kv-fact', card).filter(row => row.querySelector('b').textContent !== 'gone')
        .map(row => row.querySelector('dt').textContent + '=' + row.querySelector('b').textContent)])),
    lit: words('.kv-lit code').map(node => node.textContent),
    marks: words('.kv-mark span').map(node => node.textContent),
    wire: words('.kv-flying > text:last-of-type').length,
    verdicts: words('.kv-verdict').map(node => node.getAttribute('aria-label').split(':')[0] + ' ' + node.dataset.state).sort(),
    place: words('.kv-where-big')[0].textContent,
  };
}"""


def expected_picture(
    line: Any, history: list[dict[str, Any]], messages: list[Any], k: int
) -> dict[str, Any]:
    """The same picture from the recorder's own state, which knows nothing of rows and branches."""
    state = history[k]
    marks: dict[tuple[str, int], list[str]] = {}
    for log in ("out", "sgs"):
        for mark in ("LSO", "HW", "LEO"):
            marks.setdefault((log, state[log][mark]), []).append(mark)
    titles = {card["id"]: card["title"] for card in flow.CARDS}
    return {
        "records": [
            f"{offset} {kind}, delivered {count} times{f', {note}' if note else ''}"
            for offset, (kind, count, note) in state["records"].items()
        ],
        "facts": {
            titles[card]: [f"{label}={value}" for label, value in state[card].items()]
            for card in ("share", "txn", "client", "member2")
        },
        "lit": [flow.CODE[state["line"]]] if state["line"] >= 0 else [],
        "marks": [f"{' = '.join(ids)} {at}" for (_, at), ids in marks.items()],
        "wire": sum(
            m["sent"] <= k < min(m["arrived"] or 10**9, m["lost"] or 10**9) for m in messages
        ),
        "verdicts": sorted(f"{v['property']} {v['state']}" for v in line.verdicts_at(k)),
        "place": f"{line.big_number(k)} of {len(line.bigs)}",
    }


def test_a_branch_of_a_branch_shows_at_every_step_what_really_was(show):
    from kipviz.widgets.pages.line import line_of

    payload = flow.share_payload()
    respond = flow.Responder(flow.share_flow())
    first = respond({"branch": 0, "step": 66, "choice": "crash-src"})["branch"]
    second = respond({"branch": 1, "step": 70, "choice": "crash-src"})["branch"]
    branches = [first, second]
    flows = [respond.lines[number] for number in (0, 1, 2)]
    histories = [flows[0].history]
    for branch, recorded in zip(branches, flows[1:], strict=True):
        histories.append(histories[-1][: branch["at"] + 1] + recorded.history)
    messages = [flows[0].messages]
    for branch in branches:
        known = {m["id"]: m for m in branch["messages"]}
        at = branch["at"]
        inherited = [m for m in messages[-1] if m["sent"] <= at and m["id"] not in known]
        messages.append([*inherited, *known.values()])
    page = show(payload, all_lanes=True, branches=branches)
    for number in (0, 1, 2):
        line = line_of(payload, branches, number)
        page.evaluate("branch => window.model.set('branch', branch)", number)
        for k in range(40, line.last + 1):
            page.evaluate("step => window.model.set('step', step)", k)
            assert page.evaluate(LOOK) == expected_picture(
                line, histories[number], messages[number], k
            ), f"branch {number}, step {k}"
    assert no_error(page)


def test_the_diagram_can_be_looked_up_without_moving_the_cursor(show):
    payload = flow.share_payload()
    page = show(payload, step=80)
    scrolled = (
        "() => Number(document.querySelector('.kv-world').style.transform.match(/, (-?\\d+)/)[1])"
    )
    there = page.evaluate(scrolled)
    page.keyboard.press("PageUp")
    above = page.evaluate(scrolled)
    assert above > there
    assert page.locator(".kv-message:not(.kv-flying)").count() > 5
    page.keyboard.press("PageDown")
    assert page.evaluate(scrolled) == there
    page.locator(".kv-view").hover()
    page.mouse.wheel(0, -3000)
    page.wait_for_function(
        "before => Number(document.querySelector('.kv-world').style.transform.match(/, (-?\\d+)/)[1]) > before",
        arg=above,
    )
    assert step_of(page) == 80
    page.keyboard.press("Shift+ArrowRight")
    assert page.evaluate(scrolled) <= there
    assert no_error(page)
