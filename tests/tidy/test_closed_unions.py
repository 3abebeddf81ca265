"""A match over a closed union names each of its members, so that mypy says which one is missing.

Python's `match` falls through in silence, and `case _:` takes a new member for an old one. A union is closed if it is
an alias (`X: TypeAlias = A | B`). Whoever matches a parameter of such a type, or a field of one, ends with
`assert_never`, or has no `case _:` at all: then mypy's exhaustive-match says what is missing. So that no union escapes
this, one that is matched has an alias, and an alias says that it is one.
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
    "kipviz/checking/timed/critical_path.py::_wait": "an action without a latency takes no time",
    "kipviz/views/explanations/guards.py::_read_guards": "the action's own class says what it looks at",
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


@cache
def _fields() -> dict[tuple[str, str], str]:
    """Return the annotation of each field of the package's classes, by the names of class and field."""
    classes = (
        node for path in files() for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)
    )
    return {
        (each.name, node.target.id): ast.unparse(node.annotation)
        for each in classes
        for node in each.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def _annotations(function: ast.FunctionDef) -> dict[str, str]:
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return {a.arg: ast.unparse(a.annotation) for a in arguments if a.annotation is not None}


def _type_of(subject: ast.expr, types: dict[str, str]) -> str:
    """Return the annotation of what is matched: a parameter, or a field of one; "" if it is neither."""
    if isinstance(subject, ast.Name):
        return types.get(subject.id, "")
    if isinstance(subject, ast.Attribute):
        return _fields().get((_type_of(subject.value, types), subject.attr), "")
    return ""


def _falls_through(match: ast.Match) -> bool:
    """Return whether a match takes in silence what it does not name."""
    last = match.cases[-1]
    takes_all = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
    return takes_all and last.guard is None and "assert_never" not in ast.unparse(last)


def _matches(module: ast.Module) -> Iterator[tuple[ast.FunctionDef, ast.Match, str]]:
    """Yield the matches of a module, each with its function and the annotation of what is matched."""
    for function in ast.walk(module):
        if isinstance(function, ast.FunctionDef):
            types = _annotations(function)
            for node in ast.walk(function):
                if isinstance(node, ast.Match):
                    yield function, node, _type_of(node.subject, types)


def _open_matches(path: Path, module: ast.Module) -> Iterator[str]:
    """Return the functions that match a value of a closed union and take the members that they do not name."""
    for function, match, union in _matches(module):
        if union in _closed_unions() and _falls_through(match):
            yield f"{name_of(path)}::{function.name}"


def _without_alias(path: Path, module: ast.Module) -> Iterator[str]:
    """Yield the unions that are matched as they are written in a signature, and those that do not say what they are."""
    for function, _, union in _matches(module):
        if len([each for each in union.split(" | ") if each != "None"]) > 1:
            yield f"{name_of(path)}::{function.name}"
    for node in module.body:
        if isinstance(node, ast.Assign) and _is_union(node.value) and _names_classes(node.value):
            yield f"{name_of(path)}::{ast.unparse(node.targets[0])}"


def _names_classes(value: ast.expr) -> bool:
    """Return whether every operand of a union is the name of a class: not of a flag or a number."""
    if isinstance(value, ast.BinOp):
        return _names_classes(value.left) and _names_classes(value.right)
    named = value.value if isinstance(value, ast.Subscript) else value
    name = ast.unparse(named).rpartition(".")[2]
    return name in {"None", "str", "int", "bytes", "tuple"} or (
        name.istitle() or name != name.upper()
    )


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


def test_a_union_that_is_matched_has_an_alias_and_an_alias_says_that_it_is_one() -> None:
    assert [each for path in files() for each in _without_alias(path, tree(path))] == []


def test_a_union_without_an_alias_is_found_where_it_is_matched_and_where_it_is_named() -> None:
    path = files()[0]
    written = "def rule(it: First | Second):\n    match it:\n        case First():\n            return 1\n"
    assert list(_without_alias(path, ast.parse(written))) == [f"{name_of(path)}::rule"]
    named = "Either = First | Second\nFLAGS = READ | WRITE\n"
    assert list(_without_alias(path, ast.parse(named))) == [f"{name_of(path)}::Either"]
    maybe = written.replace("First | Second", "First | None")
    assert list(_without_alias(path, ast.parse(maybe))) == []


def test_a_catch_all_over_a_field_of_a_parameter_is_found() -> None:
    path = files()[0]
    head = "def rule(done: Operating):\n    match done.request:\n        case First():\n            return 1\n"
    fallen = ast.parse(f"{head}        case _:\n            return 2\n")
    assert list(_open_matches(path, fallen)) == [f"{name_of(path)}::rule"]
