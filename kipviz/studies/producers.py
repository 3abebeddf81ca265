"""What a producer for every task costs against one for every thread: counted from runs (KIP-447).

One thread reads some partitions, two records of each, and commits what it makes of them. Pooling, one
of the KIP's rejected alternatives, runs beside them.
"""

from __future__ import annotations

from collections import Counter

from kipviz.clients.application import Line
from kipviz.clients.producer import Producer
from kipviz.cluster.actions import Step
from kipviz.cluster.spec import ClusterSpec, Placement
from kipviz.cluster.world import host_of
from kipviz.core.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.events import MessageSent
from kipviz.records.placement import CONSUMER_OFFSETS
from kipviz.scenarios import programs
from kipviz.scenarios.scenario import Scenario
from kipviz.scenarios.script import next_by_itself
from kipviz.scenarios.stories.group_setting import member
from kipviz.scenarios.stories.setting import GROUP, TOPIC_IDS, home

Table = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]

PARTITIONS = (1, 2, 4)
POOL = 2
BROKERS = (1, 3, 4, 5)


def scaling() -> Table:
    """Give objects, connections and requests for one, two and four partitions."""
    rows = []
    for count in PARTITIONS:
        names = ("", *(f"task-{i}" for i in range(1, count)))
        pooled = tuple(names[i % POOL] for i in range(count))
        for words, tasks, program in (
            ("a producer per task", names[1:], programs.per_task(names)),
            ("a pool of two producers", names[1:POOL], programs.per_task(pooled)),
            ("a producer per thread", (), programs.per_thread(count)),
        ):
            rows.append((str(count), words, *counted(count, tasks, program)))
    heads = (
        "partitions",
        "producers",
        "objects and sender threads",
        "connections",
        "InitProducerId",
        "transactions",
        "markers written",
        "requests of clients",
    )
    return heads, tuple(rows)


def counted(partitions: int, tasks: tuple[str, ...], program: tuple[Line, ...]) -> tuple[str, ...]:
    """Run one thread to its end and count what it had and said."""
    trace = _run(partitions, tasks, program)
    world = trace.world
    (app,) = world.applications.values()
    producers = [client.source for client in app.clients if isinstance(client, Producer)]
    open_ones = [
        c for (source, _), c in world.connections.items() if source in producers and c.open
    ]
    sent: Counter[str] = Counter()
    markers = 0
    for node in (trace.node(n) for n in trace.line):
        for event in node.events:
            if isinstance(event, MessageSent) and event.way == "request":
                name = type(event.message).__name__
                sent[name] += host_of(event.source) == app.name
                markers += name == "WriteTxnMarkers"
    figures = (len(producers), len(open_ones), sent["InitProducerId"], sent["EndTxn"], markers)
    return (*map(str, figures), str(sum(sent.values())))


def _run(partitions: int, tasks: tuple[str, ...], program: tuple[Line, ...]) -> Trace:
    sources = tuple(f"src-{i}" for i in range(partitions))
    spec = ClusterSpec(
        BROKERS,
        (
            Placement("output-A-0", 3, (1,)),
            Placement(home(CONSUMER_OFFSETS, GROUP), 4, (3,)),
            *(Placement(p, BROKERS[i % 4], (BROKERS[(i + 1) % 4],)) for i, p in enumerate(sources)),
        ),
        (member("app-1", program=program, tasks=tasks),),
        tuple((p, 0, ("a", "b")) for p in sources),
        TOPIC_IDS,
    )
    model = Scenario("", "", "", "", spec, (), (), ("kafka",)).model(design("kafka"))
    trace, step = Trace.start(model, ()), Step("app-1")
    while True:
        action = next_by_itself(model, trace.world)
        if action is None and model.why_not(trace.world, step) is None:
            action = step
        if action is None:
            return trace
        trace = trace.take(action)
