"""A mistake in a notebook is one line; what fails by itself keeps its traceback."""

from __future__ import annotations

import pytest
from nbclient import NotebookClient
from nbformat import v4

from tests.patience import PATIENCE

# Each is what somebody mistypes, and how its line begins.
MISTAKES = {
    "kipviz.open('kip-1289-smal')": "UnknownScenario: there is no scenario 'kip-1289-smal'; nearest",
    "kipviz.open('kip-1289-small', 'repared')": "UnknownDesign: ",
    "kipviz.opne('kip-1289-small')": "AttributeError: module 'kipviz' has no attribute 'opne'; nearest is open",
    "run.take('B9 crashes')": "ValueError: ",
    "run.go_to('commitTransactoin')": "ValueError: ",
    "setattr(run, 'step', 99_999)": "TraitError: ",
    "kipviz.verdicts('kip-1289-small', ['finding-Z9'])": "UnknownDesign: ",
    "kipviz.lab('deliver-twise')": "UnknownLab: ",
    "kipviz.study('B99')": "",
}


@pytest.mark.slow
def test_each_mistake_is_one_line_and_an_error_of_the_program_is_told_whole() -> None:
    own = "def mine(): raise KeyError('mine')\nmine()"
    cells = ["import kipviz\nrun = kipviz.open('kip-1289-small')", *MISTAKES, own]
    tags = {"tags": ["raises-exception"]}
    notebook = v4.new_notebook(cells=[v4.new_code_cell(cell, metadata=tags) for cell in cells])
    NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3").execute()
    errors = [
        [output for output in cell.outputs if output.output_type == "error"]
        for cell in notebook.cells
    ]
    assert errors[0] == []
    for cell, begins, found in zip(MISTAKES, MISTAKES.values(), errors[1:-1], strict=True):
        (error,) = found
        (line,) = error.traceback
        assert line.startswith(begins), cell
        assert "\n" not in line, cell
        assert line.endswith(error.evalue), cell
    assert "mine()" in "".join(errors[-1][0].traceback)
    assert len("".join(errors[-1][0].traceback).splitlines()) > 5
