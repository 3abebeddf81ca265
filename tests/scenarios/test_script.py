"""Scripts: instructions that are followed, and what is said of one that cannot be."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kipviz.cluster.behaviour.catalogue import script_name
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.scenarios import script
from kipviz.scenarios.library import scenario
from kipviz.scenarios.script import Beat, ScriptError, follow, next_by_itself, play

STORY = scenario("kip-1289-share-commit")
MODEL = STORY.model(design("repaired"))


def start() -> Trace:
    return Trace.start(MODEL)


def list_labels(trace: Trace) -> list[str]:
    """The labels of the steps that were taken."""
    path = [trace.node(n) for n in trace.line]
    return [script_name(before.world, node.action) for before, node in pairwise(path)]


def test_a_label_takes_the_one_step_that_it_names() -> None:
    trace = follow(start(), MODEL, "app-1 goes on", "here")
    assert list_labels(trace) == ["app-1 goes on"]


def test_a_label_may_have_stars() -> None:
    trace = follow(follow(start(), MODEL, "app-1 goes on", "here"), MODEL, "*sends Init*", "here")
    assert list_labels(trace)[-1] == "app-1/producer sends InitProducerId"


def test_quiet_goes_on_until_only_a_person_or_an_accident_could() -> None:
    trace = follow(follow(start(), MODEL, "app-1 goes on", "here"), MODEL, "quiet", "here")
    assert list_labels(trace)[1:] == [
        "app-1/producer sends InitProducerId",
        "InitProducerId arrives at B1",
        "InitProducerIdResponse arrives at app-1/producer",
    ]
    assert next_by_itself(MODEL, trace.world) is None
    assert follow(trace, MODEL, "quiet", "here") == trace


def test_quiet_but_holds_back_what_matches() -> None:
    trace = follow(start(), MODEL, "app-1 goes on", "here")
    trace = follow(trace, MODEL, "quiet but *Response arrives at app-1*", "here")
    assert list_labels(trace)[-1] == "InitProducerId arrives at B1"


@pytest.mark.parametrize("form", ["until {}", "quiet but {}", "maybe {}", "{}"])
def test_an_instruction_with_a_name_that_a_message_had_before_is_rejected_and_never_skipped(
    form: str,
) -> None:
    said = "no message is called InitProducerId2Pc any more: it is InitProducerId, whose version"
    with pytest.raises(ScriptError, match=f"^here: '.*' is not possible: {said}"):
        follow(start(), MODEL, form.format("InitProducerId2Pc arrives at B1"), "here")


def test_until_goes_on_to_a_step_and_takes_it() -> None:
    trace = follow(start(), MODEL, "app-1 goes on", "here")
    trace = follow(trace, MODEL, "until InitProducerId arrives at B1", "here")
    assert list_labels(trace)[-1] == "InitProducerId arrives at B1"


def test_maybe_takes_what_is_possible_and_passes_over_what_is_not() -> None:
    trace = start()
    assert follow(trace, MODEL, "maybe EndTxn arrives at B1", "here") is trace
    assert list_labels(follow(trace, MODEL, "maybe app-1 goes on", "here")) == ["app-1 goes on"]


def test_a_beat_becomes_a_chapter_of_its_steps() -> None:
    beats = (
        Beat("one", "The first.", ("app-1 goes on",)),
        Beat("none", "Nothing.", ("maybe B1 starts",)),
        Beat("two", "The second.", ("quiet", "app-1 goes on")),
    )
    trace, chapters = play(start(), MODEL, beats)
    assert [(c.title, c.say, c.first, c.end) for c in chapters] == [
        ("one", "The first.", 0, 1),
        ("none", "Nothing.", 1, 1),
        ("two", "The second.", 1, 5),
    ]
    assert trace.depth == 5


def test_a_story_goes_on_from_where_a_trace_stands() -> None:
    trace, _ = play(start(), MODEL, (Beat("one", "", ("app-1 goes on",)),))
    trace, (chapter,) = play(trace, MODEL, (Beat("two", "", ("quiet",)),))
    assert (chapter.first, chapter.end) == (1, 4)


# -- what cannot be followed -----------------------------------------------------------------------


def test_an_instruction_for_nothing_possible_is_answered_with_what_is() -> None:
    with pytest.raises(ScriptError) as wrong:
        follow(start(), MODEL, "EndTxn arrives at B1", "the commit")
    text = str(wrong.value)
    assert text.startswith(
        "the commit: 'EndTxn arrives at B1' is not possible now; possible: app-1 goes on; "
    )
    possible = text.partition("possible: ")[2].split("; ")
    world = start().world
    assert possible == [script_name(world, action) for action in MODEL.enabled(world)]


def test_an_instruction_for_several_things_is_answered_with_those() -> None:
    with pytest.raises(ScriptError) as wrong:
        follow(start(), MODEL, "B? crashes", "an accident")
    assert str(wrong.value) == (
        "an accident: 'B? crashes' matches 4 actions: B1 crashes; B3 crashes; B5 crashes; B7 crashes"
    )


def test_until_something_that_never_comes_is_answered_with_what_is_possible_then() -> None:
    trace = follow(start(), MODEL, "app-1 goes on", "here")
    with pytest.raises(ScriptError, match=r"^here: 'EndTxn \*' is not possible now; possible: app"):
        follow(trace, MODEL, "until EndTxn *", "here")


def test_maybe_does_not_pick_one_of_several() -> None:
    with pytest.raises(ScriptError, match=r"^here: 'B\? crashes' matches 4 actions: "):
        follow(start(), MODEL, "maybe B? crashes", "here")


def test_a_cluster_that_does_not_come_to_rest_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "QUIET_MAX", 2)
    trace = follow(start(), MODEL, "app-1 goes on", "here")
    with pytest.raises(ScriptError, match="is not quiet within 2 steps"):
        follow(trace, MODEL, "quiet", "here")


def test_quiet_ends_where_the_cluster_only_repeats_itself() -> None:
    """A producer retries InitProducerId at once, while the coordinator's log has too few replicas in sync."""
    story = scenario("kip-1289-group-commit")
    model = story.model(design("kafka"), FaultBudget(crash_broker=1))
    trace = follow(Trace.start(model), model, "app-1 goes on", "here")
    trace = follow(trace, model, "B1 crashes", "here")
    quiet = follow(trace, model, "quiet", "here")
    assert next_by_itself(model, quiet.world) is not None
    keys = [model.search_key(quiet.node(number).world) for number in quiet.line]
    assert len(set(keys)) == len(keys), "nothing is repeated on the way"
    again = quiet
    for _ in range(script.LOOKS_AFTER):
        again = again.take(next_by_itself(model, again.world))
        if model.search_key(again.world) == keys[-1]:
            break
    else:
        pytest.fail("it does not come back")
    assert follow(quiet, model, "quiet", "here") == quiet


