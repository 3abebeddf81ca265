"""Studies, ledger and review as pages: tables, with their runs, also as Markdown for a mailing list.

A run has a key: "2 0" is the first property of the third row, "F" the run of finding F.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from kipviz.checking.judging.ablation import Ablated
from kipviz.checking.judging.budgets import budget_words
from kipviz.checking.judging.outcomes import Outcomes
from kipviz.checking.judging.verdicts import BREAKS, DesignVerdicts, PropertyVerdict
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.permalink import permalink
from kipviz.checking.single_run.runs import Run
from kipviz.checking.single_run.saving_decisions import SavingDecision
from kipviz.checking.single_run.timers_ran import TimersRan, all_timers_ran
from kipviz.checking.single_run.violation import Breaking, breaking
from kipviz.core.outside.printable import complete_sentence
from kipviz.designs.catalogue import design as design_named
from kipviz.properties.verdict import title_of
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.settings.client_configs import TRANSACTION_TIMEOUT_MS
from kipviz.studies.kip_claims.claims import JudgedClaim
from kipviz.studies.kip_claims.corners import NO, STOPS, YES, CornerResult
from kipviz.studies.review_findings.findings import BREAKS_PLAYED, FindingResult
from kipviz.studies.review_findings.reviews import Review
from kipviz.studies.study import NOT_ASKED, Answer
from kipviz.views.reports.blocks import (
    Block,
    Blocks,
    BrokenRun,
    Heading,
    Paragraph,
    TableCell,
    TextTable,
    render_markdown,
    rows_of,
)
from kipviz.views.tones import TONE_OF_VERDICT, Tone

HONEST = (
    '"holds" means that the search visited every interleaving of that cluster with that fault budget. '
    "It says nothing about larger ones."
)

CRITICAL_PATH = (
    "The times are a model's critical path, what the protocol waits for under these assumptions, and no "
    "benchmark of a broker."
)

HOW_TO_OPEN = 'A run opens with `kipviz open kv2.…`, or `kipviz.open("kv2.…")` in a notebook.'

TONE_OF_FINDING: dict[str, Tone] = {**TONE_OF_VERDICT, BREAKS_PLAYED: "breaks"}
TONE_OF_CORNER: dict[str, Tone] = {YES: "holds", NO: "breaks", STOPS: "open"}

# A longer link makes the row of a table hard to read.
LINK_MAX = 400


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table of plain texts."""
    return render_markdown((TextTable("", tuple(heads), rows_of(rows)),)).rstrip("\n")


def honest(searches: Iterable[TimersRan]) -> str:
    """Return the line below a table of verdicts: what "holds" means, and which timers expired when."""
    return render_markdown((_honest(searches),)).rstrip("\n")


def _honest(searches: Iterable[TimersRan]) -> Paragraph:
    return Paragraph(f"{HONEST} {all_timers_ran(searches).sentence}")


def study_page(found: Answer) -> str:
    """Return one study: the question, the rivals side by side, and the first run of each violation."""
    return render_markdown(study_blocks(found))


def study_blocks(found: Answer) -> Blocks:
    """Return one study as a page; the key of a run is a judged rival and one of its properties."""
    study = found.study
    blocks: list[Block] = [
        Heading(2, f"{study.name}. {study.question}"),
        Paragraph(f"{study.observable} Source: {study.source}."),
        TextTable("rivals", found.heads, tuple(_study_rows(found))),
    ]
    if found.judged:
        blocks.append(Paragraph(found.sentence))
        blocks.append(_honest(row.explored.timers for row in found.judged))
        blocks += _abstractions(found.judged)
    return (*blocks, *_times(found), *_list_cut_short(found.judged), *_broken_runs(found.judged))


def _study_rows(found: Answer) -> Iterator[tuple[TableCell, ...]]:
    for number, row in enumerate(found.rows):
        if number >= len(found.judged):
            yield tuple(map(TableCell, row))
            continue
        cells = {cell.asked: n for n, cell in enumerate(found.judged[number].cells)}
        yield tuple(
            _make_cell(found.judged, number, cells[head])
            if head in cells
            else TableCell(text, "open" if text == NOT_ASKED else "")
            for head, text in zip(found.heads, row, strict=True)
        )


def _make_cell(judged: Sequence[DesignVerdicts], row: int, column: int) -> TableCell:
    cell = judged[row].cells[column]
    run = f"{row} {column}" if cell.verdict == BREAKS else ""
    return TableCell(cell.words, TONE_OF_VERDICT[cell.verdict], run)


