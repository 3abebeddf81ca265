"""The core runs where only msgspec is installed, and says in one sentence what a part would need."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kipviz.core.outside.optional_parts import PARTS, missing_part

ROOT = Path(__file__).parents[2]
# msgspec takes typing_extensions where it is there, and does without.
BLOCKED = sorted(["typing_extensions", *(name for names in PARTS.values() for name in names)])
ALONE = f"""
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {BLOCKED!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
"""


def alone(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code in a Python that cannot import any package of the parts."""
    words = [sys.executable, "-c", ALONE + code, *arguments]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def listed() -> list[str]:
    """What a play, a search, a page and the lists import beside Python's own modules."""
    done = alone(
        """
from kipviz.checking.single_run import runs
from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import explore
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import scenario
from kipviz.widgets.stepping.lines import Lab
from kipviz.widgets.pages.page import page
import kipviz

run = runs.play("kip-1289-group-commit")
print(len(page(Lab(run).payload)) > 100_000, len(run.trace) > 10)
found = explore(scenario("kip-1289-small").model(design("finding-D"), budget_of("expire_lock=1")), 100_000)
print(found.sentence)
print(len(kipviz.list_scenarios()) > 100)
known = set(sys.stdlib_module_names) | {"kipviz", "__main__"}
print(sorted({name.partition(".")[0] for name in sys.modules} - known))
"""
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_core_alone_plays_a_story_searches_one_and_writes_its_page(listed):
    assert listed[0] == "True True"
    assert "broken" in listed[1] or "breaks" in listed[1]
    assert listed[2] == "True"


def test_the_core_imports_msgspec_only(listed):
    brought = [name for name in ast.literal_eval(listed[3]) if not name.startswith("_")]
    assert brought == ["msgspec"]


@pytest.mark.parametrize(
    ("wish", "package", "part"),
    [
        ("open", "", "notebook"),
        ("campaign(['kip-1289-two-members'], ['repaired'])", "", "notebook"),
        ("landscape", "ipywidgets", "notebook"),
    ],
)
def test_a_part_that_is_not_installed_is_one_sentence(wish, package, part):
    done = alone(f"import kipviz\nkipviz.{wish}")
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1
    name = wish.partition("(")[0]
    assert f"MissingPart: kipviz.{name} needs the package {package}" in last
    assert last.endswith(f"pip install 'kipviz[{part}]'")


def test_every_public_name_is_there_or_says_in_one_sentence_which_part_it_needs():
    done = alone(
        """
import kipviz
from kipviz.core.outside.optional_parts import MissingPart

for name in sorted(name for name in dir(kipviz) if not name.startswith("_")):
    try:
        getattr(kipviz, name)
        print(name, "is there")
    except MissingPart as missing:
        print(missing)
"""
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    there = {line.removesuffix(" is there") for line in lines if line.endswith(" is there")}
    assert {"Cluster", "accept", "costs", "design", "list_designs", "serve", "story"} <= there
    needs = [line for line in lines if not line.endswith(" is there")]
    assert len(needs) > 10
    for line in needs:
        assert re.fullmatch(
            r"kipviz\.\w+ needs the package \w+, which is not installed; "
            r"install it with: pip install 'kipviz\[notebook\]'",
            line,
        ), line


def test_a_command_of_a_part_that_is_not_installed_is_one_sentence_and_no_traceback(tmp_path):
    code = "from kipviz.command.main import main\nsys.exit(main(sys.argv[1:]))"
    events = tmp_path / "events"
    events.mkdir()
    (events / "part-0.parquet").write_bytes(b"PAR1")
    done = alone(code, "audit", str(events))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("kipviz: kipviz audit needs the package ")
    assert line.endswith("pip install 'kipviz[spark]'")


def test_a_story_with_a_regular_expression_says_in_one_sentence_what_it_needs():
    code = "from kipviz.command.main import main\nsys.exit(main(sys.argv[1:]))"
    done = alone(code, "play", "kip-848-regex")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert (
        line
        == "kipviz: a client's regular expression needs the package google-re2, which is not installed; "
        "install it with: pip install 'kipviz[regex]'"
    )


def test_a_campaign_in_a_loop_needs_the_core_alone():
    code = "from kipviz.command.main import main\nsys.exit(main(sys.argv[1:]))"
    words = [
        "campaign",
        "--scenario",
        "kip-1289-small",
        "--designs",
        "repaired,finding-D",
        "--runs",
        "2",
    ]
    done = alone(code, *words, "--way", "loop")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Campaign of 4 runs: scenario kip-1289-small x 2 designs")
    done = alone(code, *words, "--way", "processes")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("kipviz: kipviz campaign needs the package pyarrow")
    assert line.endswith("pip install 'kipviz[spark]'")


def test_a_module_that_is_of_no_part_stays_a_mistake():
    assert missing_part("kipviz.open", ModuleNotFoundError("no", name="nowhere")) is None
