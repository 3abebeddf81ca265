"""One grammar names the points of a run, for rules, faults and conditions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kipviz.records.transaction_state import TransactionState
from kipviz.scenarios.run_points import (
    COORDINATOR_CRASHES,
    Delivery,
    RunPoint,
    condition_of,
    parse_point,
)
from kipviz.serving.delivery_rules import rule
from kipviz.views.reasons.moments import points

MOMENTS = [
    {"text": "app-1 calls commitTransaction()", "step": 3},
    {"text": "PREPARE_COMMIT of my-txn is durable", "step": 5},
    {"text": "the COMMIT marker is in output-A-0", "step": 7},
]
CRASH = {"text": "B1 crashes", "sub": "transaction coordinator __transaction_state-45"}
FAULTS = [{**CRASH, "moment": number} for number in range(3)]


@pytest.mark.parametrize(
    ("words", "point"),
    [
        ("hold EndTxn", RunPoint("hold EndTxn", delivery=Delivery("hold", "EndTxn"))),
        (
            "lose every 3rd answer",
            RunPoint("lose every 3rd answer", delivery=Delivery("lose", "answer", 3, every=True)),
        ),
        (
            "lose the 1st EndTxnResponse",
            RunPoint("lose the 1st EndTxnResponse", delivery=Delivery("lose", "EndTxnResponse", 1)),
        ),
        (
            "crash the coordinator at PREPARE_COMMIT",
            RunPoint(COORDINATOR_CRASHES, "PREPARE_COMMIT"),
        ),
        (
            "the coordinator crashes after PREPARE_COMMIT",
            RunPoint(COORDINATOR_CRASHES, "PREPARE_COMMIT"),
        ),
        (
            "B1 crashes after PREPARE_COMMIT, before marker",
            RunPoint("B1 crashes", "PREPARE_COMMIT", "marker"),
        ),
        ("B1 crashes", RunPoint("B1 crashes")),
        ("after PREPARE_COMMIT", RunPoint("", "PREPARE_COMMIT")),
        ("", RunPoint("")),
    ],
)
def test_a_point_has_what_happens_and_what_is_done_before_and_after_it(
    words: str, point: RunPoint
) -> None:
    assert parse_point(words) == point


def test_both_spellings_of_the_coordinators_crash_are_one_rule_and_one_fault_on_a_branch() -> None:
    old, new = (
        rule("crash the coordinator at PREPARE_COMMIT"),
        rule("the coordinator crashes after PREPARE_COMMIT"),
    )
    assert replace(old, words=new.words) == new
    assert (new.verb, new.state) == ("crash", TransactionState.PREPARE_COMMIT)
    found = points("crash the coordinator at PREPARE_COMMIT", FAULTS, MOMENTS)
    assert found == points("the coordinator crashes after PREPARE_COMMIT", FAULTS, MOMENTS)
    assert [each["moment"] for each in found] == [1]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("hold EndTxn after PREPARE_COMMIT", "has no 'after' or 'before'"),
        ("crash the coordinator after EMPTY before ONGOING", "a rule must be 'hold EndTxn'"),
        ("B1 crashes after PREPARE_COMMIT", "a rule must be 'hold EndTxn'"),
        ("the coordinator crashes after PREPARE", "PREPARE_COMMIT"),
        ("lose the 0th answer", "counted from 1"),
    ],
)
def test_a_served_cluster_refuses_what_is_no_rule_of_it(words: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        rule(words)


def test_a_run_continues_until_a_condition_and_nothing_happens_there() -> None:
    assert condition_of("PREPARE_COMMIT") == condition_of("after PREPARE_COMMIT")
    with pytest.raises(ValueError, match="also says what happens there"):
        condition_of("B1 crashes after PREPARE_COMMIT")
    with pytest.raises(ValueError, match="also says what happens there"):
        condition_of("PREPARE_COMMIT before marker")
    with pytest.raises(ValueError, match="say what to run until"):
        condition_of("  ")
    with pytest.raises(ValueError, match="no message is called InitProducerId2PcResponse any more"):
        condition_of("after InitProducerId2PcResponse")
