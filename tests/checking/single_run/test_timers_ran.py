"""Which timers ran out in a search, and when: what a verdict says of it is what was visited."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kipviz.brokers.timers import ROLE_TIMERS, MemberSession
from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.verdicts import judge, property_named
from kipviz.checking.search import saved_search as kept
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.single_run.timers_ran import (
    AT_REST,
    DUE,
    EARLY,
    RESOLVING,
    TimersRan,
    all_timers_ran,
    timer_of,
    timers_ran,
)
from kipviz.cluster.actions import GiveUp, Refresh, RunOut
from kipviz.command.main import main
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.setting_changes import apply_changes
from tests.core.two_phase_commit import TwoPhaseCommit

LOCK = "acquisition lock (group.share.record.lock.duration.ms)"
TIME_OUT = "transaction time-out (transaction.timeout.ms)"
SMALL = "kip-1289-small"


@pytest.mark.parametrize(
    ("under", "faults", "at_rest", "early"),
    [
        # Its own lock frees the record behind every commit: no accident is needed.
        ("as-written", "", (LOCK,), ()),
        # Everything is resolved before any lock could run out.
        ("repaired", "", (), ()),
        ("repaired", "expire_lock=1", (), (LOCK,)),
        ("repaired", "time_out=1", (LOCK,), (TIME_OUT,)),
    ],
)
def test_a_search_names_the_timers_that_ran_out_and_no_others(
    under: str, faults: str, at_rest: tuple[str, ...], early: tuple[str, ...]
) -> None:
    atomic, bounds = property_named("atomic"), Bounds(states_max=3_100)
    found = judge(SMALL, under, budget_of(faults), bounds, properties=(atomic,)).explored
    assert (found.timers.at_rest, found.timers.early, found.timers.due) == (at_rest, early, ())
    assert RESOLVING not in found.timers.sentence


def test_on_a_timed_clock_a_timer_runs_out_when_it_is_due() -> None:
    story = searched_scenario(SMALL)
    spec, under = apply_changes(story.spec, design("as-written"), ("clock=timed",))
    model = story.but(spec=spec).model(under, budget_of("expire_lock=1"))
    found = Search(model, (property_named("atomic"),)).run(Bounds(states_max=2_000, breaks_max=1))
    assert found.clock.startswith("timed")
    assert (found.timers.early, found.timers.due) == ((), (LOCK,))


def test_a_search_that_goes_on_from_a_file_keeps_what_ran_out_before(tmp_path: Path) -> None:
    model = searched_scenario(SMALL).model(design("finding-D"), budget_of("expire_lock=1"))
    whole = Search(model).run()
    first = Search(model)
    first.run(Bounds(states_max=500))
    assert first.timers.early == (LOCK,)
    kept.save(first, tmp_path / "half")
    again = kept.load(tmp_path / "half", model)
    assert again.timers == first.timers
    assert again.run() == whole


def test_a_model_without_timers_has_none_that_ran() -> None:
    found = Search(TwoPhaseCommit(2), ()).run()
    assert found.timers == TimersRan()
    assert found.timers.sentence == (
        "Timers that expired because nothing else could happen: none. "
        "Timers that expired earlier, at any moment, as often as the faults allow: none."
    )


def test_the_line_under_a_table_is_of_all_its_searches_in_one_order() -> None:
    one = timers_ran({(TIME_OUT, EARLY), (LOCK, AT_REST)})
    other = timers_ran({(LOCK, EARLY), (LOCK, DUE)}, asks_for_ever=True)
    both = all_timers_ran((one, other))
    assert both == all_timers_ran((other, one))
    assert both == TimersRan((LOCK,), (LOCK, TIME_OUT), (LOCK,), True)
    assert both.sentence == (
        f"Timers that expired because nothing else could happen: {LOCK}. "
        f"Timers that expired when they were due: {LOCK}. "
        f"Timers that expired earlier, at any moment, as often as the faults allow: {LOCK}; {TIME_OUT}. "
        f"{RESOLVING}"
    )
    assert both.short == (
        "nothing else possible: acquisition lock; early: acquisition lock, transaction time-out; when due: acquisition lock"
    )


def test_a_timer_has_a_name_and_any_other_step_has_none() -> None:
    assert (
        timer_of(GiveUp("app-1/producer", 1))
        == "a client's wait for a response (request.timeout.ms)"
    )
    assert (
        timer_of(RunOut(1, "group_coordinator", "x", MemberSession("m", "g")))
        == "a member's session"
    )
    assert all(each.NAME for each in ROLE_TIMERS)
    assert timer_of(Refresh(1, ("share_partition_leader", "x"))) == ""


def test_explore_says_on_screen_and_in_json_which_timers_ran(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["explore", SMALL, "--design", "as-written"]
    assert main(asked) == 1
    assert f"because nothing else could happen: {LOCK}." in capsys.readouterr().out.splitlines()[1]
    assert main([*asked, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)["timers"]
    assert (told["at_rest"], told["early"], told["when_due"]) == ([LOCK], [], [])
    assert told["sentence"].endswith(RESOLVING)
