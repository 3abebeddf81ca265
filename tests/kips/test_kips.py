"""The table of clauses: what a row names is there, and docs/kips is what the rows give."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kipviz.command.main import main
from kipviz.kips.library import KIPS, UnknownKip, kip
from kipviz.kips.row import HOW, MODELLED, OPEN, Row
from kipviz.scenarios.library import LIBRARY
from kipviz.scenarios.pains import PAINS
from kipviz.views.exports.markdown import plain
from kipviz.views.reports.kips_page import further_stories, pages

ROOT = Path(__file__).parents[2]
ROWS = [(known.name, row) for known in KIPS for row in known.rows]
AS_ROW = pytest.mark.parametrize(
    ("name", "row"), ROWS, ids=[f"{name}-{row.clause}" for name, row in ROWS]
)


def function_of(row: Row) -> str:
    """Give the file and the function of a row's test, without the case in brackets."""
    return row.test.partition("[")[0]


def resolve(dotted: str) -> object:
    """Give the module, function or class of a dotted name below the package."""
    parts = f"kipviz.{dotted}".split(".")
    for cut in range(len(parts), 1, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            found = getattr(found, name)
        return found
    raise LookupError(dotted)


@AS_ROW
def test_what_a_row_names_is_there(name: str, row: Row) -> None:
    assert row.how in HOW
    if row.handler:
        assert resolve(row.handler) is not None
    if row.scenario:
        assert row.scenario in {story.name for story in LIBRARY}
    if row.test:
        file, _, test = function_of(row).partition("::")
        assert f"def {test}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), row.test
    if row.page:
        assert (ROOT / "notebooks" / f"{row.page}.ipynb").is_file()


@AS_ROW
def test_a_row_says_who_does_it_and_what_shows_it_or_what_is_missing(name: str, row: Row) -> None:
    assert row.says.endswith(".")
    if row.how == MODELLED:
        assert row.handler
        assert row.scenario or row.test
    else:
        assert row.note
    if row.how == OPEN:
        assert not row.handler


def test_no_test_stands_for_two_rows_but_case_by_case() -> None:
    """Else a row could be untrue while the test of the two is about the other one."""
    by_function: dict[str, list[str]] = {}
    for _, row in ROWS:
        if row.test:
            by_function.setdefault(function_of(row), []).append(row.test)
    for function, tests in by_function.items():
        assert len(tests) == len(set(tests)), f"{function} matches two rows"
        if len(tests) > 1:
            assert function not in tests, f"a row of {function} has to name its case"


def test_the_case_that_a_row_names_is_one_of_its_tests() -> None:
    """Pytest itself says which cases a parametrised test has."""
    named = {row.test for _, row in ROWS if "[" in row.test}
    files = sorted({f"tests/{test.partition('::')[0]}" for test in named})
    plain = ("--collect-only", "-q", "-o", "addopts=", "-p", "no:cacheprovider")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *plain, *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert named <= {line.removeprefix("tests/") for line in run.stdout.splitlines()}


def test_every_kip_has_rows_and_no_clause_stands_twice() -> None:
    assert [known.number for known in KIPS] == sorted(known.number for known in KIPS)
    for known in KIPS:
        clauses = [row.clause for row in known.rows]
        assert clauses
        assert len(clauses) == len(set(clauses))


def test_every_story_stands_on_the_page_of_some_kip_or_is_made_for_search() -> None:
    shown = {row.scenario for _, row in ROWS} | {pain.story for pain in PAINS}
    shown |= {story.name for known in KIPS for story in further_stories(known, KIPS)}
    assert {s.name for s in LIBRARY if s.beats and "small" not in s.name} <= shown


def test_a_story_that_no_row_names_is_listed_at_the_end_of_its_kips_page() -> None:
    story = next(s for s in LIBRARY if s.name == "kip-447-group-id-only")
    assert story not in further_stories(kip("447"), KIPS)
    fewer = kip("447").but(rows=tuple(r for r in kip("447").rows if r.scenario != story.name))
    (text,) = [text for name, text in pages((fewer,)) if name == "kip-447.md"]
    assert f"(`{story.name}`): {plain(story.clause)}" in text.partition("## Further stories")[2]


def test_the_page_in_the_project_is_what_the_rows_give() -> None:
    made = dict(pages(KIPS))
    stored = {
        file.name: file.read_text(encoding="utf-8") for file in (ROOT / "docs/kips").iterdir()
    }
    assert stored == made, "run `kipviz clauses --into docs/kips`"


def test_the_command_writes_the_pages_into_a_folder(tmp_path: Path) -> None:
    assert main(["clauses", "--into", str(tmp_path / "new")]) == 0
    written = {file.name for file in (tmp_path / "new").iterdir()}
    assert written == {"KIPS.md", *(f"kip-{known.number}.md" for known in KIPS)}
    assert main(["clauses", "--kip", "98", "--into", str(tmp_path / "new")]) == 2


def test_the_command_prints_one_kip_and_one_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clauses", "--kip", "KIP-98", "--how", "simplified", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["clauses"]
    assert {(row["kip"], row["how"]) for row in rows} == {(98, "simplified")}


def test_a_kip_that_is_not_here_is_refused_with_those_that_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(UnknownKip, match="the KIPs are 11, 62, 98, 211, 345, 360"):
        kip("42")
    assert main(["clauses", "--kip", "42"]) == 2
    assert "there is no KIP '42' here" in capsys.readouterr().err
