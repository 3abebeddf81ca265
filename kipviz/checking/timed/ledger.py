"""The costs of a run: objects, threads, connections, buffers and requests, counted from its events.

Only what the run has used is counted: a client whose methods the program has called, or that is bound to a session; a
connection over which a message was sent. FindCoordinator, Metadata and ApiVersions are answered at once here, so they
are in no column.
"""

from __future__ import annotations

from collections import Counter

from kipviz.clients.application import STAGING, Application, Line
from kipviz.clients.calls import CALLS, client_of
from kipviz.clients.groups.consumer import Consumer
from kipviz.clients.kinds import Client
from kipviz.clients.sending.producer import Producer
from kipviz.clients.sessions.transaction_session import TransactionSession
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.cluster.world import World, host_of
from kipviz.core.traces.trace import Trace
from kipviz.core.values import Value
from kipviz.messages.events import CallStarted, MessageSent

# Kafka's names of the client classes, and the thread of each (KIP-1310 3.4 for the last).
CLASSES: dict[type, tuple[str, str]] = {
    Producer: ("KafkaProducer", "sender thread"),
    Consumer: ("KafkaConsumer", "network thread"),
    ShareConsumer: ("KafkaShareConsumer", "network thread"),
    TransactionSession: ("TransactionSession", "network thread"),
}
APPLICATION_THREAD = "application thread"


class Owner(Value, frozen=True):
    """A client that a run has used: its process, its class, its thread, and its connections.

    `bound_to` names the session that it is bound to. `connections` are (broker, requests sent) in the order of brokers.
    `most_waiting` is the maximum number of records in its accumulator, -1 if it has none.
    """

    process: str
    name: str
    kind: str
    thread: str
    connections: tuple[tuple[int, tuple[tuple[str, int], ...]], ...]
    bound_to: str = ""
    most_waiting: int = -1

    @property
    def requests(self) -> int:
        """The number of requests that it has sent."""
        return sum(count for _, sent in self.connections for _, count in sent)


class Ledger(Value, frozen=True):
    """The costs of a run: its clients, and the requests that brokers have sent to each other."""

    owners: tuple[Owner, ...]
    between_brokers: tuple[tuple[str, int], ...]

    @property
    def processes(self) -> tuple[str, ...]:
        """The processes that have a client."""
        return tuple(dict.fromkeys(owner.process for owner in self.owners))

    @property
    def objects(self) -> tuple[tuple[str, int], ...]:
        """The number of clients of each class."""
        return _sort_counts(Counter(owner.kind for owner in self.owners))

    @property
    def threads(self) -> int:
        """The number of threads: one for each process, and one for each client."""
        return len(self.processes) + len(self.owners)

    @property
    def connections(self) -> int:
        """The number of connections that clients have opened to brokers."""
        return sum(len(owner.connections) for owner in self.owners)

    @property
    def accumulators(self) -> int:
        """The number of buffer pools: one in each producer."""
        return sum(owner.most_waiting >= 0 for owner in self.owners)

    @property
    def requests(self) -> tuple[tuple[str, str, int], ...]:
        """The requests that were sent: (class, request, how often)."""
        found: Counter[tuple[str, str]] = Counter()
        for owner in self.owners:
            for _, sent in owner.connections:
                for name, count in sent:
                    found[owner.kind, name] += count
        return tuple((kind, name, count) for (kind, name), count in sorted(found.items()))


def ledger(trace: Trace) -> Ledger:
    """Count the costs of a trace's branch."""
    used: dict[str, None] = {}
    sent: Counter[tuple[str, int, str]] = Counter()
    between: Counter[str] = Counter()
    waiting: Counter[str] = Counter()
    for number in trace.line:
        node = trace.node(number)
        world: World = node.world
        for event in node.events:
            if isinstance(event, CallStarted):
                app = world.applications[event.application]
                used |= dict.fromkeys(_used_clients(app, app.program[event.line]))
            elif isinstance(event, MessageSent) and event.way == "request":
                name = type(event.message).__name__
                if host_of(event.source) in world.applications:
                    sent[event.source, event.broker, name] += 1
                else:
                    between[name] += 1
        for app in world.applications.values():
            for client in app.clients:
                records = (
                    sum(len(b.records) for b in client.accumulator.batches)
                    if isinstance(client, Producer)
                    else 0
                )
                waiting[client.source] = max(waiting[client.source], records)
    owners = [
        _owner(app, client, sent, waiting[client.source])
        for app in trace.world.applications.values()
        for client in app.clients
        if client.source in used
    ]
    return Ledger(tuple(owners), _sort_counts(between))


def _used_clients(app: Application, line: Line) -> tuple[str, ...]:
    """Return the clients that a program's line uses: the one that is called, and the session that it names."""
    client = client_of(app, line)
    sources = [client.source] if type(client) in CLASSES else []
    session = app.session
    if session is not None and (line.call in STAGING or _bound_to(client)):
        sources.append(session.source)
    if CALLS[line.call].of == "producer" and line.call in STAGING:
        sources.append(app.consumer.source)
    return tuple(sources)


def _owner(
    app: Application, client: Client, sent: Counter[tuple[str, int, str]], waiting: int
) -> Owner:
    kind, thread = CLASSES[type(client)]
    brokers = sorted({broker for source, broker, _ in sent if source == client.source})
    connections = tuple(
        (
            broker,
            tuple(
                sorted(
                    (name, count)
                    for (source, at, name), count in sent.items()
                    if source == client.source and at == broker
                )
            ),
        )
        for broker in brokers
    )
    accumulates = isinstance(client, Producer)
    return Owner(
        app.name,
        client.source.partition("/")[2],
        kind,
        thread,
        connections,
        _bound_to(client),
        waiting if accumulates else -1,
    )


def _bound_to(client: Client) -> str:
    return client.manager.session if isinstance(client, Producer) else ""


def _sort_counts(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items()))
