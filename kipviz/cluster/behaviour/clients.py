"""A client's work in the background of its application: its requests, and its timeouts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kipviz.brokers.context import NOBODY, Image
from kipviz.clauses import SHIPPED, Clause
from kipviz.clients import kinds, settling
from kipviz.clients.groups import kafka_consumer
from kipviz.clients.groups.consumer import joins_group
from kipviz.clients.kinds import (
    Client,
    awaits_poll,
    expiring,
    has_room,
    next_request,
)
from kipviz.clients.kinds import timers as timers_of
from kipviz.clients.sending import sender
from kipviz.clients.sending.in_flight import number_of
from kipviz.clients.sending.producer import Producer
from kipviz.cluster import dispatch, topic_authorization
from kipviz.cluster.actions import (
    ClientTimer,
    ExpireBatch,
    MissPoll,
    Receive,
    Send,
)
from kipviz.cluster.behaviour.action_name import ActionName, Verb
from kipviz.cluster.behaviour.behaviour import AnyBehaviour, Behaviour, Guard, Model
from kipviz.cluster.behaviour.naming import (
    begin_sentence,
    render_list,
    request_name,
    short_name,
    who,
)
from kipviz.cluster.real import external_clients
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.timing.clock import Deadline, Due, Place
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import APPLICATIONS, FEATURES, PAUSES, RELEASES, Envelope, World, host_of
from kipviz.core.watched import Cell
from kipviz.messages.cluster.releases import knows, lower_version
from kipviz.messages.message import Message
from kipviz.settings.client_configs import (
    DELIVERY_TIMEOUT_MS,
    MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION,
)
from kipviz.settings.consumer_configs import MAX_POLL_INTERVAL_MS


class Sending(Behaviour[Send]):
    """A client's network thread sends its next request."""

    action = Send
    dues = (Due.SENDING,)
    parts_read = (FEATURES, RELEASES, PAUSES)
    verbs = (Verb("send", "{0} sends {1}"),)
    clause = Clause("sender", "KIP-98 Producer", SHIPPED, "Sender.runOnce, NetworkClient")

    def why_not(self, model: Model, world: World, action: Send) -> str | None:
        client = _running(world, action.source)
        if isinstance(client, str):
            return client
        request = next_request(client)
        if request is None:
            return f"{action.source} has nothing to send"
        broker = dispatch.destination(client, request, world.image)
        if broker == NOBODY:
            partition = dispatch.addressee(request, world.image)
            return f"{partition} has no leader to send {type(request).__name__} to"
        if not has_room(client, broker):
            return (
                f"as many requests of {action.source} are in flight to broker {broker} as "
                f"{MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION.name} allows"
            )
        return None

    def of_client(self, client: Client, image: Image) -> Iterable[Send]:
        request = next_request(client)
        broker = NOBODY if request is None else dispatch.destination(client, request, image)
        return (Send(client.source),) if broker != NOBODY and has_room(client, broker) else ()

    def apply(self, turn: Turn, action: Send) -> None:
        name = host_of(action.source)
        app = turn.applications[name]
        client = app.client_at(action.source)
        assert client is not None
        request = kinds.next_request(client)
        assert request is not None
        broker = dispatch.destination(client, request, turn.image)
        request = topic_authorization.narrow_to_broker(request, turn.image)
        network = kinds.network_of(client)
        connection = turn.connections.get((network, broker))
        if connection is None or not connection.open:
            client = kinds.note_features(client, turn.image.features)
        binary = turn.image.release_of(broker)
        known = knows(binary, request)
        request = kinds.at_clock(client, lower_version(binary, request), turn.now_ms)
        number = kinds.correlation_id_of(client, request)
        sender, request = kinds.note_sent(client, request, broker)
        app = settling.settle(app.with_client(sender), turn.client_rules)
        turn.applications = turn.applications.set(name, app)
        if not known:
            turn.refuse_to_send(action.source, broker, request, number)
            return
        asker = action.source if network != action.source else ""
        named = kinds.client_id_of(client)
        envelope = Envelope(request, tag=asker, client_id=named, correlation_id=number)
        turn.put_request(network, broker, envelope)
        if broker not in turn.up:
            turn.lose(network, broker)  # no broker listens there: the connection is refused

    def sentence(self, world: World, action: Send) -> str:
        request = self.name(world, action).parts[1]
        return f"The network thread of {action.source} sends {request}."

    def title(self, world: World, action: Send) -> str:
        request = self.name(world, action).parts[1]
        return f"{action.source.partition('/')[2]} sends {request}"

    def main_cause(self, action: Send) -> Cell:
        return APPLICATIONS, host_of(action.source)

    def actor(self, action: Send) -> str:
        return host_of(action.source)

    def name(self, world: World, action: Send) -> ActionName:
        return ActionName(
            self.verbs[0], (action.source, request_name(_to_send(world, action.source)))
        )

    def host(self, world: World, action: Send) -> str:
        return host_of(action.source)

    def lane(self, world: World, action: Send) -> str:
        return host_of(action.source)


