"""Actions of whole brokers: they crash and start, and the controller moves leaders."""

from __future__ import annotations

from collections.abc import Iterable

from kipviz.brokers.context import NOBODY
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.clauses import SHIPPED, Clause
from kipviz.cluster import replication_control
from kipviz.cluster.actions import (
    CrashBroker,
    MoveLeader,
    StartBroker,
)
from kipviz.cluster.behaviour.action_name import ActionName, Verb
from kipviz.cluster.behaviour.behaviour import AnyBehaviour, Behaviour, Guard, Model
from kipviz.cluster.behaviour.naming import leadership, losses_of, render_list, short_name
from kipviz.cluster.operating import (
    why_not_registered,
)
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import (
    FEATURES,
    RELEASES,
    UP,
    World,
    broker_host,
    host_of,
)
from kipviz.core.table import pairs


class CrashingBroker(Behaviour[CrashBroker]):
    """A broker crashes; its partitions get another leader, its connections break."""

    action = CrashBroker
    parts_read = (UP,)
    verbs = (Verb("crash", "{0} crashes"),)
    place = 40
    clause = Clause(
        "crash",
        "KIP-98 Coordinator failover; KIP-932 share-partition leader change; KIP-631 fencing",
        SHIPPED,
        "ReplicationControlManager.handleBrokerFenced",
    )
    spends = "crash_broker"
    spent_as = "broker crashes"

    def why_not(self, model: Model, world: World, action: CrashBroker) -> str | None:
        return None if action.broker in world.up else f"broker {action.broker} is not running"

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[CrashBroker]:
        return [CrashBroker(broker) for broker in world.up]

    def apply(self, turn: Turn, action: CrashBroker) -> None:
        replication_control.crash(turn, action.broker)

    def sentence(self, world: World, action: CrashBroker) -> str:
        return f"Broker {action.broker} crashes. Its memory and its connections are gone."

    def looks_at(self, world: World, action: CrashBroker) -> Iterable[Guard]:
        broker, host = action.broker, broker_host(action.broker)
        led = tuple(p for p, held in world.image.leaders.items() if held.leader == broker)
        yield "leads", render_list(tuple(map(short_name, led)))
        yield from losses_of(
            c
            for (source, to), c in world.connections.items()
            if to == broker or host_of(source) == host
        )
        yield "records not replicated", str(sum(_unreplicated_count(world.logs[p]) for p in led))
        yield "crashes left", str(world.budget.crash_broker)

    def detail(self, world: World, action: CrashBroker) -> str:
        led = [p for p, held in world.image.leaders.items() if held.leader == action.broker]
        return ", ".join(map(leadership, led))

    def name(self, world: World, action: CrashBroker) -> ActionName:
        return ActionName(self.verbs[0], (broker_host(action.broker),))

    def lane(self, world: World, action: CrashBroker) -> str:
        return broker_host(action.broker)


class StartingBroker(Behaviour[StartBroker]):
    """A broker starts again, with nothing but its logs."""

    action = StartBroker
    parts_read = (UP, FEATURES, RELEASES)
    verbs = (Verb("start", "{0} starts"),)
    place = 170
    clause = Clause(
        "start",
        "KIP-631 broker registration and unfencing; KIP-98 Coordinator failover",
        SHIPPED,
        "ReplicationControlManager.handleBrokerUnfenced",
    )

    def why_not(self, model: Model, world: World, action: StartBroker) -> str | None:
        if action.broker not in model.spec.brokers:
            return f"there is no broker {action.broker}"
        if action.broker in world.up:
            return f"broker {action.broker} is running"
        return why_not_registered(world.image, action.broker)

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[StartBroker]:
        up = world.up
        if len(up) == len(spec.brokers):
            return ()
        down = [broker for broker in spec.brokers if broker not in up]
        return [StartBroker(b) for b in down if why_not_registered(world.image, b) is None]

    def apply(self, turn: Turn, action: StartBroker) -> None:
        replication_control.start(turn, action.broker)

    def sentence(self, world: World, action: StartBroker) -> str:
        return f"Broker {action.broker} restarts."

    def looks_at(self, world: World, action: StartBroker) -> Iterable[Guard]:
        leaders = world.image.leaders
        copies = tuple(p for p, held in leaders.items() if action.broker in held.replicas)
        free = tuple(p for p in copies if leaders[p].leader == NOBODY)
        yield "restarts with", f"the logs of {render_list(tuple(map(short_name, copies)))}"
        yield "takes over", render_list(tuple(map(short_name, free)))
        yield "brokers up", render_list(world.up)

    def name(self, world: World, action: StartBroker) -> ActionName:
        return ActionName(self.verbs[0], (broker_host(action.broker),))

    def lane(self, world: World, action: StartBroker) -> str:
        return broker_host(action.broker)


