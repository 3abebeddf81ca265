"""Run some tests in a forked child, under a limit of CPU time and memory, with a change or without one."""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

RATIO = 6.0  # how many times the unmutated CPU time a test may take
SLACK = 4.0  # seconds of CPU that every test may take beside that
MEMORY = 3 << 30  # bytes that a child may add to what its parent has


@dataclass(frozen=True)
class Ended:
    """How a child ended: which test was red ("" if none), how, and what it says of itself."""

    killer: str
    how: str
    said: Any = None


class Child:
    """A forked child; its answer is read when it has ended."""

    def __init__(
        self, work: Callable[[Callable[[Any], None]], None], *, loud: bool = False
    ) -> None:
        """Start the work; it gets a function that says something to the parent. Only a loud one prints."""
        self.started = time.monotonic()
        sys.stdout.flush()
        sys.stderr.flush()
        reading, writing = os.pipe()
        self._said = os.fdopen(reading, "rb")
        self.process = os.fork()
        if self.process:
            os.close(writing)
            return
        status = 1
        try:
            self._said.close()
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children itself
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0,) if loud else (0, 1, 2):
                os.dup2(nothing, stream)
            _limit_memory()

            def say(what: Any) -> None:
                os.write(writing, json.dumps(what).encode() + b"\n")

            work(say)
            status = 0
        finally:
            os._exit(status)

    def wait(self) -> Ended:
        """Read what the child says until it ends."""
        with self._said as lines:
            said = [json.loads(line) for line in lines]
        status = os.waitpid(self.process, 0)[1]
        running = next((each["running"] for each in reversed(said) if "running" in each), "")
        red = next((each["red"] for each in said if "red" in each), "")
        if red:
            return Ended(red, "red", said)
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            late = number in (signal.SIGPROF, signal.SIGALRM)
            return Ended(running or "?", "time" if late else f"signal {number}", said)
        if os.WEXITSTATUS(status):
            return Ended(running or "?", "red", said)
        return Ended("", "green", said)

    def end(self) -> None:
        """End the child now, wherever its parent was interrupted while it waited."""
        self._said.close()
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)


def run(
    items: Sequence[pytest.Item],
    seconds: Mapping[str, float],
    say: Callable[[Any], None],
    budget: float = math.inf,
) -> None:
    """Run tests until one is red or the CPU time is spent; say which one runs and which one is red."""
    began = time.process_time()
    for index, item in enumerate(items):
        if time.process_time() - began > budget:
            say({"spent": index})
            break
        say({"running": item.nodeid})
        limit = SLACK + RATIO * seconds.get(item.nodeid, 10.0)
        signal.setitimer(signal.ITIMER_PROF, limit)
        signal.setitimer(signal.ITIMER_REAL, 30 * limit)
        after = items[index + 1] if index + 1 < len(items) else None
        reports = runtestprotocol(item, nextitem=after, log=False)
        if any(report.failed for report in reports):
            say({"red": item.nodeid})
            break
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)


def _limit_memory() -> None:
    sizes = Path("/proc/self/statm")
    if not sizes.exists():
        return  # only Linux says how much a process has
    now = int(sizes.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = now + MEMORY if hard == resource.RLIM_INFINITY else min(now + MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
