"""Every scenario is complete, and plays under the designs it was written for."""

from __future__ import annotations

import pytest

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.permalink import open_link
from kipviz.cluster.behaviour.catalogue import script_name
from kipviz.designs.catalogue import design
from kipviz.records.placement import CONSUMER_OFFSETS, partition_for
from kipviz.scenarios.documents.read import Document, read_story
from kipviz.scenarios.documents.write import write_story
from kipviz.scenarios.library import (
    FORMER_NAMES,
    LIBRARY,
    UnknownScenario,
    is_scenario,
    register_story,
    scenario,
)
from kipviz.scenarios.scenario import Scenario
from kipviz.scenarios.setting import GROUP
from tests.scenarios.story import nodes, play_once

AS_SCENARIO = pytest.mark.parametrize("story", LIBRARY, ids=lambda story: story.name)
LISTED = [(story, name) for story in LIBRARY for name in story.designs]
# A KIP's flow on one page: what a class can follow from beginning to end.
BIG_STEPS_MAX = 15


@pytest.mark.parametrize(
    ("story", "name"), LISTED, ids=[f"{story.name}-{name}" for story, name in LISTED]
)
def test_a_scenario_plays_to_its_end_under_the_designs_it_lists(story: Scenario, name: str) -> None:
    trace, chapters = play_once(story.name, name)
    assert [chapter.title for chapter in chapters] == [beat.title for beat in story.beats]
    ends = [0, *(chapter.end for chapter in chapters)]
    assert [chapter.first for chapter in chapters] == ends[:-1]
    assert ends[-1] == trace.depth == len(nodes(trace)) - 1
    if story.beats:
        assert trace.depth > 20


@AS_SCENARIO
def test_a_scenario_says_what_it_shows_where_it_is_from_and_what_each_beat_is(
    story: Scenario,
) -> None:
    assert story.title
    assert story.sentence.endswith(".")
    assert story.clause.startswith("KIP-")
    for beat in story.beats:
        assert beat.title
        assert beat.say.endswith(".")
        assert beat.steps


@AS_SCENARIO
def test_a_scenario_has_few_big_steps_and_at_most_four_lanes_at_first(story: Scenario) -> None:
    assert len(story.beats) <= BIG_STEPS_MAX
    hosts = {a.name for a in story.spec.applications} | {f"B{b}" for b in story.spec.brokers}
    assert 1 <= len(story.lanes) <= 4
    assert set(story.lanes) <= hosts


@AS_SCENARIO
def test_a_question_is_asked_of_a_beat_that_there_is_and_has_one_right_answer(
    story: Scenario,
) -> None:
    if story.question is None:
        return
    assert 0 < story.question.beat < len(story.beats)
    assert story.question.text.endswith("?")
    assert [choice.right for choice in story.question.choices].count(True) == 1
    assert all(choice.text and choice.say.endswith(".") for choice in story.question.choices)
    trace, chapters = play_once(story.name, story.designs[0])
    assert 0 < chapters[story.question.beat].end <= trace.depth


def test_the_names_of_scenarios_are_their_own() -> None:
    assert len({story.name for story in LIBRARY}) == len(LIBRARY)
    assert all(scenario(story.name) is story for story in LIBRARY)


def test_an_unknown_scenario_is_answered_with_the_nearest_ones_and_where_all_are() -> None:
    with pytest.raises(UnknownScenario) as wrong:
        scenario("kip-1289-share-comit")
    said = str(wrong.value)
    assert said.startswith(
        "there is no scenario 'kip-1289-share-comit'; nearest are kip-1289-share-commit, "
    )
    assert said.endswith(", and `kipviz list` lists all")
    assert len(said) < 160


def test_the_group_of_the_stories_has_the_partition_that_the_kip_gives_to_another_name() -> None:
    assert GROUP == "my-group-4"
    assert partition_for("my-group-4", 50) == 7
    assert partition_for("my-group", 50) == 12
    trace, _ = play_once("kip-1289-group-commit", "repaired")
    assert [p for p in trace.world.logs if p.startswith(CONSUMER_OFFSETS)] == [
        "__consumer_offsets-7"
    ]


@AS_SCENARIO
def test_a_played_story_is_the_same_story_again(story: Scenario) -> None:
    trace, _ = play_once(story.name, story.designs[0])
    again, _ = story.play(design(story.designs[0]))
    assert [n.action for n in nodes(again)] == [n.action for n in nodes(trace)]
    assert again.world.digest == trace.world.digest


@AS_SCENARIO
def test_no_two_things_that_can_happen_at_once_have_the_same_label(story: Scenario) -> None:
    trace, _ = play_once(story.name, story.designs[0])
    for node in nodes(trace):
        labels = [script_name(node.world, action) for action in trace.model.enabled(node.world)]
        twice = {text for text in labels if labels.count(text) > 1}
        assert not twice, f"a script cannot tell them apart: {twice}"


# Links that were made before the stories were renamed.
LINKS = {
    "kip-1310-late-vote": "kv2.kip-1310-late-vote.kip-1310.yl6iDCBCEDiM.d5IkF5HpLo97wWQAAVUVUAAVPsd5062XFbjC-Eo",
    "kip-939-small-votes-swapped": "kv2.kip-939-small-votes-swapped.kip-939.yl62.Apxa23LhLiQ_8A",
}


@pytest.mark.parametrize(("former", "now"), FORMER_NAMES.items())
def test_a_story_that_was_renamed_opens_by_its_former_name(former: str, now: str) -> None:
    assert scenario(former) is scenario(now)
    assert is_scenario(former)
    assert former not in [story.name for story in LIBRARY]
    run, opened = runs.play(former), open_link(LINKS[former])
    assert (opened.scenario.name, opened.changes) == (now, ())
    assert runs.labels(opened) == runs.labels(run)
    assert opened.trace.last().world == run.trace.last().world
    header = runs.origin_of(run)
    assert header["scenario"] == now
    story, *_ = runs.open_header("a run", header | {"scenario": former})
    assert story == run.scenario


def test_a_story_of_a_reader_does_not_take_the_former_name_of_another() -> None:
    text = write_story(Document(scenario("kip-98-zombie").but(name="kip-1310-late-vote")))
    with pytest.raises(ValueError, match="the library has a story 'kip-1310-late-vote'"):
        register_story(read_story(text))
