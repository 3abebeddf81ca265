"""repair: what it prints, its status, and what nonsense is told."""

from __future__ import annotations

import shlex

import pytest

SMALL = "kip-1289-small"


def test_the_smallest_repair_is_printed_with_the_runs_that_break_without_it(kipviz):
    done = kipviz("repair", SMALL, "--from", "finding-D", "--faults", "expire_lock=1")
    assert done.status == 0
    assert "lock_expiry, filled as in repaired, repairs finding-D." in done.out
    (link,) = (word.strip("`") for word in done.out.split() if word.startswith("`kv2."))
    assert kipviz(*shlex.split(f"play {link}")).status == 1


def test_a_design_that_nothing_repairs_is_status_1_and_every_attempt_is_in_the_document(kipviz):
    done = kipviz("repair", SMALL, "--faults", "expire_lock=1", "--decisions-max", "1", "--json")
    assert done.status == 1
    told = done.document
    assert told["repairs"] == []
    assert told["whole"] is True
    assert len(told["attempts"]) == 1 + len(told["decisions"])
    assert {each["verdict"] for each in told["attempts"]} == {"breaks"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((SMALL, "--from", "nobody"), "there is no design 'nobody'"),
        ((SMALL, "--to", "nobody"), "there is no design 'nobody'"),
        (("nothing",), "there is no scenario 'nothing'"),
        ((SMALL, "--faults", "expire_lock=-1"), "expire_lock must be a whole number"),
        ((SMALL, "--property", "peace"), "peace"),
        ((SMALL, "--decisions-max", "0"), "it must be a whole number of at least 1, not '0'"),
    ],
)
def test_nonsense_is_one_sentence(refused, words, said):
    assert said in refused("repair", *words)
