"""Every fuzz target, a few seconds of it; `make fuzz` goes on for as long as one likes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from tests.fuzz import fuzzing
from tests.fuzz.fuzzing import Target, failures, input_of, judge
from tests.fuzz.targets import TARGETS
from tests.patience import PATIENCE

SEED = 1
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("half", [0, pytest.param(1, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", list(TARGETS))
@pytest.mark.filterwarnings("ignore")
def test_what_others_wrote_ends_in_a_value_or_in_one_sentence(name, half):
    target = TARGETS[name]
    for number, failure, _ in failures(target, SEED, range(half, target.quick, 2)):
        assert failure is None, f"input {number}: {failure.kind}\n{failure.told}"


@pytest.mark.parametrize("name", list(TARGETS))
def test_an_input_depends_on_its_target_its_seed_and_its_number_alone(name):
    target = TARGETS[name]
    assert input_of(target, 3, 4) == input_of(target, 3, 4)
    assert len({input_of(target, seed, n) for seed in (3, 4) for n in range(6)}) > 6


def reads(data: bytes, _: Path) -> object:
    """Do what an input says."""
    match data:
        case b"refuses":
            raise ValueError("it is none")
        case b"refuses in two lines":
            raise ValueError("it is none\nat all")
        case b"refuses without a word":
            raise ValueError
        case b"escapes":
            return {}[data]
        case b"leaves":
            sys.exit(2)
        case b"hangs":
            while True:
                time.sleep(0.01)
        case b"fills the memory":
            return bytearray(1 << 40)
    return data


ODD = Target("odd", "an input that says what it does", lambda _: b"", reads, (ValueError,), 0)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"is read", None),
        (b"refuses", None),
        (b"refuses in two lines", "ValueError in no sentence in"),
        (b"refuses without a word", "ValueError in no sentence in"),
        (b"escapes", "KeyError in"),
        (b"leaves", "SystemExit in"),
        (b"hangs", "slower than 0.2 s in"),
        (b"fills the memory", "more than"),
    ],
)
def test_the_rule_is_a_value_or_one_sentence_within_bounds(monkeypatch, data, kind):
    monkeypatch.setattr(fuzzing, "SECONDS_MAX", 0.2)
    monkeypatch.setattr(fuzzing, "MEMORY_MAX", 1 << 30)
    target = ODD._replace(make=lambda _: data)
    ((_, failure, _),) = failures(target, 1, [0])
    assert failure is None if kind is None else failure.kind.startswith(kind)


def test_a_failing_input_is_kept_with_the_command_that_replays_it(tmp_path, monkeypatch, capsys):
    from tests.fuzz import program

    monkeypatch.setitem(program.TARGETS, "odd", ODD._replace(make=lambda _: b"escapes"))
    words = ["--target", "odd", "--inputs", "5", "--seed", "7", "--into", str(tmp_path / "kept")]
    record = tmp_path / "record.json"
    monkeypatch.setattr(sys, "argv", ["fuzz", *words, "--record", str(record)])
    with warnings.catch_warnings():
        assert program.main() == 1
    (kept,) = (tmp_path / "kept").iterdir()  # once for each kind of failure
    assert kept.read_bytes() == b"escapes"
    told = capsys.readouterr().out
    assert f'make fuzz ARGS="--target odd --replay {kept}"' in told
    assert "5 inputs, 5 failed" in told
    assert '"odd": 5' in record.read_text()
    monkeypatch.setattr(sys, "argv", ["fuzz", "--target", "odd", "--replay", str(kept)])
    with warnings.catch_warnings():
        assert program.main() == 1
    assert "KeyError" in capsys.readouterr().out
    assert judge(ODD, b"is read") is None


def test_an_interrupt_ends_it_quietly_with_what_was_counted():
    words = [sys.executable, "-m", "tests.fuzz", "--target", "wire", "--seconds", "60"]
    with subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as going:
        assert "inputs" in going.stderr.readline()
        going.send_signal(signal.SIGINT)
        out, err = going.communicate(timeout=PATIENCE)
    assert going.returncode == 130
    assert " 0 failed" in out
    assert "Traceback" not in err
