"""Which rules of the protocol fired in a campaign, and which never did.

A rule is a handler of a role for a message, counted by its response; a slot of a design, counted by its answer; or a
kind of action. The tables of handlers, slots and actions contain all rules, so that those that never fired can be
listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, get_args

from kipviz.brokers.rules import BrokerRules
from kipviz.checking.judging import faults as profiles
from kipviz.checking.single_run.seeded_run import Task, moments
from kipviz.clients.rules import ClientRules
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.dispatch import HANDLERS
from kipviz.cluster.model import ClusterModel
from kipviz.core.model import Outcome
from kipviz.core.values import Value
from kipviz.designs.catalogue import design
from kipviz.messages.apis.catalogue import API_OF
from kipviz.messages.events import MessageDelivered, MessageSent
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.transactions import WriteTxnMarkersResponse
from kipviz.scenarios.library import searched_scenario

Rule = tuple[str, str, str]
ANY = ""


class Fired(Value, frozen=True):
    """One rule and how often it fired; `role` is "slot" or "action" for those two kinds.

    `guard` is the answer ("NONE", "INVALID_TXN_STATE", "yes"); it is empty for the rule as a whole.
    """

    role: str
    rule: str
    guard: str
    times: int


class Coverage:
    """Counts of what fired."""

    def __init__(self) -> None:
        """Start with every rule, none of which has fired."""
        self._times: dict[Rule, int] = dict.fromkeys(_every_rule(), 0)

    def run(self, task: Task) -> None:
        """Make one run and count what fires in it.

        Raises:
            ValueError: if the task names an unknown scenario, design or fault profile.
        """
        for moment in moments(task, self._watch_model(task)):
            self.take_in(moment.action, moment.outcome)

    def take_in(self, action: ClusterAction, outcome: Outcome) -> None:
        """Count what fires in one step; only `run` counts slots."""
        self._note("action", type(action).__name__)
        for event in outcome.events:
            if isinstance(event, MessageDelivered) and event.way == "request":
                self._note(*_handler(type(event.message)))
            elif isinstance(event, MessageSent) and event.way == "response":
                self._count_answer(event.message)

    def rows(self) -> tuple[Fired, ...]:
        """Return every rule with its count, ordered by name."""
        return tuple(Fired(*rule, times) for rule, times in sorted(self._times.items()))

    def never(self) -> tuple[Fired, ...]:
        """Return the rules that never fired."""
        return tuple(row for row in self.rows() if not row.times)

    def lines(self) -> tuple[str, ...]:
        """Render the table as text; a rule that never fired has the count "never"."""
        width = [max(len(getattr(r, f)) for r in self.rows()) for f in ("role", "rule", "guard")]
        return tuple(
            f"{r.role:<{width[0]}}  {r.rule:<{width[1]}}  {r.guard:<{width[2]}}  "
            f"{f'{r.times:,}' if r.times else 'never':>9}"
            for r in self.rows()
        )

    def _note(self, role: str, rule: str, guard: str = ANY) -> None:
        key = (role, rule, guard)
        self._times[key] = self._times.get(key, 0) + 1

    def _count_answer(self, message: Message) -> None:
        api = API_OF.get(type(message))
        if api is not None and isinstance(message, api.response):
            for error in _errors(message):
                self._note(*_handler(api.request), error)

    def _watch_model(self, task: Task) -> ClusterModel:
        """Return the task's model with slots that report each question."""
        story, chosen = searched_scenario(task.scenario), design(task.design)
        known = story.model(chosen, profiles.faults(task.faults).budget)
        return ClusterModel(
            known.spec,
            BrokerRules(**self._report_slots(chosen.broker_rules())),
            ClientRules(**self._report_slots(chosen.client_rules())),
        )

    def _report_slots(self, rules: BrokerRules | ClientRules) -> dict[str, Callable[..., Any]]:
        return {
            name: self._report_slot(name, getattr(rules, name)) for name in rules.__struct_fields__
        }

    def _report_slot(self, name: str, slot: Callable[..., Any]) -> Callable[..., Any]:
        def note_rule(*given: Any) -> Any:
            answer = slot(*given)
            self._note("slot", name)
            self._note("slot", name, _in_words(answer))
            return answer

        return note_rule


def coverage_of(
    tasks: Iterable[Task], progress: Callable[[int], bool] = lambda _: True
) -> Coverage:
    """Make runs and count what fires; `progress` gets the number of runs and can stop them by returning False.

    Raises:
        ValueError: if a task names an unknown scenario, design or fault profile.
    """
    coverage = Coverage()
    for done, task in enumerate(tasks):
        if not progress(done):
            break
        coverage.run(task)
    return coverage


def _every_rule() -> list[Rule]:
    rules = [(*_handler(message), ANY) for message in HANDLERS]
    rules += [("action", kind.__name__, ANY) for kind in get_args(ClusterAction)]
    for slots in (BrokerRules, ClientRules):
        rules += [("slot", name, ANY) for name in slots.__struct_fields__]
    return rules


def _handler(message: type[Message]) -> tuple[str, str]:
    handler = HANDLERS[message]
    return handler.__module__.rpartition(".")[2], message.__name__


def _errors(message: Message) -> tuple[str, ...]:
    error = error_in(message)
    if error is not None:
        return (error.name,)
    if isinstance(message, WriteTxnMarkersResponse):
        return tuple(result.error.name for result in message.results)
    return ()


def _in_words(answer: object) -> str:
    if isinstance(answer, Enum):
        return answer.name
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    if isinstance(answer, int):
        return "a number"
    if isinstance(answer, Value):
        state = getattr(answer, "state", None)
        return state.name if isinstance(state, Enum) else "a change"
    return "something" if answer else "nothing"
