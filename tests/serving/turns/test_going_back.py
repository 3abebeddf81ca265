"""Whose time it is, and what going back means for a client that cannot."""

import socket
import warnings

import pytest

import kipviz
from tests.patience import PATIENCE

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from kafka import KafkaProducer
    from kafka.errors import KafkaError

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.usefixtures("kafka_python_is_swept"),
]


def producer(server, **config):
    return KafkaProducer(
        bootstrap_servers=server.bootstrap_servers.split(","),
        transactional_id="t",
        client_id="app-1",
        **{"retry_backoff_ms": 5, **config},
    )


@pytest.fixture
def server():
    with kipviz.serve(time="model") as served:
        yield served


def sends(server, kind):
    """Return the number of the last step in which a client sends a request."""
    steps = kipviz.open(server).payload["steps"]
    return max(k for k, step in enumerate(steps) if step["title"].endswith(f"sends {kind}"))


def test_the_cluster_goes_back_and_a_client_that_reconnects_goes_on_from_there(server):
    client = producer(server)
    client.init_transactions()
    client.begin_transaction()
    client.send("orders", value=b"one").get(PATIENCE)
    client.commit_transaction()
    assert server.records("orders-0") == ((0, "one", "committed"),)

    server.back(sends(server, "EndTxn"))

    assert server.records("orders-0") == ((0, "one", "open"),)
    # What the client knows it still knows: it begins another transaction under its old epoch.
    client.begin_transaction()
    client.send("orders", value=b"two").get(PATIENCE)
    client.commit_transaction()
    client.close()
    assert [value for _, value, _ in server.records("orders-0")] == ["one", "two"]
    assert server.log == ()


def test_the_page_says_that_a_client_cannot_go_back_and_keeps_the_line_that_was_left(server):
    client = producer(server)
    client.init_transactions()
    at = sends(server, "InitProducerId")
    newest = server.step
    server.back(at)
    page = kipviz.open(server)
    said = [row["cells"]["value"] for row in page.payload["rows"] if row["card"] == "lines:app-1"]
    for branch in page.payload["branches"] + page.known_branches:
        said += [r["cells"]["value"] for r in branch["rows"] if r["card"] == "lines:app-1"]
    assert (
        f"The cluster went back to step {at}. app-1 cannot: its connections were dropped." in said
    )
    lengths = [len(server.run().trace.path(b.tip)) - 1 for b in server.run().trace.branches()]
    assert max(lengths) >= newest
    client.close(timeout=1)


def test_going_back_drops_the_sockets(server):
    with socket.create_connection(("127.0.0.1", server.cluster.desk.ports[1])) as other:
        other.sendall(b"\x00\x00\x00\x08\x00\x12\x00\x63\x00\x00\x00\x07")
        other.settimeout(5)
        assert other.recv(4096)
        server.back(0)
        assert other.recv(1) == b""
    assert server.clients() == ()


@pytest.mark.parametrize("step", [-1, 1_000_000, "3", True])
def test_a_step_that_there_is_not_is_refused_in_one_sentence(server, step):
    with pytest.raises(ValueError, match="step must be from 0 to 0"):
        server.back(step)


def test_in_model_time_a_transaction_times_out_when_somebody_says_so(server):
    client = producer(server, transaction_timeout_ms=1)
    client.init_transactions()
    with pytest.raises(ValueError, match="no transaction of 'u' is open; open now: none"):
        server.time_out("u")
    client.begin_transaction()
    client.send("orders", value=b"late").get(PATIENCE)
    server._time_outs._scan_at = 0.0
    server._sockets.wake()
    assert server.records("orders-0") == ((0, "late", "open"),)
    server.time_out("t")
    assert server.records("orders-0") == ((0, "late", "aborted"),)
    with pytest.raises(KafkaError):
        client.commit_transaction()
    client.close(timeout=1)


def test_in_model_time_a_long_poll_ends_when_somebody_says_so():
    from tests.serving.frames import frame

    with kipviz.serve(time="model") as server:
        port = server.cluster.desk.ports[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.settimeout(5)
            client.sendall(_encode_with_size(frame(3, 12)))
            assert client.recv(65_536)
            client.sendall(_encode_with_size(_fetch()))
            while not any(c.wait_ms >= 0 for c in server.cluster.callers):
                pass
            assert server.end_polls() == 1
            assert client.recv(65_536)
            assert server.end_polls() == 0


def _encode_with_size(data):
    return len(data).to_bytes(4, "big") + data


def _fetch():
    from kipviz.messages.wire.codec import encode
    from kipviz.messages.wire.frame import REQUEST_HEADER, header_version
    from kipviz.serving.translating.apis import APIS

    fetch, version = APIS[1].request, 11
    partition = {"Partition": 0, "FetchOffset": 0, "PartitionMaxBytes": 1_000}
    told = {
        "MaxWaitMs": 1,
        "MinBytes": 1,
        "Topics": ({"Topic": "orders", "Partitions": (partition,)},),
    }
    head = {"RequestApiKey": 1, "RequestApiVersion": version, "CorrelationId": 5, "ClientId": "c"}
    header = encode(REQUEST_HEADER, header_version(fetch, version), head)
    return header.data + encode(fetch, version, told).data


def test_an_unknown_kind_of_time_is_refused():
    with pytest.raises(ValueError, match="time must be 'clock' or 'model', not 'wall'"):
        kipviz.serve(time="wall")
