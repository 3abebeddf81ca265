"""What cannot be attached to is one sentence: refused, silent, no broker, too old, badly named."""

import contextlib
import socket
import threading

import pytest

import kipviz
from kipviz.messages.wire.question import RequestFormat
from kipviz.watching import admin_queries, connection
from kipviz.watching.connection import Connection, Unreachable

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.usefixtures("kafka_python_is_swept"),
]


@contextlib.contextmanager
def listener(answer):
    """Give the address of a server that answers every connection with some bytes, or with silence."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        over = threading.Event()
        kept = []

        def accept():
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    client, _ = server.accept()
                    kept.append(client)
                    with contextlib.suppress(OSError):
                        client.sendall(answer)

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            over.set()
            thread.join()
            for client in kept:
                client.close()


def why_not(servers, **more):
    with pytest.raises(Unreachable) as refused:
        Connection(servers, **more)
    return str(refused.value)


def test_a_refused_connection_is_one_sentence():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    said = why_not(f"127.0.0.1:{port}")
    assert said == f"127.0.0.1:{port} refuses connections: no broker listens there"


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_a_server_that_is_no_broker_is_one_sentence(answer):
    with listener(answer) as address:
        said = why_not(address, timeout_s=0.6)
    assert said.startswith(f"nothing at {address} answered as a Kafka broker within 0.6 s")


@pytest.mark.parametrize("bad", ["localhost", "localhost:", ":9092", "h:0", "h:70000", "a:1,", ""])
def test_a_bad_address_is_one_sentence(bad):
    assert "a bootstrap server must be HOST:PORT, such as localhost:9092, not" in why_not(bad)


def test_an_unknown_host_is_one_sentence(monkeypatch):
    def unknown(*_):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(connection.socket, "create_connection", unknown)
    assert why_not("nowhere.invalid:9092") == "no host nowhere.invalid is known"


def test_one_of_several_servers_is_enough():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with kipviz.serve() as served:
        one = served.bootstrap_servers.split(",")[0]
        with Connection(f"127.0.0.1:{port},{one}") as both:
            assert len(admin_queries.cluster_now(both.ask).brokers) == 3


def test_another_version_of_the_client_is_one_sentence(monkeypatch):
    import kafka

    monkeypatch.setattr(kafka, "__version__", "2.9.1")
    assert "needs kafka-python 3.0, and 2.9.1 is installed" in why_not("localhost:9092")


def test_a_request_that_an_older_broker_lacks_and_a_broker_that_is_gone_have_sentences():
    lacking = admin_queries.SHARE_OFFSETS.request.but(key=9_999)
    question = RequestFormat(lacking, admin_queries.SHARE_OFFSETS.response)
    with kipviz.serve() as served, Connection(served.bootstrap_servers) as attached:
        with pytest.raises(admin_queries.NoAnswer, match="it takes no DescribeShareGroupOffsets"):
            attached.ask(1, question, {"Groups": ()})
        with pytest.raises(admin_queries.NoAnswer, match="no connection to it"):
            attached.ask(77, admin_queries.GROUPS, {})


def test_a_broker_that_does_not_answer_in_time_has_a_sentence():
    with kipviz.serve(by="hand") as served:
        servers = served.bootstrap_servers
        # ApiVersions is no message of the model; all others wait for a hand.
        said = why_not(servers, timeout_s=0.6)
    assert "answered as a Kafka broker within 0.6 s" in said
