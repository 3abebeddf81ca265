"""The key of a head whose value a check of the whole cluster rejects.

Such a check knows values, not lines. So each key is left out in turn: the one without which the check says something else
is the one that it is about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from kipviz.core.values import Value
from kipviz.scenarios.documents.bad_story import BadStory
from kipviz.scenarios.documents.blocks import split_head
from kipviz.scenarios.documents.clusters_in_head import CLUSTER, KEYS, LIKE, PROFILE, SIMPLIFIED
from kipviz.scenarios.documents.head import Keys, read_head
from kipviz.scenarios.documents.read import read_story
from kipviz.scenarios.scenario import Scenario

# Without one of these every other value may change, too.
_BASES = (PROFILE, SIMPLIFIED, CLUSTER, LIKE)


class WrongKey(Value, frozen=True):
    """A key of a head, and its line."""

    line: int
    key: str


class _Entry(Value, frozen=True):
    """A key of a head, its depth, and the lines that go with it when it is left out."""

    at: WrongKey
    depth: int
    lines: range


def find_wrong_key(text: str, why_not: Callable[[Scenario], str]) -> WrongKey | None:
    """Return the innermost key that a check of the cluster rejects, or None if that is no single key.

    Args:
        text: a story document that can be read.
        why_not: the check: it returns what is wrong with a story, or "".
    """
    wrong = why_not(read_story(text).scenario)
    head, _ = split_head(text)
    found: list[_Entry] = []
    for entry in _list_entries(read_head(head), head[-1][0] + 1, 0):
        if entry.at.key in _BASES or (entry.depth == 0 and entry.at.key not in KEYS):
            continue
        try:
            rest = read_story(_leave_out(text, entry.lines)).scenario
        except BadStory:
            continue
        if why_not(rest) != wrong:
            found.append(entry)
    if not found:
        return None
    return max(found, key=lambda each: (each.depth, _names_it(wrong, each.at.key))).at


def _list_entries(keys: Keys, end: int, depth: int) -> Iterator[_Entry]:
    """Yield each key of a map that ends before a line, and the keys below it."""
    ends = [*(at for _, at, _ in keys.entries[1:]), end]
    for (name, at, node), to in zip(keys.entries, ends, strict=True):
        yield _Entry(WrongKey(at, name), depth, range(at, to))
        if isinstance(node, Keys):
            for entry in _list_entries(node, to, depth + 1):
                # A map without keys cannot be read: an only key goes together with the key above it.
                alone = len(node.entries) == 1 and entry.lines == range(at + 1, to)
                yield entry.but(lines=range(at, to)) if alone else entry


def _leave_out(text: str, lines: range) -> str:
    whole = text.replace("\r\n", "\n").split("\n")
    return "\n".join(line for at, line in enumerate(whole, 1) if at not in lines)


def _names_it(wrong: str, key: str) -> bool:
    """Return whether a message has a key as a word."""
    return re.search(rf"(?<![\w-]){re.escape(key)}(?![\w-])", wrong) is not None
