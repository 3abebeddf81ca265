"""Two designs side by side: which steps belong together, and where they first differ."""

from __future__ import annotations

import copy
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import kipviz
from kipviz.checking.single_run.seeded_run import Task
from kipviz.clients.application import Call
from kipviz.views.exports.svg import plain
from kipviz.widgets import Compare, Stepper
from kipviz.widgets.comparing.alignment import align_lines, differences, marks
from kipviz.widgets.pages.line import Line, line_of
from tests.views.told import find_drawing
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
    pairs, bigs = align_lines(line_of(full, [], 0), line_of(skipped, [], 0))
    assert [big["title"] for big in bigs] == [big["title"] for big in full["bigs"]]
    waits = pairs[bigs[5]["from"] : bigs[5]["to"]]
    assert {right for _, right in waits} == {gone["from"] - 1}
    for n, big in enumerate(skipped["bigs"]):
        left = full["bigs"][n if n < 5 else n + 1]
        assert [left["to"] - 1, big["to"] - 1] in pairs


# -- alignment ---------------------------------------------------------------------------------


def line(*titles: str, bigs: tuple[tuple[int, int, str], ...] = ()) -> Line:
    steps = [{"title": title, "sentence": f"{title}."} for title in ("start", *titles)]
    told = [{"from": begin, "to": end, "title": title} for begin, end, title in bigs]
    return Line("main", steps, told, [], [])


def test_steps_of_one_name_stand_together_and_one_that_is_alone_makes_the_other_side_wait():
    left, right = line("a", "b", "c", "d"), line("a", "x", "y", "b", "d")
    pairs, _ = align_lines(left, right)
    assert pairs == [[0, 0], [1, 1], [1, 2], [1, 3], [2, 4], [3, 4], [4, 5]]
    assert marks(left, right, pairs) == "==>>=<="


def test_where_both_sides_go_another_way_they_go_on_together_as_long_as_both_have_steps():
    left, right = line("a", "b", "e"), line("a", "x", "y", "e")
    pairs, _ = align_lines(left, right)
    assert marks(left, right, pairs) == "==!>="


def test_a_name_that_comes_again_later_does_not_pull_the_common_beginning_apart():
    left = line(*"abcabcabc")
    right = line(*"abc", "z", *"abcabcabc")
    pairs, _ = align_lines(left, right)
    assert pairs[:4] == [[0, 0], [1, 1], [2, 2], [3, 3]]


def test_runs_of_thousands_of_steps_are_held_together_in_pieces():
    left = line(*(f"step {n % 700}" for n in range(5000)))
    right = line(*(f"step {n % 700}" for n in range(1, 5000)))
    pairs, _ = align_lines(left, right)
    assert pairs[-1] == [5000, 4999]
    assert [pair[0] for pair in pairs] == sorted(pair[0] for pair in pairs)


def test_neighbouring_rows_of_one_kind_are_one_difference():
    left, right = line("a", "d", "p"), line("a", "x", "y", "d", "q")
    pairs, _ = align_lines(left, right)
    found = differences(left, right, pairs, marks(left, right, pairs))
    assert [(one["at"], one["to"]) for one in found] == [(2, 4), (5, 6)]
    assert [one["sentence"] for one in found] == ["Only right: x.", "Left: p. Right: q."]


# -- any two runs ------------------------------------------------------------------------------


def crash_client() -> Stepper:
    stepper = kipviz.open("kip-1289-small")
    stepper.step = 12
    name = next(text for text in stepper.possible() if text.endswith("crashes"))
    return stepper.take(name)


def test_two_branches_of_one_stepper_part_where_the_branch_leaves():
    stepper = crash_client()
    both = kipviz.compare(stepper, "main", stepper.branch)
    assert both.payload["names"] == ["main", stepper.branches[0]["name"]]
    assert both.payload["marks"][:13] == "=" * 13
    assert both.payload["differences"][0]["at"] == 13
    by_name = kipviz.compare(stepper, 0, stepper.branches[0]["name"])
    assert by_name.payload["pairs"] == both.payload["pairs"]


def test_another_branch_on_one_side_is_aligned_anew():
    stepper = crash_client()
    both = kipviz.compare(stepper, 0, 0)
    assert both.payload["differences"] == []
    both.lines = [0, stepper.branch]
    assert both.payload["differences"][0]["at"] == 13
    assert both.payload["lines"] == [0, stepper.branch]


