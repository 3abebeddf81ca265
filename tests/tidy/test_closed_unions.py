"""A match over a closed union names each of its members, so that mypy says which one is missing.

Python's `match` falls through in silence, and `case _:` takes a new member for an old one. A union is closed if it is
an alias (`X: TypeAlias = A | B`). Whoever matches a parameter of such a type ends with `assert_never`, or has no
`case _:` at all: then mypy's exhaustive-match says what is missing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.tidy.source import files, name_of, tree

# Matches in which a new member belongs with `case _:`, and why.
OPEN = {
    "kipviz/checking/search/partial_order.py::_is_free": (
        "an action that is not known to be free of others is not: the search then takes every order"
    ),
    "kipviz/checking/search/partial_order.py::_acts_on": (
        "an action that is no client's own step is not reduced"
    ),
    "kipviz/checking/single_run/shrink.py::_host": "the other actions are at the broker they name",
    "kipviz/checking/timed/critical_path.py::_wait": "an action without a latency takes no time",
    "kipviz/views/explanations/guards.py::_looked_at": "the action's own class says what it looks at",
    "kipviz/views/explanations/sentences.py::title": "the action's own class has its sentence",
    "kipviz/views/explanations/step_roles.py::by_role": "the other actions are no client's step",
}


def _is_union(value: ast.expr) -> bool:
    return isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr)


@cache
def _closed_unions() -> frozenset[str]:
    """Return the aliases of unions of classes in the package."""
    found = set()
    for path in files():
        for node in tree(path).body:
            if isinstance(node, ast.AnnAssign) and node.value is not None:
                name, said = node.target, ast.unparse(node.annotation)
                if isinstance(name, ast.Name) and said == "TypeAlias" and _is_union(node.value):
                    found.add(name.id)
    return frozenset(found)


def _annotations(function: ast.FunctionDef) -> dict[str, str]:
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return {a.arg: ast.unparse(a.annotation) for a in arguments if a.annotation is not None}


def _falls_through(match: ast.Match) -> bool:
    """Return whether a match takes in silence what it does not name."""
    last = match.cases[-1]
    takes_all = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
    return takes_all and last.guard is None and "assert_never" not in ast.unparse(last)


def _open_matches(path: Path, module: ast.Module) -> Iterator[str]:
    """Return the functions that match a parameter of a closed union and take the members that they do not name."""
    for function in ast.walk(module):
        if not isinstance(function, ast.FunctionDef):
            continue
        types = _annotations(function)
        for node in ast.walk(function):
            if isinstance(node, ast.Match) and isinstance(node.subject, ast.Name):
                union = types.get(node.subject.id, "")
                if union in _closed_unions() and _falls_through(node):
                    yield f"{name_of(path)}::{function.name}"


def test_a_match_over_a_closed_union_names_every_member_or_is_listed_with_its_reason() -> None:
    found = {each for path in files() for each in _open_matches(path, tree(path))}
    assert not found - OPEN.keys(), "end with assert_never, or list it in OPEN with its reason"
    assert not OPEN.keys() - found, "no longer open: take it off the list"


@pytest.mark.parametrize("union", ["ClusterAction", "BrokerRole", "RoleTimer", "Evidence", "Local"])
def test_a_catch_all_is_found_by_its_functions_name(union) -> None:
    path = files()[0]
    head = f"def rule(it: {union}):\n    match it:\n        case First():\n            return 1\n"
    fallen = ast.parse(f"{head}        case _:\n            return 2\n")
    assert list(_open_matches(path, fallen)) == [f"{name_of(path)}::rule"]
    closed = ast.parse(f"{head}        case _:\n            assert_never(it)\n")
    assert list(_open_matches(path, closed)) == []
    assert list(_open_matches(path, ast.parse(head))) == [], "mypy's exhaustive-match holds it"
