"""Which changes a test would see: every place of a change is watched while the test runs without any change.

A place tells where it is looked at what the change would have given there. A test in which that is the same every
time cannot tell the change apart, and is not tried. What cannot be worked out twice without doing something
twice (a call, a statement, a pattern) counts as seen where it is reached.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from tests.mutants.operators import Mutant, Site, sites, states
from tests.tidy.source import ROOT

NAME = "__touched__"
# Calls of these change nothing, whatever they are called with.
PURE = {"len", "isinstance", "min", "max", "tuple", "frozenset", "set", "sorted", "abs", "bool"}
hits: set[str] = set()
Row = tuple[str, Callable[[], Any] | None]


def key(mutant: Mutant) -> str:
    """The name of a change's place; what only an import runs is named by its file."""
    return f"{mutant.file}#{mutant.number if mutant.inside else ''}"


def note_touched(value: Any, rows: tuple[Row, ...], condition: bool = False) -> Any:
    """Note each change that would have given something else here, and give back what there is."""
    for name, other in rows:
        if name not in hits and (other is None or _differs(value, other, condition)):
            hits.add(name)
    return value


def _differs(value: Any, other: Callable[[], Any], condition: bool) -> bool:
    try:
        changed = other()
        if condition:
            return bool(value) is not bool(changed)
        return type(value) is not type(changed) or bool(value != changed)
    except Exception:  # noqa: BLE001  the change fails here: that is seen, too
        return True


def watch_file(file: str, mutants: Iterable[Mutant]) -> ast.Module:
    """The tree of a file in which the places of these changes are watched."""
    setattr(builtins, NAME, note_touched)
    path = ROOT / file
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = list(sites(tree, states(path)))
    values: dict[int, list[tuple[str, Site, ast.expr | None]]] = defaultdict(list)
    statements: dict[int, list[tuple[str, Site]]] = defaultdict(list)
    outside = False
    for mutant in mutants:
        site = found[mutant.number]
        if not mutant.inside:
            outside = True
        elif isinstance(site.node, ast.expr) and not site.at.pattern and site.kind != "field":
            again = copy.deepcopy(site.instead) if _is_pure(site.instead) else None
            values[id(site.node)].append((key(mutant), site, again))  # type: ignore[arg-type]
        else:
            statements[id(site.at.statement)].append((key(mutant), site))
    for group in values.values():
        site = group[0][1]
        rows = [(name, again) for name, _, again in group]
        site.put(_call(site.node, rows, site.condition))  # type: ignore[arg-type]
    for waiting in statements.values():
        at = waiting[0][1].at
        test = _call(ast.Constant(True), [(name, None) for name, _ in waiting])
        assert at.put is not None
        at.put(ast.If(test, [at.statement], []))
    if outside:
        _watch_module(tree, f"{file}#")
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            if not hasattr(child, "lineno") and hasattr(node, "lineno"):
                ast.copy_location(child, node)
    return ast.fix_missing_locations(tree)


def _watch_module(tree: ast.Module, name: str) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body.insert(0, ast.Expr(_call(ast.Constant(True), [(name, None)])))


def _call(
    value: ast.expr, rows: Iterable[tuple[str, ast.expr | None]], condition: bool = False
) -> ast.Call:
    nothing = ast.arguments([], [], None, [], [], None, [])
    told: list[ast.expr] = [
        ast.Tuple(
            [ast.Constant(name), ast.Lambda(nothing, again) if again else ast.Constant(None)],
            ast.Load(),
        )
        for name, again in rows
    ]
    words = [value, ast.Tuple(told, ast.Load()), ast.Constant(condition)]
    return ast.Call(ast.Name(NAME, ast.Load()), words, [])


def _is_pure(node: ast.AST | None) -> bool:
    """Whether a value can be worked out once more without doing anything."""
    if not isinstance(node, ast.expr):
        return False
    for part in ast.walk(node):
        if isinstance(part, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
            return False
        if isinstance(part, ast.Call) and not (
            isinstance(part.func, ast.Name) and part.func.id in PURE
        ):
            return False
    return True
