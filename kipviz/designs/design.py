"""A design: one option for every slot, with a name, a status and a source."""

from __future__ import annotations

from typing import TypeVar

from kipviz.brokers.rules import BrokerRules
from kipviz.clients.rules import ClientRules
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.core.outside.suggestions import unknown
from kipviz.core.values import Value
from kipviz.designs.former_names import current_slot
from kipviz.designs.options.options import SLOTS, STATUSES, Option, Slot, UnknownDesign

R = TypeVar("R", bound=Value)


class Design(Value, frozen=True):
    """A design: one option for every slot.

    `chosen` holds each slot's name with that of its option, in the order of `SLOTS`; two designs are equal if they have the same name
    and the same options, and a design is sent as its name. `status` is that of its least settled option, so no
    inference is shown as written. `stages_shares` says whether share-group acknowledgements can be part of a
    transaction at all, `sessions` whether there are TransactionSessions. `levels` are the feature levels and the
    brokers' settings of the design, by their names in a cluster's spec; the spec decides the others. `own` has the
    reader's own options, by slot; such a design is sent with them.
    """

    name: str
    title: str
    status: str
    sentence: str
    source: str
    chosen: tuple[tuple[str, str], ...]
    stages_shares: bool = True
    sessions: bool = True
    levels: tuple[tuple[str, int | bool], ...] = ()
    own: tuple[tuple[str, Option], ...] = ()

    @property
    def choices(self) -> dict[str, str]:
        """The option's name by the slot's name, in the order of `SLOTS`."""
        return dict(self.chosen)

    def option(self, slot: str) -> Option:
        """Return the option of this design for a slot.

        Raises:
            UnknownDesign: if there is no such slot.
        """
        for name, option in self.own:
            if name == slot:
                return option
        found = slot_named(slot)
        return found.option(self.choices[slot])

    def but(self, **choices: str) -> Design:
        """Return the design with other options in one or more slots: REPAIRED.but(lock_expiry=...).

        Raises:
            UnknownDesign: if there is no such slot or option.
        """
        design = self
        for slot, option in choices.items():
            design = design._change_slot(slot_named(slot), option)
        return design

    def _change_slot(self, slot: Slot, name: str) -> Design:
        """Change one slot: several changes in sequence equal all of them at once."""
        if self.choices[slot.name] == name:
            return self
        option = slot.option(name)
        if self.choices[slot.name] == option.name:
            return self
        word = f"{slot.name}={option.name}"
        derived = "+" in self.name
        return Design(
            f"{self.name}+{word}",
            f"{self.title}, {word}" if derived else f"{self.title}, but {word}",
            max(self.status, option.status, key=STATUSES.index),
            f"{self.sentence} {slot.question} {option.sentence}",
            self.source,
            self._chosen_but(slot, option.name),
            self.stages_shares,
            self.sessions,
            self.levels,
            self._own_but(slot),
        )

    def with_own(self, slot: Slot, option: Option) -> Design:
        """Return the design with a reader's own option in a slot, still under its name."""
        return self._replace_fields(
            status=option.status,
            chosen=self._chosen_but(slot, option.name),
            own=(*self._own_but(slot), (slot.name, option)),
        )

    def but_called(self, name: str, title: str, sentence: str, source: str) -> Design:
        """Return the design under another name."""
        return self._replace_fields(name=name, title=title, sentence=sentence, source=source)

    def _replace_fields(self, **fields: object) -> Design:
        """Return the design with other fields, while `but` changes slots."""
        return Value.but(self, **fields)

    def _chosen_but(self, slot: Slot, name: str) -> tuple[tuple[str, str], ...]:
        return tuple((its, name if its == slot.name else old) for its, old in self.chosen)

    def _own_but(self, slot: Slot) -> tuple[tuple[str, Option], ...]:
        return tuple(one for one in self.own if one[0] != slot.name)

    def options(self, slot: Slot) -> tuple[Option, ...]:
        """Return the possible options of a slot in this design: the reader's own option comes first."""
        own = (option for name, option in self.own if name == slot.name)
        return (*own, *slot.options)

    def differs_from(self, other: Design) -> tuple[tuple[str, str, str], ...]:
        """Return (slot, own option, the other's option) for the slots in which two designs differ."""
        return tuple(
            (slot, mine, its)
            for (slot, mine), (_, its) in zip(self.chosen, other.chosen, strict=True)
            if mine != its
        )

    def broker_rules(self) -> BrokerRules:
        """Return the rules of this design's brokers."""
        return self._fill(BrokerRules, tuple(s for s in SLOTS if s.on_brokers))

    def client_rules(self) -> ClientRules:
        """Return the rules of this design's clients."""
        return self._fill(ClientRules, tuple(s for s in SLOTS if not s.on_brokers))

    def _fill(self, rules: type[R], slots: tuple[Slot, ...]) -> R:
        """Return rules with this design's options; that each answers its slot's question, `Rule` and the tests check."""
        return rules(**{slot.name: self.option(slot.name).choose for slot in slots})

    def model(self, spec: ClusterSpec) -> ClusterModel:
        """Return the model of a cluster whose brokers and clients have this design's rules.

        The spec's feature levels stay as they are; `Scenario.model` adapts them to the design.

        Raises:
            BadSpec: if the spec describes no cluster.
        """
        return ClusterModel(spec, self.broker_rules(), self.client_rules())


def slot_named(name: str) -> Slot:
    """Return a slot by its name, or by a name that it had before.

    Raises:
        UnknownDesign: if there is none.
    """
    present = current_slot(name)
    for slot in SLOTS:
        if slot.name == present:
            return slot
    raise UnknownDesign(unknown("slot", name, (s.name for s in SLOTS), "`kipviz list slots`"))
