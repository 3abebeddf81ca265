"""A cluster rebuilt from a broker's logs: every batch is a step, applied by the roles' `replay`.

A record has the same effect here as on a coordinator that loads its state, so real and simulated logs are read by the
same code. There is one broker, number 1, which leads everything, because logs do not say which broker led a partition;
where a recording does, each leader is elected before the next batch is read.

NOT MODELLED: what is in no log. There are no clients, no messages and no timers; locks of share groups are in their
leader's memory alone, and so is the state of a classic group between two generations. Everything in the logs counts as
replicated. Records of streams groups are skipped.
"""

from __future__ import annotations

from typing import Any

from kipviz.brokers.context import Leadership
from kipviz.brokers.groups import group_state
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.logs.partition_log import PartitionLog, append, replicate
from kipviz.brokers.membership.consumer_group import ConsumerGroup
from kipviz.brokers.rules import BrokerRules
from kipviz.brokers.share_coordinators import share_coordinator
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.brokers.transactions import transaction_coordinator
from kipviz.brokers.transactions.transaction_metadata import PREPARED
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.clients.rules import ClientRules
from kipviz.cluster.actions import ClusterAction, ReadLog
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.abstraction import SMALL
from kipviz.cluster.specs.spec import ClusterSpec, Placement
from kipviz.cluster.world import World, role_key
from kipviz.core.model import Event, NotEnabled, Outcome
from kipviz.core.table import Table
from kipviz.core.values import Value
from kipviz.messages.apis.api import Role
from kipviz.messages.events import (
    BatchAppended,
    LeaderMoved,
    OffsetStaged,
    TimePassed,
    TransactionDecided,
    TransactionMoved,
)
from kipviz.records.batches import Batch
from kipviz.records.consumer_offsets import MemberRecord, OffsetCommitRecord
from kipviz.records.share_group_state import ShareUpdateRecord
from kipviz.records.transaction_state import TransactionRecord, TransactionState

BROKER = 1
# The kind of a record that deletes its key.
GONE = "gone"


class PassedOver(Value, frozen=True):
    """A record of an internal topic without an effect here: it keeps its place in the log."""

    kind: str
    key: str


class RebuiltBatch(Value, frozen=True):
    """A batch of a partition's log and when it was written; `gone` are keys that it deletes.

    `at` is the time as text, `at_ms` in ms since 1970; `leader_epoch` is that of the writing leader.
    """

    partition: str
    batch: Batch
    at_ms: int
    at: str
    gone: tuple[str, ...] = ()
    leader_epoch: int = 0


class Election(Value, frozen=True):
    """A partition got another leader, -1 for none, after `after` batches had been written anywhere."""

    partition: str
    leader: int
    epoch: int
    replicas: tuple[int, ...]
    after: int


class ShownCards(Value, frozen=True):
    """The cards of a page: transactional ids, and partitions by their content."""

    transactional_ids: tuple[str, ...]
    offsets: tuple[str, ...]
    share_states: tuple[str, ...]
    internal: tuple[str, ...]
    topics: tuple[str, ...]


def spec_of(
    entries: tuple[RebuiltBatch, ...],
    internal_partitions: int,
    placements: tuple[Placement, ...] = (),
) -> ClusterSpec:
    """Return the spec for some logs; without placements it has one broker."""
    if not placements:
        names = sorted({entry.partition for entry in entries})
        placements = tuple(Placement(name, BROKER) for name in names)
    brokers = sorted({b for p in placements for b in (p.leader, *p.others)})
    known = [e.batch.producer_id for e in entries]
    known += [
        r.producer_id for e in entries for r in e.batch.records if isinstance(r, TransactionRecord)
    ]
    # The ids allocated earlier are in no log; the next one is at least the first that was used.
    first = min((each for each in known if each >= 0), default=0)
    # Batches are only read, one after the other: no other setting matters.
    return SMALL.of_brokers(
        ClusterSpec(
            tuple(brokers) or (BROKER,),
            placements,
            (),
            (),
            (),
            internal_partitions=internal_partitions,
            first_producer_id=first,
        )
    )


