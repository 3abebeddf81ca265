"""`kipviz study`: a debated question, and the answer that kipviz computes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kipviz.command.arguments import add_json, milliseconds, names
from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import (
    Progress,
    answer,
    collect_judgements,
    until_interrupted,
    write_whole,
)
from kipviz.command.own_code import add_rules

if TYPE_CHECKING:
    from kipviz.studies.study import Answer

HELP = "answer a debated question about the drafts, such as B8; without a name list them"
TIMES = (
    ("round-trip", "from a client to a broker and back"),
    ("broker-round-trip", "from a broker to another broker and back"),
    ("fsync", "a replica's flush of a batch; Kafka's default waits for none, 0"),
    ("handling", "the time to handle a request"),
    ("look-up", "from one lookup of a share-partition leader to the next (our inference)"),
    ("work", "the time to process a batch before its commit"),
)
FINDINGS, CORNERS = "findings", "corners"
HEAD = """# The findings of our reviews, each shown alone

Made by `kipviz study findings --into docs/FINDINGS.md`; a test makes it again. Each finding is a statement
of a proposal that contradicts another statement of the same text, another proposal, or Kafka as released.
The statements are in our words, each with its section. What is wrong with a statement is our inference, and
the run decides. A finding keeps its name, and no other finding gets it: A to T and X1 onwards for KIP-1289,
the number of the KIP and a letter for the others. Clusters are those of the stories,
under the abstraction profile `small`: `kipviz list profiles` says what it leaves out of Kafka.

"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument(
        "study",
        nargs="?",
        metavar="STUDY",
        help="B1, B2, …, `findings` of a KIP, or `corners` of KIP-1289; default: a list",
    )
    parser.add_argument(
        "--kip",
        metavar="KIP",
        help="with `findings`: 1289, 1310, 1319, 447 or all; default: 1289",
    )
    parser.add_argument(
        "--into",
        metavar="FILE",
        help="with `findings`: write a page such as FINDINGS.md, of every KIP if --kip is left out",
    )
    parser.add_argument(
        "--designs",
        type=names,
        default=(),
        metavar="D[,D]",
        help="further designs beside the study's own: in cost, and where rivals are searched",
    )
    add_rules(parser, "the design repaired, to be named in --designs")
    add_json(parser)
    stated = parser.add_argument_group(
        "assumed times, for a study with a table of times such as cost, redelivery, B10 or B33"
    )
    for name, what in TIMES:
        stated.add_argument(f"--{name}", type=milliseconds, metavar="MS", help=f"{what}, in ms")


def run(arguments: argparse.Namespace) -> int:
    """Compute the answer, or list the questions."""
    from kipviz.checking.timed.critical_path import BadLatency, Latencies, validate_latencies
    from kipviz.command import run_report
    from kipviz.studies.library import STUDIES, study
    from kipviz.studies.study import NoDesignsHere, with_designs
    from kipviz.studies.study import answer as answered
    from kipviz.views.exports.markdown import lines_of
    from kipviz.views.reports.review import study_page

    given = {
        f"{name.replace('-', '_')}_ms": value
        for name, _ in TIMES
        if (value := getattr(arguments, name.replace("-", "_"))) is not None
    }
    if arguments.into is not None and arguments.study != FINDINGS:
        raise RefusedInput(
            "--into writes the page of `kipviz study findings`, and of no other study"
        )
    if given and arguments.study in (None, FINDINGS, CORNERS):
        raise RefusedInput(f"--{_first(given)} is for a study with a table of times, such as cost")
    if arguments.designs and arguments.study in (None, FINDINGS, CORNERS):
        raise RefusedInput("--designs is for one study, such as cost")
    if arguments.kip is not None and arguments.study != FINDINGS:
        raise RefusedInput("--kip belongs to `kipviz study findings`, and to no other study")
    if arguments.study == FINDINGS:
        return _findings(arguments)
    if arguments.study == CORNERS:
        return _corners(arguments)
    if arguments.study is None:
        listed = [{"name": s.name, "question": s.question, "source": s.source} for s in STUDIES]
        lines = [f"{s.name:<10} {s.question}" for s in STUDIES]
        lines += ["", f"{FINDINGS:<10} Contradictions in KIP-1289; --kip names another text"]
        lines += [f"{CORNERS:<10} What KIP-1289 claims about its corner cases, and what happens"]
        answer({"studies": listed}, lines, as_json=arguments.json)
        return 0
    with run_report.refusing():
        chosen = study(arguments.study)
        try:
            chosen = with_designs(chosen, arguments.designs)
        except NoDesignsHere as wrong:
            raise RefusedInput(str(wrong)) from None
    if given and chosen.timing is None:
        timed = ", ".join(s.name for s in STUDIES if s.timing is not None)
        raise RefusedInput(
            f"the study {chosen.name} has no table of times, so --{_first(given)} changes nothing; "
            f"those that have one are {timed}"
        )
    try:
        latencies = validate_latencies(Latencies(**given))
    except BadLatency as wrong:
        raise RefusedInput(str(wrong)) from None
    with Progress() as progress, until_interrupted(progress.parts) as go_on:
        found = answered(chosen, progress=go_on, latencies=latencies)
    answer(_document(found), lines_of(study_page(found)), as_json=arguments.json)
    return 0


