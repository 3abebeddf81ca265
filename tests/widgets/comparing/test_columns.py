"""Three and more designs in columns: what is aligned, what is marked, and what the page says of it."""

from __future__ import annotations

import itertools
import re

import pytest

import kipviz
from kipviz.views.role_cards.own_view import BadView
from kipviz.widgets.comparing.alignment import OTHERWISE, RENAMED, RIGHT, SAME
from kipviz.widgets.comparing.columns import WAITS, BadColumns, Columns
from tests.widgets import flow

STORY = "kip-1289-lock-expiry"
DESIGNS = ("repaired", "as-written", "finding-D")


@pytest.fixture(scope="module")
def three() -> Columns:
    return kipviz.compare(STORY, *DESIGNS)


def test_every_column_takes_each_of_its_steps_once_and_in_order(three: Columns) -> None:
    for n, line in enumerate(three.lines):
        taken = [row.cells[n].step for row in three.rows if row.cells[n].mark != WAITS]
        assert taken == list(range(line.last + 1)), three.names[n]


def test_each_column_differs_first_where_its_comparison_with_the_first_one_does(
    three: Columns,
) -> None:
    for name, found in zip(DESIGNS[1:], three.differences, strict=True):
        pair = kipviz.compare(STORY, DESIGNS[0], name)
        first = pair.payload["differences"][0]
        left, right = pair.payload["pairs"][first["at"]]
        assert found is not None
        row = three.rows[found["at"]]
        assert (row.cells[0].step, row.cells[DESIGNS.index(name)].step) == (left, right)
    assert [found and found["at"] for found in three.differences] == [22, 33]


def test_a_difference_calls_its_columns_by_their_names(three: Columns) -> None:
    one, other = three.first_words()
    assert one.startswith(
        "as-written: first difference from repaired at 22: repaired: Broker 5 receives"
    )
    assert other.startswith(
        "finding-D: first difference from repaired at 33: Only finding-D: The acquisition lock"
    )


def test_a_cell_says_what_it_is_beside_the_first_column(three: Columns) -> None:
    at = three.rows[22].cells
    assert [cell.mark for cell in at] == [SAME, OTHERWISE, SAME]
    assert [cell.mark for cell in three.rows[23].cells] == [SAME, WAITS, SAME]
    assert three.sentence(three.rows[23], 1) == ""
    alone = three.rows[33].cells
    assert alone[0].mark == WAITS
    assert alone[2].mark == RIGHT


def test_designs_that_take_a_step_the_first_one_does_not_take_share_a_row(three: Columns) -> None:
    shared = [row for row in three.rows if [c.mark for c in row.cells] == [WAITS, RIGHT, RIGHT]]
    assert shared
    for row in shared:
        titles = {str(three.lines[n].steps[row.cells[n].step]["title"]) for n in (1, 2)}
        assert len(titles) == 1


def test_another_name_of_a_call_is_no_difference_in_columns_either() -> None:
    stories = ("kip-1310-produce-producer", "kip-1310-produce-session")
    payloads = [kipviz.open(name).payload for name in stories]
    columns = Columns([*payloads, payloads[0]], ("today", "session", "again"))
    assert columns.differences == (None, None)
    assert columns.rows[1].cells[1].mark == RENAMED
    assert {row.cells[2].mark for row in columns.rows} == {SAME}


def test_a_column_opens_beside_the_first_one_in_the_stepper(three: Columns) -> None:
    assert three.pair("finding-D").payload["names"] == ["repaired", "finding-D"]
    with pytest.raises(
        ValueError, match="no column beside repaired is called 'repaired'; there are"
    ):
        three.pair("repaired")


def test_the_verdicts_stand_in_columns_with_their_reasons(three: Columns) -> None:
    atomic = three.verdicts()[0]
    assert atomic["repaired"] == "✓ holds"
    assert "made it AVAILABLE" in atomic["as-written"]


def test_the_page_says_in_words_what_differs_and_opens_the_big_steps_where_something_does(
    three: Columns,
) -> None:
    page = three.html()
    assert page.count("<details open>") == len(re.findall(r"◇ \d+ of \d+ rows differ", page)) > 0
    closed = page.count("= the same in all designs")
    assert page.count("<details>") == closed > 0
    for cell in re.findall(r'<td class="kv-apart">(.*?)</td>', page):
        assert "◇" in cell
    for cell in re.findall(r'<td class="kv-waits">(.*?)</td>', page):
        assert "waits" in cell


