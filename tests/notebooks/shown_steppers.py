"""Which code cell moves a stepper that an earlier cell shows: after Run All that picture would not fit its text."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Self, get_type_hints

from nbformat import NotebookNode

from kipviz.widgets.stepping.stepper_commands import Asking
from tests.notebooks.canonical import WIDGET


def moves() -> frozenset[str]:
    """The stepper's methods that move its cursor: those that give the stepper itself back."""
    methods = {name: made for name, made in vars(Asking).items() if callable(made)}
    return frozenset(
        name for name, made in methods.items() if get_type_hints(made).get("return") is Self
    )


def list_moves(code: Sequence[NotebookNode]) -> list[str]:
    """Each code cell that moves what an earlier one shows, in a sentence."""
    known = moves()
    found: list[str] = []
    shown: dict[str, int] = {}  # a variable, and the code cell that shows its stepper
    for number, cell in enumerate(code, start=1):
        statements = ast.parse(cell.source).body
        for statement in statements:
            found += (
                f"code cell {number} moves {name}, which code cell {shown[name]} shows; "
                f"show {name}.copy(step) there, or give this one a run of its own"
                for name in dict.fromkeys(_moved_in(statement, known))
                if name in shown
            )
            for name in _bound_in(statement):
                shown.pop(name, None)
        last = statements[-1] if statements else None  # a cell may be a comment alone
        name = _variable(last.value, known) if isinstance(last, ast.Expr) else ""
        if name and any(WIDGET in output.get("data", {}) for output in cell.outputs):
            shown[name] = number
    return found


def _moved_in(statement: ast.stmt, known: frozenset[str]) -> Iterator[str]:
    """The variables whose attributes a statement sets, or that it tells to move."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Assign):
            named = [each.value for each in node.targets if isinstance(each, ast.Attribute)]
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute):
            named = [node.target.value]
        elif isinstance(node, ast.Call):
            named = [node]
        else:
            continue
        moving = (each for each in named if not isinstance(each, ast.Call) or _is_move(each, known))
        yield from (_variable(each, known) for each in moving)


def _is_move(call: ast.Call, known: frozenset[str]) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in known


def _bound_in(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _variable(node: ast.expr, known: frozenset[str]) -> str:
    """The variable that is moved and given back; "" where a call gives something else, such as a copy."""
    while isinstance(node, ast.Call) and _is_move(node, known):
        assert isinstance(node.func, ast.Attribute)
        node = node.func.value
    return node.id if isinstance(node, ast.Name) else ""
