"""The reviews, one for each proposal, and their findings by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kipviz.core.outside.suggestions import unknown
from kipviz.core.values import Value
from kipviz.studies.review_findings import (
    kip_447_findings,
    kip_1289_findings,
    kip_1310_findings,
    kip_1319_findings,
)
from kipviz.studies.review_findings.findings import (
    Finding,
    FindingResult,
    FindingTold,
    demonstrate_all,
)

ALL = "all"
DEFAULT = 1289


class Review(Value, frozen=True):
    """The findings of one proposal, and what a reader must know about its text."""

    kip: int
    about: str
    findings: tuple[Finding, ...]

    @property
    def title(self) -> str:
        """The proposal's name."""
        return f"KIP-{self.kip}"


REVIEWS: tuple[Review, ...] = (
    Review(1289, kip_1289_findings.ABOUT, kip_1289_findings.FINDINGS),
    Review(1310, kip_1310_findings.ABOUT, kip_1310_findings.FINDINGS),
    Review(1319, kip_1319_findings.ABOUT, kip_1319_findings.FINDINGS),
    Review(447, kip_447_findings.ABOUT, kip_447_findings.FINDINGS),
)


def reviews_of(kip: str | int) -> tuple[Review, ...]:
    """Return the review of a proposal, such as 1310 or "KIP-1310", or every review for "all".

    Raises:
        LookupError: if there is no review of it; the message lists the allowed values.
    """
    asked = str(kip).strip().lower()
    if asked == ALL:
        return REVIEWS
    found = tuple(r for r in REVIEWS if asked in (str(r.kip), r.title.lower()))
    if found:
        return found
    allowed = ", ".join(str(r.kip) for r in REVIEWS)
    raise LookupError(f"there is no review of KIP {str(kip)!r}; allowed are {allowed} and {ALL}")


def finding(name: str) -> Finding:
    """Find a finding of any review by its name, such as "X4" or "1310-A".

    Raises:
        LookupError: if there is none; the message suggests the nearest ones.
    """
    every = [known for review in REVIEWS for known in review.findings]
    for known in every:
        if known.name.lower() == str(name).strip().lower():
            return known
    names = (known.name for known in every)
    raise LookupError(unknown("finding", name, names, "`kipviz study findings --kip all`"))


def demonstrate_reviews(
    reviews: Iterable[Review], progress: FindingTold | None = None
) -> Iterator[tuple[Review, FindingResult]]:
    """Compute the findings of reviews one by one; a caller may stop between two of them."""
    for review in reviews:
        for shown in demonstrate_all(review.findings, progress):
            yield review, shown
