"""`kipviz lab`: an exercise of the course, its hints, and a check of your run."""

from __future__ import annotations

import argparse

from kipviz.command.arguments import add_json, count
from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import answer

HELP = "show an exercise of the course and its hints, or judge your run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument("name", metavar="NAME", help="see `kipviz course`")
    parser.add_argument("--check", metavar="LINK", help="judge the run of a permalink, kv2.…")
    parser.add_argument(
        "--hints", type=count, default=0, metavar="N", help="show the first N hints"
    )
    parser.add_argument(
        "--document", action="store_true", help="print the story that the learner changes"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the task, or judge a run; the status is 1 if a goal is missing.

    Raises:
        Refused: if there is no such lab, or the permalink cannot be opened.
    """
    from kipviz.checking.single_run.permalink import open_link
    from kipviz.course.judging import judge
    from kipviz.course.lab import UnknownLab, lab_named

    try:
        lab = lab_named(arguments.name)
    except UnknownLab as wrong:
        raise RefusedInput(str(wrong)) from None
    if arguments.check is not None:
        try:
            if lab.document:
                lab.start()  # so that a permalink to the lab's own story can be opened by its name
            result = judge(lab, open_link(arguments.check))
        except ValueError as wrong:
            raise RefusedInput(str(wrong)) from None
        document = {
            "lab": lab.name,
            "refused": result.refused,
            "goals": [
                {"goal": j.goal.text, "reached": j.reached, "why": j.why} for j in result.judged
            ],
        }
        answer(document, result.text.split("\n"), as_json=arguments.json)
        return int(not result.solved)
    if arguments.document:
        if not lab.document:
            raise RefusedInput(f"the lab {lab.name} has no document to change")
        answer({"document": lab.document}, lab.document.split("\n"), as_json=arguments.json)
        return 0
    hints = lab.hints[: arguments.hints]
    said = {
        "lab": lab.name,
        "title": lab.title,
        "minutes": lab.minutes,
        "task": list(lab.task),
        "goals": [goal.text for goal in lab.goals],
        "hints": list(hints),
    }
    lines = [*lab.text.split("\n"), *(f"Hint: {hint}" for hint in hints)]
    answer(said, lines, as_json=arguments.json)
    return 0
