"""Reviews in a notebook: the findings of a KIP, and KIP-1289's corner cases, as tables that open runs."""

from __future__ import annotations

from collections.abc import Sequence

from kipviz.core.validation import several
from kipviz.studies.kip_claims import corners as corner_cases
from kipviz.studies.kip_claims.corners import Told
from kipviz.studies.review_findings.findings import Shown, shown_all
from kipviz.studies.review_findings.reviews import DEFAULT, finding, reviews_of
from kipviz.views.reports.blocks import Blocks
from kipviz.views.reports.review import corners_blocks, findings_blocks
from kipviz.widgets.lab import stepper_of
from kipviz.widgets.progress import Counted, saying
from kipviz.widgets.result_page import ResultPage
from kipviz.widgets.stepper import Stepper


class Findings(ResultPage):
    """Findings of the review, each shown alone; one that has a run opens in the stepper.

    Attributes:
        shown: what came of each.
    """

    def __init__(self, found: tuple[Shown, ...]) -> None:
        """Keep what was found and the page that tells it."""
        self.shown = found
        self._blocks = findings_blocks(found)

    def open(self, name: str) -> Stepper:
        """Open the run that shows a finding, where it shows.

        Raises:
            LookupError: if the finding was not asked for, or has no run.
        """
        for each in self.shown:
            if each.finding.name.lower() == name.strip().lower() and each.run is not None:
                return stepper_of(each.run).last()
        there = ", ".join(each.finding.name for each in self.shown if each.run is not None)
        raise LookupError(f"No run shows finding {name!r} here; there are runs for {there}.")

    def blocks(self) -> Blocks:
        """Return the page in its parts."""
        return self._blocks

    def open_run(self, run: str) -> Stepper:
        """Open the run of a finding; its key is the finding's name."""
        return self.open(run)


class Corners(ResultPage):
    """Corner cases of KIP-1289 under some designs.

    Attributes:
        told: what came of each case under each design.
    """

    def __init__(self, told: tuple[Told, ...]) -> None:
        """Keep what was played and the page that tells it."""
        self.told = told
        self._blocks = corners_blocks(told)

    def blocks(self) -> Blocks:
        """Return the page in its parts."""
        return self._blocks


def findings(*names: str, kip: int | str = DEFAULT) -> Findings:
    """Show findings of a review, each alone; without names all findings of `kip`, in a few minutes.

    Who interrupts it gets the findings that were computed.

    Args:
        names: findings of any KIP, such as "A", "X1" or "1310-A".
        kip: 1289, 1310, 1319, 447 or "all"; not used if findings are named.

    Example:
        >>> import kipviz
        >>> found = kipviz.findings("A")
        >>> found.open("A").last_step
        17

    Raises:
        LookupError: if there is no such finding or no such review; the message says what there is.
    """
    chosen = tuple(finding(name) for name in names) or tuple(
        known for review in reviews_of(kip) for known in review.findings
    )
    with saying(Counted(len(chosen), "findings")) as go_on:
        return Findings(tuple(shown_all(chosen, go_on)))


def corners(designs: Sequence[str] = corner_cases.DESIGNS) -> Corners:
    """Play the corner cases of KIP-1289 and say whether what it claims of them holds.

    Who interrupts it gets the cases that were played.

    Example:
        >>> import kipviz
        >>> print(kipviz.corners(["repaired"]).page().splitlines()[0])
        | case | title | the claim | design | holds | exactly once | pending | happens |

    Raises:
        ValueError: if a design is unknown, or `designs` is one text and no list.
    """
    names = several("designs", designs, "repaired")
    played: list[Told] = []
    with saying(lambda done, case: f"{done} cases played, {case}") as go_on:
        for told in corner_cases.told_all(names):
            played.append(told)
            if not go_on(len(played), told.corner.title):
                break
    return Corners(tuple(played))
