"""The codec: values to bytes and back, field by field, with the place of every field.

A structure is a dict from Kafka's field names to values, an array a tuple, null is None, a topic id the 22 letters that
Kafka prints. A field without a value gets its default and is marked as not given. A tag that the schema does not have
is kept under its number, "#7".

Source: org.apache.kafka.common.protocol.MessageUtil and the generated message classes.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from kipviz.core.values import Value
from kipviz.messages.wire.schema import ZERO_ID, Field, Schema, covers, fields_in, tagged_fields
from kipviz.records.fields import Fields, FieldsError

Struct = dict[str, Any]

SIZES = {"int8": 1, "int16": 2, "int32": 4, "int64": 8}
TAGS = "tagged fields"
TAGS_TYPE = "unsigned varint"
# Bytes with a length before them, whatever their content; a part that was encoded separately keeps its places.
OPAQUE = ("bytes", "records")
PRESENCE = "int8"  # the byte before a structure that may be null: 1, or -1 for null


class Span(Value, frozen=True):
    """The place of one field: `told` says whether its value was given or is a default.

    A structure starts with a span of no bytes and no type, so that its fields have a heading. The path is in Kafka's
    names, an item of an array is "Topics[]".
    """

    path: str
    type: str
    start: int
    size: int
    told: bool = True


class Encoded(Value, frozen=True):
    """Some bytes, and the field of each of them."""

    data: bytes
    spans: tuple[Span, ...]


class WireError(ValueError):
    """The bytes are not the message that they claim to be, or a value does not fit the schema.

    Attributes:
        field: the path of the field, in Kafka's names.
        at: the offset of the first wrong byte; -1 for a wrong value.
    """

    def __init__(self, field: str, at: int, why: str) -> None:
        where = f"{field}, byte {at}" if at >= 0 else field
        super().__init__(f"{where}: {why}")
        self.field = field
        self.at = at


def encode(
    schema: Schema, version: int, values: Struct, defaults: Mapping[str, Any] | None = None
) -> Encoded:
    """Encode a structure.

    Args:
        schema: its fields.
        version: which of them, and how.
        values: the known values.
        defaults: values, by path, for fields that are not given, where these are not the
            schema's defaults.

    Raises:
        WireError: a value does not fit its field, or this version has no such field.
    """
    out = Writer(version, defaults or {}, flexible=covers(schema.flexible, version))
    out.heading(schema.name)
    out.struct(schema.fields, values, schema.name)
    return out.finish()


def decode(schema: Schema, version: int, data: bytes, start: int = 0) -> tuple[Struct, Encoded]:
    """Decode a structure that reaches from `start` to the end of the bytes.

    Raises:
        WireError: the bytes are something else; it names the field and the byte.
    """
    values, found = decode_head(schema, version, data, start)
    end = start + len(found.data)
    if end != len(data):
        raise WireError(schema.name, end, f"{len(data) - end} bytes follow the last field")
    return values, found


def decode_head(
    schema: Schema, version: int, data: bytes, start: int = 0
) -> tuple[Struct, Encoded]:
    """Decode a structure from `start` on; more bytes may follow.

    Raises:
        WireError: the bytes are something else; it names the field and the byte.
    """
    if not covers(schema.versions, version):
        raise WireError(schema.name, start, f"version {version} is outside {schema.versions}")
    reader = Reader(data, start, version, flexible=covers(schema.flexible, version))
    reader.heading(schema.name)
    try:
        values = reader.struct(schema.fields, schema.name)
    except FieldsError as wrong:
        raise WireError(reader.path, wrong.at, wrong.why) from wrong
    return values, Encoded(data[start : reader.fields.at], tuple(reader.spans))


def unsigned_varint(value: int) -> bytes:
    """Encode a number with seven bits to a byte, lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def type_words(field: Field, *, compact: bool) -> str:
    """Return the type of a field's bytes, in the words of Kafka's protocol guide."""
    if field.is_array:
        return "compact array" if compact else "array"
    return _item_words(field, compact=compact)


def _item_words(field: Field, *, compact: bool) -> str:
    if field.item in ("string", *OPAQUE):
        return f"compact {field.item}" if compact else field.item
    return field.item


