"""B21: one time-out or two, in seconds that readers wait and in healthy work that is aborted."""

from __future__ import annotations

from kipviz.studies.library import study
from kipviz.studies.study import answer
from kipviz.studies.timed.one_timeout import FOR_EVER, RIVALS, SITUATIONS, cluster, search_rival

SHORT, LONG, BEATS, NO_LIMIT, BEATS_ALONE = RIVALS
DIES, SLOW, STUCK, CHECKPOINT = SITUATIONS
SCAN = 10_000


def test_readers_of_a_dead_writer_wait_for_the_time_out_and_the_scan_or_for_three_intervals() -> (
    None
):
    waits = {rival.label: search_rival(rival, DIES).waits_ms for rival in RIVALS}
    assert waits[SHORT.label] == SHORT.timeout_ms + SCAN
    assert waits[LONG.label] == LONG.timeout_ms + SCAN
    assert waits[NO_LIMIT.label] == FOR_EVER
    # Its last heartbeat was when it had worked for one interval; three silent ones follow.
    assert waits[BEATS.label] == waits[BEATS_ALONE.label] == 4 * BEATS.heartbeat_ms


def test_a_short_time_out_aborts_work_that_takes_longer_and_a_heartbeat_saves_it() -> None:
    for situation in (SLOW, CHECKPOINT):
        short = search_rival(SHORT, situation)
        assert (short.commits, short.aborts) == (False, True)
        for rival in (LONG, BEATS, NO_LIMIT, BEATS_ALONE):
            found = search_rival(rival, situation)
            assert (found.commits, found.aborts) == (True, False), rival.label
            assert found.waits_ms == situation.work_ms


def test_a_heartbeat_says_nothing_of_a_thread_that_is_stuck() -> None:
    assert (
        search_rival(BEATS, STUCK).waits_ms
        == search_rival(LONG, STUCK).waits_ms
        == LONG.timeout_ms + SCAN
    )
    assert search_rival(BEATS_ALONE, STUCK).waits_ms == STUCK.work_ms


def test_the_rivals_differ_in_their_limits_and_in_nothing_else() -> None:
    specs = {
        cluster(rival, SLOW).but(applications=())
        for rival in RIVALS  # what a producer is configured with is what is asked
    }
    assert len(specs) == 1


def test_the_table_has_a_row_for_each_rival_and_a_column_for_each_situation() -> None:
    found = answer(study("B21"))
    assert [row[0] for row in found.rows] == [rival.label for rival in RIVALS]
    assert found.heads[2:-1] == tuple(each.name for each in SITUATIONS)
    assert found.rows[0][2:5] == (
        "readers wait 70 s",
        "healthy work is aborted; readers wait 70 s",
        "readers wait 70 s",
    )
    assert found.rows[3][2] == "readers wait without end"
