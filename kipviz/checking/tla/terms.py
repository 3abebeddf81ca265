"""A value of the model as a term, which both TLA+ and the Informal Trace Format can express.

A term is a bool, an int, a text, a tuple of terms, a `Record` or a `Mapping`. Equal values have equal terms and
different values different ones: a field that is left out has its default, an enum member is its name, and a value that
may be None is a tuple of one or no element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec

from kipviz.core.log import Log
from kipviz.core.table import Table
from kipviz.core.values import TextEnum, TextValue, Value

# The largest number that TLC can count with; a larger number is written as a text.
INT_MAX = 2**31 - 1


class Record(Value, frozen=True):
    """Fields by name."""

    fields: tuple[tuple[str, Any], ...]


class Mapping(Value, frozen=True):
    """Values by keys that are terms, too."""

    pairs: tuple[tuple[Any, Any], ...]


Term: TypeAlias = bool | int | str | tuple[Any, ...] | Record | Mapping


def term_of(value: object, kind: object = None) -> Term:
    """Return the term of a value; `kind` is the type declared for it, None if there is none.

    Raises:
        TypeError: if it contains what no value of the model contains.
    """
    if kind is not None and NoneType in (kinds := _kinds(kind)):
        others = [one for one in kinds if one is not NoneType]
        return () if value is None else (term_of(value, others[0] if len(others) == 1 else None),)
    if value is None:
        return ()
    if isinstance(value, TextEnum):
        return value.value
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, bool | str):
        return value
    if isinstance(value, TextValue):
        return value.text
    if isinstance(value, int):
        return value if abs(value) <= INT_MAX else str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Table):
        return Mapping(tuple((term_of(key), term_of(each)) for key, each in value.items()))
    if isinstance(value, tuple | Log):
        return tuple(_elements(value, kind))
    if isinstance(value, msgspec.Struct):
        return Record((("is_a", type(value).__name__), *_fields(value)))
    raise TypeError(f"a {type(value).__name__} has no term")


def varying(values: Sequence[object]) -> list[Term]:
    """Return terms of different values of one position, with nothing but what distinguishes them."""
    firsts = values[0]
    alike = {type(value) for value in values}
    if (
        len(alike) == 1
        and isinstance(firsts, msgspec.Struct)
        and not isinstance(firsts, Table | Log | TextValue)
    ):
        hints = _hints(type(firsts))
        columns = {
            name: [getattr(value, name) for value in values] for name in firsts.__struct_fields__
        }
        return _join_columns(
            {
                name: _column(column, hints[name])
                for name, column in columns.items()
                if any(each != column[0] for each in column)
            },
            len(values),
        )
    if len(alike) == 1 and isinstance(firsts, Table):
        keys = tuple(firsts.keys())
        if all(tuple(value.keys()) == keys for value in values if isinstance(value, Table)):
            tables = [value for value in values if isinstance(value, Table)]
            rows: dict[object, list[Term]] = {
                key: varying([table[key] for table in tables])
                for key in keys
                if any(table[key] != tables[0][key] for table in tables)
            }
            return [
                Mapping(tuple((term_of(key), column[at]) for key, column in rows.items()))
                for at in range(len(values))
            ]
    return [term_of(value) for value in values]


def records(values: Sequence[object]) -> list[Term]:
    """Return terms of the different values of one part; a value of another kind, such as None, gets its own term."""
    kinds: dict[type, list[int]] = {}
    for at, value in enumerate(values):
        kinds.setdefault(type(value), []).append(at)
    found: list[Term] = [()] * len(values)
    for places in kinds.values():
        terms = varying([values[at] for at in places])
        for at, term in zip(places, terms, strict=True):
            found[at] = term
    return found


def tla(term: Term) -> str:
    """Render a term in TLA+."""
    if isinstance(term, bool):
        return "TRUE" if term else "FALSE"
    if isinstance(term, int):
        return str(term)
    if isinstance(term, str):
        return quote_text(term)
    if isinstance(term, Record):
        return f"[{', '.join(f'{name} |-> {tla(each)}' for name, each in term.fields)}]"
    if isinstance(term, Mapping):
        pairs = (f"{tla(key)} :> {tla(each)}" for key, each in term.pairs)
        return f"({' @@ '.join(pairs)})" if term.pairs else "<<>>"
    return f"<<{', '.join(map(tla, term))}>>"


def itf(term: Term) -> Any:
    """Return a term in the JSON of the Informal Trace Format."""
    if isinstance(term, bool | str):
        return term
    if isinstance(term, int):
        return {"#bigint": str(term)}
    if isinstance(term, Record):
        return {name: itf(each) for name, each in term.fields}
    if isinstance(term, Mapping):
        return {"#map": [[itf(key), itf(each)] for key, each in term.pairs]}
    return {"#tup": [itf(each) for each in term]}


def quote_text(text: str) -> str:
    """Return a text as a TLA+ string in ASCII; any other character is written by its number, u{e9}."""
    return f'"{"".join(map(_letter, text))}"'


def _letter(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    return letter if " " <= letter <= "~" else f"u{{{ord(letter):x}}}"


def _fields(value: msgspec.Struct) -> Iterator[tuple[str, Term]]:
    hints = _hints(type(value))
    for field in msgspec.structs.fields(type(value)):
        each = getattr(value, field.name)
        if field.default is msgspec.NODEFAULT or each != field.default:
            yield field.name, term_of(each, hints[field.name])


def _column(values: Sequence[object], kind: object) -> list[Term]:
    if len({type(value) for value in values}) == 1 and NoneType not in _kinds(kind):
        return varying(values)
    return [term_of(value, kind) for value in values]


def _join_columns(columns: dict[str, list[Term]], rows: int) -> list[Term]:
    return [
        Record(tuple((name, column[at]) for name, column in columns.items())) for at in range(rows)
    ]


def _elements(values: tuple[object, ...] | Log[Any], kind: object) -> Iterator[Term]:
    inner = get_args(kind) if get_origin(kind) is tuple else ()
    for at, each in enumerate(values):
        if len(inner) == 2 and inner[1] is Ellipsis:
            yield term_of(each, inner[0])
        else:
            yield term_of(each, inner[at] if at < len(inner) else None)


def _kinds(kind: object) -> tuple[object, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else ()


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
