"""A slot and an option: a question on which designs disagree, and one answer to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kipviz.core.values import Value


class UnknownDesign(ValueError):
    """The name of an unknown design, slot or option."""


class Option(Value, frozen=True):
    """One answer to a slot's question, and its source."""

    name: str
    choose: Callable[..., Any]
    status: str
    source: str

    @property
    def sentence(self) -> str:
        """What the option does, in one sentence."""
        return (self.choose.__doc__ or "").strip()


class Slot(Value, frozen=True):
    """A question on which designs disagree.

    The first of `options` is that of the repaired design; `written` names that of the design as written, "" if it is the
    same one.

    `only_with` names what a cluster must have for the question to arise, "" if it arises everywhere. "session" is a
    TransactionSession, "threads" a session that several threads of a process use, "both" a session beside a
    transactional.id, "kept" a program that keeps a prepared transaction, "heartbeats" a producer or a session that sends them,
    "several" a share consumer that holds records of several partitions, "explicit" a share consumer in explicit mode
    whose records are staged, "prepared" a program that stages in a transaction that it prepares, "draining" a program
    that drains decisions. The other values stand beside the options that need them.
    """

    name: str
    question: str
    finding: str
    on_brokers: bool
    options: tuple[Option, ...]
    only_with: str = ""
    written: str = ""

    @property
    def as_written(self) -> str:
        """The name of the option of KIP-1289 as written; the design of Kafka as it is has the same one."""
        return self.written or self.options[0].name

    def option(self, name: str) -> Option:
        """Return an option by name.

        Raises:
            UnknownDesign: if there is no such option; the message lists the options.
        """
        for option in self.options:
            if option.name == name:
                return option
        allowed = ", ".join(o.name for o in self.options)
        raise UnknownDesign(f"slot {self.name} has no option {name!r}; it has {allowed}")


SHIPPED = "shipped"
DRAFT = "draft"
OURS = "our inference"
# From the most settled to the least settled.
STATUSES = (SHIPPED, DRAFT, OURS)

# The value of `Slot.finding` for a rule of Kafka that no draft changes.
KAFKAS_OWN = "Kafka"
