"""A run as one HTML file, opened from disk where there is no network."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.seeded_run import Task
from kipviz.views.payload import payload as tell
from kipviz.widgets import Compare
from kipviz.widgets.pages.page import page
from tests.widgets import flow

pytestmark = pytest.mark.browser


@pytest.fixture
def show(open_file, tmp_path):
    """Write a page, open it from disk without a network, and wait for its first picture."""

    def show_one(payload, *, fragment="", **more):
        file = tmp_path / "run.html"
        file.write_text(page(payload), encoding="utf-8")
        shown = open_file(file, **more)
        shown.context.set_offline(True)
        if fragment:
            shown.goto("about:blank")
            shown.goto(file.as_uri() + fragment)
        shown.wait_for_selector(".kv-say:not(:empty)")
        contexts.append(shown.context)
        return shown

    contexts = []
    yield show_one
    # The pages of other tests live in the same context and have a server to reach.
    for context in contexts:
        context.set_offline(False)


def sentence(shown) -> str:
    return shown.locator(".kv-say").inner_text()


def fragment(shown) -> str:
    shown.wait_for_timeout(250)  # the address follows a few times a second
    return shown.evaluate("() => location.hash")


def test_keys_step_through_a_page_from_disk(show):
    payload = flow.share_payload()
    shown = show(payload)
    assert sentence(shown) == payload["steps"][0]["sentence"]
    shown.keyboard.press("ArrowRight")  # no click: the page has the focus at once
    assert sentence(shown) == payload["bigs"][0]["say"]
    shown.keyboard.press("Shift+ArrowRight")
    step = payload["bigs"][0]["to"]
    assert sentence(shown) == payload["steps"][step]["sentence"]
    assert fragment(shown) == f"#step={step}"
    shown.keyboard.press("Home")
    assert sentence(shown) == payload["steps"][0]["sentence"]
    assert shown.locator(".kv-error").is_hidden()


def test_an_address_opens_a_page_at_a_step_and_leads_to_another_one(show):
    payload = flow.share_payload()
    shown = show(payload, fragment="#step=7")
    shown.keyboard.press("Shift+ArrowRight")
    assert sentence(shown) == payload["steps"][8]["sentence"]
    shown.evaluate("() => { location.hash = '#step=3' }")
    expect(shown.locator(".kv-place")).to_contain_text("message 3 of")
    shown.keyboard.press("Shift+ArrowRight")
    assert sentence(shown) == payload["steps"][4]["sentence"]


@pytest.mark.parametrize("nonsense", ["#step=many", "#step=-4&branch=99", "#", "#%E0%A4%A"])
def test_an_address_that_says_nothing_opens_at_the_start(show, nonsense):
    payload = flow.share_payload()
    shown = show(payload, fragment=nonsense)
    assert sentence(shown) == payload["steps"][0]["sentence"]


def test_another_choice_is_refused_in_words_because_there_is_no_model(show):
    payload = flow.share_payload()
    begin = next(
        choice["from"]
        for choice in payload["choices"]
        if any(i["enabled"] and not i["taken"] and i["group"] == "next" for i in choice["items"])
    )
    shown = show(payload, fragment=f"#step={begin}")
    shown.locator(".kv-next-list li:not(.kv-taken) button").first.click()
    assert "there is no model behind it to ask" in shown.locator(".kv-error").inner_text()
    shown.keyboard.press("Escape")
    shown.keyboard.press("ArrowRight")
    assert shown.locator(".kv-error").is_hidden()


def test_a_packed_run_of_the_model_steps_to_its_end(show):
    run = runs.replay(Task("kip-1289-two-members", "repaired", "hostile", 0))
    told, _ = tell(run.scenario, run.design, run.model, run.trace, ())
    shown = show(told)
    assert shown.locator("#payload").get_attribute("type") == "application/gzip"
    shown.keyboard.press("End")
    assert sentence(shown) == told["steps"][-1]["sentence"]


def test_text_stays_text_in_a_page(show):
    payload = flow.share_payload()
    payload["title"] = "</script><script>window.caught = 1</script><img src=x onerror='caught=1'>"
    shown = show(payload)
    assert shown.locator("h2").first.inner_text() == payload["title"]
    assert shown.evaluate("() => window.caught") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_is_light_or_dark_as_the_reader_likes(show, scheme):
    shown = show(flow.share_payload(), scheme=scheme)
    assert shown.locator(".kv").get_attribute("data-theme") == scheme
    colour = shown.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert colour == {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 29)"}[scheme]


def test_two_designs_side_by_side_step_together_in_a_page(show):
    shown = show(Compare(flow.share_payload(), flow.repaired_payload()).payload)
    before = shown.locator(".kv").inner_text()
    shown.keyboard.press("ArrowRight")
    assert shown.locator(".kv").inner_text() != before
    assert fragment(shown).startswith("#step=")


def test_without_javascript_a_page_still_tells_the_story(tmp_path, lab):
    payload = flow.share_payload()
    file = tmp_path / "run.html"
    file.write_text(page(payload), encoding="utf-8")
    context = lab.new_page().context.browser.new_context(java_script_enabled=False)
    shown = context.new_page()
    shown.goto(file.as_uri())
    words = shown.locator("noscript").inner_text()
    assert payload["bigs"][0]["say"] in words
    context.close()


def test_a_page_runs_its_own_script_and_no_other_one(open_file, tmp_path):
    payload = flow.share_payload()
    text = page(payload)
    assert "'unsafe-inline'" not in text.partition("script-src")[2].partition(";")[0]
    injected = "<script>document.title = 'foreign';</script>"
    injected += "<img src=x onerror=\"document.title = 'foreign'\">"
    file = tmp_path / "run.html"
    file.write_text(text.replace("</main>", f"</main>{injected}"), encoding="utf-8")
    shown = open_file(file)
    shown.wait_for_selector(".kv-say:not(:empty)")
    assert sentence(shown) == payload["steps"][0]["sentence"]
    shown.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = "
        "\"document.title = 'foreign'\"; document.body.append(s) }"
    )
    shown.keyboard.press("ArrowRight")
    assert sentence(shown) == payload["bigs"][0]["say"]
    assert shown.title() != "foreign"


def test_a_page_has_its_own_style_sheets_and_takes_no_other_one(open_file, tmp_path):
    file = tmp_path / "run.html"
    injected = "</main><style>.kv { display: none }</style>"
    file.write_text(page(flow.share_payload()).replace("</main>", injected), encoding="utf-8")
    shown = open_file(file)
    shown.wait_for_selector(".kv-say:not(:empty)")
    look = shown.evaluate(
        "() => { const of = (name) => getComputedStyle(document.querySelector(name));"
        " return [of('.kv').display !== 'none', of('body').margin, of('.kv-needle').transform !== 'none',"
        " of('.kv-say').fontSize !== '16px' || of('.kv-header').display === 'flex'] }"
    )
    assert look == [True, "12px", True, True]
