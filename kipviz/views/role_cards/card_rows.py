"""The parts of every card: rows of plain words, and short names of things."""

from __future__ import annotations

from kipviz.views.page_parts import TonedCells

# The rows of a card by their names.
Card = dict[str, TonedCells]
Fact = tuple[str, str, str]


def facts(rows: list[Fact]) -> Card:
    """Return a card of (label, value, tone) rows."""
    return {label: {"label": label, "value": value, "tone": tone} for label, value, tone in rows}


NAMELESS = "no transactional id"


def span(first: int, last: int) -> str:
    """Render a range of offsets."""
    return str(first) if first == last else f"{first}-{last}"


def spans(offsets: list[int]) -> str:
    """Render offsets in ascending order as ranges: "100-102, 105"."""
    runs: list[list[int]] = []
    for offset in offsets:
        if runs and runs[-1][1] == offset - 1:
            runs[-1][1] = offset
        else:
            runs.append([offset, offset])
    return ", ".join(span(first, last) for first, last in runs)
