"""`kipviz pains`: common problems of users, their cause, the remedy, and the step of a story that shows it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kipviz.command.arguments import add_json, count
from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import answer

if TYPE_CHECKING:
    from kipviz.scenarios.pains import Pain

HELP = "list common symptoms, with cause, remedy and the story that shows each"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument(
        "number", nargs="?", type=count, metavar="NUMBER", help="one symptom, with its story's link"
    )
    parser.add_argument(
        "--open",
        action="store_true",
        help="open its story in the browser, at the step that shows it",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="with --open: write the page only"
    )
    parser.add_argument("--to", metavar="FILE", help="with --open: the file of the page")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the symptoms, or one of them; with --open, open its story.

    Raises:
        Refused: if there is no such symptom, or --open names none.
    """
    from kipviz.scenarios.pains import PAINS, UnknownPain, pain

    if arguments.open and arguments.number is None:
        raise RefusedInput("name the symptom to open: `kipviz pains` lists their numbers")
    try:
        chosen = PAINS if arguments.number is None else (pain(arguments.number),)
    except UnknownPain as unknown:
        raise RefusedInput(str(unknown)) from None
    if arguments.open:
        return _open(arguments, chosen[0])
    entries = [_entry(each, linked=arguments.number is not None) for each in chosen]
    answer({"pains": entries}, _lines(entries), as_json=arguments.json)
    return 0


def _open(arguments: argparse.Namespace, chosen: Pain) -> int:
    from kipviz.command.single_runs import opening

    arguments.scenario, arguments.design, arguments.from_trace = _link(chosen)[1], None, None
    arguments.module, arguments.trace_faults = None, None
    return opening.show(arguments)


def _link(chosen: Pain) -> tuple[int, str]:
    """Return the step that shows a symptom, and the permalink to it."""
    from kipviz.checking.single_run import runs
    from kipviz.checking.single_run.permalink import permalink

    told = runs.play(chosen.story)
    step = told.chapters[chosen.beat - 1].end
    trace = told.trace.last()
    return step, permalink(told.at(trace.jump(trace.line[step])))


def _entry(chosen: Pain, *, linked: bool) -> dict[str, Any]:
    entry = {name: getattr(chosen, name) for name in chosen.__struct_fields__}
    if linked:
        entry["step"], entry["permalink"] = _link(chosen)
    return entry


def _lines(entries: list[dict[str, Any]]) -> Iterator[str]:
    for entry in entries:
        yield f"{entry['number']:>2}. {entry['symptom']}"
        yield f"    you see   {entry['see']}"
        yield f"    cause     {entry['cause']}"
        yield f"    way out   {entry['way_out']}"
        yield f"    story     {entry['story']}, at the end of beat {entry['beat']}"
        if entry["missing"]:
            yield f"    missing   {entry['missing']}"
        if "permalink" in entry:
            yield f"    step {entry['step']}   {entry['permalink']}"