def test_a_beat_that_cannot_be_played_is_named() -> None:
    with pytest.raises(ScriptError, match=r"^The end of the world: "):
        play(start(), MODEL, (Beat("The end of the world", "", ("B1 starts",)),))


def test_two_sides_are_cut_apart_and_joined_in_one_step_each() -> None:
    story = scenario("kip-1289-group-commit")
    model = story.model(design("kafka"), FaultBudget(cut=2))
    trace = follow(Trace.start(model), model, "app-1 B5 | B1 B3 are cut apart", "here")
    assert trace.world.cuts == (("B1/B3", "B5/app-1"),)
    trace = follow(trace, model, "B1 B3 | B5 app-1 are joined", "here")
    assert (trace.world.cuts, trace.depth) == ((), 2)
    trace = follow(trace, model, "app-1 | * are cut apart", "here")
    assert trace.world.cuts == (("B1/B3/B4/B5", "app-1"),)
    with pytest.raises(
        ScriptError,
        match=r"^here: 'B1 \| B9 are cut apart' is not a network partition: there is no",
    ):
        follow(trace, model, "B1 | B9 are cut apart", "here")
    with pytest.raises(
        ScriptError, match=r"'B1 \| B3 are joined' is not possible now: B1 and B3 are"
    ):
        follow(trace, model, "B1 | B3 are joined", "here")
