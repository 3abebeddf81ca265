"""A slot and an option: a question on which designs disagree, and one answer to it."""

from __future__ import annotations

from collections.abc import Callable

from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.core.values import Value
from kipviz.designs.former_names import current_option


class UnknownDesign(ValueError):
    """The name of an unknown design, slot or option."""


class Option(Value, frozen=True):
    """One answer to a slot's question, and its source."""

    name: str
    choose: Callable[..., object]
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

    `only_with` is what a cluster must have for the question to arise (`designs.conditions`), None if it arises
    everywhere.
    """

    name: str
    question: str
    finding: str
    on_brokers: bool
    options: tuple[Option, ...]
    only_with: Callable[[ClusterSpec], bool] | None = None
    written: str = ""

    def arises_in(self, spec: ClusterSpec) -> bool:
        """Return whether the question can arise in a cluster at all."""
        return self.only_with is None or self.only_with(spec)

    @property
    def as_written(self) -> str:
        """The name of the option of KIP-1289 as written; the design of Kafka as it is has the same one."""
        return self.written or self.options[0].name

    def option(self, name: str) -> Option:
        """Return an option by its name, or by a name that it had before.

        Raises:
            UnknownDesign: if there is no such option; the message lists the options.
        """
        present = current_option(name)
        for option in self.options:
            if option.name == present:
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
