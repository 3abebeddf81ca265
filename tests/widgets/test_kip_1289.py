"""Findings and corner cases as a notebook has them."""

from __future__ import annotations

import pytest

import kipviz
from kipviz.studies.kip_claims.corners import CORNERS
from kipviz.views.reports.blocks import keys_of


def test_findings_are_a_table_and_open_where_they_show() -> None:
    found = kipviz.findings("A", "n", "X1")
    assert [each.finding.name for each in found.shown] == ["A", "N", "X1"]
    assert found.page() == repr(found)
    assert sorted(set(keys_of(found.blocks()))) == ["A", "X1"]
    assert found.open_run("A").step == found.open("a").step
    assert "| A | " in repr(found)
    stepper = found.open("x1")
    assert "message 24 of 24" in repr(stepper)


def test_the_findings_of_another_kip_are_a_table_too() -> None:
    found = kipviz.findings(kip=1319)
    assert [each.finding.name for each in found.shown][:2] == ["1319-A", "1319-B"]
    assert "message 59 of 59" in repr(found.open("1319-b"))
    assert kipviz.findings("447-a", "B").shown[0].finding.name == "447-A"
    with pytest.raises(LookupError, match="allowed are 1289, 1310, 1319, 447 and all"):
        kipviz.findings(kip=1309)


def test_a_finding_without_a_run_does_not_open() -> None:
    with pytest.raises(LookupError, match="no run shows finding 'N' here; there are runs for A"):
        kipviz.findings("A", "N").open("N")
    with pytest.raises(LookupError, match="there is no finding 'Y'"):
        kipviz.findings("Y")


def test_corner_cases_are_a_table_of_claims() -> None:
    told = kipviz.corners(["repaired"])
    assert len(told.told) == len(CORNERS) == 18
    assert "| 6 | Lock expiry while TX\\_PENDING |" in repr(told)
    with pytest.raises(
        ValueError, match=r"designs must be a list of names, such as \['repaired'\]"
    ):
        kipviz.corners("repaired")
