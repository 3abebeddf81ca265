"""A permalink opens the same step again, or says what has changed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kipviz.checking import permalink as links
from kipviz.checking import runs
from kipviz.checking.explore import explore
from kipviz.checking.task import Task
from kipviz.cluster.spec import FaultBudget
from kipviz.core.linkcode import LENGTH_MAX, BadLink, read, write
from kipviz.core.values import fingerprint
from kipviz.designs.catalogue import CATALOGUE
from kipviz.designs.catalogue import design as design_named
from kipviz.scenarios.library import LIBRARY
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.scenarios.scenario import Unplayable
from kipviz.scenarios.script import ScriptError

TWO = "kip-1289-two-members"


def stands_the_same(run, again):
    here, there = run.trace, again.trace
    assert again.changes == ()
    assert (again.scenario, again.design.name, again.task) == (
        run.scenario,
        run.design.name,
        run.task,
    )
    assert again.chapters == run.chapters
    assert there.depth == here.depth
    assert there.world == here.world
    assert [there.node(n).action for n in there.line] == [here.node(n).action for n in here.line]
    assert links.permalink(again) == links.permalink(run)


@pytest.mark.parametrize("scenario", ["kip-1289-share-commit", "kip-1289-group-abort"])
def test_a_story_under_every_design_opens_again_at_every_fifth_step(scenario):
    for known in CATALOGUE:
        try:
            run = runs.play(scenario, known.name)
        except (Unplayable, ScriptError):
            continue
        for step in range(0, len(run.trace.line), 5):
            here = run.at(run.trace.jump(run.trace.line[step]))
            stands_the_same(here, links.open_link(links.permalink(here)))


@pytest.mark.parametrize(
    ("scenario", "design"), [(known.name, name) for known in LIBRARY for name in known.designs]
)
def test_every_story_opens_again_at_its_end(scenario, design):
    run = runs.play(scenario, design)
    stands_the_same(run, links.open_link(links.permalink(run)))


@st.composite
def wandered(draw):
    """A seeded run in which somebody went back and elsewhere, several times."""
    faults = draw(st.sampled_from(["calm", "rough", "hostile"]))
    design = draw(
        st.sampled_from(["repaired", "finding-D", "repaired+lock_expiry=back_to_available"])
    )
    run = runs.replay(Task(TWO, design, faults, draw(st.integers(0, 10**12)), 60))
    trace = run.trace
    for _ in range(draw(st.integers(0, 4))):
        trace = trace.jump(draw(st.integers(0, len(trace) - 1)))
        for _ in range(draw(st.integers(1, 5))):
            enabled = run.model.enabled(trace.world)
            if enabled:
                trace = trace.take(enabled[draw(st.integers(0, len(enabled) - 1))])
    return run.at(trace.jump(draw(st.integers(0, len(trace) - 1))))


@settings(deadline=None, max_examples=30)
@given(wandered())
def test_a_run_with_branches_opens_again_where_it_was_left(run):
    stands_the_same(run, links.open_link(links.permalink(run)))


def test_a_run_that_a_search_found_opens_again():
    budget = FaultBudget(expire_lock=1)
    scenario, design = scenario_named("kip-1289-small"), design_named("finding-D")
    model = scenario.model(design, budget)
    (found,) = explore(model).counterexamples
    run = runs.follow(scenario, design, budget, found.actions)
    stands_the_same(run, links.open_link(links.permalink(run)))


def test_the_same_letters_under_two_hash_seeds():
    program = (
        "from kipviz.checking import permalink, runs; from kipviz.checking.task import Task;"
        f"r = runs.replay(Task({TWO!r}, 'finding-D', 'hostile', 5));"
        "print(permalink.permalink(r.at(r.trace.last())))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


def test_long_runs_take_less_than_two_letters_a_step():
    short = runs.replay(Task(TWO, "repaired", "hostile", 1, 50))
    long = runs.replay(Task(TWO, "repaired", "hostile", 1))
    steps = len(long.trace.line) - len(short.trace.line)
    assert steps > 150
    more = len(links.permalink(long)) - len(links.permalink(short))
    # A run to its end has timers at rest, so its budget allows them, and each step is one of some more.
    assert more / steps <= 1.75


# --- what has changed --------------------------------------------------------------------------------


def edited(run, **changes):
    """The link of a run with something in it changed and a right checksum again."""
    return write(read(links.permalink(run)).but(**changes))


def test_a_changed_state_is_said_with_the_step_at_which_it_shows():
    run = runs.play("kip-1289-lock-expiry")
    (part,) = read(links.permalink(run)).parts
    taken = list(part.taken)
    taken[20] = taken[20].but(check=taken[20].check ^ 5)
    again = links.open_link(edited(run, parts=(part.but(taken=tuple(taken)),)))
    (change,) = again.changes
    assert "step 21, " in change
    assert "leads to another state than it did" in change
    assert len(again.trace.line) == len(run.trace.line)  # it was tried all the same


def test_a_step_that_is_not_possible_any_more_is_left_out_with_what_followed():
    run = runs.play("kip-1289-lock-expiry")
    run = run.at(run.trace.last())
    (part,) = read(links.permalink(run)).parts
    for pick, why in (
        (200, "it took choice 201, and there are"),
        ("{}", "there is no such action"),
    ):
        taken = list(part.taken)
        taken[30] = taken[30].but(pick=pick)
        again = links.open_link(edited(run, parts=(part.but(taken=tuple(taken)),)))
        (change,) = again.changes
        assert f"step 31 is not possible any more ({why}" in change
        assert again.trace.depth == 30


@pytest.mark.parametrize("what", ["start", "mark"])
def test_another_start_or_end_is_never_silent(what):
    run = runs.play("kip-1289-small")
    other = {"start": 255 ^ read(links.permalink(run)).start, "mark": b"another!"}[what]
    (change,) = links.open_link(edited(run, **{what: other})).changes
    assert "the model has changed since this permalink was made" in change


def test_another_version_of_kafka_is_said_first():
    run = runs.play("kip-1289-small")
    head = read(links.permalink(run)).head.replace('"4.4.0"', '"3.9.0"')
    changes = links.open_link(edited(run, head=head)).changes
    assert changes[0].startswith("the permalink was made with a model of Kafka 3.9.0")


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ("", "not one of kipviz"),
        ("[1]", "not one of kipviz"),
        ('["<script>","repaired","own","4.4.0","0.1.0"]', "there is no scenario"),
        ('["kip-1289-small","nobody","own","4.4.0","0.1.0"]', "there is no design"),
        ('["kip-1289-small","repaired","moon=1","4.4.0","0.1.0"]', "there is no fault 'moon'"),
        ('["kip-1289-small","kafka","own","4.4.0","0.1.0"]', "which design kafka does not have"),
    ],
)
def test_a_link_to_something_that_there_is_not_is_refused_in_one_sentence(head, why):
    with pytest.raises(BadLink, match=why) as refused:
        links.open_link(edited(runs.play("kip-1289-small"), head=head))
    assert "\n" not in str(refused.value)


def test_a_story_with_other_big_steps_is_told_in_small_ones():
    run = runs.play("kip-1289-small")
    head = read(links.permalink(run)).head
    fewer = head.replace(str(run.chapters[0].end) + ",", "", 1)
    assert fewer != head
    assert links.open_link(edited(run, head=fewer)).chapters == ()


def test_a_run_that_is_too_long_is_refused_with_the_way_out():
    run = runs.play("kip-1289-small")
    taken = read(links.permalink(run)).parts[0].taken * 300
    with pytest.raises(links.TooLong, match=rf"{LENGTH_MAX:,} .* save the run as a trace file"):
        links.sealed("[]", bytes(8), bytes(8), 0, [links.Part(0, taken)])


def test_a_run_of_a_story_that_no_document_can_say_has_no_link_and_says_so():
    run = runs.play("kip-1289-small")
    mine = run.scenario.but(name="mine")
    own = runs.Run(mine, run.design, run.model, run.trace)
    assert links.open_link(links.permalink(own)).scenario == mine
    unsaid = runs.Run(mine.but(title="two\nlines"), run.design, run.model, run.trace)
    with pytest.raises(ValueError, match="save it as a trace file"):
        links.permalink(unsaid)


def test_the_mark_is_the_beginning_of_the_fingerprint():
    run = runs.play("kip-1289-small")
    run = run.at(run.trace.last())
    assert fingerprint(run.trace.world).startswith(read(links.permalink(run)).mark)
