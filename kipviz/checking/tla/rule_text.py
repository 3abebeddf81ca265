"""A rule's function as a formula of TLA+, if it is simple enough.

Comparisons, "and", "or", "not", sums, members of enums, numbers, texts, tuples, and returns after plain ifs are
translated. Any other rule has no formula, and the module contains a table of its answers instead.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import FunctionType, NoneType
from typing import Any, get_args

from kipviz.checking.tla.terms import INT_MAX, tla
from kipviz.designs.own_rule import Rule, question_of
from kipviz.designs.slot import Slot

_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "=",
    ast.NotEq: "#",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_COUNTED: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
# Names that a parameter cannot have in TLA+.
_RESERVED = frozenset(
    re.findall(
        "[a-z]+",
        """
    action assume assumption axiom boolean by case choose constant constants corollary def
    define domain else enabled except extends false have hide if in instance lambda lemma let
    local module new obvious omitted only other pick proof proposition prove qed recursive sf
    state string subset suffices take temporal then theorem true unchanged union use variable
    variables vars wf with witness init next spec broken design
    """,
    )
)


class _NoFormula(Exception):
    """The function cannot be written as a formula."""


def parameters(rule: Callable[..., object], others: Sequence[str]) -> tuple[str, ...]:
    """Return the names of a rule's arguments in TLA+; `others` are names that are in use."""
    taken = {name.lower() for name in others}
    return tuple(
        f"{name}_" if name.lower() in _RESERVED or name.lower() in taken else name
        for name in _arguments(rule)
    )


def formula(slot: Slot, rule: Callable[..., object], names: Sequence[str]) -> str | None:
    """Return the right-hand side of a rule's definition with its arguments called `names`, or None if there is none."""
    made, outside = _source(rule)
    if made is None:
        return None
    takes, gives = question_of(slot)
    kinds = dict(zip(names, takes, strict=True))
    places = dict(zip(_arguments(rule), names, strict=True))
    body = made.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    try:
        return _Translation(places, kinds, outside, optional=NoneType in get_args(gives)).block(
            body
        )
    except _NoFormula:
        return None


def _arguments(rule: Callable[..., object]) -> tuple[str, ...]:
    if isinstance(rule, Rule):
        made, _ = _source(rule)
        return tuple(each.arg for each in made.args.args) if made is not None else ()
    return tuple(inspect.signature(rule).parameters)


def _source(rule: Callable[..., object]) -> tuple[ast.FunctionDef | None, Mapping[str, Any]]:
    """Return the definition of a rule and the outer names that it may use."""
    if isinstance(rule, Rule):
        tree, outside = ast.parse(rule.text), rule.names
    elif isinstance(rule, FunctionType):
        tree, outside = ast.parse(textwrap.dedent(inspect.getsource(rule))), rule.__globals__
    else:
        return None, {}
    made = tree.body[-1]
    return (made if isinstance(made, ast.FunctionDef) else None), outside


class _Translation:
    """Translates Python to TLA+; raises _NoFormula for anything else."""

    def __init__(
        self,
        places: Mapping[str, str],
        kinds: Mapping[str, object],
        outside: Mapping[str, Any],
        *,
        optional: bool,
    ) -> None:
        self._places, self._kinds, self._outside = places, kinds, outside
        self._optional = optional

    def block(self, body: Sequence[ast.stmt]) -> str:
        """Translate a block's result: one return, or an if with a return on each path."""
        if not body:
            raise _NoFormula
        first = body[0]
        if isinstance(first, ast.Return) and first.value is not None:
            if self._optional:  # a value that may be None is a tuple of one or no element
                return self._nothing(first.value)
            return self.value(first.value)
        if isinstance(first, ast.If):
            other = self.block(first.orelse or body[1:])
            return f"IF {self.value(first.test)} THEN {self.block(first.body)} ELSE {other}"
        raise _NoFormula

    def _nothing(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant) and node.value is None:
            return "<<>>"
        raise _NoFormula

    def value(self, node: ast.expr) -> str:
        """Translate an expression."""
        match node:
            case ast.Name(id=name) if name in self._places:
                return self._places[name]
            case ast.Constant(value=bool() | int() | str() as value):
                return self._constant(value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
                return self._constant(-value)
            case ast.Name() | ast.Attribute():
                return self._constant(self._from_outside(node))
            case ast.Tuple(elts=elements):
                return f"<<{', '.join(map(self.value, elements))}>>"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"~({self.value(operand)})"
            case ast.BoolOp(op=op, values=values):
                sign = " /\\ " if isinstance(op, ast.And) else " \\/ "
                return f"({sign.join(map(self.value, values))})"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                ways = f"THEN {self.value(body)} ELSE {self.value(orelse)}"
                return f"(IF {self.value(test)} {ways})"
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _COUNTED:
                return f"({self.value(left)} {_COUNTED[type(op)]} {self.value(right)})"
            case ast.Compare():
                return self._comparison(node)
            case _:
                raise _NoFormula

    def _comparison(self, node: ast.Compare) -> str:
        if len(node.ops) != 1:
            raise _NoFormula
        op, right = type(node.ops[0]), node.comparators[0]
        left = self._translate_side(node.left, right)
        if op in (ast.In, ast.NotIn) and isinstance(right, ast.Tuple | ast.List | ast.Set):
            sign = "\\in" if op is ast.In else "\\notin"
            return f"({left} {sign} {{{', '.join(map(self.value, right.elts))}}})"
        if op in (ast.Is, ast.IsNot) and self._is_member(right):
            op = ast.Eq if op is ast.Is else ast.NotEq
        if op not in _COMPARED:
            raise _NoFormula
        return f"({left} {_COMPARED[op]} {self._translate_side(right, node.left)})"

    def _translate_side(self, node: ast.expr, other: ast.expr) -> str:
        """Translate one side of a comparison: beside a number, a member of an enum is its number."""
        if self._is_member(node) and not self._is_member(other):
            member = self._from_outside(node)
            kind = (
                self._kinds.get(self._places.get(other.id, ""))
                if isinstance(other, ast.Name)
                else None
            )
            if kind is int and isinstance(member, int):
                return self._constant(int(member))
            if kind is not type(member):
                raise _NoFormula
        return self.value(node)

    def _is_member(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Attribute) and isinstance(self._from_outside(node), Enum)

    def _from_outside(self, node: ast.expr) -> object:
        match node:
            case ast.Name(id=name) if name in self._outside and name not in self._places:
                return self._outside[name]
            case ast.Attribute(value=of, attr=name):
                home = self._from_outside(of)
                if isinstance(home, type) and issubclass(home, Enum):
                    return home.__members__.get(name)
            case _:
                pass
        raise _NoFormula

    def _constant(self, value: object) -> str:
        if isinstance(value, Enum | str | bool):
            return tla(value.name if isinstance(value, Enum) else value)
        if isinstance(value, int) and abs(value) <= INT_MAX:
            return str(value) if value >= 0 else f"({value})"
        raise _NoFormula
