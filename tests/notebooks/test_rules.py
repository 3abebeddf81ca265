"""Each rule for notebooks refuses what it is there to refuse."""

import nbformat
import pytest
from nbformat import v4

from tests.notebooks import canonical
from tests.notebooks.rules import offences
from tests.notebooks.shown_steppers import moves


def store_notebook(folder, *cells, name="10-sample.ipynb"):
    """A notebook in canonical form, with the cells given as source or as (source, changes)."""
    notebook = v4.new_notebook(cells=[v4.new_markdown_cell("# Sample", id="title")])
    for number, cell in enumerate(cells, start=1):
        source, changes = cell if isinstance(cell, tuple) else (cell, {})
        code = {"execution_count": number, "id": f"code-{number}"} | changes
        notebook.cells.append(v4.new_code_cell(source, **code))
    path = folder / name
    path.write_text(canonical.text(canonical.canonical(notebook)))
    return path


def stream(name, text):
    return v4.new_output("stream", name=name, text=text)


def test_a_notebook_in_good_order_is_taken(tmp_path):
    assert offences(store_notebook(tmp_path, "1 + 1", "x = 2\nx")) == []


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (("1 + 1", {"execution_count": None}), "was never run"),
        (("1 + 1", {"execution_count": 7}), "was not run in order"),
        ("def f():\n    return 1", "defines a function"),
        ("class C:\n    async def f(self): ...", "defines a function"),
        ("\n".join(f"x{i} = {i}" for i in range(9)), "has 9 lines, at most 8"),
        (("f()", {"outputs": [v4.new_output("error", ename="NameError")]}), "ended in NameError"),
        (("f()", {"outputs": [stream("stderr", "careful")]}), "on standard error"),
        (("f()", {"outputs": [stream("stdout", canonical.__file__)]}), "shows a path"),
        ("print(lab.text)", "prints Markdown; end it in the lab itself"),
    ],
)
def test_a_cell_that_breaks_a_rule_is_named(tmp_path, cell, words):
    (sentence,) = offences(store_notebook(tmp_path, cell))
    assert sentence.startswith("code cell 1 ")
    assert words in sentence


SHOWN = v4.new_output("display_data", {canonical.WIDGET: {"model_id": "1"}})


@pytest.mark.parametrize(
    "mover", ["run.step = 3", "run.last()", "run.go_to('x').take('y')", "if 1:\n    run.step += 1"]
)
def test_a_stepper_that_a_cell_shows_is_not_moved_by_a_later_one(tmp_path, mover):
    cells = [("run = open()\nrun.take('x')", {"outputs": [SHOWN]}), "1", mover]
    (sentence,) = offences(store_notebook(tmp_path, *cells))
    assert sentence.startswith(
        "code cell 3 moves run, which code cell 1 shows; show run.copy(step)"
    )


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("run", "run.copy(3).last()"),
        ("run", "run = open()\nrun.last()"),
        ("run.copy(2)", "run.last()"),
        ("run", "run.why()\nprint(run.step)"),
        ("other", "run.last()"),
        ("run", "# run.last()"),
    ],
)
def test_a_copy_a_new_run_and_a_question_leave_what_is_shown_as_it_is(tmp_path, first, later):
    assert offences(store_notebook(tmp_path, (first, {"outputs": [SHOWN]}), later)) == []


def test_every_move_of_a_stepper_is_known_by_its_type():
    assert {"go_to", "take", "last", "fault_at", "run_on", "skip", "change"} <= moves()
    assert not {"possible", "points", "on_the_wire"} & moves()


def test_words_that_only_look_like_a_definition_are_taken(tmp_path):
    assert offences(store_notebook(tmp_path, "default = 'def '\ndefault")) == []


def test_a_cell_with_what_the_reader_brings_may_define_a_function_and_be_longer(tmp_path):
    tags = {"metadata": {"tags": ["your-own"]}}
    cell = "def f():\n" + "\n".join(f"    x{i} = {i}" for i in range(20))
    assert offences(store_notebook(tmp_path, (cell, tags))) == []
    assert (
        "has 61 lines, at most 50"
        in offences(store_notebook(tmp_path, (f"{cell}\n" + "1\n" * 40, tags)))[0]
    )


def test_forty_cells_are_the_most(tmp_path):
    assert offences(store_notebook(tmp_path, *["1"] * 39)) == []
    assert offences(store_notebook(tmp_path, *["1"] * 40)) == [
        "it has 41 cells, at most 40 are allowed"
    ]


def test_a_name_without_its_number_is_refused(tmp_path):
    (sentence,) = offences(store_notebook(tmp_path, "1", name="start.ipynb"))
    assert "two digits" in sentence


def test_a_notebook_without_code_is_refused(tmp_path):
    assert offences(store_notebook(tmp_path)) == ["it has no code cell"]


def test_a_notebook_saved_by_hand_is_refused(tmp_path):
    path = store_notebook(tmp_path, "1 + 1")
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[1].metadata["collapsed"] = False
    path.write_text(canonical.text(notebook))
    assert offences(path) == ["it was not saved by `make notebooks`"]
