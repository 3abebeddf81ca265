"""What a story's head leaves out of Kafka, and the cluster on which searches run."""

from __future__ import annotations

import pytest

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import explore
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.permalink import open_link, permalink
from kipviz.cluster.specs.abstraction import KAFKA, SMALL, profile_of
from kipviz.cluster.specs.simplifications import CHOSEN
from kipviz.designs.catalogue import design
from kipviz.scenarios import library
from kipviz.scenarios.documents.bad_story import BadStory
from kipviz.scenarios.documents.read import Document, read_story
from kipviz.scenarios.documents.write import write_story
from kipviz.scenarios.library import LIBRARY, carried, document, document_of, scenario
from kipviz.scenarios.setting_changes import SEARCHED, apply_changes, change_story, searched_under

HEAD = """\
---
name: mine
clause: a test
designs: [kafka]
lanes: [app-1, B1]
{head}
cluster: regular-group
{cluster}applications:
  app-1:
    like: group-member
{app}---

# A story

It has no steps.
"""
NAMES = tuple(row.field for row in CHOSEN if not row.configures)
# Its searches are Kafka's, too: the story is about that.
AS_KAFKA_IS = ("kip-447-as-kafka-is", "kip-1310-as-kafka-is")


def text_of(head: str, cluster: str = "", app: str = "") -> str:
    return HEAD.format(head=head, cluster=cluster, app=app)


def story_of(head: str, cluster: str = "", app: str = ""):
    return read_story(text_of(head, cluster, app), "mine.md").scenario


def test_a_head_names_what_its_cluster_leaves_out_and_has_the_rest_as_kafka() -> None:
    spec = story_of("simplified: [protocol, replication]").spec
    (app,) = spec.applications
    assert (spec.replication, app.protocol) == ("instant", "")
    assert (app.auto_offset_reset, app.max_in_flight, spec.look_up_topics) == ("latest", 5, True)
    assert profile_of(spec).left_out == (
        "members are in their groups before the run",
        "followers have a batch as soon as it is appended",
    )


def test_an_application_that_states_its_own_keeps_it_beside_a_simplification_of_the_others() -> (
    None
):
    head = text_of("simplified: [protocol]").replace(
        "    like: group-member\n",
        "    like: group-member\n  app-2:\n    like: group-member\n    protocol: consumer\n",
    )
    first, second = read_story(head).scenario.spec.applications
    assert (first.protocol, second.protocol) == ("", "consumer")


@pytest.mark.parametrize(
    ("head", "cluster", "app", "line", "says"),
    [
        ("simplified: [replicas]", "", "", 6, "unknown simplification 'replicas'"),
        ("simplified: replication", "", "", 6, r"a list such as \[replication, protocol\]"),
        ("simplified: [protocol, protocol]", "", "", 6, "has protocol twice"),
        ("simplified: [max_records]", "", "", 6, "Kafka can be configured so .max.poll.records"),
        ("simplified: [gathers]", "", "", 6, "gathers makes no difference in this cluster"),
        ("profile: small\nsimplified: []", "", "", 7, "profile and simplified contradict"),
        (
            "simplified: [replication]",
            "replication: stepwise\n",
            "",
            6,
            "replication that the head states contradict",
        ),
        (
            "simplified: [protocol]",
            "",
            "    protocol: classic\n",
            6,
            "protocol that the head states contradict",
        ),
    ],
)
def test_a_wrong_list_is_told_with_its_line(head, cluster, app, line, says) -> None:
    with pytest.raises(BadStory, match=rf"mine\.md:{line}: .*{says}"):
        story_of(head, cluster, app)


def test_what_a_head_states_is_kept_in_searches_and_the_rest_is_small() -> None:
    story = story_of("simplified: []", "replication: stepwise\n", "    max_in_flight: 5\n")
    assert story.stated == ("app-1.max_in_flight", "replication")
    searched = story.searched.spec
    assert (searched.replication, searched.applications[0].max_in_flight) == ("stepwise", 5)
    assert (searched.look_up_topics, searched.applications[0].protocol) == (False, "")
    assert apply_changes(story.spec, design("kafka"), [SEARCHED], story.stated)[0] == searched
    assert story.searched.searched == story.searched


