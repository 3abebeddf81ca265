"""The score of a lesson: the questions answered before their answer was shown, and the goals reached.

The page reports what the learner does; this module decides what counts. An answer counts from the moment its question
is revealed: a score that changed at once would give the answer away. Later answers change nothing. A goal is reached
when the cursor stands at a step at which it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

from kipviz.views.lifetimes import covers
from kipviz.views.page_parts import Shown

KINDS = {"next": "n", "cannot": "c", "answer": "a"}


class ScoreNow(TypedDict):
    """How many questions are answered and right, how many goals are reached of all, and their names."""

    answered: int
    right: int
    questions: int
    goals: int
    of: int
    reached: list[str]


class Score:
    """A learner's score on one stepper so far."""

    def __init__(self, payload: Shown) -> None:
        """Start with an empty score."""
        self._payload = payload
        self._kept: dict[str, bool] = {}  # whether each answer that counts is right
        self._revealed: set[str] = set()
        self._reached: set[str] = set()

    def update(
        self,
        branches: Sequence[Shown],
        place: tuple[int, int],
        answers: Mapping[str, object],
        revealed: Iterable[str],
        reached: Iterable[str],
    ) -> ScoreNow:
        """Update the score; `place` is the branch and the step of the cursor.

        Returns:
            ``answered`` and ``right`` of ``questions``, which are those of the story and the answered predictions; they
                count once the answer was shown. ``goals`` reached ``of`` how many, and the names of those ``reached``.
        """
        known = self._find_right(branches)
        for name, option in answers.items():
            if name in known and name not in self._revealed and isinstance(option, int):
                self._kept[name] = 0 <= option < len(known[name]) and known[name][option]
        self._revealed |= {name for name in revealed if name in known}
        self._revealed |= self._revealed_questions(branches, place)
        lines = [self._payload, *branches]
        held = {span["goal"] for line in lines for span in line.get("goals", [])}
        self._reached |= {goal for goal in reached if goal in held}
        self._reached |= self._goals_at(branches, place)
        return self._encode_score()

    def _encode_score(self) -> ScoreNow:
        asked = (
            {q["id"] for q in self._payload.get("questions", [])} | self._revealed | {*self._kept}
        )
        goals = [c["goal"] for c in self._payload.get("lesson", {}).get("checkpoints", [])]
        reached = [goal for goal in goals if goal in self._reached]
        counted = [right for name, right in self._kept.items() if name in self._revealed]
        return {
            "answered": len(counted),
            "right": sum(counted),
            "questions": len(asked),
            "goals": len(reached),
            "of": len(goals),
            "reached": reached,
        }

    def _find_right(self, branches: Sequence[Shown]) -> dict[str, list[bool]]:
        """Return for every question which of its options are right."""
        known = {
            question["id"]: [bool(option["right"]) for option in question["options"]]
            for question in self._payload.get("questions", [])
        }
        for line in (self._payload, *branches):
            first = line.get("at", -1) + 1
            for step, kind, _, _, options in line.get("asks", {}).get("questions", []):
                node = _node(self._payload, branches, line, step, first)
                known[f"{KINDS[kind]}{node}"] = [bool(right) for _, right, _ in options]
        return known

    def _revealed_questions(self, branches: Sequence[Shown], place: tuple[int, int]) -> set[str]:
        """Return the story's questions that the cursor's position has revealed."""
        step = _on_main(branches, place)
        return {q["id"] for q in self._payload.get("questions", []) if step >= q["step"]}

    def _goals_at(self, branches: Sequence[Shown], place: tuple[int, int]) -> set[str]:
        branch, step = place
        found: set[str] = set()
        while True:
            line = _line(self._payload, branches, branch)
            at = line.get("at", -1)
            if step > at or branch == 0:
                spans = line.get("goals", [])
                return found | {s["goal"] for s in spans if covers(s, step)}
            branch = line["parent"] or 0


def _on_main(branches: Sequence[Shown], place: tuple[int, int]) -> int:
    """Return how far along the main run a position is."""
    branch, step = place
    while branch:
        line = _line({}, branches, branch)
        step, branch = min(step, line.get("at", 0)), line.get("parent") or 0
    return step


def _line(payload: Shown, branches: Sequence[Shown], number: int) -> Shown:
    return next((b for b in branches if b["id"] == number), payload)


def _node(payload: Shown, branches: Sequence[Shown], line: Shown, step: int, first: int) -> object:
    """Return the trace's node at a step of a branch."""
    while step < first:
        line = _line(payload, branches, line["parent"] or 0)
        first = line.get("at", -1) + 1
    return line["steps"][step - first]["node"]
