"""Three or more runs of one story in columns: what each design does at each step, and where it diverges.

The other designs are compared with the first one. Rows are its steps, and between them the steps that only others take;
designs that take the same step share a row. A word and a sign in each cell mark it: the same as in the first column,
the same under another name, different, an extra step, a wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from kipviz.core.values import Value
from kipviz.views.exports.breakable import breakable
from kipviz.views.exports.image import image
from kipviz.views.exports.svg import beside, svg
from kipviz.views.page_parts import Part, Shown
from kipviz.widgets.comparing.alignment import (
    OTHERWISE,
    RENAMED,
    RIGHT,
    SAME,
    align_lines,
    by_role,
    differences,
    marks,
    same,
)
from kipviz.widgets.comparing.column_views import ViewTable, view_tables
from kipviz.widgets.comparing.compare import Compare, verdict_words
from kipviz.widgets.pages import text_view
from kipviz.widgets.pages.line import Line, line_of
from kipviz.widgets.pages.open_question import untold_title, without_answer

WAITS = "."
SIGNS = {
    SAME: "=",
    RENAMED: "≈ other name",
    OTHERWISE: "◇ differs",
    RIGHT: "◇ only here",
    WAITS: "waits",
}
# So many steps of each design are drawn: those that lead to a difference, and those that follow.
STILL_STEPS = 12
# A narrower column is hard to read; if the columns do not fit, the table scrolls.
COLUMN_PX, FIRST_PX = 230, 110


class BadColumns(ValueError):
    """The designs cannot be put into columns; the message states the reason in one sentence."""


class DesignCell(Value, frozen=True):
    """A design's cell in a row: its step, or the step at which it waits, and how it compares."""

    step: int
    mark: str


class ComparedRow(Value, frozen=True):
    """One row: the title of the big step that it belongs to, and a cell for each design."""

    big: str
    cells: tuple[DesignCell, ...]