class MovingLeader(Behaviour[MoveLeader]):
    """The controller makes another replica the leader of a partition."""

    action = MoveLeader
    parts_read = (UP,)
    verbs = (Verb("move leader", "{0} moves to {1}"),)
    place = 50
    clause = Clause(
        "elect",
        "KIP-631 PartitionChangeRecord; KIP-932 share-partition leader change",
        SHIPPED,
        "PartitionChangeBuilder.electLeader, ReplicaManager.applyDelta",
    )
    spends = "move_leader"
    spent_as = "leader moves"
    # The leaders and running brokers that were looked at last, which change seldom, and the moves between them.
    _known: tuple[object, object, tuple[MoveLeader, ...]] = (None, None, ())

    def why_not(self, model: Model, world: World, action: MoveLeader) -> str | None:
        held = world.image.leaders.get(action.partition)
        if held is None:
            return f"there is no partition {action.partition}"
        if action.to == held.leader:
            return f"broker {action.to} leads {action.partition} already, in epoch {held.epoch}"
        if action.to not in held.replicas:
            return f"broker {action.to} has no replica of {action.partition}; brokers {', '.join(map(str, held.replicas))} have"
        return None if action.to in world.up else f"broker {action.to} is not running"

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[MoveLeader]:
        leaders, up = world.image.leaders, world.up
        known = self._known
        if known[0] is not leaders or known[1] is not up:
            found = tuple(
                MoveLeader(partition, broker)
                for partition, held in pairs(leaders)
                for broker in held.replicas
                if broker != held.leader and broker in up
            )
            known = self._known = (leaders, up, found)
        return known[2]

    def apply(self, turn: Turn, action: MoveLeader) -> None:
        replication_control.elect(turn, action.partition, action.to)

    def sentence(self, world: World, action: MoveLeader) -> str:
        return f"The controller makes Broker {action.to} the leader of {action.partition}."

    def looks_at(self, world: World, action: MoveLeader) -> Iterable[Guard]:
        held = world.image.leaders[action.partition]
        epoch = f"epoch {held.epoch}"
        led = held.leader != NOBODY
        yield "leader", f"Broker {held.leader}, {epoch}" if led else f"no leader, {epoch}"
        yield "replicas", render_list(tuple(f"Broker {b}" for b in held.replicas))
        yield f"Broker {action.to}", "up" if action.to in world.up else "down"
        yield "records not replicated", str(_unreplicated_count(world.logs[action.partition]))
        yield "moves left", str(world.budget.move_leader)

    def detail(self, world: World, action: MoveLeader) -> str:
        return leadership(action.partition)

    def name(self, world: World, action: MoveLeader) -> ActionName:
        return ActionName(self.verbs[0], (action.partition, broker_host(action.to)))


BEHAVIOURS: tuple[AnyBehaviour, ...] = (CrashingBroker(), StartingBroker(), MovingLeader())


def _unreplicated_count(log: PartitionLog) -> int:
    return log.end_offset - log.high_watermark
