"""A result as headings, paragraphs, tables and counterexamples: one page, written as Markdown or as HTML.

A command prints the Markdown. A notebook stores the HTML for readers without a kernel, and its page draws the same
blocks as tables that can be searched and sorted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TypeAlias

import msgspec
from msgspec.structs import astuple

from kipviz.core.links.linkcode import PATTERN
from kipviz.views.exports.breakable import breakable
from kipviz.views.exports.image import image
from kipviz.views.exports.markdown import plain, table_row
from kipviz.views.tones import SIGNS, Tone

# A table with more columns, and so few rows, is easier to read when it is transposed.
WIDE, FEW_ROWS = 8, 5
_LINK = re.compile(PATTERN)
_CODE = re.compile(r"`([^`]*)`")
_IN_CODE = r"<code>\1</code>"

# Pictures of runs as SVGs, by the key of the run.
Pictures: TypeAlias = Mapping[str, str]


class Heading(msgspec.Struct, frozen=True, tag_field="kind", tag="heading"):
    """A heading of a level from 1 to 3."""

    level: int
    text: str


class Paragraph(msgspec.Struct, frozen=True, tag_field="kind", tag="paragraph"):
    """A paragraph; if `code` is True, text between backquotes is code."""

    text: str
    code: bool = False


class TableCell(msgspec.Struct, frozen=True):
    """A text in a table; `tone` marks a verdict, and `run` is the key of the run that it opens."""

    text: str
    tone: Tone = ""
    run: str = ""

    @property
    def link(self) -> bool:
        """Whether the text is a permalink, which is copied rather than read."""
        return _LINK.fullmatch(self.text) is not None


class TextTable(msgspec.Struct, frozen=True, tag_field="kind", tag="table"):
    """A table; each row has as many cells as there are heads.

    `others` says what the heads after the first are, such as "property": the first head of the transposed table.
    """

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    others: str = ""

    def fit_page(self) -> TextTable:
        """Return the table in a form that fits a notebook's page: a wide one with few rows is transposed."""
        if len(self.heads) <= WIDE or not 0 < len(self.rows) <= FEW_ROWS:
            return self
        first, *others = zip(*self.rows, strict=True)
        heads = (self.others or self.heads[0], *(cell.text for cell in first))
        named = zip(self.heads[1:], others, strict=True)
        return TextTable(
            self.caption, heads, tuple((TableCell(head), *cells) for head, cells in named)
        )


class BrokenRun(msgspec.Struct, frozen=True, tag_field="kind", tag="broken"):
    """A counterexample: what breaks under which design, in one sentence, and the steps up to it.

    `why` is the property's own reason, `saved` names the step whose absence would have kept the property, and `run` is
    the key of the run.
    """

    design: str
    title: str
    steps: tuple[str, ...]
    why: str
    saved: str
    run: str


Block: TypeAlias = Heading | Paragraph | TextTable | BrokenRun
Blocks: TypeAlias = tuple[Block, ...]


class ResultPayload(msgspec.Struct, frozen=True):
    """The data of a result's page; `pictures` are SVGs by the key of their run."""

    blocks: tuple[Block, ...]
    pictures: dict[str, str]


def rows_of(rows: Iterable[Sequence[str]]) -> tuple[tuple[TableCell, ...], ...]:
    """Return rows of texts as cells that are no verdicts and open no run."""
    return tuple(tuple(map(TableCell, row)) for row in rows)


def render_markdown(blocks: Iterable[Block]) -> str:
    """Return the page in Markdown."""
    return "\n\n".join(map(_render_block, blocks)) + "\n"


def _render_block(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {plain(text)}"
        case Paragraph(text, code):
            return text if code else plain(text)
        case TextTable(_, heads, rows):
            cells = ([f"`{c.text}`" if c.link else plain(c.text) for c in row] for row in rows)
            lines = [table_row(map(plain, heads)), table_row(["---"] * len(heads))]
            return "\n".join([*lines, *map(table_row, cells)])
        case BrokenRun(design, title, steps, why, saved, _):
            listed = "\n".join(f"{n}. {plain(text)}" for n, text in enumerate(steps, 1))
            told = "\n\n".join(plain(words) for words in (why, saved) if words)
            return f"### {plain(design)}: {plain(title)}\n\n{listed}\n\n{told}"


def keys_of(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield the keys of the runs that a page can open."""
    for block in blocks:
        if isinstance(block, BrokenRun):
            yield block.run
        elif isinstance(block, TextTable):
            yield from (cell.run for row in block.rows for cell in row if cell.run)


def still(blocks: Iterable[Block], pictures: Pictures) -> str:
    """Return the page as HTML without scripts or style sheets; the first counterexample is unfolded."""
    opened = " open"
    parts = []
    for block in blocks:
        parts.append(_still(block, pictures, opened))
        if isinstance(block, BrokenRun):
            opened = ""
    return "\n".join(parts)


def _still(block: Block, pictures: Pictures, opened: str) -> str:
    match block:
        case Heading(level, text):
            return f"<h{level + 1}>{escape(text)}</h{level + 1}>"
        case Paragraph(text, code):
            words = escape(text, quote=False)
            return f"<p>{_CODE.sub(_IN_CODE, words) if code else words}</p>"
        case TextTable() as table:
            caption, heads, rows, _ = astuple(table.fit_page())
            names = "".join(f"<th {LEFT}>{breakable(head)}</th>" for head in heads)
            lines = (f"<tr>{''.join(map(_still_cell, row))}</tr>" for row in rows)
            head = f"<caption>{breakable(caption)}</caption>\n<thead><tr>{names}</tr></thead>"
            return "\n".join([f"<table>\n{head}\n<tbody>", *lines, "</tbody></table>"])
        case BrokenRun(design, title, steps, why, saved, run):
            parts = [f"<details{opened}><summary>{escape(design)}: {escape(title)}</summary>"]
            parts.append(f"<p>{escape(sentence(why, saved), quote=False)}</p>")
            if run in pictures:
                parts.append(f"<p>{image(pictures[run], title)}</p>")
            listed = (f"<li>{escape(text, quote=False)}</li>" for text in steps)
            return "\n".join([*parts, "<ol>", *listed, "</ol></details>"])


def sentence(why: str, saved: str) -> str:
    """Return the line above a counterexample's picture."""
    return " ".join(f"{words.rstrip('.')}." for words in (why, saved) if words)


# Notebooks align cells to the right and do not wrap their lines; an attribute survives where a style sheet is removed.
LEFT = 'style="text-align:left;white-space:normal"'


def _render_cell(cell: TableCell) -> str:
    return f"{SIGNS[cell.tone]} {breakable(cell.text)}".strip()


def _still_cell(cell: TableCell) -> str:
    if cell.link:
        return f"<td {LEFT}><details><summary>permalink</summary><code>{cell.text}</code></details></td>"
    return f"<td {LEFT}>{_render_cell(cell)}</td>"
