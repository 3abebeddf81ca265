"""The timeout landscape as tables: one per design, a row for each value of one setting."""

from __future__ import annotations

from kipviz.checking.landscape import Landscape, Spot
from kipviz.cluster.clock import ms
from kipviz.views.markdown import plain
from kipviz.views.review import table

MEANING = (
    '"holds": no promise breaks in any order of events that these durations allow, and some run commits. '
    '"never commits": nothing breaks, because every transaction times out. Messages arrive at once and '
    "the application works without a pause; a slower cluster may break where this one holds."
)


def landscape_page(found: Landscape) -> str:
    """Give the tables of a landscape, and how much was searched for them."""
    asked = found.question
    down, across = asked.down, asked.across
    head = f"## {plain(down.setting)} against {plain(across.setting)}: {plain(asked.scenario)}"
    work = f"The application works for {ms(asked.work_ms)} on a batch before it commits."
    fixed = f" Fixed: {plain(', '.join(asked.fixed))}." if asked.fixed else ""
    parts = [head, f"{work} Faults: {plain(asked.faults or 'none')}.{fixed}"]
    for design in dict.fromkeys(spot.design for spot in found.spots):
        spots = [spot for spot in found.spots if spot.design == design]
        heads = (plain(design), *map(across.word, across.values))
        rows = [
            (down.word(value), *(_cell(spots, value, other) for other in across.values))
            for value in down.values
        ]
        parts.append(table(heads, rows))
    if found.spots:
        states = sum(spot.explored.states for spot in found.spots)
        clock = found.spots[0].explored.clock
        parts.append(f"{len(found.spots)} searches, {states:,} states, {clock}. {MEANING}")
    return "\n\n".join(parts) + "\n"


def _cell(spots: list[Spot], down: int, across: int) -> str:
    return next((s.words for s in spots if (s.down, s.across) == (down, across)), "not searched")
