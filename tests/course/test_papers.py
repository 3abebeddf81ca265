"""The guide and the course's page say what is there."""

import json
import re
from pathlib import Path

import pytest

from kipviz.course.handout import (
    SECONDS_A_CELL,
    SECONDS_A_STEP,
    WORDS_A_MINUTE,
    Figures,
    figures,
)
from kipviz.course.lab import labs

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "TEACHING.md").read_text(encoding="utf-8")
COURSE = (ROOT / "notebooks" / "COURSE.md").read_text(encoding="utf-8")
LESSONS = re.findall(
    r"^\| \[(0\d-[a-z0-9-]+)\]\(\1\.ipynb\) \| [^|]+ \| `([a-z-]+)` \|$", COURSE, re.MULTILINE
)


def test_the_guides_figures_are_fresh():
    minutes = {lab.name: lab.minutes for lab in labs()}
    for lesson, lab in LESSONS:
        found = figures(ROOT / "notebooks" / f"{lesson}.ipynb")
        counted = f"{found.words} | {found.output_words} | {found.cells} | {found.steps} | {found.minutes}"
        together = found.minutes + minutes[lab]
        row = f"| {lesson} | {counted} | `{lab}` | {minutes[lab]} | {together} |"
        assert row in GUIDE, row
        assert 10 <= together <= 15, "the page of the course says so"
    assert "Six lessons of 10 to 15 minutes" in COURSE


def test_a_notebook_whose_title_promises_minutes_has_no_more_by_the_same_count():
    """A newcomer's first five minutes are five: the README and the page of the course say so, too."""
    numbers = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    promised = {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        title = "".join(cells[0]["source"]).splitlines()[0]
        if found := re.search(r"(\w+) minutes", title):
            promised[path.stem] = numbers.index(found[1]) + 1
            assert figures(path).minutes <= promised[path.stem], path.stem
    assert promised == {"00-start-here": 5}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "`notebooks/00-start-here.ipynb` (five minutes)" in readme
    assert "| one transaction and one crash in five minutes | [00-start-here](" in COURSE


@pytest.mark.parametrize("minutes", [60, 180])
def test_each_row_of_a_class_has_room_for_the_lessons_and_labs_that_it_names(minutes):
    (table,) = re.findall(rf"## A class of {minutes} minutes\n\n(.*?)\n\n", GUIDE, re.DOTALL)
    rows = [
        (int(at), what) for at, what in re.findall(r"^\| (\d+) \| (.*) \|$", table, re.MULTILINE)
    ]
    begins = [at for at, _ in rows]
    assert begins == sorted(begins)
    planned = {lab.name: lab.minutes for lab in labs()}
    read = {name[:2]: figures(ROOT / "notebooks" / f"{name}.ipynb").minutes for name, _ in LESSONS}
    named = 0
    for (begin, what), end in zip(rows, [*begins[1:], minutes], strict=True):
        lessons = [read[number] for number in re.findall(r"Lesson (\d\d)", what)]
        # "or" offers one of two labs: the longer one has to fit.
        offered = [planned[name] for name in re.findall(r"`([a-z-]+)`", what) if name in planned]
        wanted = sum(lessons) + (max(offered) if " or `" in what else sum(offered))
        named += bool(lessons or offered)
        assert wanted <= end - begin, (begin, what)
    assert named >= 4


def test_the_guide_says_that_nobody_was_timed():
    assert "**No class and no person was timed.**" in GUIDE
    assert "nobody was timed" in " ".join(COURSE.split())


def test_the_guide_states_the_speed_that_the_minutes_are_made_with():
    said = " ".join(GUIDE.split())
    assert (
        f"{WORDS_A_MINUTE} words a minute, {SECONDS_A_STEP} seconds a step and {SECONDS_A_CELL} seconds a cell"
        in said
    )


def test_steps_count_where_a_stepper_stands_before_them_and_a_run_at_its_end_is_not_read_again(
    tmp_path,
):
    def cell(text):
        return {"cell_type": "code", "source": ["x"], "outputs": [{"data": {"text/plain": [text]}}]}

    texts = (
        "step 1 of 3, message 2 of 9 | Two words\n  1. one: two",
        "step 3 of 3, message 9 of 9 | End\n  1. one: two",
        "plain",
    )
    prose = {"cell_type": "markdown", "source": ["# Three *plain* words"]}
    file = tmp_path / "n.ipynb"
    file.write_text(json.dumps({"cells": [prose, *map(cell, texts)]}))
    assert figures(file) == Figures(words=3, output_words=14 + 10 + 1, cells=3, steps=2)
    assert Figures(words=180, output_words=180, cells=6, steps=12).minutes == 4


def test_there_are_six_lessons_and_each_has_its_parts():
    assert len(LESSONS) == 6
    for lesson, lab in LESSONS:
        text = (ROOT / "notebooks" / f"{lesson}.ipynb").read_text(encoding="utf-8")
        for part in (
            "**Goal.**",
            "One picture",
            "Predict",
            "Break it yourself",
            "Exercise",
            "Summary",
        ):
            assert part in text, (lesson, part)
        assert f'kipviz.lab(\\"{lab}\\")' in text


def test_the_page_of_the_course_names_every_notebook_and_nothing_else():
    named = set(re.findall(r"\]\(([\w-]+\.ipynb)\)", COURSE))
    assert named == {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}


def test_every_lab_that_a_paper_names_exists():
    names = {lab.name for lab in labs()}
    said = set(re.findall(r"[Ll]abs? (?:`([a-z-]+)`)(?: and `([a-z-]+)`)?", COURSE + GUIDE))
    assert {name for pair in said for name in pair if name} <= names
