"""The questions of a search to the rules of a design, and their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from kipviz.brokers.rules import BrokerRules
from kipviz.clients.rules import ClientRules
from kipviz.cluster.model import ClusterModel
from kipviz.core.values import Value
from kipviz.designs.design import Design

R = TypeVar("R", BrokerRules, ClientRules)


class RuleAnswer(Value, frozen=True):
    """One question to a slot's rule, and its answer."""

    slot: str
    arguments: tuple[object, ...]
    answer: object


class Listener:
    """Records the questions to rules while `listening`; each question counts once."""

    def __init__(self) -> None:
        """Start without recording."""
        self._heard: dict[RuleAnswer, None] | None = None

    @contextmanager
    def listening(self) -> Iterator[dict[RuleAnswer, None]]:
        """Yield a dict that collects the questions from now until the end, in the order of their first time."""
        heard: dict[RuleAnswer, None] = {}
        self._heard = heard
        try:
            yield heard
        finally:
            self._heard = None

    def model(self, model: ClusterModel, design: Design) -> ClusterModel:
        """Return the same cluster under the same design, with rules that are recorded."""
        brokers, clients = design.broker_rules(), design.client_rules()
        return ClusterModel(model.spec, self._wrap_rules(brokers), self._wrap_rules(clients))

    def _wrap_rules(self, rules: R) -> R:
        listened: dict[str, Any] = {
            slot: self._rule(slot, getattr(rules, slot)) for slot in rules.__struct_fields__
        }
        return type(rules)(**listened)

    def _rule(self, slot: str, rule: Callable[..., object]) -> Callable[..., object]:
        def record_rule(*arguments: object) -> object:
            answer = rule(*arguments)
            if self._heard is not None:
                self._heard.setdefault(RuleAnswer(slot, arguments, answer))
            return answer

        return record_rule
