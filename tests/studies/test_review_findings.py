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
    "1310-I": "breaks in the story after 30 steps",
    "1319-A": "seen after 62 steps",
    "1319-B": "breaks in the story after 62 steps",
    "1319-C": "seen after 66 steps",
    "447-A": "breaks in the story after 85 steps",
    "447-B": "breaks in the story after 93 steps",
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