class RebuiltModel(ClusterModel):
    """The logs of a broker as a model with one kind of step: read the next batch.

    Attributes:
        entries: the batches, in the order in which they were written.
        skipped: how many of them are read before the first step.
        elections: which leaders were elected in the meantime.
    """

    def __init__(
        self,
        spec: ClusterSpec,
        brokers: BrokerRules,
        clients: ClientRules,
        entries: tuple[RebuiltBatch, ...],
        skipped: int = 0,
        elections: tuple[Election, ...] = (),
    ) -> None:
        """Store the entries.

        Raises:
            BadSpec: if such a cluster is not possible.
        """
        super().__init__(spec, brokers, clients)
        self.entries = entries
        self.skipped = skipped
        self.elections = elections
        self._elected_after: dict[int, list[Election]] = {}
        for each in elections:
            self._elected_after.setdefault(each.after, []).append(each)
        # The newest world that was asked about, and its position: a step asks three times, and then about the next one.
        self._newest: tuple[World | None, int] = (None, 0)

    def __reduce__(self) -> tuple[Any, ...]:
        rules = (self._brokers, self._clients)
        return type(self), (self.spec, *rules, self.entries, self.skipped, self.elections)

    def initial(self) -> World:
        """Return the world before the first step, in which only the skipped entries are read."""
        world = super().initial()
        starts: dict[str, int] = {}
        for entry in self.entries:
            starts.setdefault(entry.partition, entry.batch.base_offset)
        logs = {
            name: PartitionLog(name, start, end_offset=start, high_watermark=start)
            for name, start in starts.items()
        }
        world = world.but(logs=Table.of({**dict(world.logs.items()), **logs}))
        for position, entry in enumerate(self.entries[: self.skipped]):
            world, _ = self._apply_elections(world, position)
            world, _ = self._read(world, entry)
        return world

    def position(self, world: World) -> int:
        """Return how many entries are read in a world."""
        newest, position = self._newest
        if newest is not world:
            position = sum(len(log.batches) for log in world.logs.values())
            self._newest = (world, position)
        return position

    def enabled(self, world: World) -> tuple[ClusterAction, ...]:
        """Return the only possible action: read the batch that was written next."""
        position = self.position(world)
        if position == len(self.entries):
            return ()
        after, _ = self._apply_elections(world, position)
        entry = self.entries[position]
        leader = after.image.leader_of(entry.partition)
        return (ReadLog(entry.partition, entry.batch.base_offset, entry.at, leader),)

    def why_not(self, world: World, action: ClusterAction) -> str | None:
        """Return why only the next batch can be read."""
        possible = self.enabled(world)
        if action in possible:
            return None
        if not isinstance(action, ReadLog):
            return "this run is read from a broker's logs: only what they hold can happen"
        if not possible:
            return "the logs have been read to their end"
        return f"the batch that was written next is the one at {possible[0].offset} of {possible[0].partition}"  # type: ignore[union-attr]

    def step(self, world: World, action: ClusterAction) -> Outcome:
        """Read the next batch.

        Raises:
            NotEnabled: if it is not the next one.
        """
        why = self.why_not(world, action)
        if why is not None:
            raise NotEnabled(action, why)
        position = self.position(world)
        entry = self.entries[position]
        world, elected = self._apply_elections(world, position)
        after, events = self._read(world, entry)
        events = (*elected, *events)
        elapsed = entry.at_ms - self.entries[position - 1].at_ms if position else 0
        if elapsed > 0:
            events = (TimePassed(elapsed), *events)
        self._newest = (after, position + 1)
        return Outcome(after, events)

    @property
    def shown(self) -> ShownCards:
        """The subjects of the page's cards."""
        return self.showing(self.entries)

    @staticmethod
    def showing(entries: tuple[RebuiltBatch, ...]) -> ShownCards:
        """Return the subjects of the page's cards, in the order in which they appear."""
        ids: dict[str, None] = {}
        partitions: dict[str, dict[str, None]] = {}
        for entry in entries:
            role = role_key(BROKER, entry.partition)[1]
            partitions.setdefault(role, {})[entry.partition] = None
            for record in entry.batch.records:
                if isinstance(record, TransactionRecord):
                    ids[record.transactional_id] = None
        topics = tuple(partitions.pop(Role.PARTITION_LEADER, ()))
        return ShownCards(
            tuple(ids),
            tuple(partitions.get(Role.GROUP_COORDINATOR, ())),
            tuple(partitions.get(Role.SHARE_COORDINATOR, ())),
            tuple(name for names in partitions.values() for name in names),
            topics,
        )

    # -- reading -------------------------------------------------------------------------------

    def _apply_elections(self, world: World, position: int) -> tuple[World, tuple[Event, ...]]:
        """Apply the elections that came before a batch was written."""
        events: list[Event] = []
        for each in self._elected_after.get(position, ()):
            before = world.image.leader_of(each.partition)
            world = elect_rebuilt(world, each.partition, each.leader, each.epoch, each.replicas)
            events.append(LeaderMoved(each.partition, before, each.leader, each.epoch))
        return world, tuple(events)

    def _read(self, world: World, entry: RebuiltBatch) -> tuple[World, tuple[Event, ...]]:
        batch, name = entry.batch, entry.partition
        log = replicate(append(world.logs[name], batch))
        key = role_key(world.image.leader_of(name), name)
        role, told = self._replay_batch(world.roles[key], entry)
        roles = world.roles.set(key, role) if role is not world.roles[key] else world.roles
        if batch.control:
            roles = _remove_marked(roles, name, batch)
        appended = BatchAppended(
            name,
            batch.base_offset,
            batch.records,
            batch.producer_id,
            batch.producer_epoch,
            batch.control,
        )
        return world.but(logs=world.logs.set(name, log), roles=roles), (appended, *told)

    def _replay_batch(self, role: Any, entry: RebuiltBatch) -> tuple[Any, tuple[Event, ...]]:
        """Let the leader's role replay a batch."""
        batch = entry.batch
        if isinstance(role, TransactionCoordinator):
            return _transactions(role, entry)
        if isinstance(role, GroupCoordinator):
            return _groups(role, entry)
        if isinstance(role, ShareCoordinator):
            read = tuple(
                r
                for r in batch.records
                if not isinstance(r, PassedOver)
                and not (isinstance(r, ShareUpdateRecord) and r.key not in role.states)
            )
            role = share_coordinator.replay(role, batch.but(records=read), self._brokers)
            return role.but(states=_delete_keys(role.states, entry.gone)), ()
        return role, ()


