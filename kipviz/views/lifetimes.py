"""Rows with a lifetime, made from a snapshot of the cards at every step.

A snapshot is the content of every card at one step: ``{card id: {row id: cells}}``. Most rows stay the same from step
to step, so sending every snapshot would send the same row hundreds of times. Here the snapshots become rows with a
lifetime: a row is on screen for the steps ``from <= k < to``. A changed value closes one row and opens the next under
the same id, so "what was it before?" is a lookup, too.

A branch that leaves another one after step k sends only what differs: the rows that begin later, and ``closes``, the
rows alive at k that end on the branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kipviz.views.page_parts import Cells, RowPart, Shown, TonedCells

Card = Mapping[str, TonedCells]
Snapshot = Mapping[str, Card]
Row = RowPart
Close = list[str | int]

TONE: Final = "tone"
CALM = "calm"


class Lifetimes:
    """The rows of one branch, grown by one snapshot at a time.

    Snapshots come in the order of the steps. Comparing is cheap if the view reuses objects: a card that is the same
    object as at the step before is skipped, and so are such cells. The key ``"tone"`` of the cells becomes the tone of
    the row.

    Attributes:
        rows: the rows that begin on this branch, in the order in which they begin, as the stepper reads them:
            ``{"card", "id", "from", "to", "cells", "tone"}``; ``to`` is None while the row is on screen at the last
            step.
        closes: only for a branch: ``[card, id, to]`` for each inherited row that ends here.
    """

    def __init__(self) -> None:
        """Start a branch before its first step (step 0)."""
        self.rows: list[Row] = []
        self.closes: list[Close] = []
        self._parent: Lifetimes | None = None
        self._at = -1
        self._step = -1
        self._seen: dict[str, Card] = {}
        self._open: dict[str, dict[str, _Open]] = {}
        self._inherited: list[Row] = []

    @property
    def step(self) -> int:
        """The last step whose snapshot was added, -1 before the first."""
        return self._step

    @classmethod
    def of(cls, snapshots: Iterable[Snapshot]) -> Lifetimes:
        """Make a whole branch from the snapshots of its steps, the first one being step 0."""
        line = cls()
        for snapshot in snapshots:
            line.add(snapshot)
        return line

    def add(self, snapshot: Snapshot) -> None:
        """Add the snapshot of the next step."""
        self._step += 1
        for card_id in self._open:
            if card_id not in snapshot:
                self._seen.pop(card_id, None)
                self._show(card_id, {})
        for card_id, card in snapshot.items():
            if self._seen.get(card_id) is not card:
                self._seen[card_id] = card
                self._show(card_id, card)

    def fork(self, at: int) -> Lifetimes:
        """Start a branch that shares this one up to and including step ``at``.

        Raises:
            ValueError: if this branch has no step ``at``.
        """
        if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at <= self._step:
            raise ValueError(f"no step {at!r} to branch at: this line has steps 0 to {self._step}")
        if self._parent is not None and at <= self._at:
            return self._parent.fork(at)
        branch = Lifetimes()
        branch._parent, branch._at, branch._step = self, at, at
        for row in self.alive(at):
            inherited: Row = {**row, "to": None}
            branch._inherited.append(inherited)
            branch._open.setdefault(row["card"], {})[row["id"]] = _Open(inherited, None)
        return branch

    def join_parent(self) -> Lifetimes:
        """Return this branch with everything that it shares with its parent, as a whole that has no parent.

        The parent must have none itself; neither of the two may grow afterwards.
        """
        parent = self._parent
        if parent is None:
            return self
        inherited = iter(self._inherited)
        before = [row for row in parent.rows if row["from"] <= self._at]
        made = Lifetimes()
        made.rows = [next(inherited) if covers(row, self._at) else row for row in before]
        made.rows += self.rows
        made._step, made._seen, made._open = self._step, self._seen, self._open
        return made

    def alive(self, step: int) -> list[Row]:
        """Return the rows on screen at ``step``, inherited ones first."""
        if self._parent is not None and step <= self._at:
            return self._parent.alive(step)
        return [row for row in (*self._inherited, *self.rows) if covers(row, step)]

    def _show(self, card_id: str, card: Card) -> None:
        shown = self._open.setdefault(card_id, {})
        for row_id in [row_id for row_id in shown if row_id not in card]:
            self._close(shown.pop(row_id).row)
        for row_id, cells in card.items():
            before = shown.get(row_id)
            if before is not None:
                if before.shows(cells):
                    before.source = cells
                    continue
                self._close(before.row)
            shown[row_id] = self._begin(card_id, row_id, cells)

    def _begin(self, card_id: str, row_id: str, cells: TonedCells) -> _Open:
        row: Row = {
            "card": card_id,
            "id": row_id,
            "from": self._step,
            "to": None,
            "cells": _bare(cells),
            "tone": cells.get(TONE, CALM),
        }
        self.rows.append(row)
        return _Open(row, cells)

    def _close(self, row: Row) -> None:
        row["to"] = self._step
        if row["from"] <= self._at:
            self.closes.append([row["card"], row["id"], self._step])


@dataclass(slots=True)
class _Open:
    """A row still on screen, and the cells from which it was made (None if inherited)."""

    row: Row
    source: TonedCells | None

    def shows(self, cells: TonedCells) -> bool:
        """Return whether the row already has these cells; the same object is not compared."""
        if self.source is cells or self.source == cells:
            return True
        same_tone = bool(self.row["tone"] == cells.get(TONE, CALM))
        return same_tone and bool(self.row["cells"] == _bare(cells))


def _bare(cells: TonedCells) -> Cells:
    bare = cells.copy()
    bare.pop(TONE, None)
    return bare


def covers(row: Shown, step: int) -> bool:
    """Return whether something with a lifetime exists at a step."""
    return bool(row["from"] <= step and (row["to"] is None or step < row["to"]))
