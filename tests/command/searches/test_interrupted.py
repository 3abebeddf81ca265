"""The first ^C ends a search in order: what was found so far is told, by every command that searches."""

from __future__ import annotations

import signal

import pytest

from kipviz.command.output import Progress


@pytest.fixture
def interrupting(monkeypatch):
    """Press ^C once, where a progress is told for the so-manieth time."""

    def after(name: str, times: int) -> None:
        told = getattr(Progress, name)
        count = 0

        def tell(self, *words, **named):
            nonlocal count
            count += 1
            if count == times:
                signal.raise_signal(signal.SIGINT)
            return told(self, *words, **named)

        monkeypatch.setattr(Progress, name, tell)

    return after


@pytest.fixture
def in_the_background():
    """Ignore ^C, as a script's `command &` does."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("in_the_background")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("explore", "kip-1289-small", "--design", "repaired"), "states"),
        (
            (
                *(
                    "campaign",
                    "--scenario",
                    "kip-1289-small",
                    "--designs",
                    "repaired",
                    "--faults",
                    "calm",
                ),
                *("--runs", "4", "--way", "loop"),
            ),
            "runs",
        ),
    ],
)
def test_a_command_in_the_background_is_not_ended_by_what_is_meant_for_the_one_in_front(
    words, told, kipviz, interrupting
):
    interrupting(told, 2)
    done = kipviz(*words, "--json")
    assert done.status != 130
    assert "interrupted" not in done.err
    assert done.document.get("stopped", "") == ""
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_an_ablation_gives_the_rows_so_far(kipviz, interrupting):
    interrupting("designs", 4)
    done = kipviz("ablate", "kip-1289-small", "--faults", "", "--alone", "--json")
    assert done.status == 130
    assert done.err.endswith("kipviz: interrupted; showing the results so far\n")
    rows = done.document["rows"]
    assert rows[0]["held"] == [{"faults": "", "states": 686, "complete": True}]
    assert 1 < len(rows) < 8
    assert not rows[-1]["held"][-1]["complete"]


def test_outcomes_of_every_interleaving_say_that_they_are_not_all(kipviz, interrupting):
    interrupting("states", 3)
    found = kipviz("outcomes", "kip-1289-small", "--design", "repaired", "--json").document
    assert "not complete (cancelled)" in found["sentence"]


def test_outcomes_of_seeds_say_that_they_are_not_all(kipviz, interrupting):
    interrupting("runs", 4)
    words = ("outcomes", "kip-1289-two-members", "--design", "repaired", "--seeds", "30", "--json")
    assert kipviz(*words).document["sentence"] == "3 seeded runs, calm, stopped before the others"


def test_a_landscape_gives_the_cells_so_far(kipviz, interrupting):
    interrupting("designs", 3)
    found = kipviz("landscape", "--states-max", "300", "--json")
    assert len(found.document["cells"]) >= 1
    assert found.status in {1, 130}


def test_a_study_gives_the_rivals_so_far(kipviz, interrupting):
    whole = kipviz("study", "B8", "--json").document["rows"]
    interrupting("parts", 2)
    cut = kipviz("study", "B8", "--json").document["rows"]
    assert 1 <= len(cut) <= len(whole)
    assert cut[-1] != whole[len(cut) - 1]


def test_a_counted_study_gives_the_rows_so_far(kipviz, interrupting):
    interrupting("parts", 60)
    done = kipviz("study", "B5", "--json")
    assert done.status == 130
    assert [row[0] for row in done.document["rows"]] == ["the coordinator, over the wire"]


def test_a_ledger_that_is_interrupted_tells_what_was_judged(kipviz, interrupting):
    interrupting("states", 6)
    done = kipviz("ledger", "--json")
    assert done.status == 130
    entries = done.document["claims"]
    assert entries
    assert all(entry["complete"] or entry["verdict"] == "breaks" for entry in entries)
    assert done.document["texts"] == [], "one ^C ends the whole command, not its first part"


def test_findings_that_are_interrupted_are_those_that_were_computed(kipviz, interrupting):
    interrupting("findings", 4)
    done = kipviz("study", "findings", "--kip", "1310", "--json")
    assert done.status == 130
    assert [each["finding"] for each in done.document["findings"]] == ["1310-A", "1310-B", "1310-C"]


@pytest.mark.parametrize(
    ("words", "told"), [(("ledger",), "states"), (("study", "findings"), "findings")]
)
def test_a_page_is_not_written_over_by_half_of_it(words, told, refused, interrupting, tmp_path):
    page = tmp_path / "PAGE.md"
    page.write_text("whole")
    interrupting(told, 2)
    said = refused(*words, "--into", str(page))
    assert "interrupted before everything was judged" in said
    assert page.read_text() == "whole"


def test_who_interrupts_twice_means_it(kipviz, monkeypatch):
    def tell(self, states, depth):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Progress, "states", tell)
    assert kipviz("explore", "kip-1289-small", "--design", "repaired").status == 130


def test_the_call_after_an_interrupted_one_is_not_interrupted(kipviz, interrupting):
    interrupting("states", 2)
    words = ("explore", "kip-1289-small", "--design", "repaired")
    assert [kipviz(*words).status for _ in range(2)] == [130, 0]


def test_an_interruption_while_the_command_is_loaded_is_one_sentence(program):
    code = """
import sys
from importlib.abc import MetaPathFinder

class Interrupting(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "kipviz.command.main":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from kipviz.__main__ import main
sys.exit(main())
"""
    done = program(code=code)
    assert (done.status, done.out, done.err) == (130, "", "kipviz: interrupted\n")


def test_a_class_s_hand_ins_that_are_interrupted_are_those_that_were_judged(
    kipviz, interrupting, tmp_path
):
    for name in ("ann", "bob", "cem"):
        (tmp_path / f"{name}.txt").write_text("nothing is handed in")
    whole = kipviz("course", "read", tmp_path, "--json").document["rows"]
    assert [row["file"] for row in whole] == ["ann.txt", "bob.txt", "cem.txt"]
    interrupting("files", 2)
    cut = kipviz("course", "read", tmp_path, "--json")
    assert cut.status == 130
    assert cut.document["rows"] == whole[:2]
    assert cut.err.endswith("kipviz: interrupted; showing the results so far\n")
