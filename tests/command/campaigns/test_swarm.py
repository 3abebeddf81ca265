"""swarm: what it prints, and what nonsense is told."""

from __future__ import annotations

import re


def test_a_swarm_says_how_far_it_got_and_the_same_twice(kipviz):
    done = kipviz("swarm", "--runs", "5", "--seed", "3")
    assert done.status == 0
    first, second, third = done.out.splitlines()
    assert first.startswith("5 runs, ")
    assert first.endswith(": 0 failed")
    reached, there = re.match(r"kinds of actions: (\d+) of (\d+); never ", second).groups()
    assert 10 < int(reached) < int(there)
    assert int(there) - int(reached) == second.count(",") + 1
    assert third.startswith("answers: ")
    assert kipviz("swarm", "--runs", "5", "--seed", "3").out == done.out


def test_a_broken_property_is_told_with_its_seed_and_ends_with_1(kipviz):
    words = ("--designs", "repaired+staged_acks=memory_only", "--runs", "80", "--json")
    done = kipviz("swarm", *words)
    assert done.status == 1
    assert done.document["failed"][0]["status"] == "breaks"
    assert not done.document["holds"]


def test_an_unknown_design_is_refused_in_one_sentence(kipviz):
    done = kipviz("swarm", "--designs", "no-such")
    assert done.status == 2
    assert "no-such" in done.err
