"""The findings of the review of KIP-1289: each is shown as pinned, and the page is what they give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kipviz.brokers.checks import Checks, error_of
from kipviz.brokers.logs import partition_log, replication
from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.verdicts import property_named
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.single_run.permalink import open_link
from kipviz.cluster.actions import DeliverLate
from kipviz.command.searches.study import HEAD
from kipviz.designs.catalogue import FINDINGS as DESIGNS
from kipviz.designs.catalogue import REPAIRED, design
from kipviz.messages.errors import Errors
from kipviz.scenarios.library import searched_scenario
from kipviz.studies.review_findings.findings import (
    BREAKS,
    BREAKS_PLAYED,
    COUNTED,
    NOT_BROKEN,
    NOT_DECIDED,
    SEEN,
    TEXT,
    Finding,
    first_break,
    show_finding,
)
from kipviz.studies.review_findings.kip_1289_findings import FINDINGS
from kipviz.studies.review_findings.reviews import REVIEWS, demonstrate_reviews, finding
from kipviz.views.reports.review import link_of, reviews_page

PAGE = Path(__file__).parents[2] / "docs/FINDINGS.md"

# finding -> steps of the shortest run that breaks its property.
STEPS = {
    "T": 41,
    "A": 17,
    "B": 19,
    "C": 17,
    "D": 31,
    "E": 36,
    "F": 40,
    "G": 28,
    "I": 20,
    "K": 20,
    "M": 30,
    "S": 20,
    "X1": 24,
    "X3": 20,
    "X4": 21,
    "X5": 44,
    "X9": 39,
    "X11": 18,
    "X12": 42,
    "X15": 20,
    "X18": 30,
    "X24": 41,
    "X25": 46,
    "X26": 29,
    "X27": 33,
    "X32": 22,
    "X43": 45,
}
# What is not a search that breaks something: how often the word comes, and what for.
SEEN_AFTER = {
    "H": 45,
    "L": 38,
    "P": 35,
    "Q": 35,
    "R": 29,
    "X6": 68,
    "X7": 32,
    "X10": 23,
    "X13": 58,
    "X14": 32,
    "X16": 36,
    "X17": 41,
    "X19": 43,
    "X28": 20,
    "X31": 38,
    "X38": 22,
}
HARMLESS = ("J",)
SEARCHED = [f for f in FINDINGS if f.property_name]
# Whose search takes more than about a second.
# The longest searches, up to a whole minute each: make thorough has them, beside the whole page.
MINUTES = {"E", "X4", "X9", "X11", "X15", "X18", "X25"}
LONG = ("B", "C", "E", "I", "X3", "X4", "X5", "X9", "X12", "X15")


def test_a_finding_says_what_the_text_says_what_is_the_matter_and_how_it_is_shown() -> None:
    assert len({f.name for f in FINDINGS}) == len(FINDINGS)
    for each in FINDINGS:
        assert each.says.endswith(".")
        assert each.matter.endswith(".")
        assert each.clause
        assert (
            sum((bool(each.property_name), each.look is not None, each.counting is not None)) <= 1
        )
        if not (each.property_name or each.look or each.counting):
            assert each.because
        if each.property_name:
            property_named(each.property_name)
            searched_scenario(each.scenario).model(design(each.design), budget_of(each.faults))


def test_a_design_named_for_a_finding_is_used_by_that_finding() -> None:
    used = {f.design for f in FINDINGS}
    assert {d.name for d in DESIGNS if finding_of(d.name)} <= used


def finding_of(name: str) -> bool:
    return name.removeprefix("finding-") in {f.name for f in FINDINGS}


@pytest.mark.parametrize("name", ["X20"])
def test_a_finding_that_searches_count_tells_how_far_they_are_and_can_be_stopped(name: str) -> None:
    told: list[int] = []

    def stop(states: int, depth: int) -> bool:
        told.append(states)
        return False

    show_finding(finding(name), progress=stop)
    # Each of its six searches asks before its second state, and ends there.
    assert len(told) == 6
    assert max(told) == 1


def test_every_searched_finding_is_pinned() -> None:
    assert {f.name for f in SEARCHED} == {*STEPS, *HARMLESS}


def test_the_findings_of_the_review_are_numbered_without_a_gap() -> None:
    letters = [chr(c) for c in range(ord("A"), ord("S") + 1)]
    # T, what the text comes to as a whole, is the first line of the review.
    assert [f.name for f in FINDINGS] == ["T", *letters, *(f"X{n}" for n in range(1, 44))]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=pytest.mark.thorough)
        if n in MINUTES
        else pytest.param(n, marks=pytest.mark.slow)
        if n in LONG
        else n
        for n in STEPS
    ],
)
def test_the_shortest_run_of_a_finding_is_as_long_as_pinned(name: str) -> None:
    told = show_finding(finding(name))
    assert (told.verdict, told.steps) == (
        BREAKS_PLAYED if finding(name).played else BREAKS,
        STEPS[name],
    )
    assert told.run is not None
    opened = open_link(link_of(told.run))
    assert (opened.design.name, opened.trace.depth) == (finding(name).design, STEPS[name])
    assert opened.changes == ()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "each",
    SEARCHED,
    ids=[f.name for f in SEARCHED],
)
def test_the_repaired_design_keeps_what_each_finding_breaks(each: Finding) -> None:
    model = searched_scenario(each.scenario).model(REPAIRED, budget_of(each.faults))
    found, explored = first_break(model, property_named(each.property_name))
    assert found is None
    assert explored.complete


@pytest.mark.parametrize("name", SEEN_AFTER)
def test_what_is_looked_for_in_a_story_is_seen_where_pinned(name: str) -> None:
    told = show_finding(finding(name))
    assert told.verdict == SEEN
    assert told.words == f"seen after {SEEN_AFTER[name]} steps"


@pytest.mark.parametrize("name", ["H", "L", "R", "X6", "X13", "X16"])
def test_what_is_seen_under_a_finding_is_not_seen_under_the_repaired_design(name: str) -> None:
    told = show_finding(finding(name).but(design="repaired"))
    assert (told.verdict, told.run) == (NOT_BROKEN, None)


def test_below_a_level_of_its_own_no_crash_in_a_rolling_upgrade_does_harm() -> None:
    told = show_finding(finding("X9").but(design="repaired"))
    assert told.verdict == NOT_BROKEN
    assert "3,026 states" in told.reason
    assert finding("X9").slots == "staging_level=2"


def test_the_late_marker_of_an_earlier_transaction_harms_nothing_under_version_2() -> None:
    told = show_finding(finding("J"))
    assert told.verdict == NOT_BROKEN
    assert "5,645 states" in told.reason


def test_without_the_check_of_the_log_the_late_marker_undoes_what_was_committed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The search of finding J can fail: it is the log that refuses the marker, and nothing else."""
    original = partition_log.check_marker

    def lenient(*asked: Any) -> Checks:
        checks = original(*asked)
        return () if error_of(checks) is Errors.INVALID_PRODUCER_EPOCH else checks

    monkeypatch.setattr(replication, "check_marker", lenient)
    told = show_finding(finding("J"))
    assert told.verdict == BREAKS
    assert "is committed, but the share coordinator knows the outcome" in told.reason
    assert told.run is not None
    taken = [told.run.trace.node(number).action for number in told.run.trace.line]
    assert any(isinstance(action, DeliverLate) for action in taken)
    # A slot that asks for a higher epoch would stand alone.
    assert show_finding(finding("J").but(design="repaired")).verdict == NOT_BROKEN


