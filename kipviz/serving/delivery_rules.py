"""The rules of deliveries: which ones a served cluster makes by itself, which wait, and which are lost.

A rule is a point of a run (`scenarios.run_points` has the grammar): "hold EndTxn", "lose every 3rd answer", "lose the 1st
EndTxnResponse", "crash the coordinator at PREPARE_COMMIT", or "the coordinator crashes after PREPARE_COMMIT". The last
two are one fault point: it crashes a coordinator once, and another crash is another rule.
"""

from __future__ import annotations

from dataclasses import dataclass

from kipviz.core.outside.suggestions import unknown
from kipviz.messages.former_names import validate_message_names
from kipviz.messages.message import Message
from kipviz.messages.wire.frame import KINDS
from kipviz.records.transaction_state import NOT_ENTERED, TransactionState
from kipviz.scenarios.run_points import ANSWER, COORDINATOR_CRASHES, REQUEST, parse_point

RUNNING, BY_HAND = "running", "hand"
_CRASHES = (COORDINATOR_CRASHES, COORDINATOR_CRASHES.removeprefix("the "))
_MESSAGES = {kind.__name__: kind for kind in KINDS}
_UNSEEN = ("ApiVersions", "ApiVersionsResponse")


@dataclass
class Rule:
    """A rule about deliveries; it counts the messages that match.

    `way` is `REQUEST` or `ANSWER` for any message of clients that goes this way; otherwise `kind` is the message, in
    any version. `nth` 0 means each of them, and `every`
    repeats. `state` is set for a fault point.
    """

    words: str
    verb: str
    way: str = ""
    kind: type[Message] | None = None
    nth: int = 0
    every: bool = False
    state: TransactionState | None = None
    seen: int = 0

    def meets(self, message: Message) -> bool:
        """Count a message that matches the rule, and return whether the rule applies to it."""
        way = ANSWER if message.IS_RESPONSE else REQUEST
        if self.way != way and (self.kind is None or not isinstance(message, self.kind)):
            return False
        self.seen += 1
        if not self.nth:
            return True
        return self.seen % self.nth == 0 if self.every else self.seen == self.nth


def rule(words: str) -> Rule:
    """Parse a rule.

    Raises:
        ValueError: if the sentence is not a rule; the error says what is allowed.
    """
    if not isinstance(words, str):
        raise ValueError(f"a rule must be a text such as 'hold EndTxn', not {words!r}")  # noqa: TRY004
    point = parse_point(words)
    delivery = point.delivery
    if delivery is None and point.happens.lower() in _CRASHES and point.after and not point.before:
        return Rule(words, "crash", state=_state_named(point.after))
    if delivery is None:
        raise ValueError(
            f"a rule must be 'hold EndTxn', 'lose every 3rd answer', 'lose the 1st EndTxnResponse' or "
            f"'crash the coordinator at PREPARE_COMMIT', not {words!r}"
        )
    if point.after or point.before:
        raise ValueError(
            f"a rule about deliveries counts messages and has no 'after' or 'before', unlike {words!r}: add it when "
            "what it waits for has happened"
        )
    way = delivery.messages if delivery.messages in (ANSWER, REQUEST) else ""
    kind = None if way else message_named(delivery.messages)
    if delivery.nth is not None and delivery.nth < 1:
        raise ValueError(f"messages are counted from 1: {words!r}")
    return Rule(words, delivery.verb, way, kind, delivery.nth or 0, delivery.every)


def _state_named(name: str) -> TransactionState:
    # No transactional id shows the others: they are never written, only what follows them.
    states = {s.name: s for s in TransactionState if s not in NOT_ENTERED}
    if name not in states:
        raise ValueError(
            unknown("transaction state", name, tuple(states), "kipviz.records.transaction_state")
        )
    return states[name]


def message_named(name: str) -> type[Message]:
    """Return the class of a message of the model.

    Raises:
        ValueError: if there is no such message; the error names the nearest ones.
    """
    if name in _UNSEEN:
        raise ValueError(
            f"{name} is no step of the model: a broker answers it at once, and no rule can hold or lose it"
        )
    validate_message_names(name)
    if name not in _MESSAGES:
        raise ValueError(unknown("message", name, tuple(sorted(_MESSAGES)), "kipviz clauses"))
    return _MESSAGES[name]
