"""Words on the screen can be reworded: stories, links, saved runs and programs name actions by other texts."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

import kipviz
from kipviz.brokers.timers import ROLE_DELAYS, ROLE_TIMERS, InitialRebalanceDelay, MemberSession
from kipviz.checking.judging.verdicts import (
    ASKED_BY_NAME,
    EVERY_PROPERTY,
    UnknownProperty,
    property_named,
)
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.alternative_run import Course
from kipviz.checking.single_run.permalink import open_link, permalink
from kipviz.clients.throwing.client_errors import ClientError, OwnError, RequestError
from kipviz.clients.timers import CLIENT_TIMERS, BatchBackOff
from kipviz.cluster.actions import ClientTimer, ClusterAction, DelayOver, RunOut, Send
from kipviz.cluster.behaviour import action_name
from kipviz.cluster.behaviour.action_name import ON_SCREEN
from kipviz.cluster.behaviour.catalogue import BEHAVIOURS, VERBS, label, name_action, script_name
from kipviz.core.values import TextValue
from kipviz.designs.catalogue import design
from kipviz.driving.cluster import Cluster
from kipviz.lessons.own_story import story
from kipviz.messages.apis.catalogue import APIS
from kipviz.properties.verdict import TITLES, title_of
from kipviz.scenarios.documents.bad_story import BadStory
from kipviz.scenarios.library import LIBRARY, scenario
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.scenarios.script import ScriptError
from kipviz.widgets.lab import stepper_of

EVERY = 9
TIMERS: tuple[type[TextValue], ...] = (*ROLE_TIMERS, *ROLE_DELAYS, *CLIENT_TIMERS)

ERRORS: tuple[type[ClientError], ...] = (RequestError, *OwnError.__subclasses__())


@pytest.fixture
def reworded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Actions, timers, errors, properties and messages have other words on the screen: a number, and parts in reverse order."""
    for number, verb in enumerate(VERBS):
        places = sorted(set(re.findall(r"\{\d\}", verb.in_scripts)), reverse=True)
        words = f"Nr. {number}: {' / '.join(places)}"
        monkeypatch.setitem(action_name.ON_SCREEN, verb.name, words)
    for number, kind in enumerate(TIMERS):
        places = " / %s" * kind.TEXT.count("%s")
        monkeypatch.setattr(kind, "WORDS", f"timer {number}{places}")
    for number, error in enumerate(ERRORS):
        places = " / %s" * error.TEXT.count("%s")
        monkeypatch.setattr(error, "WORDS", f"error {number}{places}")
    for number, behaviour in enumerate(BEHAVIOURS):
        monkeypatch.setattr(
            type(behaviour), "sentence", lambda *_, n=number: f"Action {n} happens."
        )
    for number, prop in enumerate((*EVERY_PROPERTY, *ASKED_BY_NAME)):
        monkeypatch.setitem(TITLES, prop.name, f"property {number}")
        monkeypatch.setattr(type(prop), "sentence", f"Property {number} holds.", raising=False)
    for number, api in enumerate(APIS):
        # A row is frozen; its words are on the screen only.
        monkeypatch.setitem(vars(api), "words", (f"request {number}", f"response {number}"))


def actions(run: runs.Run) -> list[object]:
    return [run.trace.node(n).action for n in run.trace.line]


def test_every_action_has_a_text_in_scripts_and_words_on_the_screen_with_the_same_parts() -> None:
    assert len({verb.name for verb in VERBS}) == len({verb.in_scripts for verb in VERBS})
    assert len({verb.name for verb in VERBS}) == len(VERBS)
    texts = {verb.name: verb.in_scripts for verb in VERBS}
    assert set(ON_SCREEN) <= set(texts)
    for name, words in ON_SCREEN.items():
        found = [sorted(re.findall(r"\{\d\}", each)) for each in (texts[name], words)]
        assert found[0] == found[1], name


@pytest.mark.slow
def test_every_timer_of_a_story_is_a_known_one() -> None:
    seen = set()
    for known in LIBRARY:
        run = runs.play(known.name)
        for action in actions(run):
            name = getattr(action, "timer", getattr(action, "delay", None))
            if name is not None:
                seen.add(type(name))
    assert seen <= set(TIMERS)
    assert len(seen) > 15


