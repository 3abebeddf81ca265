"""A review of KIP-1289's draft implementation that its author could read: what holds, what breaks, what is not known.

It states what was played and searched, and under which assumptions. What the sources show is told as that; what we
have inferred is marked as our inference wherever it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kipviz.designs.catalogue import AS_WRITTEN, DRAFT_EARLY, DRAFT_LATE, DRAFT_MIDDLE
from kipviz.designs.design import Design
from kipviz.kips.kip_1289_drafts import AS_IMPLEMENTED
from kipviz.kips.row import OPEN
from kipviz.scenarios.program_faults import THE_PROGRAM
from kipviz.studies.draft_implementation.draft_stories import Played
from kipviz.studies.study import Answer
from kipviz.views.exports.markdown import plain
from kipviz.views.reports.review import HONEST, HOW_TO_OPEN, link_of, study_page, table

HEAD = """# KIP-1289 as it is being implemented: notes for a review

Thank you for publishing the work while it is in progress. These notes come from a simulation of Kafka's transaction and share-group
protocol in which the iterations of pull request 22357 can be played. Nothing here was run on a broker.

**What is a fact here.** "Seen in source" means that a stored source or test of the pull request shows it. The pull request is a draft, and these
notes may be about code that has changed since. "Our inference" means that no source shows it; such an option may be wrong, and a design that has one is
called an inference as a whole. What is not known is listed at the end.

**How to read a verdict.** A break is the shortest run that the search found, or the end of a story. A run decides nothing about the code: it says
what follows from the rules as we read them."""
ITERATIONS = (DRAFT_EARLY, DRAFT_MIDDLE, DRAFT_LATE)


def draft_review(played: Sequence[Played], answers: Iterable[Answer]) -> str:
    """Return the whole page: designs, what holds, what breaks, the studies, what is not known."""
    parts = [
        HEAD,
        "## The iterations as they are modelled",
        *(_iteration(each) for each in ITERATIONS),
        "## What holds",
        _holding(played),
        "## What breaks, and how",
        _breaking(played),
        HOW_TO_OPEN,
        *(study_page(answer).rstrip("\n") for answer in answers),
        HONEST,
        "## What is not known",
        "None of the sources that we have shows these. A pointer to the code or a test would settle each of them.",
        _open_points(),
    ]
    return "\n\n".join(parts) + "\n"


def _iteration(design: Design) -> str:
    """Return what an iteration does and where each decision comes from; an inference is called that."""
    rows = []
    for slot, mine, text in design.differs_from(AS_WRITTEN):
        option = design.option(slot)
        rows.append((slot, mine, text, option.status, option.source))
    heads = ("decision", "as implemented", "as the text has it", "status", "source")
    title = f"### {plain(design.title)}"
    return "\n\n".join(
        (title, f"{plain(design.sentence)} Status: {design.status}.", table(heads, rows))
    )


def _name(each: Played) -> str:
    return f"{each.run.scenario.title} (`{each.run.scenario.name}`)"


def _holding(played: Sequence[Played]) -> str:
    rows = [
        (_name(each), each.run.design.name, each.run.design.status, link_of(each.run))
        for each in played
        if not each.broken
    ]
    return table(("story", "design", "status of the design", "the run"), rows)


def _breaking(played: Sequence[Played]) -> str:
    rows = []
    for each in played:
        for broken in each.broken:
            whose = f"{THE_PROGRAM}: {broken.blame}" if broken.blame else "the design"
            design = each.run.design
            what = (broken.property, broken.reason, whose, link_of(each.run))
            rows.append((_name(each), design.name, design.status, *what))
    heads = (
        "story",
        "design",
        "status of the design",
        "promise",
        "what happens",
        "due to",
        "the run",
    )
    return table(heads, rows)


def _open_points() -> str:
    rows = [
        (row.clause.partition(": ")[2], row.says, row.note)
        for row in AS_IMPLEMENTED
        if row.how == OPEN
    ]
    return table(("point", "what is known", "readings"), rows)
