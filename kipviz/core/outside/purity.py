"""Checks that a reader's function is pure: it is called twice, so that state, dice and loops are noticed.

In the second call every set that the function makes is iterated in the opposite order. What the function prints is
caught, and a function that executes too many lines is stopped.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from contextvars import ContextVar
from io import StringIO
from types import FrameType
from typing import Any

LINES_MAX = 100_000
_BACKWARDS: ContextVar[bool] = ContextVar("backwards", default=False)


class TooLong(BaseException):
    """A function executed more than LINES_MAX lines; no `except Exception` of the function hides it."""


class Printed(BaseException):
    """A function printed, although it should only return its answer."""


def ask_once(
    function: Callable[..., object], asked: tuple[object, ...], *, backwards: bool
) -> object:
    """Return a function's answer; with `backwards` the sets that it makes are iterated in the opposite order.

    Raises:
        TooLong: if it is not done after LINES_MAX lines.
        Printed: if it printed.
    """
    left, printed = LINES_MAX, StringIO()

    def count(_frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        nonlocal left
        left -= event == "line"
        if left < 0:
            raise TooLong
        return count

    order, before = _BACKWARDS.set(backwards), sys.gettrace()
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            sys.settrace(count)
            try:
                answer = function(*asked)
            finally:
                sys.settrace(before)
    finally:
        _BACKWARDS.reset(order)
    if printed.getvalue():
        raise Printed
    return answer


def in_any_order(tree: ast.Module) -> ast.Module:
    """Return a syntax tree in which every new set is one of `ANY_ORDER`."""
    made: ast.Module = ast.fix_missing_locations(_Sets().visit(tree))
    return made


class _Sets(ast.NodeTransformer):
    """Puts sets with a reversible order where a function makes sets."""

    def visit_Set(self, node: ast.Set) -> ast.AST:
        self.generic_visit(node)
        return _call(ast.List(node.elts, ast.Load()), node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        self.generic_visit(node)
        return _call(ast.ListComp(node.elt, node.generators), node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        other = {"set": "_AnyOrder", "frozenset": "_AnyOrderFrozen"}.get(node.id)
        if other is None or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(ast.Name(other, node.ctx), node)


def _call(inner: ast.expr, at: ast.AST) -> ast.AST:
    return ast.copy_location(ast.Call(ast.Name("_AnyOrder", ast.Load()), [inner], []), at)


def _in_order(items: Iterator[object]) -> Iterator[object]:
    return iter(sorted(items, key=repr, reverse=_BACKWARDS.get()))


class AnyOrder(set[object]):
    """A set that is iterated in one order in the first call, and in the opposite order in the second."""

    def __iter__(self) -> Iterator[object]:
        return _in_order(super().__iter__())

    def pop(self) -> object:
        """Remove the element that comes first."""
        first = next(iter(self))
        self.remove(first)
        return first


class AnyOrderFrozen(frozenset[object]):
    """The same for a frozenset."""

    def __iter__(self) -> Iterator[object]:
        return _in_order(super().__iter__())


def _giving(kind: type, name: str) -> None:
    there = getattr(kind, name)

    def operation(self: object, *others: object) -> object:
        found = there(self, *others)
        return found if found is NotImplemented else kind(found)

    setattr(kind, name, operation)


for _kind_of_set in (AnyOrder, AnyOrderFrozen):
    for _name in ("__and__", "__or__", "__sub__", "__xor__", "copy", "difference"):
        _giving(_kind_of_set, _name)
    for _name in ("intersection", "symmetric_difference", "union"):
        _giving(_kind_of_set, _name)

# The names that `in_any_order` writes, for the namespace in which its tree is run.
ANY_ORDER: dict[str, object] = {"_AnyOrder": AnyOrder, "_AnyOrderFrozen": AnyOrderFrozen}