def test_what_a_reader_has_set_is_kept_in_a_search_of_the_run() -> None:
    story = scenario("kip-1289-group-commit")
    spec, _ = apply_changes(story.spec, design("kafka"), ["replication=stepwise"])
    searched = searched_under(story.but(spec=spec), ["replication=stepwise"])
    assert searched.spec == story.searched.spec.but(replication="stepwise")


@pytest.mark.parametrize("name", [None, *NAMES])
def test_what_is_written_of_a_story_is_read_as_the_same_story(name: str | None) -> None:
    """Each row alone, in every story that has it."""
    for known in LIBRARY:
        spec = known.spec
        if name is not None:
            left = {row.field for row in CHOSEN} - {name}
            said = left | {f"{app.name}.{field}" for app in spec.applications for field in left}
            spec = SMALL.of_cluster(spec, said | set(known.stated))
        if name is None or spec != known.spec:
            story = known.but(spec=spec)
            assert read_story(write_story(Document(story))).scenario == story, known.name


def test_a_story_whose_stated_value_was_changed_by_a_setting_is_a_document_still(
    monkeypatch,
) -> None:
    monkeypatch.setattr(library, "_brought", {})
    read = read_story(text_of("simplified: []", "replication: stepwise\n"))
    library.register_story(read)
    story, _ = change_story(read.scenario, design("kafka"), ["replication=instant"])
    assert carried("mine", document_of(story)).spec == story.spec


def test_no_story_names_a_profile_but_those_about_kafkas_defaults() -> None:
    """Every head lists what its cluster leaves out."""
    for story in LIBRARY:
        head = write_story(document(story.name)).split("---")[1]
        named = ["\nprofile: kafka-defaults\n" in head, "\nsimplified:" in head]
        assert named == [story.name in AS_KAFKA_IS, story.name not in AS_KAFKA_IS], story.name


def test_searches_drop_nothing_that_a_head_states() -> None:
    for story in LIBRARY:
        small, searched = SMALL.of_cluster(story.spec), story.searched.spec
        for row in (*story.stated,):
            owner, _, field = row.rpartition(".")
            if owner:
                holders = [
                    next(app for app in spec.applications if app.name == owner)
                    for spec in (story.spec, searched, small)
                ]
            else:
                holders = [
                    spec if hasattr(spec, field) else spec.settings
                    for spec in (story.spec, searched, small)
                ]
            mine, kept, fresh = (getattr(holder, field) for holder in holders)
            assert mine == kept != fresh, (story.name, row)
        assert KAFKA.of_cluster(searched) == KAFKA.of_cluster(story.spec), story.name


def found_in(name: str, under: str, faults: str) -> runs.Run:
    """Search a story, and return the first run that breaks a property."""
    story, chosen, budget = scenario(name), design(under), budget_of(faults)
    (example, *_) = explore(story.searched.model(chosen, budget)).counterexamples
    return runs.follow_found(story, chosen, budget, example.actions)


def test_a_run_that_a_search_found_opens_on_the_cluster_where_it_was_found(tmp_path) -> None:
    run = found_in("kip-1289-small", "finding-D", "expire_lock=1")
    assert run.settings == (SEARCHED,)
    assert run.scenario.spec == scenario("kip-1289-small").searched.spec
    last = run.at(run.trace.last())
    runs.save(last, tmp_path / "found.jsonl")
    for again in (open_link(permalink(last)), runs.load(tmp_path / "found.jsonl")):
        assert (again.changes, again.settings) == ((), (SEARCHED,))
        assert again.model.spec == run.model.spec
        assert runs.labels(again) == runs.labels(last)


def test_a_link_and_a_saved_run_of_the_time_before_open_on_the_cluster_of_searches(
    tmp_path,
) -> None:
    """Then a story was stepped there; the states in the link show it."""
    old = runs.play_searched("kip-1289-group-commit")
    told = old.at(old.trace.last())
    then = runs.Run(
        scenario("kip-1289-group-commit"), told.design, told.model, told.trace, told.chapters
    )
    runs.save(then, tmp_path / "then.jsonl")
    loaded = runs.load(tmp_path / "then.jsonl")
    assert (loaded.changes, loaded.settings) == ((), (SEARCHED,))
    assert runs.labels(loaded) == runs.labels(told)


def test_a_document_of_before_the_list_is_one_of_the_profile_small_in_a_link() -> None:
    plain = text_of("order: 1")
    assert carried("mine", plain).spec == story_of("profile: small").spec
    assert carried("mine", text_of("simplified: []")).spec == story_of("simplified: []").spec
