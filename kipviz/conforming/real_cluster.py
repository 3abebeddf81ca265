"""Brokers of Kafka, started from a folder of jars on loopback, each with its request log at DEBUG."""

from __future__ import annotations

import base64
import contextlib
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from kipviz.conforming.client_memory import NOBODY
from kipviz.conforming.plain_client import HOST, Lost, PlainClient
from kipviz.conforming.playing import INTERNAL_PARTITIONS
from kipviz.conforming.programs import PARTITIONS
from kipviz.conforming.questions import (
    CREATE,
    ELECT,
    FIND,
    GROUP,
    INIT,
    METADATA,
    REASSIGN,
    SHARE,
    TRANSACTION,
    WHERE,
)
from kipviz.core.values import Value
from kipviz.settings.broker_configs import (
    AUTO_CREATE_TOPICS_ENABLE,
    GROUP_INITIAL_REBALANCE_DELAY_MS,
    TRANSACTION_STATE_LOG_MIN_ISR,
)
from kipviz.settings.client_configs import REQUEST_TIMEOUT_MS, TRANSACTION_TIMEOUT_MS
from kipviz.settings.topic_configs import MESSAGE_TIMESTAMP_TYPE

# The layout of a request log's line in Kafka's own log4j2.yaml, in UTC. Log4j's own shutdown hook would close the file
# before the broker has stopped, and the next line would overwrite it.
LOG4J2 = """<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="WARN" shutdownHook="disable">
  <Appenders>
    <Console name="console" target="SYSTEM_ERR"><PatternLayout pattern="[%d] %p %m (%c)%n"/></Console>
    <File name="requests" fileName="${sys:kipviz.requests}" append="true">
      <PatternLayout pattern="[%d{yyyy-MM-dd HH:mm:ss,SSS}{UTC}] %p %m (%c)%n"/>
    </File>
  </Appenders>
  <Loggers>
    <Logger name="kafka.request.logger" level="{level}" additivity="false"><AppenderRef ref="requests"/></Logger>
    <Root level="WARN"><AppenderRef ref="console"/></Root>
  </Loggers>
</Configuration>
"""
# With several brokers the controller is a process of its own, so that killing a broker leaves the controller alone.
CONTROLLER = 9
SETTINGS = {
    "controller.listener.names": "CONTROLLER",
    AUTO_CREATE_TOPICS_ENABLE.name: "false",
    "offsets.topic.num.partitions": str(INTERNAL_PARTITIONS),
    "transaction.state.log.num.partitions": str(INTERNAL_PARTITIONS),
    "share.coordinator.state.topic.num.partitions": str(INTERNAL_PARTITIONS),
    GROUP_INITIAL_REBALANCE_DELAY_MS.name: "0",
    # A killed broker is fenced after this time.
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
}
REPLICATED = (
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "share.coordinator.state.topic.replication.factor",
)
IN_SYNC = (
    TRANSACTION_STATE_LOG_MIN_ISR.name,
    "share.coordinator.state.topic.min.isr",
)
STARTS_S, STOPS_S, FORMATS_S = 60.0, 60.0, 60.0
MEMORY, MEMORY_OF_SEVERAL = "-Xmx512m", "-Xmx384m"
LOGS, REQUESTS = "logs", "kafka-request.log"
JARS = {
    "kafka-clients": re.compile(r"kafka-clients-(\d+\.\d+\.\d+)\.jar"),
    "the broker, kafka_2.13": re.compile(r"kafka_2\.1\d-(\d+\.\d+\.\d+)\.jar"),
    "log4j-core, version 2": re.compile(r"log4j-core-2\..*\.jar"),
}


class CannotStart(RuntimeError):
    """No broker can be started; the message is one sentence."""


def release_of(jars: Path) -> str:
    """Return the release of a folder of jars, such as 4.4.0.

    Raises:
        CannotStart: if a jar that a broker needs is missing.
    """
    if not jars.is_dir():
        raise CannotStart(f"there is no folder {jars}; name the libs folder of a Kafka release")
    names = sorted(each.name for each in jars.iterdir())
    found = {what: [m for n in names if (m := like.fullmatch(n))] for what, like in JARS.items()}
    lacking = [what for what, matches in found.items() if not matches]
    if lacking:
        raise CannotStart(
            f"{jars} has no jar of {' and of '.join(lacking)}; name the libs folder of a Kafka release"
        )
    return str(found["the broker, kafka_2.13"][0][1])


class Files(Value, frozen=True):
    """The files of a broker: its folder of logs, and its request log."""

    logs: Path
    requests: Path


