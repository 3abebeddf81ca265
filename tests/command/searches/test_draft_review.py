"""`kipviz review --drafts`: the notes on KIP-1289's draft implementation, with the runs that they speak of."""

from __future__ import annotations

import pytest

from kipviz.checking.single_run import runs
from kipviz.kips.kip_1289_drafts import AS_IMPLEMENTED
from kipviz.kips.row import OPEN
from kipviz.studies.draft_implementation import draft_stories
from kipviz.views.reports import draft_review

FEW = ("kip-1289-draft-late-stage", "kip-1289-flink-acks-first")


@pytest.fixture
def few_stories(monkeypatch):
    every = draft_stories.stories()
    few = tuple(story for story in every if story.name in FEW)
    monkeypatch.setattr(draft_stories, "stories", lambda: few)


def test_the_pack_says_what_holds_what_breaks_and_what_is_not_known(kipviz, tmp_path, few_stories):
    folder = tmp_path / "pack"
    done = kipviz("review", "--drafts", "--quick", "--into", str(folder), "--json")
    assert done.status == 0
    text = (folder / "review.md").read_text()
    for head in ("## What holds", "## What breaks, and how", "## What is not known"):
        assert text.count(head) == 1
    for row in AS_IMPLEMENTED:
        if row.how == OPEN:
            assert row.says in text
    late, first = (
        ("kip-1289-draft-late-stage", "draft-late"),
        ("kip-1289-flink-acks-first", "repaired"),
    )
    broken = {(v["story"], v["design"]) for v in done.document["verdicts"] if v["broken"]}
    assert late in broken
    assert first in broken
    assert ("kip-1289-draft-late-stage", "repaired") not in broken
    assert sorted(done.document["files"]) == sorted(path.name for path in folder.iterdir())
    opened = runs.load(folder / "kip-1289-draft-late-stage--draft-late.trace")
    assert opened.design.name == "draft-late"


def test_what_is_our_inference_is_marked_where_it_stands(kipviz, tmp_path, few_stories):
    folder = tmp_path / "pack"
    kipviz("review", "--drafts", "--quick", "--into", str(folder))
    lines = (folder / "review.md").read_text().splitlines()
    (epoch,) = (line for line in lines if "equal\\_or\\_next | equal |" in line)
    assert "our inference" in epoch
    told = [line for line in lines if "| draft-late |" in line]
    assert told
    assert all("| marker\\_epoch, outcome\\_join |" in line for line in told)
    ours = [line for line in lines if "| repaired |" in line]
    assert ours
    assert all("the design is ours" in line for line in ours)


def test_what_breaks_stands_under_whose_doing_it_is(kipviz, tmp_path, few_stories):
    """An author looks for what is said of the pull request: what we changed, and what a program does, is told apart."""
    folder = tmp_path / "pack"
    kipviz("review", "--drafts", "--quick", "--into", str(folder))
    text = (folder / "review.md").read_text()
    as_it_is, changed, program = (
        text.split(f"### {title}")[1].split("\n#")[0]
        for title in (draft_review.AS_IT_IS, draft_review.CHANGED, draft_review.PROGRAM)
    )
    assert "kip-1289-draft-late-stage" in as_it_is
    assert "flink-acks-first" not in as_it_is + changed
    due = [line for line in program.splitlines() if "flink-acks-first" in line]
    assert len(due) == 2
    assert all("in another, so a crash between the two commits" in line for line in due)
    assert changed.strip() == "Nothing."


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--quick",), "--quick belongs to --drafts"),
        ((), "name a SCENARIO, such as kip-1289-small, or ask for --drafts"),
        (("kip-1289-small", "--drafts"), "leave the SCENARIO out"),
    ],
)
def test_a_review_of_both_or_of_nothing_is_refused(kipviz, tmp_path, words, sentence):
    done = kipviz("review", *words, "--into", str(tmp_path / "pack"))
    assert done.status == 2
    assert sentence in done.err
    assert not (tmp_path / "pack").exists()
