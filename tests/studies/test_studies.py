"""The studies: every rival can be built, and each answer is what the search says today."""

from __future__ import annotations

import pytest

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.verdicts import ASKED_BY_NAME, EVERY_PROPERTY
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.runs import judge_to_the_end
from kipviz.designs.catalogue import design
from kipviz.properties.verdict import BROKEN
from kipviz.scenarios.library import searched_scenario
from kipviz.studies.library import STUDIES, UnknownStudy, study
from kipviz.studies.study import (
    Answer,
    Part,
    Parts,
    StoppedEarly,
    Study,
    Tell,
    answer,
    answers,
    content,
)
from kipviz.studies.test_plan import chaos

# What each rival comes to, property by property: the steps of the shortest break, or 0.
ANSWERS: dict[str, tuple[tuple[int, ...], ...]] = {
    "B1": ((0, 20), (0, 0), (0, 0)),
    "B2": ((0, 17), (0, 19), (0, 0), (0, 0)),
    "B4": ((0, 20), (0, 0)),
    "B5": ((0, 0), (0, 0), (0, 0)),
    "B7": ((32, 0, 0), (32, 0, 0), (0, 0, 0), (0, 0, 33), (0, 0, 0)),
    "B8": ((31, 0), (0, 0), (0, 0)),
    "B9": ((36,), (0,)),
    "B10": ((0, 0), (32, 0), (0, 0)),
    "B15": ((37, 0), (0, 0), (0, 0)),
    "B17": ((29, 0), (0, 0)),
    "B18": ((37, 0), (0, 0)),
    "B19": ((54,), (0,), (0,)),
    "B23": ((0,), (0,), (0,), (21,)),
    "B14": ((0,), (52,), (0,), (31,), (31,)),
    "B22": ((0,), (24,), (0,)),
    "B26": ((35,), (37,), (0,)),
    "B27": ((36,), (0,), (38,), (0,)),
    "late record": ((37,), (0,), (0,)),
    "B34": ((0, 0), (0, 0), (0, 0), (0, 19), (0,)),
    "B29": ((0,), (27,), (35,), (25,), (0,), (0,), (27,), (0,), (35,), (28,), (0,)),
}
QUICK = ("B1", "B2", "B8", "B15", "B26", "B17", "B18", "B19", "B29")


def breaks(found: Answer) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(len(cell.actions) for cell in row.cells) for row in found.judged)


def test_a_searched_study_has_a_pinned_answer() -> None:
    assert {s.name for s in STUDIES if s.rivals} == set(ANSWERS)


@pytest.mark.parametrize(
    "name",
    [
        n if n in QUICK else pytest.param(n, marks=pytest.mark.thorough)
        for n in ANSWERS
        if n != "B9"
    ],
)
def test_a_searched_study_answers_as_pinned(name: str) -> None:
    found = answer(study(name))
    assert breaks(found) == ANSWERS[name]
    assert all(row.explored.complete for row in found.judged)


@pytest.mark.thorough
def test_a_transactional_acknowledgement_in_memory_only_does_not_outlive_a_leader() -> None:
    asked = study("B9")
    only_memory = Study(
        **{f: getattr(asked, f) for f in asked.__struct_fields__} | {"rivals": asked.rivals[:1]}
    )
    assert breaks(answer(only_memory)) == ANSWERS["B9"][:1]


def test_a_counted_study_counts_what_it_says() -> None:
    by_count = {row[0]: row[1:] for row in answer(study("B3")).rows}
    assert by_count == {"1": ("1", "1", "1"), "10": ("1", "10", "10"), "60": ("1", "45", "59")}
    b5 = study("B5")
    counted = b5.but(scenario="", rivals=(), properties=(), beside=None, parts=b5.beside)
    by_broker, own_broker, client = (int(row[3]) for row in answer(counted).rows)
    assert by_broker == client > 0
    assert own_broker == 0


def test_a_commit_returns_before_the_share_side_has_heard_of_it() -> None:
    counts = [tuple(map(int, row[2:])) for row in answer(study("B6")).rows]
    kafka, waits, told, stuck, stuck_too = counts
    states, returned, pending, held = kafka
    assert states == 686
    assert returned > pending > 0
    assert returned > held > 0
    assert stuck[1] == stuck[2]  # no marker ever resolves it
    assert stuck_too[1] == stuck_too[2]
    # Behind COMPLETE_COMMIT every output is visible, and the outcome still need not be known.
    for later in (waits, told, stuck_too):
        assert later[1] >= later[2] > later[3] == 0
    assert waits[1:] == (50, 40, 0)


def test_a_response_at_completion_costs_the_marker_and_another_append_and_no_message() -> None:
    kafka, waits, told = (row[2:] for row in answer(study("B6")).times[1])
    took = [float(row[0].removesuffix(" ms")) for row in (kafka, waits, told)]
    assert took[1] == took[2] > took[0]
    assert kafka[1:6] == waits[1:6]
    assert "7 replicated appends" in waits[6]
    assert "5 replicated appends" in kafka[6]