@pytest.mark.usefixtures("reworded")
@pytest.mark.parametrize(
    ("action", "words"),
    [
        (ClientTimer("app-1/producer", BatchBackOff(3)), "timer 20 / 3"),
        (RunOut(1, "group_coordinator", "x", MemberSession("M1", "g1")), "timer 0 / M1 / g1"),
        (DelayOver(1, "group_coordinator", "x", InitialRebalanceDelay("g1")), "timer 14 / g1"),
    ],
)
def test_a_timer_is_reworded_wherever_a_reader_sees_it(action: ClusterAction, words: str) -> None:
    model = scenario("kip-1289-small").model(design("repaired"))
    world = model.initial()
    assert words in label(world, action)
    timer = getattr(action, "timer", getattr(action, "delay", None))
    assert isinstance(timer, TextValue)
    assert timer.text in script_name(world, action)


def test_stories_play_and_links_open_as_before_when_all_words_are_others(
    request: pytest.FixtureRequest,
) -> None:
    known = LIBRARY[::EVERY]
    before = [runs.play(each.name) for each in known]
    links = [permalink(run) for run in before]
    words = [runs.labels(run) for run in before]
    request.getfixturevalue("reworded")
    for each, run, link, said in zip(known, before, links, words, strict=True):
        again = runs.play(each.name)
        assert actions(again) == actions(run), each.name
        assert again.chapters == run.chapters
        assert permalink(again) == link
        opened = open_link(link)
        assert opened.changes == ()
        assert actions(opened) == actions(run)
        assert not set(runs.labels(again)) & set(said)


@pytest.mark.usefixtures("reworded")
def test_a_program_and_its_errors_name_steps_as_scripts_do() -> None:
    cluster = Cluster("kip-1289-small")
    assert cluster.possible[0] == "app-1 goes on"
    cluster.take("app-1 goes on").until("InitProducerId arrives at B*")
    for name in cluster.possible:
        assert cluster.at(cluster.steps).take(name).steps == cluster.steps + 1
    with pytest.raises(ScriptError, match=r"is not possible now; possible: .*arrives at app-1"):
        cluster.take("Nr. 0: app-1")


@pytest.mark.usefixtures("reworded")
def test_a_story_of_ones_own_is_told_the_texts_that_it_may_use() -> None:
    text = OWN.replace("app-1 goes on", "app-1 goes in")
    with pytest.raises(BadStory, match=r"Did you mean 'app-1 goes on'\? Possible: app-1 goes on"):
        story(text)


def test_a_saved_run_holds_back_what_it_held_when_all_words_are_others(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    stepper = stepper_of(runs.play("kip-1289-small"))
    sends = [s["title"].endswith("sends EndTxn") for s in stepper.payload["steps"]]
    stepper.step = sends.index(True)
    stepper.skip()
    kipviz.save(stepper, tmp_path / "run.trace")
    request.getfixturevalue("reworded")
    run = runs.load(tmp_path / "run.trace")
    kept = run.lines[1]
    course = Course(run.model, run.trace.jump(kept.tip), kept.held)
    held = [a for a in run.model.enabled(course.world) if course.holds(a)]
    assert held == [Send("app-1/producer")]
    assert course.next_by_itself() not in held


OWN = """
---
name: reworded
clause: a lecture
designs: [repaired]
lanes: [app-1, B5]
profile: small
cluster: share-group
applications:
  app-1:
    like: share-member
---

# A story of one step

A member of a share group reads.

## The first poll

It calls poll().

```steps
app-1 goes on
```
"""


def test_the_words_are_those_of_scripts_where_no_entry_rewords_them() -> None:
    run = runs.play("kip-1289-small")
    reworded = 0
    for before, node in pairwise(run.trace.node(n) for n in run.trace.line):
        same = name_action(before.world, node.action).verb.name not in ON_SCREEN
        assert (label(before.world, node.action) == script_name(before.world, node.action)) is same
        reworded += not same
    assert reworded


def test_every_title_is_of_a_property() -> None:
    assert set(TITLES) <= {prop.name for prop in (*EVERY_PROPERTY, *ASKED_BY_NAME)}


@pytest.mark.usefixtures("reworded")
def test_a_property_is_found_by_its_name_and_shown_by_its_title() -> None:
    for prop in (*EVERY_PROPERTY, *ASKED_BY_NAME):
        assert property_named(prop.name) is prop
        with pytest.raises(UnknownProperty):
            property_named(title_of(prop.name))
    run = runs.play("kip-1289-small")
    assert {judged.property for judged in runs.judge(run)} == {prop.name for prop in PROPERTIES}
    shown = {verdict["property"] for verdict in stepper_of(run).payload["verdicts"]}
    assert shown == {title_of(prop.name) for prop in PROPERTIES}
