"""The project's own source as trees, read once for all rules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "kipviz"
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@cache
def files(*floors: str) -> tuple[Path, ...]:
    """The Python files of some floors of the package, or of all of it."""
    places = [PACKAGE / floor for floor in floors] or [PACKAGE]
    found = [f for p in places for f in ([p] if p.suffix == ".py" else p.rglob("*.py"))]
    return tuple(sorted(f for f in found if "node_modules" not in f.parts))


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    """A file's name from the root of the project."""
    return path.relative_to(ROOT).as_posix()


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions and methods of a file."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def public(body: list[ast.stmt], before: str = "") -> Iterator[tuple[str, Definition]]:
    """The classes and functions that others may use, with their dotted names."""
    for node in body:
        if not isinstance(node, Definition) or node.name.startswith("_"):
            continue
        if any(isinstance(d, ast.Name) and d.id == "overload" for d in node.decorator_list):
            continue
        yield f"{before}{node.name}", node
        if isinstance(node, ast.ClassDef):
            yield from public(node.body, f"{before}{node.name}.")
