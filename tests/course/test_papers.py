"""The guide and the course's page say what is there."""

import json
import re
from pathlib import Path

import pytest

import kipviz
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


def test_the_guide_says_how_long_a_step_takes_with_its_sentence():
    cells = [cell for lesson, _ in LESSONS for cell in cells_of(lesson)]
    stories = dict.fromkeys(
        name for cell in cells for name in re.findall(r'kipviz\.open\("([\w-]+)"', cell)
    )
    said = [len(big["say"].split()) for name in stories for big in steps_of(name)]
    assert len(said) > 30
    words = sum(said) / len(said)
    seconds = SECONDS_A_STEP + words * 60 / WORDS_A_MINUTE
    told = f"a sentence has {words:.0f} words on average, so a step takes {seconds:.0f} seconds with it"
    assert told in " ".join(GUIDE.split())


def cells_of(lesson):
    """The text of each cell of a lesson."""
    notebook = json.loads((ROOT / "notebooks" / f"{lesson}.ipynb").read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"]]


def steps_of(story):
    """The steps of a story's program, as the page has them."""
    return kipviz.open(story).payload["bigs"]


@pytest.mark.parametrize("lesson", [lesson for lesson, _ in LESSONS])
def test_what_a_lesson_lets_a_learner_choose_can_be_chosen_there_in_its_words(lesson):
    cells = cells_of(lesson)
    (at,) = (i for i, cell in enumerate(cells) if cell.startswith("## Break it yourself"))
    wanted = re.findall(r"(?<!\*)\*([^*\n]+)\*(?!\*)", cells[at])
    *before, last = cells[at + 1].replace("(\n    ", "(").replace("\n)", ")").splitlines()
    names = {"kipviz": kipviz}
    exec("\n".join(before), names)
    stepper = eval(last, names)
    for choice in wanted:
        # Where the picture stands, or at a step before or after it, to which the text leads.
        places = sorted(range(stepper.last_step + 1), key=lambda n: abs(n - stepper.step))
        stepper.step = next(n for n in places if could(stepper, n, choice))
        stepper.take(choice)
    assert wanted or lesson in {"02-the-two-phases", "04-zombies-and-fencing"}


def could(stepper, step, choice):
    """Say whether a choice can be taken at a step."""
    stepper.step = step
    return choice in stepper.possible()


def test_the_lessons_say_how_a_cell_is_run_and_how_a_branch_goes_on():
    first = LESSONS[0][0]
    assert "**Shift Enter** runs a cell" in "\n".join(cells_of(first))
    for lesson, _ in LESSONS:
        (exercise,) = (cell for cell in cells_of(lesson) if cell.startswith("## Exercise"))
        said = " ".join(exercise.split())
        assert re.search(r"where a branch ends, choose the next step", said, re.IGNORECASE), lesson


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
