"""The command line accepts every command that a paper or a notebook names."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from kipviz.command.bad_input import RefusedInput
from kipviz.command.main import COMMANDS, parser

ROOT = Path(__file__).parents[2]
# A record of what was, whose commands were other ones.
RECORDS = {"CHANGELOG.md", "DECISIONS.md"}
NAMED = re.compile(
    r"`(kipviz [^`\n]+)`|^ {4}(kipviz [^#\n]+)|^[!%\s]*(kipviz [a-z-]+ --?[^#\n]+)$", re.MULTILINE
)
# A part of a command that a sentence names: its other arguments are left out.
LEFT_OUT = re.compile(r"required: |expected one argument")


def texts() -> Iterator[tuple[str, str]]:
    """The papers, and the cells of the notebooks."""
    pages = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.md"))
    for path in sorted({*pages, *(ROOT / "notebooks").glob("*.md")} - {ROOT / r for r in RECORDS}):
        yield path.name, path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            yield path.name, "".join(cell["source"])


def commands() -> dict[str, str]:
    """The named commands, each with a text that names it."""
    found = {}
    for name, text in texts():
        for match in NAMED.finditer(text):
            command = next(filter(None, match.groups())).replace("\\", "").strip()
            if command.split()[1].lstrip("-") in {*COMMANDS, "help", "version"}:
                found[command] = name
    return found


def why_not(command: str) -> str:
    """Return why the command line refuses a command, "" if it does not."""
    try:
        parser().parse_args(shlex.split(command)[1:])
    except SystemExit as end:
        return "" if not end.code else "it ends with an error"
    except (RefusedInput, ValueError) as wrong:
        return "" if LEFT_OUT.search(str(wrong)) else str(wrong)
    return ""


def test_every_command_that_a_paper_or_a_notebook_names_is_one() -> None:
    named = commands()
    assert len(named) > 60
    assert {c: (where, why_not(c)) for c, where in named.items() if why_not(c)} == {}


@pytest.mark.parametrize(
    "command", ["kipviz clauses 98", "kipviz clauses --kips 98", "kipviz play a --fault b"]
)
def test_a_command_that_is_none_is_found(command: str) -> None:
    assert why_not(command)
