"""Stored outputs: canonical, the same from run to run, and compared by strict nbval."""

import configparser
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

from tests.notebooks import canonical
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CELLS = [
    "import random, sys\nimport ipywidgets as w\nimport plotly.graph_objects as go",
    "w.VBox([w.IntSlider(3), w.Button(description='Step')])",
    "go.Figure(go.Scatter(x=[1, 2], y=[3, 4]))",
    "object()",
    "import uuid; uuid.uuid4()",
    "for i in range(200): print(i, flush=True)",
    "from IPython.display import Image\nImage(bytes.fromhex('89504e470d0a1a0a'), format='png')",
]


def tool(*paths):
    return subprocess.run(
        [sys.executable, canonical.__file__, *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )


def notebook_of(path, *cells, **first):
    code = [v4.new_code_cell(source) for source in cells]
    if first:
        code[0].metadata.update(first)
    nbformat.write(v4.new_notebook(cells=code), path)
    return path


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    """One notebook with much that changes from run to run, stored twice."""
    path = notebook_of(tmp_path_factory.mktemp("twice") / "10-many.ipynb", *CELLS)
    first = tool(path)
    assert first.returncode == 0, first.stderr
    bytes_of_first = path.read_bytes()
    second = tool(path)
    return path, bytes_of_first, second.stdout


def nbval(path):
    options = ["--nbval", "--nbval-current-env", f"--nbval-cell-timeout={PATIENCE}"]
    rules = f"--nbval-sanitize-with={ROOT / 'tests/notebooks/sanitize.cfg'}"
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            *options,
            rules,
            str(path),
        ],
        cwd=path.parent,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )


def test_two_runs_store_the_same_bytes(twice):
    path, first, words = twice
    assert path.read_bytes() == first
    assert "10-many.ipynb: unchanged" in words


def test_stored_outputs_hold_nothing_of_the_moment(twice):
    cells = nbformat.read(twice[0], as_version=4).cells
    assert [cell.execution_count for cell in cells] == list(range(1, len(CELLS) + 1))
    assert cells[1].outputs[0].data[canonical.WIDGET]["model_id"] == "0" * 31 + "1"
    assert cells[3].outputs[0].data["text/plain"] == "<object at 0xADDR>"
    assert cells[4].outputs[0].data["text/plain"] == "UUID('UUID')"
    assert [output.output_type for output in cells[5].outputs] == ["stream"]
    assert list(cells[6].outputs[0].data) == ["text/plain"]
    assert "widgets" not in nbformat.read(twice[0], as_version=4).metadata


def test_strict_nbval_takes_the_stored_outputs_again(twice):
    done = nbval(twice[0])
    assert done.returncode == 0, done.stdout
    assert f"{len(CELLS)} passed" in done.stdout


def test_strict_nbval_notices_a_number_that_changed(twice, tmp_path):
    path = tmp_path / "10-many.ipynb"
    stored = twice[0].read_text()
    assert stored.count("       3,\n") == 1
    path.write_text(stored.replace("       3,\n", "       5,\n"))
    done = nbval(path)
    assert f"1 failed, {len(CELLS) - 1} passed" in done.stdout


def test_a_tagged_picture_is_kept(tmp_path):
    path = notebook_of(tmp_path / "10-picture.ipynb", CELLS[6], tags=["keep-image"])
    assert tool(path).returncode == 0
    (cell,) = nbformat.read(path, as_version=4).cells
    assert "image/png" in cell.outputs[0].data


def test_a_cell_that_fails_is_told_in_one_sentence_and_nothing_is_stored(tmp_path):
    path = notebook_of(tmp_path / "10-fails.ipynb", "1 / 0")
    before = path.read_bytes()
    done = tool(path)
    assert done.returncode == 1
    assert (
        done.stderr
        == "kipviz: 10-fails.ipynb: a cell failed with ZeroDivisionError: division by zero\n"
    )
    assert path.read_bytes() == before


def test_a_file_that_is_no_notebook_is_told_in_one_sentence(tmp_path):
    path = tmp_path / "10-no.ipynb"
    path.write_text("no")
    done = tool(path)
    assert done.returncode == 1
    assert done.stderr.startswith("kipviz: ")
    assert done.stderr.count("\n") == 1


def test_no_notebook_at_all_is_said_and_is_no_failure():
    done = tool()
    assert (done.returncode, done.stdout) == (0, "kipviz: there are no notebooks yet.\n")


def test_nbval_replaces_what_the_tool_replaces():
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "tests/notebooks/sanitize.cfg")
    rules = {(config[name]["regex"], config[name]["replace"]) for name in config.sections()}
    assert rules == {(canonical.UUID.pattern, "UUID"), (canonical.ADDRESS.pattern, "0xADDR")}
