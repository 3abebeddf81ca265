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

import pytest

from kipviz.cluster.behaviour.catalogue import VERBS
from tests.tidy.source import ROOT, files, functions, name_of

FLOORS = tuple(sorted(path.name for path in (ROOT / "kipviz").iterdir() if path.is_dir()))
"""Every floor of the package."""

# DECISIONS.md is a record: an entry keeps the words in which it was decided.
# These pages are made of the package's sentences, which are looked at where they are written.
MADE = {f"docs/{name}.md" for name in ("DRAFTS", "FINDINGS", "LEDGER")}
PAPERS = (
    *("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "TEACHING.md", "CHANGELOG.md"),
    *sorted({str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")} - MADE),
)

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
    r"(?:coordinator|leader|[Bb]roker(?: \d+)?) takes?(?= \w+ from)|takes? (?:it|that) for": "receives; treats as",
    r"(?:is|are|was|were|be|been|not|never) told": "is notified, receives, learns",
    r"stands? in(?! for)|stands there": "is in, is appended to",
    r"grows? to": "is appended, increases",
    r"enlist\w*": "add a partition to the transaction",
    r"votes?(?! for)|voted(?! for)|voters?": "transactional acknowledgement",
    r"(?:runs?|ran) out(?! of)": "expires, times out",
    r"stands? still|stood still": "is paused, is idle, does not advance",
    r"owe[sd]?|owing": "has to, still has to",
}
"""The house dialect, as a pattern each, and what to write instead."""

SAID_IN_SCRIPTS = {verb.in_scripts for verb in VERBS} | {verb.name for verb in VERBS}
EXCEPT = {
    "CONTRIBUTING.md": r"## Words.*?## How to add",  # the glossary
    # It names what was renamed, and keeps the words of earlier versions.
    "CHANGELOG.md": r'"nothing pending for ever"|is told which folder|was told FENCED_MEMBER_EPOCH|"own vote counts"',
    "TEACHING.md": r"the class vote before",  # a class of students
    "docs/kips/kip-1289.md": r"of enlistment",  # a slot's name, which is stored
    "docs/kips/kip-62.md": r"the vote, INCONSISTENT",  # Kafka's word: members vote for an assignor
    "kipviz/kips/kip_62.py": r"the vote, INCONSISTENT",
    "kipviz/lessons/goals.py": r"partition given up|vote resolved",  # names of goals in stories, now and before
    "kipviz/lessons/log_goals.py": r"record given up",
    "kipviz/lessons/share_goals.py": r"lock ran out",
    "kipviz/properties/verdict.py": r"vote survives",  # a name that a property had before
    "kipviz/checking/search/liveness.py": r"for ever",  # searches on Spark store this result
    "kipviz/checking/single_run/timers_ran.py": r"at rest",  # a tag in what a search has noted
    "kipviz/cluster/timing/clock.py": r"on the wire",  # the text of a deadline, which is stored
}
"""What a file may say all the same, with the reason beside it."""

IN_DOCSTRINGS = {
    r"^(?:Gives?|Says?|Tells?|Hears?|Take in|Look out)\b": "Return, Yield, Render, Record: what a caller gets",
    r"^(?:Who|Whoever)\b": "name the actor",
    r"(?i)whoever|whosoever|(?:no|every|some)body": "name the actor: no broker, every client",
    r"who interrupts": "after an interrupt",
    r"\bthat there (?:is|are) not\b|\bof a name that\b": "unknown",
    r"\bnames nothing\b|\bnumber that is none\b|\bcannot be\.": "unknown, or not valid",
    r"\bgo together\b|\bwhat came of\b": "incompatible; the result",
    **{rf"(?i)\b(?:{p})\b": INSTEAD[p] for p in ("anew", "for ever", "on the wire", "put out")},
    r"(?i)\b(?:a|the|each|durable|late|staged|pending) votes?\b(?! for)": "transactional acknowledgement",
    **{rf"(?i)\b(?:{p})\b": INSTEAD[p] for p in ("given up", "taken back", "heirs?")},
}
"""What no docstring and no comment of the package says, and what to write instead."""


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


def docstrings_and_comments(source: str) -> Iterator[str]:
    """Yield the docstrings and comments of a module, without what stands in back-quotes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT]
    yield from comments
    yield " ".join(comments)  # a phrase may go on in the next line


@cache
def said_of_code() -> dict[str, list[str]]:
    return {
        name_of(path): [
            re.sub(r"\s+", " ", re.sub(r"`[^`]*`", "", text)).strip()
            for text in docstrings_and_comments(path.read_text(encoding="utf-8"))
        ]
        for path in files()
    }


@pytest.mark.parametrize("pattern", IN_DOCSTRINGS)
def test_no_docstring_and_no_comment_reads_like_a_translation(pattern: str) -> None:
    found = [
        f"{name}: …{text[max(0, hit.start() - 50) : hit.end() + 30]}…"
        for name, texts_of in said_of_code().items()
        for text in texts_of
        for hit in re.finditer(pattern, text)
    ]
    assert not found, f"write instead: {IN_DOCSTRINGS[pattern]}\n" + "\n".join(found)


# A function with such a name says neither what it does nor to what: a verb and its object do.
FRAGMENTS = re.compile(
    "_(answered|appended|arrived|asked|begun|being_written|brought_along|carried_out|caught|changed|checked"
    "|committed|connected|counted|crashed|cut_short|decided|deleted|described|drawn|elected|ended|enlisted|failed"
    "|fetched|filled|finished|followed|forgotten|found|gathered|given|given_up|gone|grown|handed|heard|held|indexed"
    "|joined|judged|kept|known|lasting|learned|left|listed|loaded|lost|made|marked|matched|merged|moved|named|noted"
    "|numbered|opened|played|putting|quoted|reached|refused|remembered|replayed|said|scrubbed|searched|seen|sent"
    "|served|settled|shown|sized|skipped|staged|tagged|taken|telling|told|told_of|tried|turned_away|used|watched|watching"
    "|without|written"
    "|above|after|around|at|before|behind|below|beside|between|by|from|of|over|through|until|with)"
)


def test_a_private_function_is_named_by_what_it_does() -> None:
    bare = [
        f"{name_of(path)}: {node.name}"
        for path in (*files(), *sorted((ROOT / "tests").rglob("*.py")))
        for node in functions(path)
        if FRAGMENTS.fullmatch(node.name)
        and not any("property" in ast.unparse(each) for each in node.decorator_list)
    ]
    assert bare == [], "a verb and its object: render, find, make, decode, reject, apply, ..."


PARTICIPLES = re.compile(
    "_*([a-z]+ed|became|been|began|begun|bought|broke|broken|brought|built|caught|chosen|dealt|doing|done|drawn|fallen"
    "|felt|fought|forgotten|found|frozen|gave|given|gone|grown|had|heard|held|hidden|hung|kept|knew|known|laid|left|lent"
    "|lost|made|meant|met|paid|ran|risen|said|sat|saw|seen|sent|shown|shut|sold|sought|spelt|spent|spoken|stood|stuck"
    "|taken|taught|thought|thrown|told|took|torn|understood|went|withheld|won|written|wrote|about)"
)
"""A word that says neither what a function does nor what it returns, if it stands alone."""

NO_PARTICIPLES = {"deed", "embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed"}
STAYS = {
    "enabled": "ARCHITECTURE explains a model with it, and other model checkers call it so",
    "carried": "a test that the page has exported imports it",
    "sent": "kipviz.Desk has it: the messages that were sent",
    "written": "kipviz.Desk has it: the records that were written",
    "held": "a server of kipviz.serve has it: the deliveries that are held",
    "paused": "a server of kipviz.serve has it: a context in which the server is paused",
    "answered": "kipviz.Exercise has it: the questions that were answered",
}
"""Names of the model and of the public face, with what they are."""


def is_bare(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function is named by a participle alone; a property, a fixture and a condition may be."""
    marks = " ".join(ast.unparse(each) for each in node.decorator_list)
    is_value = "property" in marks or "fixture" in marks
    is_condition = node.returns is not None and ast.unparse(node.returns) == "bool"
    alone = PARTICIPLES.fullmatch(node.name) and node.name.strip("_") not in NO_PARTICIPLES
    return bool(alone) and not is_value and not is_condition


def test_no_function_of_the_package_is_named_by_a_participle_alone() -> None:
    bare = [
        f"{name_of(path)}: {node.name}"
        for path in files()
        if "options"
        not in path.parts  # an option's function has the option's name, which is stored
        for node in functions(path)
        if is_bare(node) and node.name not in STAYS
    ]
    assert bare == [], "a verb and its object, or what is returned: note_sent, decode_record, ..."
