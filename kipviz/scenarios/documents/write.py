"""Write a story as a document: one form for each story, which is read as the same story."""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.scenarios.documents.blocks import TICKS, wrap_text
from kipviz.scenarios.documents.clusters_in_head import write_cluster
from kipviz.scenarios.documents.head import MARK, Plain, write_head
from kipviz.scenarios.documents.programs_in_text import Program, write_program
from kipviz.scenarios.documents.read import (
    CHECKPOINTS,
    CLAUSE,
    DESIGNS,
    LANES,
    NAME,
    ORDER,
    OTHER,
    PROGRAM,
    QUESTION,
    RIGHT,
    STEPS,
    UNTOLD,
    WATCH,
    Document,
)
from kipviz.scenarios.scenario import Question, Scenario
from kipviz.scenarios.teaching_notes import Watch


def write_story(document: Document) -> str:
    """Return the text of a story document, with a newline at its end."""
    story = document.scenario
    programs: dict[Program, str] = {}
    keys: dict[str, Plain] = {NAME: story.name}
    if document.order:
        keys[ORDER] = document.order
    keys |= {CLAUSE: story.clause, DESIGNS: list(story.designs), LANES: list(story.lanes)}
    if story.untold:
        keys[UNTOLD] = story.untold
    keys |= write_cluster(story.spec, story.stated, programs)
    lines = [MARK, *write_head(keys), MARK, "", f"# {story.title}", "", *wrap_text(story.sentence)]
    for program, name in programs.items():
        lines += ["", f"{TICKS}{PROGRAM}{name}", *write_program(program), TICKS]
    if not story.beats:
        lines += _watch(story, 0)
    for number, beat in enumerate(story.beats):
        lines += ["", f"## {beat.title}", "", *wrap_text(beat.say), *_watch(story, number)]
        if story.question is not None and story.question.beat == number:
            lines += _question(story.question)
        lines += ["", f"{TICKS}{STEPS}", *beat.steps, TICKS]
    if story.checkpoints:
        lines += ["", f"## {CHECKPOINTS}", ""]
    for checkpoint in story.checkpoints:
        lines += wrap_text(f"{checkpoint.text}: `{checkpoint.goal}`", "- ", "  ")
    return "\n".join([*lines, ""])


def _watch(story: Scenario, beat: int) -> Iterator[str]:
    notes: list[Watch] = [watch for watch in story.watch if watch.beat == beat]
    if notes:
        yield ""
    for note in notes:
        yield from wrap_text(f"{WATCH}{note.text}", "- ", "  ")


def _question(question: Question) -> Iterator[str]:
    yield ""
    yield from wrap_text(f"{QUESTION}{question.text}")
    yield ""
    for choice in question.choices:
        yield from wrap_text(f"{RIGHT if choice.right else OTHER}{choice.text}", "- ", "  ")
        yield from wrap_text(choice.say, "  > ", "  > ")
