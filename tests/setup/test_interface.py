"""What `import kipviz` gives: typed, listed, with an example for each name, and a page made of it."""

from __future__ import annotations

import ast
import doctest
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import kipviz
from kipviz.core.outside.suggestions import LONGEST, unknown
from kipviz.designs import catalogue
from kipviz.scenarios import library
from kipviz.scenarios.library import UnknownScenario, scenario
from kipviz.site import interface
from kipviz.site.papers import html_of
from kipviz.widgets.discoverable import own_names

ROOT = Path(__file__).parents[2]
NAMES = tuple(name for name in kipviz.__all__ if not name.startswith("__"))


def imported_for_types():
    """The names below `if TYPE_CHECKING`, each with its module and its name there."""
    tree = ast.parse(Path(kipviz.__file__).read_text(encoding="utf-8"))
    block = next(
        each
        for each in tree.body
        if isinstance(each, ast.If) and ast.unparse(each.test) == "TYPE_CHECKING"
    )
    return {
        name.asname: f"{each.module}:{name.name}"
        for each in block.body
        if isinstance(each, ast.ImportFrom)
        for name in each.names
        if name.asname
    }


def test_what_an_editor_sees_is_what_python_imports():
    assert imported_for_types() == kipviz._HOMES
    assert set(NAMES) == {*kipviz._HOMES, "campaign"}


@pytest.mark.slow
def test_mypy_knows_the_signature_of_every_public_name_and_refuses_any_other(tmp_path):
    lines = [f"reveal_type(kipviz.{name})" for name in NAMES]
    (tmp_path / "cell.py").write_text("\n".join(("import kipviz", *lines, "kipviz.opne\n")))
    made = subprocess.run(
        [sys.executable, "-m", "mypy", str(tmp_path / "cell.py")],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    told = [line for line in made.stdout.splitlines() if "Revealed type" in line]
    assert len(told) == len(NAMES), made.stdout
    for name, line in zip(NAMES, told, strict=True):
        revealed = line.partition("Revealed type is ")[2].strip('"')
        assert re.match(r"(Overload\()?def (\[[^(]*\] )?\(", revealed), f"kipviz.{name}: {line}"
        assert not revealed.endswith("-> Any"), f"kipviz.{name}: {line}"
    opened = told[NAMES.index("open")]
    assert "kipviz.widgets.lab.HasRun" in opened
    assert "-> kipviz.widgets.stepping.stepper.Stepper" in opened
    assert 'error: Module has no attribute "opne"' in made.stdout


def test_completion_lists_what_a_person_may_call_and_no_floor_or_import():
    listed = [name for name in dir(kipviz) if not name.startswith("__")]
    assert listed == sorted(NAMES)


def test_help_shows_every_public_name():
    shown = subprocess.run(
        [sys.executable, "-c", "import kipviz; help(kipviz)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert not [name for name in NAMES if name not in shown]


def test_importing_the_package_loads_no_floor():
    program = "import sys, kipviz; print([m for m in sys.modules if m.startswith('kipviz.')])"
    made = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert made.stdout == "[]\n"


def test_completion_on_a_stepper_lists_its_own_names_and_not_those_of_ipywidgets():
    stepper = kipviz.open("kip-1289-small")
    listed = [name for name in dir(stepper) if not name.startswith("_")]
    assert {"take", "fault_at", "step", "last", "permalink", "lab"} <= set(listed)
    assert not {"observe", "set_state", "layout", "trait_names", "comm"} & set(listed)
    assert len(listed) < 70
    assert stepper.trait_names()  # all of it works as before
    assert own_names(type(stepper)) == tuple(name for name in listed if name in vars_of(stepper))


def vars_of(thing):
    return {name for base in type(thing).__mro__ for name in vars(base)}


# --- docstrings --------------------------------------------------------------------------------------


@pytest.fixture
def beside_the_recordings(tmp_path, monkeypatch):
    """An empty folder with the recordings that examples name; what an example brings does not stay."""
    monkeypatch.setattr(library, "_brought", {})
    monkeypatch.setattr(catalogue, "_registered", {})
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_public_object_has_an_example_that_does_what_it_says(name, beside_the_recordings):
    found = doctest.DocTestFinder(recurse=False).find(
        getattr(kipviz, name), f"kipviz.{name}", globs={}
    )
    assert any(test.examples for test in found), f"kipviz.{name} has no example"
    assert not [e for test in found for e in test.examples if e.options], "an example is left out"
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    told: list[str] = []
    for test in found:
        runner.run(test, out=told.append)
    assert not runner.summarize(verbose=False).failed, "".join(told)


def test_every_class_that_is_returned_and_each_of_its_methods_is_described():
    bare = []
    for cls in (*interface.returned_classes(list(NAMES)), kipviz.Cluster, kipviz.Desk):
        if not cls.__doc__:
            bare.append(cls.__name__)
        for name in own_names(cls):
            made = inspect.getattr_static(cls, name)
            known = inspect.isfunction(made) or isinstance(made, property)
            if known and not made.__doc__:
                bare.append(f"{cls.__name__}.{name}")
    assert not bare


# --- the page ----------------------------------------------------------------------------------------


def test_the_page_of_the_interface_is_as_new_as_the_docstrings():
    stored = (ROOT / interface.PAGE).read_text(encoding="utf-8")
    assert stored == interface.page(), "run `python -m kipviz.site.interface`"


def test_the_page_has_a_signature_for_each_name_and_the_promise_of_version_1():
    page = interface.page()
    assert "## What stays from version 1.0" in page
    for name in NAMES:
        assert f"### kipviz.{name}\n\n```python\nkipviz.{name}(" in page
    assert "### Stepper" in page
    assert "- `take(choice: str)`: Take a choice at the cursor" in page


def test_a_signature_is_as_its_source_has_it():
    def make(one: int, *more: str, key: str = "a", **rest: object) -> list[str]:
        """Nothing."""

    assert interface.signature("made", make) == (
        "made(one: int, *more: str, key: str = 'a', **rest: object) -> list[str]"
    )

    def keyword(*, key: int = 1) -> None:
        """Nothing."""

    assert interface.signature("keyword", keyword) == "keyword(*, key: int = 1)"

    def with_function(judge: Callable[[], None] = keyword) -> None:
        """Nothing."""

    told = interface.signature("judged", with_function)
    assert told == "judged(judge: Callable[[], None] = keyword)"


def test_code_of_a_paper_is_text_also_where_it_has_fences_of_its_own():
    page = html_of("a\n\n````python\n>>> '''\n\n```steps\n<b>\n```\n````\n\n# b", frozenset())
    assert page == (
        '<p>a</p>\n<pre tabindex="0"><code>&gt;&gt;&gt; &#x27;&#x27;&#x27;\n\n```steps\n&lt;b&gt;\n```</code></pre>\n<h1>b</h1>'
    )


# --- what is no name ---------------------------------------------------------------------------------


def test_a_value_in_the_place_of_a_name_is_told_by_its_type_and_not_printed():
    with pytest.raises(UnknownScenario) as wrong:
        kipviz.explore(scenario("kip-1289-small"), "repaired")
    assert (
        str(wrong.value)
        == "a scenario is given by its name, not by a Scenario; `kipviz list` lists all"
    )
    with pytest.raises(ValueError, match="a design is given by its name, not by a Design;"):
        kipviz.explore("kip-1289-small", kipviz.design("repaired").design)


def test_a_page_that_is_pasted_as_a_name_is_not_repeated():
    said = unknown("story", "x" * 5000, ("one",), "it")
    assert said == f"there is no story '{'x' * LONGEST}…'; nearest are one, and it lists all"