def elect_rebuilt(
    world: World, partition: str, leader: int, epoch: int, replicas: tuple[int, ...]
) -> World:
    """Return a rebuilt world in which another broker leads a partition, with the state of its role."""
    key = role_key(world.image.leader_of(partition), partition)
    role = world.roles[key]
    if isinstance(role, TransactionCoordinator) and role.coordinator_epoch != epoch:
        role = role.but(coordinator_epoch=epoch)
    if isinstance(role, PartitionLeader) and role.leader_epoch != epoch:
        role = role.but(leader_epoch=epoch)
    held = Leadership(leader, epoch, replicas)
    before = world.image.leaders.get(partition)
    if before == held and role is world.roles[key]:
        return world
    image = world.image.but(leaders=world.image.leaders.set(partition, held))
    roles = world.roles.without(key).set(role_key(leader, partition), role)
    return world.but(image=image, roles=roles)


def _delete_keys(table: Table[Any, Any], gone: tuple[str, ...]) -> Table[Any, Any]:
    """Delete the keys of tombstones; a key of two names is written with a space between them."""
    for key in table.keys() if gone else ():
        if (key if isinstance(key, str) else " ".join(key)) in gone:
            table = table.without(key)
    return table


def _groups(
    role: GroupCoordinator, entry: RebuiltBatch
) -> tuple[GroupCoordinator, tuple[Event, ...]]:
    """Replay offsets and members, and emit events for staged offsets.

    Offsets keep their place in the log, which decides between two of them. Compaction may have removed the older record
    of a group's epoch, so its members do not count as existing before the run.
    """
    batch = entry.batch
    for at, record in enumerate(batch.records, batch.base_offset):
        if isinstance(record, PassedOver):
            continue
        if isinstance(record, MemberRecord) and record.group_id not in role.groups:
            role = role.but(groups=role.groups.set(record.group_id, ConsumerGroup()))
        role = group_state.replay(role, batch.but(base_offset=at, records=(record,)))
    if batch.control:
        role = group_state.replay(role, batch)
    role = role.but(
        offsets=_delete_keys(role.offsets, entry.gone),
        groups=_delete_keys(role.groups, entry.gone),
        share_groups=_delete_keys(role.share_groups, entry.gone),
    )
    offsets = tuple(r for r in batch.records if isinstance(r, OffsetCommitRecord))
    staged = offsets if batch.transactional else ()
    return role, tuple(
        OffsetStaged(r.group_id, r.partition, r.offset, batch.producer_id) for r in staged
    )


def _transactions(
    role: TransactionCoordinator, entry: RebuiltBatch
) -> tuple[TransactionCoordinator, tuple[Event, ...]]:
    """Replay transaction records, and emit events for transitions."""
    events: list[Event] = []
    for record in entry.batch.records:
        if not isinstance(record, TransactionRecord):
            continue
        before = role.transactions.get(record.transactional_id)
        role = transaction_coordinator.replay(role, record)
        events.append(
            TransactionMoved(
                record.transactional_id,
                record.producer_id,
                record.producer_epoch,
                None if before is None else before.state,
                record.state,
                record.partitions,
            )
        )
        if record.state in PREPARED and (before is None or before.state is not record.state):
            epoch = record.producer_epoch if before is None else before.producer_epoch
            committed = record.state is TransactionState.PREPARE_COMMIT
            pid = record.producer_id if before is None else before.producer_id
            events.append(TransactionDecided(record.transactional_id, pid, epoch, committed))
    return role.but(transactions=_delete_keys(role.transactions, entry.gone)), tuple(events)


def _remove_marked(roles: Table[Any, Any], partition: str, batch: Batch) -> Table[Any, Any]:
    """Remove a partition that has its marker; the rest is what a transaction waits for."""
    for key, role in roles.items():
        if not isinstance(role, TransactionCoordinator):
            continue
        for name, known in role.transactions.items():
            if known.producer_id == batch.producer_id and known.state in PREPARED:
                left = tuple(p for p in known.partitions if p != partition)
                table = role.transactions.set(name, known.but(partitions=left))
                roles = roles.set(key, role.but(transactions=table))
    return roles
