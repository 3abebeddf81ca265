"""`kipviz open`: open a run as a page in the browser, at the step where it was saved."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kipviz.command.arguments import add_run
from kipviz.command.output import answer, check_place, write_whole
from kipviz.command.own_code import add_rules, add_views, views_of

HELP = "open a story, a permalink or a trace file in the browser; it steps without a kernel"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    add_run(parser)
    add_rules(parser, "--design")
    add_views(parser)
    parser.add_argument("--to", metavar="FILE", help="the file of the page; default: a new file")
    parser.add_argument(
        "--no-browser",
        action="store_true",
        help="write the page and print its path, without a browser",
    )
    parser.add_argument("--json", action="store_true", help="print in JSON what was opened")


def run(arguments: argparse.Namespace) -> int:
    """Make the run, write its page with all branches, and open it."""
    return show(arguments, views_of(arguments))


def show(arguments: argparse.Namespace, views: Sequence[Callable[..., Any]] = ()) -> int:
    """Write the page of the run that the arguments name, with cards for the reader's own views, and open it."""
    from kipviz.command import run_report
    from kipviz.views.role_cards.own_view import own_views
    from kipviz.widgets.pages.page import page
    from kipviz.widgets.stepping.lines import Lab

    check_place(arguments.to)
    told = run_report.run_of(arguments)
    lab = Lab(told, own_views(views))
    branch, step = lab.place
    to = arguments.to or str(Path(tempfile.mkdtemp(prefix="kipviz-"), f"{told.scenario.name}.html"))
    write_whole(to, page(lab.payload, branch, step, told.learned))
    document = {
        "scenario": told.scenario.name,
        "design": told.design.name,
        "file": to,
        "branch": branch,
        "step": step,
        "changes": told.changes,
    }
    lines = [*(f"changed: {change}" for change in told.changes), f"{to}: step {step}"]
    answer(document, lines, as_json=arguments.json)
    if not arguments.no_browser:
        import webbrowser

        webbrowser.open(Path(to).resolve().as_uri())
    return 0
