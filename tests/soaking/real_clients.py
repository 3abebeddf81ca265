"""Real clients of a soak, each a process of its own that is killed at random moments."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tests.soaking.ledger import ABORTED, COMMITTED, UNKNOWN
from tests.soaking.workers import Worker

HERE = Path(__file__).parent
PATIENCE_S = 40.0


class RealClient(Worker):
    """Transactions, and sometimes a poll as a member of a group, by kafka-python or by librdkafka."""

    def __init__(self, *given: Any, program: str) -> None:
        super().__init__(*given)
        self._program = HERE / f"{program}_worker.py"
        self._process: subprocess.Popen[str] | None = None
        self.kills = 0

    def work(self) -> None:
        """Make one transaction or one poll; now and then the process dies in the middle of it."""
        if self.dice.random() < 0.2:
            self._ask(f"poll readers-{self._program.stem}", dies=False)
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
            said = self._ask(line, dies=self.dice.random() < 0.01)
        finally:
            known = {"committed": COMMITTED, "aborted": ABORTED}
            written.outcome = known.get(said, UNKNOWN if commits else ABORTED)
            self.tally.committed += said == "committed"
            self.tally.aborted += said == "aborted"
        if said.startswith("unknown"):
            self.rejections[f"{self._program.stem}: {said}"] += 1

    def _ask(self, line: str, *, dies: bool) -> str:
        """Have a line done; if the client dies or does not answer in time the answer is ""."""
        if self._process is None or self._process.poll() is not None:
            servers = ",".join(f"127.0.0.1:{port}" for port in self.client.ports.values())
            self._process = subprocess.Popen(
                [sys.executable, str(self._program), servers, self.name],
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
