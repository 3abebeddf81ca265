"""Count verdicts into a small table: one row per design, one column per result."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kipviz.core.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kipviz.campaigns.plan import Plan

DIMENSIONS = {"scenario": "scenarios", "design": "designs", "faults": "faults"}


class FailureCount(Value, frozen=True):
    """How often a property broke, and the first run that shows it: smallest seed, then step."""

    name: str
    count: int
    scenario: str
    faults: str
    seed: int
    step: int


class SummaryRow(Value, frozen=True):
    """The results of the runs of one design (or scenario, or fault profile).

    `program` counts the runs that only the story's own program breaks, under every design.
    """

    name: str
    runs: int
    holds: int
    program: int
    broken: tuple[FailureCount, ...]
    errors: FailureCount | None

    def cell(self, name: str) -> FailureCount | None:
        """Return the cell of one property, None if it never broke."""
        return next((cell for cell in self.broken if cell.name == name), None)


def summarize_rows(
    rows: Callable[..., Iterable[dict[str, Any]]], by: str, plan: Plan
) -> tuple[SummaryRow, ...]:
    """Return the summary in the order of the plan; properties are in alphabetical order.

    `rows` returns the named columns of the verdicts.
    """
    if by not in DIMENSIONS:
        raise ValueError(f"runs cannot be counted by {by!r}: choose from {', '.join(DIMENSIONS)}")
    names: tuple[str, ...] = getattr(plan, DIMENSIONS[by])
    holds: Counter[str] = Counter()
    runs: Counter[str] = Counter()
    programs: Counter[str] = Counter()
    cells: dict[tuple[str, str, str], FailureCount] = {}
    for row in rows(*_COLUMNS):
        name = row[by]
        runs[name] += 1
        if row["status"] == "holds":
            holds[name] += 1
        elif row["status"] == "program":
            programs[name] += 1
        else:
            key = (name, row["status"], row["broken"])
            cells[key] = _count_row(cells.get(key), row)
    return tuple(
        SummaryRow(
            name=name,
            runs=runs[name],
            holds=holds[name],
            program=programs[name],
            broken=tuple(cells[key] for key in sorted(cells) if key[:2] == (name, "breaks")),
            errors=cells.get((name, "error", "")),
        )
        for name in names
    )


_COLUMNS = ("scenario", "design", "faults", "seed", "status", "broken", "step")


def _count_row(cell: FailureCount | None, row: dict[str, Any]) -> FailureCount:
    one = FailureCount(row["broken"], 1, row["scenario"], row["faults"], row["seed"], row["step"])
    if cell is None:
        return one
    first = one if (one.seed, one.step) < (cell.seed, cell.step) else cell
    return FailureCount(
        cell.name, cell.count + 1, first.scenario, first.faults, first.seed, first.step
    )


# The column of runs that no design causes to fail, if there are some.
_BY_PROGRAM = ("the program",)


def properties_of(rows: tuple[SummaryRow, ...]) -> tuple[str, ...]:
    """Return every property that broke in some run, in alphabetical order."""
    return tuple(sorted({cell.name for row in rows for cell in row.broken}))


def summary_text(rows: tuple[SummaryRow, ...]) -> str:
    """Return the summary as a table of plain characters, the same wherever it is printed."""
    properties = properties_of(rows)
    by_program = any(row.program for row in rows)
    lines = [("", "runs", "holds", *(_BY_PROGRAM if by_program else ()), *properties, "errors")]
    for row in rows:
        cells = [row.cell(name) for name in properties]
        lines.append(
            (
                row.name,
                str(row.runs),
                str(row.holds),
                *((str(row.program),) if by_program else ()),
                *map(cell_text, cells),
                cell_text(row.errors),
            )
        )
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return "\n".join(
        "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def cell_text(cell: FailureCount | None) -> str:
    """Render a cell: how often, and the seed to open."""
    return "-" if cell is None else f"{cell.count} (seed {cell.seed})"