@pytest.mark.thorough
def test_an_abort_that_gives_the_delivery_back_loses_fewer_records() -> None:
    counted, given_back = (int(row[4]) for row in answer(study("B11")).rows)
    assert counted > given_back


def test_a_poison_record_takes_99_with_it_only_where_the_limit_leaves_no_room_to_part_them() -> (
    None
):
    """B11, a batch of 100: what is archived, what of it nothing has failed on, committed, still waiting."""
    beside = study("B11").beside
    assert beside is not None
    rows = [row[2:] for part in beside.each for row in part.rows(content)]
    ends = [("5", "5", "1", "0", "99", "0"), ("2", "2", "100", "99", "0", "0")]
    assert rows[:4] == [*ends, *ends]
    for limit, _, archived, innocent, committed, waiting in rows[4:]:
        assert limit in {"5", "2"}
        # The poison record is free again after every abort, and is delivered before all others.
        assert (archived, innocent, committed, waiting) == ("0", "0", "0", "100")


def test_a_counted_study_has_its_second_table_behind_its_first_one() -> None:
    beside = Parts(("again",), (Part("c", counting_to_two),))
    *_, last = answers(COUNTED.but(beside=beside))
    assert (last.rows, last.times) == ((("two",), ("two",)), (("again",), (("two",),)))
    cut = answer(COUNTED.but(beside=beside), progress=lambda part, *_: part != "b")
    assert (cut.rows, cut.times) == ((("two",),), None)


def test_every_question_from_b1_to_b34_has_an_answer() -> None:
    answered = {s.name for s in STUDIES if s.name[1:].isdigit()}
    assert answered == {f"B{number}" for number in range(1, 35)}
    with pytest.raises(
        UnknownStudy,
        match=r"there is no study 'B35'; the nearest is B\d+, and the studies are B1, ",
    ):
        study("B35")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["B24", "sequences"])
def test_a_campaign_breaks_the_second_rival_and_not_the_first(name: str) -> None:
    first, second = answer(study(name)).rows
    assert first[4] == "0"
    assert int(second[4]) > 0
    assert second[5].startswith("seed ")


@pytest.mark.parametrize("asked", STUDIES, ids=[s.name for s in STUDIES])
def test_a_study_can_be_asked(asked: Study) -> None:
    assert asked.question.endswith("?")
    assert asked.source
    names = {prop.name for prop in (*EVERY_PROPERTY, *ASKED_BY_NAME)}
    assert set(asked.properties) <= names
    for rival in asked.rivals:
        where = rival.scenario or asked.scenario
        searched_scenario(where).model(
            design(rival.design), budget_of(rival.faults or asked.faults)
        )
    ways = [asked.counting is not None, asked.parts is not None, bool(asked.rivals)]
    assert sum(ways) == 1 or (asked.timing is not None and not any(ways))
    assert len({(r.design, r.scenario, r.faults) for r in asked.rivals}) == len(asked.rivals)


def test_a_study_that_is_stopped_keeps_what_was_judged() -> None:
    found = answer(study("B8"), progress=lambda *_: False)
    assert len(found.judged) == 1
    assert "not decided" in found.sentence


def counting_to_two(tell: Tell) -> tuple[tuple[str, ...], ...]:
    for number in (1, 2):
        if not tell(f"{number} counted"):
            raise StoppedEarly
    return (("two",),)


COUNTED = study("B3").but(
    counting=None,
    parts=Parts(("counted",), (Part("a", counting_to_two), Part("b", counting_to_two))),
)


def test_a_counted_study_grows_part_by_part() -> None:
    assert [len(found.rows) for found in answers(COUNTED)] == [0, 1, 2]


def test_a_counted_study_tells_the_part_and_how_many_are_done() -> None:
    told: list[tuple[str, int, int, str]] = []
    answer(COUNTED, progress=lambda *words: not told.append(words))
    assert told[0] == ("a", 0, 2, "begins")
    assert told[-1] == ("b", 1, 2, "2 counted")


def test_a_counted_study_that_is_stopped_keeps_the_whole_parts_alone() -> None:
    found = answer(
        COUNTED, progress=lambda part, _done, _all, words: (part, words) != ("b", "2 counted")
    )
    assert found.rows == (("two",),)


@pytest.mark.parametrize(
    "name", ["B11", "B24", "chaos", "deliveries", "sequences", "threads", "timeouts"]
)
def test_a_long_study_ends_as_soon_as_it_is_told_to(name: str) -> None:
    told: list[str] = []

    def twice(*words: object) -> bool:
        told.append(str(words))
        return len(told) < 2

    assert answer(study(name), progress=twice).rows == ()
    assert len(told) == 2  # it was asked within its first part, and not only between two of them