@pytest.mark.parametrize("name", ["X2", "X8"])
def test_with_what_the_text_has_no_transaction_ever_commits(name: str) -> None:
    told = show_finding(finding(name))
    assert told.verdict == COUNTED
    assert told.reason.startswith("in 0 of all steps from")
    assert "(repaired: in 120, from 686 states)" in told.reason


@pytest.mark.thorough
def test_stagings_are_answered_with_errors_that_the_text_does_not_list() -> None:
    missing, _, listed = show_finding(finding("X20")).reason.partition("; in them: ")
    for name in ("CONCURRENT_TRANSACTIONS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"):
        assert name in missing
    assert "INVALID_RECORD_STATE" in listed
    assert "TRANSACTIONAL_ID_NOT_FOUND" not in missing + listed


def test_a_marker_walks_through_every_share_partition_of_its_broker() -> None:
    assert "4 share-partitions are scanned" in show_finding(finding("X23")).reason


def test_a_search_that_was_stopped_decides_nothing() -> None:
    told = show_finding(finding("D"), Bounds(states_max=20))
    assert told.verdict == NOT_DECIDED
    assert told.run is None


def test_a_change_that_harms_nothing_is_said_to() -> None:
    harmless = finding("A").but(design="repaired")
    told = show_finding(harmless)
    assert told.verdict == NOT_BROKEN
    assert "686 states" in told.reason


