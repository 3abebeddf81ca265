"""Operators' clients of the tests: kafka-python's, and Kafka's Java Admin client as a process of its own."""

import os
import subprocess
import warnings

import pytest

from tests.serving import kafka_jars

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it reads its own files by an old function
    from kafka.admin import KafkaAdminClient


def python_admin(server, name="admin"):
    return KafkaAdminClient(
        bootstrap_servers=server.bootstrap_servers.split(","), client_id=name, retry_backoff_ms=20
    )


class JavaAdmin:
    """Kafka's Admin client: `run` makes a call and returns what came of it."""

    def __init__(self, server):
        try:
            command = kafka_jars.command(kafka_jars.HERE / "KafkaAdmin.java")
        except kafka_jars.NoClient as why:
            if os.environ.get("CI"):
                pytest.fail(str(why), pytrace=False)
            pytest.skip(str(why))
        self.process = subprocess.Popen(
            [*command, server.bootstrap_servers],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, *words):
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()