class Writer:
    """Bytes that grow field by field."""

    def __init__(
        self,
        version: int = 0,
        defaults: Mapping[str, Any] | None = None,
        *,
        flexible: bool = True,
    ) -> None:
        self.data = bytearray()
        self.spans: list[Span] = []
        self._flexible = flexible
        self._version = version
        self._defaults = defaults or {}

    def heading(self, path: str) -> None:
        """Begin a structure."""
        self.spans.append(Span(path, "", len(self.data), 0))

    def put(self, path: str, kind: str, data: bytes, *, told: bool = True) -> None:
        """Append the bytes of one field."""
        self.spans.append(Span(path, kind, len(self.data), len(data), told))
        self.data += data

    def struct(self, fields: tuple[Field, ...], values: Struct, path: str) -> None:
        """Append all fields of a structure, then its tagged ones."""
        known = fields_in(fields, self._version)
        tagged = tagged_fields(fields, self._version) if self._flexible else ()
        names = {f.name for f in (*known, *tagged)}
        for name in values:
            if name not in names and not name.startswith("#"):
                raise WireError(f"{path}.{name}", -1, f"version {self._version} has no such field")
        for field in known:
            self._field(field, values, f"{path}.{field.name}")
        if self._flexible:
            self._tags(tagged, values, path)

    def _tags(self, tagged: tuple[Field, ...], values: Struct, path: str) -> None:
        # A tagged field is left out if it has its default value.
        given: dict[int, Field | bytes] = {
            f.tag: f for f in tagged if f.name in values and not _is_default(f, values[f.name])
        }
        given |= {int(name[1:]): raw for name, raw in values.items() if name.startswith("#")}
        self.put(f"{path}.{TAGS}", TAGS_TYPE, unsigned_varint(len(given)))
        for tag, field in sorted(given.items()):
            if isinstance(field, bytes):
                self.put(f"{path}.#", "tag", unsigned_varint(tag) + unsigned_varint(len(field)))
                self.put(f"{path}.# bytes", "bytes", field)
                continue
            where = f"{path}.{field.name}"
            inner = Writer(self._version, self._defaults, flexible=self._flexible)
            inner._field(field, values, where)
            head = unsigned_varint(tag) + unsigned_varint(len(inner.data))
            self.put(f"{where} tag", "tag", head)
            self.append(inner.finish())

    def _field(self, field: Field, values: Struct, path: str) -> None:
        told = field.name in values
        value = values[field.name] if told else self._defaults.get(path, field.empty)
        compact = self._flexible and field.flexible
        kind = type_words(field, compact=compact)
        if value is None and not covers(field.nullable, self._version):
            raise WireError(path, -1, "may not be null")
        if field.is_array:
            self._array(field, value, path, kind, told)
        elif field.fields:
            if covers(field.nullable, self._version):
                self.put(path, PRESENCE, b"\xff" if value is None else b"\x01", told=told)
            else:
                self.heading(path)
            if value is not None:
                self.struct(field.fields, value, path)
        elif field.item in OPAQUE:
            self._opaque(value, path, kind, told)
        else:
            self.put(path, kind, _primitive(field, value, path, compact=compact), told=told)

    def _array(self, field: Field, value: Any, path: str, kind: str, told: bool) -> None:
        self.put(path, kind, self._length(-1 if value is None else len(value)), told=told)
        for item in value or ():
            where = f"{path}[]"
            if field.fields:
                self.heading(where)
                self.struct(field.fields, item, where)
            else:
                raw = _primitive(field, item, where, compact=self._flexible)
                self.put(where, _item_words(field, compact=self._flexible), raw, told=told)

    def _opaque(self, value: Encoded | bytes | None, path: str, kind: str, told: bool) -> None:
        if not isinstance(value, Encoded):
            inner = (Span("bytes", "bytes", 0, len(value)),) if value else ()
            value = None if value is None else Encoded(value, inner)
        self.put(path, kind, self._length(-1 if value is None else len(value.data)), told=told)
        if value is not None:
            self.append(value, f"{path}.")

    def append(self, part: Encoded, prefix: str = "") -> None:
        """Append bytes that were encoded separately."""
        at = len(self.data)
        self.spans += (
            Span(prefix + s.path, s.type, s.start + at, s.size, s.told) for s in part.spans
        )
        self.data += part.data

    def finish(self) -> Encoded:
        """Return the encoded bytes."""
        return Encoded(bytes(self.data), tuple(self.spans))

    def _length(self, size: int) -> bytes:
        return unsigned_varint(size + 1) if self._flexible else size.to_bytes(4, "big", signed=True)


def _is_default(field: Field, value: Any) -> bool:
    if field.fields and not field.is_array:
        return all(f.name not in value or value[f.name] == f.empty for f in field.fields)
    return bool(value == field.empty)


def _primitive(field: Field, value: Any, path: str, *, compact: bool) -> bytes:
    kind = field.item
    try:
        if kind == "string":
            # Half a surrogate pair becomes a question mark, as in Java's getBytes.
            raw = b"" if value is None else value.encode("utf-8", "replace")
            size = -1 if value is None else len(raw)
            head = unsigned_varint(size + 1) if compact else size.to_bytes(2, "big", signed=True)
            return head + raw
        if kind == "uuid":
            raw = base64.urlsafe_b64decode(value + "==")
            if len(value) != len(ZERO_ID) or len(raw) != len(ZERO_ID) * 3 // 4:
                raise ValueError("16 bytes are 22 letters")
            return raw
        if kind == "bool":
            return bytes([bool(value)])
        return int(value).to_bytes(SIZES[kind], "big", signed=True)
    except (OverflowError, TypeError, AttributeError, ValueError) as wrong:
        raise WireError(path, -1, f"{value!r} is not of type {kind}") from wrong


