"""`kipviz export`: write a run as a page, a picture, a test, a payload, a table, a diagram, or for another tool."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kipviz.command.arguments import add_run
from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import answer, check_place, write_whole
from kipviz.command.own_code import add_rules, add_views, views_of

if TYPE_CHECKING:
    from kipviz.checking.single_run.runs import Run
    from kipviz.views.role_cards.own_view import View

HELP = (
    "write a run as .html (steps without kernel or network), .svg, .md, .mmd (Mermaid), "
    ".puml (PlantUML), .json, as a test for pytest (.py), as an Informal Trace Format document (.itf.json), or as a log "
    "for ShiViz (.shiviz.log)"
)
FORMATS = {"html": ".html", "json": ".json", "markdown": ".md", "mermaid": ".mmd", "svg": ".svg"}
FORMATS |= {"plantuml": ".puml", "pytest": ".py", "itf": ".itf.json", "shiviz": ".shiviz.log"}
SUFFIXES = tuple(FORMATS.values())
MODULE = ".tla"
WITH_VIEWS = (".html", ".json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    add_run(parser)
    add_rules(parser, "--design")
    add_views(parser)
    parser.add_argument(
        "--to", required=True, metavar="FILE", help=f"ends in {', '.join(SUFFIXES)}"
    )
    parser.add_argument(
        "--format", choices=FORMATS, help="which of them, if the file's name ends otherwise"
    )
    parser.add_argument("--json", action="store_true", help="print in JSON what was written")


def run(arguments: argparse.Namespace) -> int:
    """Make the run and write it to a file."""
    from kipviz.command import run_report

    ends = _ending(arguments.to)
    suffix = FORMATS.get(arguments.format, ends)
    if suffix != ends and ends in SUFFIXES:
        what = f"--format {arguments.format} writes {suffix}"
        raise RefusedInput(
            f"{arguments.to} ends in {ends}, and {what}: name another file, or leave it out"
        )
    if suffix not in SUFFIXES and arguments.to.endswith(MODULE):
        raise RefusedInput(
            "a TLA+ module is written from a search: kipviz explore SCENARIO --design DESIGN --tla FILE.tla"
        )
    if suffix not in SUFFIXES:
        raise RefusedInput(
            f"--to must be a file that ends in {', '.join(SUFFIXES)}, not {arguments.to!r}"
        )
    check_place(arguments.to)
    views = views_of(arguments)
    if views and suffix not in WITH_VIEWS:
        raise RefusedInput(f"--view goes into {' and '.join(WITH_VIEWS)}, not into {suffix}")
    told = run_report.run_of(arguments)
    text = _text(told, suffix, views)
    write_whole(arguments.to, text)
    size = len(text.encode())
    steps = len(told.trace.line) - 1
    document = {
        "scenario": told.scenario.name,
        "design": told.design.name,
        "file": arguments.to,
        "bytes": size,
        "steps": steps,
        "changes": told.changes,
    }
    lines = [*(f"changed: {change}" for change in told.changes)]
    lines.append(f"{arguments.to}: {steps} steps, {size:,} bytes")
    answer(document, lines, as_json=arguments.json)
    return 0


def _ending(path: str) -> str:
    """Return the longest known suffix that the file's name ends in, or ""."""
    return max((each for each in SUFFIXES if path.endswith(each)), key=len, default="")


def _text(run: Run, suffix: str, views: Sequence[View]) -> str:
    from kipviz.checking.single_run.runs import judge
    from kipviz.command.run_report import payload_of

    if suffix == FORMATS["itf"]:
        from kipviz.checking.tla.itf import itf_of

        return itf_of(run)
    shown = payload_of(run, views)
    match suffix:
        case ".html":
            from kipviz.widgets.pages.page import page

            return page(shown, step=run.trace.depth)
        case ".json":
            return json.dumps(shown, ensure_ascii=False, indent=1) + "\n"
        case ".svg":
            from kipviz.views.exports.svg import svg

            return svg(shown)
        case ".py":
            return _test(run)
        case ".puml":
            from kipviz.views.exports.plantuml import plantuml

            return plantuml(shown)
        case ".shiviz.log":
            from kipviz.views.exports.shiviz import shiviz

            return shiviz(shown)
        case ".md":
            from kipviz.views.exports.markdown import markdown

            return markdown(shown, judge(run))
        case _:
            from kipviz.views.exports.mermaid import mermaid

            return mermaid(shown)


def _test(run: Run) -> str:
    from kipviz.checking.single_run.runs import judge
    from kipviz.views.exports.pytest_source import pytest_source

    try:
        return pytest_source(run, judge(run))
    except ValueError as wrong:
        raise RefusedInput(str(wrong)) from None
