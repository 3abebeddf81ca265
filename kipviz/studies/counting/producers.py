"""The cost of a producer for every task compared with one for every thread, counted from runs (KIP-447).

One thread reads some partitions, two records of each, and commits the transformed records. Two of the KIP's rejected
alternatives are run, too: pooling, and several transactional ids in one producer. The KIP only names the latter. Here
one sender thread serves all ids through one connection to each broker, and no request covers two of them, because none
has a field for a second one (our inference).
"""

from __future__ import annotations

from collections import Counter

from kipviz.clients.application import Line
from kipviz.clients.kinds import network_of
from kipviz.clients.sending.producer import Producer
from kipviz.cluster.actions import Step
from kipviz.cluster.specs.abstraction import SMALL
from kipviz.cluster.specs.spec import ClusterSpec, Placement
from kipviz.cluster.world import host_of
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.events import MessageSent
from kipviz.messages.message import Message
from kipviz.messages.transactions.transactions import EndTxn, InitProducerId, WriteTxnMarkers
from kipviz.records.placement import CONSUMER_OFFSETS
from kipviz.scenarios.applications import programs
from kipviz.scenarios.group_setting import member
from kipviz.scenarios.scenario import Scenario
from kipviz.scenarios.script import next_by_itself
from kipviz.scenarios.setting import GROUP, TOPIC_IDS, home

Table = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]

PARTITIONS = (1, 2, 4)
POOL = 2
BROKERS = (1, 3, 4, 5)
ONE_FOR_ALL = "one producer, an id per task"


def scaling() -> Table:
    """Return the table of objects, connections and requests for one, two and four partitions."""
    rows = []
    for count in PARTITIONS:
        names = ("", *(f"task-{i}" for i in range(1, count)))
        pooled = tuple(names[i % POOL] for i in range(count))
        for words, tasks, program in (
            ("a producer per task", names[1:], programs.per_task(names)),
            ("a pool of two producers", names[1:POOL], programs.per_task(pooled)),
            (ONE_FOR_ALL, names[1:], programs.per_task(names)),
            ("a producer per thread", (), programs.per_thread(count)),
        ):
            shared = words == ONE_FOR_ALL
            rows.append((str(count), words, *count_thread(count, tasks, program, shared=shared)))
    heads = (
        "partitions",
        "producers",
        "objects and sender threads",
        "transactional ids",
        "connections",
        "InitProducerId",
        "transactions",
        "markers written",
        "requests of clients",
    )
    return heads, tuple(rows)


def count_thread(
    partitions: int, tasks: tuple[str, ...], program: tuple[Line, ...], *, shared: bool = False
) -> tuple[str, ...]:
    """Run one thread to its end and count its objects, connections and requests.

    `shared` is True if the tasks' transactional ids belong to one producer.
    """
    trace = _run(partitions, tasks, program, shared)
    world = trace.world
    (app,) = world.applications.values()
    known = [client for client in app.clients if isinstance(client, Producer)]
    ids = {client.manager.transactional_id for client in known}
    producers = tuple(dict.fromkeys(map(network_of, known)))
    open_ones = [
        c for (source, _), c in world.connections.items() if source in producers and c.open
    ]
    sent: Counter[type[Message]] = Counter()
    markers = 0
    for node in (trace.node(n) for n in trace.line):
        for event in node.events:
            if isinstance(event, MessageSent) and event.way == "request":
                sent[type(event.message)] += host_of(event.source) == app.name
                markers += isinstance(event.message, WriteTxnMarkers)
    held = (len(producers), len(ids), len(open_ones))
    figures = (*held, sent[InitProducerId], sent[EndTxn], markers)
    return (*map(str, figures), str(sum(sent.values())))


def _run(partitions: int, tasks: tuple[str, ...], program: tuple[Line, ...], shared: bool) -> Trace:
    sources = tuple(f"src-{i}" for i in range(partitions))
    spec = SMALL.of_brokers(
        ClusterSpec(
            BROKERS,
            (
                Placement("output-A-0", 3, (1,)),
                Placement(home(CONSUMER_OFFSETS, GROUP), 4, (3,)),
                *(
                    Placement(p, BROKERS[i % 4], (BROKERS[(i + 1) % 4],))
                    for i, p in enumerate(sources)
                ),
            ),
            (),
            tuple((p, 0, ("a", "b")) for p in sources),
            TOPIC_IDS,
        )
    )
    app = member("app-1", program=program, tasks=tasks, shares_sender=shared)
    spec = spec.but(applications=(app,))
    model = Scenario("", "", "", "", spec, (), (), ("kafka",)).model(design("kafka"))
    trace, step = Trace.start(model, ()), Step("app-1")
    while True:
        action = next_by_itself(model, trace.world)
        if action is None and model.why_not(trace.world, step) is None:
            action = step
        if action is None:
            return trace
        trace = trace.take(action)
