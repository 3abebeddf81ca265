"""A reader's own views in columns: the content of each view for every design, wherever it changes.

A stepper has a card for a view. Columns have no cards; a view is a table there, with a row for each place at which its
rows or its picture change in one of the designs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from kipviz.core.values import Value
from kipviz.views.exports.image import image
from kipviz.views.lifetimes import covers
from kipviz.views.page_parts import Part, Shown
from kipviz.views.role_cards.own_view import OF_VIEWS

NOTHING = "no rows"
# A run of hundreds of steps can change a view at each of them.
ROWS_SHOWN = 60


class Fact(Value, frozen=True):
    """One row of a view: its label, its value, its tone, and its picture if it is one."""

    label: str
    value: str
    tone: str = "calm"
    svg: str = ""

    @property
    def words(self) -> str:
        """The row in words, with the tone as a word."""
        tone = "" if self.tone == "calm" else f" ({self.tone})"
        return f"{self.label}: {self.value}{tone}"


class ViewRow(Value, frozen=True):
    """The content of a view at one place of the columns, for each design."""

    at: int
    cells: tuple[tuple[Fact, ...], ...]

    def differs(self, n: int) -> bool:
        """Return whether a design's cell differs from the first design's."""
        return self.cells[n] != self.cells[0]


class ViewTable(Value, frozen=True):
    """One view: its title, its sentence, and its content wherever it changes."""

    title: str
    sentence: str
    rows: tuple[ViewRow, ...]

    def text(self, names: Sequence[str]) -> Iterator[str]:
        """Yield the lines for a plain terminal: the first design, and each other one that differs from it."""
        wide = max(len(name) for name in names) + 2
        yield f"view {self.title}: {self.sentence}"
        for row in self.rows[:ROWS_SHOWN]:
            shown = [n for n in range(len(names)) if n == 0 or row.differs(n)]
            for n in shown:
                place = f"{row.at:>4}" if n == shown[0] else "    "
                sign = "◇ differs  " if row.differs(n) else ""
                said = "; ".join(fact.words for fact in row.cells[n]) or NOTHING
                yield f"{place}  {names[n]:<{wide}}{sign}{said}"
        if len(self.rows) > ROWS_SHOWN:
            yield f"      and {len(self.rows) - ROWS_SHOWN} more places where it changes"

    def html_rows(self) -> str:
        """Return the rows of an HTML table."""
        return "".join(
            f'<tr><th scope="row">{row.at}</th>{"".join(_cell(row, n) for n in range(len(row.cells)))}</tr>'
            for row in self.rows
        )

    def document(self, names: Sequence[str]) -> Part:
        """Return the view as plain data; a picture is represented by its words."""
        return {
            "view": self.title,
            "sentence": self.sentence,
            "rows": [
                {
                    "step": row.at,
                    "cells": [
                        {
                            "design": name,
                            "differs": row.differs(n),
                            "rows": [
                                {"label": fact.label, "value": fact.value, "tone": fact.tone}
                                for fact in row.cells[n]
                            ],
                        }
                        for n, name in enumerate(names)
                    ],
                }
                for row in self.rows
            ],
        }


def _cell(row: ViewRow, n: int) -> str:
    word = "<b>◇ differs</b> " if row.differs(n) else ""
    said = "<br>".join(_fact(fact) for fact in row.cells[n]) or NOTHING
    return f'<td class="kv-{"apart" if row.differs(n) else "same"}">{word}{said}</td>'


def _fact(fact: Fact) -> str:
    if not fact.svg:
        return escape(fact.words)
    return image(fact.svg, fact.value)


def view_tables(
    payloads: Sequence[Shown], places: Sequence[Sequence[int]]
) -> tuple[ViewTable, ...]:
    """Return a table for each view in the payloads.

    Args:
        payloads: those of the designs, with the same views.
        places: for each row of the columns, the step at which each design stands.
    """
    heads = [card for card in payloads[0]["cards"] if card["id"].startswith(OF_VIEWS)]
    return tuple(
        ViewTable(
            str(head["title"]), str(head["where"]), tuple(_rows(payloads, places, head["id"]))
        )
        for head in heads
    )


def _rows(
    payloads: Sequence[Shown], places: Sequence[Sequence[int]], card: str
) -> Iterator[ViewRow]:
    mine = [[row for row in each["rows"] if row["card"] == card] for each in payloads]
    last: tuple[tuple[Fact, ...], ...] | None = None
    for at, steps in enumerate(places):
        cells = tuple(_facts_at(rows, step) for rows, step in zip(mine, steps, strict=True))
        if cells != last:
            yield ViewRow(at, cells)
            last = cells


def _facts_at(rows: Sequence[Shown], step: int) -> tuple[Fact, ...]:
    """Return the content of a view at a step, in the view's own order."""
    here = sorted((r for r in rows if covers(r, step)), key=lambda r: r["cells"].get("order", 0))
    return tuple(
        Fact(
            str(row["cells"]["label"]),
            str(row["cells"]["value"]),
            str(row["cells"].get("tone", row.get("tone", "calm"))),
            str(row["cells"].get("svg", "")),
        )
        for row in here
    )
