"""The timeout landscape as tables: one per design, a row for each lock duration."""

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
    head = f"## Lock duration against transaction timeout: {plain(asked.scenario)}"
    work = f"The application works for {ms(asked.work)} on a batch before it commits."
    parts = [head, f"{work} Faults: {plain(asked.faults or 'none')}."]
    for design in dict.fromkeys(spot.design for spot in found.spots):
        spots = [spot for spot in found.spots if spot.design == design]
        heads = (f"{plain(design)}: lock", *(f"timeout {ms(t)}" for t in asked.timeouts))
        rows = [
            (ms(lock), *(_cell(spots, lock, timeout) for timeout in asked.timeouts))
            for lock in asked.locks
        ]
        parts.append(table(heads, rows))
    if found.spots:
        states = sum(spot.explored.states for spot in found.spots)
        clock = found.spots[0].explored.clock
        parts.append(f"{len(found.spots)} searches, {states:,} states, {clock}. {MEANING}")
    return "\n\n".join(parts) + "\n"


def _cell(spots: list[Spot], lock: int, timeout: int) -> str:
    return next((s.words for s in spots if (s.lock, s.timeout) == (lock, timeout)), "not searched")
