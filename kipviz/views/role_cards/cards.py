"""The cards beside the diagram: the state of every role, as rows of plain text.

A card is made from one or two objects of the world. Worlds share what did not change, so a card of the same objects is
the same card and costs nothing. Some cards are also folds over the branch: counters, transitions taken, records that
the leader has dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.brokers.rules import BrokerRules
from kipviz.brokers.share_leaders.share_partition import ShareLeader, SharePartition
from kipviz.brokers.transactions.transaction_metadata import TransactionMetadata
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.clients.application import Call
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.real.rebuilt_cluster import RebuiltModel, ShownCards
from kipviz.cluster.real.served_run import RealClient, clients_of, lines_of
from kipviz.cluster.specs.kafka_defaults import CLASSIC
from kipviz.cluster.specs.spec import ApplicationSpec
from kipviz.cluster.start.processes import configured_ids, task_id, transactional_groups
from kipviz.cluster.world import World, role_key
from kipviz.core.model import Event
from kipviz.core.table import Table
from kipviz.core.values import Value
from kipviz.messages.apis.api import Role
from kipviz.messages.events import ClassicGroupMoved, RecordsMoved, TransactionMoved
from kipviz.records.placement import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    index_of,
    partition_for,
    share_partition_key,
    topic_of,
)
from kipviz.views import machines
from kipviz.views.machines import Machine, Pair
from kipviz.views.measures import metrics, proposed_metrics
from kipviz.views.role_cards import coordinators, logs, owners, real_clients, remaining_time, shares
from kipviz.views.role_cards.card_rows import Card, spans
from kipviz.views.role_cards.own_view import OwnView
from kipviz.views.role_cards.shares import Due, Finished

# What a card is made of: objects of the world. A card is made again only if one of them is another object.
Parts = tuple[object, ...]
# How often each transition of a machine was taken.
Taken = dict[Pair, int]


class CardHead(Value, frozen=True):
    """The constant part of a card; `machine` names its drawing, `about` explains its rows."""

    id: str
    title: str
    where: str
    kind: str
    lane: str | None
    order: int
    machine: str = ""
    about: dict[str, str] = msgspec.field(default_factory=dict)


class Cards:
    """The cards of one cluster, made step by step along one branch of a trace."""

    def __init__(self, model: ClusterModel, views: tuple[OwnView, ...] = ()) -> None:
        """Lay out the cards of a cluster, then those of a reader's own views; they are the same on every branch."""
        self._model = model
        self._spec = model.spec
        self._stages = _stages(model)
        self._role_rows = owners.RoleRows()
        self.polls = real_clients.OpenPolls(model)
        self._seen: dict[str, tuple[tuple[int, ...], Parts, Card]] = {}
        self._finished: dict[str, Finished] = {}
        self._taken: dict[str, Taken] = {}
        self._producers: dict[str, tuple[int, str]] = {}
        spec = model.spec
        longest = spec.settings.transaction_max_timeout_ms if spec.clock.timed else -1
        self._metrics = metrics.Metrics(longest_ms=longest)
        self._proposed = proposed_metrics.ProposedMetrics(timed=model.spec.clock.timed)
        self.heads: list[CardHead] = []
        self.machines: list[Machine] = []
        self._makers: list[tuple[str, Callable[[World], Parts], Callable[..., Card]]] = []
        self._lay_out()
        for place, view in enumerate(views):
            head = CardHead(view.id, view.title, view.sentence, "own", None, 100 + place)
            self._add(head, lambda w: (w,), view.card)

    def snapshot(self, world: World) -> dict[str, Card]:
        """Return every card of the world that was observed last."""
        return {name: self._card(name, parts(world), make) for name, parts, make in self._makers}

    def observe(self, world: World, events: tuple[Event, ...]) -> None:
        """Advance to the next world; `events` are those that led to it."""
        self._metrics.observe(events)
        if self._stages:
            self._proposed.observe(world, events)
        for event in events:
            if isinstance(event, RecordsMoved):
                done = self._finished.setdefault(event.partition, {})
                self._finished[event.partition] = {
                    **done,
                    event.first: (event.after, event.delivery_count),
                }
                pair = (event.before.name, event.after.name)
                self._take(f"{event.group_id} {event.partition}", pair)
            elif isinstance(event, TransactionMoved) and event.before is not None:
                self._take(event.transactional_id, (event.before.name, event.after.name))
            elif isinstance(event, ClassicGroupMoved):
                for pair in machines.way(machines.CLASSIC_GROUP, event.before, event.after):
                    self._take(event.group_id, pair)
        self._producers_move(world)

    def _take(self, of: str, pair: Pair) -> None:
        taken = self._taken.get(of, {})
        self._taken[of] = {**taken, pair: taken.get(pair, 0) + 1}

    def _producers_move(self, world: World) -> None:
        """Follow the producers' states; the start of a new process is no transition."""
        for name, app in world.applications.items():
            now = (app.life, app.manager.state.name)
            before = self._producers.get(name, now)
            if before != now and before[0] == now[0]:
                for pair in machines.way(machines.TWO_PHASE_PRODUCER, before[1], now[1]):
                    self._take(f"producer {name}", pair)
            self._producers[name] = now

    def _card(self, name: str, parts: Parts, make: Callable[..., Card]) -> Card:
        marks = tuple(map(id, parts))
        known = self._seen.get(name)
        if known is not None and known[0] == marks:
            return known[2]
        card = make(*parts)
        self._seen[name] = (marks, parts, card)
        return card

    # -- the layout ----------------------------------------------------------------------------

    def _lay_out(self) -> None:
        if isinstance(self._model, RebuiltModel):
            self._lay_out_logs(self._model.shown)
            return
        for client in clients_of(self._model):
            self._of_real_client(client)
        for app in self._spec.applications:
            self._of_application(app)
        for app in self._spec.members:
            self._of_group(app)
        for app in self._spec.members:
            for name in _transactional_ids(app):
                self._transaction(name)
        self._logs()
        for broker in self._spec.brokers:
            self._of_broker(broker)
        self._add(
            CardHead("leaders", "Partition leaders", "the controller", "facts", None, 90),
            lambda w: (w.image,),
            coordinators.leaders,
        )
        if self._spec.clock.timed:
            self._add(
                CardHead("timers", "Time left", "every timer", "facts", None, 5),
                lambda w: (w,),
                remaining_time.timers,
            )
        about = metrics.KAFKA
        self._add(
            CardHead("metrics", "Metrics", "from the start", "metrics", None, 95, about=about),
            lambda _: (self._metrics.card,),
            lambda card: card,
        )
        if self._stages:
            about = proposed_metrics.ABOUT
            title = "Metrics of KIP-1289 (draft)"
            self._add(
                CardHead(
                    "proposed", title, "the KIP's own seven", "metrics", None, 96, about=about
                ),
                lambda _: (self._proposed.card,),
                lambda card: card,
            )

    def _add(
        self, head: CardHead, parts: Callable[[World], Parts], make: Callable[..., Card]
    ) -> None:
        if head.id in {h.id for h in self.heads}:
            return
        self.heads.append(head)
        self._makers.append((head.id, parts, make))

    def _add_machine(
        self,
        head: CardHead,
        machine: Machine,
        parts: Callable[[World], Parts],
        make: Callable[..., Card],
    ) -> None:
        if machine not in self.machines:
            self.machines.append(machine)
        self._add(head.but(kind="machine", machine=machine.id), parts, make)

    def _of_real_client(self, client: RealClient) -> None:
        name = client.name
        self._add(
            CardHead(f"connections:{name}", "Connections", name, "facts", name, 40),
            lambda w: (w.connections, self.polls.now),
            partial(real_clients.connections, name),
        )
        if any(line.client == name for line in lines_of(self._model)):
            # Its rows follow the log and not the world: `real_clients.ClientLogs` makes them.
            self.heads.append(CardHead(f"lines:{name}", "Its log", name, "facts", name, 45))
        for transactional_id in client.transactional_ids:
            self._transaction(transactional_id)
        for group_id in client.group_ids:
            self._offsets(self._home(CONSUMER_OFFSETS, group_id))

    def _of_application(self, app: ApplicationSpec) -> None:
        name = app.name

        def of(world: World) -> Parts:
            return (world.applications[name],)

        def states(world: World) -> Parts:
            return (world.applications[name].manager.state, self._taken.get(f"producer {name}"))

        self._add(
            CardHead(f"program:{name}", "The application", name, "application", name, 40),
            of,
            owners.program,
        )
        self._add(
            CardHead(f"clients:{name}", "Its clients", name, "facts", name, 50), of, owners.clients
        )
        if not app.admin:
            self._add_machine(
                CardHead(f"machine:{name}", "Producer states", name, "", name, 70),
                machines.TWO_PHASE_PRODUCER if app.two_phase_commit else machines.PRODUCER,
                states,
                lambda state, taken: machines.rows({state.name: ""}, taken or {}),
            )
        self._add(
            CardHead(f"owns:{name}", "Objects and connections", name, "facts", name, 80),
            lambda w: (w.applications[name], w.connections),
            owners.of_application,
        )

    def _of_group(self, app: ApplicationSpec) -> None:
        if app.share:
            for source in _sources(app):
                self._of_share_partition(app, source)
            return
        home = self._home(CONSUMER_OFFSETS, app.group_id)
        self._offsets(home)
        if app.protocol == CLASSIC:
            self._classic_group(app.group_id, home)

    def _classic_group(self, group_id: str, home: str) -> None:
        def parts(world: World) -> Parts:
            role = world.roles.get(role_key(world.image.leader_of(home), home))
            groups = role.classic_groups if isinstance(role, GroupCoordinator) else Table.of()
            return (groups.get(group_id), self._taken.get(group_id))

        self._add_machine(
            CardHead(
                f"machine:{group_id}", "Group states", group_id, "", f"B{self._leader(home)}", 71
            ),
            machines.CLASSIC_GROUP,
            parts,
            lambda group, taken: machines.rows(
                {group.state.name: f"generation {group.generation}"} if group else {}, taken or {}
            ),
        )

    def _offsets(self, home: str) -> None:
        self._add(
            CardHead(
                f"offsets:{home}", "Group coordinator", home, "facts", f"B{self._leader(home)}", 10
            ),
            lambda w: (w.roles.get(role_key(w.image.leader_of(home), home)),),
            coordinators.offsets,
        )

    def _share_state(self, home: str) -> None:
        self._add(
            CardHead(
                f"state:{home}", "Share coordinator", home, "facts", f"B{self._leader(home)}", 30
            ),
            lambda w: (w.roles.get(role_key(w.image.leader_of(home), home)),),
            shares.coordinator,
        )

    def _lay_out_logs(self, shown: ShownCards) -> None:
        """Add the cards of the content of a broker's logs."""
        for name in shown.transactional_ids:
            self._transaction(name)
        for home in shown.offsets:
            self._offsets(home)
        for home in shown.share_states:
            self._share_state(home)
        for partition in shown.topics:
            self._log(partition, "log", "log", 15, logs.Tape())
        for order, partition in enumerate(shown.internal, 60):
            self._log(
                partition, "log: key and value", "entries", order, logs.Entries(self._share_name)
            )

    def _of_share_partition(self, app: ApplicationSpec, source: str) -> None:
        key = self._key(app.group_id, source)
        of = f"{app.group_id} {source}"

        def parts(world: World) -> Parts:
            broker = world.image.leader_of(source)
            role = world.roles.get((broker, Role.SHARE_PARTITION_LEADER, ""))
            share = role.shares.get(key) if isinstance(role, ShareLeader) else None
            rules = self._model.context(world, broker).rules
            left = remaining_time.locks(world, broker, key)
            return (share, world.logs[source], self._finished.get(source), rules, left)

        def states(
            share: SharePartition | None,
            log: PartitionLog,
            finished: Finished | None,
            rules: BrokerRules,
            left: Due,
            taken: Taken | None,
        ) -> Card:
            found: dict[str, list[int]] = {}
            for cells in shares.strip(share, log, finished, rules, left).values():
                if "offset" in cells:
                    found.setdefault(cells["state"], []).append(cells["offset"])
            lit = {name: spans(offsets) for name, offsets in found.items()}
            return machines.rows(lit, taken or {})

        leader = f"B{self._leader(source)}"
        title = f"{source} for {app.group_id}"
        self._add(
            CardHead(f"share:{key}", title, "share-partition", "records", leader, 10),
            parts,
            shares.strip,
        )
        self._share_state(self._home(SHARE_GROUP_STATE, key))
        stages = any(
            line.call is Call.SEND_SHARE_ACKNOWLEDGEMENTS
            for other in self._spec.applications
            for line in other.program
        )
        self._add_machine(
            CardHead(
                f"machine:{key}", "Record states", f"{source} for {app.group_id}", "", leader, 72
            ),
            machines.RECORD if stages else machines.SHIPPED_RECORD,
            lambda w: (*parts(w), self._taken.get(of)),
            states,
        )

    def _transaction(self, name: str) -> None:
        home = self._home_of_transactions(name)
        lane = f"B{self._leader(home)}"

        def parts(world: World) -> Parts:
            role = world.roles.get(role_key(world.image.leader_of(home), home))
            if not isinstance(role, TransactionCoordinator):
                return (None, None, coordinators.NO_GENERATION)
            generation = coordinators.generation(role, name)
            return (role.transactions.get(name), role.loading, generation)

        def states(
            known: TransactionMetadata | None,
            loading: bool | None,
            _: tuple[str, str],
            taken: Taken | None,
        ) -> Card:
            lit = {known.state.name: ""} if known is not None and loading is False else {}
            return machines.rows(lit, taken or {})

        self._add(
            CardHead(
                f"transaction:{name}", f"Transaction {name}", "coordinator", "facts", lane, 20
            ),
            parts,
            coordinators.transaction,
        )
        self._add_machine(
            CardHead(f"machine:{name}", "Transaction states", name, "", lane, 71),
            machines.TRANSACTION,
            lambda w: (*parts(w), self._taken.get(name)),
            states,
        )

    def _logs(self) -> None:
        outputs = dict.fromkeys(app.output for app in self._spec.members)
        sends = (li for app in self._spec.members for li in app.program if li.call is Call.SEND)
        outputs |= dict.fromkeys(line.target.split()[0] for line in sends if line.target)
        homes = []
        for app in self._spec.members:
            homes += [self._home_of_transactions(name) for name in _transactional_ids(app)]
            if app.share:
                keys = (self._key(app.group_id, source) for source in _sources(app))
                homes += [self._home(SHARE_GROUP_STATE, key) for key in keys]
            else:
                homes.append(self._home(CONSUMER_OFFSETS, app.group_id))
        for client in clients_of(self._model):
            homes += [self._home_of_transactions(name) for name in client.transactional_ids]
            homes += [self._home(CONSUMER_OFFSETS, group_id) for group_id in client.group_ids]
            outputs |= dict.fromkeys(client.partitions)
        for partition in outputs:
            self._log(partition, "log", "log", 15, logs.Tape())
        for order, partition in enumerate(dict.fromkeys(homes), 60):
            self._log(
                partition, "log: key and value", "entries", order, logs.Entries(self._share_name)
            )

    def _log(
        self, partition: str, where: str, kind: str, order: int, make: Callable[..., Card]
    ) -> None:
        lane, empty = f"B{self._leader(partition)}", PartitionLog(partition)
        self._add(
            CardHead(f"log:{partition}", partition, where, kind, lane, order),
            # A topic that an operator creates has no log before that step.
            lambda w: (w.logs.get(partition, empty),),
            make,
        )

    def _of_broker(self, broker: int) -> None:
        self._add(
            CardHead(
                f"owns:B{broker}",
                "Objects and connections",
                f"Broker {broker}",
                "facts",
                f"B{broker}",
                81,
            ),
            lambda w: (w.roles, w.connections, w.up),
            partial(owners.of_broker, broker, self._role_rows),
        )

    def _share_name(self, key: str) -> str:
        """Return the name of a share-partition from its key: its group and its partition."""
        group, topic_id, index = key.rsplit(":", 2)
        topics = {known: topic for topic, known in self._spec.topic_ids}
        return f"{group}, {topics.get(topic_id, topic_id)}-{index}"

    def _key(self, group_id: str, source: str) -> str:
        topic_id = dict(self._spec.topic_ids)[topic_of(source)]
        return share_partition_key(group_id, topic_id, index_of(source))

    def _home(self, topic: str, key: str) -> str:
        return f"{topic}-{partition_for(key, self._spec.internal_partitions)}"

    def _home_of_transactions(self, name: str) -> str:
        key = dict(transactional_groups(self._spec)).get(name, name)
        return self._home(TRANSACTION_STATE, key)

    def _leader(self, partition: str) -> int:
        """Return the leader of a partition at the start; of a topic that an operator creates, at its first batch."""
        for placement in self._spec.placements:
            if placement.partition == partition:
                return placement.leader
        for client in clients_of(self._model):
            # A run that was saved before leaders were noted has none.
            for produced, leader in zip(client.partitions, client.leaders, strict=False):
                if produced == partition and leader in self._spec.brokers:
                    return leader
        return self._spec.brokers[0]


def _sources(app: ApplicationSpec) -> tuple[str, ...]:
    """Return the partitions to show: all of a consumer that holds records of several."""
    return (app.source, *app.further_sources) if app.gathers else (app.source,)


def _stages(model: ClusterModel) -> bool:
    """Return whether an application stages acknowledgements in a transaction (KIP-1289)."""
    return not isinstance(model, RebuiltModel) and any(
        line.call is Call.SEND_SHARE_ACKNOWLEDGEMENTS
        for app in model.spec.applications
        for line in app.program
    )


def _transactional_ids(app: ApplicationSpec) -> tuple[str, ...]:
    """Return an application's transactional ids: its own, its tasks', and those that its program configures."""
    own = (app.transactional_id,) if app.transactional_id else ()
    return (*own, *(task_id(app, task) for task in app.tasks), *configured_ids(app))
