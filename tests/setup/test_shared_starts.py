"""What is dear to start is started in one of the processes that share the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import SHARED, unit_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("file", "unit"),
    [
        ("tests/spark/test_search.py", "Spark"),
        ("tests/command/campaigns/test_campaign.py", "Spark"),
        ("tests/browser/labs/test_stepper_lab.py", "JupyterLab"),
        (
            "tests/browser/stepping/test_stepper_page.py",
            "tests/browser/stepping/test_stepper_page.py",
        ),
        ("tests/site/test_pages.py", "the site"),
        ("tests/site/test_site.py", "the site"),
        ("tests/core/links/test_bits.py", "tests/core/links/test_bits.py"),
        ("notebooks/00-start-here.ipynb", "notebooks/00-start-here.ipynb"),
    ],
)
def test_files_that_ask_for_one_dear_thing_are_one_unit(file, unit):
    assert unit_of(file) == unit


def test_each_dear_thing_is_asked_for_by_several_files():
    files = [str(path.relative_to(ROOT)) for path in ROOT.glob("tests/**/test_*.py")]
    for thing in SHARED:
        assert len([file for file in files if unit_of(file) == thing]) > 1


OPTIONS = (
    *("-m", "pytest", "-q", "-p", "units_here", "-p", "no:cacheprovider"),
    *("--numprocesses=2", "--dist=loadfile", "--no-loadscope-reorder"),
)
WRITES = """\
import os

def test_here():
    with open({log!r}, "a") as log:
        print(os.getpid(), file=log)
"""


def test_two_files_of_a_unit_run_in_one_process(tmp_path):
    log = tmp_path / "log"
    plugin = tmp_path / "units_here.py"
    plugin.write_text(
        "import tests.conftest as own\n"
        "own.unit_of = lambda file: 'one' if 'shared' in file else file\n"
        "pytest_xdist_make_scheduler = own.pytest_xdist_make_scheduler\n",
        encoding="utf-8",
    )
    for name in ("test_shared_1", "test_shared_2", "test_shared_3", "test_shared_4"):
        (tmp_path / f"{name}.py").write_text(WRITES.format(log=str(log)), encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, *OPTIONS, str(tmp_path)],
        cwd=tmp_path,
        env={"PATH": "", "PYTHONPATH": f"{ROOT}:{tmp_path}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pids = log.read_text(encoding="utf-8").split()
    assert len(pids) == 4
    assert len(set(pids)) == 1
