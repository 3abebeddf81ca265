"""One broker of Kafka, started from a folder of jars on loopback, with the request log that it writes at DEBUG."""

from __future__ import annotations

import base64
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from kipviz.conforming.plain_client import HOST, Lost, PlainClient
from kipviz.conforming.playing import (
    CREATE,
    FIND,
    GROUP,
    INIT,
    NOBODY,
    SHARE,
    TRANSACTION,
    WHERE,
)
from kipviz.conforming.programs import PARTITIONS

# What Kafka's own log4j2.yaml gives a line of the request log, in UTC. Log4j's own hook would stop it before the broker
# has stopped, and the next line would begin the file again.
LOG4J2 = """<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="WARN" shutdownHook="disable">
  <Appenders>
    <Console name="console" target="SYSTEM_ERR"><PatternLayout pattern="[%d] %p %m (%c)%n"/></Console>
    <File name="requests" fileName="${sys:kipviz.requests}" append="true">
      <PatternLayout pattern="[%d{yyyy-MM-dd HH:mm:ss,SSS}{UTC}] %p %m (%c)%n"/>
    </File>
  </Appenders>
  <Loggers>
    <Logger name="kafka.request.logger" level="DEBUG" additivity="false"><AppenderRef ref="requests"/></Logger>
    <Root level="WARN"><AppenderRef ref="console"/></Root>
  </Loggers>
</Configuration>
"""
INTERNAL_PARTITIONS = 3
SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "auto.create.topics.enable": "false",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": str(INTERNAL_PARTITIONS),
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": str(INTERNAL_PARTITIONS),
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": str(INTERNAL_PARTITIONS),
    "group.initial.rebalance.delay.ms": "0",
}
STARTS_S, STOPS_S, FORMATS_S = 60.0, 60.0, 60.0
MEMORY = "-Xmx512m"
JARS = {
    "kafka-clients": re.compile(r"kafka-clients-(\d+\.\d+\.\d+)\.jar"),
    "the broker, kafka_2.13": re.compile(r"kafka_2\.1\d-(\d+\.\d+\.\d+)\.jar"),
    "log4j-core, version 2": re.compile(r"log4j-core-2\..*\.jar"),
}


class CannotStart(RuntimeError):
    """There is no broker; the message is one sentence."""


