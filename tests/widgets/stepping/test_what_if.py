"""Other courses of a line, asked for in Python: the page asks in the same words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kipviz.core.traces.tracefile import TraceFileError
from kipviz.widgets.lab import open_run, open_trace, save
from kipviz.widgets.stepping.stepper import Stepper

GROUP, SHARE = "kip-1289-group-commit", "kip-1289-share-commit"
PREPARED = 33  # PREPARE_COMMIT is durable, both markers and the answer are on the wire


def at(step: int, scenario: str = GROUP) -> Stepper:
    stepper = open_run(scenario)
    stepper.step = step
    return stepper


def titles(stepper: Stepper) -> list[str]:
    return [step["title"] for step in stepper._line.steps]


def newest(stepper: Stepper) -> dict[str, Any]:
    branch: dict[str, Any] = stepper.known_branches[-1]
    return branch


# -- faults at named moments ----------------------------------------------------------------------


def test_a_fault_happens_between_what_is_done_and_what_is_not() -> None:
    stepper = open_run(GROUP)
    words = "transaction coordinator crashes after PREPARE_COMMIT is durable, before the COMMIT marker to output-A-0"
    (text,) = stepper.points(words)
    assert text.startswith("B1 crashes after PREPARE_COMMIT of my-txn is durable, before ")
    stepper.fault_at(words)
    assert titles(stepper)[PREPARED + 1] == "B1 crashes"
    assert stepper.step == PREPARED + 1


def test_a_point_that_there_is_not_and_one_of_several_faults_are_refused() -> None:
    stepper = open_run(GROUP)
    with pytest.raises(ValueError, match=r"no fault on this branch is called 'B9 melts'"):
        stepper.fault_at("B9 melts")
    with pytest.raises(
        ValueError, match=r"no fault on this branch is called 'zzz'; the faults are: B1"
    ):
        stepper.points("zzz")
    with pytest.raises(ValueError, match="matches several faults"):
        stepper.fault_at("crashes after PREPARE_COMMIT")


def test_a_fault_that_cannot_happen_then_is_refused_with_the_reason() -> None:
    stepper = open_run(SHARE)
    with pytest.raises(ValueError, match=r"cannot happen: .*TX_PENDING"):
        stepper.fault_at("lock expires after commitTransaction() returns")


def test_every_fault_is_listed_possible_or_greyed_with_a_reason() -> None:
    stepper = at(0).change("crash_broker=0")
    greyed = {i["text"]: i["why"] for i in stepper._line.choices_at(0) if not i["enabled"]}
    assert greyed["B1 crashes"] == (
        "broker crashes: this run allows 0, and they are used up (setting crash_broker)"
    )


# -- messages held back, late, lost -----------------------------------------------------------------


def test_a_message_that_is_held_back_stays_on_the_wire_and_the_rest_goes_on() -> None:
    stepper = at(PREPARED).hold("B1 to B3")
    branch = newest(stepper)
    assert [name for name, _ in branch["missing"]] == [
        "WriteTxnMarkers arrives at B3",
        "WriteTxnMarkersResponse from B3 arrives at B1/markers",
    ]
    assert branch["missing"][0][1] == "you hold it back"
    assert "WriteTxnMarkers arrives at B4" in titles(stepper)
    assert stepper.last().on_the_wire() == ("m18 marker COMMIT · epoch 1 from B1 to B3",)


def test_what_happens_on_such_a_line_does_not_deliver_it_until_it_is_released() -> None:
    stepper = at(PREPARED).hold("B1 to B3").last()
    stepper.take("app-1/consumer is disconnected from B5")
    assert "m18" in "".join(stepper.last().on_the_wire())
    stepper.release("m18")
    assert "WriteTxnMarkers arrives at B3" in titles(stepper)[stepper.step :]
    with pytest.raises(ValueError, match="means no message in flight"):
        stepper.last().release("m18")


def test_a_late_message_comes_after_the_step_it_waits_for() -> None:
    stepper = at(PREPARED).delay("B1 to B3", after=37)
    told = titles(stepper)
    assert (
        told.index("WriteTxnMarkers arrives at B3")
        == told.index("WriteTxnMarkers arrives at B4") + 1
    )
    assert newest(stepper)["missing"] == []
    stepper.branch, stepper.step = 0, PREPARED
    stepper.delay("B1 to B3")
    assert titles(stepper)[-1] == "WriteTxnMarkersResponse from B3 arrives at B1/markers"


def test_a_lost_message_takes_its_connection_with_it() -> None:
    stepper = at(PREPARED).lose("B1 to B3")
    assert titles(stepper)[PREPARED + 1] == "B1/markers is disconnected from B3"


# -- events skipped and moved ------------------------------------------------------------------------


def test_without_an_event_the_rest_goes_on_and_what_it_needs_is_named() -> None:
    stepper = at(36).skip()
    assert stepper.said == (
        "“WriteTxnMarkers arrives at B3” does not happen; one thing could no longer happen."
    )
    assert titles(stepper)[36] == "WriteTxnMarkers arrives at B4"


def test_an_event_without_which_nothing_goes_on_cannot_be_skipped() -> None:
    with pytest.raises(ValueError, match="without “EndTxn arrives at B1” nothing else can happen"):
        at(PREPARED).skip()
    with pytest.raises(ValueError, match="step 0 is the start"):
        at(0).skip()


def test_events_change_places_or_it_is_said_why_not() -> None:
    stepper = at(36).move(37)
    assert titles(stepper)[36:38] == [
        "WriteTxnMarkers arrives at B4",
        "WriteTxnMarkers arrives at B3",
    ]
    stepper.branch, stepper.step = 0, 37
    stepper.move(36, "before")
    assert stepper.said.endswith("That branch already exists.")
    stepper.branch, stepper.step = 0, 37
    with pytest.raises(ValueError, match=r"cannot come before .*: there is no connection"):
        stepper.move(3, "before")


# -- settings ---------------------------------------------------------------------------------------


def test_a_run_under_another_setting_leaves_where_the_worlds_first_differ() -> None:
    stepper = at(10, SHARE).change("marker_epoch=equal")
    branch = newest(stepper)
    assert (branch["tree"], branch["design"]["name"]) == (1, "repaired+marker_epoch=equal")
    own = titles(open_run(SHARE))
    assert titles(stepper)[: branch["at"] + 1] == own[: branch["at"] + 1]
    assert {v["property"]: v["state"] for v in stepper._line.verdicts_at(stepper._line.last)} != {
        v["property"]: v["state"] for v in open_run(SHARE)._line.verdicts_at(len(own) - 1)
    }


def test_a_choice_on_such_a_line_is_answered_under_its_setting() -> None:
    stepper = at(10, SHARE).change("lock_expiry=back_to_available")
    stepper.fault_at("lock expires after commitTransaction() returns")
    assert newest(stepper)["tree"] == 1
    assert "the lock of src-0@100 expires" in titles(stepper)


def test_a_setting_that_changes_nothing_says_so_and_makes_no_line() -> None:
    stepper = at(PREPARED).change("app-1.max_records=2")
    assert "this run is the same" in stepper.said
    assert stepper.known_branches == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("speed=9", "there is no setting 'speed'; the settings are"),
        ("delivery_count_limit=few", "must be a whole number of at least 1, not 'few'"),
        ("replication=slow", "replication must be instant or stepwise, not 'slow'"),
        ("nothing", "a change must be of the form setting=value, not 'nothing'"),
        ("lock_expiry=x", "lock_expiry"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(change: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=r".") as wrong:
        at(0, SHARE).change(change)
    assert sentence in str(wrong.value)


# -- dice -------------------------------------------------------------------------------------------


def test_the_same_seed_goes_on_in_the_same_way_and_says_how_far() -> None:
    runs = [at(15).run_on(seed=7) for _ in range(2)]
    assert titles(runs[0]) == titles(runs[1])
    assert runs[0].said.startswith("Random choices with seed 7 made ")
    assert titles(at(15).run_on(seed=8)) != titles(runs[0])


def test_a_run_ends_where_what_was_wanted_came_about_or_says_that_it_did_not() -> None:
    stepper = at(15).run_until("PREPARE_COMMIT", kind="state", seed=3).last()
    assert "PREPARE_COMMIT" in stepper._line.steps[-1]["sentence"]
    with pytest.raises(ValueError, match="did not happen before the run ended"):
        at(15).run_until("PREPARE_ABORT")
    # Words of a sentence are searched for as they are, although they have words of the grammar of points.
    with pytest.raises(ValueError, match="“runs it after its restart” did not happen before"):
        at(15).run_until("runs it after its restart")
    with pytest.raises(ValueError, match="a seed and a number of steps are needed, such as 7 and"):
        at(15).ask("run", seed=None, steps=200, faults="calm")  # as a page sends an empty field
    with pytest.raises(ValueError, match="a seed must be a whole number"):
        at(15).run_on(seed="7")  # type: ignore[arg-type]


def test_the_page_is_told_how_far_long_work_is_and_can_stop_it() -> None:
    stepper = at(15)
    stepper.command = {"id": 1, "do": "run", "branch": 0, "step": 15, "seed": 7}
    assert stepper.answer["branch"]["name"] == "continue with seed 7"
    stepper.command = {"id": 2, "do": "stop"}
    work = stepper._ask({"do": "run", "branch": 0, "step": 15, "seed": 9})
    stepper._work_on(3, work)  # type: ignore[arg-type]
    assert stepper.answer == {"id": 3, "error": "Stopped; nothing was changed."}


# -- the tree -----------------------------------------------------------------------------------------


def test_a_branch_is_named_and_pruned_with_all_that_left_it() -> None:
    stepper = at(PREPARED).take("B1 crashes").name("the coordinator dies").take("B1 starts")
    assert [b["name"] for b in stepper.known_branches] == ["the coordinator dies", "B1 starts"]
    stepper.prune(1)
    assert (stepper.known_branches, stepper.branch, stepper.step) == ([], 0, PREPARED)
    assert stepper.tree["gone"] == [1, 2]
    with pytest.raises(ValueError, match="the main branch stays"):
        stepper.prune()
    with pytest.raises(ValueError, match="a name must be 1 to 80 characters"):
        stepper.name("   ")


# -- a file that keeps it ---------------------------------------------------------------------------------


def test_a_reopened_notebook_finds_every_line_its_name_and_the_place(tmp_path: Path) -> None:
    keep = tmp_path / "my-run.kipviz"
    stepper = open_run(SHARE, keep=keep)
    stepper.step = 30
    stepper.take("B5 crashes").name("the leader dies")
    stepper.branch, stepper.step = 0, 25
    stepper.change("lock_expiry=back_to_available").take("B5 crashes").prune()
    stepper.branch, stepper.step = 1, 32
    again = open_run(SHARE, keep=keep)
    assert (again.branch, again.step) == (1, 32)
    assert again.known_branches == stepper.known_branches
    assert titles(again) == titles(stepper)
    again.branch = 2
    again.last().take("B5 crashes")
    assert newest(open_run(SHARE, keep=keep))["tree"] == 1


def test_held_messages_are_kept_too(tmp_path: Path) -> None:
    stepper = at(PREPARED).hold("B1 to B3")
    save(stepper, tmp_path / "held.kipviz")
    again = open_trace(tmp_path / "held.kipviz")
    assert newest(again) == newest(stepper)
    again.last().release("m18")


def test_a_file_of_something_else_or_a_missing_folder_is_refused_and_left_alone(
    tmp_path: Path,
) -> None:
    other, text = tmp_path / "other.kipviz", tmp_path / "notes.txt"
    open_run(GROUP, keep=other)
    text.write_text("dear diary\n")
    before = other.read_bytes()
    with pytest.raises(ValueError, match="keeps a run of kip-1289-group-commit under kafka"):
        open_run(SHARE, keep=other)
    with pytest.raises(TraceFileError, match=r"is (not a|neither a) trace file"):
        open_run(SHARE, keep=text)
    with pytest.raises(TraceFileError, match="cannot write"):
        open_run(SHARE, keep=tmp_path / "nowhere" / "run.kipviz")
    assert (other.read_bytes(), text.read_text()) == (before, "dear diary\n")


def test_a_file_that_somebody_else_changed_is_not_written_over(tmp_path: Path) -> None:
    keep = tmp_path / "run.kipviz"
    stepper = open_run(GROUP, keep=keep)
    keep.write_text("mine\n")
    stepper.step = 5
    assert "was changed by something else" in stepper.notice
    assert keep.read_text() == "mine\n"
    assert stepper.take("B1 crashes").branch == 1


def test_nonsense_from_the_page_is_answered_with_one_sentence() -> None:
    stepper = open_run(GROUP)
    wishes: list[dict[str, Any]] = [
        {"do": "fly"},
        {"do": "take", "choice": ["x"]},
        {"do": "hold", "message": 7},
        {"do": "hold", "message": "m99999"},
        {"do": "delay", "message": "m18", "step": PREPARED, "after": 3},
        {"do": "delay", "message": "m18", "step": PREPARED, "after": "soon"},
        {"do": "move", "step": 5, "to": None},
        {"do": "move", "step": 5, "to": 7, "where": "beside"},
        {"do": "change", "settings": "lock"},
        {"do": "change", "settings": [None]},
        {"do": "run", "seed": 1.5},
        {"do": "run", "steps": 10**9},
        {"do": "run", "faults": "stormy"},
        {"do": "until"},
        {"do": "until", "wanted": "x", "kind": "y"},
        {"do": "rename", "branch": 9, "name": "x"},
        {"do": "rename", "name": None},
        {"do": "prune", "branch": "1"},
        {"do": "skip", "step": True},
        {"do": "skip", "step": 10**6},
        {"do": "skip", "branch": []},
    ]
    for number, wish in enumerate(wishes, 1):
        stepper.command = {"branch": 0, "step": 1, **wish, "id": number}
        assert stepper.answer["id"] == number
        sentence = stepper.answer.get("error", "")
        assert sentence, wish
        assert "model failed" not in sentence, (wish, sentence)
    assert stepper.known_branches == []


def test_no_words_at_all_are_asked_to_say_which_fault():
    with pytest.raises(ValueError, match='name a fault, such as "B1 crashes"'):
        open_run("kip-1289-group-commit").fault_at(" ")


# -- a cut between sets of hosts ---------------------------------------------------------------------


def test_two_sets_of_hosts_are_cut_apart_and_joined_at_the_cursor() -> None:
    stepper = at(PREPARED).cut("B1 app-1", ["B3", "B5"])
    assert titles(stepper)[stepper.step] == "B1 app-1 | B3 B5 are partitioned"
    stepper.take("B1 app-1 | B3 B5 are connected again")
    assert titles(stepper)[stepper.step] == "B1 app-1 | B3 B5 are connected again"
    stepper.take("app-1 | * are cut apart")
    assert titles(stepper)[stepper.step] == "B1 B3 B4 B5 | app-1 are partitioned"


def test_sets_are_cut_apart_at_a_named_moment() -> None:
    words = "B1 | B3 B4 are partitioned after PREPARE_COMMIT"
    (first, *_) = at(0).points(words)
    assert first.startswith("B1 | B3 B4 are partitioned after PREPARE_COMMIT of my-txn is durable")
    stepper = at(0).fault_at(words)
    assert titles(stepper)[PREPARED + 1] == "B1 | B3 B4 are partitioned"


@pytest.mark.parametrize(
    ("one", "other", "sentence"),
    [
        (
            "B1",
            "B9",
            "that is not a network partition: there is no host B9; the hosts are B1, B3, B4, B5, app-1",
        ),
        (
            "",
            "B3",
            "that is not a network partition: a network partition needs at least one host on each side",
        ),
        ("B1 B3", "B3", "B3 is on both sides of the network partition"),
        (
            "B1",
            [3],
            r"a side of a network partition must be the names of its hosts, such as 'B1 B3', not \[3\]",
        ),
    ],
)
def test_sets_that_are_none_are_refused_with_one_sentence(
    one: Any, other: Any, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        at(PREPARED).cut(one, other)


def test_a_cut_that_the_budget_does_not_allow_names_the_setting() -> None:
    stepper = at(0).change("cut=0")
    with pytest.raises(
        ValueError, match=r"not possible here: network partitions: .* \(setting cut\)"
    ):
        stepper.cut("B1")
