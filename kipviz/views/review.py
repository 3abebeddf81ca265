"""Studies, ledger and review as Markdown: tables for a mailing list, with the stories behind them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from kipviz.checking import runs
from kipviz.checking.ablation import Ablated
from kipviz.checking.at_rest import ran
from kipviz.checking.breaking import Breaking, breaking
from kipviz.checking.budgets import budget_of, budget_words
from kipviz.checking.outcomes import Outcomes
from kipviz.checking.permalink import permalink
from kipviz.checking.runs import Run
from kipviz.checking.saves import Decision
from kipviz.checking.verdicts import BREAKS, Cell, Judged
from kipviz.cluster.spec import FaultBudget
from kipviz.designs.catalogue import design as design_named
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.studies.claims import Entry
from kipviz.studies.corners import Told
from kipviz.studies.findings import Shown
from kipviz.studies.reviews import Review
from kipviz.studies.study import Answer
from kipviz.views.markdown import plain, table_row

HONEST = (
    '"holds" means that every interleaving of that cluster and that fault budget was visited; it '
    "says nothing of larger ones."
)

CRITICAL_PATH = (
    "The times are a model's critical path, what the protocol waits for under these assumptions, and no "
    "benchmark of a broker."
)

HOW_TO_OPEN = 'A run opens with `kipviz open kv1.…`, or `kipviz.open("kv1.…")` in a notebook.'

# A longer link than this makes the row of a table hard to read.
LINK_MAX = 400
_LINK = re.compile(r"kv[0-9]+\.[A-Za-z0-9_-]+")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Give a Markdown table of plain texts."""
    lines = [_row(heads), _row(["---"] * len(heads))]
    lines += [_row(row) for row in rows]
    return "\n".join(lines)


def honest(budgets: Iterable[FaultBudget]) -> str:
    """Give the line under a table of verdicts: what "holds" means, and which timers ran out when."""
    return plain(f"{HONEST} {ran(*budgets).sentence}")


def study_page(found: Answer) -> str:
    """Give one study: the question, the rivals side by side, and the first story of each break."""
    study = found.study
    parts = [
        f"## {plain(study.name)}. {plain(study.question)}",
        f"{plain(study.observable)} Source: {plain(study.source)}.",
        table(found.heads, found.rows),
        plain(found.sentence) if found.judged else "",
        *_times(found),
        *_cut_short(found.judged),
    ]
    for judged in found.judged:
        parts += [story(judged, cell) for cell in judged.cells if cell.verdict == BREAKS]
    return "\n\n".join(part for part in parts if part) + "\n"


def _times(found: Answer) -> Iterator[str]:
    """Give a table of times beside the other one, and the assumptions under which times were made."""
    if found.times is not None:
        yield table(*found.times)
    if found.assumptions:
        yield plain(f"Assumed: {found.assumptions}. {CRITICAL_PATH}")


def ledger(entries: Iterable[Entry]) -> str:
    """Give the ledger of claims as one table."""
    known = tuple(entries)
    rows = [
        (
            entry.claim.claim,
            entry.claim.clause,
            entry.judged.design,
            entry.where,
            entry.cell.words,
            entry.cell.reason,
            _link(entry),
        )
        for entry in known
    ]
    heads = ("claim", "clause", "design", "searched", "verdict", "what breaks it", "the run")
    line = honest(entry.judged.budget for entry in known)
    return "\n\n".join((table(heads, rows), line, HOW_TO_OPEN)) + "\n"


def findings_page(all_shown: Iterable[Shown]) -> str:
    """Give findings as one table: what the text says, and the run that shows it."""
    found = tuple(all_shown)
    return "\n\n".join((_findings_table(found), _of_findings(found), HOW_TO_OPEN)) + "\n"


def reviews_page(all_shown: Iterable[tuple[Review, Shown]]) -> str:
    """Give the findings of several proposals, with a section and a table for each of them."""
    parts, found = [], tuple(all_shown)
    for review, pairs in groupby(found, key=lambda pair: pair[0]):
        rows = [shown for _, shown in pairs]
        head = f"## {review.title}: {len(rows)} {'findings' if len(rows) > 1 else 'finding'}"
        parts += [head, plain(review.about), _findings_table(rows)]
    line = _of_findings(shown for _, shown in found)
    return "\n\n".join((*parts, line, HOW_TO_OPEN)) + "\n"


