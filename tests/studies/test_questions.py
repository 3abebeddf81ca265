"""STUDIES.md compares every question of the debates with what answers it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kipviz.scenarios.library import searched_scenario
from kipviz.studies.library import STUDIES
from kipviz.studies.review_findings.reviews import finding

ROOT = Path(__file__).parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs/STUDIES.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| B")
]
KNOWN = {study.name: study for study in STUDIES}


def test_every_question_of_the_debates_has_a_row() -> None:
    assert [row[0] for row in ROWS] == [f"B{n}" for n in range(1, 35)]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_row_has_the_study_s_own_question_and_command_and_places_that_there_are(
    row: list[str],
) -> None:
    name, question, rivals, command, where, _ = row
    assert question == KNOWN[name].question
    assert command == f"`kipviz study {name}`"
    assert rivals
    for story in re.findall(r"kip-\d+[-a-z0-9]+", where):
        assert searched_scenario(story).name == story
    for number in re.findall(r"notebook (\d+)", where):
        assert list((ROOT / "notebooks").glob(f"{number}-*.ipynb")), number
    for named in re.findall(r"finding (\w+)", where):
        assert finding(named).name == named
    for study in re.findall(r"study ([\w-]+)", where):
        assert study in KNOWN


def test_what_a_study_says_that_it_leaves_out_stands_in_its_row() -> None:
    left = {row[0] for row in ROWS if row[5]}
    silent = {s.name for s in STUDIES if "not modelled" in s.observable and s.name not in left}
    assert not silent & {row[0] for row in ROWS}
