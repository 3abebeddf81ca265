"""One staging call over several partitions: with one leader, with two, and what the text claims of it."""

from __future__ import annotations

import pytest

from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.messages.events import CallReturned
from kipviz.studies.review_findings.findings import NOT_BROKEN, SEEN, show_finding
from kipviz.studies.review_findings.reviews import finding
from tests.scenarios.story import committed_outputs, nodes, play_once, states_of

ONE, TWO = "kip-1289-corner-11-one-leader", "kip-1289-corner-11-two-leaders"


def test_each_partition_has_a_transactional_acknowledgement_and_a_participant_of_its_own() -> None:
    trace, _ = play_once("kip-1289-several-partitions", "repaired")
    assert committed_outputs(trace.world) == {"src-0@100": 1, "src-1@200": 1, "pay-0@300": 1}
    most = max(
        len(known.partitions)
        for node in nodes(trace)
        for role in node.world.roles.values()
        if isinstance(role, TransactionCoordinator)
        for known in role.transactions.values()
    )
    assert most == 4
    for offset in (100, 200, 300):
        assert [s.name for s in states_of(trace, offset)][:2] == ["ACQUIRED", "TX_PENDING"]


def test_by_the_group_alone_one_partition_is_enlisted_for_all_transactional_acknowledgements() -> (
    None
):
    trace, _ = play_once("kip-1289-several-partitions", "as-written")
    most = max(
        len(known.partitions)
        for node in nodes(trace)
        for role in node.world.roles.values()
        if isinstance(role, TransactionCoordinator)
        for known in role.transactions.values()
    )
    assert most == 2


@pytest.mark.parametrize(
    ("story", "under", "verdict"),
    [
        (ONE, "as-written", NOT_BROKEN),
        (ONE, "finding-Q", NOT_BROKEN),
        (ONE, "repaired", SEEN),
        (TWO, "as-written", SEEN),
        (TWO, "finding-Q", SEEN),
        (TWO, "repaired", SEEN),
    ],
)
def test_the_good_half_is_given_back_in_time_by_one_leader_and_by_no_two(
    story: str, under: str, verdict: str
) -> None:
    assert show_finding(finding("Q").but(scenario=story, design=under)).verdict == verdict


def test_a_leader_gives_back_what_it_staged_and_the_record_is_its_members_again() -> None:
    trace, _ = play_once(ONE, "finding-Q")
    assert [s.name for s in states_of(trace, 100)][:3] == ["ACQUIRED", "TX_PENDING", "ACQUIRED"]


@pytest.mark.parametrize("story", [ONE, TWO])
@pytest.mark.parametrize("under", ["repaired", "finding-Q", "as-written"])
def test_half_of_a_call_can_not_be_committed_in_any_reading(story: str, under: str) -> None:
    trace, _ = play_once(story, under)
    returned = [e for n in nodes(trace) for e in n.events if isinstance(e, CallReturned)]
    commits = [str(e.raised) for e in returned if e.call == "commitTransaction"]
    assert commits == ["TxnShareAcknowledge: INVALID_RECORD_STATE"]
    assert committed_outputs(trace.world) == {}
