"""Split a stored run into two files and write its lists as columns, so that it loads quickly.

The first file has what the stepper draws and steps through. The second one has what a reader requests afterwards: the
bytes of the messages, the choices, the questions about each step and the settings that can be changed. `unpack.js`
reads both.

A list of objects becomes ``{"~o": [[name, column], ...]}``; a list of lists of equal length becomes ``{"~l": [column,
...]}``; ascending integers are written as differences, ``{"~d": [...]}``. Then the values of one field in a hundred
rows are adjacent, and gzip finds the repetitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

# Parts that are not visible before the whole run has loaded, each with its placeholder.
LATER: dict[str, Any] = {
    "wire": {},
    "choices": [],
    "asks": {},
    "settings": [],
    "holds": [],
    "moments": [],
}
MARKS = ("~o", "~l", "~d")
# The entry of a column for an object that lacks the field.
ABSENT = "~"


def split(payload: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a stepper's payload into the part that is drawn first and the rest.

    Returns:
        The first part is a payload itself, with placeholders for `LATER` and no bytes of messages. The rest has the
            parts of `LATER`, and the bytes in the order of the messages.
    """
    messages = payload["messages"]
    first = {
        **payload,
        **{name: empty for name, empty in LATER.items() if name in payload},
        "messages": [{**each, "bytes": None} if "bytes" in each else each for each in messages],
    }
    rest = {name: payload[name] for name in LATER if name in payload}
    return first, {**rest, "bytes": [each.get("bytes") for each in messages]}


def pack(value: Any) -> Any:
    """Write every list with repeating parts in a JSON value as columns.

    Raises:
        ValueError: if the value has a field or a text that is a marker of this format.
    """
    if isinstance(value, dict):
        if any(mark in value for mark in MARKS):
            raise ValueError(f"a field of a run may not be called any of {', '.join(MARKS)}")
        return {name: pack(each) for name, each in value.items()}
    if not isinstance(value, list):
        if value == ABSENT:
            raise ValueError(f"no text of a run may be {ABSENT!r}")
        return value
    if len(value) > 1 and all(isinstance(each, dict) and each for each in value):
        names = _common_order(value)
        if names is not None:
            return {"~o": [[name, _column([o.get(name, ABSENT) for o in value])] for name in names]}
    if len(value) > 1 and all(isinstance(each, list) for each in value):
        lengths = {len(each) for each in value}
        if len(lengths) == 1 and lengths != {0}:
            return {"~l": [_column(list(column)) for column in zip(*value, strict=True)]}
    if len(value) > 1 and all(type(each) is int for each in value):
        return {"~d": [value[0], *(b - a for a, b in pairwise(value))]}
    return [pack(each) for each in value]


def _column(values: list[Any]) -> Any:
    """Pack a column, which may contain `ABSENT`."""
    if ABSENT not in values:
        return pack(values)
    return [each if each == ABSENT else pack(each) for each in values]


def _common_order(objects: Sequence[Mapping[str, Any]]) -> list[str] | None:
    """Return an order of all fields that each of the objects follows, or None if there is none."""
    names = list(dict.fromkeys(name for each in objects for name in each))
    place = {name: n for n, name in enumerate(names)}
    for each in objects:
        places = [place[name] for name in each]
        if places != sorted(places):
            return None
    return names
