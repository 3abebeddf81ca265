"""`kipviz ledger`: what the KIPs claim, claim by claim, judged by search."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kipviz.command.arguments import add_json
from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import GoingOn, answer, check_place, collect_judgements, write_whole

if TYPE_CHECKING:
    from kipviz.checking.search.explore import ProgressTold
    from kipviz.studies.draft_implementation.draft_ledger import Entries
    from kipviz.studies.draft_implementation.draft_ledger import LedgerEntry as Row
    from kipviz.studies.kip_claims.claims import JudgedClaim
    from kipviz.studies.kip_claims.statements import JudgedStatement, Text

HELP = "judge every guarantee that the KIPs state, with the bounds of the search"
HEAD = """# What the KIPs guarantee, and what a search finds

Made by `kipviz ledger --into docs/LEDGER.md`; a test makes it again. Each row is one guarantee, in
our words, under one design. The search for a claim ends at the first violation. Clusters are those of the
stories, under the abstraction profile `small`: `kipviz list profiles` says what it leaves out of Kafka.

## Guarantees, each under several designs

"""

OF_DRAFTS = """# KIP-1289's draft implementation: each iteration, in each arrangement

Made by `kipviz ledger --drafts --into docs/DRAFTS.md`; a test makes rows of it again. The iterations are those of pull
request 22357 (draft implementation, seen in source); where their source is silent, the reading is our inference.
The jobs follow FLIP-573 (draft). Nothing here was run on a broker. Clusters are under the abstraction profile `small`:
`kipviz list profiles` says what it leaves out of Kafka.

"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument("--into", metavar="FILE", help="write it as a page, such as LEDGER.md")
    parser.add_argument(
        "--drafts",
        action="store_true",
        help="instead: KIP-1289's draft implementation, each iteration in each arrangement; a page such as DRAFTS.md",
    )
    parser.add_argument(
        "--keep",
        metavar="FILE",
        help="with --drafts: store the judged rows in this file, and continue from those already there",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Judge all claims; the status is 0, because a claim that breaks is a finding, not a failure."""
    from kipviz.studies.kip_claims.claims import JudgedClaim, judge_claims
    from kipviz.studies.kip_claims.texts import judged_texts
    from kipviz.views.reports.ledger_of_texts import ledger_of_texts
    from kipviz.views.reports.review import ledger

    if arguments.drafts:
        return _drafts(arguments)
    if arguments.keep is not None:
        raise RefusedInput("--keep belongs to --drafts")

    def judgements(go_on: ProgressTold) -> Iterator[JudgedClaim | tuple[Text, JudgedStatement]]:
        yield from judge_claims(progress=go_on)
        yield from judged_texts(progress=go_on)

    # Gathered together, so that one ^C ends both parts.
    both = collect_judgements(arguments.into, judgements)
    entries = [each for each in both if isinstance(each, JudgedClaim)]
    told = [each for each in both if not isinstance(each, JudgedClaim)]
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


def _drafts(arguments: argparse.Namespace) -> int:
    """Judge the draft implementation; the status is 0, because a broken property is a finding, not a failure."""
    from kipviz.studies.draft_implementation.draft_ledger import ledger
    from kipviz.studies.draft_implementation.saved_ledger import KeptLedger, LedgerFileError
    from kipviz.views.reports.draft_ledger import draft_ledger_page, words_of

    check_place(arguments.keep)
    try:
        kept = None if arguments.keep is None else KeptLedger(arguments.keep)
    except LedgerFileError as wrong:
        raise RefusedInput(str(wrong)) from None
    except OSError as error:
        raise RefusedInput(f"cannot read {arguments.keep}: {error.strerror or error}") from None

    def keep(name: str, rows: Entries) -> None:
        if kept is not None:
            try:
                kept.keep(name, rows)
            except OSError as error:
                raise RefusedInput(
                    f"cannot write {arguments.keep}: {error.strerror or error}"
                ) from None

    def judgements(go_on: GoingOn) -> Iterator[Row]:
        known = {} if kept is None else kept.cases
        for rows in ledger(go_on, known, keep):
            yield from rows

    entries = collect_judgements(arguments.into, judgements, lambda progress: progress.parts)
    document = {
        "rows": [
            {
                "arrangement": each.arrangement,
                "design": each.design,
                "scenario": each.scenario,
                "faults": each.faults,
                "property": each.property_name,
                "verdict": each.verdict,
                "words": words_of(each),
                "states": each.states,
                "steps": each.steps,
                "reason": each.reason,
                "blame": each.blame,
                "repair": list(each.repair.slots),
                "repair_searched": each.repair.searched,
                "timers": each.timers.document,
                "link": each.link,
            }
            for each in entries
        ]
    }
    page = draft_ledger_page(entries)
    if arguments.into is not None:
        write_whole(arguments.into, OF_DRAFTS + page)
    answer(document, page.splitlines(), as_json=arguments.json)
    return 0
