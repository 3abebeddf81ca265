"""The parts of a page's payload: what the views fill in, and what the exports read again.

A payload is JSON, and `kipviz.widgets.pages.payload` has the schema that it is checked against. The parts that more than one
module reads have a type here; the others are a `Part`. A part with `from` and `to` exists for the steps
``from <= k < to``, and `to` is None while it exists at the last step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypeAlias, TypedDict

# A JSON object that a view fills in for the page.
Part: TypeAlias = dict[str, Any]

# A whole payload, or a part of it, as an export reads it.
Shown: TypeAlias = Mapping[str, Any]

MessagePart = TypedDict(
    "MessagePart",
    {
        "id": str,
        "from": str,
        "to": str,
        "label": str,
        "detail": str,
        "kind": str,
        "sent": int,
        "arrived": int | None,
        "lost": int | None,
        "tone": str,
        "bytes": NotRequired[tuple[str, str] | None],
    },
)
"""A message between two lanes; `bytes` are the name of its shape, and hex digits."""


class LaneNote(TypedDict):
    """What a note says, and on which lane."""

    lane: str
    text: str
    sub: str
    tone: str


class NotePart(LaneNote):
    """A note on a lane at a step."""

    step: int


DownPart = TypedDict("DownPart", {"lane": str, "from": int, "to": int | None})
"""The steps during which a host is down."""

HeadPart = TypedDict(
    "HeadPart", {"lane": str, "sub": str, "mark": str, "from": int, "to": int | None}
)
"""The steps during which the head of a lane differs from its start."""

CutPart = TypedDict("CutPart", {"one": str, "other": str, "from": int, "to": int | None})
"""The steps during which a network partition separates two lanes."""

VerdictPart = TypedDict(
    "VerdictPart",
    {
        "property": str,
        "sentence": str,
        "from": int,
        "to": int | None,
        "state": str,
        "reason": str,
    },
)
"""The steps during which a property has a verdict."""

HoldPart = TypedDict(
    "HoldPart",
    {
        "card": str,
        "rows": list[str],
        "from": int,
        "to": int | None,
        "text": str,
        "free": str,
        "how": str,
        "see": list[list[str]],
    },
)
"""The steps during which something blocks the rows of a card, and what ends it."""


class ChoicePart(TypedDict):
    """Something that can happen at a step, or that cannot, with the reason.

    `message` is the message in flight that it would deliver.
    """

    id: str
    text: str
    sub: str
    group: str
    enabled: bool
    why: str
    taken: bool
    message: NotRequired[str]


ChoicesPart = TypedDict("ChoicesPart", {"from": int, "to": int | None, "items": list[ChoicePart]})
"""The steps during which some choices exist."""

_Transition = TypedDict("_Transition", {"from": str, "to": str}, total=False)


class Cells(_Transition, total=False):
    """What a row of a card says, by name; which cells a row has, its card's kind decides."""

    # Facts, entries and metrics; `line` is also the number of a program's line.
    label: str
    value: str | int
    level: int
    order: int
    line: str | int
    svg: str
    # A program, and a machine with its transitions.
    text: str
    current: bool
    waiting: bool
    state: str
    times: int
    # A log and its marks, and the records of a share-partition.
    at: int
    by: str
    offset: int
    batch: str
    control: str
    fate: str
    span: str
    short: str
    delivery_count: int
    note: str
    member: str
    staged: str
    lock: str
    gap: bool
    below: bool
    # What a client and a broker believe of the same thing.
    client: str
    broker: str
    verdict: str
    words: str


class TonedCells(Cells, total=False):
    """The cells as a view fills them in: the tone becomes the tone of the row."""

    tone: str


RowPart = TypedDict(
    "RowPart",
    {"card": str, "id": str, "from": int, "to": int | None, "cells": Cells, "tone": str},
)
"""The steps during which a row of a card has its cells."""


class MomentPart(TypedDict):
    """A step at which a fault may be wanted, and what happens there in words."""

    step: int
    text: str