def _broken_runs(judged: Sequence[DesignVerdicts]) -> Iterator[BrokenRun]:
    for number, row in enumerate(judged):
        for n, cell in enumerate(row.cells):
            if cell.verdict == BREAKS:
                yield broken_run(row, cell, f"{number} {n}")


def _times(found: Answer) -> Iterator[Block]:
    """Yield a table of times beside the other table, and the assumptions behind the times."""
    if found.times is not None:
        heads, rows = found.times
        yield TextTable("beside it", heads, rows_of(rows))
    if found.assumptions:
        yield Paragraph(f"Assumed: {found.assumptions}. {CRITICAL_PATH}")


def ledger(entries: Iterable[JudgedClaim]) -> str:
    """Return the ledger of claims as one table."""
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
    line = honest(entry.judged.explored.timers for entry in known)
    return "\n\n".join((table(heads, rows), line, HOW_TO_OPEN)) + "\n"


def findings_blocks(all_shown: Iterable[FindingResult]) -> Blocks:
    """Return findings as a page; the key of a run is the finding's name."""
    found = tuple(all_shown)
    return (_findings_table("findings", found), _of_findings(found), Paragraph(HOW_TO_OPEN, True))


def reviews_page(all_shown: Iterable[tuple[Review, FindingResult]]) -> str:
    """Return the findings of several proposals, with a section and a table for each of them."""
    blocks: list[Block] = []
    found = tuple(all_shown)
    for review, pairs in groupby(found, key=lambda pair: pair[0]):
        rows = [shown for _, shown in pairs]
        head = f"{review.title}: {len(rows)} {'findings' if len(rows) > 1 else 'finding'}"
        blocks += [Heading(2, head), Paragraph(review.about), _findings_table(review.title, rows)]
    line = _of_findings(shown for _, shown in found)
    return render_markdown((*blocks, line, Paragraph(HOW_TO_OPEN, True)))


def _of_findings(all_shown: Iterable[FindingResult]) -> Paragraph:
    return _honest(shown.timers for shown in all_shown)


def _findings_table(caption: str, all_shown: Iterable[FindingResult]) -> TextTable:
    found = tuple(all_shown)
    columns = {
        "finding": [TableCell(each.finding.name) for each in found],
        "the text": [TableCell(f"{each.finding.says} ({each.finding.clause})") for each in found],
        "against": [TableCell(each.finding.against) for each in found],
        "what is wrong": [TableCell(each.finding.matter) for each in found],
        "decisions of the text": [TableCell(each.finding.slots) for each in found],
        "where": [TableCell(_where(each)) for each in found],
        "verdict": [
            TableCell(each.words, TONE_OF_FINDING.get(each.verdict, ""), _key(each))
            for each in found
        ],
        "with the text's own lock rule": [
            TableCell(each.with_its_lock, TONE_OF_FINDING.get(each.its_lock_verdict, ""))
            for each in found
        ],
        "what happens": [
            TableCell(each.reason if each.reason != each.finding.matter else "") for each in found
        ],
        "the run": [
            TableCell(link_of(each.run) if each.run is not None else "", run=_key(each))
            for each in found
        ],
    }
    kept = {head: cells for head, cells in columns.items() if any(cell.text for cell in cells)}
    return TextTable(caption, tuple(kept), tuple(zip(*kept.values(), strict=True)))


def _key(shown: FindingResult) -> str:
    return shown.finding.name if shown.run is not None else ""


def corners_page(all_told: Iterable[CornerResult]) -> str:
    """Return the corner cases of KIP-1289: the claim, and what happens in each reading."""
    return render_markdown(corners_blocks(all_told))


def corners_blocks(all_told: Iterable[CornerResult]) -> Blocks:
    """Return the corner cases of KIP-1289 as a page; no run is kept."""
    rows = [
        (
            TableCell(str(told.corner.number)),
            TableCell(told.corner.title),
            TableCell(told.corner.claim),
            TableCell(told.design),
            TableCell(told.holds, TONE_OF_CORNER.get(told.holds, "")),
            TableCell(told.once, TONE_OF_CORNER.get(told.once, "")),
            TableCell(told.pending),
            TableCell(told.happens),
        )
        for told in all_told
    ]
    heads = ("case", "title", "the claim", "design", "holds", "exactly once", "pending", "happens")
    how = (
        "One run each, in the order of the KIP; another order of the same events may end differently. “Exactly once” is "
        "judged to the end of the run and along one continuation of it, without a fault: where nothing else can happen, "
        f"acquisition locks, {TRANSACTION_TIMEOUT_MS.name} and the sessions of silent members expire. “Pending” is what is open "
        "at the end of the run: “resolved” if some continuation without a new fault closes it, with timers that expire "
        "at any time and repairs of what is down; otherwise all of them were tried and none does, or it is “undecided”."
    )
    return TextTable("corner cases of KIP-1289", heads, tuple(rows)), Paragraph(how)


