"""Reviews in a notebook: the findings of a KIP, and KIP-1289's corner cases, as tables from which runs open."""

from __future__ import annotations

from collections.abc import Sequence

from kipviz.core.outside.validation import several
from kipviz.studies.kip_claims import corners as corner_cases
from kipviz.studies.kip_claims.corners import CornerResult
from kipviz.studies.review_findings.findings import FindingResult, demonstrate_all
from kipviz.studies.review_findings.reviews import DEFAULT, finding, reviews_of
from kipviz.views.reports.blocks import Blocks
from kipviz.views.reports.review import corners_blocks, findings_blocks
from kipviz.widgets.lab import stepper_of
from kipviz.widgets.progress import Counted, saying
from kipviz.widgets.results.result_page import ResultPage
from kipviz.widgets.stepping.stepper import Stepper


class Findings(ResultPage):
    """Findings of a review, each demonstrated alone; a finding with a run opens in the stepper.

    Attributes:
        shown: the result of each.
    """

    def __init__(self, found: tuple[FindingResult, ...]) -> None:
        """Keep the findings and the blocks of the page."""
        self.shown = found
        self._blocks = findings_blocks(found)

    def open(self, name: str) -> Stepper:
        """Open the run that demonstrates a finding, at the decisive step.

        Raises:
            LookupError: if the finding was not requested, or has no run.
        """
        for each in self.shown:
            if each.finding.name.lower() == name.strip().lower() and each.run is not None:
                return stepper_of(each.run).last()
        there = ", ".join(each.finding.name for each in self.shown if each.run is not None)
        raise LookupError(f"no run shows finding {name!r} here; there are runs for {there}")

    def blocks(self) -> Blocks:
        """Return the blocks of the page."""
        return self._blocks

    def open_run(self, run: str) -> Stepper:
        """Open the run of a finding; its key is the finding's name."""
        return self.open(run)


class Corners(ResultPage):
    """Corner cases of KIP-1289 under some designs.

    Attributes:
        told: the result of each case under each design.
    """

    def __init__(self, told: tuple[CornerResult, ...]) -> None:
        """Keep the results and the blocks of the page."""
        self.told = told
        self._blocks = corners_blocks(told)

    def blocks(self) -> Blocks:
        """Return the blocks of the page."""
        return self._blocks


def findings(*names: str, kip: int | str = DEFAULT) -> Findings:
    """Demonstrate findings of a review, each alone; without names all findings of `kip`, in a few minutes.

    After an interrupt the table has the findings that were computed.

    Args:
        names: findings of any KIP, such as "A", "X1" or "1310-A".
        kip: 1289, 1310, 1319, 447 or "all"; ignored if findings are named.

    Example:
        >>> import kipviz
        >>> found = kipviz.findings("A")
        >>> found.open("A").last_step
        17

    Raises:
        LookupError: if a finding or review is unknown; the message lists the known ones.
    """
    chosen = tuple(finding(name) for name in names) or tuple(
        known for review in reviews_of(kip) for known in review.findings
    )
    with saying(Counted(len(chosen), "findings")) as go_on:
        return Findings(tuple(demonstrate_all(chosen, go_on)))


def corners(designs: Sequence[str] = corner_cases.DESIGNS) -> Corners:
    """Play the corner cases of KIP-1289 and check its claims about them.

    After an interrupt the table has the cases that were played.

    Example:
        >>> import kipviz
        >>> print(kipviz.corners(["repaired"]).page().splitlines()[0])
        | case | title | the claim | design | holds | exactly once | pending | happens |

    Raises:
        ValueError: if a design is unknown, or `designs` is a text instead of a list.
    """
    names = several("designs", designs, "repaired")
    played: list[CornerResult] = []
    with saying(lambda done, case: f"{done} cases played, {case}") as go_on:
        for told in corner_cases.play_corners(names):
            played.append(told)
            if not go_on(len(played), told.corner.title):
                break
    return Corners(tuple(played))
