"""The types of a page's data for its JavaScript, written from the schemas and typed dictionaries of Python.

``python -m kipviz.widgets.pages.page_types`` writes ``front/types/payload.d.ts``; `tsc` checks the page's sources against it.
A test fails if the file differs from the schemas. `declarations_of` makes those of another module's types.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import inspect as shapes

from kipviz.views.reports.blocks import ResultPayload
from kipviz.widgets.pages import payload
from kipviz.widgets.pages.score import ScoreNow
from kipviz.widgets.results.result_page import OpenAnswer
from kipviz.widgets.stepping.files import NoFile, SentFile
from kipviz.widgets.stepping.page_messages import Answer, Selection, TreeChanges, ViewState

DECLARATIONS = Path(__file__).parents[1] / "front" / "types" / "payload.d.ts"
# What a page is sent, and what it says about itself.
ROOTS: tuple[type, ...] = (
    payload.Payload,
    payload.Comparison,
    ResultPayload,
    OpenAnswer,
    Answer,
    SentFile,
    NoFile,
    TreeChanges,
    ScoreNow,
    Selection,
    ViewState,
)
HEAD = """\
// Made from the types in kipviz/widgets and kipviz/views by `python -m kipviz.widgets.pages.page_types`; do not edit.
// SPDX-License-Identifier: Apache-2.0
"""

PLAIN: dict[type[shapes.Type], str] = {
    shapes.AnyType: "unknown",
    shapes.BoolType: "boolean",
    shapes.FloatType: "number",
    shapes.IntType: "number",
    shapes.NoneType: "null",
    shapes.StrType: "string",
}


def declarations() -> str:
    """Return the text of the declarations: one interface for each schema that a page is sent."""
    return HEAD + declarations_of(schemas(ROOTS))


def declarations_of(types: Iterable[type]) -> str:
    """Return one interface for each type, without those that it uses."""
    return "".join(f"\n{_interface(each)}" for each in types)


def schemas(roots: Iterable[type]) -> Iterator[type]:
    """Return every schema and typed dictionary below some roots once, each after those that it uses."""
    seen: set[type] = set()

    def below(kind: shapes.Type) -> Iterator[type]:
        if isinstance(kind, shapes.StructType | shapes.TypedDictType):
            if kind.cls in seen:
                return
            seen.add(kind.cls)
            for field in kind.fields:
                yield from below(field.type)
            yield kind.cls
        for part in _parts(kind):
            yield from below(part)

    for root in roots:
        yield from below(shapes.type_info(root))


def _parts(kind: shapes.Type) -> tuple[shapes.Type, ...]:
    """Return the types that a list, tuple, dict or union consists of, or the schema of a part."""
    if isinstance(kind, shapes.Metadata):
        return (_of_part(kind),)
    if isinstance(kind, shapes.ListType | shapes.VarTupleType):
        return (kind.item_type,)
    if isinstance(kind, shapes.TupleType):
        return kind.item_types
    if isinstance(kind, shapes.DictType):
        return (kind.key_type, kind.value_type)
    return kind.types if isinstance(kind, shapes.UnionType) else ()


def _of_part(kind: shapes.Metadata) -> shapes.Type:
    """Return the schema that a part, a dictionary without fields in Python, names: ``Meta(extra={"schema": Branch})``."""
    return shapes.type_info((kind.extra or {})["schema"])


def _interface(schema: type) -> str:
    told = shapes.type_info(schema)
    assert isinstance(told, shapes.StructType | shapes.TypedDictType)
    first = re.sub(r"\s+", " ", (inspect.getdoc(schema) or "").partition("\n\n")[0])
    tag = []
    if isinstance(told, shapes.StructType) and told.tag is not None:
        tag = [f"  {told.tag_field}: {_literal(told.tag)};"]
    fields = tag + [
        f"  {field.encode_name}{'' if field.required else '?'}: {_type(field.type)};"
        for field in told.fields
    ]
    return "\n".join(
        [f"/** {first} */", f"export interface {schema.__name__} {{", *fields, "}", ""]
    )


def _type(kind: shapes.Type) -> str:
    """Return a type in TypeScript."""
    if isinstance(kind, shapes.StructType | shapes.TypedDictType):
        return str(kind.cls.__name__)
    if isinstance(kind, shapes.Metadata):
        return _type(_of_part(kind))
    if isinstance(kind, shapes.LiteralType):
        return " | ".join(_literal(value) for value in kind.values)
    parts = [_type(part) for part in _parts(kind)]
    if isinstance(kind, shapes.ListType | shapes.VarTupleType):
        return f"{parts[0]}[]" if parts[0].isidentifier() else f"Array<{parts[0]}>"
    if isinstance(kind, shapes.TupleType):
        return f"[{', '.join(parts)}]"
    if isinstance(kind, shapes.DictType):
        return f"Record<{parts[0]}, {parts[1]}>"
    if isinstance(kind, shapes.UnionType):
        return " | ".join(dict.fromkeys(parts))
    if type(kind) not in PLAIN:
        raise TypeError(
            f"a page's data has no {type(kind).__name__}: use {', '.join(map(_name, PLAIN))}, or a list, tuple, dict or Struct of them"
        )
    return PLAIN[type(kind)]


def _literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _name(kind: type[shapes.Type]) -> str:
    return kind.__name__.removesuffix("Type").lower()


if __name__ == "__main__":
    DECLARATIONS.write_text(declarations(), encoding="utf-8")
