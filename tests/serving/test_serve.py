"""A real client, kafka-python, in the simulated cluster; and what is no client at all."""

import socket
import warnings

import pytest

import kipviz
from kipviz.cluster.actions import Receive
from kipviz.core.traces import tracefile
from kipviz.messages.errors import Errors
from kipviz.messages.wire.question import RequestFormat
from kipviz.serving.served_spec import cluster_of
from kipviz.serving.socket_server import FRAME_MAX
from kipviz.serving.translating.further_errors import FurtherErrors
from kipviz.serving.translating.translate_cluster import (
    API_VERSIONS_REQUEST,
    API_VERSIONS_RESPONSE,
    CLUSTER_ID,
)
from tests.patience import PATIENCE, until

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it reads its own files by an old function
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.errors import KafkaError, MessageSizeTooLargeError

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.usefixtures("kafka_python_is_swept"),
]
ORDERS = TopicPartition("orders", 0)


@pytest.fixture
def server():
    with kipviz.serve() as served:
        yield served


def addresses(server):
    return server.bootstrap_servers.split(",")


def producer(server, name="app-1", **config):
    return KafkaProducer(
        bootstrap_servers=addresses(server),
        transactional_id=name,
        client_id=name,
        **{"retry_backoff_ms": 10, **config},
    )


def read(server, isolation="read_committed"):
    consumer = KafkaConsumer(
        bootstrap_servers=addresses(server),
        client_id="reader",
        isolation_level=isolation,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=50,
        group_id=None,
    )
    consumer.assign([ORDERS])
    found = []
    try:
        # As far as its isolation lets it read, however late that comes.
        end = consumer.end_offsets([ORDERS])[ORDERS]
        while consumer.position(ORDERS) < end:
            for records in consumer.poll(timeout_ms=100).values():
                found += [(record.key, record.value, record.headers) for record in records]
        return found
    finally:
        consumer.close()


def test_a_transaction_commits_and_its_very_bytes_are_read(server):
    client = producer(server)
    client.init_transactions()
    client.begin_transaction()
    client.send("orders", key=b"\x00key", value=b"\xff\xfe", headers=[("trace", b"\x01")])
    client.commit_transaction()
    client.begin_transaction()
    client.send("orders", value=b"never")
    client.flush()
    client.abort_transaction()
    client.close()

    assert read(server) == [(b"\x00key", b"\xff\xfe", [("trace", b"\x01")])]
    assert [value for _, value, _ in read(server, "read_uncommitted")] == [b"\xff\xfe", b"never"]
    assert server.log == ()


def test_a_consumer_finds_records_by_the_times_that_producers_sent(server):
    client = KafkaProducer(bootstrap_servers=addresses(server), client_id="app-1")
    for at in (1_000, 2_000, 3_000):
        client.send("orders", value=b"%d" % at, timestamp_ms=at, partition=0).get(PATIENCE)
    client.close()
    reader = KafkaConsumer(bootstrap_servers=addresses(server), group_id=None)
    found = reader.offsets_for_times({ORDERS: 1_500})[ORDERS]
    missing = reader.offsets_for_times({ORDERS: 3_001})[ORDERS]
    reader.close()
    assert (found.offset, found.timestamp) == (1, 2_000)
    assert missing is None


def test_a_producer_is_told_that_its_record_is_too_large(server):
    client = KafkaProducer(bootstrap_servers=addresses(server), max_request_size=3_000_000)
    refused = client.send("orders", value=b"x" * 1_500_000, partition=0)
    client.flush(PATIENCE)
    client.close()
    assert isinstance(refused.exception, MessageSizeTooLargeError)


def test_a_run_is_saved_and_replays_without_the_client(server, tmp_path):
    client = producer(server)
    client.init_transactions()
    client.begin_transaction()
    client.send("orders", value=b"once")
    client.commit_transaction()
    client.close()
    trace = server.cluster.trace
    assert any(isinstance(trace.node(n).action, Receive) for n in trace.line)

    tracefile.save(trace, tmp_path / "run.trace", {"model": {"of": "a test"}})
    again = tracefile.load(tmp_path / "run.trace", lambda _: trace.model).trace

    assert again.last().world == trace.last().world


def test_each_topic_of_a_served_cluster_has_an_id_of_its_own():
    with kipviz.serve(cluster_of(["a", "b"])) as served:
        ids = [topic_id for _, topic_id in served._spec.topic_ids]
    assert len(set(ids)) == 2


def test_a_server_says_where_its_clients_connect_and_that_it_is_stopped():
    with kipviz.serve(time="model") as server:
        assert repr(server) == (
            f"A simulated cluster under kafka, 0 connections: bootstrap.servers is {server.bootstrap_servers}; "
            "kipviz.open(server) shows its run"
        )
    assert repr(server).startswith("A simulated cluster under kafka, stopped; ")


def test_a_zombie_is_fenced(server):
    zombie = producer(server)
    zombie.init_transactions()
    zombie.begin_transaction()
    zombie.send("orders", value=b"of the zombie").get(PATIENCE)
    successor = producer(server)
    successor.init_transactions()
    with pytest.raises(KafkaError):
        zombie.commit_transaction()
    zombie.close(timeout=1)
    successor.close()
    assert read(server) == []


def test_a_held_request_waits_until_it_is_released(server):
    client = producer(server)
    client.init_transactions()
    server.rule("hold EndTxn")
    client.begin_transaction()
    client.send("orders", value=b"held").get(PATIENCE)
    commit = client._sender  # the sender goes on while nobody waits for it
    assert commit is not None
    result = client._transaction_manager.begin_commit()
    client._sender.wakeup()
    until(lambda: len(server.held()) == 1)
    assert not result.is_done
    assert read(server) == []
    server.release()
    until(lambda: result.is_done)
    assert [value for _, value, _ in read(server)] == [b"held"]
    client.close()