def test_the_permission_that_the_text_asks_for_cannot_be_given() -> None:
    told = show_finding(finding("X21"))
    assert told.verdict == COUNTED
    assert "READ, DESCRIBE, DELETE, not for WRITE" in told.reason


def test_a_finding_about_the_words_says_so() -> None:
    told = show_finding(finding("X22"))
    assert (told.verdict, told.run) == (TEXT, None)


def test_what_is_about_words_and_nothing_else() -> None:
    text = [f.name for f in FINDINGS if not (f.property_name or f.look or f.counting)]
    assert text == ["X22", "X34", "X36", "X39", "X40", "X41"]


def test_no_client_enlists_a_partition_under_transaction_version_2() -> None:
    told = show_finding(finding("X35"))
    assert told.verdict == COUNTED
    assert "kip-1289-share-commit: 0 from the client, 2 from brokers" in told.reason
    assert "kip-1289-group-commit: 0 from the client, 2 from brokers" in told.reason


def test_a_staging_goes_to_the_leader_of_the_source_and_to_no_coordinator_of_the_group() -> None:
    assert "goes to Broker 5, which leads" in show_finding(finding("X37")).reason


def test_an_abort_throws_nothing_of_a_staging_that_was_refused() -> None:
    told = show_finding(finding("X42")).reason
    assert told.startswith("the response to the staging is INVALID_RECORD_STATE; ")
    assert "abortTransaction() returns without an exception, and 0 of 6 calls have thrown" in told


def test_renew_is_a_type_and_no_state() -> None:
    told = show_finding(finding("X33")).reason
    assert "RENEW is AcknowledgeType 4" in told
    assert "RENEW" not in told.partition(";")[0]


def test_no_request_of_a_share_groups_member_can_name_an_instance_id() -> None:
    told = show_finding(finding("N"))
    assert told.verdict == COUNTED
    assert "JoinGroupRequest" in told.reason
    assert "of the 4 requests with the id of a share group's member, 4 have none: " in told.reason
    for name in ("ShareGroupHeartbeatRequest", "TxnShareAcknowledgeRequest", "ShareFetchRequest"):
        assert name in told.reason.partition("have none")[2]


def test_the_key_of_an_answer_is_in_no_byte_of_it() -> None:
    told = show_finding(finding("O"))
    assert told.verdict == COUNTED
    assert "the request's header is RequestApiKey, RequestApiVersion" in told.reason
    assert "the response's is CorrelationId, tagged fields: " in told.reason


def test_an_unknown_finding_is_answered_with_those_there_are() -> None:
    with pytest.raises(LookupError, match="there is no finding '1310-ZZ'; nearest are 1310-"):
        finding("1310-ZZ")


@pytest.mark.thorough
def test_the_page_in_the_repository_is_the_one_that_the_model_gives() -> None:
    stored = PAGE.read_text(encoding="utf-8")
    again = HEAD + reviews_page(demonstrate_reviews(REVIEWS))
    assert stored == again, "run `kipviz study findings --into docs/FINDINGS.md`"
