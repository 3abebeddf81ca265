"""The claims of the five texts as Markdown: a table for each text, in the order of its sections."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from kipviz.studies.kip_claims.statements import JudgedStatement, Text
from kipviz.views.exports.markdown import plain
from kipviz.views.reports.review import honest, link_of, table

HEADS = ("section", "claim", "design", "judged by", "verdict", "why", "the run")
ABOUT = (
    "The tables below list every claim about behaviour, text by text and section by section. A verdict on a story "
    "includes the steps that the cluster takes next by itself, and covers no other interleaving. “Contradicted” names "
    "the findings of our reviews (FINDINGS.md). “Seen” means that the story shows the claimed behaviour."
)


def ledger_of_texts(judged: Iterable[tuple[Text, JudgedStatement]]) -> str:
    """Return the claims of several texts, with a heading and a table for each of them."""
    found = tuple(judged)
    parts = [plain(ABOUT)]
    for text, pairs in groupby(found, key=lambda pair: pair[0]):
        rows = [
            (
                each.statement.section,
                each.statement.claim,
                each.statement.design,
                each.where,
                each.words,
                each.reason,
                link_of(each.run) if each.run is not None else "",
            )
            for _, each in pairs
        ]
        parts += [f"## {plain(text.name)}: {len(rows)} claims", plain(text.state) + "."]
        parts.append(table(HEADS, rows))
    return "\n\n".join((*parts, honest(each.timers for _, each in found))) + "\n"
