"""Two designs side by side: which steps belong together, and where they first differ."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.widgets import Compare
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
    left, right = flow.share_payload()["bigs"], flow.repaired_payload()["bigs"]
    for n, big in enumerate(both.payload["bigs"][: len(right)]):
        assert both.payload["pairs"][big["to"] - 1] == [left[n]["to"] - 1, right[n]["to"] - 1]


def test_the_first_difference_is_where_the_lock_expires_on_one_side_only(both):
    found = both.payload["difference"]
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
    assert same.payload["difference"] is None
    assert "no difference" in repr(same)


def test_two_runs_that_only_a_verdict_tells_apart_differ_there():
    other = flow.share_payload()
    other["verdicts"] = [
        {**verdict, "state": "holds"} if verdict["state"] == "broken" else verdict
        for verdict in other["verdicts"]
    ]
    found = Compare(flow.share_payload(), other).payload["difference"]
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
