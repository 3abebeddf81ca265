"""A permalink opens the same step again, or says what has changed."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import zlib

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kipviz.checking.search.explore import explore
from kipviz.checking.single_run import permalink as links
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.link_head import Head, read_head, write_head
from kipviz.checking.single_run.seeded_run import Task
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.links.bits import letters_of
from kipviz.core.links.link import LENGTH_MAX, BadLink, Leg, SumOfMarks, crc_of_marks
from kipviz.core.links.linkcode import read, write
from kipviz.core.values import fingerprint
from kipviz.designs.catalogue import CATALOGUE
from kipviz.designs.catalogue import design as design_named
from kipviz.scenarios.library import scenario
from kipviz.scenarios.scenario import Unplayable
from kipviz.scenarios.script import ScriptError
from tests.core.links.first_format import first_written
from tests.scenarios.story import under_one_design_each

TWO = "kip-1289-two-members"


def stands_the_same(run, link=""):
    """Open a link of a run, its own if none is given: it is the same run, at the same step."""
    own = links.permalink(run)
    again = links.open_link(link or own)
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
    assert links.permalink(again) == own


@pytest.mark.parametrize("every", [17, pytest.param(5, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("scenario", ["kip-1289-share-commit", "kip-1289-group-abort"])
def test_a_story_under_every_design_opens_again_at_one_step_of_several(scenario, every):
    for at, known in enumerate(CATALOGUE):
        try:
            run = runs.play(scenario, known.name)
        except (Unplayable, ScriptError):
            continue
        # Each design begins elsewhere, so that every step comes under some design.
        for step in range(at % every, len(run.trace.line), every):
            here = run.at(run.trace.jump(run.trace.line[step]))
            stands_the_same(here)


@pytest.mark.parametrize(("scenario", "design"), under_one_design_each())
def test_every_story_opens_again_at_its_end(scenario, design):
    run = runs.play(scenario, design)
    stands_the_same(run)


@st.composite
def draw_wandering(draw):
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
@given(draw_wandering())
def test_a_run_with_branches_opens_again_where_it_was_left(run):
    stands_the_same(run)


def test_a_run_that_a_search_found_opens_again():
    budget = FaultBudget(expire_lock=1)
    story, design = scenario("kip-1289-small"), design_named("finding-D")
    (found,) = explore(story.searched.model(design, budget)).counterexamples
    run = runs.follow_found(story, design, budget, found.actions)
    stands_the_same(run)


def test_the_same_letters_under_two_hash_seeds():
    program = (
        "from kipviz.checking.single_run import permalink, runs; from kipviz.checking.single_run.seeded_run import Task;"
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


def test_long_runs_take_less_than_one_and_a_half_letters_a_step():
    short = runs.replay(Task(TWO, "repaired", "hostile", 1, 50))
    long = runs.replay(Task(TWO, "repaired", "hostile", 1))
    steps = len(long.trace.line) - len(short.trace.line)
    assert steps > 150
    more = len(links.permalink(long)) - len(links.permalink(short))
    # A run to its end has timers at rest, so its budget allows them, and each step is one of some more.
    assert more / steps <= 1.4


# --- what has changed --------------------------------------------------------------------------------


def change_head(run, **changes):
    """The head of the link of a run with something in it changed."""
    return write_head(read_head(read(links.permalink(run)).head).but(**changes))


def change_link(run, **changes):
    """The link of a run with something in it changed and a right checksum again."""
    return write(read(links.permalink(run)).but(**changes))


def test_a_changed_state_is_said_with_the_step_at_which_it_shows():
    run = runs.play("kip-1289-lock-expiry")
    (part,) = read(links.permalink(run)).parts
    taken = list(part.taken)
    taken[20] = taken[20].but(check=taken[20].check ^ 1)
    again = links.open_link(change_link(run, parts=(part.but(taken=tuple(taken)),)))
    (change,) = again.changes
    assert "step 21, " in change
    assert "leads to another state than before" in change
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
        again = links.open_link(change_link(run, parts=(part.but(taken=tuple(taken)),)))
        (change,) = again.changes
        assert f"step 31 is no longer possible ({why}" in change
        assert again.trace.depth == 30


@pytest.mark.parametrize("what", ["start", "witness"])
def test_another_start_or_end_is_never_silent(what):
    run = runs.play("kip-1289-small")
    other = {"start": 255 ^ read(links.permalink(run)).start, "witness": SumOfMarks(5)}[what]
    (change,) = links.open_link(change_link(run, **{what: other})).changes
    assert "the model has changed since this permalink was made" in change


def test_another_version_of_kafka_is_said_first():
    run = runs.play("kip-1289-small")
    changes = links.open_link(change_link(run, head=change_head(run, kafka="3.9.0"))).changes
    assert changes[0].startswith("the permalink was made with a model of Kafka 3.9.0")


def written_head(**changes):
    head = Head("kip-1289-small", "repaired", "own", "4.4.0", "0.1.0")
    return write_head(head.but(**changes))


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ("", "not one of kipviz"),
        ("kip-1289-small.repaired", "not one of kipviz"),
        ("kip-1289-small.repaired.A", "not one of kipviz"),
        (written_head(scenario="<script>"), "there is no scenario"),
        (written_head(design="nobody"), "there is no design"),
        (written_head(budget="moon=1"), "there is no fault 'moon'"),
        (written_head(design="kafka"), "which design kafka does not have"),
    ],
)
def test_a_link_to_something_that_there_is_not_is_refused_in_one_sentence(head, why):
    text = write(read(links.permalink(runs.play("kip-1289-small"))).but(head=head))
    with pytest.raises(BadLink, match=why) as refused:
        links.open_link(text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ("", "not one of kipviz"),
        ("[1]", "not one of kipviz"),
        ("[" * 5_000, "not one of kipviz"),
        ('["<script>","repaired","own","4.4.0","0.1.0"]', "there is no scenario"),
        ('["kip-1289-small","nobody","own","4.4.0","0.1.0"]', "there is no design"),
        (
            '["kip-1289-small","repaired","own","4.4.0","0.1.0",[],null,[],"AAAA"]',
            "cannot be opened: its story is truncated or damaged",
        ),
    ],
)
def test_a_first_link_to_something_that_there_is_not_is_refused_in_one_sentence(head, why):
    with pytest.raises(BadLink, match=why) as refused:
        links.open_link(first_written(head, bytes(8), bytes(8), 0, [Leg(0, ())]))
    assert "\n" not in str(refused.value)


def test_a_story_with_other_big_steps_is_told_in_small_ones():
    run = runs.play("kip-1289-small")
    fewer = change_head(run, ends=tuple(chapter.end for chapter in run.chapters[1:]))
    assert links.open_link(change_link(run, head=fewer)).chapters == ()


def test_a_run_that_is_too_long_is_refused_with_the_way_out():
    steps = ((1, bytes(8)),) * LENGTH_MAX * 2
    with pytest.raises(links.TooLong, match=rf"{LENGTH_MAX:,} .* save the run as a trace file"):
        links.seal_link("[]", bytes(8), 0, [Leg(0, steps)])


def test_a_run_of_a_story_that_no_document_can_say_has_no_link_and_says_so():
    run = runs.play("kip-1289-small")
    mine = run.scenario.but(name="mine")
    own = runs.Run(mine, run.design, run.model, run.trace)
    assert links.open_link(links.permalink(own)).scenario == mine
    unsaid = runs.Run(mine.but(title="two\nlines"), run.design, run.model, run.trace)
    with pytest.raises(ValueError, match="save it as a trace file"):
        links.permalink(unsaid)


def test_the_sum_of_a_link_is_that_of_the_beginnings_of_all_fingerprints():
    run = runs.play("kip-1289-small")
    marks = [fingerprint(run.trace.node(n).world)[:8] for n in run.trace.line]
    assert read(links.permalink(run)).witness == SumOfMarks(crc_of_marks(marks))


# --- links of the first format -----------------------------------------------------------------------


def first_head(run):
    """The head of a run as a list in JSON, as the first format has it."""
    told = msgspec.to_builtins(read_head(links.head_of(run)))
    story = letters_of(zlib.compress(told.pop("story").encode(), 9)) if told["story"] else ""
    return json.dumps([*told.values(), *([story] if story else [])])


def first_permalink(run, **marks):
    """The link of a run with one line, as kipviz wrote it until its second format."""
    trace = run.trace
    nodes = [trace.node(n) for n in trace.line]
    steps = tuple(
        (links.encode_pick(run.model, before.world, node.action), links.mark_of(node.world))
        for before, node in itertools.pairwise(nodes)
    )
    mark = marks.get("mark", links.mark_of(trace.world))
    start = links.mark_of(nodes[0].world)
    return first_written(first_head(run), start, mark, trace.depth, [Leg(0, steps)])


def a_story_of_ones_own():
    run = runs.play("kip-1289-small")
    return runs.Run(run.scenario.but(name="mine"), run.design, run.model, run.trace, run.chapters)


@pytest.mark.parametrize(
    "made",
    [
        lambda: runs.play("kip-1289-lock-expiry"),
        lambda: runs.play("pain-vanished"),
        lambda: runs.replay(Task(TWO, "finding-D", "hostile", 5)),
        lambda: runs.again(runs.play("kip-1289-small"), ("delivery_count_limit=2",)),
        a_story_of_ones_own,
    ],
    ids=["a story", "a pain", "a seeded run", "another setting", "a story of one's own"],
)
def test_a_link_of_the_first_format_opens_the_same_step_as_ever(made):
    run = made()
    for step in range(0, len(run.trace.line), 11):
        here = run.at(run.trace.jump(run.trace.line[step]))
        old = first_permalink(here)
        stands_the_same(here, old)
        assert len(links.permalink(here)) < 0.8 * len(old)


def test_a_link_of_the_first_format_to_another_state_says_so_with_its_step():
    run = runs.play("kip-1289-small")
    run = run.at(run.trace.jump(run.trace.line[9]))
    (change,) = links.open_link(first_permalink(run, mark=b"another!")).changes
    assert change.endswith("the state at step 9 differs")


# --- heads -------------------------------------------------------------------------------------------

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
HEADS = st.builds(
    Head,
    NAMES,
    NAMES,
    st.sampled_from(["own", "hostile", "crash_broker=2 time_out=1"]),
    st.sampled_from(["4.4.0", "4.4.0-rc1", "10.0.12", "04.4.0", ""]),
    st.sampled_from(["0.1.0", "1.0.0.dev1"]),
    st.lists(st.integers(0, 60)).map(lambda ends: tuple(itertools.accumulate(ends))),
    st.none()
    | st.tuples(st.sampled_from(["calm", "hostile"]), st.integers(-5, 10**30), st.integers(0, 999)),
    st.lists(NAMES, max_size=3).map(tuple),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
)


@given(HEADS)
def test_a_head_is_read_as_it_was_written_and_survives_in_an_address(head):
    letters = write_head(head)
    assert re.fullmatch(r"[A-Za-z0-9_+=~-]+\.[A-Za-z0-9_+=~-]+\.[A-Za-z0-9_-]+", letters)
    assert read_head(letters) == head


def test_the_letters_of_a_link_say_which_story_and_design_it_is_about():
    link = links.permalink(runs.play("kip-1289-small", "repaired+lock_expiry=back_to_available"))
    assert link.startswith("kv2.kip-1289-small.repaired+lock_expiry=back_to_available.")
