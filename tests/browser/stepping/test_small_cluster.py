"""A run on the cluster of searches says so beside its design, whole at every width, and what that cluster leaves out."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from kipviz.checking.single_run import runs
from kipviz.widgets.comparing.compare import Compare
from kipviz.widgets.stepping.lines import Lab

pytestmark = pytest.mark.browser

CUT = """() => {
  const edge = document.querySelector('.kv').getBoundingClientRect().right;
  return [...document.querySelectorAll('.kv-header:not(.kv-comparison *) > *, .kv-header .kv-chip, .kv-side-head .kv-chip')].filter(part => {
    const cut = part.scrollWidth > part.clientWidth + 1 || part.scrollHeight > part.clientHeight + 1;
    return part.checkVisibility() && (cut || part.getBoundingClientRect().right > edge);
  }).map(part => part.textContent);
}"""


@pytest.fixture(scope="module")
def searched():
    return Lab(runs.play_searched("kip-1289-group-commit", "finding-D")).payload


@pytest.mark.parametrize(
    ("width", "height"), [(1920, 1080), (1280, 800), (980, 700), (800, 1000), (640, 400)]
)
def test_the_chip_and_all_beside_it_are_whole(show, searched, width, height):
    page = show(searched, width=width, height=height, step=len(searched["steps"]) - 1)
    expect(page.get_by_role("button", name="small cluster")).to_be_visible()
    assert page.evaluate(CUT) == []


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (833, 800), (640, 400)])
def test_both_sides_of_a_comparison_have_the_chip_and_all_beside_it_whole(
    show, searched, width, height
):
    other = Lab(runs.play_searched("kip-1289-group-commit", "repaired")).payload
    page = show(Compare(searched, other).payload, width=width, height=height, step=20)
    expect(page.locator(".kv-side .kv-small:visible")).to_have_count(2)
    assert page.evaluate(CUT) == []


def test_beside_a_long_name_of_a_design_the_title_is_whole(show):
    payload = Lab(runs.play("kip-1289-draft-hook-first")).payload
    assert len(payload["design"]["name"]) > 60
    for width in (1280, 800):
        page = show(payload, width=width, height=800)
        expect(page.locator(".kv-small")).to_be_hidden()
        assert page.evaluate(CUT) == []


def test_the_chip_opens_what_the_cluster_leaves_out_and_escape_closes_it(show, searched):
    page = show(searched, width=1280, height=800)
    chip = page.get_by_role("button", name="small cluster")
    said = page.get_by_text("It leaves out of Kafka: ")
    expect(chip).to_have_attribute("title", said.inner_text())
    expect(said).to_be_hidden()
    chip.focus()
    page.keyboard.press("Enter")
    expect(said).to_be_visible()
    for words in searched["design"]["left_out"]:
        expect(said).to_contain_text(words)
    page.keyboard.press("Escape")
    expect(said).to_be_hidden()
