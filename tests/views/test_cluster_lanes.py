"""When a page says that a run is on the small cluster of searches: where its story's own cluster is another one."""

from __future__ import annotations

import pytest

from kipviz.checking.single_run import runs
from kipviz.cluster.specs.abstraction import profile_of
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import scenario
from kipviz.scenarios.setting_changes import is_searched
from kipviz.views.cluster_lanes import list_left_out
from kipviz.widgets.pages.payload import read
from kipviz.widgets.stepping.lines import Lab

STORY = "kip-1289-group-commit"


@pytest.mark.parametrize(
    ("settings", "searched"),
    [
        ((), False),
        (("profile=small",), True),
        ((" profile = small ", "crash_broker=1"), True),
        (("profile=small", "profile=kafka-defaults"), False),
        (("profile=kafka-defaults", "profile=small"), True),
        (("replication=small",), False),
    ],
)
def test_a_run_is_on_the_cluster_of_searches_if_its_last_profile_is_that_one(settings, searched):
    assert is_searched(settings) is searched


def test_a_story_as_it_is_stepped_says_nothing_of_a_small_cluster():
    payload = Lab(runs.play(STORY)).payload
    assert "left_out" not in payload["design"]
    assert read(payload).design.left_out == []


def test_a_run_of_the_search_lists_all_that_its_cluster_leaves_out():
    run = runs.play_searched(STORY)
    left_out = read(Lab(run).payload).design.left_out
    assert tuple(left_out) == profile_of(run.model.spec).left_out
    assert set(left_out) > set(profile_of(runs.play(STORY).model.spec).left_out)


def test_a_story_that_leaves_out_as_much_itself_says_nothing():
    story, kafka = scenario("kip-447-as-kafka-is"), design("kafka")
    assert story.searched.spec == story.spec
    assert list_left_out(story.searched, kafka, ("profile=small",)) == ()


def test_a_story_that_no_name_finds_is_compared_with_nothing():
    story, kafka = scenario(STORY), design("kafka")
    brought = story.searched.but(name="brought-by-a-link")
    found = list_left_out(brought, kafka, ("profile=small",))
    assert found == profile_of(brought.spec).left_out != ()


def test_a_branch_under_another_profile_says_which_cluster_it_is_on():
    lab = Lab(runs.play(STORY))
    asked = {"do": "change", "branch": 0, "step": 0}
    small = lab.respond({**asked, "settings": ["profile=small"]})["branch"]
    assert "one batch of a partition in flight" in small["design"]["left_out"]
    back = {
        "do": "change",
        "branch": small["id"],
        "step": 0,
        "settings": ["profile=kafka-defaults"],
    }
    assert "left_out" not in lab.respond(back)["branch"]["design"]
