"""Operators' clients of the tests: kafka-python's, and Kafka's Java Admin client as a process of its own."""

import subprocess
import warnings

from tests.serving.client_programs import HERE, java_command

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
        self.process = subprocess.Popen(
            [*java_command(HERE / "KafkaAdmin.java"), server.bootstrap_servers],
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
