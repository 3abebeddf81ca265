"""The bytes of a message as plain text: one line for every field, with its position, value and type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kipviz.records.fields import Fields
from kipviz.views.page_parts import Shown

HEX_MAX = 8


class MessageField(NamedTuple):
    """One field of a message: `type` is empty for the heading of a structure."""

    depth: int
    name: str
    type: str
    note: str
    value: str
    at: int
    data: bytes


def places_of(message: Shown, tables: Shown) -> Iterator[MessageField]:
    """Yield every field of a payload's message in the order of its bytes."""
    shape = tables["shapes"][message["bytes"][0]]
    kind = tables["kinds"][shape["kind"]]
    data = bytes.fromhex(message["bytes"][1])
    at = 0
    counts: dict[int, tuple[str, int]] = {}
    for place, size in zip(shape["spans"][::2], shape["spans"][1::2], strict=True):
        told = place >= 0
        depth, name, type_, *more = kind["places"][place if told else ~place]
        note, names = [*more, "", ""][:2]
        counts = {d: count for d, count in counts.items() if d <= depth}
        if name.endswith("[]"):
            before, number = counts.get(depth, ("", -1))
            counts[depth] = (name, number + 1 if before == name else 0)
            name = f"{name[:-2]}[{counts[depth][1]}]"
        part = data[at : at + size]
        value = _value(type_, part)
        value = f"{value} {tables['names'].get(names, {}).get(value, '')}".rstrip()
        if not told:
            note = f"not modelled: default{f' ({note})' if note else ''}"
        yield MessageField(depth, name, type_, note, value, at, part)
        at += size


def dump(message: Shown, tables: Shown) -> str:
    """Render a payload's message as lines of text.

    `tables` are the payload's `wire`; a branch's message needs those of its branch, too.
    """
    kind = tables["kinds"][tables["shapes"][message["bytes"][0]]["kind"]]
    key = "no key" if kind["key"] < 0 else f"key {kind['key']}"
    size = len(message["bytes"][1]) // 2
    head = f"{kind['name']} · {key}, version {kind['version']} · {size} bytes"
    if kind["status"] != "shipped":
        head += f" · {kind['status']}: no release sends these bytes"
    found = list(places_of(message, tables))
    wide = max(2 * place.depth + len(place.name) for place in found)
    return "\n".join([head, *(_line(place, wide) for place in found)])


def _line(place: MessageField, wide: int) -> str:
    raw = place.data[: HEX_MAX - 1 if len(place.data) > HEX_MAX else HEX_MAX].hex(" ")
    if len(place.data) > HEX_MAX:
        raw += " …"
    name = f"{'  ' * place.depth}{place.name}"
    words = "  ".join(filter(None, (place.value, place.type, place.note)))
    return f"{place.at:>5}  {raw:<23}  {name:<{wide}}  {words}".rstrip()


def _value(type_: str, data: bytes) -> str:
    fields = Fields(data, flexible=type_.startswith("compact"))
    match type_.removeprefix("compact "):
        case "":
            return ""
        case "int8" | "int16" | "int32" | "int64":
            return str(fields.number(len(data), type_))
        case "uint32":
            return f"0x{data.hex()}"
        case "bool":
            return "true" if data[0] else "false"
        case "uuid":
            return fields.uuid(type_)
        case "varint" | "varlong":
            return str(fields.varint(type_, bits=64))
        case "unsigned varint":
            return str(fields.unsigned_varint(type_))
        case "tag":
            return f"tag {fields.unsigned_varint(type_)}"
        case "array":
            size = fields.unsigned_varint(type_) - 1 if fields.flexible else fields.number(4, type_)
            return "null" if size < 0 else "1 item" if size == 1 else f"{size} items"
        case "records":
            size = fields.unsigned_varint(type_) - 1 if fields.flexible else fields.number(4, type_)
            return "null" if size < 0 else f"{size} bytes"
        case "varint string":
            size = fields.varint(type_)
            return "null" if size < 0 else f"“{fields.take(size, type_).decode()}”"
        case "string":
            text = fields.nullable_string(type_)
            return "null" if text is None else f"“{text}”"
        case _:
            return f"{len(data)} bytes"
