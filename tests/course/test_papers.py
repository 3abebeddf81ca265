"""The guide and the course's page say what is there."""

import re
from pathlib import Path

from kipviz.course.handout import figures
from kipviz.course.lab import labs

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "TEACHING.md").read_text(encoding="utf-8")
COURSE = (ROOT / "notebooks" / "COURSE.md").read_text(encoding="utf-8")
WORDS_A_MINUTE = 180
LESSONS = re.findall(
    r"^\| \[(0\d-[a-z0-9-]+)\]\(\1\.ipynb\) \| [^|]+ \| `([a-z-]+)` \|$", COURSE, re.MULTILINE
)


def test_the_guides_figures_are_fresh():
    minutes = {lab.name: lab.minutes for lab in labs()}
    for lesson, lab in LESSONS:
        found = figures(ROOT / "notebooks" / f"{lesson}.ipynb")
        time = round(found.words / WORDS_A_MINUTE + found.cells)
        row = f"| {lesson} | {found.words} | {found.cells} | {time} | `{lab}` | {minutes[lab]} |"
        assert row in GUIDE, row


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
