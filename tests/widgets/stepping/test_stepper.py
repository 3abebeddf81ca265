"""The stepper as values: what Python sends, what it answers, what it says in words."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from kipviz.widgets import Stepper
from kipviz.widgets.pages.payload import fingerprint, read
from tests.widgets import flow


@pytest.fixture(scope="module")
def payload() -> dict[str, Any]:
    return flow.share_payload()


@pytest.fixture
def stepper(payload) -> Stepper:
    return Stepper(payload, flow.Responder(flow.share_flow()))


def step_named(payload: dict[str, Any], title: str) -> int:
    return next(k for k, step in enumerate(payload["steps"]) if step["title"] == title)


def test_everything_a_page_needs_is_in_the_synced_state(stepper):
    state = stepper.get_state()
    assert state["payload"] == stepper.payload
    needed = {
        "branches",
        "step",
        "branch",
        "selection",
        "answers",
        "all_lanes",
        "command",
        "answer",
    }
    assert needed <= set(state)
    assert json.loads(json.dumps(state["payload"])) == state["payload"]


def test_a_command_is_answered_with_a_branch_that_carries_only_what_differs(stepper):
    stepper.command = {"id": 7, "do": "take", "choice": "crash-src", "branch": 0, "step": 40}
    branch = stepper.answer["branch"]
    assert stepper.answer["id"] == 7
    assert (branch["at"], branch["parent"]) == (40, 0)
    assert len(branch["steps"]) < 20
    assert all(row["from"] > 40 for row in branch["rows"])
    assert stepper.branches == [branch]


def test_a_branch_is_sent_once_and_old_branches_are_not_sent_again(stepper, monkeypatch):
    sent = []
    monkeypatch.setattr(stepper, "send_state", lambda key=None: sent.append(key))
    for number, choice in enumerate(("crash-src", "crash-src"), 1):
        stepper.command = {
            "id": number,
            "do": "take",
            "choice": choice,
            "branch": 0,
            "step": 39 + number,
        }
    assert len(stepper.branches) == 2
    assert sent.count("answer") == 2
    assert "branches" not in sent


def test_a_refusal_of_the_model_is_answered_with_its_sentence(stepper):
    stepper.command = {"id": 1, "do": "take", "choice": "move-out", "branch": 0, "step": 40}
    assert stepper.answer == {
        "id": 1,
        "error": "The leader of output-A-0 cannot move: Broker 4 is not in sync.",
    }
    assert stepper.branches == []


def test_a_mistake_in_the_model_is_told_to_the_page_and_still_raised(stepper):
    with pytest.raises(RuntimeError, match="the model is wrong"):
        stepper.command = {"id": 1, "do": "take", "choice": "boom", "branch": 0, "step": 40}
    assert stepper.answer["error"].startswith("The model failed: RuntimeError: the model is wrong.")


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ({"do": "jump"}, "There is no command 'jump'; allowed is 'take'."),
        ({"branch": 5}, "There is no branch 5; there are 0."),
        ({"step": 999}, "There is no step 999 on this line: it has 0 to 104."),
        ({"step": None}, "There is no step None on this line: it has 0 to 104."),
    ],
)
def test_a_command_that_makes_no_sense_is_refused_in_one_sentence(stepper, command, sentence):
    whole = {"id": 3, "do": "take", "choice": "crash-src", "branch": 0, "step": 40}
    stepper.command = {**whole, **command}
    assert stepper.answer == {"id": 3, "error": sentence}


def test_a_recorded_run_has_no_model_to_ask(payload):
    recorded = Stepper(payload)
    recorded.command = {"id": 1, "do": "take", "choice": "crash-src", "branch": 0, "step": 40}
    assert "no model behind it" in recorded.answer["error"]


def test_a_branch_with_a_wrong_part_is_not_shown(payload):
    branch = {"id": 1, "name": "x", "parent": 0, "at": 3, "steps": []}
    stepper = Stepper(payload, lambda _: {"branch": branch})
    stepper.command = {"id": 1, "do": "take", "choice": "x", "branch": 0, "step": 3}
    assert stepper.answer["error"] == "Branch 1 has no step of its own."


def test_python_can_take_a_choice_and_follow_it(stepper):
    stepper.step = 40
    stepper.take("crash-src")
    assert (stepper.branch, stepper.step) == (1, 41)
    assert "branch “Crash Broker 5”" in repr(stepper)
    stepper.branch, stepper.step = 0, 40
    stepper.take("take-40")
    assert (stepper.branch, stepper.step) == (0, 41)


def test_a_choice_that_is_not_possible_says_why(stepper):
    stepper.step = 20
    with pytest.raises(ValueError, match="one fault is allowed in this scenario"):
        stepper.take("move-tc")
    with pytest.raises(
        ValueError,
        match="there is no choice 'nothing' at step 20; there are: heartbeat is due; Crash Broker 5",
    ):
        stepper.take("nothing")


def test_a_branch_of_a_branch_is_made_from_the_right_line(stepper):
    stepper.step = 40
    stepper.take("crash-src")
    stepper.step += 2
    at = stepper.step
    stepper.take("crash-src")
    assert stepper.branches[1]["parent"] == 1
    assert stepper.branches[1]["at"] == at
    assert stepper.step == at + 1


def test_the_text_twin_says_where_what_verdicts_and_a_fingerprint(stepper, payload):
    stepper.step = step_named(payload, "two outputs of one record")
    where, sentence, verdicts, mark = repr(stepper).split(" | ")
    assert where == f"step 13 of 14, message {stepper.step} of 104"
    assert sentence == "The second consumer fetches 100 and 101 and works on them once more."
    assert verdicts == "✓ atomic, … nothing stuck, ✗ once"
    assert re.fullmatch("[0-9a-f]{16}", mark)


def test_the_text_twin_is_the_same_for_the_same_trace_and_has_no_address(payload):
    assert repr(Stepper(payload)) == repr(Stepper(flow.share_payload()))
    assert "0x" not in repr(Stepper(payload))


def test_the_fingerprint_changes_with_anything_in_the_payload(payload):
    other = flow.share_payload()
    other["rows"][-1]["cells"] = {**other["rows"][-1]["cells"], "at": 999}
    assert fingerprint(other) != fingerprint(payload)


def test_where_no_widget_can_be_drawn_the_flow_is_told_in_words(stepper):
    bundle = stepper._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in data
    lines = data["text/plain"].splitlines()
    assert max(map(len, lines)) <= 100, (
        "a notebook that was not run breaks longer lines inside words"
    )
    told = re.sub(r"\n {5}(?=\S)", " ", data["text/plain"]).splitlines()
    assert told[0] == repr(stepper)
    assert len(told) == 15
    assert told[9].strip().startswith("9. The decision is durable: Broker 1 writes PREPARE_COMMIT.")


def test_text_is_a_table_of_all_steps_with_the_cursor_and_the_turns_of_the_verdicts(
    stepper, payload
):
    stepper.step = 30
    rows = stepper.text().splitlines()
    assert sum(row.startswith("  >") for row in rows) == 1
    assert next(row for row in rows if row.startswith("  >")).split()[1] == "30"
    assert sum(bool(re.match(r"  [ >] *\d+  ", row)) for row in rows) == len(payload["steps"])
    assert any(
        "[✗ once: src-0 offset 100 has two committed outputs: 42 and 45]" in row for row in rows
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": 2}, "this is not a payload of format 1"),
        ({"steps": []}, "a payload needs at least one step"),
        ({"lanes": flow.LANES[:1] * 2}, "two lanes are called 'app'"),
        ({"lanes": flow.LANES[:2]}, "there is no lane"),
        ({"lanes": [{**lane, "first": True} for lane in flow.LANES]}, "four lanes at most, and 6"),
        ({"cards": flow.CARDS[:2]}, "there is no card"),
        ({"design": {"name": "x", "status": "guess"}}, "Invalid enum value 'guess'"),
    ],
)
def test_a_payload_that_does_not_fit_together_is_refused_in_one_sentence(payload, change, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)) as refused:
        Stepper({**payload, **change})
    assert "\n" not in str(refused.value)


def test_a_row_or_message_beyond_the_last_step_is_refused(payload):
    late = {**payload["messages"][0], "arrived": 5000}
    with pytest.raises(ValueError, match="there is no step 5000"):
        read({**payload, "messages": [late]})


def test_the_fixture_is_the_size_of_a_real_flow(payload):
    assert len(payload["bigs"]) == 14
    assert len(payload["steps"]) > 100
    assert {card["kind"] for card in payload["cards"]} == {"records", "log", "facts", "application"}
    taken = [sum(item["taken"] for item in choice["items"]) for choice in payload["choices"]]
    assert taken == [1] * (len(payload["steps"]) - 1)


def test_what_is_possible_is_said_in_words_and_taken_by_them(stepper):
    stepper.step = 20
    assert stepper.possible() == (
        "heartbeat is due",
        "Crash Broker 5",
        "Move the leader of output-A-0",
    )
    stepper.take("Crash Broker 5")
    assert stepper.branch == 1
    assert stepper.step == 21


def test_the_cursor_goes_to_the_first_step_with_a_title(payload, stepper):
    assert stepper.go_to("PREPARE_COMMIT").step == step_named(payload, "PREPARE_COMMIT")
    with pytest.raises(
        ValueError, match="no step on this branch is called 'nowhere'; the steps are: "
    ):
        stepper.go_to("nowhere")