def _where(shown: FindingResult) -> str:
    finding = shown.finding
    if not finding.property_name and finding.look is None:
        return ""
    asked = f"“{title_of(finding.property_name)}” in " if finding.property_name else ""
    return f"{asked}{finding.scenario}" + (f", {finding.faults}" if finding.faults else "")


def _link(entry: JudgedClaim) -> str:
    """Return the permalink to where a claim breaks, if it is short enough for a table."""
    if entry.cell.verdict != BREAKS:
        return ""
    return link_of(counterexample(entry.judged, entry.cell))


def link_of(made: Run) -> str:
    """Return the permalink to the end of a run, if it is short enough for a table."""
    try:
        link = permalink(made.at(made.trace.last()))
    except ValueError:
        return ""
    return link if len(link) <= LINK_MAX else ""


def review(judged: Sequence[DesignVerdicts]) -> str:
    """Return designs against properties, and a shortest run for every violation."""
    return render_markdown(review_blocks(judged))


def review_blocks(judged: Sequence[DesignVerdicts]) -> Blocks:
    """Return designs against properties as a page; the key of a run is a row and one of its properties."""
    if not judged:
        return (Paragraph("Nothing was judged."),)
    first = judged[0]
    scenario = scenario_named(first.scenario)
    names = [cell.asked for cell in first.cells]
    faults = budget_words(first.budget) or "none"
    columns = [[cell.asked for cell in row.cells] for row in judged]
    rows = tuple(
        (
            TableCell(f"{row.design} ({row.status})"),
            *(_make_cell(judged, number, columns[number].index(name)) for name in names),
            TableCell(_render_searched(row)),
        )
        for number, row in enumerate(judged)
    )
    return (
        Heading(1, f"{scenario.title}: what each design keeps"),
        Paragraph(f"{scenario.sentence} Source: {scenario.clause}. Faults: {faults}."),
        TextTable("verdicts", ("design", *map(title_of, names), "searched"), rows, "property"),
        _honest(row.explored.timers for row in judged),
        *_abstractions(judged),
        *_list_cut_short(judged),
        *_broken_runs(judged),
    )


def _abstractions(judged: Sequence[DesignVerdicts]) -> Iterator[Paragraph]:
    """Yield the abstractions of the searches, each once."""
    yield from map(Paragraph, dict.fromkeys(row.explored.under for row in judged))


def _list_cut_short(judged: Sequence[DesignVerdicts]) -> Iterator[Paragraph]:
    for row in judged:
        if row.cut_short:
            yield Paragraph(f"The search of {row.design} was not complete ({row.cut_short}).")


def broken_run(judged: DesignVerdicts, cell: PropertyVerdict, key: str) -> BrokenRun:
    """Return a counterexample with its steps and the step whose absence would have kept the property."""
    made = render_run(judged, cell)
    steps = runs.labels(made.run)
    title = f"“{title_of(cell.asked)}” breaks after {len(steps)} steps"
    why = complete_sentence(cell.reason)
    return BrokenRun(judged.design, title, steps, why, made.sentence, key)


def render_run(judged: DesignVerdicts, cell: PropertyVerdict) -> Breaking:
    """Return the run of a violated cell, in words, at the violation."""
    return breaking(counterexample(judged, cell), cell.asked)


def saves_page(broken: Breaking, tried: Sequence[SavingDecision]) -> str:
    """Return which single decisions save a run, in this run and in every interleaving."""
    return render_markdown(saves_blocks(broken, tried))


def saves_blocks(broken: Breaking, tried: Sequence[SavingDecision]) -> Blocks:
    """Return the decisions that save a run as a page; the key of a run is the decision."""
    savers = sorted((d for d in tried if d.saves), key=lambda d: len(d.missing))
    rows = tuple(
        (
            TableCell(f"{d.slot}={d.option}", run=f"{d.slot}={d.option}"),
            TableCell(d.sentence),
            TableCell(f"{d.verdict}; {_render_left_out(d)}", TONE_OF_VERDICT[d.verdict]),
            TableCell(d.searched, TONE_OF_VERDICT.get(d.searched_verdict, "open")),
        )
        for d in savers
    )
    heads = ("decision", "what it says", "on this course", "every interleaving")
    others = [f"{d.slot}={d.option} ({d.verdict})" for d in tried if not d.saves]
    blocks: list[Block] = [
        Heading(2, f"Which single decision saves this run? {broken.run.scenario.title}"),
        Paragraph(broken.reason),
    ]
    if rows:
        blocks.append(TextTable("decisions that save this run", heads, rows))
    else:
        blocks.append(Paragraph("No single decision saves this run."))
    if others:
        blocks.append(Paragraph(f"Tried as well, each alone: {', '.join(others)}."))
    return tuple(blocks)


