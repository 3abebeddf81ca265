"""Every small change that can be made to a module: one operator, constant, guard, state or field at a time.

A change that makes every run fail at once says nothing about the tests, and one of a sentence says nothing
about the protocol: annotations, docstrings, sentences and required arguments are left as they are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from tests.tidy.source import ROOT, name_of

FLOORS = ("properties", "brokers", "clients", "cluster", "recordings")
COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}
STATE = re.compile(r"[A-Z][A-Z0-9_]*")
WORD = re.compile(r"[A-Za-z_][\w.-]*")


@dataclass(frozen=True)
class Mutant:
    """One change: the `number`-th of its file, where it stands, what stood there and what stands there now."""

    file: str
    number: int
    line: int
    kind: str
    before: str
    after: str
    function: str
    inside: (
        bool  # whether a function holds it: what none holds shows only when the module is imported
    )

    @property
    def place(self) -> str:
        """The file and the line."""
        return f"{self.file}:{self.line}"

    def __str__(self) -> str:
        return f"{self.place} {self.kind}: {self.before}  ->  {self.after}"


Put = Callable[[Any], None]


@dataclass
class Site:
    """A place in a tree, and what may stand there instead."""

    kind: str
    node: ast.AST
    instead: ast.AST | None
    put: Put
    at: At
    condition: bool  # whether only its truth is looked at


@dataclass(frozen=True)
class At:
    """Where a node stands: its function, its statement and how to exchange that, and whether it is in a pattern."""

    function: str
    inside: bool
    statement: ast.stmt | None
    put: Put | None
    pattern: bool


def modules(floor: str) -> tuple[Path, ...]:
    """The files of a floor."""
    return tuple(sorted((ROOT / "kipviz" / floor).rglob("*.py")))


def mutants(path: Path) -> tuple[Mutant, ...]:
    """Every change that can be made to a file, in the order of its text."""
    text = path.read_text(encoding="utf-8")
    return tuple(
        Mutant(
            name_of(path),
            number,
            site.node.lineno,  # type: ignore[attr-defined]
            site.kind,
            _short(site.node),
            _short(site.instead),
            site.at.function,
            site.at.inside,
        )
        for number, site in enumerate(sites(ast.parse(text), states(path)))
    )


def change_tree(mutant: Mutant) -> ast.Module:
    """The tree of the mutant's file with its one change made; every line keeps its number."""
    path = ROOT / mutant.file
    tree = ast.parse(path.read_text(encoding="utf-8"))
    change(list(sites(tree, states(path)))[mutant.number])
    return ast.fix_missing_locations(tree)


def change(site: Site) -> None:
    """Make a change in the tree that the site is of."""
    if site.instead is not None:
        for part in ast.walk(site.instead):
            if not hasattr(part, "lineno"):
                ast.copy_location(part, site.node)
    site.put(site.instead)


def _short(node: ast.AST | None) -> str:
    text = "nothing" if node is None else " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else f"{text[:97]}..."


def states(path: Path) -> dict[str, type[Enum]]:
    """The enumerations that a module knows by name: their members are its state names."""
    import importlib

    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Enum)
    }


def sites(tree: ast.Module, known: dict[str, type[Enum]]) -> Iterator[Site]:
    """Every place of a module, in the order of its text, whose enumerations are known."""
    yield from _walk_below(tree, known, At("", False, None, None, False))


def _walk_below(parent: ast.AST, known: dict[str, type[Enum]], at: At) -> Iterator[Site]:
    """Go through what stands below a node, in the order of the text, without what is no program."""
    for field, value in ast.iter_fields(parent):
        if field in ("annotation", "returns", "decorator_list", "bases", "type_params"):
            continue
        if isinstance(parent, ast.JoinedStr | ast.Assert | ast.Raise):
            continue  # a sentence, or what may not happen
        if isinstance(parent, ast.ClassDef) and field == "keywords":
            continue  # what kind of value a class is: frozen, and whether its hash is kept
        for index, node in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(node, ast.AST) or _is_sentence(parent, node):
                continue
            if isinstance(node, ast.If) and _only_types(node):
                continue
            put = _make_put(parent, field, index if isinstance(value, list) else None)
            there = _find_place(parent, field, node, put, at)
            condition = field in ("test", "guard", "ifs")
            for kind, old, instead in _instead(parent, field, node, known):
                yield Site(kind, old, instead, put, there, condition)
            yield from _walk_below(node, known, there)