class Receiving(Behaviour[Receive]):
    """A client outside the model, a real one, sends a request to a broker."""

    action = Receive
    verbs = (Verb("send", "{0} sends {1}"),)
    clause = Clause(
        "receive",
        "Kafka protocol guide, Network: a client writes its requests to a connection in order",
        SHIPPED,
        "SocketServer.Processor.processCompletedReceives",
    )

    def why_not(self, model: Model, world: World, action: Receive) -> str | None:
        return external_clients.why_not(model.spec, world, action)

    def apply(self, turn: Turn, action: Receive) -> None:
        request = external_clients.request_of(action)
        envelope = Envelope(request, client_id=action.client_id)
        turn.put_request(action.source, action.broker, envelope)

    def sentence(self, world: World, action: Receive) -> str:
        request = self.name(world, action).parts[1]
        return f"{action.source}, a real client, sends {request}."

    def looks_at(self, world: World, action: Receive) -> Iterable[Guard]:
        yield "sent by", f"{action.source}, a client outside the model"
        yield "to", f"Broker {action.broker}"

    def title(self, world: World, action: Receive) -> str:
        # A real client's connections have numbers, so its host says more.
        return f"{host_of(action.source)} sends {self.name(world, action).parts[1]}"

    def actor(self, action: Receive) -> str:
        return host_of(action.source)

    def name(self, world: World, action: Receive) -> ActionName:
        return ActionName(
            self.verbs[0], (action.source, request_name(external_clients.request_of(action)))
        )

    def lane(self, world: World, action: Receive) -> str:
        return host_of(action.source)


class RunningOutAtClient(Behaviour[ClientTimer]):
    """A timer of a client expires: a heartbeat is due, or a retry."""

    action = ClientTimer
    dues = (Due.CLIENT_TIMER,)
    parts_read = (PAUSES,)
    shows_time_left = True
    verbs = (Verb("client timer", "{0} of {1} is over"),)
    clause = Clause(
        "on_timer",
        "KIP-848 heartbeat interval; retry.backoff.ms, fetch.max.wait.ms",
        SHIPPED,
        "AbstractHeartbeatRequestManager, RequestState, FetchRequestManager",
    )

    def why_not(self, model: Model, world: World, action: ClientTimer) -> str | None:
        client = _running(world, action.source)
        if isinstance(client, str):
            return client
        set_now = timers_of(client)
        if action.timer in set_now:
            return None
        known = ", ".join(timer.words for timer in set_now) or "none"
        return f"{action.source} has not set {action.timer.words!r}; set are: {known}"

    def of_client(self, client: Client, image: Image) -> Iterable[ClientTimer]:
        return [ClientTimer(client.source, timer) for timer in kinds.timers(client)]

    def apply(self, turn: Turn, action: ClientTimer) -> None:
        name = host_of(action.source)
        app = turn.applications[name]
        client = app.client_at(action.source)
        assert client is not None, action.source
        client = kinds.on_timer(client, action.timer)
        app = settling.settle(app.with_client(client), turn.client_rules)
        turn.applications = turn.applications.set(name, app)

    def sentence(self, world: World, action: ClientTimer) -> str:
        return f"{begin_sentence(action.timer.words)} of {who(action.source)} ends."

    def looks_at(self, world: World, action: ClientTimer) -> Iterable[Guard]:
        yield "timer", action.timer.words
        yield "of", action.source

    def main_cause(self, action: ClientTimer) -> Cell:
        return APPLICATIONS, host_of(action.source)

    def name(self, world: World, action: ClientTimer) -> ActionName:
        return ActionName(self.verbs[0], (action.timer.text, action.source), action.timer)

    def host(self, world: World, action: ClientTimer) -> str:
        return host_of(action.source)

    def lane(self, world: World, action: ClientTimer) -> str:
        return host_of(action.source)


