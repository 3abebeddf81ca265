"""What the page says is looked at: what cannot be read changes nothing, and a sentence on the page tells it."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.widgets import Compare
from kipviz.widgets.lab import open_run
from tests.widgets import flow


@pytest.fixture
def stepper():
    stepper = open_run("pain-vanished")
    stepper.step = 5
    return stepper.run_on(seed=1, steps=3)


def hear(widget: Any, method: str, **data: Any) -> None:
    """Give a widget a message as Jupyter does."""
    widget._handle_msg({"content": {"data": {"method": method, **data}}, "buffers": []})


WRONG = [
    ("step", "seven", "Expected `int`, got `str`"),
    ("step", True, "Expected `int`, got `bool`"),
    ("step", 2**40, "a place is a number up to 2,147,483,647"),
    ("branch", None, "Expected `int`, got `null`"),
    ("selection", {"kind": "message"}, "it has no text for 'id'"),
    ("selection", {"kind": "value", "card": "a", "row": 7}, "it has no text for 'row'"),
    ("selection", {"id": "m1"}, "it has no text for 'kind'"),
    ("answers", {"q": "the first"}, "Expected `int`, got `str` - at `$[...]`"),
    ("revealed", [[]], "Expected `str`, got `array` - at `$[0]`"),
    ("reached", "all", "Expected `array`, got `str`"),
    ("all_lanes", 1, "Expected `bool`, got `int`"),
    ("presenter", "yes", "Expected `bool`, got `str`"),
    ("views", {"rows": [["a"]]}, "Expected `array` of length 2, got 1 - at `$.rows[0]`"),
    ("views", {"pinned": {}}, "Expected `array`, got `object` - at `$.pinned`"),
    ("tool", [], "Expected `str`, got `array`"),
    ("command", [], "Expected `object`, got `array`"),
    ("command", {"id": 1, "do": {}}, "what it asks for must be a text, such as 'take'"),
]


@pytest.mark.parametrize(("name", "value", "why"), WRONG)
def test_a_value_that_cannot_be_read_changes_nothing_and_is_told_in_one_sentence(
    stepper, name, value, why
):
    before = {n: getattr(stepper, n) for n in stepper.keys if not n.startswith("_")}
    hear(stepper, "update", state={name: value, "all_lanes": True} | {name: value})
    said = f"The page sent a value of {name!r} that cannot be read ({why}); the old one stays."
    assert stepper.notice == said
    after = {n: getattr(stepper, n) for n in before}
    assert after == before | {"notice": said, "all_lanes": after["all_lanes"]}
    # What came with it and can be read is taken over all the same.
    assert after["all_lanes"] is (name != "all_lanes")


@pytest.mark.parametrize(
    "state",
    [
        {"branches": []},
        {"branches": [7]},
        {"branches": [{"id": 1}], "branch": 1, "step": 2},
        {"tree": {"names": 7, "gone": [None]}},
        {"tree": {"names": {}, "gone": [0, 1]}},
        {"payload": {}},
        {"score": {"answered": "all"}},
        {"answer": {"id": 1, "branch": {}}},
    ],
)
def test_what_only_python_makes_is_not_taken_from_the_page(stepper, state):
    made = ("branches", "tree", "payload", "answer")
    before = {name: getattr(stepper, name) for name in made}
    hear(stepper, "update", state=state)
    assert {name: getattr(stepper, name) for name in made} == before
    assert "branches" not in stepper.notice
    stepper.branch = stepper.known_branches[0]["id"]
    assert "step" in repr(stepper)
    stepper.run_on(seed=2, steps=2)
    assert len(stepper.known_branches) == 2


def test_the_list_that_the_page_sends_back_with_a_new_branch_is_no_news(stepper):
    (made,) = stepper.branches
    hear(stepper, "update", state={"branches": [dict(made)], "branch": made["id"], "step": 7})
    assert (stepper.branch, stepper.step, stepper.notice) == (made["id"], 7, "")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"what": "trace", "branch": 9}, "there is no branch 9; there are 0, 1."),
        ({"what": "trace", "branch": []}, "there is no branch []; there are 0, 1."),
        ({"what": "html", "step": "x"}, "there is no step 'x' on this line"),
        (
            {"what": {}, "step": 1},
            "there is no file of the kind {}; there are html, trace, pytest, plantuml, itf, shiviz.",
        ),
    ],
)
def test_a_wish_for_a_file_that_makes_no_sense_is_answered_with_a_sentence(
    stepper, monkeypatch, content, said
):
    sent = []
    monkeypatch.setattr(stepper, "send", sent.append)
    hear(stepper, "custom", content={"do": "file", "id": 3, **content})
    (answer,) = sent
    assert answer["id"] == 3
    assert answer["error"].startswith(f"The file could not be made: {said}")


@pytest.mark.parametrize("content", [None, [], "file", {"do": []}])
def test_a_message_that_asks_for_nothing_is_passed_over(stepper, monkeypatch, content):
    sent = []
    monkeypatch.setattr(stepper, "send", sent.append)
    hear(stepper, "custom", content=content)
    assert sent == []


@pytest.mark.parametrize("lines", [[0, 9], [0], ["a", 0], {}, [None, None], [True, 0]])
def test_two_runs_side_by_side_stay_on_lines_that_are_there(lines):
    payload = flow.share_payload()
    both = Compare(payload, payload)
    hear(both, "update", state={"lines": lines, "step": 3})
    assert (both.lines, both.step) == ([0, 0], 3)
    assert "step 3 of" in repr(both)
    assert both.notice.endswith("stays.") or both.notice.endswith("the lines stay as they are.")


def test_a_sentence_that_comes_twice_is_shown_twice():
    both = Compare(flow.share_payload(), flow.share_payload())
    heard = []
    both.observe(lambda change: heard.append(change["new"]), "notice")
    for _ in range(2):
        hear(both, "update", state={"step": "three"})
    said = "The page sent a value of 'step' that cannot be read (Expected `int`, got `str`); the old one stays."
    assert heard == [said, "", said]
