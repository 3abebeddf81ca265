"""Which story plays each scenario (S) and hazard (H: Flink, K: Streams) of KIP-1289's draft implementation.

A scenario that is played in part, or not at all, says what is missing and why.
"""

from __future__ import annotations

import pytest

from kipviz.checking.single_run import runs
from kipviz.designs.catalogue import design
from kipviz.messages.events import CallReturned, RecordsMoved, TransactionDecided
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.library import LIBRARY, scenario
from tests.scenarios.kip_1289.test_kip_1289_drafts import OF_THE_DRAFTS
from tests.scenarios.story import moves, nodes, play_once

DRAFT, FLINK, INGRESS = (f"{prefix}-" for prefix in OF_THE_DRAFTS)
PLAYED: dict[str, tuple[str, ...]] = {
    "S1": (FLINK + "lock",),
    "S2": (DRAFT + "same-holder", DRAFT + "same-holder-next"),
    "S3": (FLINK + "stale-epoch", FLINK + "restart-loop"),
    "S4": (DRAFT + "late-stage",),
    "S5": (DRAFT + "epoch",),
    "S6": (DRAFT + "one-epoch", DRAFT + "late-refresh"),
    "S7": (DRAFT + "refresh-waits",),
    "S8": (DRAFT + "fenced-refresh",),
    "S9": (DRAFT + "hook-first",),
    "S10": (DRAFT + "failover", DRAFT + "failover-abort"),
    "S11": (DRAFT + "closed", DRAFT + "closed-abort"),
    "S12": (FLINK + "never-returns", FLINK + "scale-down"),
    "S13": (FLINK + "acks-first", FLINK + "outputs-first"),
    "S14": (INGRESS + "closed", INGRESS + "polled"),
    "S15": (INGRESS + "unknown-task", INGRESS + "at-least-once"),
    "S16": (DRAFT + "lost-answer", DRAFT + "lost-answer-acknowledged", DRAFT + "merge"),
    "H1": (FLINK + "lock",),
    "H2": (DRAFT + "same-holder", DRAFT + "same-holder-next"),
    "H3": (FLINK + "stale-epoch", FLINK + "restart-loop"),
    "H4": (FLINK + "shuffle", FLINK + "shuffle-epoch", FLINK + "payload-id"),
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
    "H4": "payload ids stand in the text of the program: the model has no map of them, so a search does not find two "
    "that meet",
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
    trace, _ = play_once(name, design)
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
def test_a_read_for_one_transaction_does_not_resolve_the_transactional_acknowledgement_of_the_next(
    design: str,
) -> None:
    name = "kip-1289-draft-late-refresh"
    steps = runs.labels(runs.play(name, design))
    reads = [at for at, s in enumerate(steps) if s.startswith("ReadShareGroupStateResponse")]
    staged = [at for at, s in enumerate(steps) if s == "TxnShareAcknowledge arrives at B5"]
    assert len(staged) == 2
    assert staged[1] < reads[-2], "record 101 is staged in memory when the first outcome arrives"
    assert resolved_at(name, design, 100) < resolved_at(name, design, 101)
    assert resolved_at(name, design, 101) >= reads[-1]


BY_EPOCH = "draft-late+refresh_match=of_a_noted_transaction"


@pytest.mark.parametrize(
    ("version", "name", "freed"),
    [(1, BY_EPOCH, True), (2, BY_EPOCH, False), (1, "draft-late", False)],
)
def test_a_late_outcome_frees_the_next_transactional_acknowledgement_where_the_epoch_is_the_same_and_records_are_not_noted(
    version: int, name: str, freed: bool
) -> None:
    story = scenario("kip-1289-draft-one-epoch")
    story = story.but(spec=story.spec.but(transaction_version=version))
    trace, _ = story.play(design(name))
    of_101 = [m for m in moves(trace) if m.first <= 101 <= m.last]
    acknowledgements = [m for m in of_101 if RecordState.TX_PENDING in (m.before, m.after)]
    assert acknowledgements[0].after is RecordState.TX_PENDING
    assert acknowledgements[1].after is (
        RecordState.AVAILABLE if freed else RecordState.ACKNOWLEDGED
    )
    epochs = {m.producer_epoch for m in moves(trace) if m.after is RecordState.TX_PENDING}
    assert len(epochs) == version, "below version 2 both transactions have one epoch"


def test_the_member_that_beats_is_refused_and_the_transactional_acknowledgement_of_the_other_one_is_aborted_with_it() -> (
    None
):
    trace, _ = play_once("kip-1289-flink-shuffle-epoch", "draft-late+member_epoch=the_current_one")
    staged = [(m.first, m.member_id) for m in moves(trace) if m.after is RecordState.TX_PENDING]
    assert staged == [(100, "M1")]
    raised = [
        str(e.raised)
        for node in nodes(trace)
        for e in node.events
        if isinstance(e, CallReturned) and e.raised
    ]
    assert raised == ["TxnShareAcknowledge: STALE_MEMBER_EPOCH"]
    consumers = trace.world.applications["app-1"].share_consumers
    assert [c.member_epoch for c in consumers] == [3, 5]


def deliveries(name: str, design: str) -> list[int]:
    """Return the delivery counts with which record 100 was acquired, in order."""
    trace, _ = play_once(name, design)
    return [m.delivery_count for m in moves(trace) if m.after is RecordState.ACQUIRED]


@pytest.mark.parametrize(
    ("design", "counts"),
    [
        ("draft-late", [1, 2]),
        ("repaired", [1, 2]),
        ("draft-early+enlistment=transaction_coordinator", [1, 1]),
    ],
)
def test_after_a_failover_an_abort_leaves_the_delivery_count_of_a_durable_transactional_acknowledgement(
    design: str, counts: list[int]
) -> None:
    assert deliveries("kip-1289-draft-failover-abort", design) == counts


def test_after_the_member_has_left_an_abort_frees_its_record_for_another_member() -> None:
    trace, _ = play_once("kip-1289-draft-closed-abort", "draft-late")
    assert [m.member_id for m in moves(trace) if m.after is RecordState.ACQUIRED] == ["M1", "M2"]


@pytest.mark.parametrize(
    ("rank", "again"), [("", True), ("+state_rank=pending_below_outcomes", False)]
)
def test_an_acknowledgement_that_loses_the_merge_is_undone_by_the_next_leader(
    rank: str, again: bool
) -> None:
    design = "draft-late+drain=decisions_stay" + rank
    counts = deliveries("kip-1289-draft-lost-answer-acknowledged", design)
    assert counts[-1] == (2 if again else 1)


@pytest.mark.parametrize(
    ("design", "committed"),
    [("draft-late", 1), ("draft-late+staged_deliveries=with_delivery_counts", 2)],
)
def test_of_two_copies_in_two_transactions_the_delivery_that_is_named_decides_which_one_commits(
    design: str, committed: int
) -> None:
    trace, _ = play_once("kip-1289-draft-same-holder-next", design)
    decided = [e for node in nodes(trace) for e in node.events if isinstance(e, TransactionDecided)]
    assert [at for at, each in enumerate(decided, 1) if each.committed] == [committed]
    assert len(decided) == 2


def test_refused_at_each_restart_a_record_reaches_its_delivery_limit_and_is_lost() -> None:
    name = "kip-1289-flink-restart-loop"
    assert deliveries(name, "draft-late+member_epoch=the_current_one") == [1, 2]
    trace, _ = play_once(name, "draft-late+member_epoch=the_current_one")
    events = (e for node in nodes(trace) for e in node.events)
    thrown = [str(e.raised) for e in events if isinstance(e, CallReturned) and e.raised]
    assert thrown == ["TxnShareAcknowledge: STALE_MEMBER_EPOCH"] * 2