def files_in(home: Path, brokers: int) -> tuple[Files, ...]:
    """Return the files of so many brokers: one writes into the folder itself, several each into a folder of their own."""
    homes = [home] if brokers == 1 else [home / f"broker-{at}" for at in range(1, brokers + 1)]
    return tuple(Files(each / LOGS, each / REQUESTS) for each in homes)


class _Process:
    """A broker, a controller, or both in one, which can be started and stopped repeatedly."""

    def __init__(
        self, java: tuple[str, ...], home: Path, files: Files, own: Mapping[str, str]
    ) -> None:
        """Write its settings; `own` are those that other processes of its cluster do not have."""
        home.mkdir(exist_ok=True)
        self._java = (*java, f"-Dkipviz.requests={files.requests}")
        self._said = home / "broker.out"
        self._properties = home / "server.properties"
        told = {**SETTINGS, **own, "log.dirs": str(files.logs)}
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in told.items()))
        self._running: subprocess.Popen[bytes] | None = None

    def format(self) -> None:
        """Format its storage.

        Raises:
            CannotStart: if this fails.
        """
        cluster_id = base64.urlsafe_b64encode(bytes(15) + b"\x01").decode().rstrip("=")
        asked = ("format", "--cluster-id", cluster_id, "--config", str(self._properties))
        try:
            done = subprocess.run(
                [*self._java, "kafka.tools.StorageTool", *asked],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=FORMATS_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as wrong:
            raise CannotStart(f"the storage of a broker cannot be formatted: {wrong}") from None
        if done.returncode:
            raise CannotStart(f"the storage of a broker cannot be formatted: {_last(done.stderr)}")

    def start(self) -> None:
        """Start the process, without waiting until it serves requests."""
        with self._said.open("ab") as out:
            self._running = subprocess.Popen(
                [*self._java, "kafka.Kafka", str(self._properties)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,  # only the process that started it handles ^C, and stops it in order
            )

    def check(self) -> None:
        """Check that it has not ended by itself.

        Raises:
            CannotStart: if it has, with the last line of its console.
        """
        if self._running is not None and self._running.poll() is not None:
            raise CannotStart(f"the broker ended at once: {self.last_words()}")

    def last_words(self) -> str:
        """Return the last line of its console."""
        return _last(self._said.read_text(errors="replace"))

    def kill(self) -> None:
        """Kill it as `kill -9` does."""
        if self._running is not None:
            self._running.kill()
            self._running.wait()

    def ask_to_stop(self) -> None:
        """Ask it to stop gracefully."""
        if self._running is not None:
            self._running.terminate()

    def wait_until_stopped(self) -> None:
        """Wait until it has stopped, and kill it if that takes too long."""
        if self._running is not None:
            try:
                self._running.wait(STOPS_S)
            except subprocess.TimeoutExpired:
                self.kill()


class RealCluster:
    """One broker, or several with a controller, that run until the `with` block ends; `files` are their files."""

    def __init__(
        self,
        jars: Path,
        home: Path,
        brokers: int = 1,
        java: str = "java",
        further: Mapping[str, str] = MappingProxyType({}),
        *,
        log_requests: bool = True,
    ) -> None:
        """Format storage in an empty folder and start; `further` are additional settings of every broker.

        Requests are logged unless `log_requests` says no: a log of millions of them is larger than what they wrote.

        Raises:
            CannotStart: if there is no Java, or a broker does not start.
        """
        found = shutil.which(java)
        if found is None:
            raise CannotStart("a broker needs Java 17 or newer, and there is no java here")
        self.home, self.files = home, files_in(home, brokers)
        self.nodes = tuple(range(1, brokers + 1))
        self.ports = {node: _free_port() for node in self.nodes}
        self._controller = _free_port()
        log4j2 = home / "log4j2.xml"
        log4j2.write_text(LOG4J2.replace("{level}", "DEBUG" if log_requests else "WARN"))
        quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
        paths = ("-cp", f"{jars.resolve()}/*", f"-Dlog4j2.configurationFile={log4j2}")
        memory = MEMORY if brokers == 1 else MEMORY_OF_SEVERAL
        command = (found, memory, *quick, *paths)
        self._processes = {
            node: _Process(
                command, files.logs.parent, files, {**self._settings_of(node), **further}
            )
            for node, files in zip(self.nodes, self.files, strict=True)
        }
        everything = dict(self._processes)
        if brokers > 1:
            place = home / "controller"
            (files,) = files_in(place, 1)
            everything[CONTROLLER] = _Process(command, place, files, self._of_controller())
        self._everything = tuple(everything.values())
        for process in self._everything:
            process.format()
        try:
            for process in self._everything:
                process.start()
            self._wait()
        except BaseException:
            self.stop()
            raise

    def _settings_of(self, node: int) -> dict[str, str]:
        several = len(self.nodes) > 1
        listeners = f"PLAINTEXT://{HOST}:{self.ports[node]}"
        own = f",CONTROLLER://{HOST}:{self._controller}"
        copies, in_sync = (3, 2) if several else (1, 1)
        return {
            "process.roles": "broker" if several else "broker,controller",
            "node.id": str(node),
            "listeners": listeners if several else listeners + own,
            "advertised.listeners": listeners,
            "controller.quorum.voters": f"{CONTROLLER if several else node}@{HOST}:{self._controller}",
            **dict.fromkeys(REPLICATED, str(copies)),
            **dict.fromkeys(IN_SYNC, str(in_sync)),
        }

    def _of_controller(self) -> dict[str, str]:
        return {
            "process.roles": "controller",
            "node.id": str(CONTROLLER),
            "listeners": f"CONTROLLER://{HOST}:{self._controller}",
            "controller.quorum.voters": f"{CONTROLLER}@{HOST}:{self._controller}",
        }

    @property
    def bootstrap_servers(self) -> str:
        """The brokers' addresses, for clients."""
        return ",".join(f"{HOST}:{port}" for port in self.ports.values())

    def connect(
        self, node: int, client_id: str, numbers: Iterator[int] | None = None
    ) -> PlainClient:
        """Open a connection of a client.

        Raises:
            Lost: if the broker does not accept it.
        """
        return PlainClient(self.ports[node], client_id, numbers)

    def create(self, topics: Iterable[str]) -> dict[str, str]:
        """Create topics, whose records have the broker's timestamps, and return their ids.

        Raises:
            CannotStart: if one cannot be created.
        """
        config = ({"Name": MESSAGE_TIMESTAMP_TYPE.name, "Value": "LogAppendTime"},)
        wanted = tuple(
            {
                "Name": name,
                "NumPartitions": PARTITIONS,
                "ReplicationFactor": len(self.nodes),
                "Assignments": (),
                "Configs": config,
            }
            for name in topics
        )
        with self.connect(self.nodes[0], "warm-up") as client:
            told = client.ask(CREATE, {"Topics": wanted, "timeoutMs": REQUEST_TIMEOUT_MS.default})
        for each in told["Topics"]:
            if each["ErrorCode"]:
                why = each["ErrorMessage"]
                raise CannotStart(f"the topic {each['Name']} cannot be created: {why}")
        self.settle()
        self._wait_for_leaders([each["Name"] for each in told["Topics"]])
        return {each["Name"]: each["TopicId"] for each in told["Topics"]}

    # -- leaders -------------------------------------------------------------------------------

    def _partitions(self, node: int) -> dict[tuple[str, int], Any]:
        """Return every partition as a broker knows it."""
        with self.connect(node, "warm-up") as client:
            told = client.ask(METADATA, {"Topics": None})
        return {
            (topic["Name"], part["PartitionIndex"]): part
            for topic in told["Topics"]
            for part in topic["Partitions"]
        }

    def _leader_of(self, topic: str, index: int) -> tuple[int, tuple[int, ...]]:
        """Return the leader of a partition, and its in-sync replicas."""
        for node in self.nodes:
            try:
                found = self._partitions(node).get((topic, index))
            except Lost:
                continue
            if found is not None:
                return found["LeaderId"], tuple(found["IsrNodes"])
        return -1, ()

    def move(self, topic: str, index: int) -> None:
        """Move a partition's leader: the next in-sync broker becomes the preferred one, and is elected."""
        leader, in_sync = self._leader_of(topic, index)
        others = [node for node in in_sync if node != leader]
        if leader < 0 or not others:
            return
        later = [node for node in sorted(others) if node > leader]
        new = (later or sorted(others))[0]
        replicas = (new, *(node for node in self.nodes if node != new))
        part = {"PartitionIndex": index, "Replicas": replicas}
        # The leader may have been killed, and the cluster has not noticed yet.
        with contextlib.suppress(Lost), self.connect(leader, "mover") as client:
            client.ask(REASSIGN, {"Topics": ({"Name": topic, "Partitions": (part,)},)})
            client.ask(ELECT, {"TopicPartitions": ({"Topic": topic, "Partitions": (index,)},)})

    def kill_leader(self, topic: str, index: int) -> None:
        """Kill the leader of a partition as `kill -9` does, and start it again."""
        leader, _ = self._leader_of(topic, index)
        if leader in self._processes:
            self._processes[leader].kill()
            self._processes[leader].start()

    def settle(self) -> None:
        """Wait until every broker runs and knows that every replica is in sync.

        Raises:
            CannotStart: if that takes too long.
        """
        end = time.monotonic() + STARTS_S
        while not all(map(self._is_whole, self.nodes)):
            if time.monotonic() > end:
                raise CannotStart(f"not every replica was in sync within {STARTS_S:g} s")
            time.sleep(0.1)

    def _is_whole(self, node: int) -> bool:
        self._processes[node].check()
        try:
            parts = self._partitions(node).values()
        except Lost:
            return False
        copies = len(self.nodes)
        return all(p["LeaderId"] >= 0 and len(p["IsrNodes"]) == copies for p in parts)

    def _wait_for_leaders(self, topics: Iterable[str]) -> None:
        """Wait until leaders know that they lead; ListOffsets is an API that is not judged."""
        end = time.monotonic() + STARTS_S
        for topic in topics:
            for index in range(PARTITIONS):
                while not self._leads(topic, index):
                    if time.monotonic() > end:
                        raise CannotStart(f"the topic has no leader: {topic}")
                    time.sleep(0.02)

    def _leads(self, topic: str, index: int) -> bool:
        leader, _ = (self.nodes[0], ()) if len(self.nodes) == 1 else self._leader_of(topic, index)
        if leader < 0:
            return False
        part = {"PartitionIndex": index, "Timestamp": -1}
        asked = {"ReplicaId": -1, "Topics": ({"Name": topic, "Partitions": (part,)},)}
        with self.connect(leader, "warm-up") as client:
            (told,) = client.ask(WHERE, asked)["Topics"]
        return not any(part["ErrorCode"] for part in told["Partitions"])

    # -- from the start to the end -------------------------------------------------------------

    def _wait(self) -> None:
        end = time.monotonic() + STARTS_S
        while time.monotonic() < end:
            for process in self._everything:
                process.check()
            try:
                for node in self.nodes:
                    self.connect(node, "warm-up").close()
                self._warm_up(end)
                self.settle()
            except Lost:
                time.sleep(0.1)
            else:
                return
        words = next(iter(self._processes.values())).last_words()
        raise CannotStart(f"the broker did not start within {STARTS_S:g} s: {words}")

    def _warm_up(self, end: float) -> None:
        """Ask for every kind of coordinator until its internal topic exists, has a leader, and answers."""
        keys = {TRANSACTION: "warm-up", GROUP: "warm-up", SHARE: "warm-up:AAAAAAAAAAAAAAAAAAAAAg:0"}
        for kind, key in keys.items():
            self._coordinator(kind, key, end)
        numbers: Iterator[int] = count(1)
        for name in (f"warm-up-{at}" for at in range(4 * INTERNAL_PARTITIONS)):
            asked = {
                "TransactionalId": name,
                "TransactionTimeoutMs": TRANSACTION_TIMEOUT_MS.default,
                "ProducerId": NOBODY[0],
                "ProducerEpoch": NOBODY[1],
            }
            error = -1
            while error:
                node = self._coordinator(TRANSACTION, name, end)
                with self.connect(node, "warm-up", numbers) as client:
                    error = client.ask(INIT, asked)["ErrorCode"]
                if error:
                    _wait_a_moment(end, "the transaction coordinators do not answer")

    def _coordinator(self, kind: int, key: str, end: float) -> int:
        """Return the coordinator of a key; with a single broker it is that one, as soon as it answers."""
        while True:
            with self.connect(self.nodes[0], "warm-up") as client:
                (told,) = client.ask(FIND, {"KeyType": kind, "CoordinatorKeys": (key,)})[
                    "Coordinators"
                ]
            if not told["ErrorCode"]:
                return int(told["NodeId"])
            _wait_a_moment(end, "the internal topics are not there")

    def stop(self) -> None:
        """Stop gracefully, the brokers together and then the controller, and kill them if that takes too long."""
        for process in self._processes.values():
            process.ask_to_stop()
        for process in self._processes.values():
            process.wait_until_stopped()
        for process in self._everything:
            process.ask_to_stop()
            process.wait_until_stopped()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


def _wait_a_moment(end: float, why: str) -> None:
    """Wait before the next attempt.

    Raises:
        Lost: if the time is over.
    """
    if time.monotonic() > end:
        raise Lost(why)
    time.sleep(0.05)


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as server:
        port: int = server.getsockname()[1]
    return port


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it wrote nothing to its console"
