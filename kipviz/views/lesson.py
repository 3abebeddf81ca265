"""The lesson of a branch: its predictions, the goals that it reaches, and what to watch for.

Texts of predictions repeat from step to step, so they are sent once per branch and referred to by number.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple

from kipviz.brokers.checks import possible_errors
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.world import World, host_of
from kipviz.core.model import Event
from kipviz.lessons.goals import Spans
from kipviz.lessons.predictions import Answer, Possible, Prediction, prediction
from kipviz.messages.errors import Errors
from kipviz.messages.events import ConnectionLost, MessageDelivered, MessageSent
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_in
from kipviz.scenarios.scenario import Scenario
from kipviz.scenarios.script import Chapter
from kipviz.views.choices import choice_id
from kipviz.views.explanations.checks import checks_of
from kipviz.views.page_parts import ChoicePart, Part

# With fewer possible actions than this, faults are offered beside them in a question.
FEW = 2
# An action within this many steps is a plausible wrong answer.
NEAR = 12
_step_of = itemgetter(0)


class _Taken(NamedTuple):
    """A step with the world before it, in which its checks can be made again."""

    k: int
    before: World
    action: ClusterAction


class LessonTelling:
    """The lesson of one branch, built step by step from its start."""

    def __init__(self, model: ClusterModel, goals: Iterable[str], *, asks: bool = True) -> None:
        """Watch for the goals of a scenario's checkpoints; `asks` is whether there are predictions."""
        self._model = model
        self._makes_questions = asks
        self._spans = Spans(goals)
        self._items: dict[int, tuple[World, list[ChoicePart]]] = {}
        self._taken: list[tuple[int, str, ClusterAction]] = []
        self._asked: dict[tuple[str, int], list[tuple[_Taken, Message]]] = {}
        self._before: World | None = None
        self._answers: dict[int, Answer] = {}
        self._possible_errors: dict[type[Message], dict[Errors, bool]] = {}

    def see(
        self, k: int, action: ClusterAction | None, world: World, events: tuple[Event, ...]
    ) -> None:
        """Record the next step: which goals hold at it, and which request it answers."""
        self._spans.see(k, action, world, events)
        before, self._before = self._before, world
        if before is None or action is None:
            return
        now = _Taken(k, before, action)
        for event in events:
            if isinstance(event, MessageDelivered) and event.way == "request":
                if host_of(event.source) in world.applications:
                    place = (event.source, event.broker)
                    self._asked.setdefault(place, []).append((now, event.message))
            elif isinstance(event, MessageSent) and event.way == "response":
                self._note_answer(now, event)
            elif isinstance(event, ConnectionLost):
                self._asked.pop((event.source, event.broker), None)

    def choices(
        self, k: int, world: World, items: list[ChoicePart], taken: ClusterAction | None
    ) -> None:
        """Keep the choices of a step for its question, and the one that this branch takes."""
        if not self._makes_questions:
            return
        self._items[k] = (world, items)
        if taken is not None:
            self._taken += [(k, item["text"], taken) for item in items if item["taken"]]

    def news_since(self, since: int) -> Part:
        """Return what is new after `since`: goals with a lifetime, and predictions."""
        goals = [
            {**span, "from": max(span["from"], since + 1)}
            for span in self._spans.found
            if span["to"] is None or span["to"] > since + 1
        ]
        found = (
            (k, prediction(self._possible(k, world, items), self._answers.get(k + 1)))
            for k, (world, items) in self._items.items()
        )
        return {
            "goals": goals,
            "asks": _pack_questions([(k, one) for k, one in found if one is not None]),
        }

    def _possible(self, k: int, world: World, items: list[ChoicePart]) -> list[Possible]:
        """Return what can happen, including faults only if little else can, and what cannot.

        An action that happens elsewhere on this branch and is not possible here is among the latter: a learner who has
        lost the thread would expect it.
        """
        can = [i for i in items if i["enabled"] and i["group"] == "next"]
        if len(can) < FEW:
            can += [i for i in items if i["enabled"] and i["group"] == "fault"]
        found = [Possible(i["id"], i["text"], True, "", i["group"] == "fault") for i in can]
        found += [Possible(i["id"], i["text"], False, i["why"]) for i in items if not i["enabled"]]
        # In the order of their steps, so that a long branch is not scanned at each of them.
        first = bisect_left(self._taken, k - NEAR, key=_step_of)
        after = bisect_right(self._taken, k + NEAR, key=_step_of)
        near = [one for one in self._taken[first:after] if one[0] != k]
        known = {i["text"] for i in items}
        for _, text, action in near:
            why = self._model.why_not(world, action) if text not in known else None
            if why is not None:
                found.append(Possible(choice_id(action), text, False, why))
        return found

    def _note_answer(self, now: _Taken, event: MessageSent) -> None:
        waiting = self._asked.get((event.source, event.broker))
        if not waiting:
            return
        then, request = waiting.pop(0)
        error = error_in(event.message)
        if error is not None:
            where = f"B{event.broker}"
            answer = Answer(type(request), where, error, now.k)
            if answer.is_worth_asking:
                steps = (then,) if then.k == now.k else (then, now)
                answer = answer.but(checked=self._could_have(type(request), *steps))
            self._answers[then.k] = answer

    def _could_have(self, request: type[Message], *steps: _Taken) -> tuple[Errors, ...]:
        """Return the errors that a request could get, and those that an earlier one of its kind could get.

        Checks end with the first one that fails: the errors of the later ones are known from steps at which they were
        made.
        """
        known = self._possible_errors.setdefault(request, {})
        known.update(dict.fromkeys(self._list_errors(*steps), True))
        return tuple(known)

    def _list_errors(self, *steps: _Taken) -> tuple[Errors, ...]:
        """Return the errors that a request could get, by the checks of the role that handled it."""
        made = [one for step in steps for one in checks_of(self._model, step.before, step.action)]
        return possible_errors(
            check
            for one in made
            if (one.broker, one.role, one.shard) == (made[0].broker, made[0].role, made[0].shard)
            for check in one.checks
        )


def lesson(scenario: Scenario, chapters: Sequence[Chapter]) -> Part:
    """Return the teaching material of a scenario, with its notes at their steps."""
    watch = []
    for note in scenario.watch:
        begin, end = 0, None
        if note.beat < len(chapters):
            # From the step before on: a reader who moves by big steps has to see the note beforehand.
            begin, end = chapters[note.beat].first, chapters[note.beat].end + 1
        watch.append({"from": begin, "to": end, "text": note.text})
    checkpoints = [{"goal": c.goal, "text": c.text} for c in scenario.checkpoints]
    return {"watch": watch, "checkpoints": checkpoints}


def goals_of(scenario: Scenario) -> tuple[str, ...]:
    """Return the goals of a scenario's checkpoints."""
    return tuple(dict.fromkeys(checkpoint.goal for checkpoint in scenario.checkpoints))


def _pack_questions(found: Sequence[tuple[int, Prediction]]) -> Part:
    numbers: dict[str, int] = {}

    def number(text: str) -> int:
        return numbers.setdefault(text, len(numbers))

    questions = [
        [
            k,
            one.kind,
            number(one.text),
            one.reveal,
            [[number(o.text), int(o.right), number(o.say)] for o in one.options],
        ]
        for k, one in found
    ]
    return {"texts": list(numbers), "questions": questions}
