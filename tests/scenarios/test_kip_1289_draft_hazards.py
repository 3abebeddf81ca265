"""Which story plays each scenario (S) and hazard (H: Flink, K: Streams) of KIP-1289's draft implementation.

A scenario that is played in part, or not at all, says what is missing and why.
"""

from __future__ import annotations

import pytest

from kipviz.checking import runs
from kipviz.messages.events import RecordsMoved
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.library import LIBRARY, scenario
from tests.scenarios.story import nodes, played
from tests.scenarios.test_kip_1289_drafts import OF_THE_DRAFTS

DRAFT, FLINK, INGRESS = (f"{prefix}-" for prefix in OF_THE_DRAFTS)
PLAYED: dict[str, tuple[str, ...]] = {
    "S1": (FLINK + "lock",),
    "S2": (DRAFT + "same-holder",),
    "S3": (FLINK + "stale-epoch",),
    "S4": (DRAFT + "late-stage",),
    "S5": (DRAFT + "epoch",),
    "S6": (DRAFT + "late-refresh",),
    "S7": (DRAFT + "refresh-waits",),
    "S8": (DRAFT + "fenced-refresh",),
    "S9": (DRAFT + "hook-first",),
    "S10": (DRAFT + "failover",),
    "S11": (DRAFT + "closed",),
    "S12": (FLINK + "never-returns", FLINK + "scale-down"),
    "S13": (FLINK + "acks-first", FLINK + "outputs-first"),
    "S14": (INGRESS + "closed",),
    "S15": (INGRESS + "unknown-task", INGRESS + "at-least-once"),
    "S16": (DRAFT + "lost-answer", DRAFT + "merge"),
    "H1": (FLINK + "lock",),
    "H2": (DRAFT + "same-holder",),
    "H3": (FLINK + "stale-epoch",),
    "H4": (),
    "H5": (DRAFT + "filter",),
    "H6": (FLINK + "without-two-phase",),
    "H7": (FLINK + "never-returns",),
    "H8": (FLINK + "scale-down",),
    "H9": (FLINK + "acks-first",),
    "H10": (FLINK + "outputs-first",),
    "H11": (FLINK + "stale-handle",),
    "H12": (FLINK + "late-element",),
    "H13": (DRAFT + "poison",),
    "K1": (INGRESS + "unknown-task",),
    "K2": (INGRESS + "at-least-once",),
    "K3": (INGRESS + "closed",),
}
# What no story plays of a scenario, and why.
MISSING: dict[str, str] = {
    "S3": "one refused staging is told; the rounds up to the delivery limit are not",
    "S6": "two transactions with one epoch need transaction version 1, and staging takes version 2",
    "S10": "the story commits; the abort after a failover is left to the search",
    "S11": "the story commits; the abort after close() is left to the search",
    "S14": "close() is told; an ordinary poll() before draining is left to the search",
    "S16": "the ordinary acknowledgement after the lost answer is not told, only an outcome that loses the merge",
    "H2": "both copies are staged in one transaction; the second copy in the next one is not told",
    "H3": "one refused staging is told; the restart loop is not",
    "H4": "an application has one share consumer, so one transaction cannot stage for two members",
}
NORMAL_FLOW = (INGRESS.removesuffix("-"),)
LABELS = (
    *(f"S{n}" for n in range(1, 17)),
    *(f"H{n}" for n in range(1, 14)),
    *(f"K{n}" for n in range(1, 4)),
)


def test_every_scenario_and_hazard_names_its_story_or_says_what_is_missing() -> None:
    assert tuple(PLAYED) == LABELS
    assert {label for label, stories in PLAYED.items() if not stories} <= set(MISSING)
    assert set(MISSING) <= set(LABELS)


@pytest.mark.parametrize("label", [label for label, stories in PLAYED.items() if stories])
def test_the_story_of_a_scenario_can_be_played_asks_and_names_a_way_out(label: str) -> None:
    for name in PLAYED[label]:
        story = scenario(name)
        assert story.question is not None
        assert any("ay out" in beat.say for beat in story.beats)


def test_every_story_of_the_drafts_plays_a_scenario_or_is_the_normal_flow() -> None:
    told = {s.name for s in LIBRARY if s.name.startswith(OF_THE_DRAFTS) and s.beats}
    assert told == {name for names in PLAYED.values() for name in names} | set(NORMAL_FLOW)


def resolved_at(name: str, design: str, offset: int) -> int:
    """Return the step at which a record of src-0 becomes ACKNOWLEDGED."""
    trace, _ = played(name, design)
    return next(
        step
        for step, node in enumerate(nodes(trace))
        for event in node.events
        if isinstance(event, RecordsMoved)
        and event.first <= offset <= event.last
        and event.after is RecordState.ACKNOWLEDGED
    )


@pytest.mark.parametrize("design", ["draft-late", "repaired"])
def test_a_refresh_is_not_sent_while_a_stage_write_is_in_flight(design: str) -> None:
    name = "kip-1289-draft-refresh-waits"
    steps = runs.labels(runs.play(name, design))
    writes = [at for at, s in enumerate(steps) if "WriteShareGroupStateResponse" in s]
    asked = [at for at, s in enumerate(steps) if s == "B5 refreshes src-0"]
    assert len(asked) == 2
    assert writes[-1] < asked[0]
    assert resolved_at(name, design, 100) < resolved_at(name, design, 101)


@pytest.mark.parametrize("design", ["draft-late", "repaired"])
def test_a_read_for_one_transaction_does_not_resolve_the_vote_of_the_next(design: str) -> None:
    name = "kip-1289-draft-late-refresh"
    steps = runs.labels(runs.play(name, design))
    reads = [at for at, s in enumerate(steps) if s.startswith("ReadShareGroupStateResponse")]
    staged = [at for at, s in enumerate(steps) if s == "TxnShareAcknowledge arrives at B5"]
    assert len(staged) == 2
    assert staged[1] < reads[-2], "record 101 is staged in memory when the first outcome arrives"
    assert resolved_at(name, design, 100) < resolved_at(name, design, 101)
    assert resolved_at(name, design, 101) >= reads[-1]
