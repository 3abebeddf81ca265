"""The last step of a run says which properties break along what the cluster does next by itself."""

from __future__ import annotations

import pytest

from kipviz.checking.single_run import runs
from kipviz.checking.single_run.runs import judge_to_the_end
from kipviz.cluster.actions import CrashBroker, ExpireLock
from kipviz.views import payload as telling
from kipviz.views.choices import choice_id
from kipviz.widgets.stepping.lines import Lab
from tests.views.page import branch_line, main_line, verdicts_at

STORY, WRITTEN = "kip-1289-share-commit", "as-written"


def test_the_end_of_a_story_says_what_play_says_and_the_step_before_it_does_not() -> None:
    run = runs.play(STORY, WRITTEN)
    line = main_line(Lab(run).payload)
    last = len(line["steps"]) - 1
    (atomic,) = (found for found in judge_to_the_end(run) if found.property == "atomic")
    assert atomic.step == last
    assert verdicts_at(line, last)["atomic"] == ("broken", atomic.reason)
    assert atomic.reason.startswith("left alone, the run breaks it 1 step later (the lock of")
    assert verdicts_at(line, last - 1)["atomic"] == ("holds", "")


def test_a_story_whose_design_keeps_its_properties_says_nothing_more_at_its_end() -> None:
    line = main_line(Lab(runs.play(STORY, "repaired")).payload)
    last = len(line["steps"]) - 1
    assert verdicts_at(line, last)["atomic"] == ("holds", "")


def test_a_branch_behind_the_end_says_what_has_happened() -> None:
    run = runs.play(STORY, WRITTEN)
    lab = Lab(run)
    main = main_line(lab.payload)
    last = len(main["steps"]) - 1
    (lock,) = (a for a in lab.model.enabled(run.trace.last().world) if isinstance(a, ExpireLock))
    branch = lab.respond({"choice": choice_id(lock), "branch": 0, "step": last})["branch"]
    line = branch_line(main, branch)
    status, reason = verdicts_at(line, last + 1)["atomic"]
    assert status == "broken"
    assert not reason.startswith("left alone")
    assert verdicts_at(line, last)["atomic"][0] == "broken"


def test_only_the_end_of_a_run_is_followed_further(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def count_questions(*given: object) -> tuple[()]:
        asked.append(given[1])
        return ()

    monkeypatch.setattr(telling, "breaks_later", count_questions)
    run = runs.play(STORY, WRITTEN)
    lab = Lab(run)
    last = len(lab.payload["steps"]) - 1
    assert len(asked) == 1, "the end of the story"
    crash = choice_id(CrashBroker(3))
    assert lab.respond({"choice": crash, "branch": 0, "step": 20})["branch"]
    assert len(asked) == 1, "messages are in flight and app-1 goes on"
    (lock,) = (a for a in lab.model.enabled(run.trace.last().world) if isinstance(a, ExpireLock))
    assert lab.respond({"choice": choice_id(lock), "branch": 0, "step": last})["branch"]
    assert len(asked) == 1, "the record that is free again is on its way to the next poll()"
    assert lab.respond({"choice": crash, "branch": 0, "step": last})["branch"]
    assert len(asked) == 2, "nothing but timers and accidents is left"
