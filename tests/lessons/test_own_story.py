"""A reader's own story: a document in a cell or a file, which goes wherever a scenario's name goes."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import kipviz
from kipviz.campaigns.plan import make_plan
from kipviz.checking.single_run import permalink, runs
from kipviz.checking.single_run.link_head import STORY_MAX, Head, read_head, write_head
from kipviz.checking.single_run.permalink import BadLink, open_link
from kipviz.command.main import main
from kipviz.core.links.bits import letters_of
from kipviz.core.traces.tracefile import TraceFileError
from kipviz.lessons.own_story import story
from kipviz.scenarios import library
from kipviz.scenarios.documents.bad_story import BadStory
from kipviz.scenarios.library import LIBRARY, UnknownScenario, document_of, scenario
from kipviz.spark.campaign import run_places
from kipviz.views.exports.pytest_source import pytest_source
from kipviz.widgets.lab import TraceChanged

TEXT = """
---
name: mine
clause: my lecture
designs: [repaired, finding-I]
lanes: [app-1, B5]
profile: small
cluster: share-group
applications:
  app-1:
    like: share-member
    max_records: 1
---

# My story

A member of a share group reads one record.

## The first poll

Broker 5 delivers offset 100.

```steps
app-1 goes on
quiet
app-1 goes on
app-1 goes on
quiet
```

## Checkpoints

