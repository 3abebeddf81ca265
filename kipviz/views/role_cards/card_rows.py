"""What every card is made of: rows of plain words, and the short ways in which things are named."""

from __future__ import annotations

from typing import Any

from kipviz.records.placement import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

Cells = dict[str, Any]
Card = dict[str, Cells]
Fact = tuple[str, str, str]


def facts(rows: list[Fact]) -> Card:
    """Give a card of (label, value, tone) rows."""
    return {label: {"label": label, "value": value, "tone": tone} for label, value, tone in rows}


NAMELESS = "no transactional id"


def short_name(partition: str) -> str:
    """Give a partition's name as people say it where there is little room."""
    return (
        partition.replace(TRANSACTION_STATE, "transactions")
        .replace(SHARE_GROUP_STATE, "share state")
        .replace(CONSUMER_OFFSETS, "offsets")
    )


def number(value: int) -> str:
    """Give a number, or a word for -1, which stands for none."""
    return "none" if value < 0 else str(value)


def listed(values: tuple[Any, ...]) -> str:
    """Give values in a row, or a word for none at all."""
    return ", ".join(map(str, values)) or "nothing"


def span(first: int, last: int) -> str:
    """Give a run of offsets."""
    return str(first) if first == last else f"{first}-{last}"


def spans(offsets: list[int]) -> str:
    """Give offsets in ascending order as runs: "100-102, 105"."""
    runs: list[list[int]] = []
    for offset in offsets:
        if runs and runs[-1][1] == offset - 1:
            runs[-1][1] = offset
        else:
            runs.append([offset, offset])
    return ", ".join(span(first, last) for first, last in runs)
