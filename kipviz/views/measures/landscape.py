"""The timeout landscape as tables: one for each design, with a row for each value of one setting."""

from __future__ import annotations

from kipviz.checking.timed.landscape import Landscape, Spot
from kipviz.cluster.timing.clock import ms
from kipviz.properties.verdict import HOLDS
from kipviz.views.reports.blocks import (
    Block,
    Blocks,
    Heading,
    Paragraph,
    TableCell,
    TextTable,
    render_markdown,
)

MEANING = (
    '"holds": no property breaks in any order of events that these durations allow, and some run commits. '
    '"never commits": nothing breaks, because every transaction times out. Messages arrive at once and '
    "the application works without a pause; a slower cluster may break where this one holds."
)


def landscape_page(found: Landscape) -> str:
    """Return the tables of a landscape, and how much was searched."""
    return render_markdown(landscape_blocks(found))


def landscape_blocks(found: Landscape) -> Blocks:
    """Return the tables of a landscape as a page; the key of a run is the number of its cell."""
    asked = found.question
    down, across = asked.down, asked.across
    head = f"{down.setting} against {across.setting}: {asked.scenario}"
    work = f"The application works for {ms(asked.work_ms)} on a batch before it commits."
    fixed = f" Fixed: {', '.join(asked.fixed)}." if asked.fixed else ""
    blocks: list[Block] = [
        Heading(2, head),
        Paragraph(f"{work} Faults: {asked.faults or 'none'}.{fixed}"),
    ]
    for design in dict.fromkeys(spot.design for spot in found.spots):
        places = {
            (spot.down, spot.across): _cell(spot, str(n))
            for n, spot in enumerate(found.spots)
            if spot.design == design
        }
        rows = tuple(
            (
                TableCell(down.word(value)),
                *(
                    places.get((value, other), TableCell("not searched", "open"))
                    for other in across.values
                ),
            )
            for value in down.values
        )
        heads = (design, *map(across.word, across.values))
        caption = f"{design}: {down.setting} down, {across.setting} across"
        blocks.append(TextTable(caption, heads, rows))
    if found.spots:
        states = sum(spot.explored.states for spot in found.spots)
        clock = found.spots[0].explored.clock
        searched = f"{len(found.spots)} searches, {states:,} states, {clock}."
        blocks.append(Paragraph(f"{searched} {MEANING}"))
    return tuple(blocks)


def _cell(spot: Spot, key: str) -> TableCell:
    if spot.explored.counterexamples:
        return TableCell(spot.words, "breaks", key)
    return TableCell(spot.words, "holds" if spot.verdict == HOLDS else "open")
