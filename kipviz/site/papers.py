"""The project's papers as pages: Markdown with tables, in which every run and story is a link."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape, unescape
from pathlib import PurePosixPath
from urllib.parse import quote

from kipviz.core.links.linkcode import PATTERN
from kipviz.designs.catalogue import is_design
from kipviz.kips.library import KIPS
from kipviz.views.reports.kips_page import file_of

# The papers, by the name of the page: the file, and the word on the tab.
PAPERS = {
    "course": ("notebooks/COURSE.md", "Course"),
    "teaching": ("TEACHING.md", "Teach"),
    "ledger": ("docs/LEDGER.md", "Verdicts"),
    "findings": ("docs/FINDINGS.md", "Findings"),
    "drafts": ("docs/DRAFTS.md", "Drafts"),
    "studies": ("docs/STUDIES.md", "Studies"),
    "kips": ("docs/kips/KIPS.md", "KIPs"),
    "interface": ("docs/INTERFACE.md", "Python"),
}
# A page for each KIP, after the one with all of them.
KIP_PAPERS = {f"kip-{kip.number}": (f"docs/kips/{file_of(kip)}", kip.name) for kip in KIPS}
_PAGES = {
    PurePosixPath(paper).name: name for name, (paper, _) in (*PAPERS.items(), *KIP_PAPERS.items())
}
_FENCE = re.compile(r"^(?P<fence>`{3,})\w*\n(?P<code>.*?)\n(?P=fence)$", re.MULTILINE | re.DOTALL)
_RUN = re.compile(PATTERN)
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_STRONG = re.compile(r"\*\*([^*]+)\*\*")
_CELL = re.compile(r"(?<!\\)\|")
# A story's name in running text; names of no story are left unchanged.
_NAME = re.compile(r"(?<![\w./=-])[a-z]+(?:-\w+)+(?![\w/=-])")
_NOTEBOOK = re.compile(r"\d\d-[a-z0-9-]+")
_NUMBERED = re.compile(r"\d+\. ")
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]<>#|~$])")

# A longer cell is a sentence, and gets more room.
SENTENCE = 70
_LONG = ' class="long"'


def html_of(text: str, stories: frozenset[str]) -> str:
    """Return a paper's Markdown as HTML: headings, paragraphs, lists, tables, code and links.

    A permalink becomes a link that opens its run, a story's name a link to its page (under the design of its row, if
    the table has one), a notebook's name a link to where notebooks are opened.
    """
    parts: list[str] = []
    at = 0
    for code in _FENCE.finditer(text):
        parts += _blocks(text[at : code.start()], stories)
        parts.append(_code_block(code["code"]))
        at = code.end()
    return "\n".join((*parts, *_blocks(text[at:], stories)))


def _blocks(text: str, stories: frozenset[str]) -> Iterator[str]:
    for block in re.split(r"\n\s*\n", text.strip()):
        yield from _block(block.splitlines(), stories)


def _code_block(text: str) -> str:
    """Return code as a block that scrolls by itself and can be reached with the keyboard."""
    return f'<pre tabindex="0"><code>{escape(text)}</code></pre>'


def _block(lines: list[str], stories: frozenset[str]) -> Iterator[str]:
    while lines and (heading := re.match(r"(#{1,4}) (.*)", lines[0])):
        level = len(heading[1])
        yield f"<h{level}>{inline(heading[2], stories)}</h{level}>"
        lines = lines[1:]
    if not lines:
        return
    if len(lines) > 1 and lines[0].startswith("|") and set(lines[1]) <= set("|-: "):
        yield _table(lines, stories)
    elif lines[0].startswith(("- ", "* ")):
        items = "\n".join(lines).split("\n- ")
        items[0] = items[0].removeprefix("- ")
        yield "<ul>" + "".join(f"<li>{inline(item, stories)}</li>" for item in items) + "</ul>"
    elif _NUMBERED.match(lines[0]):
        steps = re.split(r"\n\d+\. ", _NUMBERED.sub("", "\n".join(lines), count=1))
        yield "<ol>" + "".join(f"<li>{inline(step, stories)}</li>" for step in steps) + "</ol>"
    elif all(line.startswith("    ") for line in lines):
        code = "\n".join(line.removeprefix("    ") for line in lines)
        yield _code_block(code)
    else:
        yield f"<p>{inline(' '.join(lines), stories)}</p>"


def _table(lines: list[str], stories: frozenset[str]) -> str:
    heads = _cells(lines[0])
    head = "".join(f'<th scope="col">{inline(cell, stories)}</th>' for cell in heads)
    place = heads.index("design") if "design" in heads else None
    rows = []
    for line in lines[2:]:
        cells = _cells(line)
        words = escape(" ".join(c for c in cells if not _RUN.search(c)).lower(), quote=True)
        design = "" if place is None else _ESCAPED.sub(r"\1", cells[place])
        design = design if design and is_design(design) else ""
        body = "".join(
            f"<td{_LONG if _is_long(cell) else ''}>{inline(cell, stories, design)}</td>"
            for cell in cells
        )
        rows.append(f'<tr data-words="{words}">{body}</tr>')
    return (
        f'<div class="table" tabindex="0" role="region" aria-label="table"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _is_long(cell: str) -> bool:
    """Return whether a cell is a sentence, whose words would be broken in a narrow column."""
    return len(_RUN.sub("", cell)) > SENTENCE and " " in cell


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in _CELL.split(line.strip().strip("|"))]


def inline(text: str, stories: frozenset[str], design: str = "") -> str:
    """Return one line of Markdown as HTML; HTML in it is escaped.

    Args:
        text: the line.
        stories: the names that become links.
        design: the design under which such a link opens its story; by default the story's own.
    """
    kept: list[str] = []

    def keep(made: str) -> str:
        kept.append(made)
        return f"\x00{len(kept) - 1}\x00"

    text = _CODE.sub(lambda found: keep(_code(found[1], stories, design)), text)
    text = _ESCAPED.sub(lambda found: keep(escape(found[1])), text)
    text = escape(unescape(text), quote=False)
    text = _LINK.sub(lambda found: keep(_link(found[1], found[2])), text)
    text = _NAME.sub(
        lambda found: keep(_story(found[0], design)) if found[0] in stories else found[0], text
    )
    text = _STRONG.sub(r"<strong>\1</strong>", text)
    while "\x00" in text:
        text = re.sub("\x00(\\d+)\x00", lambda found: kept[int(found[1])], text)
    return text


def _code(text: str, stories: frozenset[str], design: str) -> str:
    if _RUN.fullmatch(text):
        return f'<a href="open.html#{text}">open the run</a>'
    if text in stories:
        return _story(text, design)
    if _NOTEBOOK.fullmatch(text):
        return f'<a href="notebooks.html?q={text}">{text}</a>'
    return f"<code>{escape(text)}</code>"


def _story(name: str, design: str) -> str:
    return f'<a href="story/{name}.html{under(design)}">{name}</a>'


def under(design: str) -> str:
    """Return the part of a story's address that opens it under a design; "" for its own."""
    return f"#design={quote(design, safe='')}" if design else ""


def _link(words: str, target: str) -> str:
    if target.startswith("https://"):
        return f'<a href="{escape(target)}" rel="noreferrer">{words}</a>'
    page = PurePosixPath(target)
    if page.suffix == ".ipynb":
        return f'<a href="notebooks.html?q={escape(page.stem)}">{words}</a>'
    name = _PAGES.get(page.name)
    return f'<a href="{name}.html">{words}</a>' if name else words
