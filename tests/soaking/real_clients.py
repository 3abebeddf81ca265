"""Real clients of a soak, each a process of its own that is killed at random moments."""

from __future__ import annotations

import contextlib
import importlib.util
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.serving import kafka_jars
from tests.soaking.ledger import ABORTED, COMMITTED, UNKNOWN
from tests.soaking.workers import Worker

HERE = Path(__file__).parent
PATIENCE_S = 40.0
DIES = 0.01  # how often the process dies in the middle of its work
KAFKA_PYTHON, LIBRDKAFKA, JAVA = "kafka-python", "librdkafka", "java"
FILES = {KAFKA_PYTHON: "kafka_python_worker.py", LIBRDKAFKA: "librdkafka_worker.py"}


def command_of(program: str) -> list[str]:
    """Return how a client's program is started, without its arguments.

    Raises:
        NoClient: if the client is not here.
    """
    if program == JAVA:
        return kafka_jars.command(HERE / "JavaWorker.java")
    if program == LIBRDKAFKA and importlib.util.find_spec("confluent_kafka") is None:
        raise kafka_jars.NoClient("librdkafka is not here: confluent-kafka is not installed")
    return [sys.executable, str(HERE / FILES[program])]


def find_programs(say: Callable[[str], None]) -> tuple[str, ...]:
    """Return the clients that are here; `say` gets a line for each one that is not."""
    found = []
    for program in (KAFKA_PYTHON, LIBRDKAFKA, JAVA):
        try:
            command_of(program)
        except kafka_jars.NoClient as why:
            say(f"without {program}: {why}")
        else:
            found.append(program)
    return tuple(found)


class RealClient(Worker):
    """Transactions, and sometimes a poll as a member of a group, by kafka-python, librdkafka or Kafka's Java client."""

    def __init__(self, *given: Any, program: str) -> None:
        super().__init__(*given)
        self._program = program
        self._command = command_of(program)
        self._process: subprocess.Popen[str] | None = None
        self.kills = 0

    def work(self) -> None:
        """Make one transaction or one poll; now and then the process dies in the middle of it."""
        if self.dice.random() < 0.2:
            # Only the Java client is a member of a share group, too.
            how = "share" if self._program == JAVA and self.dice.random() < 0.5 else "poll"
            self._note(self._ask(f"{how} {how}-{self._program}", dies=self.dice.random() < DIES))
            return
        commits = self.dice.random() < 0.8
        written = self.ledger.begin(self.name)
        words = []
        for number in range(self.dice.randint(1, 3)):
            place = self.choose_place()
            value = f"{self.name}-{self.pieces}-{number}-{self.dice.random()}"
            written.records[value] = (place, -1)
            words.append(f"{place[0]}:{place[1]}:{value}")
        said = ""
        try:
            line = f"{'commit' if commits else 'abort'} {' '.join(words)}"
            said = self._ask(line, dies=self.dice.random() < DIES)
        finally:
            known = {"committed": COMMITTED, "aborted": ABORTED}
            written.outcome = known.get(said, UNKNOWN if commits else ABORTED)
            self.tally.committed += said == "committed"
            self.tally.aborted += said == "aborted"
        self._note(said)

    def _note(self, said: str) -> None:
        """Note an error of the client."""
        if said.startswith("unknown"):
            self.rejections[f"{self._program}: {said}"] += 1

    def _ask(self, line: str, *, dies: bool) -> str:
        """Have a line done; if the client dies or does not answer in time the answer is ""."""
        if self._process is None or self._process.poll() is not None:
            servers = ",".join(f"127.0.0.1:{port}" for port in self.client.ports.values())
            self._process = subprocess.Popen(
                [*self._command, servers, self.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        killer = threading.Timer(self.dice.random() * 0.3 if dies else PATIENCE_S, process.kill)
        killer.daemon = True
        killer.start()
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            return process.stdout.readline().strip()
        finally:
            killer.cancel()
            if dies:
                self.end()

    def end(self) -> None:
        """Kill the process."""
        process, self._process = self._process, None
        if process is not None:
            self.kills += 1
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
