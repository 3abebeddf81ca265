"""The server of a soak: `kipviz serve --script` in a process of its own, as a program of a user would start it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil

from tests.soaking.workers import TOPICS

ROOT = Path(__file__).parents[2]
ANSWER_S = 60.0
MISTAKE = "kipviz could not handle its request"


class Stuck(Exception):
    """The server does not answer, or has ended."""


class ServerProcess:
    """A server, the lines that drive it, and what it uses of the machine."""

    def __init__(self, errors: Path) -> None:
        words = [word for topic in TOPICS for word in ("--topic", topic)]
        self._errors = errors
        with errors.open("wb") as err:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "kipviz", "serve", "--script", "--idle", "36000", *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=err,
                text=True,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
        self._seen = psutil.Process(self._process.pid)
        self._lock = threading.Lock()
        self.slowest_s = 0.0
        assert self._process.stdout is not None
        said = json.loads(self._process.stdout.readline())
        servers = said["bootstrap_servers"].split(",")
        self.ports = {number: int(s.rpartition(":")[2]) for number, s in enumerate(servers, 1)}

    def do(self, what: str, **more: Any) -> dict[str, Any]:
        """Send a line of the script and return the answer; an answer that does not come is Stuck."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        begun = time.monotonic()
        guard = threading.Timer(ANSWER_S, self._process.kill)
        guard.daemon = True
        with self._lock:
            guard.start()
            try:
                self._process.stdin.write(json.dumps({"do": what} | more) + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
            except OSError:
                line = ""
            finally:
                guard.cancel()
        took = time.monotonic() - begun
        self.slowest_s = max(self.slowest_s, took)
        if not line:
            raise Stuck(
                f"no answer to {what!r} in {took:.0f} s, or the server has ended: {self.errors()}"
            )
        found: dict[str, Any] = json.loads(line)
        return found

    def errors(self) -> str:
        """Return what the server wrote to stderr."""
        return self._errors.read_text(encoding="utf-8", errors="replace")[-2_000:]

    def measure(self) -> tuple[float, int, int, float]:
        """Return MB of memory, file descriptors, threads and seconds of CPU time."""
        with self._seen.oneshot():
            spent = self._seen.cpu_times()
            return (
                self._seen.memory_info().rss / 1e6,
                self._seen.num_fds(),
                self._seen.num_threads(),
                spent.user + spent.system,
            )

    def end(self) -> None:
        """Stop the server."""
        if self._process.poll() is None:
            assert self._process.stdin is not None
            try:
                self._process.stdin.close()
                self._process.wait(timeout=ANSWER_S)
            except (OSError, subprocess.TimeoutExpired):
                self._process.kill()
                self._process.wait(timeout=ANSWER_S)
        if self._process.stdout is not None:
            self._process.stdout.close()
