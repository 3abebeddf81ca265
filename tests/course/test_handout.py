"""Somebody else's notebooks: counted and handed out, or refused in one sentence."""

from __future__ import annotations

import json
import os
import time

import pytest

from kipviz.course.handout import BadNotebook, build, figures


def cell(**more):
    return {"cell_type": "markdown", "metadata": {}, "source": "two words"} | more


def notebook(tmp_path, *cells):
    file = tmp_path / "lesson.ipynb"
    file.write_text(json.dumps({"cells": cells, "nbformat": 4}), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "text",
    [
        "[" * 5_000,
        '{"a":' * 3_000 + "1" + "}" * 3_000,
        '{"cells": 5}',
        '{"cells": [5]}',
        json.dumps({"cells": [cell(source=5)]}),
        json.dumps({"cells": [cell(metadata=None)]}),
        json.dumps({"cells": [cell(metadata={"tags": 5})]}),
        json.dumps({"cells": [cell(cell_type=["code"])]}),
        json.dumps({"cells": [cell(source="\ud800")]}),
    ],
)
def test_what_is_no_notebook_is_one_sentence(tmp_path, text):
    file = tmp_path / "lesson.ipynb"
    file.write_text(text, encoding="utf-8")
    for read in (lambda: figures(file), lambda: build(tmp_path, tmp_path / "made")):
        with pytest.raises(BadNotebook) as found:
            read()
        assert str(found.value).startswith(f"{file} is not a notebook: ")
        assert "\n" not in str(found.value)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("output", [{"data": {"text/plain": 7}}, {"text": None}, "seen", 5])
def test_an_output_that_is_none_is_left_out_of_what_is_handed_out_and_not_counted(tmp_path, output):
    file = notebook(tmp_path, cell(cell_type="code", outputs=[output]))
    assert build(tmp_path, tmp_path / "made") == ("lesson.ipynb",)
    with pytest.raises(BadNotebook, match="is not a notebook: "):
        figures(file)


def test_a_pipe_is_no_notebook(tmp_path):
    file = tmp_path / "lesson.ipynb"
    os.mkfifo(file)
    with pytest.raises(BadNotebook, match="cannot be read: it is not an ordinary file"):
        figures(file)


def test_folded_answers_are_left_out_and_what_is_never_closed_stays(tmp_path):
    folded = "ask <details>answer</details>\n\nmore <details>never closed"
    notebook(tmp_path, cell(source=folded), cell(source="<details>all of it</details>"))
    build(tmp_path, tmp_path / "made")
    made = json.loads((tmp_path / "made" / "lesson.ipynb").read_text(encoding="utf-8"))
    assert made["cells"] == [cell(source=["ask more <details>never closed"])]


def test_marks_that_are_never_closed_are_read_in_linear_time(tmp_path):
    file = notebook(tmp_path, cell(source="<details>" * 60_000), cell(source="<" * 200_000))
    began = time.process_time()
    build(tmp_path, tmp_path / "made")
    assert figures(file).words == 1
    assert time.process_time() - began < 5


def test_a_step_of_an_output_has_at_most_nine_digits(tmp_path):
    said = {"output_type": "stream", "text": f"step 1 of {'9' * 5_000}"}
    file = notebook(tmp_path, cell(cell_type="code", outputs=[said, {"text": "step 2 of 12"}]))
    assert figures(file).steps == 10
