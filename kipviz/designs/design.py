"""A design: one option for every slot, with a name, a status and a source."""

from __future__ import annotations

from kipviz.brokers.rules import BrokerRules
from kipviz.clients.application import STAGING, Call
from kipviz.clients.calling.producer_calls import KEEP_PREPARED_TXN
from kipviz.clients.operators.group_calls import RESETTING
from kipviz.clients.rules import ClientRules
from kipviz.cluster.specs.session_config import BOTH, SESSION
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.specs.threads import THREADS
from kipviz.core.outside.suggestions import unknown
from kipviz.core.values import Value
from kipviz.designs.options.group_options import GATED, GROUP_IDS, MEMBERS, REMADE
from kipviz.designs.options.implementation_options import DRAINING
from kipviz.designs.options.liveness_options import HEARTBEATS
from kipviz.designs.options.options import SLOTS, STATUSES, Option, Slot, UnknownDesign
from kipviz.designs.options.share_admin_options import RESETS, UPKEEP
from kipviz.designs.options.staging_options import EXPLICIT, PREPARED, SEVERAL
from kipviz.designs.options.two_phase_options import KEPT


class Design(Value, frozen=True):
    """A design: one option for every slot.

    `chosen` holds the option's name per slot, in the order of `SLOTS`; two designs are equal if they have the same name
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
    chosen: tuple[str, ...]
    stages_shares: bool = True
    sessions: bool = True
    levels: tuple[tuple[str, int | bool], ...] = ()
    own: tuple[tuple[str, Option], ...] = ()

    @property
    def choices(self) -> dict[str, str]:
        """The option's name by the slot's name, in the order of `SLOTS`."""
        return {slot.name: name for slot, name in zip(SLOTS, self.chosen, strict=True)}

    def option(self, slot: str) -> Option:
        """Return the option of this design for a slot.

        Raises:
            UnknownDesign: if there is no such slot.
        """
        for name, option in self.own:
            if name == slot:
                return option
        return slot_named(slot).option(self.chosen[_index(slot)])

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
        at = SLOTS.index(slot)
        if self.chosen[at] == name:
            return self
        option = slot.option(name)
        word = f"{slot.name}={name}"
        derived = "+" in self.name
        return Design(
            f"{self.name}+{word}",
            f"{self.title}, {word}" if derived else f"{self.title}, but {word}",
            max(self.status, option.status, key=STATUSES.index),
            f"{self.sentence} {slot.question} {option.sentence}",
            self.source,
            (*self.chosen[:at], name, *self.chosen[at + 1 :]),
            self.stages_shares,
            self.sessions,
            self.levels,
            self._own_but(slot),
        )

    def with_own(self, slot: Slot, option: Option) -> Design:
        """Return the design with a reader's own option in a slot, still under its name."""
        at = SLOTS.index(slot)
        return self._replace_fields(
            status=option.status,
            chosen=(*self.chosen[:at], option.name, *self.chosen[at + 1 :]),
            own=(*self._own_but(slot), (slot.name, option)),
        )

    def but_called(self, name: str, title: str, sentence: str, source: str) -> Design:
        """Return the design under another name."""
        return self._replace_fields(name=name, title=title, sentence=sentence, source=source)

    def _replace_fields(self, **fields: object) -> Design:
        """Return the design with other fields, while `but` changes slots."""
        return Value.but(self, **fields)

    def _own_but(self, slot: Slot) -> tuple[tuple[str, Option], ...]:
        return tuple(one for one in self.own if one[0] != slot.name)

    def options(self, slot: Slot) -> tuple[Option, ...]:
        """Return the possible options of a slot in this design: the reader's own option comes first."""
        own = (option for name, option in self.own if name == slot.name)
        return (*own, *slot.options)

    def differs_from(self, other: Design) -> tuple[tuple[str, str, str], ...]:
        """Return (slot, own option, the other's option) for the slots in which two designs differ."""
        return tuple(
            (s.name, mine, its)
            for s, mine, its in _compare(self.chosen, other.chosen)
            if mine != its
        )

    def broker_rules(self) -> BrokerRules:
        """Return the rules of this design's brokers."""
        return BrokerRules(**{s.name: self.option(s.name).choose for s in SLOTS if s.on_brokers})

    def client_rules(self) -> ClientRules:
        """Return the rules of this design's clients."""
        return ClientRules(
            **{s.name: self.option(s.name).choose for s in SLOTS if not s.on_brokers}
        )


def slot_named(name: str) -> Slot:
    """Return a slot by name.

    Raises:
        UnknownDesign: if there is none.
    """
    for slot in SLOTS:
        if slot.name == name:
            return slot
    raise UnknownDesign(unknown("slot", name, (s.name for s in SLOTS), "`kipviz list slots`"))


def comes_up(slot: Slot, spec: ClusterSpec) -> bool:
    """Return whether a slot's question can arise in a cluster at all."""
    if slot.only_with == SESSION:
        return any(a.session is not None for a in spec.applications)
    if slot.only_with == BOTH:
        lines = (line for a in spec.applications for line in a.program)
        return any(line.call is Call.NEW_PRODUCER and line.target for line in lines)
    if slot.only_with == THREADS:
        return any(a.session is not None and a.threads for a in spec.applications)
    if slot.only_with == RESETS:
        return any(line.call in RESETTING for a in spec.applications for line in a.program)
    if slot.only_with == PREPARED:
        calls = [{line.call for line in a.program} for a in spec.applications]
        return any(Call.PREPARE_TRANSACTION in c and not c.isdisjoint(STAGING) for c in calls)
    if slot.only_with == EXPLICIT:
        staging = (
            a.explicit and any(line.call in STAGING for line in a.program)
            for a in spec.applications
        )
        return any(staging)
    if slot.only_with == DRAINING:
        return any(line.call is Call.DRAIN for a in spec.applications for line in a.program)
    if slot.only_with == SEVERAL:
        return any(a.gathers for a in spec.applications)
    if slot.only_with == UPKEEP:
        return spec.settings.state_upkeep
    if slot.only_with == GROUP_IDS:
        return spec.transactional_group_id
    if slot.only_with == REMADE:
        return bool(spec.remade) and spec.look_up_topics
    if slot.only_with == GATED:
        return not spec.inter_broker_protocol
    if slot.only_with == MEMBERS:
        return any(a.protocol for a in spec.applications)
    if slot.only_with == HEARTBEATS:
        sessions = (a.session for a in spec.applications if a.session is not None)
        beating = any(a.heartbeat_interval_ms > 0 for a in spec.applications)
        return beating or any(session.heartbeat_interval_ms > 0 for session in sessions)
    return slot.only_with != KEPT or any(
        line.target == KEEP_PREPARED_TXN for a in spec.applications for line in a.program
    )


def _index(slot: str) -> int:
    return [s.name for s in SLOTS].index(slot_named(slot).name)


def _compare(
    one: tuple[str, ...] | list[str], other: tuple[str, ...]
) -> list[tuple[Slot, str, str]]:
    return list(zip(SLOTS, one, other, strict=True))
