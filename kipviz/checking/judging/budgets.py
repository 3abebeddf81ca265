"""Fault budgets in words: the name of a fault profile, or faults with numbers."""

from __future__ import annotations

from kipviz.checking.judging.faults import FAULTS, UnknownFaults
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.outside.suggestions import unknown_of
from kipviz.core.outside.validation import text

MOST = 1_000_000
KINDS: tuple[str, ...] = FaultBudget.__struct_fields__


def budget_of(words: str) -> FaultBudget:
    """Parse a fault budget: "", "rough" or "crash_broker=1,expire_lock=1".

    Raises:
        UnknownFaults: if a profile or fault is unknown, or a number is not valid.
        ValueError: if `words` is not text.
    """
    if not text("faults", words, "expire_lock=1").strip():
        return FaultBudget()
    for known in FAULTS:
        if known.name == words.strip():
            return known.budget
    counts: dict[str, int] = {}
    for entry in words.split(","):
        kind, equals, count = (part.strip() for part in entry.partition("="))
        if not equals:
            profiles = ", ".join(f.name for f in FAULTS)
            raise UnknownFaults(
                f"{kind!r} is neither a fault profile ({profiles}) nor of the form fault=number"
            )
        if kind not in KINDS:
            raise UnknownFaults(unknown_of("fault", "faults", kind, KINDS))
        if kind in counts:
            raise UnknownFaults(f"the fault {kind!r} is named twice: name each one once")
        if not (count.isascii() and count.isdecimal()):
            raise UnknownFaults(f"{kind} must be a whole number of at least 0, not {count!r}")
        if int(count) > MOST:
            raise UnknownFaults(f"{kind} takes at most {MOST:,}, and no search with more would end")
        counts[kind] = int(count)
    return FaultBudget(**counts)


def budget_words(budget: FaultBudget) -> str:
    """Return a budget in words, as `budget_of` accepts them; "" for one without faults."""
    return ",".join(f"{kind}={count}" for kind, count in counts_of(budget).items())


def counts_of(budget: FaultBudget) -> dict[str, int]:
    """Return the faults that a budget allows, with their numbers."""
    counts = {kind: getattr(budget, kind) for kind in KINDS}
    return {kind: count for kind, count in counts.items() if count}