@pytest.mark.parametrize("message", ["EndTxn", "EndTxnResponse"])
def test_what_is_lost_once_is_sent_again_and_the_transaction_commits_once(server, message):
    client = producer(server)
    client.init_transactions()
    server.rule(f"lose the 1st {message}")
    client.begin_transaction()
    client.send("orders", value=b"once")
    client.commit_transaction()
    client.close()
    assert [value for _, value, _ in read(server)] == [b"once"]


def test_a_coordinator_that_crashes_at_prepare_commit_leaves_the_transaction_to_the_next_one(
    server,
):
    client = producer(server)
    client.init_transactions()
    server.rule("crash the coordinator at PREPARE_COMMIT")
    client.begin_transaction()
    client.send("orders", value=b"survives")
    client.commit_transaction()
    assert len(server.cluster.world.up) == 2
    client.close(timeout=2)
    assert [value for _, value, _ in read(server)] == [b"survives"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", f"which is not from 0 to {FRAME_MAX}"),
        (b"\x00\x00\x00\x02\x00\x00", "at least 8 bytes"),
        (b"\x00\x00\x00\x0a" + b"\x7f\x00" + bytes(8), "API key 32512"),
        (b"\x00\x00\x00\x0a" + b"\x00\x03\x00\x63" + bytes(6), "a version from 0 to 13, not 99"),
        (b"\x00\x00\x00\x0c" + b"\x00\x03\x00\x01" + bytes(4) + b"\xff\xff\x00\x00", "byte"),
    ],
)
def test_what_is_no_request_closes_its_connection_with_one_line_and_disturbs_nobody(
    server, data, why
):
    client = producer(server)
    client.init_transactions()
    with socket.create_connection(("127.0.0.1", server.cluster.desk.ports[1])) as stranger:
        stranger.sendall(data)
        stranger.settimeout(5)
        assert stranger.recv(1) == b""
    (line,) = server.log
    assert why in line
    client.begin_transaction()
    client.send("orders", value=b"undisturbed")
    client.commit_transaction()
    client.close()


def test_an_api_versions_request_that_is_too_new_is_answered_in_version_0(server):
    with socket.create_connection(("127.0.0.1", server.cluster.desk.ports[1])) as client:
        client.sendall(b"\x00\x00\x00\x08" + b"\x00\x12\x00\x63" + b"\x00\x00\x00\x07")
        client.settimeout(5)
        answer = client.recv(4096)
    assert answer[4:8] == b"\x00\x00\x00\x07"
    assert int.from_bytes(answer[8:10], "big") == 35
    # One request, ApiVersions itself, with its range.
    assert answer[10:] == b"\x00\x00\x00\x01" + b"\x00\x12\x00\x00\x00\x05"


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ({}, 0),
        ({"ClusterId": CLUSTER_ID, "NodeId": 1}, 0),
        ({"ClusterId": CLUSTER_ID, "NodeId": 2}, FurtherErrors.REBOOTSTRAP_REQUIRED),
        ({"ClusterId": "another", "NodeId": 1}, FurtherErrors.REBOOTSTRAP_REQUIRED),
        ({"ClusterId": CLUSTER_ID}, Errors.INVALID_REQUEST),
        ({"NodeId": 1}, Errors.INVALID_REQUEST),
        ({"ClientSoftwareName": "no name!"}, Errors.INVALID_REQUEST),
    ],
)
def test_a_client_that_means_another_cluster_or_broker_is_told_so_as_by_kafka(server, told, error):
    ask = RequestFormat(API_VERSIONS_REQUEST, API_VERSIONS_RESPONSE)
    software = {"ClientSoftwareName": "a", "ClientSoftwareVersion": "1.0"}
    with socket.create_connection(("127.0.0.1", server.cluster.desk.ports[1])) as client:
        client.sendall(ask.frame(5, 7, "c", software | told))
        client.settimeout(5)
        answer = client.recv(4096)
    # The head is the oldest one, whatever the version.
    assert answer[4:8] == b"\x00\x00\x00\x07"
    assert ask.body_of(5, answer, 8)["ErrorCode"] == error


def test_there_is_a_limit_to_connections_and_the_client_that_is_there_goes_on(server, monkeypatch):
    monkeypatch.setattr("kipviz.serving.socket_server.CONNECTIONS_MAX", 60)
    client = producer(server)
    client.init_transactions()
    port = server.cluster.desk.ports[1]
    crowd = [socket.create_connection(("127.0.0.1", port)) for _ in range(80)]
    until(lambda: any("there are 60 already, and the limit is 60" in line for line in server.log))
    assert len(server.log) == 1
    for each in crowd:
        each.close()
    client.begin_transaction()
    client.send("orders", value=b"still here")
    client.commit_transaction()
    client.close()


def test_it_listens_on_loopback_only_and_stops(server):
    assert all(a.startswith("127.0.0.1:") for a in addresses(server))
    server.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.cluster.desk.ports[1]))


def test_a_server_that_nobody_uses_stops_by_itself():
    served = kipviz.serve(cluster_of(["orders"], brokers=1), idle_s=0.0)
    served._sockets.thread.join(timeout=PATIENCE)
    assert not served._sockets.thread.is_alive()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("hold Endtxn", "no message 'Endtxn'"),
        ("crash the coordinator at PREPARED", "no transaction state 'PREPARED'"),
        ("lose the 0th answer", "counted from 1"),
        ("please", "a rule must be 'hold EndTxn'"),
    ],
)
def test_a_rule_that_is_none_is_refused_in_one_sentence(server, words, why):
    with pytest.raises(ValueError, match=why):
        server.rule(words)