def release_of(jars: Path) -> str:
    """Return the release that a folder of jars has, such as 4.4.0.

    Raises:
        CannotStart: if it lacks what a broker needs.
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


class RealBroker:
    """A broker that runs until its `with` block ends; then `logs` and `requests` are what it wrote."""

    def __init__(self, jars: Path, home: Path, java: str = "java") -> None:
        """Format storage in an empty folder and start.

        Raises:
            CannotStart: if there is no Java, or the broker does not start.
        """
        found = shutil.which(java)
        if found is None:
            raise CannotStart("a broker needs Java 17 or newer, and there is no java here")
        self.home = home
        self.logs, self.requests = home / "logs", home / "kafka-request.log"
        self._said = home / "broker.out"
        self.port, controller = _free_port(), _free_port()
        log4j2 = home / "log4j2.xml"
        log4j2.write_text(LOG4J2)
        quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
        paths = ("-cp", f"{jars.resolve()}/*", f"-Dlog4j2.configurationFile={log4j2}")
        self._java = (found, MEMORY, *quick, *paths, f"-Dkipviz.requests={self.requests}")
        self._properties = home / "server.properties"
        own = SETTINGS | {
            "listeners": f"PLAINTEXT://{HOST}:{self.port},CONTROLLER://{HOST}:{controller}",
            "advertised.listeners": f"PLAINTEXT://{HOST}:{self.port}",
            "controller.quorum.voters": f"1@{HOST}:{controller}",
            "log.dirs": str(self.logs),
        }
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in own.items()))
        self._format()
        with self._said.open("wb") as out:
            self._process = subprocess.Popen(
                [*self._java, "kafka.Kafka", str(self._properties)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,  # ^C is for who has started it, and he stops it in order
            )
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    def _format(self) -> None:
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
            raise CannotStart(f"the storage of the broker cannot be formatted: {wrong}") from None
        if done.returncode:
            raise CannotStart(
                f"the storage of the broker cannot be formatted: {_last(done.stderr)}"
            )

    def _wait(self) -> None:
        end = time.monotonic() + STARTS_S
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise CannotStart(f"the broker ended at once: {self.last_words()}")
            try:
                with PlainClient(self.port, "warm-up") as client:
                    _warm_up(client, end)
            except Lost:
                time.sleep(0.1)
            else:
                return
        raise CannotStart(f"the broker did not start within {STARTS_S:g} s: {self.last_words()}")

    def last_words(self) -> str:
        """Return the last line that the broker said on its console."""
        return _last(self._said.read_text(errors="replace"))

    def connect(self, client_id: str) -> PlainClient:
        """Open a connection of a client.

        Raises:
            Lost: if the broker does not accept it.
        """
        return PlainClient(self.port, client_id)

    def create(self, topics: Iterable[str]) -> dict[str, str]:
        """Create topics, whose records have the broker's times, and return their ids.

        Raises:
            CannotStart: if one cannot be created.
        """
        config = ({"Name": "message.timestamp.type", "Value": "LogAppendTime"},)
        wanted = tuple(
            {
                "Name": name,
                "NumPartitions": PARTITIONS,
                "ReplicationFactor": 1,
                "Assignments": (),
                "Configs": config,
            }
            for name in topics
        )
        with self.connect("warm-up") as client:
            told = client.ask(CREATE, {"Topics": wanted, "timeoutMs": 30_000})
            for each in told["Topics"]:
                if each["ErrorCode"]:
                    why = each["ErrorMessage"]
                    raise CannotStart(f"the topic {each['Name']} cannot be created: {why}")
                _wait_for_leaders(client, each["Name"])
        return {each["Name"]: each["TopicId"] for each in told["Topics"]}

    def stop(self) -> None:
        """Stop in an orderly way, and by force if that takes too long."""
        self._process.terminate()
        try:
            self._process.wait(STOPS_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


def _warm_up(client: PlainClient, end: float) -> None:
    """Ask for every kind of coordinator until its internal topic is there and led."""
    keys = {TRANSACTION: "warm-up", GROUP: "warm-up", SHARE: "warm-up:AAAAAAAAAAAAAAAAAAAAAg:0"}
    for kind, key in keys.items():
        while client.ask(FIND, {"KeyType": kind, "CoordinatorKeys": (key,)})["Coordinators"][0][
            "ErrorCode"
        ]:
            if time.monotonic() > end:
                raise Lost("the internal topics are not there")
            time.sleep(0.1)
    nameless = {"TransactionalId": None, "TransactionTimeoutMs": 60_000}
    nobody = {"ProducerId": NOBODY[0], "ProducerEpoch": NOBODY[1]}
    for name in range(4 * INTERNAL_PARTITIONS):
        asked = nameless | nobody | {"TransactionalId": f"warm-up-{name}"}
        while client.ask(INIT, asked)["ErrorCode"]:
            if time.monotonic() > end:
                raise Lost("the transaction coordinators do not answer")
            time.sleep(0.05)


def _wait_for_leaders(client: PlainClient, topic: str) -> None:
    """Wait until the broker knows that it leads a topic; ListOffsets is what no answer is judged by."""
    parts = tuple({"PartitionIndex": index, "Timestamp": -1} for index in range(PARTITIONS))
    asked = {"ReplicaId": -1, "Topics": ({"Name": topic, "Partitions": parts},)}
    end = time.monotonic() + STARTS_S
    while time.monotonic() < end:
        (told,) = client.ask(WHERE, asked)["Topics"]
        if not any(part["ErrorCode"] for part in told["Partitions"]):
            return
        time.sleep(0.02)
    raise CannotStart(f"nobody leads the topic {topic}")


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as server:
        port: int = server.getsockname()[1]
    return port


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
