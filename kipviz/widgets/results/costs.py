"""The costs of runs in a notebook: a picture of the owners of each object, and a table of everything counted."""

from __future__ import annotations

from typing import Any

from kipviz.checking.single_run import runs
from kipviz.checking.timed.ledger import Ledger, ledger
from kipviz.views.exports.markdown import plain
from kipviz.views.measures.ownership import panel, picture, side_by_side, table


class Costs:
    """The ledgers of some stories, side by side.

    Attributes:
        ledgers: what was counted, by story.
        rows: the table as plain text, its head first.
        svg: the picture of the objects, threads and connections and their owners.
    """

    def __init__(self, ledgers: dict[str, Ledger], titles: dict[str, str]) -> None:
        """Keep the ledgers, and make the table and the picture."""
        self.ledgers = ledgers
        self.rows = table(tuple(ledgers.items()))
        self._panels = [panel(titles[name], each) for name, each in ledgers.items()]
        self.svg = picture(self._panels)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        page = f"{side_by_side(self._panels)}\n{_as_html(self.rows)}"
        return {"text/plain": repr(self), "text/html": page}

    def __repr__(self) -> str:
        """The table as text."""
        widths = [max(len(row[k]) for row in self.rows) for k in range(len(self.rows[0]))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in self.rows
        )


def costs(*scenarios: str) -> Costs:
    """Count the costs of stories: objects, threads, connections, accumulators, requests by kind.

        costs("kip-1310-share-producer", "kip-1310-share-session")

    Each story is played under the first design that it was written for.

    Example:
        >>> import kipviz
        >>> counted = kipviz.costs("kip-1310-share-producer", "kip-1310-share-session")
        >>> print(repr(counted).splitlines()[4])
        threads                                    3                        4

    Raises:
        ValueError: if no story is named, or a name is unknown, in one sentence.
    """
    if not scenarios:
        raise ValueError("name at least one story, such as costs('kip-1310-share-session')")
    played = {name: runs.play(name) for name in scenarios}
    return Costs(
        {name: ledger(run.trace) for name, run in played.items()},
        {name: run.scenario.title for name, run in played.items()},
    )


def _as_html(rows: tuple[tuple[str, ...], ...]) -> str:
    head, *body = ("".join(f"<{t}>{plain(c)}</{t}>" for c in row) for t, row in _tag_rows(rows))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{r}</tr>' for r in body)}</tbody></table>"


def _tag_rows(rows: tuple[tuple[str, ...], ...]) -> list[tuple[str, tuple[str, ...]]]:
    return [("td" if k else "th", row) for k, row in enumerate(rows)]
