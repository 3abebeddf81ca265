"""`kipviz ledger`: what the KIPs promise, claim by claim, judged by search."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kipviz.command.arguments import add_json
from kipviz.command.output import answer, gathered, write_whole

if TYPE_CHECKING:
    from kipviz.checking.explore import ProgressTold
    from kipviz.studies.claims import Entry
    from kipviz.studies.statements import JudgedStatement, Text

HELP = "judge every guarantee that the KIPs state, with the bound that was searched"
HEAD = """# What the KIPs promise, and what a search says of it

Made by `kipviz ledger --into LEDGER.md`; a test makes it again. Each row is one guarantee, told in
our words, under one design. The search of a claim ends where the claim breaks.

## Guarantees, each under several designs

"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("--into", metavar="FILE", help="write it as a page, such as LEDGER.md")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Judge all claims; the status is 0, because a claim that breaks is a finding, not a failure."""
    from kipviz.studies.claims import Entry, judged
    from kipviz.studies.texts import judged_texts
    from kipviz.views.ledger_of_texts import ledger_of_texts
    from kipviz.views.review import ledger

    def judgements(go_on: ProgressTold) -> Iterator[Entry | tuple[Text, JudgedStatement]]:
        yield from judged(progress=go_on)
        yield from judged_texts(progress=go_on)

    # Gathered together, so that one ^C ends both parts.
    both = gathered(arguments.into, judgements)
    entries = [each for each in both if isinstance(each, Entry)]
    told = [each for each in both if not isinstance(each, Entry)]
    document = {
        "claims": [
            {
                "claim": e.claim.claim,
                "clause": e.claim.clause,
                "property": e.claim.property,
                "design": e.judged.design,
                "scenario": e.judged.scenario,
                "faults": e.claim.faults,
                "states": e.judged.explored.states,
                "complete": e.judged.explored.complete,
                "verdict": e.cell.verdict,
                "steps": len(e.cell.actions),
                "reason": e.cell.reason,
            }
            for e in entries
        ],
        "texts": [
            {
                "text": text.name,
                "section": each.statement.section,
                "claim": each.statement.claim,
                "design": each.statement.design,
                "judged by": each.where,
                "verdict": each.verdict,
                "words": each.words,
                "reason": each.reason,
            }
            for text, each in told
        ],
    }
    page = f"{ledger(entries)}\n{ledger_of_texts(told)}"
    if arguments.into is not None:
        write_whole(arguments.into, HEAD + page)
    answer(document, page.splitlines(), as_json=arguments.json)
    return 0