def test_seeds_files_counterexamples_and_open_steppers_can_all_be_compared(tmp_path):
    first = Task("kip-1289-small", "finding-D", "rough", 1)
    seeds = kipviz.compare(first, first.but(seed=2))
    assert seeds.payload["names"] == ["seed 1", "seed 2"]
    stepper = crash_client()
    kipviz.save(stepper, tmp_path / "run.trace")
    files = kipviz.compare(tmp_path / "run.trace", stepper)
    assert files.payload["differences"] == []
    example = kipviz.explore("kip-1289-small", "finding-D", "expire_lock=1").open("atomic")
    mixed = kipviz.compare(kipviz.open("kip-1289-small", "finding-D"), example)
    assert mixed.verdicts()[0]["right"].startswith("✗ broken: ")


def test_a_branch_that_there_is_not_is_refused_with_those_that_there_are():
    with pytest.raises(ValueError, match=r"no branch is called 'x'; there are 0 \(main\)"):
        kipviz.compare(kipviz.open("kip-1289-small"), 0, "x")


def test_what_is_no_run_is_refused():
    with pytest.raises(ValueError, match="3 is not a run"):
        kipviz.compare(3, 4)


def test_the_table_of_verdicts_has_a_row_per_property_with_reasons():
    rows = kipviz.compare("kip-1289-lock-expiry", "repaired", "finding-D").verdicts()
    assert rows[0]["property"] == "atomic"
    assert rows[0]["left"] == "✓ holds"
    assert "made it AVAILABLE" in rows[0]["right"]


# -- a producer and a session --------------------------------------------------------------------

# Each use case of KIP-1310 in both designs, and the first difference that is more than a name.
PAIRS = {
    "produce": "",
    "streams": "",
    "source": "",
    "sink": "",
    "share": "Left: The network thread of app-1/producer sends TxnShareAcknowledge. Right: The "
    "network thread of app-1/consumer sends TxnShareAcknowledge.",
    "flink": "Left: Broker 1 receives EndTxn from the producer of app-2. my-txn is PREPARE_COMMIT, producer id 9, "
    "epoch 0. From here it can only commit. Right: Broker 1 receives EndTxn from the session of app-2. my-txn is "
    "PREPARE_COMMIT, producer id 9, epoch 1. From here it can only commit.",
    "two-phase": "Only right: app-1 calls resume().",
}


@pytest.mark.parametrize("case", PAIRS)
def test_a_producer_and_a_session_differ_first_in_more_than_the_name_of_a_call(case: str) -> None:
    both = kipviz.compare(f"kip-1310-{case}-producer", f"kip-1310-{case}-session")
    found = both.payload["differences"]
    assert (found[0]["sentence"] if found else "") == PAIRS[case]
    assert ("no difference except names" in repr(both)) == (not found)


def test_the_other_name_of_a_call_is_a_note_and_no_difference() -> None:
    both = kipviz.compare("kip-1310-share-producer", "kip-1310-share-session")
    assert both.payload["marks"][1] == "~"
    assert both.renamed[0] == {"at": 1, "left": "initTransactions()", "right": "initialize()"}
    names = [(one["left"], one["right"]) for one in both.renamed]
    assert ("sendShareAcknowledgementsToTransaction()", "acknowledgeTransactionally()") in names
    assert ("producer sends EndTxn", "session sends EndTxn") in names


def test_every_call_has_a_role_and_a_producers_call_is_its_own() -> None:
    others = {call.value: call.role.value for call in Call if call.role is not call}
    assert others == {
        "initialize": "initTransactions",
        "resume": "resumeTransaction",
        "addShareAcksToTransaction": "sendShareAcknowledgementsToTransaction",
        "acknowledgeTransactionally": "sendShareAcknowledgementsToTransaction",
    }
    assert all(call.role.role is call.role for call in Call)


def test_a_comparison_has_a_still_picture_of_both_sides_at_the_first_difference():
    shown = kipviz.compare("kip-1289-lock-expiry", "repaired", "finding-D")
    bundle = shown._repr_mimebundle_()
    picture = find_drawing((bundle[0] if isinstance(bundle, tuple) else bundle)["text/html"])
    assert picture.count("<svg") == 3
    assert "repaired" in picture
    assert "finding-D" in picture
    first = shown.payload["differences"][0]["at"]
    left, right = shown.payload["pairs"][first]
    for side, at in (("left", left), ("right", right)):
        assert plain(shown.payload[side]["steps"][at]["sentence"])[:30] in picture
    ET.fromstring(picture)
