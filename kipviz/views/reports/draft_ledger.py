"""The ledger of KIP-1289's draft implementation as a page: counts for each design, and every row with its run."""

from __future__ import annotations

from collections.abc import Sequence

from kipviz.checking.judging.verdicts import HOLDS
from kipviz.scenarios.applications.program_faults import THE_PROGRAM
from kipviz.studies.draft_implementation.draft_ledger import LedgerEntry
from kipviz.studies.draft_implementation.implementation import (
    NO_FAULT,
    PROPERTY_NAMES,
    STATES_MAX,
)
from kipviz.views.exports.markdown import plain
from kipviz.views.reports.review import HOW_TO_OPEN, LINK_MAX, honest, table

BOUNDS = (
    f"The search for a verdict visits at most {STATES_MAX:,} states and ends at the first violation of its property. If a property "
    "breaks without a fault, it is not searched with one. A repair is a set of decisions of the repaired design with which no "
    "violation was found. All sets of one size are tried before larger ones, so every smaller set breaks the case, which a run shows. "
    "Other sets of the same size may be repairs as well. A repair is called a smallest one if every interleaving with it was visited. "
    "If the search with it ended at the limit of states, it is not shown to be one. If the arrangement itself breaks the other property, "
    "the repair is for this property alone. The repair “none” means that the repaired design also breaks the property, because the "
    "arrangement does. No property here forbids endless redelivery of a record. In the late iteration and in the repaired design an "
    "abort ignores the delivery limit (abort_limit=not_asked), so a poison record whose transaction always aborts is never archived. "
    "With abort_limit=archived_at_the_limit, an abort would archive records that no consumer failed to process, as in finding M. "
    "kipviz study B11 compares both."
)


def draft_ledger_page(entries: Sequence[LedgerEntry]) -> str:
    """Return both tables and the meaning of their words."""
    parts = ["## In short", _short(entries), "## Every row", _rows(entries), plain(BOUNDS)]
    ran = honest(each.timers for each in entries)
    return "\n\n".join((*parts, ran, HOW_TO_OPEN)) + "\n"


def _short(entries: Sequence[LedgerEntry]) -> str:
    """Count for each design in each arrangement what holds, breaks and is not decided."""
    groups: dict[tuple[str, str, str], list[LedgerEntry]] = {}
    for each in entries:
        groups.setdefault((each.arrangement, each.label, each.design), []).append(each)
    rows = [
        (*key, *(_verdicts(each, property_name) for property_name in PROPERTY_NAMES))
        for key, each in groups.items()
    ]
    return table(("arrangement", "design", "its decisions", *PROPERTY_NAMES), rows)


def _verdicts(entries: Sequence[LedgerEntry], property_name: str) -> str:
    """Return with which faults a property breaks, and with which it is not decided; "holds" if there are none."""
    mine = [each for each in entries if each.property_name == property_name]
    words = [
        f"{what}: {', '.join(faults)}"
        for what, faults in (
            (
                "breaks",
                [each.faults or NO_FAULT for each in mine if each.breaks and not each.bare],
            ),
            (
                "not decided",
                [each.faults for each in mine if not each.breaks and each.verdict != HOLDS],
            ),
        )
        if faults
    ]
    return "; ".join(words) or HOLDS


def _rows(entries: Sequence[LedgerEntry]) -> str:
    heads = (
        "arrangement",
        "design",
        "faults",
        "property",
        "verdict",
        "searched",
        "what happens",
        "a smallest repair, and what was searched with it",
        "the run",
    )
    rows = [
        (
            each.arrangement,
            each.label,
            each.faults or NO_FAULT,
            each.property_name,
            words_of(each),
            f"{each.states:,} states",
            each.reason,
            each.repair.words if each.breaks else "",
            each.link if len(each.link) <= LINK_MAX else "",
        )
        for each in entries
    ]
    return table(heads, rows)


def words_of(entry: LedgerEntry) -> str:
    """Return the verdict in words: after how many steps it breaks, whether without a fault, and what is at fault."""
    if not entry.breaks:
        return entry.verdict
    without = " without a fault" if entry.bare else ""
    whose = f" ({THE_PROGRAM})" if entry.blame else ""
    return f"{entry.verdict} after {entry.steps}{without}{whose}"