class ExpiringBatch(Behaviour[ExpireBatch]):
    """delivery.timeout.ms expires for a producer's oldest batch; it is not known whether it arrived."""

    action = ExpireBatch
    dues = (Due.BATCH,)
    timer = f"a batch's delivery ({DELIVERY_TIMEOUT_MS.name})"
    shows_time_left = True
    verbs = (Verb("expire batch", "a batch of {0} expires"),)
    place = 80
    clause = Clause(
        "expired",
        "KIP-91 delivery.timeout.ms; KIP-360",
        SHIPPED,
        "Sender.sendProducerData, TransactionManager.maybeResolveSequences",
    )
    spends = "delivery_timeout"
    spent_as = "batch expiries"

    def why_not(self, model: Model, world: World, action: ExpireBatch) -> str | None:
        app = world.applications.get(host_of(action.source))
        client = app.client_at(action.source) if app is not None else None
        if app is None or not isinstance(client, Producer):
            return f"there is no producer {action.source}"
        if not app.alive:
            return f"{app.name} is down"
        if expiring(client) is None:
            return f"{action.source} has no batch that waits to be sent"
        return None

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[ExpireBatch]:
        late = [client for client in _alive(world) if expiring(client) is not None]
        return [ExpireBatch(client.source) for client in late]

    def apply(self, turn: Turn, action: ExpireBatch) -> None:
        name = host_of(action.source)
        app = turn.applications[name]
        client = app.client_at(action.source)
        assert isinstance(client, Producer)
        gone = sender.fail_expired(client)
        after = settling.settle(app.with_client(gone), turn.client_rules)
        turn.applications = turn.applications.set(name, after)

    def sentence(self, world: World, action: ExpireBatch) -> str:
        return f"{DELIVERY_TIMEOUT_MS.name} expires for a batch of {who(action.source)}, which fails it."

    def looks_at(self, world: World, action: ExpireBatch) -> Iterable[Guard]:
        batch = expiring(world.applications[host_of(action.source)].client_at(action.source))
        if batch is not None:
            yield "batch", f"{len(batch.records)} records for {short_name(batch.partition)}"
            yield "was sent before", "yes" if batch.sent else "no"
        yield "expiries left", str(world.budget.delivery_timeout)

    def deadline_place(self, world: World, action: ExpireBatch) -> Place | None:
        app = world.applications.get(host_of(action.source))
        client = app.client_at(action.source) if app is not None else None
        batch = expiring(client)
        if batch is None:
            return None
        assert isinstance(client, Producer)
        return Due.BATCH, (action.source, batch.partition, number_of(client, batch))

    def at_deadline(self, world: World, deadline: Deadline) -> ExpireBatch:
        return ExpireBatch(str(deadline.place[0]))

    def deadline_cause(self, action: ExpireBatch) -> Cell:
        return APPLICATIONS, host_of(action.source)

    def name(self, world: World, action: ExpireBatch) -> ActionName:
        return ActionName(self.verbs[0], (action.source,))

    def host(self, world: World, action: ExpireBatch) -> str:
        return host_of(action.source)

    def lane(self, world: World, action: ExpireBatch) -> str:
        return host_of(action.source)


class MissingPoll(Behaviour[MissPoll]):
    """max.poll.interval.ms expires for a consumer that does not poll: it leaves its group."""

    action = MissPoll
    dues = (Due.POLL,)
    timer = f"a member's next poll() ({MAX_POLL_INTERVAL_MS.name})"
    shows_time_left = True
    verbs = (Verb("miss poll", "{0} polls too late"),)
    place = 110
    clause = Clause(
        "on_missed_poll",
        "KIP-62 max.poll.interval.ms",
        SHIPPED,
        "AbstractCoordinator.HeartbeatThread",
    )
    spends = "miss_poll"
    spent_as = f"consumers past {MAX_POLL_INTERVAL_MS.name}"

    def why_not(self, model: Model, world: World, action: MissPoll) -> str | None:
        client = _running(world, action.source)
        if isinstance(client, str):
            return client
        if not joins_group(client):
            return f"{action.source} is not a member that joins its group"
        if client.polling:
            return f"{action.source} is in poll()"
        return None if client.in_group else f"{action.source} is in no group: {client.state.value}"

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[MissPoll]:
        return [MissPoll(client.source) for client in _alive(world) if awaits_poll(client)]

    def apply(self, turn: Turn, action: MissPoll) -> None:
        app = turn.applications[host_of(action.source)]
        member = app.client_at(action.source)
        assert joins_group(member), member
        gone = kafka_consumer.on_missed_poll(member)
        turn.applications = turn.applications.set(app.name, app.with_client(gone))

    def sentence(self, world: World, action: MissPoll) -> str:
        return f"{MAX_POLL_INTERVAL_MS.name} expires: {who(action.source)} leaves its group."

    def looks_at(self, world: World, action: MissPoll) -> Iterable[Guard]:
        member = world.applications[host_of(action.source)].client_at(action.source)
        assert joins_group(member)
        yield "in poll()", "no"
        yield "member", f"{member.state.value}, {render_list(member.owned)}"
        yield "poll timeouts left", str(world.budget.miss_poll)

    def deadline_cause(self, action: MissPoll) -> Cell:
        return APPLICATIONS, host_of(action.source)

    def name(self, world: World, action: MissPoll) -> ActionName:
        return ActionName(self.verbs[0], (action.source,))

    def host(self, world: World, action: MissPoll) -> str:
        return host_of(action.source)

    def lane(self, world: World, action: MissPoll) -> str:
        return host_of(action.source)


BEHAVIOURS: tuple[AnyBehaviour, ...] = (
    Sending(),
    Receiving(),
    RunningOutAtClient(),
    ExpiringBatch(),
    MissingPoll(),
)


# -- pieces --------------------------------------------------------------------------------------


def _running(world: World, source: str) -> Client | str:
    """Return the client that sends under a name, or why there is no running one."""
    app = world.applications.get(host_of(source))
    client = app.client_at(source) if app is not None else None
    if app is None or client is None:
        return f"there is no client {source}"
    return client if app.alive else f"{app.name} is down"


def _alive(world: World) -> Iterator[Client]:
    """Return the clients of the running processes."""
    for app in world.applications.values():
        if app.alive:
            yield from app.clients


def _to_send(world: World, source: str) -> Message | None:
    app = world.applications.get(host_of(source))
    client = app.client_at(source) if app else None
    return next_request(client) if client else None
