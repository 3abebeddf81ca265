"""The built file in git is the one its sources make; looking needs no node."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest

import kipviz.widgets

WIDGETS = Path(kipviz.widgets.__file__).parent
BUILT = WIDGETS / "static" / "stepper.js"
RESULTS = WIDGETS / "static" / "results.js"
FRONT = WIDGETS / "front"
# An alarm: more than this is a reason to look what grew, and no reason to shorten names. `make front` printed
# 214,893 bytes when every tool was in and every name of ours was kept; about 2 % is left for what is added.
# What a page of the site may need before it draws is COLD_MAX (tests/site).
LIMIT = 219_000
# Every table of a notebook carries it.
RESULTS_LIMIT = 16_000
# Lowest first: a file imports only its own room and rooms before it. The pages, in no room, import all of them.
ROOMS = [
    "styles",
    "dom",
    "lines",
    "frame",
    "sharing",
    "drawing",
    "cards",
    "learning",
    "choices",
    "tables",
]


def sources() -> list[str]:
    inside = (path.relative_to(FRONT).as_posix() for path in (FRONT / "src").rglob("*"))
    files = [name for name in inside if (FRONT / name).is_file()]
    return sorted([*files, "build.mjs", "package.json"])


def source_hash() -> str:
    total = hashlib.sha256()
    for name in sources():
        total.update(name.encode() + b"\0" + (FRONT / name).read_bytes() + b"\0")
    return total.hexdigest()


@pytest.mark.parametrize("built", [BUILT, RESULTS], ids=lambda path: path.name)
def test_the_built_file_is_as_new_as_its_sources(built: Path):
    header = built.read_text(encoding="utf-8")[:400]
    found = re.search(r"sources sha256 ([0-9a-f]{64})", header)
    assert found, "the built file has no hash of its sources"
    assert found[1] == source_hash(), "the sources have changed: run `make front`"


def test_the_built_files_are_small():
    assert BUILT.stat().st_size < LIMIT
    assert RESULTS.stat().st_size < RESULTS_LIMIT


def test_architecture_says_how_large_the_front_end_is():
    paper = (WIDGETS.parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    found = re.search(
        r"stepper is (\d+) kB.*?\((\d+) kB\s+compressed\).*?carry (\d+) kB", paper, re.DOTALL
    )
    assert found
    code = BUILT.read_bytes()
    sizes = (len(code), len(gzip.compress(code)), len(RESULTS.read_bytes()))
    for said, size in zip(map(int, found.groups()), sizes, strict=True):
        assert abs(said - size / 1000) < 3, (said, size)


@pytest.mark.parametrize("built", [BUILT, RESULTS], ids=lambda path: path.name)
def test_the_built_file_asks_for_nothing_and_never_writes_markup(built: Path):
    code = built.read_text(encoding="utf-8")
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "fetch(",
        "XMLHttpRequest",
        "eval(",
    ):
        assert word not in code
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", code))
    assert addresses == {"http://www.w3.org/2000/svg"}, "a name, not an address that is asked"


def test_every_source_file_can_be_read_in_one_sitting():
    long = {
        name: n for name in sources() if (n := len((FRONT / name).read_text().splitlines())) > 600
    }
    assert long == {}


def imports(what: str = "import") -> dict[str, set[str]]:
    """Each source file of the page, with the source files that it imports; `what` is a pattern of the first word."""
    found = {}
    root = FRONT / "src"
    for path in root.rglob("*.js"):
        names = re.findall(
            rf'^(?:{what}) .*? from "(\.[^"]+)"', path.read_text("utf-8"), re.MULTILINE
        )
        files = [(path.parent / name).resolve() for name in names]
        inside = {file.relative_to(root).as_posix() for file in files if root in file.parents}
        found[path.relative_to(root).as_posix()] = inside
    return found


def test_the_sources_stand_in_rooms_of_at_most_a_dozen_files():
    folders = [path for path in (FRONT / "src").iterdir() if path.is_dir()]
    assert sorted(folder.name for folder in folders) == sorted(ROOMS)
    sizes = {folder.name: len(list(folder.iterdir())) for folder in folders}
    assert {room: size for room, size in sizes.items() if size > 12} == {}
    pages = {path.name for path in (FRONT / "src").iterdir() if path.is_file()}
    assert pages == {"compare.js", "index.js", "results.js", "stepper.js"}


def test_a_source_file_imports_only_its_own_room_and_rooms_before_it():
    place = {room: n for n, room in enumerate(ROOMS)}
    upward = [
        (name, other)
        for name, others in imports(r"import|/\*\* @import").items()
        for other in others
        if place.get(other.split("/")[0], len(ROOMS)) > place.get(name.split("/")[0], len(ROOMS))
    ]
    assert upward == []


def test_no_source_file_imports_itself_through_others():
    left = imports()
    while free := {name for name, others in left.items() if not others & set(left)}:
        left = {name: others for name, others in left.items() if name not in free}
    assert left == {}


def test_every_value_of_the_page_has_a_type_and_what_may_be_missing_is_tested():
    options = json.loads((FRONT / "tsconfig.json").read_text("utf-8"))["compilerOptions"]
    assert options["strict"]
    assert [name for name, value in options.items() if value is False] == []
    loose = [
        (path.name, found)
        for path in (FRONT / "src").rglob("*.js")
        for found in re.findall(r"@ts-\w+|\{[^}\n]*(?:\bany\b|\*)[^}\n]*\} ", _comments(path))
    ]
    assert loose == []


def _comments(path: Path) -> str:
    return "\n".join(re.findall(r"/\*\*.*?\*/", path.read_text("utf-8"), re.DOTALL)).replace(
        "/**", ""
    )


def test_the_bundles_keep_the_names_of_our_methods_fields_and_css_variables():
    code = "\n".join(path.read_text("utf-8") for path in (FRONT / "src").rglob("*.js"))
    styles = "\n".join(path.read_text("utf-8") for path in (FRONT / "src").rglob("*.css"))
    methods = set(
        re.findall(r"^ {2}(?:[gs]et |static |async )?(\w+)\(.*\) \{$", code, re.MULTILINE)
    )
    fields = set(re.findall(r"\bthis\.(\w+) = ", code))
    variables = set(re.findall(r"--kv-[\w-]+", styles))
    assert min(len(methods), len(fields), len(variables)) > 20
    bundles = BUILT.read_text("utf-8") + RESULTS.read_text("utf-8")
    built = set(re.findall(r"--kv-[\w-]+|\w+", bundles))
    assert (methods | fields | variables) - built == set()


def test_the_lock_names_every_package_that_another_one_of_it_may_need():
    # What is missing for one system makes `npm ci` fail on all of them.
    locked = json.loads((FRONT / "package-lock.json").read_text())["packages"]
    named = {name for each in locked.values() for name in each.get("optionalDependencies", {})}
    assert len(named) > 20
    assert {f"node_modules/{name}" for name in named} <= set(locked)


def test_the_bundler_is_pinned():
    assert re.search(r'"esbuild": "\d+\.\d+\.\d+"', (FRONT / "package.json").read_text())
    assert "resolved" not in (FRONT / "package-lock.json").read_text(), (
        "no registry is written down"
    )
