"""Which iteration of KIP-1289's draft implementation keeps its properties, and which arrangement of a job does."""

from __future__ import annotations

import pytest

from kipviz.checking.judging.repair import replay_under
from kipviz.checking.judging.verdicts import HOLDS, DesignVerdicts
from kipviz.checking.single_run.violation import Breaking
from kipviz.cluster.world import World
from kipviz.core.model import Outcome
from kipviz.designs.catalogue import REPAIRED, design
from kipviz.designs.design import Design, slot_named
from kipviz.messages.events import BatchAppended, RecordsMoved, TransactionDecided
from kipviz.messages.logs.producing import FetchedRecord
from kipviz.properties.verdict import BROKEN
from kipviz.properties.written_once import WrittenOnce
from kipviz.records.batches import DataRecord
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.library import searched_scenario
from kipviz.studies.draft_implementation import implementation
from kipviz.studies.draft_implementation.implementation import (
    ACKS,
    APART,
    LATE,
    MIDDLE,
    ONE,
    OUTPUTS,
    STAGES_LATE,
    TOGETHER,
    WITH_KIP_939,
    Case,
    FoundRepair,
    breaks,
    repair,
    search_timed,
)
from kipviz.studies.library import study
from kipviz.studies.study import StoppedEarly, Tell, content

ADDED = "draft-early+enlistment=transaction_coordinator+marker_epoch=equal_or_next"


@pytest.mark.parametrize(
    ("scenario", "design", "faults", "broken"),
    [
        (APART, LATE, "", ""),
        pytest.param(
            APART,
            LATE,
            "time_out=1",
            "no stuck transactions or records",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            TOGETHER,
            "draft-middle",
            "",
            "no stuck transactions or records",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            APART,
            "draft-middle+marker_epoch=equal_or_next",
            "",
            "no stuck transactions or records",
            marks=pytest.mark.thorough,
        ),
        (TOGETHER, "draft-middle+marker_epoch=equal_or_next", "", ""),
        (TOGETHER, ADDED, "", ""),
        pytest.param(
            APART, ADDED, "", "no stuck transactions or records", marks=pytest.mark.thorough
        ),
        (APART, "repaired", "", ""),
        (ONE, WITH_KIP_939, "", ""),
        (ONE, WITH_KIP_939, "expire_lock=1", ""),
        pytest.param(ACKS, WITH_KIP_939, "crash_client=1", "atomic", marks=pytest.mark.thorough),
        (OUTPUTS, WITH_KIP_939, "", ""),
        (STAGES_LATE, WITH_KIP_939, "", "atomic"),
    ],
)
def test_what_breaks_first_is_pinned(scenario: str, design: str, faults: str, broken: str) -> None:
    found = Case(scenario, design, faults).judge(design, content)
    assert (
        ", ".join(c.asked for c in found.cells if c.verdict not in {HOLDS, "holds so far"})
        == broken
    )
    assert breaks(found) is bool(broken)


@pytest.mark.thorough
def test_one_decision_mends_the_late_iteration_and_it_is_the_form_of_the_transactional_acknowledgement() -> (
    None
):
    found = repair(Case(APART, LATE, "time_out=1"))
    assert found.slots == ("acknowledgement_form",)
    assert found.words.startswith(
        "acknowledgement_form (a smallest one: no break in any interleaving, "
    )


def test_every_set_smaller_than_the_repair_breaks_when_it_is_searched_itself() -> None:
    case = Case(APART, f"{MIDDLE}+marker_epoch=equal_or_next")
    found = repair(case)
    assert found.decided
    assert found.slots == ("outcome_join", "acknowledgement_form")
    chosen, spec = design(case.design), searched_scenario(APART).spec
    differ = [s for s, _, _ in chosen.differs_from(REPAIRED) if slot_named(s).arises_in(spec)]
    assert found.smaller == len(differ)
    for slot in differ:
        choices = {"marker_epoch": "equal_or_next", slot: REPAIRED.option(slot).name}
        alone = design(MIDDLE).but(**choices)
        assert breaks(case.judge(alone.name, content)), slot


def test_a_run_is_made_again_once_for_sets_that_agree_in_what_it_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    replayed: list[str] = []
    searched: list[str] = []

    def again(made: Breaking, candidate: Design) -> object:
        replayed.append(candidate.name)
        return replay_under(made, candidate)

    def judge(case: Case, under: str, tell: Tell, properties: tuple[str, ...]) -> DesignVerdicts:
        searched.append(under)
        return search(case, under, tell, properties)

    search = Case.judge
    monkeypatch.setattr(implementation, "replay_under", again)
    monkeypatch.setattr(Case, "judge", judge)
    found = repair(Case(APART, MIDDLE))
    assert found.slots == ("marker_epoch", "outcome_join", "acknowledgement_form")
    assert found.smaller == 15 + 105
    assert len(replayed) < found.smaller
    assert len(searched) < 10


def test_without_a_repair_that_suffices_none_is_named() -> None:
    assert repair(Case(STAGES_LATE, "repaired")) == FoundRepair()
    assert FoundRepair().words == "none"


def test_a_repair_is_a_smallest_one_only_if_every_interleaving_was_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = Case(TOGETHER, MIDDLE)
    assert (
        repair(case).words
        == "marker_epoch (a smallest one: no break in any interleaving, 240 states)"
    )
    monkeypatch.setattr(implementation, "STATES_MAX", 230)
    assert repair(case).words == "marker_epoch (not shown to be one: no break within 230 states)"


def test_a_repair_ends_when_nobody_listens_any_more() -> None:
    with pytest.raises(StoppedEarly):
        repair(Case(APART, LATE, "time_out=1"), lambda _words: False)


