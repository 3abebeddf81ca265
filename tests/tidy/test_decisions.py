"""DECISIONS.md is short, its numbers have no gap, and each number that code or a paper names is an entry of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.tidy.source import ROOT

ENTRIES = re.split(
    r"^## ", (ROOT / "DECISIONS.md").read_text(encoding="utf-8"), flags=re.MULTILINE
)[1:]
NUMBERS = [int(entry.partition(".")[0]) for entry in ENTRIES]
STATUS = re.compile(r"\nStatus: (?:accepted|superseded by \d+|superseded in part by \d+)")
NAMED = re.compile(r"(?:DECISIONS|[Dd]ecisions?),? (\d+(?:(?:, | and | to )\d+)*)")
LETTERS_MAX = (
    2400  # of an entry: what was decided, why, and what was weighed, and no history of runs
)
LETTERS_OF_ALL = 110_000


def numbers(text: str) -> list[int]:
    """Return the numbers of entries that a text names."""
    return [int(number) for group in NAMED.findall(text) for number in re.findall(r"\d+", group)]


def sources() -> Iterator[Path]:
    """Yield the code, the papers and the notebooks that may name an entry."""
    yield from ROOT.glob("*.md")
    for folder in ("kipviz", "tests", "docs", "notebooks"):
        for ending in ("py", "js", "mjs", "md", "ipynb"):
            yield from (ROOT / folder).rglob(f"*.{ending}")


def test_entries_are_numbered_without_a_gap_and_each_has_a_status() -> None:
    assert list(range(1, len(NUMBERS) + 1)) == NUMBERS
    assert [entry.partition("\n")[0] for entry in ENTRIES if not STATUS.search(entry)] == []


def test_an_entry_names_only_entries_that_there_are() -> None:
    for entry in ENTRIES:
        status = entry.partition("\nStatus:")[2].partition("\n")[0]
        named = re.findall(r"(?:by|completes|replaces|see) (\d+)", status)
        assert {int(number) for number in named} <= set(NUMBERS), entry.partition("\n")[0]


def test_every_number_that_code_or_a_paper_names_is_an_entry() -> None:
    unknown = [
        f"{path.relative_to(ROOT)}: {number}"
        for path in sources()
        if path.name != "DECISIONS.md" and "node_modules" not in path.parts
        for number in numbers(path.read_text(encoding="utf-8"))
        if number not in NUMBERS
    ]
    assert unknown == []


def test_the_entries_are_short() -> None:
    long = [entry.partition("\n")[0] for entry in ENTRIES if len(entry) > LETTERS_MAX]
    assert long == [], "what was decided, why, and what was weighed; figures belong into the commit"
    assert sum(map(len, ENTRIES)) <= LETTERS_OF_ALL
