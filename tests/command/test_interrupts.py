"""^C is not lost where Python would ignore it, and breaks off no import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Each presses ^C at a moment at which Python by itself would ignore it, or break an import off.
MOMENTS = {
    "import": "import pressed",
    "destructor": """
class Pressed:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
        print("gone", flush=True)
Pressed()
""",
    "callback of the import system": """
import importlib._bootstrap as bootstrap, weakref
class Lock: pass
lock = Lock()
exec(compile("def cb(ref): signal.raise_signal(signal.SIGINT); print('gone', flush=True)", "<frozen importlib._bootstrap>", "exec"))
held = weakref.ref(lock, cb)
del lock
""",
}
PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
{begin}
try:
    {moment}
    for n in range(10**10): pass
except KeyboardInterrupt:
    print("interrupted")
"""


def run_program(moment: str, begin: str, folder: Path) -> list[str]:
    (folder / "pressed.py").write_text(
        "import signal\nsignal.raise_signal(signal.SIGINT)\nprint('gone', flush=True)\n"
    )
    inside = MOMENTS[moment].strip().replace("\n", "\n    ")
    program = PROGRAM.format(begin=begin, moment=inside)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={"PYTHONPATH": f"{ROOT}:{folder}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no setitimer")
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_interrupt_waits_until_it_is_not_lost_and_is_raised_then(moment, tmp_path):
    begin = "from kipviz.command import interrupts; interrupts.begin()"
    assert run_program(moment, begin, tmp_path) == ["gone", "interrupted"]


def test_without_that_an_import_is_broken_off(tmp_path):
    assert run_program("import", "", tmp_path) == ["interrupted"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no setitimer")
def test_a_process_that_ignores_interrupts_or_has_a_handler_keeps_its_own():
    program = (
        "import signal; signal.signal(signal.SIGINT, {0}); from kipviz.command import interrupts;"
        "interrupts.begin(); print(signal.getsignal(signal.SIGINT) == {0})"
    )
    for own in ("signal.SIG_IGN", "print"):
        done = subprocess.run(
            [sys.executable, "-c", program.format(own)],
            env={"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "True\n"