def _findings(arguments: argparse.Namespace) -> int:
    """Print the findings of reviews; the status is 0, because a finding is no failure."""
    from kipviz.studies.review_findings import reviews
    from kipviz.views.exports.markdown import lines_of
    from kipviz.views.reports.review import link_of, reviews_page

    everything = arguments.into is not None
    asked = arguments.kip or (reviews.ALL if everything else reviews.DEFAULT)
    try:
        chosen = reviews.reviews_of(asked)
    except LookupError as none:
        raise RefusedInput(str(none)) from None
    told = collect_judgements(
        arguments.into,
        lambda go_on: reviews.demonstrate_reviews(chosen, go_on),
        lambda progress: progress.findings,
    )
    document = {
        "findings": [
            {
                "kip": review.kip,
                "finding": each.finding.name,
                "says": each.finding.says,
                "clause": each.finding.clause,
                "design": each.finding.design,
                "slots": each.finding.slots,
                "scenario": each.finding.scenario if each.run is not None else "",
                "faults": each.finding.faults,
                "asked": each.finding.property_name,
                "verdict": each.verdict,
                "steps": each.steps,
                "reason": each.reason,
                "with_its_lock": each.with_its_lock,
                "link": link_of(each.run) if each.run is not None else "",
            }
            for review, each in told
        ]
    }
    page = reviews_page(told)
    if arguments.into is not None:
        write_whole(arguments.into, HEAD + page)
    others = [str(r.kip) for r in reviews.REVIEWS if r not in chosen]
    hint = f"Other reviews: --kip {', --kip '.join(others)}, or --kip all." if others else ""
    answer(document, [*lines_of(page), *(["", hint] if hint else [])], as_json=arguments.json)
    return 0


def _corners(arguments: argparse.Namespace) -> int:
    """Play every corner case in every reading; the status is 0 even if a claim does not hold."""
    from kipviz.studies.kip_claims.corners import play_corners
    from kipviz.views.exports.markdown import lines_of
    from kipviz.views.reports.review import corners_page

    told = tuple(play_corners())
    document = {
        "corners": [
            {
                "case": each.corner.number,
                "title": each.corner.title,
                "claim": each.corner.claim,
                "scenario": each.corner.scenario,
                "design": each.design,
                "holds": each.holds,
                "exactly_once": each.once,
                "pending": each.pending,
                "happens": each.happens,
            }
            for each in told
        ]
    }
    answer(document, lines_of(corners_page(told)), as_json=arguments.json)
    return 0


def _document(found: Answer) -> dict[str, object]:
    return {
        "name": found.study.name,
        "question": found.study.question,
        "source": found.study.source,
        "scenario": found.study.scenario,
        "faults": found.study.faults,
        "heads": found.heads,
        "rows": found.rows,
        "sentence": found.sentence,
        "times": None
        if found.times is None
        else dict(zip(("heads", "rows"), found.times, strict=True)),
        "assumptions": found.assumptions,
    }


def _first(given: dict[str, float]) -> str:
    return next(iter(given)).removesuffix("_ms").replace("_", "-")
