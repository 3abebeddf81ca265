"""The notebooks of the project keep the rules. (pytest itself compares their outputs: make test.)

While there is not a notebook, pytest says that the parameter set is empty and goes on.
"""

import json
import re
from itertools import chain
from pathlib import Path

import pytest

from kipviz.site.lite import RENAMED
from tests.notebooks.rules import offences

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FORMER = json.loads(RENAMED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_keeps_the_rules(path):
    assert offences(path) == []


def test_a_notebook_that_was_renamed_is_there_and_has_its_number_still():
    names = [path.stem for path in NOTEBOOKS]
    for old, new in FORMER.items():
        assert new in names
        assert old not in names
        assert old[:2] == new[:2]


def test_nothing_names_a_notebook_as_it_was_called_formerly():
    former = re.compile(rf"(?<![\w-])(?:{'|'.join(FORMER)})(?![\w-])")
    places = [ROOT / name for name in ("kipviz", "notebooks", "tests", "binder")]
    found = chain(ROOT.glob("*.md"), *(place.rglob("*") for place in places))
    read = {
        file: file.read_text(encoding="utf-8")
        for file in found
        if file.suffix in {".md", ".py", ".ipynb", ".yml", ".js", ".mjs"}
        and "node_modules" not in file.parts
        and file.name != "CHANGELOG.md"  # what it tells was so then
    }
    assert len(read) > 1_000
    assert [str(file) for file, text in read.items() if former.search(text)] == []
