"""outcomes and ablate: what they print, and what nonsense is told."""

from __future__ import annotations

import pytest

from kipviz.checking.single_run import runs

SMALL = "kip-1289-small"


def test_outcomes_are_counted_and_the_example_of_a_row_can_be_saved(kipviz, tmp_path):
    saved = tmp_path / "ends.trace"
    words = ("outcomes", SMALL, "--design", "finding-I", "--save", str(saved))
    done = kipviz(*words, "--json")
    assert done.status == 0
    (only,) = done.document["outcomes"]
    assert only["records"] == {"src-0@100": "TX_PENDING"}
    assert len(runs.load(saved).trace.line) - 1 == only["steps"]
    seeded = kipviz("outcomes", "kip-1289-two-members", "--design", "repaired", "--seeds", "2")
    assert "2 seeded runs, calm." in seeded.out


def test_an_ablation_says_how_far_it_searched(kipviz):
    words = ("ablate", SMALL, "--rules", "lock_timeout", "--faults", "", "--alone")
    done = kipviz(*words, "--json")
    assert done.status == 0
    base, off = done.document["rows"]
    assert (base["off"], off["off"], off["breaks"]) == ([], ["lock_timeout"], None)
    assert off["held"] == [{"faults": "", "states": 686, "complete": True}]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("outcomes", SMALL, "--design", "no-such"), "there is no design 'no-such'"),
        (("outcomes", SMALL, "--design", "repaired", "--faults", "x=1"), "there is no fault 'x'"),
        (
            ("outcomes", SMALL, "--design", "repaired", "--seeds", "1", "--faults", "odd"),
            "odd",
        ),
        (("ablate", SMALL, "--rules", "gravity"), "there is no rule 'gravity'"),
        (("ablate", "none"), "there is no scenario 'none'"),
        (("ablate", SMALL, "--faults", "expire_lock=-1"), "expire_lock must be a whole number"),
    ],
)
def test_nonsense_is_bad_input(kipviz, words, sentence):
    done = kipviz(*words)
    assert done.status == 2
    assert sentence in done.err


def test_a_campaigns_run_that_breaks_says_which_single_decision_saves_it(kipviz):
    words = ("replay", "--scenario", "kip-1289-two-members", "--design", "finding-D")
    task = ("--faults", "rough", "--seed", "3", "--saves")
    done = kipviz(*words, *task, "--json")
    assert done.status == 1
    savers = [d for d in done.document["decisions"] if d["on_this_course"] == "holds"]
    assert {"lock_expiry"} <= {d["slot"] for d in savers}
    told = kipviz(*words, *task)
    assert "Which single decision saves this run?" in told.out


def test_an_ablation_on_the_command_line_goes_on_with_seeded_runs(kipviz):
    words = ("ablate", SMALL, "--rules", "sequence_check", "--faults", "lose_connection=1")
    more = ("--alone", "--states-max", "150", "--runs", "25", "--profile", "hostile")
    _, off = kipviz(*words, *more, "--json").document["rows"]
    assert off["sampled"]["breaks"] == "atomic"
