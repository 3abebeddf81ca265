"""A repair as a page: the answer, and the sets of decisions that were tried."""

from __future__ import annotations

from kipviz.checking.judging.repair import Attempt, Repair, RepairQuestion
from kipviz.checking.single_run.permalink import TooLong, permalink
from kipviz.views.reports.blocks import (
    Blocks,
    Heading,
    Paragraph,
    TableCell,
    TextTable,
    render_markdown,
)
from kipviz.views.tones import TONE_OF_VERDICT

NOTHING = "none"


def repair_page(found: Repair) -> str:
    """Return in Markdown what repairs a design, and what was tried."""
    return render_markdown(repair_blocks(found))


def repair_blocks(found: Repair) -> Blocks:
    """Return what was tried as a page; the key of a run is the attempt, counted from 0.

    Sets that a known run refutes are counted, not listed: a search of sets of three tries hundreds.
    """
    asked = found.question
    searched = [(at, each) for at, each in enumerate(found.attempts) if each.states]
    refuted = len(found.attempts) - len(searched)
    heads = ("decisions", "what they say", "verdict", "the run")
    rows = tuple(_row(found, at, attempt) for at, attempt in searched)
    blocks: list[Heading | Paragraph | TextTable] = [
        Heading(2, f"What repairs {asked.design} in {asked.scenario}"),
        Paragraph(f"{found.sentence}"),
        TextTable("sets of decisions that were searched", heads, rows),
    ]
    if refuted:
        blocks.append(
            Paragraph(
                f"{refuted:,} other sets break in a run that broke a set before them, made again under each of them."
            )
        )
    blocks.append(
        Paragraph(
            f"Tried are {_render_tried(asked)}, "
            f"up to {asked.decisions_max} together: {', '.join(found.slots) or NOTHING}. {_render_left_out(asked)}"
            f"A search visits at most {asked.states_max:,} states; “holds” means that it visited every one."
        )
    )
    return tuple(blocks)


def _render_tried(asked: RepairQuestion) -> str:
    if not asked.others:
        return f"all options that {asked.design} has not, of the slots that come up in this cluster"
    others = " and ".join(asked.others)
    return f"the decisions in which {asked.design} and {others} differ and that come up in this cluster"


def _render_left_out(asked: RepairQuestion) -> str:
    return "Other options of these slots are not. " if asked.others else ""


def _row(found: Repair, at: int, attempt: Attempt) -> tuple[TableCell, ...]:
    options = " ".join(found.question.sentence_of(slot) for slot in attempt.slots)
    run = str(at) if attempt.run is not None else ""
    return (
        TableCell(" + ".join(attempt.slots) or NOTHING),
        TableCell(options),
        TableCell(attempt.words, TONE_OF_VERDICT[attempt.verdict], run),
        TableCell(_link(attempt)),
    )


def _link(attempt: Attempt) -> str:
    if attempt.run is None:
        return ""
    made = attempt.find_break().run
    try:
        return permalink(made.at(made.trace.last()))
    except TooLong:
        return ""
