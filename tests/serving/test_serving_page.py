"""docs/SERVING.md has every command of the JSON lines, with an example that the server takes."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kipviz
from kipviz.serving.script import DO, answer

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "SERVING.md").read_text(encoding="utf-8")
EXAMPLES = [json.loads(line) for line in PAGE.splitlines() if line.startswith('{"do"')]
# What a server has only while a client is at work.
WITHOUT_CLIENT = (
    "index",
    "matching ids",
    "is not possible now",
    "there is no client",
    "no transaction of",
    "no EndTxn is held",
)


def test_each_command_has_an_example_and_no_example_is_of_another_command():
    assert {line["do"] for line in EXAMPLES} == set(DO)


@pytest.mark.parametrize("line", EXAMPLES, ids=json.dumps)
def test_an_example_is_taken(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with kipviz.serve(time="model") as server:
        if line["do"] == "start":
            server.crash(line["broker"])
        told = answer(server, {**line, "seconds": 0} if "seconds" in line else line)
        assert told["ok"] or any(words in told["error"] for words in WITHOUT_CLIENT), told


def test_the_rules_of_the_page_are_rules():
    table = [line for line in PAGE.splitlines() if line.startswith("| `")]
    rules = [r for line in table for r in re.findall(r"`((?:hold|lose|crash)[^`]+)`", line)]
    assert len(rules) >= 6
    with kipviz.serve(rules=rules):
        pass


def test_help_and_the_module_point_to_the_page():
    words = [sys.executable, "-m", "kipviz", "serve", "--help"]
    said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "docs/SERVING.md" in said
