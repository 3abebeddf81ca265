"""Actions on messages, on connections, and on hosts that cannot reach each other."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from kipviz.clauses import SHIPPED, Clause
from kipviz.cluster.actions import (
    Cut,
    Deliver,
    DeliverLate,
    GiveUp,
    Heal,
    LoseConnection,
    Pause,
    Resume,
)
from kipviz.cluster.behaviour.action_name import ActionName, Verb
from kipviz.cluster.behaviour.behaviour import AnyBehaviour, Behaviour, Guard, Model
from kipviz.cluster.behaviour.naming import losses_of, on_wire, render_list, request_name, who
from kipviz.cluster.network import network_partition
from kipviz.cluster.network.abandoned_requests import can_be_given_up
from kipviz.cluster.network.network_partition import is_cut, why_no_cut, why_no_heal
from kipviz.cluster.network.partition_sides import (
    are_two,
    both,
    hosts_in_words,
    hosts_on,
    pairs_in_words,
)
from kipviz.cluster.network.paused_hosts import list_paused, pausable, why_no_pause, why_no_resume
from kipviz.cluster.network.traffic import between, messages_to
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.timing.clock import Due
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import (
    ACLS,
    CONNECTIONS,
    CUTS,
    FEATURES,
    RELEASES,
    Connection,
    World,
    broker_host,
    host_of,
)
from kipviz.core.table import pairs
from kipviz.core.watched import Cell
from kipviz.settings.client_configs import REQUEST_TIMEOUT_MS

# One shared object for each: most steps of a run are arrivals, and all of them are stored.
_arrival = lru_cache(maxsize=4096)(Deliver)


class Delivering(Behaviour[Deliver]):
    """The message at the head of a connection arrives. `way` is "request" or "response"."""

    action = Deliver
    dues = (Due.DELIVERY,)
    delivers = True
    parts_read = (CUTS, FEATURES, RELEASES, ACLS)
    verbs = (
        Verb("deliver from", "{0} from {1} arrives at {2}"),
        Verb("deliver", "{0} arrives at {1}"),
    )

    def why_not(self, model: Model, world: World, action: Deliver) -> str | None:
        if action.way not in {"request", "response"}:
            return f"a message goes as a request or a response, not as {action.way!r}"
        connection = world.connections.get((action.source, action.broker))
        if connection is None or not connection.open or connection.left:
            return f"there is no connection from {action.source} to broker {action.broker}"
        if not (connection.requests if action.way == "request" else connection.responses):
            return (
                f"no {action.way} is in flight between {action.source} and broker {action.broker}"
            )
        if action.way == "request" and connection.serving is not None:
            return (
                f"broker {action.broker} is still handling {type(connection.serving.message).__name__} "
                "and reads the connection only after its answer"
            )
        if is_cut(world, action.source, action.broker):
            return f"{host_of(action.source)} and B{action.broker} are partitioned"
        return None

    def of_connection(self, place: tuple[str, int], connection: Connection) -> Iterable[Deliver]:
        taken = connection.requests and connection.serving is None and not connection.left
        found = [_arrival(*place, "request")] if taken else []
        if connection.responses:
            found.append(_arrival(*place, "response"))
        return found

    def apply(self, turn: Turn, action: Deliver) -> None:
        if action.way == "request":
            turn.deliver_request(action.source, action.broker)
        else:
            turn.deliver_response(action.source, action.broker)

    def detail(self, world: World, action: Deliver) -> str:
        ends = (action.source, broker_host(action.broker))
        return " → ".join(ends if action.way != "response" else reversed(ends))

    def deadline_cause(self, action: Deliver) -> Cell:
        return CONNECTIONS, (action.source, action.broker)

    def actor(self, action: Deliver) -> str:
        return broker_host(action.broker) if action.way == "request" else host_of(action.source)

    def name(self, world: World, action: Deliver) -> ActionName:
        message = on_wire(world, action)
        name = type(message).__name__ if message else f"nothing ({action.way})"
        if action.way == "response" and action.source not in _clients(world):
            # One of a broker's channels may wait for responses from several brokers.
            parts = (name, broker_host(action.broker), action.source)
            return ActionName(self.verbs[0], parts)
        target = broker_host(action.broker) if action.way == "request" else action.source
        return ActionName(self.verbs[1], (name, target))

    def host(self, world: World, action: Deliver) -> str:
        return host_of(action.source) if action.way == "response" else broker_host(action.broker)

    def lane(self, world: World, action: Deliver) -> str:
        return broker_host(action.broker) if action.way == "request" else host_of(action.source)


class DeliveringLate(Behaviour[DeliverLate]):
    """A broker reads a request from a connection that its client has abandoned."""

    action = DeliverLate
    delivers = True
    parts_read = (RELEASES, ACLS)
    verbs = (Verb("deliver late", "late {0} arrives at {1}"),)
    clause = Clause(
        "the handler of what arrives late",
        "KIP-890 Motivation, late messages; Kafka protocol guide, Network",
        SHIPPED,
        "SocketServer.Processor, a request read before the close",
    )

    def why_not(self, model: Model, world: World, action: DeliverLate) -> str | None:
        connection = world.connections.get((action.source, action.broker))
        if connection is None or not connection.left or not connection.requests:
            return (
                f"no abandoned request from {action.source} is in flight to broker {action.broker}"
            )
        if connection.serving is not None:
            return f"broker {action.broker} is still handling {type(connection.serving.message).__name__}"
        if is_cut(world, action.source, action.broker):
            return f"{host_of(action.source)} and B{action.broker} are partitioned"
        return None

    def of_connection(
        self, place: tuple[str, int], connection: Connection
    ) -> Iterable[DeliverLate]:
        taken = connection.left and connection.requests and connection.serving is None
        return (DeliverLate(*place),) if taken else ()

    def apply(self, turn: Turn, action: DeliverLate) -> None:
        turn.deliver_request(action.source, action.broker)

    def sentence(self, world: World, action: DeliverLate) -> str:
        message = on_wire(world, action)
        name = type(message).__name__ if message else "nothing"
        asked = who(action.source.partition(" #")[0])
        return f"Broker {action.broker} receives {name} from a connection that {asked} has already abandoned."

    def name(self, world: World, action: DeliverLate) -> ActionName:
        name = request_name(on_wire(world, action))
        return ActionName(self.verbs[0], (name, broker_host(action.broker)))

    def host(self, world: World, action: DeliverLate) -> str:
        return broker_host(action.broker)

    def lane(self, world: World, action: DeliverLate) -> str:
        return broker_host(action.broker)


class GivingUp(Behaviour[GiveUp]):
    """request.timeout.ms is over: the client closes the connection and will open another one."""

    action = GiveUp
    dues = (Due.REQUEST,)
    timer = f"a client's wait for a response ({REQUEST_TIMEOUT_MS.name})"
    shows_time_left = True
    verbs = (Verb("give up", "{0} gives up on {1}"),)
    place = 70
    clause = Clause(
        "leave",
        "KIP-98 request.timeout.ms; KIP-890 Motivation, late messages",
        SHIPPED,
        "NetworkClient.handleTimedOutRequests",
    )
    spends = "request_timeout"
    spent_as = "client request timeouts"

    def why_not(self, model: Model, world: World, action: GiveUp) -> str | None:
        connection = world.connections.get((action.source, action.broker))
        if connection is None or not connection.open:
            return f"there is no connection from {action.source} to broker {action.broker}"
        if can_be_given_up(connection):
            return None
        return (
            f"{action.source} waits for no response from broker {action.broker} whose delay matters"
        )

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[GiveUp]:
        return [GiveUp(*p) for p, c in pairs(world.connections) if can_be_given_up(c)]

    def apply(self, turn: Turn, action: GiveUp) -> None:
        turn.lose(action.source, action.broker, leaves=True)

    def sentence(self, world: World, action: GiveUp) -> str:
        return f"{REQUEST_TIMEOUT_MS.name} expires: {who(action.source)} closes its connection to Broker {action.broker} without waiting for the response."

    def looks_at(self, world: World, action: GiveUp) -> Iterable[Guard]:
        connection = world.connections[action.source, action.broker]
        waiting = [type(e.message).__name__ for e in connection.requests]
        yield "not read by the broker yet", render_list(tuple(waiting))
        busy = connection.serving
        yield "the broker handles", type(busy.message).__name__ if busy else "nothing"
        yield "request time-outs left", str(world.budget.request_timeout)

    def deadline_cause(self, action: GiveUp) -> Cell:
        return CONNECTIONS, (action.source, action.broker)

    def name(self, world: World, action: GiveUp) -> ActionName:
        return ActionName(self.verbs[0], (action.source, broker_host(action.broker)))

    def host(self, world: World, action: GiveUp) -> str:
        return host_of(action.source)

    def lane(self, world: World, action: GiveUp) -> str:
        return host_of(action.source)


class LosingConnection(Behaviour[LoseConnection]):
    """A connection breaks; the messages on it are lost, and both ends notice."""

    action = LoseConnection
    verbs = (Verb("lose connection", "{0} loses {1}"),)
    place = 60
    clause = Clause(
        "lose",
        "Kafka protocol guide, Network; KIP-932 share sessions end with their connection",
        SHIPPED,
        "NetworkClient.processDisconnection, SocketServer.processDisconnected",
    )
    spends = "lose_connection"
    spent_as = "lost connections"

    def why_not(self, model: Model, world: World, action: LoseConnection) -> str | None:
        connection = world.connections.get((action.source, action.broker))
        if connection is None or not connection.open or connection.left:
            return f"there is no connection from {action.source} to broker {action.broker}"
        return None

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[LoseConnection]:
        return [
            LoseConnection(source, broker)
            for (source, broker), connection in pairs(world.connections)
            if connection.open and not connection.left
        ]

    def apply(self, turn: Turn, action: LoseConnection) -> None:
        turn.lose(action.source, action.broker)

    def sentence(self, world: World, action: LoseConnection) -> str:
        return f"The connection from {who(action.source)} to Broker {action.broker} breaks."

    def looks_at(self, world: World, action: LoseConnection) -> Iterable[Guard]:
        connection = world.connections.get((action.source, action.broker))
        yield from losses_of([connection] if connection is not None else [])
        yield "losses left", str(world.budget.lose_connection)

    def name(self, world: World, action: LoseConnection) -> ActionName:
        return ActionName(self.verbs[0], (action.source, broker_host(action.broker)))

    def lane(self, world: World, action: LoseConnection) -> str:
        return host_of(action.source)


class Cutting(Behaviour[Cut]):
    """A network partition: no message passes between hosts of different sides until it heals."""

    action = Cut
    parts_read = (CUTS,)
    verbs = (Verb("cut", "{0} are cut apart"),)
    place = 150
    clause = Clause(
        "cut",
        "Kafka protocol guide, Network: over TCP a message is late, never out of order",
        SHIPPED,
        "NetworkClient.poll, Selector.poll",
    )
    spends = "cut"
    spent_as = "network partitions"

    def why_not(self, model: Model, world: World, action: Cut) -> str | None:
        return why_no_cut(model.spec, world, action)

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[Cut]:
        return network_partition.possible_cuts(spec, world)

    def apply(self, turn: Turn, action: Cut) -> None:
        turn.cuts = tuple(sorted((*turn.cuts, (action.one, action.other))))

    def sentence(self, world: World, action: Cut) -> str:
        one, other = action.one, action.other
        if are_two(one, other):
            return f"{one} and {other} are partitioned: no message passes between them."
        said = f"{hosts_in_words(one)} and {hosts_in_words(other)} can no longer reach each other."
        return said[0].upper() + said[1:]

    def looks_at(self, world: World, action: Cut) -> Iterable[Guard]:
        yield "messages delayed", between(world, network_partition.across(action.one, action.other))
        yield (
            "other network partitions",
            render_list(tuple(both(a, b) for a, b in world.cuts if a != b)),
        )
        yield "network partitions left", str(world.budget.cut)

    def name(self, world: World, action: Cut) -> ActionName:
        return ActionName(self.verbs[0], (both(action.one, action.other),))

    def lane(self, world: World, action: Cut) -> str:
        return hosts_on(action.one)[0]


class Healing(Behaviour[Heal]):
    """A network partition heals as a whole: messages pass again, unless another one separates the two hosts."""

    action = Heal
    parts_read = (CUTS,)
    verbs = (Verb("heal", "{0} are joined"),)
    place = 190
    clause = Clause(
        "heal",
        "Kafka protocol guide, Network: TCP sends again what did not arrive",
        SHIPPED,
        "NetworkClient.poll, Selector.poll",
    )

    def why_not(self, model: Model, world: World, action: Heal) -> str | None:
        return why_no_heal(world, action)

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[Heal]:
        if not world.cuts:
            return ()
        return [Heal(one, other) for one, other in world.cuts if one != other]

    def apply(self, turn: Turn, action: Heal) -> None:
        turn.cuts = tuple(c for c in turn.cuts if c != (action.one, action.other))

    def sentence(self, world: World, action: Heal) -> str:
        one, other = action.one, action.other
        apart = network_partition.still_apart(world, action)
        but = f", but another partition still separates {pairs_in_words(apart)}" if apart else ""
        if not are_two(one, other):
            said = f"{hosts_in_words(one)} and {hosts_in_words(other)} can reach each other again{but}."
            return said[0].upper() + said[1:]
        return f"The network partition of {one} and {other} heals{but}."

    def looks_at(self, world: World, action: Heal) -> Iterable[Guard]:
        apart = network_partition.still_apart(world, action)
        facing = network_partition.across(action.one, action.other)
        yield "messages that resume", between(world, tuple(p for p in facing if p not in apart))
        yield "partitioned", both(action.one, action.other)
        if apart:
            yield "still separated by another partition", pairs_in_words(apart)

    def name(self, world: World, action: Heal) -> ActionName:
        return ActionName(self.verbs[0], (both(action.one, action.other),))

    def lane(self, world: World, action: Heal) -> str:
        return hosts_on(action.one)[0]


class Pausing(Behaviour[Pause]):
    """A host is paused: nothing runs on it, and it reads no message."""

    action = Pause
    parts_read = (CUTS,)
    verbs = (Verb("pause", "{0} stands still"),)
    place = 180
    clause = Clause(
        "pause",
        "KIP-98 Zombie fencing: a process that pauses and continues",
        SHIPPED,
        "NetworkClient.poll, SystemTimer: what is late is done late",
    )
    spends = "pause"
    spent_as = "host pauses"

    def why_not(self, model: Model, world: World, action: Pause) -> str | None:
        return why_no_pause(world, action)

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[Pause]:
        return [Pause(host) for host in pausable(world)]

    def apply(self, turn: Turn, action: Pause) -> None:
        turn.cuts = tuple(sorted((*turn.cuts, (action.host, action.host))))

    def sentence(self, world: World, action: Pause) -> str:
        return f"{action.host} is paused: nothing runs on it, and it reads no message."

    def looks_at(self, world: World, action: Pause) -> Iterable[Guard]:
        yield "messages on their way to it", messages_to(world, action.host)
        yield "pauses left", str(world.budget.pause)

    def name(self, world: World, action: Pause) -> ActionName:
        return ActionName(self.verbs[0], (action.host,))

    def lane(self, world: World, action: Pause) -> str:
        return action.host


class Resuming(Behaviour[Resume]):
    """A paused host continues."""

    action = Resume
    parts_read = (CUTS,)
    verbs = (Verb("resume", "{0} wakes up"),)
    place = 200
    clause = Clause(
        "resume",
        "KIP-98 Zombie fencing: its epoch has grown old meanwhile",
        SHIPPED,
        "NetworkClient.poll, SystemTimer: what is late is done late",
    )

    def why_not(self, model: Model, world: World, action: Resume) -> str | None:
        return why_no_resume(world, action)

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[Resume]:
        return [Resume(host) for host in list_paused(world)] if world.cuts else ()

    def apply(self, turn: Turn, action: Resume) -> None:
        turn.cuts = tuple(c for c in turn.cuts if c != (action.host, action.host))

    def sentence(self, world: World, action: Resume) -> str:
        return f"{action.host} resumes with the state that it had before."

    def looks_at(self, world: World, action: Resume) -> Iterable[Guard]:
        yield "messages it reads now", messages_to(world, action.host)

    def name(self, world: World, action: Resume) -> ActionName:
        return ActionName(self.verbs[0], (action.host,))

    def lane(self, world: World, action: Resume) -> str:
        return action.host


BEHAVIOURS: tuple[AnyBehaviour, ...] = (
    Delivering(),
    DeliveringLate(),
    GivingUp(),
    LosingConnection(),
    Cutting(),
    Healing(),
    Pausing(),
    Resuming(),
)


# -- pieces --------------------------------------------------------------------------------------


def _clients(world: World) -> tuple[str, ...]:
    return tuple(client.source for app in world.applications.values() for client in app.clients)
