"""The project's papers as pages: Markdown with tables, in which every run and story is a link."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape, unescape

from kipviz.core.linkcode import PATTERN

_FENCE = re.compile(r"^(?P<fence>`{3,})\w*\n(?P<code>.*?)\n(?P=fence)$", re.MULTILINE | re.DOTALL)
_RUN = re.compile(PATTERN)
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_STRONG = re.compile(r"\*\*([^*]+)\*\*")
_CELL = re.compile(r"(?<!\\)\|")
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]<>#|~$])")


def html_of(text: str, stories: frozenset[str]) -> str:
    """Return a paper's Markdown as HTML: headings, paragraphs, lists, tables, code and links.

    A permalink becomes a link that opens its run; a story's name becomes a link to its page.
    """
    parts: list[str] = []
    at = 0
    for code in _FENCE.finditer(text):
        parts += _blocks(text[at : code.start()], stories)
        parts.append(f"<pre><code>{escape(code['code'])}</code></pre>")
        at = code.end()
    return "\n".join((*parts, *_blocks(text[at:], stories)))


def _blocks(text: str, stories: frozenset[str]) -> Iterator[str]:
    for block in re.split(r"\n\s*\n", text.strip()):
        yield from _block(block.splitlines(), stories)


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
    else:
        yield f"<p>{inline(' '.join(lines), stories)}</p>"


def _table(lines: list[str], stories: frozenset[str]) -> str:
    head = "".join(f'<th scope="col">{inline(cell, stories)}</th>' for cell in _cells(lines[0]))
    rows = []
    for line in lines[2:]:
        cells = _cells(line)
        words = escape(" ".join(c for c in cells if not _RUN.search(c)).lower(), quote=True)
        body = "".join(f"<td>{inline(cell, stories)}</td>" for cell in cells)
        rows.append(f'<tr data-words="{words}">{body}</tr>')
    return (
        f'<div class="table" tabindex="0" role="region" aria-label="table"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in _CELL.split(line.strip().strip("|"))]


def inline(text: str, stories: frozenset[str]) -> str:
    """Return one line of Markdown as HTML; no HTML in it is taken as such."""
    kept: list[str] = []

    def keep(made: str) -> str:
        kept.append(made)
        return f"\x00{len(kept) - 1}\x00"

    text = _CODE.sub(lambda found: keep(_code(found[1], stories)), text)
    text = _ESCAPED.sub(lambda found: keep(escape(found[1])), text)
    text = escape(unescape(text), quote=False)
    text = _LINK.sub(lambda found: keep(_link(found[1], found[2])), text)
    text = _STRONG.sub(r"<strong>\1</strong>", text)
    while "\x00" in text:
        text = re.sub("\x00(\\d+)\x00", lambda found: kept[int(found[1])], text)
    return text


def _code(text: str, stories: frozenset[str]) -> str:
    if _RUN.fullmatch(text):
        return f'<a href="open.html#{text}">open the run</a>'
    if text in stories:
        return f'<a href="story/{text}.html">{text}</a>'
    return f"<code>{escape(text)}</code>"


def _link(words: str, target: str) -> str:
    if target.startswith("https://"):
        return f'<a href="{escape(target)}" rel="noreferrer">{words}</a>'
    page = target.removesuffix(".md").lower()
    return f'<a href="{escape(page)}.html">{words}</a>' if target.endswith(".md") else words
