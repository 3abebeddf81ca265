"""The five texts that kipviz covers, each with its claims."""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.checking.search.explore import ProgressTold
from kipviz.studies.kip_claims import (
    statements_of_447,
    statements_of_1289,
    statements_of_1310,
    statements_of_1319,
)
from kipviz.studies.kip_claims.statements import JudgedStatement, Text, judged_statements
from kipviz.studies.review_findings.findings import FindingResult

TEXTS: tuple[Text, ...] = (
    statements_of_1289.TEXT,
    statements_of_1310.TEXT,
    statements_of_1319.TEXT,
    *statements_of_447.TEXTS,
)


def judged_texts(
    texts: tuple[Text, ...] = TEXTS, progress: ProgressTold | None = None
) -> Iterator[tuple[Text, JudgedStatement]]:
    """Judge every claim of some texts, one by one; each finding is demonstrated once."""
    known: dict[str, FindingResult] = {}
    for text in texts:
        for judged in judged_statements(text, known, progress):
            yield text, judged