def test_texts_of_a_payload_are_text_on_the_page_and_never_markup() -> None:
    hostile = flow.share_payload()
    hostile["title"] = "<script>alert(1)</script>"
    hostile["steps"] = [{**step, "sentence": "<img src=x onerror=1>"} for step in hostile["steps"]]
    page = Columns([hostile] * 3, ("<b>a</b>", "b", "c")).html()
    assert "<script>" not in page
    assert page.count("<img") == page.count("<img alt=") == 1, "the picture of the designs"
    assert "<b>a</b>" not in page


def test_the_text_lists_what_differs_and_ends_with_the_first_differences(three: Columns) -> None:
    text = three.text()
    assert "  22  repaired    Broker 5 receives TxnShareAcknowledge" in text
    assert "      as-written  ◇ differs  Broker 5 receives TxnShareAcknowledge" in text
    assert repr(three).splitlines()[0] in text


def test_a_design_that_is_named_twice_is_refused() -> None:
    with pytest.raises(BadColumns, match="the design finding-D is named twice; name each once"):
        kipviz.compare(STORY, "repaired", "finding-D", "finding-D")
    with pytest.raises(ValueError, match="there is no design 'nonsense'"):
        kipviz.compare(STORY, "repaired", "finding-D", "nonsense")


def states(world):
    """The state of each shared record."""
    return [
        (
            f"{key}@{offset}",
            record.state.name,
            "pending" if record.state.name == "TX_PENDING" else "calm",
        )
        for role in world.roles.values()
        for key, share in getattr(role, "shares", {}).items()
        for offset, record in share.records.items()
    ]


def clock(world):
    """A bar."""
    wide = 10 * len(world.up)
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="90" height="9"><title>{wide}</title><rect width="{wide}" height="9"/></svg>'


def broken_view(world):
    """A view that raises."""
    raise KeyError("no such partition")


def test_a_view_of_ones_own_says_in_columns_what_it_says_on_the_card_of_each_design() -> None:
    found = kipviz.compare(STORY, *DESIGNS, views=[states])
    (view,) = found.views
    assert (view.title, view.sentence) == ("states", "The state of each shared record.")
    for n, name in enumerate(DESIGNS):
        payload = kipviz.open(STORY, name, views=[states]).payload
        rows = [row for row in payload["rows"] if row["card"] == "view:states"]
        for row in view.rows:
            step = found.rows[row.at].cells[n].step
            here = [
                r["cells"]
                for r in rows
                if r["from"] <= step and (r["to"] is None or step < r["to"])
            ]
            assert {f.label: f.value for f in row.cells[n]} == {
                c["label"]: c["value"] for c in here
            }
    changes = [row.cells for row in view.rows]
    assert all(one != other for one, other in itertools.pairwise(changes))
    assert "TX_PENDING (pending)" in found.text()
    assert "TX_PENDING (pending)" in found.html()


def test_a_picture_is_an_image_with_words_and_a_view_that_fails_says_so_in_every_column() -> None:
    found = kipviz.compare(STORY, *DESIGNS, views=[clock, broken_view])
    page = found.html()
    assert page.count('<img alt="40" src="data:image/svg+xml,%3Csvg ') == 3
    assert page.count("Your view broken_view raised KeyError") == 3
    assert "<rect" not in page
    (picture, failed) = found.document()["views"]
    assert picture["rows"][0]["cells"][0]["rows"][0]["value"] == "40"
    assert not any(cell["differs"] for row in failed["rows"] for cell in row["cells"])


def test_columns_without_views_have_nothing_of_them(three: Columns) -> None:
    assert three.views == ()
    assert "views" not in three.document()


def test_a_wrong_view_is_told_before_anything_is_played() -> None:
    with pytest.raises(BadView, match="a view takes one argument"):
        kipviz.compare(STORY, *DESIGNS, views=[lambda_like])
    with pytest.raises(ValueError, match="columns are called by their designs"):
        kipviz.compare(STORY, *DESIGNS, names=("a", "b"))


def lambda_like(world, other):
    return {}


def test_a_picture_has_every_design_at_its_own_first_difference_two_in_a_row(
    three: Columns,
) -> None:
    picture = three.still()
    assert picture.count("<title>") == len(DESIGNS)
    for name, at in zip(DESIGNS, (22, 22, 33), strict=True):
        assert f"design {name} " in picture
        n = DESIGNS.index(name)
        cursor = three.rows[at].cells[n].step
        assert f">{cursor}. {three.lines[n].steps[cursor]['sentence'].split()[0]}" in picture
    tops = re.findall(r'<g transform="translate\((\d+) (\d+)\)">', picture)
    assert [left for left, _ in tops] == [tops[0][0], tops[1][0], tops[0][0]]
    assert tops[0][1] == tops[1][1] != tops[2][1]
    assert "<img alt=" in three.html()
