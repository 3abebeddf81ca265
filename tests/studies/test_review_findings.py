"""The findings of the reviews of KIP-1310, KIP-1319 and KIP-447: each is shown as pinned."""

from __future__ import annotations

import re

import pytest

from kipviz.checking.single_run.permalink import open_link
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import searched_scenario
from kipviz.studies.review_findings.findings import NOT_BROKEN, Finding, show_finding
from kipviz.studies.review_findings.reviews import REVIEWS, finding, reviews_of
from kipviz.views.reports.review import link_of

OTHERS = [review for review in REVIEWS if review.kip != 1289]
FINDINGS = [each for review in OTHERS for each in review.findings]

# finding -> how it comes out.
WORDS = {
    "1310-A": "breaks in the story after 36 steps",
    "1310-B": "breaks in the story after 23 steps",
    "1310-C": "seen after 44 steps",
    "1310-D": "breaks in the story after 39 steps",
    "1310-E": "seen after 31 steps",
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
    "1310-AG": "seen after 23 steps",
    "1310-AH": "text only",
    "1310-AI": "text only",
    "1310-AJ": "text only",
    "1310-AK": "seen after 22 steps",
    "1310-AL": "breaks in the story after 39 steps",
    "1310-AM": "seen after 38 steps",
    "1310-AN": "seen after 36 steps",
    "1310-AO": "seen after 21 steps",
    "1319-A": "seen after 59 steps",
    "1319-B": "breaks in the story after 59 steps",
    "1319-C": "seen after 60 steps",
    "1319-D": "breaks in the story after 74 steps",
    "1319-E": "breaks in the story after 37 steps",
    "1319-F": "seen after 22 steps",
    "1319-G": "counted",
    "1319-H": "text only",
    "447-A": "breaks in the story after 79 steps",
    "447-B": "breaks in the story after 87 steps",
    "447-C": "seen after 66 steps",
    "447-D": "seen after 60 steps",
    "447-E": "seen after 48 steps",
    "447-F": "counted",
    "447-G": "seen after 31 steps",
    "447-H": "seen after 33 steps",
    "447-I": "seen after 2 steps",
    "447-J": "breaks in the story after 79 steps",
    "447-T": "breaks in the story after 89 steps",
    "447-K": "seen after 80 steps",
    "447-L": "counted",
    "447-M": "counted",
    "447-N": "breaks in the story after 79 steps",
    "447-O": "seen after 48 steps",
    "447-P": "counted",
    "447-Q": "text only",
    "447-R": "text only",
    "447-S": "text only",
}


def name_of(each: Finding) -> str:
    return each.name


def test_the_findings_of_a_review_are_lettered_in_their_order() -> None:
    for review in OTHERS:
        for at, each in enumerate(review.findings):
            letter = chr(ord("A") + at) if at < 26 else "A" + chr(ord("A") + at - 26)
            assert each.name == f"{review.kip}-{letter}"


@pytest.mark.parametrize("each", FINDINGS, ids=name_of)
def test_a_finding_has_a_place_an_opponent_and_one_way_to_be_shown(each: Finding) -> None:
    assert each.says.endswith(".")
    assert each.matter.endswith(".")
    assert each.clause
    assert each.against
    ways = (bool(each.property_name), each.look is not None, each.counting is not None)
    assert sum(ways) + bool(each.because) == 1
    if each.property_name or each.look:
        assert searched_scenario(each.scenario)
        assert design(each.design)


@pytest.mark.parametrize("each", FINDINGS, ids=name_of)
def test_a_finding_comes_out_as_pinned_and_its_link_opens_where_it_shows(each: Finding) -> None:
    told = show_finding(each)
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


@pytest.mark.parametrize(
    "each", [each for each in FINDINGS if each.slots and each.name.startswith("1310")], ids=name_of
)
def test_what_a_choice_of_kip_1310_breaks_the_repaired_design_keeps(each: Finding) -> None:
    told = show_finding(each.but(design="repaired"))
    assert (told.verdict, told.run) == (NOT_BROKEN, None)


@pytest.mark.parametrize(
    ("name", "design", "scenario"),
    [
        # Kafka commits after the database has prepared last, or what is prepared is kept.
        ("1310-I", "repaired", "kip-1310-small-swapped"),
        ("1310-J", "repaired", "kip-1310-small-keeps"),
        # The path of the second draft, what the middle version says, and what was released.
        ("447-A", "kafka", "kip-447-two-bounces"),
        ("447-B", "kip-447-group-id", "kip-447-old-consumer"),
        ("447-J", "kafka", "kip-447-race"),
        ("447-N", "kafka", "kip-447-zombie"),
        # The id was known before the topic was deleted.
        ("1319-B", "kafka", "kip-1319-remade"),
    ],
)
def test_beside_a_finding_there_is_a_way_that_keeps_its_property(name, design, scenario) -> None:
    told = show_finding(finding(name).but(design=design, scenario=scenario))
    assert told.verdict == NOT_BROKEN


def test_sessions_send_a_request_that_the_list_of_the_page_lacks() -> None:
    reason = show_finding(finding("1310-R")).reason
    assert "sessions send TxnShareAcknowledge, which the list of 2.2 lacks" in reason
    assert "sends EndTxn, InitProducerId, TxnOffsetCommit of the list and nothing else" in reason


def test_rights_that_the_table_of_kip_1310_lacks_are_those_that_brokers_ask_for() -> None:
    lacks, _, unsaid = show_finding(finding("1310-T")).reason.partition(
        "no operation is given for "
    )
    for right in ("TWO_PHASE_COMMIT on TRANSACTIONAL_ID", "READ on GROUP", "READ on TOPIC"):
        assert right in lacks
    assert "DESCRIBE" not in lacks
    assert unsaid == "AddPartitionsToTxn on TOPIC, AddShareAcksToTxn on GROUP"


def test_two_truths_can_have_one_answer_for_a_resumed_session() -> None:
    reason = show_finding(finding("1310-X")).reason
    assert "INVALID_TXN_STATE: it was aborted by its time-out or nothing was ever written" in reason


def test_a_share_group_is_not_found_in_every_version_of_txn_offset_commit() -> None:
    assert show_finding(finding("1319-G")).reason == (
        "a missing group: ILLEGAL_GENERATION in versions 0 to 5, GROUP_ID_NOT_FOUND in "
        "version 6; a share group: GROUP_ID_NOT_FOUND in versions 0 to 6"
    )


def test_one_request_of_a_transaction_can_name_a_generation() -> None:
    named_by = show_finding(finding("447-L")).reason.removeprefix("names a generation? ")
    assert named_by.startswith("yes: TxnOffsetCommitRequest; no: InitProducerIdRequest, ")


def test_a_new_owner_waits_for_the_time_out_of_its_version() -> None:
    assert show_finding(finding("447-F")).reason.endswith(
        "second draft (10 s): 11 s; Kafka 4.4.0 (60 s): 60 s"
    )


def test_findings_without_a_run_or_a_count_say_why() -> None:
    text = [
        each.name for each in FINDINGS if not (each.property_name or each.look or each.counting)
    ]
    assert text == [
        *(f"1310-{letter}" for letter in ("M", "P", "Q", "S", "AE", "AF", "AH", "AI", "AJ")),
        *("1319-H", "447-Q", "447-R", "447-S"),
    ]
