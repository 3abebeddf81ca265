"""The bytes of a message in a real browser: a field and its bytes light together."""

from __future__ import annotations

import pytest

import kipviz
from kipviz.views.exports.hexdump import places_of
from tests.browser.bare_page import wait_painted, write_page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def payload():
    return kipviz.open("kip-1289-share-commit").payload


@pytest.fixture
def show(show, payload):
    """Open the drawer on a message and give the page."""

    def show_message(label: str, **more):
        message = next(m for m in payload["messages"] if m["label"] == label)
        chosen = {"kind": "message", "id": message["id"]}
        page = show(payload, step=message["arrived"], selection=chosen, **more)
        page.keyboard.press("x")
        return page, message

    return show_message


def rows(page) -> list[list[str]]:
    return page.locator(".kv-places tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.innerText.trim()))"
    )


def lit_digits(page) -> str:
    """The hex digits that are lit."""
    runs = page.locator(".kv-dump .kv-place-lit").all_inner_texts()
    return " ".join(runs)


@pytest.mark.parametrize("width", [1280, 800])
@pytest.mark.parametrize(
    "label", ["Produce", "TxnShareAcknowledge", "ShareFetch ok", "EndTxn COMMIT"]
)
def test_the_page_and_python_read_the_same_fields_out_of_the_bytes(show, payload, label, width):
    page, message = show(label, width=width)
    found = rows(page)
    wanted = list(places_of(message, payload["wire"]))
    assert len(found) == len(wanted)
    for row, place in zip(found, wanted, strict=True):
        assert row[0] == str(place.at)
        assert row[1] == place.name
        if place.type:
            assert row[2] == place.type
            assert row[3] == f"{place.value} {place.note}".strip()
        else:
            assert row[2] == place.note
    digits = "".join(page.locator(".kv-dump .kv-run").all_inner_texts()).replace(" ", "")
    assert digits == message["bytes"][1]
    assert page.locator(".kv-error").is_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_keyboard_walks_through_the_fields_and_lights_their_bytes(show, payload):
    page, message = show("EndTxn COMMIT")
    assert page.evaluate("document.activeElement.innerText") == "Size"
    assert lit_digits(page) == "00 00 00 2c"
    page.keyboard.press("ArrowDown")  # the heading lights the whole header
    assert lit_digits(page).replace(" ", "") == message["bytes"][1][8:58]
    page.keyboard.press("ArrowDown")
    assert lit_digits(page) == "00 1a"
    row = page.locator(".kv-places tr.kv-place-lit")
    assert "RequestApiKey" in row.inner_text()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")  # there is nothing above the first
    assert lit_digits(page) == "00 00 00 2c"
    page.keyboard.press("Escape")
    assert page.locator(".kv-bytes").is_hidden()


@pytest.mark.parametrize("width", [1280, 800])
def test_the_field_that_is_lit_is_never_out_of_sight(show, width):
    page, _ = show("Produce", width=width)
    count = page.locator(".kv-places tbody tr").count()
    before = page.evaluate("window.scrollY")
    for key in ("ArrowDown", "ArrowUp"):
        for _ in range(count - 1):
            page.keyboard.press(key)
            assert page.evaluate(SEEN)
    assert page.evaluate("window.scrollY") == before  # the page itself stays where it is


SEEN = """() => {
  const { x, y, width, height } = document.activeElement.getBoundingClientRect();
  return document.activeElement.contains(document.elementFromPoint(x + width / 2, y + height / 2));
}"""


def test_the_mouse_lights_a_field_from_its_bytes(show):
    page, _ = show("TxnShareAcknowledge")
    page.locator(".kv-dump .kv-run", has_text="00 00 00 00 00 00 00 09").hover()
    assert "ProducerId" in page.locator(".kv-places tr.kv-place-lit").inner_text()
    head = page.locator(".kv-bytes-head").inner_text()
    assert "key 93" in head
    assert "draft: no release sends these bytes" in head


def test_the_drawer_follows_the_steps_until_a_message_is_chosen(show, payload):
    page, _ = show("Produce")
    page.keyboard.press("Shift+ArrowRight")
    assert page.locator(".kv-bytes-head").inner_text().startswith("ProduceRequest")
    page.evaluate("window.model.set('selection', {})")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Home")
    assert "Choose a message" in page.locator(".kv-bytes-head").inner_text()
    page.evaluate("window.model.set('selection', {kind: 'message', id: 'm1'})")
    assert page.locator(".kv-bytes-head").inner_text().startswith("InitProducerIdRequest")


def test_a_message_of_a_branch_has_its_bytes_too(open_file, tmp_path):
    stepper = kipviz.open("kip-1289-share-commit")
    stepper.step = 20
    stepper.take("B5 crashes")
    branch = stepper.branches[-1]
    message = next(m for m in branch["messages"] if m["sent"] > 20)
    place = write_page(
        tmp_path / "stepper.html",
        stepper.payload,
        branches=stepper.branches,
        branch=branch["id"],
        step=message["sent"],
        selection={"kind": "message", "id": message["id"]},
    )
    page = open_file(place)
    wait_painted(page)
    page.locator(".kv").focus()
    page.keyboard.press("x")
    kind = stepper.bytes(message["id"]).partition("\n")[0]
    assert page.locator(".kv-bytes-head").inner_text() == kind


def test_the_line_under_the_diagram_opens_the_bytes(show):
    page, _ = show("Produce")
    page.keyboard.press("x")
    assert page.locator(".kv-bytes").is_hidden()
    page.locator(".kv-detail button", has_text="bytes").click()
    assert page.locator(".kv-places").is_visible()
