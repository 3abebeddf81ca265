"""A notebook's stop button ends a search in order: the page tells what was found, and that it is not all."""

from __future__ import annotations

import signal

import pytest

import kipviz
from kipviz.checking.search.explore import Search
from kipviz.checking.single_run import seeded_run


@pytest.fixture
def stop_button(monkeypatch):
    """Press the button while the so-manieth state is judged."""

    def at(state: int) -> None:
        note = Search.note
        count = 0

        def note_and_interrupt(self, *words):
            nonlocal count
            count += 1
            if count == state:
                signal.raise_signal(signal.SIGINT)
            return note(self, *words)

        monkeypatch.setattr(Search, "note", note_and_interrupt)

    return at


def test_verdicts_keep_the_rows_and_name_the_designs_that_are_left(stop_button):
    stop_button(700)
    found = kipviz.verdicts("kip-1289-small", ["repaired", "finding-I", "as-written"])
    assert [row.explored.complete for row in found.judged] == [True, False]
    assert "The search of finding-I was not complete (cancelled)." in repr(found)
    assert repr(found).endswith("Stopped before as-written.\n")


def test_a_study_keeps_what_it_has_judged(stop_button):
    stop_button(20)
    assert kipviz.study("B8").judged[-1].explored.stopped == "cancelled"


def test_outcomes_say_that_they_are_not_all(stop_button):
    stop_button(20)
    assert "not complete (cancelled)" in repr(kipviz.outcomes("kip-1289-small", "repaired"))


def test_an_ablation_says_that_its_last_row_is_not_searched(stop_button):
    stop_button(700)
    found = kipviz.ablate(rules=("lock_timeout", "epoch_check"), faults=("",), pairs=False)
    assert [row.rules for row in found.rows] == [(), ("lock_timeout",)]
    assert "Stopped: the last row was not searched to its end" in repr(found)
    whole = kipviz.ablate(rules=("lock_timeout",), faults=("",), pairs=False)
    assert "Stopped" not in repr(whole)


def test_decisions_behind_an_interrupt_are_tried_and_not_searched(stop_button):
    found = kipviz.explore("kip-1289-small", "finding-D", "expire_lock=1")
    stop_button(20)
    tried = found.saves().decisions
    assert {d.searched for d in tried if not d.saves} == {"not searched"}
    searched = [d.searched for d in tried if d.saves]
    assert searched[0].startswith("holds so far")
    assert set(searched[1:]) <= {"not searched"}


def test_a_property_that_raises_is_one_sentence_in_every_table(monkeypatch):
    atomic = seeded_run.PROPERTIES[0]
    observe = type(atomic).observe

    def raises(self, ledger, action, outcome):
        if type(action).__name__ == "Send":
            raise KeyError("no such thing")
        return observe(self, ledger, action, outcome)

    monkeypatch.setattr(type(atomic), "observe", raises)
    said = "property 'atomic' raised KeyError: 'no such thing'"
    table = kipviz.verdicts("kip-1289-small", ["repaired"])
    assert said in table.judged[0].where
    assert f"The search of repaired was not complete (after 2 steps {said})." in repr(
        table
    ).replace("\\", "")
    assert said in kipviz.study("B8").judged[0].where
    made = seeded_run.run(seeded_run.Task("kip-1289-small", "repaired", "calm", 0))
    assert (made.status, "KeyError" in made.reason) == ("error", True)
