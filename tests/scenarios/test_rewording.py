"""Words on the screen can be reworded: stories, links, saved runs and programs name actions by other texts."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from kipviz.checking import runs
from kipviz.checking.permalink import open_link, permalink
from kipviz.cluster.behaviour import action_name
from kipviz.cluster.behaviour.action_name import IN_SCRIPTS, ON_SCREEN, Verb
from kipviz.cluster.behaviour.catalogue import label, script_name
from kipviz.driving.cluster import Cluster
from kipviz.lessons.own_story import story
from kipviz.scenarios.documents.bad_story import BadStory
from kipviz.scenarios.library import LIBRARY
from kipviz.scenarios.script import ScriptError

EVERY = 9


@pytest.fixture
def reworded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every action has other words on the screen: a number, and its parts in their reverse order."""
    for number, (verb, words) in enumerate(ON_SCREEN.items()):
        places = sorted(set(re.findall(r"\{\d\}", words)), reverse=True)
        monkeypatch.setitem(action_name.ON_SCREEN, verb, f"Nr. {number}: {' / '.join(places)}")


def actions(run: runs.Run) -> list[object]:
    return [run.trace.node(n).action for n in run.trace.line]


def test_every_action_has_a_text_in_scripts_and_words_on_the_screen_with_the_same_parts() -> None:
    assert list(IN_SCRIPTS) == list(ON_SCREEN) == list(Verb)
    for verb in Verb:
        found = [sorted(re.findall(r"\{\d\}", each[verb])) for each in (IN_SCRIPTS, ON_SCREEN)]
        assert found[0] == found[1], verb
    assert len(set(IN_SCRIPTS.values())) == len(Verb)


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


OWN = """
---
name: reworded
clause: a lecture
designs: [repaired]
lanes: [app-1, B5]
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


def test_the_words_are_those_of_scripts_until_somebody_rewords_them() -> None:
    run = runs.play("kip-1289-small")
    for before, node in pairwise(run.trace.node(n) for n in run.trace.line):
        assert label(before.world, node.action) == script_name(before.world, node.action)
