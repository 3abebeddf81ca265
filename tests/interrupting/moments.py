"""Long commands, each with what ^C may leave of it, and what it left at one moment."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tests.tidy.source import ROOT

SMALL = "kip-1289-small"
RECORDING = "tests/recordings/kafka-4.4.0/share-acknowledge"
PATIENCE = 600.0  # seconds after ^C: a machine may be busy with other things
# What Python prints when nobody catches an exception.
LOUD = ("Traceback", "Exception ignored", "Fatal Python error", "Error in sys.excepthook")
# What Python says, with status 1, if ^C comes before it has imported its own modules.
NOT_STARTED = ("Fatal Python error: init_import_site", "Could not import runpy module")
Words = tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """A command; FOLDER stands for an empty folder of its own.

    `seconds` is the time in which the moments are of one that takes longer than anybody waits for here; 0: as long as
    the whole takes.
    """

    name: str
    words: Words
    lost: Callable[[Command, Path, str], str]
    seconds: float = 0.0

    def argv(self, folder: Path) -> list[str]:
        """Give the whole command."""
        words = [word.replace("FOLDER", str(folder)) for word in self.words]
        module = [] if words[0].startswith("tests.") else ["kipviz"]
        return [sys.executable, "-m", *module, *words]


@dataclass(frozen=True)
class Ended:
    """How a command ended; `left` says that a process of it runs on."""

    status: int
    out: str
    err: str
    seconds: float
    interrupted: bool
    left: bool = False

    def in_folder(self, folder: Path) -> Ended:
        """Return it with the name of its own folder taken out of what it said."""
        return replace(self, out=self.out.replace(str(folder), "FOLDER"))

    def came_too_late(self, whole: Ended) -> bool:
        """Say whether all was done already: then a command says what it says at one go, with its status."""
        done = not self.err.endswith("so far\n") and self.status == whole.status
        return done and answer(self.out) == answer(whole.out)

    def came_too_early(self) -> bool:
        """Say whether Python itself had not started: it says so, and no line of ours was reached."""
        return self.status == 1 and self.err.startswith(NOT_STARTED) and starts_python(self.err)

    def wrong(self) -> str:
        """Say what is not as it should be: the status is 130 (or of the signal itself), nothing is loud."""
        if self.interrupted and self.status not in (130, -signal.SIGINT):
            return f"status {self.status}: {self.err[-2_000:]}{self.out[-500:]}"
        if self.left:
            return "a process is left"
        if self.status == -signal.SIGINT and starts_python(self.err):
            return ""
        found = [each for each in LOUD if each in self.err or each in self.out]
        return f"{found[0]}: {self.err[-2_000:]}" if found else ""


def run(argv: list[str], after: float | None = None) -> Ended:
    """Run a command in a session of its own, and press ^C there after so many seconds."""
    began, interrupted = time.monotonic(), False
    with subprocess.Popen(
        argv,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as going:
        try:
            try:
                out, err = going.communicate(timeout=after)
            except subprocess.TimeoutExpired:
                os.killpg(going.pid, signal.SIGINT)  # as a terminal does it: to all of them
                interrupted = True
                try:
                    out, err = going.communicate(timeout=PATIENCE)
                except subprocess.TimeoutExpired:
                    os.killpg(going.pid, signal.SIGKILL)
                    out, err = going.communicate()
                    err += f"\nit ran on for {PATIENCE:.0f} s"
        finally:
            if going.poll() is None:
                os.killpg(going.pid, signal.SIGKILL)
    took = time.monotonic() - began
    return Ended(going.returncode, out, err, took, interrupted, is_left(going.pid))


def starts_python(err: str) -> bool:
    """Say whether a traceback is Python's own: it was still importing what it needs, and no line of ours was reached."""
    files = [line.split('"')[1] for line in err.splitlines() if line.lstrip().startswith('File "')]
    return bool(files) and not any(is_ours(name) for name in files)


def is_ours(name: str) -> bool:
    """Say whether a file is the project's; the packages in .venv are not."""
    if name.startswith("<"):
        return False
    place = (ROOT / name).parts
    return place[: len(ROOT.parts)] == ROOT.parts and place[len(ROOT.parts)] in ("kipviz", "tests")


def is_left(group: int) -> bool:
    """Say whether a process of a command still runs, for which nobody waits."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


# -- what is lost -------------------------------------------------------------------------------------


def nothing_kept(command: Command, folder: Path, whole: str) -> str:
    """It keeps nothing: the same command says the same when it is asked again, and left nothing behind."""
    left = sorted(each.name for each in folder.iterdir())
    return f"left behind: {left}" if left else ""


def goes_on(command: Command, folder: Path, whole: str) -> str:
    """It goes on from what it kept, and says in the end what it says at one go."""
    done = run(command.argv(folder)).in_folder(folder)
    if done.status != 0:
        return f"it does not go on: status {done.status}: {done.err[-500:]}"
    return "" if answer(done.out) == answer(whole) else f"it goes on to something else: {done.out}"


def whole_or_not_there(command: Command, folder: Path, whole: str) -> str:
    """The file that it writes is there whole, or not at all."""
    written = [each for each in folder.rglob("*") if each.is_file()]
    if not written:
        return ""
    (page,) = written
    text = page.read_text(encoding="utf-8")
    ends = text.rstrip().endswith("</html>")
    return "" if ends else f"half of {page.name}: {len(text)} characters"


def answer(text: str) -> object:
    """Give what a command answers, without how long it took and how much it could try in a stated time."""
    if not text.startswith("{"):
        return re.sub(r"[\d,]+ inputs", "inputs", text)
    return {k: v for k, v in json.loads(text).items() if "second" not in k and k != "resumed"}


COMMANDS = (
    Command(
        "explore",
        (
            *("explore", SMALL, "--design", "repaired", "--faults", "expire_lock=1"),
            *("--resume", "FOLDER/search", "--json"),
        ),
        goes_on,
    ),
    Command(
        "campaign",
        (
            *("campaign", "--scenario", SMALL, "--designs", "repaired", "--faults", "rough"),
            *("--runs", "60", "--way", "loop", "--resume", "FOLDER", "--json"),
        ),
        goes_on,
    ),
    Command("audit", ("audit", "--logs", RECORDING), nothing_kept),
    Command("ledger", ("ledger", "--json"), nothing_kept, 15.0),
    Command(
        "fuzz",
        ("tests.fuzz", "--target", "wire", "--seconds", "6", "--into", "FOLDER"),
        nothing_kept,
    ),
    Command("accept", ("log", RECORDING, "--accept"), nothing_kept),
    Command("export", ("export", SMALL, "--to", "FOLDER/page.html"), whole_or_not_there),
    Command("swarm", ("swarm", "--runs", "40", "--json"), nothing_kept),
)
