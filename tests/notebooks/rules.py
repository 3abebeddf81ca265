"""What every notebook of the project keeps to."""

import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tests.notebooks import canonical
from tests.notebooks.shown_steppers import list_moves

CELLS_MAX = 40
LINES_MAX = 8
# A cell with this tag holds what the reader brings: a rule, a view, a story. There a function may be defined.
OWN, OWN_LINES_MAX = "your-own", 50
NAME = re.compile(r"\d\d-[a-z0-9]+(-[a-z0-9]+)*\.ipynb")
DEFINES = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]", re.MULTILINE)


def offences(path: Path) -> list[str]:
    """Each breach of a rule as one sentence; none for a notebook that may stay."""
    stored = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(stored, as_version=4)
    found = []
    if not NAME.fullmatch(path.name):
        found.append("its name is not two digits and small words, as in 00-start-here.ipynb")
    if len(notebook.cells) > CELLS_MAX:
        found.append(f"it has {len(notebook.cells)} cells, at most {CELLS_MAX} are allowed")
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    for number, cell in enumerate(code, start=1):
        found.extend(f"code cell {number} {words}" for words in _offences_of(cell, number))
    found.extend(list_moves(code))
    if not code:
        found.append("it has no code cell")
    if canonical.text(canonical.canonical(notebook)) != stored:
        found.append("it was not saved by `make notebooks`")
    return found


def _offences_of(cell: NotebookNode, number: int) -> list[str]:
    found = []
    lines = len(cell.source.strip().splitlines())
    own = OWN in cell.metadata.get("tags", ())
    most = OWN_LINES_MAX if own else LINES_MAX
    if lines > most:
        found.append(f"has {lines} lines, at most {most} are allowed")
    if "print(lab.text)" in cell.source:
        found.append("prints Markdown; end it in the lab itself")
    if DEFINES.search(cell.source) and not own:
        found.append("defines a function; functions belong into the package")
    if cell.execution_count is None:
        found.append("was never run; run `make notebooks`")
    elif cell.execution_count != number:
        found.append("was not run in order; run `make notebooks`")
    expected = "raises-exception" in cell.metadata.get("tags", ())
    for output in cell.outputs:
        if output.output_type == "error" and not expected:
            found.append(f"ended in {output.ename}")
        if output.output_type == "stream" and output.name == "stderr":
            found.append("has warnings or other words on standard error in its output")
    if str(Path.home()) + "/" in str(cell.outputs) or str(Path(__file__).parents[2]) in str(
        cell.outputs
    ):
        found.append("shows a path of the machine it was run on")
    return found
