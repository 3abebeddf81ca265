"""What a learner has answered outlives the kernel: in a kept file, a trace file and an exported page."""

from __future__ import annotations

import html
import json
import re

import pytest

import kipviz
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.learner_record import Learned
from kipviz.core.traces.tracefile import TraceFileError
from kipviz.widgets.stepping.files import file_of
from kipviz.widgets.stepping.stepper import Stepper

STORY = "pain-vanished"
ASKED = f"{STORY}-1"


def option_of(stepper: Stepper, right: bool) -> int:
    (question,) = stepper.payload["questions"]
    return next(n for n, option in enumerate(question["options"]) if option["right"] is right)


def predictions(stepper: Stepper, branch: int) -> list[tuple[str, int]]:
    """The predictions of a branch with the right option of each, by the names that the page gives them."""
    (line,) = [one for one in stepper.known_branches if one["id"] == branch]
    first, found = line["at"] + 1, []
    for step, kind, _, _, options in line["asks"]["questions"]:
        if step < first:
            continue
        letter = {"next": "n", "cannot": "c", "answer": "a"}[kind]
        right = next(n for n, option in enumerate(options) if option[1])
        found.append((f"{letter}{line['steps'][step - first]['node']}", right))
    return found


def answer_question(stepper: Stepper, name: str, option: int) -> None:
    stepper.answers = {**stepper.answers, name: option}
    stepper.revealed = [*stepper.revealed, name]


def test_answers_and_score_are_there_again_when_a_kept_run_is_opened(tmp_path):
    keep = tmp_path / "mine.kipviz"
    stepper = kipviz.open(STORY, keep=keep)
    answer_question(stepper, ASKED, option_of(stepper, right=True))
    before = stepper.score
    assert (before["answered"], before["right"]) == (1, 1)
    again = kipviz.open(STORY, keep=keep)
    assert again.answers == stepper.answers
    assert again.revealed == stepper.revealed
    assert again.score == before
    again.answers = {ASKED: option_of(again, right=False)}
    assert again.score == before, "what was shown before the restart is closed after it, too"


def test_an_answer_that_was_not_yet_shown_can_still_be_changed_after_a_restart(tmp_path):
    keep = tmp_path / "mine.kipviz"
    stepper = kipviz.open(STORY, keep=keep)
    stepper.answers = {ASKED: option_of(stepper, right=False)}
    again = kipviz.open(STORY, keep=keep)
    assert again.score["answered"] == 0
    answer_question(again, ASKED, option_of(again, right=True))
    assert (again.score["answered"], again.score["right"]) == (1, 1)


def test_predictions_follow_their_steps_when_a_branch_before_theirs_is_pruned(tmp_path):
    keep = tmp_path / "mine.kipviz"
    stepper = kipviz.open(STORY, keep=keep)
    stepper.step = 4
    stepper.run_on(seed=1, steps=6)
    first = stepper.branch
    stepper.branch = 0
    stepper.step = 8
    stepper.run_on(seed=2, steps=20)
    second = stepper.branch
    assert second != first
    name, right = predictions(stepper, second)[0]
    answer_question(stepper, name, right)
    stepper.ask("prune", branch=first)
    again = kipviz.open(STORY, keep=keep)
    (branch,) = [one["id"] for one in again.known_branches]
    ((now, kept),) = again.answers.items()
    assert now != name, "the nodes of the pruned branch are gone, so later ones are counted anew"
    assert (now, kept) in predictions(again, branch)
    assert again.score == stepper.score
    assert again.score["right"] == 1


def test_a_prediction_on_a_pruned_branch_is_dropped_and_the_storys_answer_stays():
    said = Learned((("n12", 1), (ASKED, 0), ("c1:3", 2)), ("n12", ASKED), ("a goal",))
    assert said.renumber({0: 0}, [{3: 3}]) == Learned(((ASKED, 0),), (ASKED,), ("a goal",))
    assert said.renumber({1: 0}, [{3: 7}]) == Learned(
        ((ASKED, 0), ("c7", 2)), (ASKED,), ("a goal",)
    )


def test_a_trace_file_from_the_page_brings_the_answers_along(tmp_path):
    stepper = kipviz.open(STORY)
    answer_question(stepper, ASKED, option_of(stepper, right=True))
    path = tmp_path / "run.trace"
    kipviz.save(stepper, path)
    assert kipviz.open_trace(path).score == stepper.score
    made = file_of("trace", stepper.payload, 0, 3, stepper.lab, stepper.learned)
    path.write_text(made["text"], encoding="utf-8")
    assert kipviz.open_trace(path).answers == stepper.answers


def test_an_exported_page_begins_with_what_was_answered():
    stepper = kipviz.open(STORY)
    answer_question(stepper, ASKED, option_of(stepper, right=True))
    made = file_of("html", stepper.payload, 0, 3, stepper.lab, stepper.learned)
    found = re.search(r'data-learned="([^"]*)"', made["text"])
    assert found
    values = json.loads(html.unescape(found[1]))
    assert values["answers"] == stepper.answers
    assert values["score"]["right"] == 1
    assert values["revealed"] == [ASKED]


def test_a_run_in_which_nothing_was_answered_is_kept_as_before(tmp_path):
    path = tmp_path / "run.trace"
    kipviz.save(kipviz.open(STORY), path)
    assert b"learned" not in path.read_bytes()


@pytest.mark.parametrize(
    "said", ['{"answers":[["x","y"]]}', '{"answers":{"x":1}}', '{"revealed":[1]}', "[]"]
)
def test_answers_that_are_none_are_one_sentence(tmp_path, said):
    path = tmp_path / "run.trace"
    kipviz.save(kipviz.open(STORY), path)
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[0] = lines[0][:-1] + f',"learned":{said}' + "}"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(TraceFileError) as refused:
        kipviz.open_trace(path)
    assert "\n" not in str(refused.value)


def test_a_file_from_before_options_had_ids_keeps_the_storys_answers_and_says_what_it_leaves_out(
    tmp_path, monkeypatch
):
    keep = tmp_path / "mine.kipviz"
    monkeypatch.setattr(runs, "BY_ID", "")  # as such a file was written
    stepper = kipviz.open(STORY, keep=keep)
    (step, kind, *_), *_ = stepper.payload["asks"]["questions"]
    letter = {"next": "n", "cannot": "c", "answer": "a"}[kind]
    predicted = f"{letter}{stepper.payload['steps'][step]['node']}"
    answer_question(stepper, predicted, 0)
    answer_question(stepper, ASKED, option_of(stepper, right=True))
    monkeypatch.undo()
    run = runs.load(keep)
    assert [name for name, _ in run.learned.answers] == [ASKED]
    assert run.learned.revealed == (ASKED,)
    assert any("options were in another order" in change for change in run.changes)
