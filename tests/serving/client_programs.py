"""Real clients as processes of their own, and what has to be installed for each."""

import importlib.util
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.serving import kafka_jars

HERE = Path(__file__).parent / "clients"
PYTHON = "KIPVIZ_CONFLUENT_PYTHON"


def command(name):
    """Return how a client is started; where it is not installed, a test is skipped, and fails in CI."""
    if name == "kafka-python":
        return [sys.executable, str(HERE / "kafka_python_client.py")]
    if name == "librdkafka":
        python = os.environ.get(PYTHON)
        if python is None and importlib.util.find_spec("confluent_kafka") is not None:
            python = sys.executable
        if python is None:
            go_without(
                "librdkafka is not installed: 'make test' installs confluent-kafka; or name a Python "
                f"that has it in {PYTHON}"
            )
        return [python, str(HERE / "librdkafka_client.py")]
    return java_command()


def java_command(*program):
    """Return how a program of Kafka's Java client is started."""
    try:
        return kafka_jars.command(*program)
    except kafka_jars.NoClient as why:
        return go_without(str(why))


def go_without(why):
    """Skip a test whose client is not installed; in CI each client has to be there."""
    if os.environ.get("CI"):
        pytest.fail(why, pytrace=False)
    pytest.skip(why)


class Clients:
    """One process, several actors: `run` makes a call and gives what came of it, `ask` does not wait."""

    def __init__(self, name):
        self.name = name
        self.process = subprocess.Popen(
            command(name),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._answers = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            actor, _, result = line.rstrip("\n").split("\t", 2)
            self._find_answers(actor).put(result)

    def _find_answers(self, actor):
        with self._lock:
            return self._answers.setdefault(actor, queue.Queue())

    def ask(self, actor, *words):
        self.process.stdin.write("\t".join((actor, *words)) + "\n")
        self.process.stdin.flush()

    def answer(self, actor, seconds=PATIENCE):
        return self._find_answers(actor).get(timeout=seconds)

    def run(self, actor, *words):
        self.ask(actor, *words)
        return self.answer(actor)

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=PATIENCE)
        self.process.stdout.close()