- saw a broker crash: `broker crashed`
"""


@pytest.fixture(autouse=True)
def _nothing_stays(monkeypatch):
    monkeypatch.setattr(library, "_brought", {})


def read_refusal(old: str, new: str, times: int = 1) -> str:
    assert old in TEXT
    with pytest.raises(BadStory) as told:
        story(TEXT.replace(old, new, times))
    assert "\n" not in str(told.value)
    return str(told.value)


# -- where it goes -----------------------------------------------------------------------------


def test_it_opens_compares_and_is_searched_and_judged_like_any_other() -> None:
    mine = kipviz.story(TEXT)
    assert mine == "mine"
    assert repr(mine) == "story mine: My story; for repaired, finding-I"
    assert kipviz.open(mine).payload["title"] == "My story"
    assert kipviz.open("mine", "finding-I").payload["design"]["name"] == "finding-I"
    both = kipviz.compare(mine, "repaired", "finding-I")
    assert [both.payload[side]["title"] for side in ("left", "right")] == ["My story"] * 2
    assert kipviz.explore(mine, "repaired", states_max=50).explored.states == 50
    assert "repaired" in repr(kipviz.verdicts(mine, ["repaired"], states_max=50))
    assert kipviz.two_views(mine).tool == "beliefs"


def test_it_is_no_story_of_the_library_and_a_later_one_takes_its_place() -> None:
    story(TEXT)
    assert "mine" not in {each.name for each in LIBRARY}
    story(TEXT.replace("My story", "My other story"))
    assert scenario("mine").title == "My other story"


def test_its_name_is_found_again_in_another_process_only_with_the_story() -> None:
    copy = pickle.loads(pickle.dumps(story(TEXT)))
    assert copy == "mine"
    assert copy.scenario == scenario("mine")


def test_a_campaign_sends_the_story_along_to_its_workers() -> None:
    plan = make_plan(str(story(TEXT)), "repaired", "rough", runs=2)
    sent, here = pickle.dumps(plan), run_places(plan, 0, plan.jobs)
    library._brought.clear()
    with pytest.raises(ValueError, match="there is no scenario 'mine'"):
        make_plan("mine", "repaired")
    assert run_places(pickle.loads(sent), 0, plan.jobs) == here
    assert "error" not in here[0].column("status").to_pylist()


def test_a_file_of_it_is_played_from_the_command_line(tmp_path: Path, capsys) -> None:
    path = tmp_path / "mine.md"
    path.write_text(TEXT.lstrip(), encoding="utf-8")
    assert main(["play", str(path)]) == 0
    assert "My story" in capsys.readouterr().out
    path.write_text(TEXT.lstrip().replace("quiet", "quite", 1), encoding="utf-8")
    assert main(["play", str(path)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"kipviz: {path}:24: 'quite' is not possible here under repaired.")
    assert main(["play", str(tmp_path / "none.md")]) == 2
    assert "none.md cannot be read: No such file or directory" in capsys.readouterr().err


# -- it goes along -------------------------------------------------------------------------------


def test_a_link_carries_it_to_a_process_that_never_saw_it(monkeypatch) -> None:
    run = runs.play(story(TEXT), "finding-I")
    run = run.at(run.trace.last())
    link = permalink.permalink(run)
    monkeypatch.setattr(library, "_brought", {})
    with pytest.raises(UnknownScenario):
        scenario("mine")
    opened = open_link(link)
    assert opened.changes == ()
    assert opened.scenario == run.scenario
    assert opened.trace.world == run.trace.world
    assert permalink.permalink(opened) == link


def test_a_link_and_a_saved_run_of_a_story_that_has_changed_say_what_changed(
    tmp_path: Path,
) -> None:
    run = runs.play(story(TEXT), "finding-I")
    other = runs.again(run, ("delivery_count_limit=2",))
    links = [permalink.permalink(each) for each in (run, other)]
    runs.save(run, tmp_path / "run.trace")
    for link in links:
        assert open_link(link).changes == ()
    title = next(line for line in TEXT.splitlines() if line.startswith("# "))
    changed = TEXT.replace(title, f"{title}, again").replace(
        "## Checkpoints", "## Checkpoints\n\n- saw it: `lso held back`", 1
    )
    story(changed)
    (said,) = open_link(links[0]).changes
    assert said.startswith(
        "the story mine has changed since, and what opens is the story as it was: line "
    )
    assert f"was {title!r} and is now {title + ', again'!r}" in said
    assert open_link(links[0]).scenario == run.scenario
    assert runs.load(tmp_path / "run.trace").changes == (said,)
    with pytest.warns(TraceChanged, match="has changed since"):
        kipviz.open(links[0])
    assert "has changed since" in open_link(links[1]).changes[0]


def test_a_link_of_the_library_says_nothing_of_documents() -> None:
    run = runs.play("kip-1289-small")
    assert read_head(permalink.head_of(run)).story == ""
    assert len(permalink.head_of(run)) < 40
    assert document_of(run.scenario) == ""


def test_a_saved_run_carries_it_with_its_settings(tmp_path: Path, monkeypatch) -> None:
    run = runs.again(runs.play(story(TEXT)), ("delivery_count_limit=2",))
    runs.save(run, tmp_path / "run.trace")
    monkeypatch.setattr(library, "_brought", {})
    loaded = runs.load(tmp_path / "run.trace")
    assert loaded.changes == ()
    assert loaded.scenario == run.scenario
    assert loaded.model.spec.settings.delivery_count_limit == 2


def test_a_test_of_it_runs_where_it_was_never_seen(tmp_path: Path) -> None:
    run = runs.play(story(TEXT))
    run = run.at(run.trace.last())
    path = tmp_path / "test_mine.py"
    path.write_text(pytest_source(run, runs.judge(run)), encoding="utf-8")
    program = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
    done = subprocess.run(program, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_what_was_kept_of_it_is_not_taken_for_a_run_of_another_text(tmp_path: Path) -> None:
    path = tmp_path / "kept.kipviz"
    kipviz.open(story(TEXT), keep=path)
    assert kipviz.open("mine", keep=path).payload["title"] == "My story"
    story(TEXT.replace("one record", "a record"))
    with pytest.raises(ValueError, match="keeps a run of mine as the story was before"):
        kipviz.open("mine", keep=path)
    library._brought.clear()  # as in a kernel that has just begun: the file has the story
    assert kipviz.open("mine", keep=path).payload["title"] == "My story"


def test_a_link_whose_story_is_damaged_too_long_or_false_is_refused() -> None:
    whole = zlib.compress(TEXT.encode())
    for packed, says in (
        (whole[:-8], "truncated"),
        (b"AAA", "truncated or damaged"),
        (zlib.compress(b"x" * (STORY_MAX + 1)), "truncated, or longer than"),
    ):
        first = json.dumps(["mine", "kafka", "own", "", "", [], None, [], letters_of(packed)])
        with pytest.raises(ValueError, match=f"its story is {says}"):
            read_head(first)
    head = Head("mine", "kafka", "own", "4.4.0", "0.1.0", story=TEXT)
    assert read_head(write_head(head)) == head
    with pytest.raises(ValueError, match="longer than 100,000 bytes"):
        read_head(write_head(head.but(story="x" * (STORY_MAX + 1))))
    false = TEXT.lstrip().replace("name: mine", "name: kip-1289-small")
    with pytest.raises(ValueError, match="the library has a story 'kip-1289-small'"):
        library.carried("kip-1289-small", false)
    with pytest.raises(BadStory, match=r"^the story that it carries:1: a story begins with a head"):
        library.carried("mine", "no story")
    assert issubclass(BadLink, ValueError)


def test_a_run_that_no_document_can_say_is_refused_before_its_file_is_written(tmp_path) -> None:
    run = runs.play(story(TEXT))
    odd = runs.Run(run.scenario.but(title="two\nlines"), run.design, run.model, run.trace)
    with pytest.raises(
        TraceFileError, match="the run cannot be saved: the story 'mine' is not a document"
    ):
        runs.save(odd, tmp_path / "odd.trace")
    assert not (tmp_path / "odd.trace").exists()
    assert permalink.head_of(odd) == ""


# -- mistakes ----------------------------------------------------------------------------------


def test_a_step_that_is_not_possible_is_told_with_the_nearest_and_where_processes_stand() -> None:
    told = read_refusal("app-1 goes on\nquiet\napp-1", "app-1 goes on\nquiet\napp1")
    assert told.startswith(
        "the text:25: 'app1 goes on' is not possible here under repaired. "
        "Did you mean 'app-1 goes on'? Possible: app-1 goes on; "
    )
    assert told.endswith("app-1 is at line 0: producer.initTransactions();")


def test_the_nearest_step_may_be_a_word_of_scripts_or_what_happens_before_the_wait_ends() -> None:
    assert "Did you mean 'quiet'?" in read_refusal("\nquiet\n", "\nquite\n")
    told = read_refusal("\nquiet\n", "\nuntil InitProducerIdd arrives at B1\n")
    assert "Did you mean 'InitProducerId arrives at B1'?" in told


def test_a_step_that_waits_in_vain_or_is_more_than_one_says_what_there_is() -> None:
    told = read_refusal("\nquiet\n", "\nuntil EndTxn arrives at B1\n")
    assert "the text:24: 'until EndTxn arrives at B1' is not possible here" in told
    told = read_refusal("\nquiet\n", "\nB* crashes\n")
    listed = "B1 crashes; B3 crashes; B5 crashes; B7 crashes"
    assert f"'B* crashes' matches 4 actions; write one of them: {listed}." in told
    told = read_refusal("\nquiet\n", "\nB1 B9 | B3 are cut apart\n")
    assert (
        "the text:24: The first poll: 'B1 B9 | B3 are cut apart' is not a network partition" in told
    )


def test_a_goal_a_cluster_and_a_design_that_cannot_be_are_told_where_they_stand() -> None:
    told = read_refusal("broker crashed", "broker crash")
    assert told.startswith(
        "the text:32: unknown goal 'broker crash'. Did you mean 'broker crashed'?"
    )
    told = read_refusal("max_records: 1", "max_records: 0")
    assert told == "the text:11: max_records of app-1 must be from 1 to 2147483647, not 0"
    told = read_refusal("[repaired, finding-I]", "[repaired, kafka]")
    assert "the text:6: mine stages share-group acknowledgements" in told
    told = read_refusal("name: mine", "name: kip-1289-small")
    assert told == "the text:2: the library has a story 'kip-1289-small': choose another name"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("max_records: 1", 'group_id: ""', "11: group_id: app-1 has no group.id, which its "),
        (
            "share-group\n",
            "share-group\nbudget:\n  crash_client: -1\n",
            "9: the budget for crash_cl",
        ),
        (
            "share-group\n",
            "share-group\nplacements:\n  src-0: [9]\n  audit-0: [3]\n",
            "9: src-0 is placed on broker 9, but the brokers are 1, 3, 5, 7",
        ),
        (
            "share-group\n",
            "share-group\nbudget:\n  crash_client: 1\n  pause: 2\nclock:\n  kind: timed\n",
            "10: a timed clock has pauses of its own",
        ),
        ("share-group\n", "share-group\nreplication: now\n", "8: replication must be instant or "),
    ],
)
def test_a_value_that_the_clusters_check_rejects_is_told_with_its_own_line_and_key(
    old: str, new: str, told: str
) -> None:
    assert f"the text:{told}" in read_refusal(old, new)


@pytest.mark.parametrize("name", ["Kip 447!", "mine-", "my_story"])
def test_a_name_is_in_lower_case_letters_digits_and_dashes(name: str) -> None:
    allowed = "a name is in lower case letters, digits and dashes, such as my-story"
    assert read_refusal("name: mine", f"name: {name}") == f"the text:2: {allowed}, not {name!r}"


def test_a_control_character_is_told_with_its_line_and_its_number() -> None:
    told = read_refusal("Broker 5 delivers", "Broker 5\0delivers")
    assert told == "the text:20: a story is text without control characters; this line has U+0000"
    told = read_refusal("my lecture", '"my\\u001b lecture"')
    assert told == "the text:3: a text has no control characters; this one has U+001B"


@pytest.mark.parametrize("given", ["", None, 7, "a\0b"])
def test_what_is_neither_a_text_nor_a_path_is_refused(given) -> None:
    with pytest.raises(ValueError, match="a story "):
        story(given)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.md").write_bytes(b"---\nname: \xff\xfe")
    with pytest.raises(BadStory, match=r"x\.md:2: this line is not text in UTF-8"):
        story(tmp_path / "x.md")
    with pytest.raises(ValueError, match="cannot be read: "):
        story(tmp_path)
