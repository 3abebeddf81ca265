"""No text that a reader sees falls back into the house dialect: it uses Kafka's nouns and puts the actor first.

Not looked at: what scripts are written in (`steps` blocks and back-quotes), because stories and links are stored in it.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from kipviz.cluster.behaviour.catalogue import VERBS

ROOT = Path(__file__).parents[2]
FLOORS = ("views", "lessons", "widgets", "command", "course", "site", "properties")
PAPERS = ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "TEACHING.md", "CHANGELOG.md")

INSTEAD = {
    r"whoever|whosoever": "name the actor",
    r"anew": "again, or new",
    r"for ever": "forever, or never ends",
    r"on the wire": "in flight",
    r"(?:in|takes?) office": "has loaded its state, becomes the coordinator or leader",
    r"put out": "produced",
    r"given up": "times out, abandons",
    r"taken back": "reassigned, rolled back",
    r"at rest": "waits for nothing, or backs off",
    r"(?:every|some)body": "name the actor",
    r"mended": "fixed",
    r"heirs?": "new leader",
    r"doings?": "actions",
}
"""The house dialect, as a pattern each, and what to write instead."""

PLAIN_FLOORS = (
    *("clients", "recordings", "serving", "spark", "conforming"),
    *("watching", "campaigns", "designs", "kips"),
    *("core", "records", "messages", "brokers", "cluster", "properties"),
)
NOT_IN_DOCSTRINGS = {
    **{p: INSTEAD[p] for p in ("anew", "for ever", "on the wire", "put out", "given up")},
    **{p: INSTEAD[p] for p in ("taken back", "whoever|whosoever", "heirs?")},
    "(?:no|every|some)body": "name the actor: no broker, every client, another process",
}
"""What docstrings and comments of these floors do not say, with what to write instead."""

SAID_IN_SCRIPTS = {verb.in_scripts for verb in VERBS}
EXCEPT = {
    "CONTRIBUTING.md": r"## Words.*?## How to add",  # the glossary
    "CHANGELOG.md": r'"nothing pending for ever"',  # names what was renamed
    "kipviz/lessons/goals.py": r"partition given up",  # goals are named in stories, which are stored
    "kipviz/lessons/log_goals.py": r"record given up",
}
"""What a file may say all the same, with the reason beside it."""


PLAIN = (
    "__init__.py",
    "__main__.py",
    "checking",
    "command",
    "course",
    "driving",
    "lessons",
    "scenarios",
    "site",
    "studies",
    "views",
    "widgets",
)
"""The rooms whose docstrings and comments are held against `IN_DOCSTRINGS`."""

IN_DOCSTRINGS = {
    r"^(?:Gives?|Says?|Tells?|Hears?|Take in|Look out)\b": "Return, Yield, Render, Record: what a caller gets",
    r"^(?:Who|Whoever)\b": "name the actor",
    r"[Ww]hoever|[Nn]obody|(?:[Ee]very|[Ss]ome)body": "name the actor",
    r"who interrupts": "after an interrupt",
    r"\bthat there (?:is|are) not\b|\bof a name that\b": "unknown",
    r"\bnames nothing\b|\bnumber that is none\b|\bcannot be\.": "unknown, or not valid",
    r"\bgo together\b|\bwhat came of\b": "incompatible; the result",
    r"\bmade anew\b|\bbegins? anew\b": "again",
}
"""What no docstring and no comment of those rooms says, and what to write instead."""


def prose(document: str) -> str:
    """Return a story's or a paper's text without its head, its blocks and what stands in back-quotes."""
    text = re.sub(r"\A---\n.*?\n---\n", "", document, flags=re.DOTALL)
    text = re.sub(r"```.*?```|^ {4}.*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`]*`", "", text)


def strings(source: str) -> Iterator[str]:
    """Yield the texts of a module that are no docstring and have a space, as a sentence or a label has."""
    tree = ast.parse(source)
    loose = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in loose:
            continue
        text = node.value
        if isinstance(text, str) and " " in text and text not in SAID_IN_SCRIPTS:
            yield re.sub(r"`[^`]*`", "", text)


@cache
def texts() -> dict[str, str]:
    found = {name: prose((ROOT / name).read_text()) for name in PAPERS}
    for path in sorted((ROOT / "kipviz/scenarios/stories").rglob("*.md")):
        found[str(path.relative_to(ROOT))] = prose(path.read_text())
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text())["cells"]
        markdown = ("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
        found[str(path.relative_to(ROOT))] = prose("\n\n".join(markdown))
    for floor in FLOORS:
        for path in sorted((ROOT / "kipviz" / floor).rglob("*.py")):
            found[str(path.relative_to(ROOT))] = "\n".join(strings(path.read_text()))
    return found


@pytest.mark.parametrize("pattern", INSTEAD)
def test_no_text_for_a_reader_uses_a_word_of_the_house_dialect(pattern: str) -> None:
    found = []
    for name, text in texts().items():
        flat = re.sub(EXCEPT.get(name, r"(?!)"), "", re.sub(r"\s+", " ", text))
        hits = re.finditer(rf"\b(?:{pattern})\b", flat, re.IGNORECASE)
        found += [f"{name}: …{flat[max(0, h.start() - 50) : h.end() + 30]}…" for h in hits]
    assert not found, f"write instead: {INSTEAD[pattern]}\n" + "\n".join(found)


def docstrings_and_comments(source: str) -> str:
    """Return the docstrings and comments of a module, without what stands in back-quotes."""
    tree = ast.parse(source)
    found = [
        str(node.value.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    found += [token.string for token in tokens if token.type == tokenize.COMMENT]
    return re.sub(r"`[^`]*`", "", re.sub(r"\s+", " ", "\n".join(found)))


def test_no_docstring_or_comment_of_a_plain_floor_uses_a_word_of_the_house_dialect() -> None:
    found = []
    for path in (
        p for floor in PLAIN_FLOORS for p in sorted((ROOT / "kipviz" / floor).rglob("*.py"))
    ):
        text = docstrings_and_comments(path.read_text())
        for pattern, instead in NOT_IN_DOCSTRINGS.items():
            hits = re.finditer(rf"\b(?:{pattern})\b", text, re.IGNORECASE)
            around = (text[max(0, h.start() - 50) : h.end() + 30] for h in hits)
            found += [f"{path.relative_to(ROOT)}: …{each}… ({instead})" for each in around]
    assert not found, "\n".join(found)


def plain_words(source: str) -> Iterator[str]:
    """Yield the docstrings and comments of a module, without examples and what stands in quotes."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
            continue
        text = node.value.value
        if isinstance(text, str):
            text = re.sub(r"^\s*(?:>>>|\.\.\.).*$", "", text, flags=re.MULTILINE)
            yield re.sub(r"\s+", " ", re.sub(r"`[^`]*`|\"[^\"]*\"", "", text)).strip()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("# ")


@cache
def docstrings() -> dict[str, list[str]]:
    found = {}
    for room in PLAIN:
        place = ROOT / "kipviz" / room
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            if "node_modules" not in path.parts:
                words = list(plain_words(path.read_text()))
                found[str(path.relative_to(ROOT))] = words
    return found


@pytest.mark.parametrize("pattern", IN_DOCSTRINGS)
def test_no_docstring_and_no_comment_reads_like_a_translation(pattern: str) -> None:
    found = [
        f"{name}: …{text[max(0, hit.start() - 50) : hit.end() + 30]}…"
        for name, texts_of in docstrings().items()
        for text in texts_of
        for hit in re.finditer(pattern, text)
    ]
    assert not found, f"write instead: {IN_DOCSTRINGS[pattern]}\n" + "\n".join(found)
