"""The server of a soak: `kipviz serve --script` in a process of its own, as a program of a user would start it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil

from tests.soaking.workers import TOPICS

ROOT = Path(__file__).parents[2]
# A server is stuck if a line has no answer although it had so much time of a processor, or, if it waits for something,
# after so long by the clock. On a busy machine a minute of the clock may be a second of a processor.
ANSWER_CPU_S = 30.0
ANSWER_S = 600.0
ENDS_S = 60.0
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
                # A server that is stuck writes the stacks of its threads to stderr when it is aborted.
                env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONFAULTHANDLER": "1"},
            )
        self._seen = psutil.Process(self._process.pid)
        self._lock = threading.Lock()
        self.slowest_s = self._waited_s = 0.0
        assert self._process.stdout is not None
        said = json.loads(self._process.stdout.readline())
        servers = said["bootstrap_servers"].split(",")
        self.ports = {number: int(s.rpartition(":")[2]) for number, s in enumerate(servers, 1)}

    def do(self, what: str, **more: Any) -> dict[str, Any]:
        """Send a line of the script and return the answer; an answer that does not come is Stuck."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        begun, answered = time.monotonic(), threading.Event()
        guard = threading.Thread(target=self._abort_if_stuck, args=(answered,), daemon=True)
        with self._lock:
            guard.start()
            try:
                self._process.stdin.write(json.dumps({"do": what} | more) + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
            except OSError:
                line = ""
            finally:
                answered.set()
        took = time.monotonic() - begun
        self.slowest_s = max(self.slowest_s, took)
        if not line:
            raise Stuck(
                f"no answer to {what!r} in {took:.0f} s, or the server has ended: {self.errors()}"
            )
        found: dict[str, Any] = json.loads(line)
        return found

    def _abort_if_stuck(self, answered: threading.Event) -> None:
        """Abort the server unless a line is answered; it writes where each of its threads is."""
        begun, spent = time.monotonic(), self._cpu_s()
        while not answered.wait(ANSWER_CPU_S / 30):
            used = self._cpu_s() - spent
            if used >= ANSWER_CPU_S or time.monotonic() - begun >= ANSWER_S:
                with contextlib.suppress(OSError):
                    self._process.send_signal(signal.SIGABRT)
                return

    def _cpu_s(self) -> float:
        try:
            spent = self._seen.cpu_times()
        except psutil.Error:
            return 0.0  # it has ended, and no answer comes
        return float(spent.user + spent.system)

    def waited_s(self) -> float:
        """Return the seconds in which the server or its clients here were ready to run and got no processor.

        Zero where the system does not tell it. From /proc/PID/schedstat of Linux.
        """
        # A thread that has ended takes its waits with it, and the clock of a soak must not jump.
        now = max(_run_queue_s(self._process.pid), _run_queue_s(os.getpid()))
        self._waited_s = max(self._waited_s, now)
        return self._waited_s

    def errors(self) -> str:
        """Return what the server wrote to stderr."""
        return self._errors.read_text(encoding="utf-8", errors="replace")[-8_000:]

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
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it may have ended with a line unread
            self._process.stdin.close()
        try:
            self._process.wait(timeout=ENDS_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=ENDS_S)
        if self._process.stdout is not None:
            self._process.stdout.close()


def _run_queue_s(pid: int) -> float:
    """Return how long the thread of a process that waited longest for a processor has waited."""
    waits = [0]
    for told in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # a thread that has ended meanwhile
            waits.append(int(told.read_text(encoding="ascii").split()[1]))
    return max(waits) / 1e9
