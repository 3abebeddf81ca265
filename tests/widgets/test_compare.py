"""Two designs side by side: which steps belong together, and where they first differ."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kipviz.widgets import Compare
from kipviz.widgets.alignment import in_step
from kipviz.widgets.line import line_of
from tests.widgets import flow


@pytest.fixture(scope="module")
def both() -> Compare:
    return Compare(flow.share_payload(), flow.repaired_payload())


def test_both_sides_reach_every_step_and_never_go_back(both):
    pairs = both.payload["pairs"]
    for side, line in ((0, flow.share_payload()), (1, flow.repaired_payload())):
        walked = [pair[side] for pair in pairs]
        assert sorted(set(walked)) == list(range(len(line["steps"])))
        assert walked == sorted(walked)


def test_a_big_step_of_one_side_ends_together_with_that_of_the_other(both):
    sides = (flow.share_payload()["bigs"], flow.repaired_payload()["bigs"])
    left, right = ({big["title"]: big["to"] - 1 for big in bigs} for bigs in sides)
    shared = [title for title in left if title in right]
    assert len(shared) == 12
    for title in shared:
        assert [left[title], right[title]] in both.payload["pairs"], title
    # Where they part, the lock that expires stands beside the lock that is pinned.
    assert [left["The lock expires"], right["The lock is pinned"]] in both.payload["pairs"]


def test_the_first_difference_is_where_the_lock_expires_on_one_side_only(both):
    found = both.payload["differences"][0]
    left, right = both.payload["pairs"][found["at"]]
    assert both.payload["left"]["steps"][left]["title"] == "lock of 100, 101 expires"
    assert both.payload["right"]["steps"][right]["title"] == "30 seconds pass"
    before = both.payload["pairs"][found["at"] - 1]
    sentences = [
        both.payload[s]["steps"][k]["sentence"]
        for s, k in zip(("left", "right"), before, strict=True)
    ]
    assert sentences[0] == sentences[1]


def test_a_run_does_not_differ_from_itself():
    same = Compare(flow.share_payload(), flow.share_payload())
    assert same.payload["differences"] == []
    assert set(same.payload["marks"]) == {"="}
    assert "no difference" in repr(same)


def test_two_runs_that_only_a_verdict_tells_apart_differ_there():
    other = flow.share_payload()
    other["verdicts"] = [
        {**verdict, "state": "holds"} if verdict["state"] == "broken" else verdict
        for verdict in other["verdicts"]
    ]
    found = Compare(flow.share_payload(), other).payload["differences"][0]
    assert found["sentence"] == "The verdicts differ: once: broken against holds."


def test_the_text_twin_has_both_verdicts_and_is_stable(both):
    both.step = len(both.payload["pairs"]) - 1
    words = repr(both)
    assert "as written: lock expiry: ✓ atomic, ✗ once" in words
    assert "repaired: ✓ atomic, ✓ once" in words
    both.step = 0
    assert repr(both) == repr(Compare(flow.share_payload(), flow.repaired_payload()))


def test_text_tells_both_runs(both):
    rows = both.text()
    assert "design as written: lock expiry (draft)" in rows
    assert "design repaired (our inference)" in rows


def test_each_side_must_be_a_payload():
    broken: dict[str, Any] = {**flow.share_payload(), "steps": []}
    with pytest.raises(ValueError, match="at least one step"):
        Compare(flow.share_payload(), broken)


def test_a_big_step_that_one_design_skips_lets_that_side_wait():
    full = flow.share_payload()
    skipped = copy.deepcopy(full)
    gone = skipped["bigs"].pop(5)
    cut = range(gone["from"], gone["to"])
    skipped["steps"] = [step for k, step in enumerate(skipped["steps"]) if k not in cut]
    for big in skipped["bigs"][5:]:
        big["from"], big["to"] = big["from"] - len(cut), big["to"] - len(cut)
    pairs, bigs = in_step(line_of(full, [], 0), line_of(skipped, [], 0))
    assert [big["title"] for big in bigs] == [big["title"] for big in full["bigs"]]
    waits = pairs[bigs[5]["from"] : bigs[5]["to"]]
    assert {right for _, right in waits} == {gone["from"] - 1}
    for n, big in enumerate(skipped["bigs"]):
        left = full["bigs"][n if n < 5 else n + 1]
        assert [left["to"] - 1, big["to"] - 1] in pairs
