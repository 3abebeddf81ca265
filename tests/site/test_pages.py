"""The site in a real Chromium that can reach this machine only."""

from __future__ import annotations

import json

import pytest

from kipviz.scenarios.library import scenario
from kipviz.site.build import TABS, stored_run, story_page
from kipviz.site.desk import bake
from kipviz.site.papers import KIP_PAPERS
from tests.patience import PATIENCE
from tests.site.conftest import COLD_MAX

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DRAWN = "() => window.laps?.drawn"
READY = "() => window.laps?.tools"


@pytest.fixture
def opened(browser, served):
    """A page of a browser that was never here; nothing but the site may be asked for."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    asked, mistakes = [], []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.on("pageerror", lambda error: mistakes.append(str(error)))
    page.on("console", lambda said: "Content Security" in said.text and mistakes.append(said.text))
    yield page
    context.close()
    assert [url for url in asked if not url.startswith((served.address, "data:", "blob:"))] == []
    assert mistakes == []


@pytest.mark.parametrize(
    "name", ["kip-1289-group-commit", "kip-1289-share-commit", "pain-two-instances"]
)
def test_a_story_is_drawn_and_steps_before_the_model_is_there(opened, served, name):
    # The runtime does not arrive, so all that happens comes from the stored run.
    opened.route("**/runtime/**", lambda route: route.abort())
    opened.goto(f"{served.address}story/{name}.html")
    opened.wait_for_function(DRAWN)
    cold = sum(n for path, n in served.sent if "worker" not in path and ".rest." not in path)
    assert 50_000 < cold < COLD_MAX
    opened.wait_for_function("() => window.laps?.whole")
    assert opened.evaluate("() => window.model.get('payload').choices.length") > 0
    before = opened.inner_text(".kv-say")
    assert before
    opened.keyboard.press("ArrowRight")
    opened.wait_for_function("() => window.model.get('step') > 0")
    assert opened.inner_text(".kv-say") != before
    opened.wait_for_function("() => document.getElementById('state').dataset.kind === 'wrong'")
    assert opened.inner_text("#state").endswith("The stored run still steps.")


def test_the_tab_of_a_story_tells_its_outcome_only_when_the_answer_was_shown(opened, served):
    name = "kip-447-group-id-only"  # not among the few stories of the tests' site
    story = scenario(name)
    assert story.untold
    text = story_page(story)
    assert story.title not in text
    opened.route("**/runtime/**", lambda route: route.abort())
    runs = stored_run(name, json.loads(bake(name)))
    files = {f"story/{name}.html": text, **{f"runs/{file}": run for file, run in runs.items()}}

    def send(route):
        path = route.request.url.removeprefix(served.address)
        kind = "text/html" if path.endswith("html") else "application/json"
        route.fulfill(body=files[path], content_type=kind)

    for path in files:
        opened.route(served.address + path, send)
    opened.goto(f"{served.address}story/{name}.html")
    opened.wait_for_function("() => window.laps?.whole")
    assert opened.title() == f"{story.untold} · kipviz"
    assert opened.inner_text("#title") == story.untold
    opened.keyboard.press("End")
    opened.wait_for_function("title => document.title === title", arg=f"{story.title} · kipviz")
    assert opened.inner_text("#title") == story.title


@pytest.mark.parametrize("width", [1280, 800])
def test_no_sentence_of_a_story_is_cut_on_a_page_of_the_site(opened, served, width):
    opened.set_viewport_size({"width": width, "height": 800})
    opened.route("**/runtime/**", lambda route: route.abort())
    opened.goto(f"{served.address}story/kip-1289-share-commit.html")
    opened.wait_for_function("() => window.laps?.whole")
    steps = opened.evaluate("() => window.model.get('payload').steps.length")
    cut, walked = [], 0
    while opened.evaluate("() => window.model.get('step')") < steps - 1:
        before = opened.inner_text(".kv-say")
        opened.keyboard.press("ArrowRight")
        opened.wait_for_function(
            "before => document.querySelector('.kv-say').innerText !== before", arg=before
        )
        walked += 1
        if opened.evaluate(
            "() => (box => box.scrollHeight > box.clientHeight + 1)(document.querySelector('.kv-spoken'))"
        ):
            cut.append(opened.inner_text(".kv-say"))
    assert walked > 5
    assert cut == []


def test_the_model_answers_a_search_stops_and_a_link_opens_without_a_network(opened, served):
    opened.goto(f"{served.address}story/kip-1289-group-commit.html")
    opened.wait_for_function(READY, timeout=1000 * PATIENCE)
    assert opened.inner_text("#state").startswith("The model answers (")

    # A fault of one's own: the model makes a branch.
    opened.locator(".kv").focus()
    opened.keyboard.press("ArrowRight")
    opened.evaluate(
        """() => { const m = window.model; const at = m.get("step");
        const items = m.get("payload").choices.filter((c) => c.from <= at && (c.to === null || c.to > at)).flatMap((c) => c.items);
        m.set("command", { do: "take", choice: items.find((i) => i.enabled && i.group === "fault").id, branch: 0, step: at, id: 77 });
        m.save_changes(); }"""
    )
    opened.wait_for_function(
        "() => window.model.get('branches').length === 1", timeout=1000 * PATIENCE
    )

    # A search is ended in the middle.
    opened.click("#search")
    opened.click("#stop")
    assert "its memory is free again" in opened.inner_text("#found")

    # Two designs.
    opened.click("#compare")
    opened.wait_for_function(
        "() => window.model.get('payload').left && document.querySelector('.kv')",
        timeout=1000 * PATIENCE,
    )

    # A step as an address, from another story, where nothing is served any more.
    opened.goto(f"{served.address}story/kip-1289-share-commit.html")
    opened.wait_for_function(READY, timeout=1000 * PATIENCE)
    opened.locator(".kv").focus()
    opened.keyboard.press("ArrowRight")
    opened.wait_for_function("() => window.model.get('step') > 0")
    step = opened.evaluate("() => window.model.get('step')")
    opened.click("#share")
    opened.wait_for_function("() => location.hash.startsWith('#kv2.')")
    opened.evaluate("() => navigator.serviceWorker.ready.then(() => true)")
    address = opened.url
    served.shutdown()
    served.server_close()
    opened.goto("about:blank")
    opened.goto(address)
    opened.wait_for_function("() => window.laps?.link", timeout=1000 * PATIENCE)
    assert opened.evaluate("() => window.model.get('step')") == step
    # A story that nobody opened before is played by the model.
    opened.goto(f"{served.address}story/kip-98-zombie.html")
    opened.wait_for_function(READY, timeout=1000 * PATIENCE)
    assert opened.evaluate("() => window.model.get('payload').scenario") == "kip-98-zombie"


def test_an_address_with_a_design_opens_the_story_under_it_and_an_unknown_one_is_told(
    opened, served
):
    story = f"{served.address}story/kip-1289-share-commit.html"
    opened.goto(f"{story}#design=as-written&step=2")
    opened.wait_for_function(READY, timeout=1000 * PATIENCE)
    assert opened.evaluate("() => window.model.get('payload').design.name") == "as-written"
    assert opened.evaluate("() => window.model.get('step')") == 2
    assert opened.input_value("#design") == "as-written"
    opened.locator(".kv").focus()
    opened.keyboard.press("ArrowRight")
    opened.wait_for_function("() => location.hash.startsWith('#design=as-written&step=')")
    opened.goto("about:blank")
    opened.goto(f"{story}#design=nonsense")
    opened.wait_for_function(READY, timeout=1000 * PATIENCE)
    assert opened.inner_text("#state").startswith("This is the story under repaired: ")
    assert "nonsense" in opened.inner_text("#state")


def test_the_gallery_finds_by_words_and_filters(opened, served):
    opened.goto(f"{served.address}index.html")
    assert opened.inner_text("#count") == "3 of 3"
    opened.fill("#find", "deployment")
    assert opened.inner_text("#count") == "1 of 3"
    assert opened.locator(".cards li:visible a").inner_text() == "Fenced right after a deployment"
    opened.fill("#find", "")
    opened.select_option("select[data-filter=kip]", "KIP-1289")
    assert opened.inner_text("#count") == "2 of 3"


def test_a_sentence_in_a_table_has_the_room_of_one_and_no_word_is_broken(opened, served):
    for page in ("findings", "ledger", "drafts"):
        opened.goto(f"{served.address}{page}.html")
        wide = opened.evaluate(
            "() => [...document.querySelectorAll('td.long')].slice(0, 400).map(cell => cell.clientWidth)"
        )
        assert wide
        assert min(wide) >= 200, page


@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_the_screen(opened, served, width):
    opened.set_viewport_size({"width": width, "height": 844})
    for page in (*TABS, *KIP_PAPERS):
        opened.goto(f"{served.address}{page}.html")
        assert opened.evaluate("() => document.documentElement.scrollWidth") <= width, page
