"""`kipviz compare`: one story under two or more designs, or two stories, side by side."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kipviz.command.arguments import add_json, names
from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import answer
from kipviz.command.own_code import add_rules, add_views, views_of

if TYPE_CHECKING:
    from kipviz.checking.single_run.runs import Judgement, Run
    from kipviz.views.role_cards.own_view import View
    from kipviz.widgets.pages.line import Line

HELP = "play one story under two or more designs, or two stories, and show where they diverge"
Pair = tuple[int, int]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument("scenario", metavar="SCENARIO")
    parser.add_argument(
        "--to", metavar="SCENARIO", help="another story for the right side: the other of a pair"
    )
    parser.add_argument("--left", metavar="DESIGN", help="default: the story's own design")
    parser.add_argument("--right", metavar="DESIGN", help="the same for the right side")
    parser.add_argument(
        "--designs",
        type=names,
        metavar="A,B,C",
        help="three or more designs in columns, each compared with the first",
    )
    add_rules(parser, "the design repaired, to be named in --left, --right or --designs")
    add_views(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Play both sides, align them by their big steps, and print them."""
    views = views_of(arguments)
    if views and arguments.designs is None:
        raise RefusedInput("--view is for designs in columns: name them with --designs A,B")
    if arguments.designs is not None and _in_columns(arguments, views):
        return 0
    from kipviz.checking.single_run import runs
    from kipviz.command import run_report
    from kipviz.widgets.comparing.alignment import align_lines, differences, find_renamed, marks
    from kipviz.widgets.pages.line import line_of

    with run_report.refusing():
        both = [runs.play(*side) for side in _sides(arguments)]
    left, right = (line_of(run_report.payload_of(one), [], 0) for one in both)
    pairs, bigs = align_lines(left, right)
    what = marks(left, right, pairs)
    apart = differences(left, right, pairs, what)
    judged = [runs.judge(one) for one in both]
    rows = [
        {
            "step": at,
            "big": sum(big["from"] <= at for big in bigs),
            "left": _side(left, one),
            "right": _side(right, other),
        }
        for at, (one, other) in enumerate(pairs)
    ]
    document = {
        "scenario": arguments.scenario,
        "to": arguments.to or arguments.scenario,
        "left": run_report.document_of(both[0], judged[0]),
        "right": run_report.document_of(both[1], judged[1]),
        "steps": rows,
        "bigs": [{"number": n, **big} for n, big in enumerate(bigs, 1)],
        "difference": apart[0] if apart else None,
        "differences": apart,
        "renamed": find_renamed(left, right, pairs, what),
    }
    lines = _lines(both, judged, document) if not arguments.json else ()
    answer(document, lines, as_json=arguments.json)
    return 0


def _in_columns(arguments: argparse.Namespace, views: Sequence[View]) -> bool:
    """Print a comparison in columns. Return False for two designs without views, which are compared as two sides.

    Raises:
        Refused: if only one design is named, or a side is named, too.
    """
    designs: tuple[str, ...] = arguments.designs
    if any((arguments.left, arguments.right, arguments.to)):
        raise RefusedInput(
            "--designs names all designs of one story: leave out --left, --right and --to"
        )
    if len(designs) < 2:
        raise RefusedInput(
            f"--designs must be two or more designs with commas between them, not {designs[0]!r}"
        )
    if len(designs) == 2 and not views:
        arguments.left, arguments.right = designs
        return False
    from kipviz.command import run_report
    from kipviz.widgets.comparing.columns import BadColumns
    from kipviz.widgets.comparing.side_by_side import columns

    with run_report.refusing():
        try:
            found = columns(arguments.scenario, designs, views)
        except BadColumns as wrong:
            raise RefusedInput(str(wrong)) from None
    answer(found.document(), found.text().splitlines(), as_json=arguments.json)
    return True


def _sides(arguments: argparse.Namespace) -> tuple[tuple[str, str | None], tuple[str, str | None]]:
    """Return (story, design) of both sides.

    Raises:
        Refused: if a story is compared with itself and not both designs are named.
    """
    one, other = arguments.scenario, arguments.to or arguments.scenario
    if one == other and None in (arguments.left, arguments.right):
        raise RefusedInput(
            "it takes two designs, --left and --right, or a second story: --to SCENARIO"
        )
    return (one, arguments.left), (other, arguments.right)


def _side(line: Line, step: int) -> dict[str, Any]:
    return {
        "step": step,
        "sentence": line.steps[step]["sentence"],
        "verdicts": {v["property"]: v["state"] for v in line.verdicts_at(step)},
    }


def _lines(
    both: list[Run], judged: list[tuple[Judgement, ...]], document: dict[str, Any]
) -> Iterator[str]:
    from kipviz.command.run_report import verdict_lines
    from kipviz.widgets.comparing.alignment import first_words, names_words

    first = document["difference"]
    rows = document["steps"]
    asked = list(rows[0]["left"]["verdicts"])
    yield " | ".join(dict.fromkeys(one.scenario.listed_title for one in both))
    yield f"left:  design {both[0].design.name} ({both[0].design.status})"
    yield f"right: design {both[1].design.name} ({both[1].design.status})"
    yield f"verdicts: {', '.join(asked)}"
    yield ""
    begins = {big["from"]: big for big in document["bigs"]}
    for at, row in enumerate(rows):
        if at in begins:
            yield f"{begins[at]['number']:>3}. {begins[at]['title']}"
        sign = ">" if first is not None and first["at"] == at else " "
        yield f"  {sign}{at:>4}  {_half(row['left'])} | {_half(row['right'])}"
    yield ""
    other_names = names_words(document["renamed"])
    if other_names:
        yield f"the same under another name: {other_names}"
    yield first_words(document["differences"], document["renamed"])
    for side, one, found in zip(("left", "right"), both, judged, strict=True):
        yield from (f"{side}: {line}" for line in verdict_lines(one, found))


def _half(side: dict[str, Any]) -> str:
    from kipviz.views.tones import SIGN_OF_STATUS

    signs = "".join(SIGN_OF_STATUS[state] for state in side["verdicts"].values())
    return f"{side['step']:>4} {signs}  {side['sentence']:<60.60}"
