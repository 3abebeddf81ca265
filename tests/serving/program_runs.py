"""One run of a program: what its calls gave, which requests were sent, and what the logs hold in the end."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import kipviz
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.serving.served_spec import cluster_of
from tests.serving.client_programs import Clients
from tests.serving.program_table import CLUSTER, Program
from tests.serving.wire_proxy import Exchange, Proxy

TOPICS = ("orders", "results")
# How long a program waits for what a client does by itself between two calls.
RESTS_S = 0.7
# When these are sent, and how often, differs from run to run of one client at one cluster: connections and caches, long
# polls, heartbeats by the clock. Of them only the versions are compared.
IN_NO_ORDER = (
    "ApiVersions",
    "ConsumerGroupHeartbeat",
    "Fetch",
    "FindCoordinator",
    "ListOffsets",
    "Metadata",
    "ShareFetch",
    "ShareGroupHeartbeat",
)
# A heartbeat of the classic protocol comes only in a run that takes long enough.
NOT_COMPARED = ("Heartbeat",)
# A real broker answers so while it loads a coordinator's partition, and while it writes the markers of a transaction
# that has ended. The simulated cluster does both before it takes the next request.
WHILE_BUSY = (
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "CONCURRENT_TRANSACTIONS",
)


class Cluster(Protocol):
    """What a program needs of a cluster."""

    proxy: Proxy
    names: Mapping[str, str]

    def act(self, words: list[str]) -> None:
        """Carry out a line of the actor `cluster`."""

    def records(self, topic: str) -> list[tuple[int, str, str]]:
        """Return (offset, value, fate) of a topic's records."""


@dataclass
class Seen:
    """What a run showed."""

    calls: list[list[str]]
    requests: dict[str, list[str]]
    versions: dict[str, list[str]]
    logs: dict[str, list[list[Any]]]


def run_calls(
    program: Program, clients: Clients, cluster: Cluster, rest: Callable[[], object]
) -> list[list[str]]:
    """Run a program; return each call with what came of it, an exception or a result.

    `rest` waits for what a client still sends by itself, before its producers are closed.
    """
    assert clients.run("control", "servers", cluster.proxy.bootstrap_servers) == ""
    cluster.proxy.take()
    found, opened = [], []
    try:
        for line in program.steps:
            actor, call, *words = re.sub(r"{(\w+)}", lambda n: cluster.names[n[1]], line).split()
            if actor == CLUSTER:
                cluster.act([call, *words])
                continue
            if call == "open":
                opened.append(actor)
            found.append([line, clients.run(actor, call, *words)])
        rest()
    finally:
        # Of what closing sends nothing is noted: by then the run is over.
        cluster.proxy.pause()
        for actor in opened:
            clients.run(actor, "close")
    return found


def requests_in_order(exchanges: list[Exchange], *, searches: bool = False) -> dict[str, list[str]]:
    """Return the requests of each client in order, each with its version and the errors of its answer.

    What was repeated while a broker was busy is left out, and what failed in the same way several times is there once.
    So is a join that is repeated at once: a member of kafka-python joins again if it joined before it had the metadata
    of its topic, and which comes first depends on the moment.
    """
    found: dict[str, list[str]] = {}
    for each in exchanges:
        if each.api in (*IN_NO_ORDER, *NOT_COMPARED) or set(each.errors) & set(WHILE_BUSY):
            continue
        if searches and (each.errors or each.answer):
            continue
        lines = found.setdefault(each.client, [])
        if not (each.errors and lines and lines[-1] == str(each)):
            lines.append(str(each))
        if each.api == "SyncGroup" and lines[-2:] == lines[-4:-2]:
            del lines[-2:]
    return dict(sorted(found.items()))


def versions_asked(exchanges: list[Exchange]) -> dict[str, list[str]]:
    """Return the other requests of each client, each once with its version."""
    found: dict[str, set[str]] = {}
    for each in exchanges:
        if each.api in IN_NO_ORDER:
            found.setdefault(each.client, set()).add(f"{each.api} {each.version}")
    return {client: sorted(lines) for client, lines in sorted(found.items())}


def see(
    program: Program, calls: list[list[str]], exchanges: list[Exchange], cluster: Cluster
) -> Seen:
    """Put together what a run has shown so far; its clients may still send something by themselves."""
    logs = {topic: [list(each) for each in cluster.records(topic)] for topic in TOPICS}
    return Seen(
        calls,
        requests_in_order(exchanges, searches=program.searches),
        versions_asked(exchanges),
        {topic: records for topic, records in logs.items() if records},
    )


class SimulatedCluster:
    """`kipviz.serve`, with a proxy before it that sees what a proxy before real brokers sees."""

    def __init__(self) -> None:
        self.names = {name: name for name in ("t", "w", "group", *TOPICS)}
        self.server = kipviz.serve(cluster_of(TOPICS), auto_create_topics=False)
        targets = [each.rpartition(":")[2] for each in self.server.bootstrap_servers.split(",")]
        brokers = tuple(range(1, len(targets) + 1))
        self.proxy = Proxy(brokers)
        self.server.cluster.desk.ports = self.proxy.ports
        self.proxy.forward(dict(zip(brokers, map(int, targets), strict=True)))

    def act(self, words: list[str]) -> None:
        """Inject a fault; what only real brokers need does nothing."""
        server, (what, *names) = self.server, words
        image = server.cluster.world.image
        if what == "lose-answer":
            server.rule(f"lose the 1st {names[0]}Response")
        elif what == "lose-request":
            server.rule(f"lose the 1st {names[0]}")
        elif what == "move-coordinator":
            self._move(image.home_of(TRANSACTION_STATE, names[0]))
        elif what == "crash-coordinator":
            server.crash(image.leader_of(image.home_of(TRANSACTION_STATE, names[0])))
            time.sleep(
                RESTS_S
            )  # a client may notice that its connection is gone; at real brokers it has the time
        elif what == "move-leader":
            self._move(f"{names[0]}-0")
        elif what == "rest":
            time.sleep(RESTS_S)
        elif what == "time-out":
            server.time_out(names[0])
        else:
            assert what in ("settle", "share-from-the-start"), what

    def _move(self, partition: str) -> None:
        self.server.move(partition, self.server.cluster.world.image.leader_of(partition) % 3 + 1)

    def records(self, topic: str) -> list[tuple[int, str, str]]:
        """Return (offset, value, fate) of a topic's records."""
        return list(self.server.records(f"{topic}-0"))

    def stop(self) -> None:
        """Stop the server and the proxy."""
        self.proxy.close()
        self.server.stop()
