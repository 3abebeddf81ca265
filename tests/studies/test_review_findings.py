"""The findings of the reviews of KIP-1310, KIP-1319 and KIP-447: each is shown as pinned."""

from __future__ import annotations

import re

import pytest

from kipviz.checking.permalink import open_link
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import scenario
from kipviz.studies.findings import Finding, shown
from kipviz.studies.reviews import REVIEWS, finding, reviews_of
from kipviz.views.review import link_of

OTHERS = [review for review in REVIEWS if review.kip != 1289]
FINDINGS = [each for review in OTHERS for each in review.findings]

# finding -> how it comes out.
WORDS = {
    "1310-A": "breaks in the story after 39 steps",
    "1310-B": "breaks in the story after 23 steps",
    "1310-C": "seen after 47 steps",
    "1310-D": "breaks in the story after 42 steps",
    "1310-E": "seen after 37 steps",
    "1310-F": "seen after 28 steps",
    "1310-G": "seen after 29 steps",
    "1310-H": "seen after 22 steps",
    "1310-I": "breaks after 28 steps",
    "1310-J": "breaks after 27 steps",
    "1310-K": "breaks after 19 steps",
    "1310-L": "seen after 22 steps",
    "1310-M": "text only",
    "1310-N": "counted",
    "1310-O": "counted",
    "1310-P": "text only",
    "1310-Q": "text only",
    "1310-R": "counted",
    "1310-S": "text only",
    "1310-T": "counted",
    "1310-U": "counted",
    "1310-V": "counted",
    "1310-W": "breaks in the story after 27 steps",
    "1310-X": "counted",
    "1310-Y": "counted",
    "1310-Z": "counted",
    "1310-AA": "breaks in the story after 48 steps",
    "1310-AB": "breaks in the story after 85 steps",
    "1310-AC": "breaks in the story after 34 steps",
    "1310-AD": "seen after 21 steps",
    "1310-AE": "text only",
    "1310-AF": "text only",
    "1310-AG": "seen after 26 steps",
    "1310-AH": "text only",
    "1310-AI": "text only",
    "1310-AJ": "text only",
    "1310-AK": "seen after 22 steps",
    "1310-AL": "breaks in the story after 42 steps",
    "1310-AM": "seen after 38 steps",
    "1319-A": "seen after 62 steps",
    "1319-B": "breaks in the story after 62 steps",
    "1319-C": "seen after 66 steps",
    "1319-D": "breaks in the story after 77 steps",
    "1319-E": "breaks in the story after 37 steps",
    "1319-F": "seen after 22 steps",
    "1319-G": "counted",
    "1319-H": "text only",
    "447-A": "breaks in the story after 85 steps",
    "447-B": "breaks in the story after 93 steps",
    "447-C": "seen after 72 steps",
    "447-D": "seen after 66 steps",
    "447-E": "seen after 51 steps",
    "447-F": "counted",
    "447-G": "seen after 34 steps",
    "447-H": "seen after 36 steps",
    "447-I": "seen after 2 steps",
    "447-J": "breaks in the story after 85 steps",
    "447-K": "seen after 86 steps",
    "447-L": "counted",
    "447-M": "counted",
    "447-N": "breaks in the story after 85 steps",
    "447-O": "seen after 51 steps",
    "447-P": "counted",
    "447-Q": "text only",
    "447-R": "text only",
    "447-S": "text only",
}


def named(each: Finding) -> str:
    return each.name


def test_the_findings_of_a_review_are_lettered_in_their_order() -> None:
    for review in OTHERS:
        for at, each in enumerate(review.findings):
            letter = chr(ord("A") + at) if at < 26 else "A" + chr(ord("A") + at - 26)
            assert each.name == f"{review.kip}-{letter}"


@pytest.mark.parametrize("each", FINDINGS, ids=named)
def test_a_finding_has_a_place_an_opponent_and_one_way_to_be_shown(each: Finding) -> None:
    assert each.says.endswith(".")
    assert each.matter.endswith(".")
    assert each.clause
    assert each.against
    ways = (bool(each.promise), each.look is not None, each.counting is not None)
    assert sum(ways) + bool(each.because) == 1
    if each.promise or each.look:
        assert scenario(each.scenario)
        assert design(each.design)


@pytest.mark.parametrize("each", FINDINGS, ids=named)
def test_a_finding_comes_out_as_pinned_and_its_link_opens_where_it_shows(each: Finding) -> None:
    told = shown(each)
    assert told.words == WORDS[each.name]
    if told.run is not None:
        opened = open_link(link_of(told.run))
        assert (opened.design.name, opened.trace.depth) == (each.design, told.steps)
        assert opened.changes == ()


def test_a_kip_without_a_review_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(LookupError, match=re.escape("allowed are 1289, 1310, 1319, 447 and all")):
        reviews_of("1390")


def test_findings_of_every_review_are_found_by_their_name() -> None:
    assert [finding(name).name for name in ("x4", "1310-a", "447-B")] == ["X4", "1310-A", "447-B"]
