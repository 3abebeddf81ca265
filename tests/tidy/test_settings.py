"""A setting's name and its default stand in its definition alone (`kipviz.settings`)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from kipviz.settings.table import SETTINGS
from tests.tidy.source import files, name_of, tree

TABLE = "kipviz/settings/"
NAMES = sorted({setting.name for setting in SETTINGS if setting.is_kafkas}, key=len, reverse=True)
# As a word of its own: "max.poll.records of app-1", and not a part of another dotted name.
NAMED = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, NAMES))})(?![\w-]|\.\w)")
# A clause is cited with the words of its KIP.
CITED = re.compile(r"\bKIP-\d+")
# Round numbers below this one are also other things: a second, a page of memory.
SMALLEST = 100
# Numbers that are a default and nothing else, wherever they stand.
TELLING = frozenset(
    {10_080, 45_000, 900_000, 1_048_576, 33_554_432, 52_428_800, 86_400_000, 604_800_000}
)

# Where names stand all the same.
QUOTED = {
    "kipviz/kips/": "a clause has the heading that it has in the KIP's text",
    "kipviz/studies/": "claims and findings quote the KIPs, and say what is wrong there",
    "kipviz/designs/": "an option cites the place that it comes from",
    "kipviz/scenarios/pains.py": "what users report, and what they are advised to set",
}
# Where a number is a default by chance, or is chosen.
CHOSEN = {
    "kipviz/messages/apis/cluster/topic_creation.py": "the timeout of an AdminClient's call",
    "kipviz/recordings/request_context/clocks.py": "a quarter of an hour, by which time zones differ",
    "kipviz/studies/timed/lock_end.py": "the study compares these durations",
    "kipviz/studies/timed/takeover.py": "the study compares these durations",
}


def names_in(source: ast.Module) -> Iterator[str]:
    """The settings that a file names in its strings, docstrings and citations of KIPs excepted."""
    docs = {id(node.value) for node in ast.walk(source) if isinstance(node, ast.Expr)}
    for node in ast.walk(source):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield from () if CITED.search(node.value) else NAMED.findall(node.value)


def assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that get a value at a node: of fields, constants, arguments and their defaults."""
    match node:
        case ast.AnnAssign(target=ast.Name(id=name), value=value):
            yield name, value
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            for target, value in zip(names, values, strict=True):
                if isinstance(target, ast.Name):
                    yield target.id, value
        case ast.keyword(arg=str(name), value=value):
            yield name, value
        case ast.arguments():
            places = (*node.posonlyargs, *node.args)[::-1]
            yield from ((a.arg, d) for a, d in zip(places, node.defaults[::-1], strict=False))
            named = zip(node.kwonlyargs, node.kw_defaults, strict=True)
            yield from ((a.arg, d) for a, d in named)
        case _:
            pass


def is_default(name: str, number: int) -> bool:
    """Whether a number is the default of the setting that a field or constant is called after."""
    name = name.lower().strip("_")
    return any(
        type(each.default) is int
        and SMALLEST <= each.default == number
        and bool(each.field)
        and (name.endswith(each.field) or (len(name) > 5 and each.field.endswith(f"_{name}")))
        for each in SETTINGS
    )


def defaults_in(source: ast.Module) -> Iterator[int]:
    """The defaults of settings that a file has as numbers."""
    for node in ast.walk(source):
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value in TELLING:
            yield node.value
        for name, value in assigned(node):
            number = value.value if isinstance(value, ast.Constant) else None
            if type(number) is int and number not in TELLING and is_default(name, number):
                yield number


def test_a_setting_is_named_by_its_definition_alone() -> None:
    found = {
        name: list(names_in(tree(path)))
        for path in files()
        if not (name := name_of(path)).startswith((TABLE, *QUOTED))
    }
    assert {name: told for name, told in found.items() if told} == {}


@pytest.mark.parametrize("place", QUOTED)
def test_a_place_that_quotes_names_some(place: str) -> None:
    within = [tree(path) for path in files() if name_of(path).startswith(place)]
    assert any(list(names_in(each)) for each in within), "the list may only become shorter"


def test_a_default_stands_in_its_definition_alone() -> None:
    found = {
        name: list(defaults_in(tree(path)))
        for path in files()
        if not (name := name_of(path)).startswith(TABLE)
    }
    assert {name: told for name, told in found.items() if told and name not in CHOSEN} == {}
    assert all(found[name] for name in CHOSEN), "the list may only become shorter"


def test_what_stands_elsewhere_is_found() -> None:
    source = ast.parse(
        'ROWS = {"transaction.timeout.ms": 1}\n'
        "TRANSACTION_TIMEOUT_MS = 60_000\n"
        "class Manager:\n"
        "    timeout_ms: int = 60_000\n"
        "def wait(request_timeout_ms=30_000, *, work=604_800_000): pass\n"
        "MINUTE_MS, QUARTER = 60_000, 15\n"
        'told = f"transaction.timeout.ms of {who} is over"\n'
        'clause = "KIP-98 transaction.timeout.ms"\n'
        'other = "x.transaction.timeout.ms and transaction.timeout.ms.y"\n'
    )
    assert list(names_in(source)) == ["transaction.timeout.ms"] * 2
    assert sorted(defaults_in(source)) == [30_000, 60_000, 60_000, 604_800_000]