class Columns:
    """Several designs on one story, in columns.

    Attributes:
        names: the names of the columns, in order.
        rows: the aligned steps.
        differences: for each further column, where it first differs from the first one, or None.
        views: a table for each of the reader's own views.
    """

    def __init__(self, payloads: Sequence[Shown], names: Sequence[str]) -> None:
        """Align the main branches of several payloads."""
        self.names = tuple(names)
        self._payloads = tuple(dict(each) for each in payloads)
        self.lines = tuple(line_of(each, [], 0) for each in payloads)
        self.rows = tuple(_rows(self.lines))
        self.differences = tuple(self._first(n) for n in range(1, len(self.lines)))
        places = [[cell.step for cell in row.cells] for row in self.rows]
        self.views = view_tables(self._payloads, places)

    def _first(self, n: int) -> Part | None:
        """Return where a column first differs from the first one: its row, and the words."""
        left, right = self.lines[0], self.lines[n]
        pairs, _ = align_lines(left, right)
        what = marks(left, right, pairs)
        found = differences(left, right, pairs, what, (self.names[0], self.names[n]))
        if not found:
            return None
        one, other = pairs[found[0]["at"]]
        at = next(
            k
            for k, row in enumerate(self.rows)
            if row.cells[0].step >= one and row.cells[n].step >= other
        )
        return {"at": at, "sentence": found[0]["sentence"]}

    def pair(self, name: str) -> Compare:
        """Open another design beside the first one, to step through both.

        Raises:
            ValueError: if no other column has this name.
        """
        if name not in self.names[1:]:
            allowed = ", ".join(self.names[1:])
            raise ValueError(
                f"no column beside {self.names[0]} is called {name!r}; there are {allowed}"
            )
        n = self.names.index(name)
        return Compare(self._payloads[0], self._payloads[n], names=(self.names[0], name))

    def verdicts(self) -> list[dict[str, str]]:
        """Return the table of verdicts at the end: a row for each property, a cell for each design."""
        ends = [{v["property"]: v for v in line.verdicts_at(line.last)} for line in self.lines]
        found = dict.fromkeys(name for end in ends for name in end)
        return [
            {"property": prop}
            | {
                name: verdict_words(end.get(prop))
                for name, end in zip(self.names, ends, strict=True)
            }
            for prop in found
        ]

    def sentence(self, row: ComparedRow, n: int) -> str:
        """Return the sentence of a cell, "" if its design waits."""
        cell = row.cells[n]
        return "" if cell.mark == WAITS else str(self.lines[n].steps[cell.step]["sentence"])

    def first_words(self) -> Iterator[str]:
        """Yield for each other design where it first differs from the first one."""
        for name, found in zip(self.names[1:], self.differences, strict=True):
            if found is None:
                yield f"{name}: no difference from {self.names[0]}"
            else:
                yield f"{name}: first difference from {self.names[0]} at {found['at']}: {found['sentence']}"

    def text(self) -> str:
        """Return all rows for a plain terminal."""
        wide = max(len(name) for name in self.names) + 2
        lines = [untold_title(self._payloads[0]), ""]
        big = ""
        for at, row in enumerate(self.rows):
            if row.big != big:
                big = row.big
                lines.append(f"     {big}")
            waits = row.cells[0].mark == WAITS  # then only the designs that act are listed
            shown = [
                (n, c)
                for n, c in enumerate(row.cells)
                if (c.mark != WAITS if waits else n == 0 or c.mark != SAME)
            ]
            for n, cell in shown:
                place = f"{at:>4}" if n == shown[0][0] else "    "
                sign = "" if n == 0 and cell.mark == SAME else f"{SIGNS[cell.mark]}  "
                lines.append(
                    f"{place}  {self.names[n]:<{wide}}{sign}{self.sentence(row, n)}".rstrip()
                )
        for view in self.views:
            lines += ["", *view.text(self.names)]
        return "\n".join([*lines, "", *self.first_words(), "", *self._verdict_lines()])

    def _verdict_lines(self) -> Iterator[str]:
        for row in self.verdicts():
            prop = row["property"]
            yield from (f"{prop}: {name}: {row[name]}" for name in self.names)

    def __repr__(self) -> str:
        """Return where each design first differs, and the verdict on each property."""
        ends = (
            f"{name}: {text_view.verdict_words(line, line.last)}"
            for name, line in zip(self.names, self.lines, strict=True)
        )
        return "\n".join([*self.first_words(), *ends])

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self.html()}

    def document(self) -> Part:
        """Return everything as one document."""
        return {
            "title": untold_title(self._payloads[0]),
            "designs": [
                {"design": name, "status": each["design"]["status"]}
                for name, each in zip(self.names, self._payloads, strict=True)
            ],
            "steps": [
                {
                    "step": at,
                    "big": row.big,
                    "cells": [
                        {
                            "design": name,
                            "step": row.cells[n].step,
                            "is": MEANS[row.cells[n].mark],
                            "sentence": self.sentence(row, n),
                        }
                        for n, name in enumerate(self.names)
                    ],
                }
                for at, row in enumerate(self.rows)
            ],
            "differences": [
                {"design": name, "from": self.names[0], "difference": found}
                for name, found in zip(self.names[1:], self.differences, strict=True)
            ],
            "verdicts": self.verdicts(),
            **({"views": [view.document(self.names) for view in self.views]} if self.views else {}),
        }

    # -- the page ------------------------------------------------------------------------------

    def html(self) -> str:
        """Return the page: verdicts and first differences, then the big steps, unfolded where something differs."""
        groups: list[list[tuple[int, ComparedRow]]] = []
        for at, row in enumerate(self.rows):
            if not groups or groups[-1][-1][1].big != row.big:
                groups.append([])
            groups[-1].append((at, row))
        body = "".join(self._group(group) for group in groups)
        says = "".join(f"<li>{escape(words)}</li>" for words in self.first_words())
        return (
            f'<div class="kv-columns"><style>{STYLE}</style><h3>{escape(untold_title(self._payloads[0]))}</h3>'
            f"<ul>{says}</ul>{self._table('verdicts at the end', self._verdict_rows())}"
            f"<p>{image(self.still(), repr(self))}</p>{''.join(map(self._view, self.views))}{body}</div>"
        )

    def still(self) -> str:
        """Return a diagram of each design around its first difference, two in a row, as an SVG."""
        found = [each["at"] for each in self.differences if each is not None]
        least = min(found, default=0)
        places = [least, *(least if each is None else each["at"] for each in self.differences)]
        return beside(
            [
                svg(
                    without_answer(payload),
                    cursor=self.rows[at].cells[n].step,
                    around=STILL_STEPS,
                    all_lanes=False,
                    narrow=True,
                )
                for n, (payload, at) in enumerate(zip(self._payloads, places, strict=True))
            ]
        )

    def _view(self, view: ViewTable) -> str:
        apart = sum(any(row.differs(n) for n in range(len(self.names))) for row in view.rows)
        word = (
            f"◇ {apart} of {len(view.rows)} rows differ" if apart else "= the same in all designs"
        )
        return (
            f"<details open><summary>{escape(view.title)} <small>{escape(view.sentence)} {word}</small>"
            f"</summary>{self._table(view.title, view.html_rows())}</details>"
        )

    def _group(self, group: list[tuple[int, ComparedRow]]) -> str:
        apart = sum(any(c.mark not in (SAME, RENAMED) for c in row.cells) for _, row in group)
        rows = "".join(self._row(at, row) for at, row in group)
        title = escape(group[0][1].big or "before the first step")
        word = f"◇ {apart} of {len(group)} rows differ" if apart else "= the same in all designs"
        opened = " open" if apart else ""
        return (
            f"<details{opened}><summary>{title} <small>{word}</small></summary>"
            f"{self._table(title, rows)}</details>"
        )

    def _table(self, caption: str, rows: str) -> str:
        heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.names)
        least = COLUMN_PX * len(self.names) + FIRST_PX
        # JupyterLab leaves the arrow keys to a focused table, as it does for the stepper's page.
        return (
            f'<div class="kv-scroll" tabindex="0" role="region" data-lm-suppress-shortcuts="true" aria-label="{escape(caption)}">'
            f'<table style="min-width:{least}px"><thead><tr><th scope="col"></th>{heads}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div>"
        )

    def _row(self, at: int, row: ComparedRow) -> str:
        cells = "".join(
            f'<td class="kv-{KINDS[cell.mark]}"><b>{SIGNS[cell.mark] if n or cell.mark == WAITS else ""}</b> '
            f"{breakable(self.sentence(row, n))}</td>"
            for n, cell in enumerate(row.cells)
        )
        return f'<tr><th scope="row">{at}</th>{cells}</tr>'

    def _verdict_rows(self) -> str:
        found = ""
        for row in self.verdicts():
            first = row[self.names[0]]
            cells = "".join(
                f'<td class="kv-{"same" if row[name] == first else "apart"}">'
                f"{'' if row[name] == first else '<b>◇ differs</b> '}{breakable(row[name])}</td>"
                for name in self.names
            )
            found += f'<tr><th scope="row">{escape(row["property"])}</th>{cells}</tr>'
        return found