def _find_place(parent: ast.AST, field: str, node: ast.AST, put: Put, at: At) -> At:
    """Where a node stands, from where its parent does."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        at = replace(at, function=".".join(filter(None, (at.function, node.name))))
    if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef) and field == "body":
        at = replace(at, inside=True)
    if isinstance(node, ast.stmt):
        at = replace(at, statement=node, put=put)
    return replace(at, pattern=isinstance(node, ast.pattern) or (at.pattern and field != "body"))


def _make_put(parent: ast.AST, field: str, index: int | None) -> Put:
    def put(node: ast.AST | None) -> None:
        if index is None:
            setattr(parent, field, node)
        elif node is None:
            del getattr(parent, field)[index]
        else:
            getattr(parent, field)[index] = node

    return put


def _is_sentence(parent: ast.AST, node: ast.AST) -> bool:
    """Tell docstrings, imports and annotated names without a value."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal):
        return True
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return True
    alone = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    # A module's names of types: Given = int | None.
    named = isinstance(parent, ast.Module) and isinstance(node, ast.Assign)
    return alone or (named and isinstance(node.value, ast.BinOp | ast.Subscript))


def _only_types(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


Change = tuple[str, ast.AST, ast.AST | None]


def _instead(
    parent: ast.AST, field: str, node: ast.AST, known: dict[str, type[Enum]]
) -> Iterator[Change]:
    """What may stand instead of a node."""
    if field in ("test", "guard") or (isinstance(parent, ast.comprehension) and field == "ifs"):
        yield from _guards(parent, node)
    match node:
        case ast.Compare(ops=[only]) if type(only) in COMPARED:
            yield "operator", node, _copy_with(node, ops=[COMPARED[type(only)]()])
        case ast.BinOp(op=operator) if type(operator) in COUNTED and not _is_text(node):
            yield "operator", node, _copy_with(node, op=COUNTED[type(operator)]())
        case ast.BoolOp(op=operator, values=values):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield "operator", node, _copy_with(node, op=other)
            for left_out in range(len(values)):
                rest = [v for n, v in enumerate(values) if n != left_out]
                yield "guard", node, rest[0] if len(rest) == 1 else _copy_with(node, values=rest)
        case ast.UnaryOp(op=ast.Not(), operand=operand) if field not in ("test", "guard"):
            yield "operator", node, operand
        case ast.Constant(value=bool() as value):
            yield "constant", node, ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield "constant", node, ast.Constant(value + 1)
        case ast.Constant(value=str() as value) if WORD.fullmatch(value):
            yield "constant", node, ast.Constant(f"{value}-")
        case ast.MatchSingleton(value=bool() as value):
            yield "constant", node, ast.MatchSingleton(not value)
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in known:
            if (other_state := _next_state(known[name], attr)) is not None:
                yield "state", node, _copy_with(node, attr=other_state)
        case ast.keyword(arg=str()) if _is_but(parent):
            yield "field", node.value, None
        case ast.IfExp(body=body, orelse=orelse):
            yield "guard", node, body
            yield "guard", node, orelse
        case ast.Break():
            yield "statement", node, ast.Continue()
        case ast.Continue():
            yield "statement", node, ast.Break()
        case ast.Expr(value=ast.Call()):
            yield "statement", node, ast.Pass()
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _names(value, name):
            yield "statement", node, ast.Pass()
        case ast.AugAssign():
            yield "statement", node, ast.Pass()
        case _:
            pass


def _guards(parent: ast.AST, node: Any) -> Iterator[Change]:
    """A condition negated, always true and never true; one that is a comparison is negated by its operator."""
    if isinstance(parent, ast.IfExp):
        if not isinstance(node, ast.Compare):
            yield "guard", node, _not(node)
        return  # its arms are the other two
    if not isinstance(node, ast.Compare) or len(node.ops) > 1 or type(node.ops[0]) not in _NEGATED:
        yield "guard", node, _not(node)
    if not isinstance(parent, ast.While):
        yield "guard", node, ast.Constant(True)
    yield "guard", node, ast.Constant(False)


_NEGATED = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)


def _not(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    return ast.UnaryOp(ast.Not(), node)


def _copy_with(node: Any, **fields: Any) -> Any:
    """The same node with other fields."""
    kept = dict(ast.iter_fields(node))
    return ast.copy_location(type(node)(**kept | fields), node)


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _next_state(states: type[Enum], name: str) -> str | None:
    members = list(states.__members__)
    if name not in members or not STATE.fullmatch(name) or len(members) == 1:
        return None
    return members[(members.index(name) + 1) % len(members)]


def _is_but(parent: ast.AST) -> bool:
    """A value with other fields: one of them may be left as it is."""
    return (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Attribute)
        and parent.func.attr == "but"
    )


def _names(value: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(value))
