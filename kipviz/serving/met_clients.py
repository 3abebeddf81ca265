"""The clients that have sent requests to a served cluster: what the world has no place for, and pages show."""

from __future__ import annotations

from kipviz.cluster.real.served_run import RealClient
from kipviz.cluster.world import World, host_of
from kipviz.messages.groups.several_groups import named_groups
from kipviz.messages.logs.producing import Produce
from kipviz.messages.message import Message
from kipviz.messages.transactions.transactions import named_transactions
from kipviz.serving.callers import Caller, Callers

CLIENTS_MAX = 1_000  # that are gone and have no kept step


class MetClients(dict[str, RealClient]):
    """The clients by their names, in the order in which they sent their first requests."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: set[str] = set()

    def meet(self, caller: Caller, message: Message, world: World, *, kept: bool) -> None:
        """Note what a request says about its client; what it names is noted if its steps are kept."""
        name = host_of(caller.source)
        known = self.get(name) or RealClient(name, caller.software)
        self[name] = _with_names(known, caller, message, world) if kept else known
        if kept:
            self._shown.add(name)

    def forget_gone(self, callers: Callers) -> None:
        """Forget clients without a connection, those that came first, beyond the bound; one with kept steps stays."""
        here = {host_of(caller.source) for caller in callers}
        gone = [name for name in self if name not in self._shown and name not in here]
        for name in gone[: max(0, len(gone) - CLIENTS_MAX)]:
            del self[name]


def _with_names(known: RealClient, caller: Caller, message: Message, world: World) -> RealClient:
    softwares = known.software.split(", ") if known.software else []
    if caller.software and caller.software not in softwares:
        known = known.but(software=", ".join((*softwares, caller.software)))
    names = dict.fromkeys((*known.transactional_ids, *filter(None, named_transactions(message))))
    if len(names) > len(known.transactional_ids):
        known = known.but(transactional_ids=tuple(names))
    groups = dict.fromkeys((*known.group_ids, *filter(None, named_groups(message))))
    if len(groups) > len(known.group_ids):
        known = known.but(group_ids=tuple(groups))
    if isinstance(message, Produce):
        # A partition that is not there has no log to show; that of a deleted topic had one.
        led = dict(zip(known.partitions, known.leaders, strict=True))
        for batch in message.partition_data:
            led.setdefault(batch.partition, world.image.leader_of(batch.partition))
        there = tuple(p for p in led if p in known.partitions or p in world.logs)
        if there != known.partitions:
            known = known.but(partitions=there, leaders=tuple(led[p] for p in there))
    return known
