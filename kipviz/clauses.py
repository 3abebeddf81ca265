"""The source of every rule: the clause of a KIP, its status, and the Kafka class.

An action's clause is in its class (`cluster.behaviour`), a message's in its row (`messages.apis`), a timer's in its
class (`brokers.timers`). A picture shows it as the source of a step's rule. "shipped" is in Kafka 4.4.0, "draft" in a
KIP's text, "our inference" in no text.
"""

from __future__ import annotations

from kipviz.core.values import Value


class Clause(Value, frozen=True):
    """One rule: its name, its clause, its status and the class that implements it in Kafka."""

    rule: str
    clause: str
    status: str
    kafka: str


SHIPPED, DRAFT, OURS = "shipped", "draft", "our inference"
