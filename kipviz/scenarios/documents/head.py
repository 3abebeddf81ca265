"""The head of a story document: keys and values between two lines of three dashes.

The head is a small part of YAML, so that a forge shows it as a table and any YAML reader reads the
same data from it:

    key: a text                 a text, a whole number, true or false
    key: "a text: with a colon" in quotes, as JSON writes it
    key: [one, "two, three"]    a list, which may hold lists
    key:                        a map: its keys are indented by two more spaces; {} is an empty one
      inner: 1
    key:                        a list of texts, one a line
      - one

This reader is our own for two reasons. The core depends on msgspec alone and runs in a browser, where PyYAML is not
loaded; and every value keeps its line, so that an error names it. The rest of YAML (anchors, tags, flow maps, texts of
several lines) is rejected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from kipviz.core.values import Value
from kipviz.scenarios.documents.bad_story import Wrong

MARK = "---"
WIDTH = 100
# No key needs lists nested more deeply than this.
DEPTH_MAX = 3

# The input of the writer: texts, numbers, lists and maps.
Plain: TypeAlias = str | int | bool | Sequence["Plain"] | Mapping[str, "Plain"] | None


class Word(Value, frozen=True):
    """One text, number, `true` or `false` as it is written, and whether it is in quotes."""

    line: int
    text: str
    quoted: bool = False


class HeadList(Value, frozen=True):
    """A list of values."""

    line: int
    items: tuple[Word | HeadList, ...]


class Keys(Value, frozen=True):
    """A map: its keys in order, each with its line and its value."""

    line: int
    entries: tuple[tuple[str, int, Node], ...]

    def get(self, key: str) -> Node | None:
        """Return the value of a key, None if there is no such key."""
        return next((node for name, _, node in self.entries if name == key), None)


Node: TypeAlias = Word | HeadList | Keys

_KEY = re.compile(r'( *)("(?:[^"\\]|\\.)*"|[^\s"#\[\]{},:-][^"#\[\]{}:]*):(?: +([^ ].*\S|\S))? *')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_ITEM = re.compile(r"( *)- +([^ ].*\S|\S) *")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_NUMBER = re.compile(r"-?[0-9]{1,18}")
# Text that YAML would read as something else.
_OTHER = re.compile(r"-?[\d.][\d_.,:eExXoO+-]*|true|false|null|yes|no|on|off|y|n|~|", re.IGNORECASE)
_PLAIN = re.compile(r"(?:-(?=\d))?[A-Za-z0-9_/(.](?:[^:#]|:(?! |$)|(?<! )#)*")
_PLAIN_IN_ROW = re.compile(r"(?:-(?=\d))?[A-Za-z0-9_/(.][^\[\]{},#:\"]*")


# -- reading -----------------------------------------------------------------------------------


def read_head(lines: Sequence[tuple[int, str]]) -> Keys:
    """Read the lines of a head, each with its number.

    Raises:
        Wrong: if a line is not part of this language, or a key is repeated.
    """
    kept = [(at, text) for at, text in lines if text.strip() and not text.startswith("#")]
    for at, text in kept:
        if "\t" in text:
            raise Wrong(at, "a head is indented by spaces. This line has a tab")
    first = lines[0][0] if lines else 1
    found, left = _keys(kept, 0, first)
    if left:
        raise Wrong(left[0][0], f"this line is indented too far: {left[0][1].strip()!r}")
    return found


def _keys(
    lines: Sequence[tuple[int, str]], indent: int, first: int
) -> tuple[Keys, Sequence[tuple[int, str]]]:
    entries: list[tuple[str, int, Node]] = []
    while lines:
        at, text = lines[0]
        if _indent(text) < indent:
            break
        asked = _KEY.fullmatch(text)
        if asked is None or _indent(text) > indent:
            raise Wrong(at, _no_key(text, indent))
        key = unquote(at, asked[2]) if asked[2].startswith('"') else asked[2].strip()
        if key in [name for name, _, _ in entries]:
            raise Wrong(at, f"the key {key!r} is given twice")
        lines = lines[1:]
        node: Node
        if asked[3] == "{}":
            node = Keys(at, ())
        elif asked[3]:
            node = _value(at, asked[3])
        elif lines and _indent(lines[0][1]) == indent + 2:
            if _ITEM.fullmatch(lines[0][1]):
                node, lines = _items(lines, indent + 2, at)
            else:
                node, lines = _keys(lines, indent + 2, at)
        else:
            raise Wrong(at, f"the key {key!r} has no value")
        entries.append((key, at, node))
    return Keys(first, tuple(entries)), lines


def _no_key(text: str, indent: int) -> str:
    if _indent(text) > indent:
        return f"this line is indented by {_indent(text)} spaces, not by {indent}: {text.strip()!r}"
    return f"a line of the head must be 'key: value', not {text.strip()!r}"


def _items(
    lines: Sequence[tuple[int, str]], indent: int, first: int
) -> tuple[HeadList, Sequence[tuple[int, str]]]:
    items: list[Word | HeadList] = []
    while lines and _indent(lines[0][1]) >= indent:
        at, text = lines[0]
        asked = _ITEM.fullmatch(text)
        if asked is None or _indent(text) > indent:
            raise Wrong(at, f"an item of a list must be '- value', not {text.strip()!r}")
        items.append(_value(at, asked[2]))
        lines = lines[1:]
    return HeadList(first, tuple(items)), lines


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _value(at: int, text: str) -> Word | HeadList:
    if text.startswith(("[", '"')):
        node, end = _in_row(at, text, 0)
        if text[end:].strip():
            raise Wrong(at, f"nothing may follow {text[:end]}, but there is {text[end:].strip()!r}")
        return node
    if not _PLAIN.fullmatch(text):
        raise Wrong(
            at, f"a text with one of these characters must be in quotes: {json.dumps(text)}"
        )
    return Word(at, text)


def unquote(at: int, text: str) -> str:
    """Return the text of a quoted string, which is written as in JSON.

    Raises:
        Wrong: if it is not one, or has half a surrogate pair or a control character.
    """
    try:
        found = str(json.loads(text))
        found.encode()
    except ValueError:
        raise Wrong(at, f"a text in quotes must be written as in JSON, not {text}") from None
    odd = find_control_character(found)
    if odd:
        raise Wrong(at, f"a text has no control characters; this one has {odd}")
    return found


def find_control_character(text: str) -> str:
    """Return the first control character of ASCII in a text, as U+0000, or ""; a tab and the end of a line are none."""
    odd = _CONTROL.search(text)
    return f"U+{ord(odd[0]):04X}" if odd else ""


def _in_row(at: int, text: str, start: int, depth: int = 0) -> tuple[Word | HeadList, int]:
    """Read one value of a list from a position in the line; return it and where it ends."""
    if depth > DEPTH_MAX:
        raise Wrong(at, f"lists can be nested at most {DEPTH_MAX} deep")
    if text[start : start + 1] == '"':
        quoted = _QUOTED.match(text, start)
        if quoted is None:
            raise Wrong(at, f"the quotes of {text[start:]!r} do not end")
        return Word(at, unquote(at, quoted[0]), quoted=True), quoted.end()
    if text[start : start + 1] != "[":
        asked = _PLAIN_IN_ROW.match(text, start)
        if asked is None:
            raise Wrong(
                at,
                f"a list must be [one, two], with quotes around a text that needs them, not {text!r}",
            )
        return Word(at, asked[0].rstrip()), asked.end()
    items: list[Word | HeadList] = []
    start = _past_spaces(text, start + 1)
    while text[start : start + 1] != "]":
        node, start = _in_row(at, text, start, depth + 1)
        items.append(node)
        start = _past_spaces(text, start)
        if text[start : start + 1] == ",":
            start = _past_spaces(text, start + 1)
        elif text[start : start + 1] != "]":
            raise Wrong(at, f"the list {text!r} does not end with a bracket")
    return HeadList(at, tuple(items)), start + 1


def _past_spaces(text: str, start: int) -> int:
    while text[start : start + 1] == " ":
        start += 1
    return start


# -- writing -----------------------------------------------------------------------------------


def write_head(keys: Mapping[str, Plain], indent: int = 0) -> Iterator[str]:
    """Yield the lines of a head: one form for each content."""
    before = " " * indent
    for key, value in keys.items():
        name = f"{before}{_word(key, row=True)}:"
        if isinstance(value, Mapping):
            yield name if value else f"{name} {{}}"
            yield from write_head(value, indent + 2)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            line = f"{name} {_row(value)}"
            if len(line) <= WIDTH:
                yield line
            else:
                yield name
                yield from (f"{before}  - {_in_line(each)}" for each in value)
        else:
            yield f"{name} {_word(value)}"


def _row(values: Sequence[Plain]) -> str:
    return f"[{', '.join(_in_line(each, row=True) for each in values)}]"


def _in_line(value: Plain, *, row: bool = False) -> str:
    if isinstance(value, Mapping):
        raise TypeError(f"a list in a head holds no map: {value}")
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _row(value)
    return _word(value, row=row)


def _word(value: str | int | bool | None, *, row: bool = False) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    plain = (_PLAIN_IN_ROW if row else _PLAIN).fullmatch(value)
    trimmed = value == value.strip()
    return (
        value
        if plain and trimmed and not _OTHER.fullmatch(value)
        else json.dumps(value, ensure_ascii=False)
    )


def is_number(word: Word) -> bool:
    """Return whether a word is an integer."""
    return not word.quoted and _NUMBER.fullmatch(word.text) is not None
