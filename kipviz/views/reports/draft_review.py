"""A review of KIP-1289's draft implementation for its author: what holds, what breaks, what is not known.

It states what was played and searched, and under which assumptions. What the sources show is distinguished everywhere
from what we have inferred, which is marked as our inference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kipviz.designs.catalogue import AS_WRITTEN, DRAFT_EARLY, DRAFT_LATE, DRAFT_MIDDLE
from kipviz.designs.design import Design
from kipviz.designs.slot import OURS
from kipviz.kips.kip_1289_drafts import AS_IMPLEMENTED
from kipviz.kips.row import OPEN
from kipviz.studies.draft_implementation.draft_stories import PlayedStory
from kipviz.studies.study import Answer
from kipviz.views.exports.markdown import plain
from kipviz.views.reports.review import HONEST, HOW_TO_OPEN, link_of, study_page, table

HEAD = """# KIP-1289 as it is being implemented: notes for a review

Thank you for publishing the work while it is in progress. These notes come from a simulation of Kafka's transaction and share-group
protocol in which the iterations of pull request 22357 can be played. Nothing here was run on a broker.

**What is a fact here.** "Seen in source" means that a file or a test of the pull request shows it, in a revision that we could read. We could not
read the late SharePartition, ShareCoordinatorShard, TransactionManager and KafkaApis. The pull request is a draft, and these notes may be about code
that has changed since. "Our inference" means that no file that we could read shows it; such a decision may be wrong. Each table says which decisions are
our inference. What is not known is listed at the end.

**How to read a verdict.** A break is the shortest run that the search found, or the end of a story. A run decides nothing about the code: it says
what follows from the rules as we read them. The repaired design is ours, and so are all designs in which we have changed a decision of an iteration to see
what it is there for."""
STORIES = (
    "Each line is one run, played to its end and then left alone. It says nothing about other interleavings, which "
    "kipviz study implementation searches."
)
LIMIT = (
    "No property here counts a record that the delivery limit archives, or one that is delivered forever: "
    "kip-1289-ingress-unknown-task, kip-1289-flink-restart-loop and kip-1289-draft-poison show these."
)
AS_IT_IS = "In an iteration as it is modelled"
CHANGED = "Where we have changed a decision of an iteration"
PROGRAM = "Due to the program: under every design"
ITERATIONS = (DRAFT_EARLY, DRAFT_MIDDLE, DRAFT_LATE)
# KIP-939 is not part of the pull request; a job with two-phase commit needs it.
OF_KIP_939 = "keep_prepared"


def draft_review(played: Sequence[PlayedStory], answers: Iterable[Answer]) -> str:
    """Return the whole page: designs, what holds, what breaks, the studies, what is not known."""
    parts = [
        HEAD,
        "## The iterations as they are modelled",
        *(_iteration(each) for each in ITERATIONS),
        "## What holds",
        f"{STORIES} {LIMIT}",
        _holding(played),
        "## What breaks, and how",
        STORIES,
        *_breaking(played),
        HOW_TO_OPEN,
        *(study_page(answer).rstrip("\n") for answer in answers),
        HONEST,
        "## What is not known",
        "None of the sources that we have shows these. A pointer to the code or a test would settle each of them.",
        _open_points(),
    ]
    return "\n\n".join(parts) + "\n"


def _iteration(design: Design) -> str:
    """Return what an iteration does and the source of each decision; an inference is marked as one."""
    rows = []
    for slot, mine, text in design.differs_from(AS_WRITTEN):
        option = design.option(slot)
        rows.append((slot, mine, text, option.status, option.source))
    heads = ("decision", "as implemented", "as the text has it", "status", "source")
    title = f"### {plain(design.title)}"
    ours = ", ".join(_list_inferred(design)) or "none"
    words = f"{design.sentence} Source: {design.source}. Decisions that are our inference: {ours}."
    return "\n\n".join((title, plain(words), table(heads, rows)))


def _list_inferred(design: Design) -> tuple[str, ...]:
    """Return the decisions of an iteration, or of a changed one, that no source shows."""
    return tuple(
        slot for slot, _, _ in design.differs_from(AS_WRITTEN) if design.option(slot).status == OURS
    )


def _ours(design: Design) -> str:
    """Return which decisions of a design are our inference, in words."""
    base = design.name.partition("+")[0]
    if base not in {each.name for each in ITERATIONS}:
        return "" if design.status != OURS else "the design is ours"
    return ", ".join(_list_inferred(design))


def _name(each: PlayedStory) -> str:
    return f"{each.run.scenario.title} ({each.run.scenario.name})"


def _holding(played: Sequence[PlayedStory]) -> str:
    rows = [
        (_name(each), each.run.design.name, _ours(each.run.design), link_of(each.run))
        for each in played
        if not each.broken
    ]
    return table(("story", "design", "our inference in it", "the run"), rows)


def _breaking(played: Sequence[PlayedStory]) -> tuple[str, ...]:
    """Return what breaks in an iteration, what breaks where we changed a decision, and what a program breaks."""
    mine: dict[str, list[tuple[str, ...]]] = {title: [] for title in (AS_IT_IS, CHANGED, PROGRAM)}
    for each in played:
        for broken in each.broken:
            design = each.run.design
            _, *changes = design.name.split("+")
            kept = all(change.partition("=")[0] == OF_KIP_939 for change in changes)
            under = PROGRAM if broken.blame else AS_IT_IS if kept else CHANGED
            what = (broken.property, broken.reason, *([broken.blame] if broken.blame else []))
            mine[under].append((_name(each), design.name, _ours(design), *what, link_of(each.run)))
    parts: list[str] = []
    for title, rows in mine.items():
        why = ("why it is the program's",) if title == PROGRAM else ()
        heads = (
            "story",
            "design",
            "our inference in it",
            "property",
            "what happens",
            *why,
            "the run",
        )
        parts += [f"### {title}", table(heads, rows) if rows else "Nothing."]
    return tuple(parts)


def _open_points() -> str:
    rows = [
        (row.clause.partition(": ")[2], row.says, row.note)
        for row in AS_IMPLEMENTED
        if row.how == OPEN
    ]
    return table(("point", "what is known", "readings"), rows)
