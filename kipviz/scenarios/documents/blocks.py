"""The blocks of a story document: headings, paragraphs, lists and fenced blocks, each with its line.

This is a small part of Markdown, read line by line. The rest of Markdown (tables, HTML, nested lists, emphasis) has no
meaning in a story and is rejected if it would be lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kipviz.core.values import Value
from kipviz.scenarios.documents.bad_story import Wrong
from kipviz.scenarios.documents.head import MARK, WIDTH, find_control_character

HEADING, PARAGRAPH, ITEM, FENCE = "heading", "paragraph", "item", "fence"
TICKS = "```"
REPLY = "> "
_HEADING = re.compile(r"(#{1,6}) +([^ ].*\S|\S) *")
# What would start another block at the beginning of a line; a backslash before it prevents this.
_BEGINS = re.compile(r"(\d*)([-+*=]+(?= |$)|#{1,6}(?= |$)|[>|~<]|(?<=\d)[.)](?= |$)|`{3})")
_TO_ESCAPE = re.compile(rf"{_BEGINS.pattern[:-1]}|\\)")
_ESCAPED = re.compile(r"\A(\d*)\\([-+*>#=|~<.)`\\])")

Numbered = tuple[int, str]


class Block(Value, frozen=True):
    """One block. `text` is that of a heading, a paragraph or an item, or what follows a fence's ticks.

    `level` is that of a heading. `lines` are those inside a fence. `reply` is the quotation below an item.
    """

    kind: str
    line: int
    text: str
    level: int = 0
    lines: tuple[Numbered, ...] = ()
    reply: str = ""


def split_head(text: str) -> tuple[list[Numbered], list[Numbered]]:
    """Return the lines of a document's head and those of its body, each with its number.

    Raises:
        Wrong: if there is no head, or a line has a control character.
    """
    whole = text.removeprefix("\ufeff").replace("\r\n", "\n")
    lines = list(enumerate(whole.split("\n"), 1))
    if not lines or lines[0][1].rstrip() != MARK:
        raise Wrong(1, f"a story begins with a head between two lines of {MARK}")
    for at, line in lines:
        odd = find_control_character(line)
        if odd:
            raise Wrong(at, f"a story is text without control characters; this line has {odd}")
    for at, (_, line) in enumerate(lines[1:], 1):
        if line.rstrip() == MARK:
            return lines[1:at], lines[at + 1 :]
    raise Wrong(1, f"the head does not end: a second line of {MARK} is missing")


def read_blocks(lines: Sequence[Numbered]) -> Iterator[Block]:
    """Yield the blocks of a body in order.

    Raises:
        Wrong: if a line belongs to no block.
    """
    at = 0
    while at < len(lines):
        number, text = lines[at]
        heading = _HEADING.fullmatch(text)
        if not text.strip():
            at += 1
        elif heading is not None:
            yield Block(HEADING, number, heading[2], len(heading[1]))
            at += 1
        elif text.startswith(TICKS):
            end = _end_of_fence(lines, at)
            inside = tuple(lines[at + 1 : end])
            yield Block(FENCE, number, text.strip("` "), lines=inside)
            at = end + 1
        elif text.startswith("- "):
            end = _end_of_item(lines, at)
            yield _item(lines[at:end])
            at = end
        elif _BEGINS.match(text) or text.startswith(" "):
            raise Wrong(number, f"this line is not a paragraph, list, heading or block: {text!r}")
        else:
            end = at
            while end < len(lines) and _goes_on(lines[end][1]):
                end += 1
            yield Block(PARAGRAPH, number, _join_texts(text for _, text in lines[at:end]))
            at = end


def _end_of_fence(lines: Sequence[Numbered], at: int) -> int:
    for end in range(at + 1, len(lines)):
        if lines[end][1].rstrip() == TICKS:
            return end
    raise Wrong(lines[at][0], f"the block {lines[at][1]!r} does not end: {TICKS} is missing")


def _end_of_item(lines: Sequence[Numbered], at: int) -> int:
    end = at + 1
    while end < len(lines) and lines[end][1].startswith("  ") and lines[end][1].strip():
        end += 1
    return end


def _goes_on(text: str) -> bool:
    return bool(text.strip()) and not (
        text.startswith(("- ", TICKS)) or _HEADING.fullmatch(text) is not None
    )


def _item(lines: Sequence[Numbered]) -> Block:
    number, first = lines[0]
    texts, quoted = [first[2:]], [""][:0]
    for at, line in lines[1:]:
        inner = line.strip()
        if inner.startswith(REPLY):
            quoted.append(inner.removeprefix(REPLY))
        elif quoted:
            raise Wrong(at, f"a reply must continue with {REPLY!r}: {inner!r}")
        else:
            texts.append(inner)
    return Block(ITEM, number, _join_texts(texts), reply=_join_texts(quoted))


def _join_texts(texts: Iterator[str] | Sequence[str]) -> str:
    return _ESCAPED.sub(r"\1\2", " ".join(text.strip() for text in texts))


def wrap_text(text: str, first: str = "", later: str = "") -> Iterator[str]:
    """Yield a text as lines of at most `WIDTH` characters, none of which starts another block.

    Args:
        text: words with one space between them.
        first: the prefix of the first line.
        later: the prefix of every further line.
    """
    text = _TO_ESCAPE.sub(r"\1\\\2", text, count=1) if _TO_ESCAPE.match(text) else text
    units: list[str] = []
    for word in text.split(" "):
        if units and _BEGINS.match(word):
            units[-1] += f" {word}"
        else:
            units.append(word)
    line = first + units[0]
    for unit in units[1:]:
        if len(line) + 1 + len(unit) <= WIDTH:
            line += f" {unit}"
        else:
            yield line
            line = later + unit
    yield line