def _render_left_out(decision: SavingDecision) -> str:
    names = [m.name for m in decision.missing]
    if not names:
        return "every step happens again"
    if len(names) == 1:
        return f"all but one step happens again ({names[0]})"
    return f"{len(names)} of its steps do not happen any more ({names[0]}, …)"


def ablation_page(rows: Sequence[Ablated]) -> str:
    """Return what breaks first without some of Kafka's own rules, with the runs."""
    return render_markdown(ablation_blocks(rows))


def ablation_blocks(rows: Sequence[Ablated]) -> Blocks:
    """Return what breaks first without some rules as a page; the key of a run is the rules, with commas."""
    if not rows:
        return (Paragraph("Nothing was searched."),)
    heads = ("switched off", "what breaks first", "with these faults", "held before that")
    return (
        Heading(2, "What each of Kafka's own rules is there for"),
        TextTable("rules switched off", heads, tuple(map(_ablated_cells, rows))),
        _honest(timers for row in rows for timers in row.timers),
        *(broken_run(r.first, r.cell, _rules(r)) for r in rows if r.rules and r.first and r.cell),
    )


def _rules(row: Ablated) -> str:
    return ",".join(row.rules)


def _ablated_cells(row: Ablated) -> tuple[TableCell, ...]:
    off, what, faults = _render_without(row)
    broken = bool(row.first and row.cell) or bool(row.sampled and row.sampled.broken)
    what_breaks = TableCell(what, "breaks", _rules(row)) if broken else TableCell(what, "open")
    held = TableCell("; ".join(held.words for held in row.held))
    return TableCell(off), what_breaks, TableCell(faults), held


def _render_without(row: Ablated) -> tuple[str, str, str]:
    off = " and ".join(row.rules) or "nothing"
    if row.sampled is not None:
        return off, row.sampled.words, row.sampled.profile if row.sampled.broken else ""
    if row.first is None or row.cell is None:
        return off, "nothing up to this bound", ""
    what = f"{title_of(row.cell.asked)}, after {len(row.cell.actions)} steps: {row.cell.reason}"
    return off, what, budget_words(row.first.budget) or "none"


def outcomes_page(found: Outcomes) -> str:
    """Return the outcomes of a scenario as a table, most frequent first."""
    return render_markdown(outcomes_blocks(found))


def outcomes_blocks(found: Outcomes) -> Blocks:
    """Return the outcomes of a scenario as a page; the key of a run is its row, counted from 1."""
    rows = tuple(
        (
            TableCell(str(number), run=str(number)),
            *map(
                TableCell,
                (
                    f"{group.count:,}",
                    _each(group.ended.outputs),
                    _each(group.ended.records),
                    f"{group.ended.committed} committed, {group.ended.aborted} aborted",
                    group.ended.how or "over",
                    f"{group.steps} steps" + (f", seed {group.task.seed}" if group.task else ""),
                ),
            ),
        )
        for number, group in enumerate(found.groups, 1)
    )
    heads = (
        "row",
        "how many",
        "committed outputs",
        "records",
        "transactions",
        "the run is",
        "a shortest one",
    )
    return (
        Heading(2, f"How {found.scenario} ends under {found.design}"),
        Paragraph(f"{found.sentence}."),
        TextTable("outcomes", heads, rows),
    )


def _each(pairs: Sequence[tuple[str, object]]) -> str:
    """Render values by name, with neighbours of the same value joined."""
    runs_of = [list(group) for _, group in groupby(pairs, key=lambda pair: pair[1])]
    return "; ".join(
        f"{group[0][0]}{f' to {group[-1][0]}' if len(group) > 1 else ''}: {group[0][1]}"
        for group in runs_of
    )


def counterexample(judged: DesignVerdicts, cell: PropertyVerdict) -> Run:
    """Return the run of a violated cell, to be opened, drawn or saved."""
    return runs.follow_found(
        scenario_named(judged.scenario), design_named(judged.design), judged.budget, cell.actions
    )


def _render_searched(row: DesignVerdicts) -> str:
    states = f"{row.explored.states:,} states"
    return states if row.explored.complete else f"{states}, not complete"
