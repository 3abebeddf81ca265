"""The reductions by the names that users type."""

from __future__ import annotations

from kipviz.checking.search.partial_order import LoneSteps
from kipviz.checking.search.reductions import Reduction
from kipviz.checking.search.symmetry import Symmetry

REDUCTIONS: dict[str, type[LoneSteps | Symmetry]] = {"symmetry": Symmetry, "order": LoneSteps}


class UnknownReduction(ValueError):
    """No reduction has this name."""


def reduction(name: str) -> Reduction:
    """Find a reduction by name.

    Raises:
        UnknownReduction: if there is none; the message lists the known reductions.
    """
    if name not in REDUCTIONS:
        allowed = ", ".join(REDUCTIONS)
        raise UnknownReduction(f"there is no reduction {name!r}; the reductions are {allowed}")
    return REDUCTIONS[name]()
