"""`kipviz review --drafts`: the notes on KIP-1289's draft implementation, with the runs that they speak of."""

from __future__ import annotations

import pytest

from kipviz.checking.single_run import runs
from kipviz.kips.kip_1289_drafts import AS_IMPLEMENTED
from kipviz.kips.row import OPEN
from kipviz.studies.draft_implementation import draft_stories

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
    assert all("our inference" in line for line in told)
    due = [line for line in lines if "flink-acks-first" in line and "it is lost" in line]
    assert due
    assert all("the program, not the design" in line for line in due)


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