class Reader:
    """Bytes that are read field by field; `path` is the current field."""

    def __init__(self, data: bytes, start: int, version: int, *, flexible: bool) -> None:
        self.fields = Fields(data, flexible=flexible)
        self.fields.at = start
        self.spans: list[Span] = []
        self.path = ""
        self._flexible = flexible
        self._version = version
        self._start = start

    def heading(self, path: str) -> None:
        """Begin a structure."""
        self.path = path
        self.spans.append(Span(path, "", self.fields.at - self._start, 0))

    def struct(self, fields: tuple[Field, ...], path: str) -> Struct:
        """Read all fields of a structure, then its tagged ones."""
        found: Struct = {}
        for field in fields_in(fields, self._version):
            found[field.name] = self._field(field, f"{path}.{field.name}")
        if self._flexible:
            self._tags(tagged_fields(fields, self._version), path, found)
        return found

    def _tags(self, tagged: tuple[Field, ...], path: str, found: Struct) -> None:
        known = {f.tag: f for f in tagged}
        reader = self.fields
        self.path = f"{path}.{TAGS}"
        start = reader.at
        count = reader.unsigned_varint("the number of tags")
        self._put(self.path, TAGS_TYPE, start)
        last = -1
        for _ in range(count):
            self.path = f"{path}.{TAGS}"
            start = reader.at
            tag = reader.unsigned_varint("a tag")
            if tag <= last:
                raise FieldsError(start, f"tag {tag} follows tag {last}")
            last = tag
            size = reader.unsigned_varint(f"the size of tag {tag}")
            field = known.get(tag)
            if field is None:
                self._put(f"{path}.#", "tag", start)
                start = reader.at
                found[f"#{tag}"] = reader.take(size, f"tag {tag}")
                self._put(f"{path}.# bytes", "bytes", start)
                continue
            where = f"{path}.{field.name}"
            self._put(f"{where} tag", "tag", start)
            end = reader.at + size
            found[field.name] = self._field(field, where)
            if reader.at != end:
                self.path = where
                raise FieldsError(reader.at, f"tag {tag} says that it ends at byte {end}")

    def _field(self, field: Field, path: str) -> Any:
        self.path = path
        compact = self._flexible and field.flexible
        kind = type_words(field, compact=compact)
        start = self.fields.at
        if field.is_array:
            return self._array(field, path, kind)
        if field.fields:
            return self._struct_or_null(field, path)
        if field.item in OPAQUE:
            return self._opaque(field, path, kind)
        value = self._primitive(field, compact=compact)
        self._null_only_where_allowed(field, value, start)
        self._put(path, kind, start)
        return value

    def _struct_or_null(self, field: Field, path: str) -> Struct | None:
        if not covers(field.nullable, self._version):
            self.heading(path)
            return self.struct(field.fields, path)
        start = self.fields.at
        there = self.fields.number(1, "whether it is there") >= 0
        self._put(path, PRESENCE, start)
        return self.struct(field.fields, path) if there else None

    def _array(self, field: Field, path: str, kind: str) -> tuple[Any, ...] | None:
        start = self.fields.at
        size = self.fields.array_size("the array")
        self._put(path, kind, start)
        if size == -1:
            self._null_only_where_allowed(field, None, start)
            return None
        where = f"{path}[]"
        return tuple(self._item(field, where) for _ in range(size))

    def _item(self, field: Field, path: str) -> Any:
        self.path = path
        if field.fields:
            self.heading(path)
            return self.struct(field.fields, path)
        start = self.fields.at
        value = self._primitive(field, compact=self._flexible)
        self._put(path, _item_words(field, compact=self._flexible), start)
        return value

    def _opaque(self, field: Field, path: str, kind: str) -> bytes | None:
        start = self.fields.at
        size = self._length()
        if size == -1:
            self._null_only_where_allowed(field, None, start)
            self._put(path, kind, start)
            return None
        self._put(path, kind, start)
        start = self.fields.at
        found = self.fields.take(size, f"the {field.item}")
        if found:
            self._put(f"{path}.bytes", "bytes", start)
        return found

    def _length(self) -> int:
        if self._flexible:
            return self.fields.unsigned_varint("the length") - 1
        return self.fields.number(4, "the length")

    def _primitive(self, field: Field, *, compact: bool) -> Any:
        kind = field.item
        if kind == "string":
            self.fields.flexible = compact
            value = self.fields.nullable_string("the string")
            self.fields.flexible = self._flexible
            return value
        if kind == "uuid":
            return self.fields.uuid("the id")
        if kind == "bool":
            return self.fields.number(1, "the flag") != 0
        return self.fields.number(SIZES[kind], f"an {kind}")

    def _null_only_where_allowed(self, field: Field, value: Any, start: int) -> None:
        if value is None and not covers(field.nullable, self._version):
            raise FieldsError(start, "null is not allowed")

    def _put(self, path: str, kind: str, start: int) -> None:
        self.spans.append(Span(path, kind, start - self._start, self.fields.at - start))