def test_a_version_that_goes_down_strands_a_prepared_transaction() -> None:
    """B34: the crash alone is outlived, and so are version changes without a prepared transaction."""
    asked = study("B34")
    stays, down = (r for r in asked.rivals if r.faults and not r.faults.endswith("upgrade=2"))
    found = answer(asked.but(rivals=(stays, down)))
    live = [row.cell("no stuck transactions or records") for row in found.judged]
    assert [cell.verdict for cell in live] == ["holds", "breaks"]
    assert "my-txn is ONGOING" in live[1].reason
    words = [str(action) for action in live[1].actions]
    assert any("UpgradeFeature" in w for w in words)
    assert any("CrashClient" in w for w in words)
    assert all(row.cell("stores agree").verdict == "holds" for row in found.judged)


def test_each_answer_to_a_lock_that_ends_early_has_its_own_price() -> None:
    """B8 on the timed clock: a duplicate, a longer lock, healthy work thrown away, or a look-up."""
    found = answer(study("B8").but(rivals=study("B8").rivals[:1]))
    assert found.times is not None
    free, longer, aborted, waits = (row[4:] for row in found.times[1])
    assert "is committed, but the record is available to be delivered again" in free[1]
    assert (longer, waits) == (("commits", "nothing"), ("commits", "nothing"))
    assert aborted == ("is aborted every time", "nothing")


def test_a_study_that_is_stopped_has_no_second_table() -> None:
    assert answer(study("B8"), progress=lambda *_: False).times is None


def test_a_marker_that_misses_the_transactional_acknowledgement_never_frees_the_record_however_far_it_goes() -> (
    None
):
    """B2: the share coordinator gets the marker, and the leader asks it: the transactional acknowledgement's way has a length."""
    found = answer(study("B2").but(rivals=study("B2").rivals[:1]))
    assert found.times is not None
    broadcast, of_the_group, coordinator, tells = found.times[1]
    assert broadcast[1] == of_the_group[1] == "never"
    assert coordinator[1] == str(len(coordinator[2].split(", ")))
    assert "WriteTxnMarkers" in coordinator[2]
    assert coordinator[2].endswith("ReadShareGroupState, ReadShareGroupStateResponse")
    assert tells[2].endswith("TellShareGroupState")
    assert int(tells[1]) == int(coordinator[1]) - 1
    assert "ReadShareGroupState" not in broadcast[2] + of_the_group[2] + tells[2]


def test_an_unknown_study_is_refused_with_those_there_are() -> None:
    with pytest.raises(
        UnknownStudy,
        match=r"there is no study 'B99'; the nearest is B\d+, and the studies are B1, B2",
    ):
        study("B99")
    assert study("b8") is study("B8")


def test_a_rejected_record_is_copied_after_its_commit_and_not_after_an_abort() -> None:
    rows = [[int(cell.replace(",", "")) for cell in row[2:]] for row in answer(study("B30")).rows]
    logged, broken, memory, aborted, output, output_broken = rows
    for _, ends, one, two, _ in (logged, memory, output):
        assert ends == one > 0
        assert two == 0
    # Staged before the copy is sent, and refused: the record is free again, and there is no copy.
    assert output_broken[1:] == [
        52,
        50,
        0,
        0,
    ]  # the other two end aborted, at rest: delivered again
    assert broken[3] > 0  # at least once: a copy whose confirmation was lost is made again
    assert aborted[2:4] == [0, 0]
    assert not any(row[4] for row in rows)


def test_a_group_that_reads_committed_records_waits_for_its_own_transaction() -> None:
    rows = [[int(cell.replace(",", "")) for cell in row[2:]] for row in answer(study("B31")).rows]
    off, off_timed, on, on_timed = rows
    assert off[1] == off[3] > 0  # it is given what it wrote itself, undecided as it is
    assert (
        on[1] > on[2] > 0
    )  # the transaction's time-out runs out while the group waits, and frees it
    assert on[3] == on_timed[3] == 0
    assert off_timed[3] > 0


@pytest.mark.thorough
def test_records_on_two_brokers_are_acknowledged_both_or_not_at_all() -> None:
    rows = [[int(cell.replace(",", "")) for cell in row[1:]] for row in answer(study("B25")).rows]
    for _, ends, both, none, one in rows:
        assert ends == both + none
        assert one == 0
    assert rows[1][3] > 0


@pytest.mark.parametrize("name", chaos.DESIGNS)
def test_what_the_chaos_table_says_of_runs_without_a_crash_is_so(name: str) -> None:
    judged = judge_to_the_end(runs.play(chaos.STORY, name))
    (atomic,) = (each for each in judged if each.property == "atomic")
    assert (atomic.status == BROKEN) is name.startswith("as-written")
    assert "break the same flow without a crash, too" in study("chaos").observable