def _of_findings(all_shown: Iterable[Shown]) -> str:
    return honest(budget_of(s.finding.faults) for s in all_shown if s.finding.promise)


def _findings_table(all_shown: Iterable[Shown]) -> str:
    found = tuple(all_shown)
    columns = {
        "finding": [each.finding.name for each in found],
        "the text": [f"{each.finding.says} ({each.finding.clause})" for each in found],
        "against": [each.finding.against for each in found],
        "what is the matter": [each.finding.matter for each in found],
        "as the text has it": [each.finding.slots for each in found],
        "where": [_where(each) for each in found],
        "verdict": [each.words for each in found],
        "with the text's own lock rule": [each.with_its_lock for each in found],
        "what": [each.reason if each.reason != each.finding.matter else "" for each in found],
        "the run": [link_of(each.run) if each.run is not None else "" for each in found],
    }
    kept = {head: cells for head, cells in columns.items() if any(cells)}
    return table(tuple(kept), tuple(zip(*kept.values(), strict=True)))


def corners_page(all_told: Iterable[Told]) -> str:
    """Give the corner cases of KIP-1289: what is claimed, and what happens in each reading."""
    rows = [
        (
            str(told.corner.number),
            told.corner.title,
            told.corner.claim,
            told.design,
            told.holds,
            told.once,
            told.pending,
            told.happens,
        )
        for told in all_told
    ]
    heads = ("case", "title", "the claim", "design", "holds", "exactly once", "pending", "happens")
    how = "One run each, as the KIP tells it; another order of the same events may come out otherwise."
    return "\n\n".join((table(heads, rows), how)) + "\n"


def _where(shown: Shown) -> str:
    finding = shown.finding
    if not finding.promise and finding.look is None:
        return ""
    asked = f"“{finding.promise}” in " if finding.promise else ""
    return f"{asked}{finding.scenario}" + (f", {finding.faults}" if finding.faults else "")


def _link(entry: Entry) -> str:
    """Give the permalink to where a claim breaks, if it is short enough for a table."""
    if entry.cell.verdict != BREAKS:
        return ""
    return link_of(counterexample(entry.judged, entry.cell))


def link_of(made: Run) -> str:
    """Give the permalink to the end of a run, if it is short enough for a table."""
    try:
        link = permalink(made.at(made.trace.last()))
    except ValueError:
        return ""
    return link if len(link) <= LINK_MAX else ""


def review(judged: Sequence[Judged]) -> str:
    """Give designs against properties, and a shortest story for everything that breaks."""
    if not judged:
        return "Nothing was judged.\n"
    first = judged[0]
    scenario = scenario_named(first.scenario)
    names = [cell.asked for cell in first.cells]
    faults = budget_words(first.budget) or "none"
    rows = [
        (f"{row.design} ({row.status})", *(row.cell(n).words for n in names), _searched(row))
        for row in judged
    ]
    parts = [
        f"# {plain(scenario.title)}: what each design keeps",
        f"{plain(scenario.sentence)} Source: {plain(scenario.clause)}. Faults: {plain(faults)}.",
        table(("design", *names, "searched"), rows),
        honest(row.budget for row in judged),
        *_cut_short(judged),
    ]
    for row in judged:
        parts += [story(row, cell) for cell in row.cells if cell.verdict == BREAKS]
    return "\n\n".join(parts) + "\n"


def _cut_short(judged: Sequence[Judged]) -> list[str]:
    return [
        plain(f"The search of {row.design} was not complete ({row.cut_short}).")
        for row in judged
        if row.cut_short
    ]


def story(judged: Judged, cell: Cell) -> str:
    """Give a counterexample as numbered steps, with the one that would have saved it."""
    made = told(judged, cell)
    steps = [f"{n}. {plain(text)}" for n, text in enumerate(runs.labels(made.run), 1)]
    head = f"### {plain(judged.design)}: “{plain(cell.asked)}” breaks after {len(steps)} steps"
    why = f"{plain(cell.reason)}\n\n{plain(made.sentence)}"
    return "\n\n".join((head, "\n".join(steps), why))


def told(judged: Judged, cell: Cell) -> Breaking:
    """Give the run of a cell that breaks, told in words, to be opened where it breaks."""
    return breaking(counterexample(judged, cell), cell.asked)


