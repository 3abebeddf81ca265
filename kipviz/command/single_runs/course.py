"""`kipviz course`: list labs and tracks, write notebooks without answers, read a folder of hand-ins into a table."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kipviz.command.arguments import add_json
from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import Progress, answer, until_interrupted

if TYPE_CHECKING:
    from kipviz.course.hand_in import TeacherRow

HELP = "list the course, build its notebooks without answers, or read a folder of hand-ins"
LIST, BUILD, READ, FIGURES = "list", "build", "read", "figures"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument(
        "action",
        nargs="?",
        default=LIST,
        choices=(LIST, BUILD, READ, FIGURES),
        help="list (the default), build DIR, read FOLDER, or figures: how long each notebook takes",
    )
    parser.add_argument("folder", nargs="?", metavar="DIR", help="for build and read")
    parser.add_argument(
        "--notebooks",
        metavar="DIR",
        default="notebooks",
        help="for build and figures: the folder with the notebooks",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Carry out the action; the status of `read` is 1 if a run does not show what was claimed.

    Raises:
        Refused: if a folder is missing or cannot be used.
    """
    if arguments.action == LIST:
        return _list(arguments)
    if arguments.action == FIGURES:
        return _figures(arguments)
    if arguments.folder is None:
        raise RefusedInput(f"name a folder: kipviz course {arguments.action} DIR")
    return _build(arguments) if arguments.action == BUILD else _read(arguments)


def _list(arguments: argparse.Namespace) -> int:
    from kipviz.course.lab import labs

    found = [{"name": lab.name, "title": lab.title, "minutes": lab.minutes} for lab in labs()]
    lines = [f"{lab.name:<20} {lab.minutes:>3} min   {lab.title}" for lab in labs()]
    answer({"labs": found}, lines, as_json=arguments.json)
    return 0


def _figures(arguments: argparse.Namespace) -> int:
    from kipviz.course.handout import BadNotebook, figures

    paths = sorted(Path(arguments.notebooks).glob("*.ipynb"))
    if not paths:
        raise RefusedInput(
            f"{arguments.notebooks} has no notebook; name the folder with --notebooks DIR"
        )
    try:
        counted = {path.stem: figures(path) for path in paths}
    except BadNotebook as wrong:
        raise RefusedInput(str(wrong)) from None
    rows = [
        {
            "notebook": name,
            "words": each.words,
            "output_words": each.output_words,
            "cells": each.cells,
            "steps": each.steps,
            "minutes": each.minutes,
        }
        for name, each in counted.items()
    ]
    lines = ["notebook, words, words of outputs, cells, steps, minutes"]
    lines += ["| " + " | ".join(map(str, row.values())) + " |" for row in rows]
    answer({"notebooks": rows}, lines, as_json=arguments.json)
    return 0


def _build(arguments: argparse.Namespace) -> int:
    from kipviz.course.handout import BadNotebook, build

    try:
        made = build(Path(arguments.notebooks), Path(arguments.folder))
    except BadNotebook as wrong:
        raise RefusedInput(str(wrong)) from None
    except OSError as wrong:
        raise RefusedInput(f"cannot use {wrong.filename}: {wrong.strerror}") from None
    lines = [f"{len(made)} notebooks without answers are in {arguments.folder}", *made]
    answer({"notebooks": list(made)}, lines, as_json=arguments.json)
    return 0


def _read(arguments: argparse.Namespace) -> int:
    from kipviz.course.hand_in import read_folder

    try:
        with Progress() as progress, until_interrupted(progress.files) as go_on:
            rows = read_folder(arguments.folder, go_on)
    except OSError as wrong:
        raise RefusedInput(f"cannot read {arguments.folder}: {wrong.strerror}") from None
    if not rows:
        raise RefusedInput(f"{arguments.folder} has no .txt file")
    document = {
        "rows": [{name: getattr(row, name) for name in row.__struct_fields__} for row in rows]
    }
    answer(document, _table(rows), as_json=arguments.json)
    return int(not go_on.stopped and any(row.remark for row in rows))


def _table(rows: tuple[TeacherRow, ...]) -> Iterator[str]:
    yield "| file | name | questions | lab | claimed | reached | remark |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        cells = (
            row.file,
            row.who,
            f"{row.right} right of {row.answered}",
            row.lab,
            str(row.claimed),
            f"{row.reached} of {row.of}",
            row.remark,
        )
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
