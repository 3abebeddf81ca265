"""The card of a reader's own view on the page: rows as text, a picture as an image in which nothing runs."""

from __future__ import annotations

import pytest

import kipviz
from kipviz.widgets.pages.page import page as page_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def who_runs(world):
    """Which brokers are running."""
    return {f"<b>broker {broker}</b>": "runs" for broker in world.up}


def bars(world):
    """A bar for each broker that runs."""
    rects = "".join(f'<rect x="{12 * n}" width="9" height="20"/>' for n, _ in enumerate(world.up))
    return f'<svg viewBox="0 0 60 20" width="240" height="80">{rects}<title>{len(world.up)} run</title></svg>'


def breaks(world):
    """A view that fails."""
    raise KeyError("<img src=x onerror=alert(1)>")


def test_rows_a_picture_and_what_is_wrong_are_cards_of_a_saved_page(open_file, tmp_path):
    stepper = kipviz.open("kip-1289-small", views=[who_runs, bars, breaks])
    file = tmp_path / "run.html"
    file.write_text(page_of(stepper.payload), encoding="utf-8")
    page = open_file(file)
    rows = page.locator("article[aria-label^='who runs, Which brokers']")
    assert "<b>broker" in rows.inner_text()
    picture = page.locator("article[aria-label^='bars,'] img.kv-picture")
    picture.scroll_into_view_if_needed()
    assert picture.get_attribute("alt") == f"{len(kipviz.Cluster('kip-1289-small').world.up)} run"
    page.wait_for_function(
        "document.querySelector('img.kv-picture[alt$=run]').naturalWidth === 240"
    )
    wrong = page.locator("article[aria-label^='breaks,']")
    assert "Your view breaks raised KeyError: '<img src=x onerror=alert(1)>'." in wrong.inner_text()
    assert page.locator("article[aria-label^='breaks,'] img[src=x]").count() == 0
