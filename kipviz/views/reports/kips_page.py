"""What of each KIP is in the model, as a page and as plain entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kipviz.kips.row import HOW, OPEN, Kip, Row
from kipviz.views.exports.markdown import plain, table_row

HEADS = ("clause", "what it says", "here", "handler", "scenario", "test", "page")


def entries(kips: Iterable[Kip], how: str = "") -> Iterator[Mapping[str, Any]]:
    """Give every row as a plain mapping; only those of one kind, if one is named."""
    for kip in kips:
        for row in _of(kip, how):
            yield {"kip": kip.number, "status": kip.status} | {
                name: getattr(row, name) for name in Row.__struct_fields__
            }


def page(kips: Iterable[Kip], how: str = "") -> str:
    """Give the rows of some KIPs as Markdown, a table for each."""
    parts = []
    for kip in kips:
        rows = [_cells(row) for row in _of(kip, how)]
        if rows:
            parts.append(f"## {kip.name}: {kip.title}\n\nStatus: {kip.status}. {_counts(kip)}\n")
            parts += [table_row(cells) for cells in (HEADS, ["---"] * len(HEADS), *rows)]
            parts.append("")
    return "\n".join(parts)


def _of(kip: Kip, how: str) -> tuple[Row, ...]:
    return tuple(row for row in kip.rows if how in ("", row.how))


def _counts(kip: Kip) -> str:
    counts = {how: sum(row.how == how for row in kip.rows) for how in HOW}
    return f"{len(kip.rows)} clauses: {', '.join(f'{n} {how}' for how, n in counts.items())}."


def _cells(row: Row) -> tuple[str, ...]:
    here = f"{row.how}: {row.note}" if row.note else row.how
    if row.how == OPEN:
        return (*map(plain, (row.clause, row.says, here)), "", "", "", "")
    names = (row.handler, row.scenario, row.test.rpartition("::")[2], row.page)
    return (*map(plain, (row.clause, row.says, here)), *map(_name, names))


def _name(name: str) -> str:
    """Give a name as it stands in the code."""
    return f"`{name}`" if name else ""
