"""What the tests of the command share: running it here, and as a program of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kipviz.command.main import main
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]


class Done(NamedTuple):
    """How a call ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def kipviz(capsys):
    """Run the command in this process: `kipviz("play", "kip-1289-small")`."""

    def run(*arguments: str) -> Done:
        capsys.readouterr()
        status = main([str(each) for each in arguments])
        return Done(status, *capsys.readouterr())

    return run


@pytest.fixture
def refused(kipviz):
    """Run the command with bad input; gives the one sentence it says."""

    def run(*arguments: str) -> str:
        return sentence(kipviz(*arguments))

    return run


def sentence(done: Done) -> str:
    """What a refused call said, after a look at how it said it."""
    assert done.status == 2, done
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert done.err.startswith("kipviz: ")
    assert "Traceback" not in done.err
    return done.err.removeprefix("kipviz: ").rstrip("\n")


def last_sentence(done: Done) -> str:
    """What refused work said at its end; work that takes longer than a second has told how far it is before."""
    *progress, last = done.err.splitlines(keepends=True)
    assert not any(line.startswith("kipviz: ") for line in progress)
    return sentence(Done(done.status, done.out, last))


@pytest.fixture
def program():
    """Run the command as a program of its own, for what a process alone can show."""

    def run(*arguments: str, code: str = "", **variables: str) -> Done:
        command = ["-c", code] if code else ["-m", "kipviz", *arguments]
        done = subprocess.run(
            [sys.executable, *command],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def judge_refusal():
    """The look at how a refusal is said, for calls of `program`."""
    return sentence
