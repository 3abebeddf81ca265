"""What a page tells those who cannot see it, cannot see its colours, or have no mouse: axe and contrast."""

from __future__ import annotations

import pytest
from axe_playwright_python.base import AXE_SCRIPT

from kipviz.checking.single_run import runs
from kipviz.widgets.comparing.side_by_side import compare
from kipviz.widgets.pages.page import page as page_of
from kipviz.widgets.stepping.lines import Lab
from tests.browser import bare_page
from tests.widgets import flow

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AXE = """async () => (await axe.run('.kv', {
  runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] },
  resultTypes: ['violations'],
})).violations.flatMap(({ id, nodes }) => nodes.map(({ target, any }) => `${id}: ${target.join(' ')} ${any[0]?.message ?? ''}`))"""

# Text over a drawing or a pattern, which axe leaves undecided: against each colour that lies under it.
CONTRAST = r"""() => {
  const root = document.querySelector('.kv');
  const paper = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const mixed = (...colours) => {
    paper.clearRect(0, 0, 1, 1);
    for (const colour of colours) { paper.fillStyle = colour; paper.fillRect(0, 0, 1, 1); }
    return [...paper.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => rgb
    .map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, n) => sum + part * [0.2126, 0.7152, 0.0722][n], 0);
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((m, n) => n - m); return (x + 0.05) / (y + 0.05); };
  const ground = getComputedStyle(root).backgroundColor;
  const under = (node) => {
    const box = node.closest('.kv-record, .kv-batch');
    if (box) {
      const { backgroundColor, backgroundImage } = getComputedStyle(box);
      const stops = backgroundImage.match(/(?:rgba?|color)\([^)]*\)/g) ?? [];
      const solid = stops.filter((stop) => !/^rgba|[/]/.test(stop));
      return solid.length ? solid.map((stop) => [stop]) : [[ground, backgroundColor]];
    }
    const shape = node.closest('.kv-note, .kv-state, .kv-cursor')?.querySelector('.kv-box, rect, .kv-tag');
    const tag = node.closest('.kv-cursor') && node.classList.contains('kv-wire-more') ? null : shape;
    const fill = tag && getComputedStyle(tag).fill;
    return [fill ? [ground, fill] : [ground]];
  };
  const found = new Set();
  for (const node of root.querySelectorAll('svg text, .kv-record *, .kv-batch *')) {
    if (!node.textContent.trim() || !node.checkVisibility()) continue;
    const style = getComputedStyle(node);
    const ink = node.namespaceURI.endsWith('svg') ? style.fill : style.color;
    for (const colours of under(node)) {
      paper.globalAlpha = 1;
      const back = mixed(...colours);
      const front = mixed(...colours, ink).map((part, n) => back[n] + (part - back[n]) * Number(style.opacity));
      if (ratio(front, back) < 4.5) found.add(`${node.parentNode.getAttribute('class')} “${node.textContent}” ${ratio(front, back).toFixed(2)}`);
    }
  }
  return [...found];
}"""

# What each key opens, and what closes it again.
OPENS = ("f", "?", "w", "e", "/", "u", "t", "o", "m", "x", "v", "s", "q")


@pytest.fixture(scope="module")
def payloads():
    """The runs to look at; "broken" ends in a violation, "stuck" in a client that waits."""
    played = {
        "share": runs.play("kip-1289-share-commit"),
        "broken": runs.play("kip-1289-lock-expiry", "finding-D"),
        "stuck": runs.play("kip-98-stuck-lso"),
    }
    told = {name: Lab(run).payload for name, run in played.items()}
    return told | {
        "compare": compare("kip-1289-lock-expiry", "repaired", "finding-D").payload,
        "flow": flow.share_payload(),
    }


@pytest.fixture
def show(open_file, tmp_path, payloads):
    """Open a run as one HTML file, with axe in it."""

    def show_one(name, **look):
        file = tmp_path / f"{name}.html"
        file.write_text(page_of(payloads[name]), encoding="utf-8")
        shown = open_file(file, **look)
        shown.wait_for_selector(".kv-say:not(:empty)")
        shown.evaluate(AXE_SCRIPT)
        return shown

    return show_one


def find_problems(shown) -> list[str]:
    return [*shown.evaluate(AXE), *shown.evaluate(CONTRAST)]


def focus(shown) -> None:
    shown.evaluate("() => document.querySelector('.kv').focus()")


@pytest.mark.parametrize(
    ("scheme", "width"),
    [pytest.param("light", 1280, marks=pytest.mark.thorough), ("dark", 800)],
)
def test_axe_finds_nothing_whatever_is_open(show, scheme, width):
    shown = show("share", scheme=scheme, width=width)
    wrong = {"first screen": find_problems(shown)}
    while not shown.locator(".kv-record.kv-pending").count():
        shown.keyboard.press("ArrowRight")
    wrong["mid-run"] = find_problems(shown)
    for key in OPENS:
        shown.keyboard.press(key)
        shown.wait_for_timeout(30)  # what is brought into view moves in the next frame
        wrong[key] = find_problems(shown)
        focus(shown)
        shown.keyboard.press("Escape")
    shown.keyboard.press("P")
    wrong["presenting"] = find_problems(shown)
    assert {name: words for name, words in wrong.items() if words} == {}


@pytest.mark.parametrize("name", ["share", "compare"])
def test_a_notebook_of_many_steppers_has_no_banner_for_each(show, name):
    shown = show(name)
    assert shown.locator("h2").count() == 1
    assert shown.locator("header:not(article *)").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_at_a_violation_a_question_and_a_difference(show, scheme):
    wrong = {}
    shown = show("broken", scheme=scheme)
    shown.keyboard.press("End")
    shown.locator(".kv-verdict").first.click()
    wrong["violation"] = find_problems(shown)
    shown = show("stuck", scheme=scheme)
    shown.locator(".kv-options button").first.click()
    wrong["answered"] = find_problems(shown)
    shown = show("compare", scheme=scheme, width=800 if scheme == "light" else 1280)
    shown.keyboard.press("End")
    shown.keyboard.press("r")
    wrong["difference"] = find_problems(shown)
    assert {place: words for place, words in wrong.items() if words} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_two_steppers_in_a_notebook_s_theme_share_no_name(open_file, tmp_path, payloads, theme):
    file = bare_page.write_page(tmp_path / "two.html", payloads["flow"], theme=theme, step=60)
    shown = open_file(file)
    bare_page.wait_painted(shown)
    shown.evaluate(AXE_SCRIPT)
    shown.evaluate(
        """async () => {
          const source = new Blob([document.getElementById('module').textContent], { type: 'text/javascript' });
          const { default: module } = await import(URL.createObjectURL(source));
          module.render({ model: window.model, el: document.body.appendChild(document.createElement('div')) });
        }"""
    )
    shown.wait_for_function("() => document.querySelectorAll('.kv-say:not(:empty)').length === 2")
    twice = "() => [...document.querySelectorAll('[id]')].map(({ id }) => id).filter((id, n, all) => all.indexOf(id) !== n)"
    assert shown.evaluate(twice) == []
    assert find_problems(shown) == []
