"""How fast a served cluster is: python tests/bench/bench_serving.py [transactions] [connections].

The server is `kipviz serve --script` in a process of its own. A transaction is one record and a commit.

    raw client       frames without a library: what the server itself can do
    kafka-python     a real client in its own process
    beside a crowd   the raw client again, while another process holds that many idle connections
    fixture          a test with kipviz.serving.fixture: serve, a transaction of kafka-python, read the records, stop
    memory           of the server: after the first tenth of the raw client's transactions, and after all of them
"""

import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import psutil

import kipviz

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from tests.recordings import made_logs  # noqa: E402
from tests.soaking import raw_client as raw  # noqa: E402
from tests.soaking.raw_client import Client, Tally  # noqa: E402
from tests.soaking.server_process import ServerProcess  # noqa: E402
from tests.soaking.workers import TOPICS  # noqa: E402

FIXTURE_TESTS = 10
CLIENT = """
import sys, time, warnings
warnings.simplefilter("ignore")
from kafka import KafkaProducer
servers, count = sys.argv[1].split(","), int(sys.argv[2])
client = KafkaProducer(bootstrap_servers=servers, transactional_id="bench", retry_backoff_ms=5)
client.init_transactions()
for number in range(count):
    client.begin_transaction()
    client.send("orders", value=b"record %d" % number)
    client.commit_transaction()
client.close()
"""
HOLD = """
import resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
ports, count = [int(p) for p in sys.argv[1].split(",")], int(sys.argv[2])
held = [socket.create_connection(("127.0.0.1", ports[n % len(ports)])) for n in range(count)]
print("held", flush=True)
sys.stdin.read()
"""


class RawProducer:
    """A producer that does what a transaction needs, and nothing else."""

    def __init__(self, ports, name):
        self._client, self._name = Client(ports, name, Tally()), name
        self._coordinator = self._client.find_coordinator(raw.TRANSACTION, name)
        self._leader = self._client.find_leader(TOPICS[0], 0)
        self._topic_id = self._client.topic_ids[TOPICS[0]]
        told = self._client.ask(
            self._coordinator,
            raw.INIT_PRODUCER_ID,
            TransactionalId=name,
            TransactionTimeoutMs=60_000,
            ProducerId=-1,
            ProducerEpoch=-1,
        )
        self._producer = (told["ProducerId"], told["ProducerEpoch"])

    def transact(self, value):
        """Produce a record and commit."""
        pid, epoch = self._producer
        batch = made_logs.batch(0, ((None, value),), pid=pid, epoch=epoch, sequence=0)
        data = ({"Index": 0, "Records": batch},)
        told = self._client.ask(
            self._leader,
            raw.PRODUCE,
            TransactionalId=self._name,
            Acks=-1,
            TimeoutMs=1_000,
            TopicData=({"TopicId": self._topic_id, "PartitionData": data},),
        )
        assert told["Responses"][0]["PartitionResponses"][0]["ErrorCode"] == 0
        who = {"TransactionalId": self._name, "ProducerId": pid, "ProducerEpoch": epoch}
        told = self._client.ask(self._coordinator, raw.END_TXN, **who, Committed=True)
        assert told["ErrorCode"] == 0
        self._producer = (told["ProducerId"], told["ProducerEpoch"])

    def end(self):
        """Close the connections."""
        self._client.forget()


def main(count, crowd):
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(Path(folder) / "errors")
        try:
            alone = _run_raw(server, count, "raw client")
            _run_kafka_python(server, max(100, count // 20))
            _run_beside_a_crowd(server, count // 4, crowd, alone)
        finally:
            server.end()
    _run_fixture()


def _run_raw(server, count, label):
    producer = RawProducer(server.ports, "raw")
    for number in range(50):
        producer.transact(b"warm %d" % number)
    memory, _, _, cpu = server.measure()
    begun, early = time.perf_counter(), memory
    for number in range(count):
        producer.transact(b"record %d" % number)
        if number == count // 10:
            early = server.measure()[0]
    took = time.perf_counter() - begun
    late, _, _, spent = server.measure()
    producer.end()
    per_core = count / (spent - cpu)
    print(
        f"{label}: {count / took:.0f} transactions a second, {per_core:.0f} for a second of the server's CPU time; "
        f"memory {early:.0f} MB, then {late:.0f} MB"
    )
    return per_core


def _run_kafka_python(server, count):
    servers = ",".join(f"127.0.0.1:{port}" for port in server.ports.values())
    before, begun = server.measure()[3], time.perf_counter()
    subprocess.run([sys.executable, "-c", CLIENT, servers, str(count)], check=True)
    took, spent = time.perf_counter() - begun, server.measure()[3] - before
    print(
        f"kafka-python: {count / took:.0f} transactions a second with its start, {count / spent:.0f} for a second of "
        "the server's CPU time"
    )


def _run_beside_a_crowd(server, count, crowd, alone):
    words = [sys.executable, "-c", HOLD, ",".join(map(str, server.ports.values())), str(crowd)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as held:
        begun = time.perf_counter()
        assert held.stdout.readline() == "held\n"
        print(f"{crowd:,} connections in {time.perf_counter() - begun:.1f} s")
        beside = _run_raw(server, count, "beside a crowd")
        held.stdin.close()
    print(f"a client beside the crowd has {beside / alone:.0%} of its speed without it")


def _run_fixture():
    warnings.simplefilter("ignore")
    from kafka import KafkaProducer

    me = psutil.Process()
    spent, begun = sum(me.cpu_times()[:2]), time.perf_counter()
    for _ in range(FIXTURE_TESTS):
        with kipviz.serve() as server:
            client = KafkaProducer(
                bootstrap_servers=server.bootstrap_servers.split(","), transactional_id="t"
            )
            client.init_transactions()
            client.begin_transaction()
            client.send("orders", value=b"once")
            client.commit_transaction()
            client.close()
            assert [fate for _, _, fate in server.records("orders-0")] == ["committed"]
    took, spent = time.perf_counter() - begun, sum(me.cpu_times()[:2]) - spent
    print(
        f"fixture: {60 * FIXTURE_TESTS / took:.0f} tests a minute, {60 * FIXTURE_TESTS / spent:.0f} for a minute of one core"
    )


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(given[0] if given else 4_000, given[1] if len(given) > 1 else 10_000)
