"""A target that calls the command `kipviz` with words that a person may have mistyped."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
from functools import cache
from pathlib import Path

from kipviz.command.main import main
from tests.fuzz.corpus import PLACE
from tests.fuzz.fuzzing import Target
from tests.fuzz.mutation import NUMBERS, of_words

# What makes a command go on for long is said last, where it counts.
BOUNDS = {
    "explore": ["--states-max", "40"],
    "replay": ["--steps-max", "40"],
    "campaign": ["--runs", "2", "--steps-max", "40", "--way", "loop"],
    "outcomes": ["--seeds", "2", "--states-max", "40"],
    "open": ["--no-browser", "--to", "a.html"],
    "pains": ["--no-browser", "--to", "a.html"],
}
ODD = ("", "-", "--", "*", "\x1b[2J", "\u202e", "a" * 256, "9" * 5_000, "-1", "1e9", "nan", "inf")
ODD += ("/dev/null", "/dev/zero", "/dev/full", "..", "no/such/folder/x.json", "--json", "--text")
ODD += ("kv1.AAAA", "kv2.AAAA", "run.trace", "B1 | *", "=", "a=b", "repaired+a=b", "é", "\udce9")
ODD += tuple(str(number) for number in NUMBERS if abs(number) < 10**30)


class NotAsItShouldEnd(Exception):
    """A command that ended with another status, or said its refusal in more than a sentence."""


@cache
def _lines() -> list[list[str]]:
    text = (PLACE / "commands.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _words(dice: random.Random) -> bytes:
    command, *words = dice.choice(_lines())
    others = [word for line in _lines() if line[0] == command for word in line[1:]]
    return json.dumps([command, *of_words(words, [*ODD, *others], dice)]).encode()


def _call(data: bytes, folder: Path) -> object:
    command, *words = json.loads(data)
    # No shell hands on such words.
    words = [word.replace("\x00", "") for word in words]
    out, err = io.StringIO(), io.StringIO()
    (folder / "run.trace").write_bytes((PLACE / "pain-vanished.trace").read_bytes())
    here = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = main([command, *words, *BOUNDS.get(command, ())])
            except SystemExit as left:  # --help and --version
                status = int(left.code or 0)
    finally:
        os.chdir(here)
    said = err.getvalue()
    if status not in {0, 1, 2}:
        raise NotAsItShouldEnd(f"status {status}: {said}")
    sentence = said.startswith("kipviz: ") and said.count("\n") == 1 and said[:-1].isprintable()
    if status == 2 and (not sentence or out.getvalue()):
        raise NotAsItShouldEnd(f"status 2: {said!r}, after {out.getvalue()[:100]!r}")
    return status


TARGETS = (Target("commands", "the command line", _words, _call, (), 60),)
