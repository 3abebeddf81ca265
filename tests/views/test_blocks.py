"""A result's page in its parts: as Markdown, and as HTML that stands in a notebook that nobody ran."""

from __future__ import annotations

from html.parser import HTMLParser

from kipviz.views.reports.blocks import (
    BrokenRun,
    Heading,
    Paragraph,
    TableCell,
    TextTable,
    keys_of,
    render_markdown,
    rows_of,
    still,
)

LINK = "kv1.AAAA-BBBB_CCCC"
PAGE = (
    Heading(2, "B1. Which <marker>?"),
    Paragraph("It is kept by *one* design."),
    Paragraph("Open it with `kipviz open kv2.…`.", code=True),
    TextTable(
        "rivals",
        ("rival", "atomic", "the run"),
        (
            (TableCell("repaired+marker_epoch=equal"), TableCell("holds", "holds"), TableCell("")),
            (
                TableCell("<b>"),
                TableCell("breaks after 20", "breaks", "1 0"),
                TableCell(LINK, run="1 0"),
            ),
        ),
    ),
    BrokenRun(
        "x", "“atomic” breaks", ("B1 crashes", "a & b"), "one is lost", "Nothing saves it.", "k"
    ),
)
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>'


class Reader(HTMLParser):
    """Reads a page as a browser does: the tags in order, and the words without them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.words += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


def test_as_markdown_a_page_shows_every_text_as_it_is():
    page = render_markdown(PAGE)
    assert page.startswith("## B1. Which \\<marker\\>?\n\nIt is kept by \\*one\\* design.\n\n")
    assert "Open it with `kipviz open kv2.…`." in page
    assert f"| \\<b\\> | breaks after 20 | `{LINK}` |" in page
    assert "1. B1 crashes\n2. a &amp; b\n\none is lost\n\nNothing saves it.\n" in page


def test_as_html_a_page_has_the_same_words_a_sign_beside_each_verdict_and_no_markup_of_its_texts():
    seen = read(still(PAGE, {}))
    assert "b" not in seen.tags
    assert "marker" not in seen.tags
    for words in ("B1. Which <marker>?", "✓ holds", "✗ breaks after 20", "a & b", LINK):
        assert words in seen.words
    assert "one is lost. Nothing saves it." in seen.words


def test_a_long_name_breaks_after_its_parts_and_a_cell_breaks_its_lines():
    page = still(PAGE, {})
    assert "repaired+<wbr>marker_<wbr>epoch=<wbr>equal" in page
    assert page.count("white-space:normal") == page.count("<td ") + page.count("<th ")


def test_a_wide_table_of_few_rows_is_turned_and_keeps_its_runs():
    heads = ("design", *(f"p{n}" for n in range(9)))
    rows = tuple(
        (TableCell(d), *(TableCell("holds", "holds", f"{d}{n}") for n in range(9))) for d in "ab"
    )
    turned = TextTable("verdicts", heads, rows).fit_page()
    assert turned.heads == ("design", "a", "b")
    assert [row[0].text for row in turned.rows] == list(heads[1:])
    assert turned.rows[3][1:] == (
        TableCell("holds", "holds", "a3"),
        TableCell("holds", "holds", "b3"),
    )
    of_properties = TextTable("verdicts", heads, rows, "property").fit_page()
    assert of_properties.heads == ("property", "a", "b")
    narrow = TextTable("verdicts", heads[:5], tuple(row[:5] for row in rows))
    assert narrow.fit_page() is narrow
    long = TextTable("verdicts", heads, rows * 3)
    assert long.fit_page() is long
    assert "<th" in still((TextTable("verdicts", heads, rows),), {})
    assert still((TextTable("verdicts", heads, rows),), {}).count("<tr>") == 1 + 9


def test_only_the_first_counterexample_is_open_and_a_picture_has_its_words():
    page = still((PAGE[-1], PAGE[-1]), {"k": SVG})
    assert page.count("<details open>") == 1
    assert page.count('<img alt="“atomic” breaks" src="data:image/svg+xml,%3Csvg ') == 2


def test_the_runs_of_a_page_are_those_of_its_cells_and_counterexamples():
    assert list(keys_of(PAGE)) == ["1 0", "1 0", "k"]
    assert list(keys_of([TextTable("none", ("a",), rows_of([("b",)]))])) == []
