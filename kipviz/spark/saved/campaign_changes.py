"""The differences between two campaigns: yesterday's and today's, with two versions of a design or of kipviz.

Two runs are the same if scenario, design, fault profile and seed are equal; each campaign may also have other runs.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kipviz.core.values import Value

RUN = ("scenario", "design", "faults", "seed")
_SAID = ("status", "broken", "step", "reason", "fingerprint")


class Change(Value, frozen=True):
    """How many runs of a design changed from one verdict to another, and the first of them (smallest seed).

    `before` and `after` are a property that broke, or otherwise the status: holds, program, error.
    """

    design: str
    before: str
    after: str
    count: int
    scenario: str
    faults: str
    seed: int
    reason: str


class CampaignChanges(Value, frozen=True):
    """The differences between two campaigns.

    `same` runs have the same verdict, `other_steps` of them with other steps; `changes` are all others; `only_before`
    and `only_after` count the runs that only one campaign has.
    """

    same: int
    other_steps: int
    changes: tuple[Change, ...]
    only_before: int
    only_after: int

    @property
    def changed(self) -> int:
        """How many runs have another verdict."""
        return sum(each.count for each in self.changes)


def changes_between(before: pa.Table, after: pa.Table) -> CampaignChanges:
    """Compare the verdicts of two campaigns (`VERDICT_SCHEMA`), run by run."""
    was, now = (table.select([*RUN, *_SAID]) for table in (before, after))
    both = was.join(now, list(RUN), join_type="inner", right_suffix=" now")
    equal = pc.and_(
        pc.equal(both["status"], both["status now"]), pc.equal(both["broken"], both["broken now"])
    )
    others = pc.and_(equal, pc.not_equal(both["fingerprint"], both["fingerprint now"]))
    differs = both.filter(pc.invert(equal)).to_pylist()
    return CampaignChanges(
        pc.sum(equal).as_py() or 0,
        pc.sum(others).as_py() or 0,
        tuple(_count_changes(differs)),
        was.num_rows - both.num_rows,
        now.num_rows - both.num_rows,
    )


def _count_changes(rows: list[dict[str, Any]]) -> list[Change]:
    found: dict[tuple[str, str, str], Change] = {}
    for row in sorted(rows, key=lambda each: tuple(each[name] for name in ("seed", *RUN[:3]))):
        key = (
            row["design"],
            row["broken"] or row["status"],
            row["broken now"] or row["status now"],
        )
        known = found.get(key)
        if known is not None:
            found[key] = known.but(count=known.count + 1)
            continue
        where = (row["scenario"], row["faults"], row["seed"])
        found[key] = Change(*key, 1, *where, row["reason now"] or row["reason"])
    return [found[key] for key in sorted(found)]