MEANS = {
    SAME: "same",
    RENAMED: "other name",
    OTHERWISE: "differs",
    RIGHT: "only here",
    WAITS: "waits",
}
KINDS = {SAME: "same", RENAMED: "renamed", OTHERWISE: "apart", RIGHT: "apart", WAITS: "waits"}
STYLE = (
    ".kv-columns .kv-scroll{overflow-x:auto}"
    ".kv-columns table{table-layout:fixed;width:100%;border-collapse:collapse;margin:4px 0}"
    ".kv-columns th,.kv-columns td{text-align:left!important;vertical-align:top;white-space:normal;"
    "overflow-wrap:break-word;padding:4px 6px;border-bottom:1px solid var(--jp-border-color2,#ccc)}"
    f".kv-columns tr>:first-child{{width:{FIRST_PX}px;position:sticky;left:0;background:var(--jp-layout-color0,#fff);color:var(--jp-content-font-color1,#111)}}"
    ".kv-columns .kv-apart{border-left:3px solid currentColor}"
    ".kv-columns .kv-waits{border-left:3px dotted currentColor}"
    ".kv-columns .kv-same,.kv-columns .kv-renamed{border-left:3px solid transparent}"
    ".kv-columns img{max-width:100%}"
    ".kv-columns summary{cursor:pointer;font-weight:600;padding:4px 0}"
)


def _rows(lines: tuple[Line, ...]) -> Iterator[ComparedRow]:
    """Align every branch with the first one, and put the steps in between into shared rows."""
    first, others = lines[0], lines[1:]
    taken = [_by_left(align_lines(first, other)[0], first) for other in others]
    at = [0] * len(lines)
    for step in range(first.last + 1):
        at[0] = step
        acting = [0]
        for n, by_left in enumerate(taken, 1):
            matched = by_left[step][0]
            if matched is not None:
                at[n] = matched
                acting.append(n)
        yield _row(lines, at, acting)
        left = [list(by_left[step][1]) for by_left in taken]
        while any(left):
            title = next(by_role(lines[n].steps[q[0]])[0] for n, q in enumerate(left, 1) if q)
            acting = []
            for n, queue in enumerate(left, 1):
                if queue and by_role(lines[n].steps[queue[0]])[0] == title:
                    at[n] = queue.pop(0)
                    acting.append(n)
            yield _row(lines, at, acting)


def _by_left(
    pairs: Sequence[Sequence[int]], first: Line
) -> list[tuple[int | None, tuple[int, ...]]]:
    """Return for each step of the first branch the step beside it, and those of the other branch after that."""
    beside: list[int | None] = [None] * (first.last + 1)
    behind: list[tuple[int, ...]] = [()] * (first.last + 1)
    before = (-1, -1)
    for one, other in pairs:
        if one != before[0]:
            beside[one] = other if other != before[1] else None
        else:
            behind[one] += (other,)
        before = (one, other)
    return list(zip(beside, behind, strict=True))


def _row(lines: tuple[Line, ...], at: Sequence[int], acting: Sequence[int]) -> ComparedRow:
    """Return the row in which some branches take their steps and the others wait."""
    cells = []
    for n, line in enumerate(lines):
        if n not in acting:
            mark = WAITS
        elif n == 0:
            mark = SAME
        elif 0 not in acting:
            mark = RIGHT
        else:
            mark = same(lines[0].steps[at[0]], line.steps[at[n]])
        cells.append(DesignCell(at[n], mark))
    big = lines[acting[0]].big_at(at[acting[0]])
    return ComparedRow(str(big["title"]) if big is not None else "", tuple(cells))
