"""Three real brokers behind the proxy, for the programs of `program_table`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from kipviz.conforming.playing import INTERNAL_PARTITIONS
from kipviz.conforming.questions import CREATE, DESCRIBE, FIND, TRANSACTION
from kipviz.conforming.real_cluster import RealCluster, _free_port
from kipviz.recordings.decoded.internal_topics import markers
from kipviz.recordings.files.segments import read_segment
from kipviz.records.placement import TRANSACTION_STATE, partition_for
from tests.serving.program_runs import RESTS_S, TOPICS
from tests.serving.wire_proxy import HOST, Proxy

BROKERS = (1, 2, 3)
WAIT_S = 30.0
SETTINGS = {
    # A transaction is ended soon after its time is over.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
}


class _Cluster(RealCluster):
    """Brokers with a listener of their own for clients, which they advertise at the proxy's ports."""

    def __init__(self, jars: Path, home: Path, proxy: Proxy) -> None:
        self._proxy = proxy
        self.clients_ports = {broker: _free_port() for broker in BROKERS}
        super().__init__(jars, home, len(BROKERS), further=SETTINGS, log_requests=False)

    def _settings_of(self, node: int) -> dict[str, str]:
        found = super()._settings_of(node)
        for name, port in (
            ("listeners", self.clients_ports[node]),
            ("advertised.listeners", self._proxy.ports[node]),
        ):
            found[name] += f",CLIENTS://{HOST}:{port}"
        return found


class RealBrokers:
    """The cluster of one or many runs; each has names of its own."""

    def __init__(self, jars: Path, home: Path) -> None:
        self.proxy = Proxy(BROKERS)
        self.cluster = _Cluster(jars, home, self.proxy)
        self.proxy.forward(self.cluster.clients_ports)
        self.names: dict[str, str] = {}
        self._runs = 0

    def begin(self) -> None:
        """Make new topics and names for a run."""
        self.cluster.settle()  # a broker may just have been killed
        self._runs += 1
        self.names = {name: f"{name}-{self._runs}" for name in ("t", "w", "group", *TOPICS)}
        wanted = tuple(
            {
                "Name": self.names[topic],
                "NumPartitions": 1,
                "ReplicationFactor": len(BROKERS),
                "Assignments": (),
                "Configs": (),
            }
            for topic in TOPICS
        )
        with self.cluster.connect(1, "maker") as client:
            told = client.ask(CREATE, {"Topics": wanted, "timeoutMs": 30_000})
        assert not any(each["ErrorCode"] for each in told["Topics"]), told
        self.cluster.settle()

    def act(self, words: list[str]) -> None:
        """Inject a fault, or wait for what a real cluster does in its own time."""
        what, *names = words
        if what == "lose-answer":
            self.proxy.lose_answer(names[0])
        elif what == "lose-request":
            self.proxy.lose_request(names[0])
        elif what == "rest":
            time.sleep(RESTS_S)
        elif what == "crash-coordinator":
            at = partition_for(names[0], INTERNAL_PARTITIONS)
            before, _ = self.cluster._leader_of(TRANSACTION_STATE, at)
            self.cluster.kill_leader(TRANSACTION_STATE, at)
            _wait(lambda: self.cluster._leader_of(TRANSACTION_STATE, at)[0] not in (-1, before))
        elif what == "move-coordinator":
            self._move(TRANSACTION_STATE, partition_for(names[0], INTERNAL_PARTITIONS))
        elif what == "move-leader":
            self._move(names[0], 0)
        elif what == "time-out":
            _wait(lambda: self._state_of(names[0]) == "CompleteAbort")
        elif what == "settle":
            _wait(lambda: self._state_of(names[0]).startswith("Complete"))
        else:
            assert what == "share-from-the-start", what
            self._share_from_the_start(names[0])

    def _move(self, topic: str, index: int) -> None:
        before, _ = self.cluster._leader_of(topic, index)
        self.cluster.move(topic, index)
        _wait(lambda: self.cluster._leader_of(topic, index)[0] not in (-1, before))

    def _state_of(self, transactional_id: str) -> str:
        with self.cluster.connect(1, "looks") as client:
            asked = {"KeyType": TRANSACTION, "CoordinatorKeys": (transactional_id,)}
            (told,) = client.ask(FIND, asked)["Coordinators"]
        with self.cluster.connect(told["NodeId"], "looks") as client:
            (state,) = client.ask(DESCRIBE, {"TransactionalIds": (transactional_id,)})[
                "TransactionStates"
            ]
        return state["TransactionState"]

    def _share_from_the_start(self, group: str) -> None:
        """Set share.auto.offset.reset, which is `latest` by default, as it is in the simulated cluster."""
        entry = ConfigEntry(
            "share.auto.offset.reset",
            "earliest",
            incremental_operation=AlterConfigOpType.SET,
        )
        resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=[entry])
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap_servers})
        for done in admin.incremental_alter_configs([resource]).values():
            done.result(WAIT_S)

    def records(self, topic: str) -> list[tuple[int, str, str]]:
        """Return (offset, value, fate) of a topic's records, from its leader's file."""
        name = self.names[topic]
        leader, _ = self.cluster._leader_of(name, 0)
        folder = self.cluster.files[leader - 1].logs / f"{name}-0"
        segment = read_segment(folder / f"{0:020d}.log", torn_tail=True)
        found: list[tuple[int, str, str]] = []
        open_now: dict[int, list[int]] = {}
        ends = {each.offset: each.committed for each in markers(segment)}
        for batch in segment.batches:
            if batch.control:
                fate = "committed" if ends[batch.base_offset] else "aborted"
                for at in open_now.pop(batch.producer_id, ()):
                    found[at] = (*found[at][:2], fate)
                continue
            for record in batch.records:
                if batch.transactional:
                    open_now.setdefault(batch.producer_id, []).append(len(found))
                fate = "open" if batch.transactional else "committed"
                found.append((record.offset, (record.value or b"").decode(), fate))
        return found

    def stop(self) -> None:
        """Stop the brokers and the proxy."""
        self.cluster.stop()
        self.proxy.close()


def _wait(done: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not done():
        assert time.monotonic() < end, "the brokers did not do it in time"
        time.sleep(0.05)