@pytest.mark.parametrize(
    ("arrangement", "interval", "lock", "timeout", "found"),
    [
        (ONE, 40_000, 15_000, 60_000, HOLDS),
        (STAGES_LATE, 40_000, 30_000, 60_000, "src-0@100 is written twice (after 91)"),
        (STAGES_LATE, 40_000, 60_000, 60_000, HOLDS),
        (STAGES_LATE, 40_000, 60_000, 30_000, "src-0@100 is written twice (after 110)"),
        (STAGES_LATE, 10_000, 15_000, 30_000, HOLDS),
    ],
)
def test_the_lock_has_to_outlast_the_checkpoint_interval_where_it_is_staged_there(
    arrangement: str, interval: int, lock: int, timeout: int, found: str
) -> None:
    assert search_timed(arrangement, interval, lock, timeout) == found


@pytest.mark.parametrize(
    ("arrangement", "limit", "restarts", "found"),
    [
        (ONE, 2, 2, "src-0@100 is archived, and its output is lost (after 27)"),
        (STAGES_LATE, 2, 2, "src-0@100 is archived, and its output is lost (after 35)"),
    ],
)
def test_as_many_restarts_as_the_delivery_limit_lose_a_record(
    arrangement: str, limit: int, restarts: int, found: str
) -> None:
    assert (
        search_timed(arrangement, 10_000, 30_000, 60_000, limit=limit, restarts=restarts) == found
    )


def test_what_breaks_with_fewer_restarts_breaks_with_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def search_once(*_arguments: object, limit: int, restarts: int) -> str:
        return "lost (after 3)" if limit == restarts == 1 else implementation.TIMED_NOT_DECIDED

    monkeypatch.setattr(implementation, "search_timed", search_once)
    rows = [implementation._restarting(ONE, limit, content)[0][2:] for limit in (1, 2)]
    assert rows == [("lost (after 3)",) * 2, (implementation.TIMED_NOT_DECIDED,) * 2]


def test_a_cell_that_was_searched_only_in_part_says_up_to_how_many_states(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(implementation, "TIMED_STATES_MAX", 100)
    words = search_timed(ONE, 10_000, 30_000, 60_000, limit=3, restarts=2)
    assert words == implementation.TIMED_NOT_DECIDED == "not decided within 20,000 states"


@pytest.mark.parametrize("limit", implementation.LIMITS)
def test_without_a_crash_the_delivery_limit_changes_nothing(limit: int) -> None:
    assert search_timed(STAGES_LATE, 40_000, 60_000, 60_000, limit=limit) == HOLDS
    words = search_timed(STAGES_LATE, 40_000, 30_000, 60_000, limit=limit)
    assert words == "src-0@100 is written twice (after 91)"


def test_the_studies_are_found_by_name_and_have_a_part_for_each_case() -> None:
    parts = study("implementation").parts
    assert parts is not None
    assert len(parts.each) == len(implementation.cases())
    for name in ("arrangements", "arrangement-settings", "arrangement-restarts"):
        assert study(name).parts is not None


# -- written once ----------------------------------------------------------------------------------


def find_reason(*events: object) -> str:
    """Give why the property is broken after some events, "" if it holds."""
    return told_in(None, *events)


def told_in(world: World | None, *events: object) -> str:
    prop = WrittenOnce()
    state = prop.initial(world)
    for event in events:
        state = prop.observe(state, None, Outcome(world, (event,)))
    finding = prop.finding(state)
    return finding.reason if finding.status == BROKEN else ""


def put(epoch: int) -> BatchAppended:
    record = DataRecord("out", "src-0@100")
    return BatchAppended("output-A-0", 0, (record,), 9, epoch, "")


def decision(epoch: int, *, committed: bool) -> TransactionDecided:
    return TransactionDecided("t", 9, epoch, committed)


def acknowledge_event() -> RecordsMoved:
    return move_event(RecordState.ACKNOWLEDGED)


def move_event(after: RecordState) -> RecordsMoved:
    return RecordsMoved(
        "src-0",
        "g1",
        100,
        100,
        RecordState.TX_PENDING,
        after,
        1,
        "M1",
        "it is so",
    )


def test_one_committed_output_and_an_acknowledgement_in_either_order_are_once() -> None:
    commit = decision(0, committed=True)
    assert find_reason(put(0), commit, acknowledge_event()) == ""
    assert find_reason(put(0), acknowledge_event(), commit) == ""


def test_a_second_committed_output_and_an_aborted_one_of_an_acknowledged_record_are_not() -> None:
    commit = decision(0, committed=True)
    assert (
        find_reason(put(0), commit, put(1), decision(1, committed=True))
        == "src-0@100 is written twice"
    )
    lost = "src-0@100 is acknowledged, and its output is lost"
    assert find_reason(put(0), acknowledge_event(), decision(0, committed=False)) == lost
    assert find_reason(acknowledge_event()) == lost
    assert find_reason(put(0), decision(0, committed=False)) == ""


def test_an_archived_record_is_lost_once_nobody_can_write_it_any_more() -> None:
    story = searched_scenario("kip-1289-draft-small")
    world = story.model(design(LATE)).initial()
    app = world.applications["app-1"].but(records=(FetchedRecord("src-0", 100, "a", 2),))
    in_hand = world.but(applications=world.applications.set("app-1", app))
    archived = move_event(RecordState.ARCHIVED)
    lost = "src-0@100 is archived, and its output is lost"
    assert told_in(world, archived) == lost
    assert told_in(in_hand, archived) == ""
    assert told_in(world, put(0), archived) == ""
    assert told_in(world, put(0), archived, decision(0, committed=True)) == ""
    assert told_in(world, put(0), archived, decision(0, committed=False)) == lost
    assert told_in(world, put(0), decision(0, committed=True), archived) == ""
