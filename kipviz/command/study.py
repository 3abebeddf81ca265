"""`kipviz study`: a debated question, and the answer that the tool computes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kipviz.command.arguments import add_json
from kipviz.command.output import Progress, answer

if TYPE_CHECKING:
    from kipviz.studies.study import Answer

HELP = "answer a debated question about the drafts, such as B8; list them if none is named"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("study", nargs="?", metavar="STUDY", help="B1, B2, …; all if left out")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compute the answer, or list the questions."""
    from kipviz.command import telling
    from kipviz.studies.library import STUDIES, study
    from kipviz.studies.not_yet import NOT_YET
    from kipviz.studies.study import answer as answered
    from kipviz.views.review import study_page

    if arguments.study is None:
        listed = [{"name": s.name, "question": s.question, "source": s.source} for s in STUDIES]
        missing = [{"name": n.name, "question": n.question, "needs": n.needs} for n in NOT_YET]
        lines = [f"{s.name:<10} {s.question}" for s in STUDIES]
        lines += ["", "Not yet:"]
        lines += [f"{n.name:<10} {n.question} Needs {n.needs}." for n in NOT_YET]
        answer({"studies": listed, "not_yet": missing}, lines, as_json=arguments.json)
        return 0
    with telling.refusing():
        chosen = study(arguments.study)
    with Progress() as progress:
        found = answered(chosen, progress=progress.states)
    answer(_document(found), study_page(found).splitlines(), as_json=arguments.json)
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
    }
