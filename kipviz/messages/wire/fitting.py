"""Conversion of a message with fields of all versions to those of one version."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.schema import Field, fields_in, tagged_fields


def fit_fields(fields: Iterable[Field], version: int, values: Struct) -> Struct:
    """Return the fields of a structure that a version has, recursively."""
    fields = tuple(fields)
    found: Struct = {}
    for field in (*fields_in(fields, version), *tagged_fields(fields, version)):
        if field.name in values:
            found[field.name] = _fitting_value(field, version, values[field.name])
    return found


def _fitting_value(field: Field, version: int, value: Any) -> Any:
    if not field.fields or value is None:
        return value
    if field.is_array:
        return tuple(fit_fields(field.fields, version, each) for each in value)
    return fit_fields(field.fields, version, value)