def saves_page(broken: Breaking, tried: Sequence[Decision]) -> str:
    """Say which single decisions save a run, on its own course and in every interleaving."""
    savers = sorted((d for d in tried if d.saves), key=lambda d: len(d.missing))
    rows = [
        (
            f"{d.slot}={d.option}",
            d.sentence,
            f"{d.verdict}; {_left_out(d)}",
            d.searched,
        )
        for d in savers
    ]
    heads = ("decision", "what it says", "on this course", "every interleaving")
    others = [f"{d.slot}={d.option} ({d.verdict})" for d in tried if not d.saves]
    parts = [
        f"## Which single decision saves this run? {plain(broken.run.scenario.title)}",
        plain(broken.reason),
        table(heads, rows) if rows else "No single decision saves this run.",
        f"Tried as well, each alone: {plain(', '.join(others))}." if others else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _left_out(decision: Decision) -> str:
    names = [m.name for m in decision.missing]
    if not names:
        return "every step happens again"
    if len(names) == 1:
        return f"all but one step happens again ({names[0]})"
    return f"{len(names)} of its steps do not happen any more ({names[0]}, …)"


def ablation_page(rows: Sequence[Ablated]) -> str:
    """Say what breaks first without some of Kafka's own rules, and tell the stories."""
    if not rows:
        return "Nothing was searched.\n"
    told_rows = [(*_without(row), "; ".join(held.words for held in row.held)) for row in rows]
    heads = ("switched off", "what breaks first", "with these faults", "held before that")
    parts = ["## What each of Kafka's own rules is there for", table(heads, told_rows)]
    parts.append(honest(r.first.budget for r in rows if r.first))
    parts += [story(r.first, r.cell) for r in rows if r.rules and r.first and r.cell]
    return "\n\n".join(parts) + "\n"


def _without(row: Ablated) -> tuple[str, str, str]:
    off = " and ".join(row.rules) or "nothing"
    if row.sampled is not None:
        return off, row.sampled.words, row.sampled.profile if row.sampled.broken else ""
    if row.first is None or row.cell is None:
        return off, "nothing up to this bound", ""
    what = f"{row.cell.asked}, after {len(row.cell.actions)} steps: {row.cell.reason}"
    return off, what, budget_words(row.first.budget) or "none"


def outcomes_page(found: Outcomes) -> str:
    """Give the outcomes of a scenario as a table, the most frequent one first."""
    rows = [
        (
            str(number),
            f"{group.count:,}",
            _each(group.ended.outputs),
            _each(group.ended.records),
            f"{group.ended.committed} committed, {group.ended.aborted} aborted",
            group.ended.how or "over",
            f"{group.steps} steps" + (f", seed {group.task.seed}" if group.task else ""),
        )
        for number, group in enumerate(found.groups, 1)
    ]
    heads = (
        "row",
        "how many",
        "committed outputs",
        "records",
        "transactions",
        "the run is",
        "a shortest one",
    )
    head = f"## How {plain(found.scenario)} ends under {plain(found.design)}"
    return "\n\n".join((head, f"{plain(found.sentence)}.", table(heads, rows))) + "\n"


def _each(pairs: Sequence[tuple[str, object]]) -> str:
    """Give what is known by name, neighbours with the same together."""
    runs_of = [list(group) for _, group in groupby(pairs, key=lambda pair: pair[1])]
    return "; ".join(
        f"{group[0][0]}{f' to {group[-1][0]}' if len(group) > 1 else ''}: {group[0][1]}"
        for group in runs_of
    )


def counterexample(judged: Judged, cell: Cell) -> Run:
    """Give the run of a cell that breaks, to be opened, drawn or saved."""
    return runs.follow(
        scenario_named(judged.scenario), design_named(judged.design), judged.budget, cell.actions
    )


def _searched(row: Judged) -> str:
    states = f"{row.explored.states:,} states"
    return states if row.explored.complete else f"{states}, not complete"


def _row(cells: Sequence[str]) -> str:
    return table_row(map(_cell, cells))


def _cell(text: str) -> str:
    """Give a text as it is shown; a permalink as code, so that it can be copied as it stands."""
    return f"`{text}`" if _LINK.fullmatch(text) else plain(text)
