"""Each client is seen under a name of its own, also while it only waits, and leaves with its broker."""

import socket

import pytest

import kipviz
from kipviz.serving.client_hosts import ClientHosts
from kipviz.serving.script import answer
from kipviz.serving.served_spec import cluster_of
from tests.patience import until
from tests.serving.turns.test_going_back import _encode_with_size, _fetch
from tests.soaking.raw_client import encode_frame


@pytest.fixture
def server():
    with kipviz.serve(cluster_of(["orders"], brokers=2), time="model") as served:
        yield served


@pytest.fixture
def connect(server):
    """Connect to a broker and send a frame."""
    made = []

    def connected(frame, broker=1):
        sock = socket.create_connection(("127.0.0.1", server.cluster.desk.ports[broker]))
        sock.settimeout(30)
        sock.sendall(frame)
        made.append(sock)
        return sock

    yield connected
    for sock in made:
        sock.close()


def test_a_client_that_only_waits_in_a_long_poll_has_a_name_and_a_lane(server, connect):
    connect(_encode_with_size(_fetch()))
    until(server.polls)
    assert server.polls() == (("c/1", "Fetch"),)
    assert server.requests("c") == (("c/1", "Fetch"),)
    assert answer(server, {"do": "polls"})["polls"] == [{"connection": "c/1", "request": "Fetch"}]
    server.log_line("c", "it waits")
    page = kipviz.open(server)
    assert page.live == "1 client, Fetch of c waits at B1"
    values = [row["cells"]["value"] for row in page.payload["rows"]]
    assert "it waits" in values
    assert "open, Fetch waits at B1 for records" in values
    server.end_polls()
    later = kipviz.open(server).payload
    assert later["steps"][1]["title"] == "c sends Fetch"
    waits = next(r for r in later["rows"] if r["cells"].get("value", "").startswith("open, Fetch"))
    assert (waits["card"], waits["from"], waits["to"]) == ("connections:c", 0, 1)
    assert server.requests("c") == (("c/1", "Fetch"),)
    page.close()


def test_a_saved_run_has_the_long_polls_that_waited(server, connect, tmp_path):
    connect(_encode_with_size(_fetch()))
    until(server.polls)
    server.crash(2)
    server.end_polls()
    server.save(str(tmp_path / "run.trace"))
    saved = kipviz.open_trace(tmp_path / "run.trace").payload
    waits = next(r for r in saved["rows"] if r["cells"].get("value", "").startswith("open, Fetch"))
    assert waits["from"] == 0
    assert saved["steps"][waits["to"]]["title"] == "c sends Fetch"


def test_a_page_that_follows_shows_a_long_poll_when_it_begins_and_when_it_ends(server, connect):
    connect(encode_frame(3, 12, client_id="c", Topics=None)).recv(65_536)
    page = kipviz.open(server)
    waiter = connect(_encode_with_size(_fetch()))
    words = "open, Fetch waits at B1 for records"

    def shown():
        return [
            row
            for row in page.payload["rows"]
            if row["cells"].get("value") == words and row["to"] is None
        ]

    until(shown)
    waiter.close()
    until(lambda: not shown())
    page.close()


def test_a_lookup_of_a_groups_coordinator_is_in_the_requests(server, connect):
    told = connect(encode_frame(10, 4, client_id="c", KeyType=0, CoordinatorKeys=("g",)))
    assert told.recv(65_536)
    assert server.requests("c") == (("c/1", "FindCoordinator"),)


def test_a_crash_closes_every_connection_to_the_broker(server, connect):
    versions = connect(b"\x00\x00\x00\x08\x00\x12\x00\x63\x00\x00\x00\x07")
    assert versions.recv(65_536)
    other = connect(b"\x00\x00\x00\x08\x00\x12\x00\x63\x00\x00\x00\x07", broker=2)
    assert other.recv(65_536)
    waits = connect(_encode_with_size(_fetch()))
    until(server.polls)
    server.crash(1)
    assert versions.recv(1) == b""
    assert waits.recv(1) == b""
    until(lambda: len(server.clients()) == 1)
    assert [broker for _, _, broker, _ in server.clients()] == [2]
    assert not any("Receive(" in line for line in server.log)


def test_clients_with_similar_ids_have_lanes_of_their_own(server, connect):
    for name in ("a b", "a-b", "a/b", "ünï", "n"):
        sock = connect(encode_frame(3, 12, client_id=name, Topics=None))
        assert sock.recv(65_536)
    lanes = list(server.cluster.clients)
    assert lanes == ["a-b", "a-b-2", "a-b-3", "n", "n-2"]
    assert server.requests("a/b") == (("a-b-3/1", "Metadata"),)
    assert server.requests("ünï") == (("n/1", "Metadata"),)
    server.log_line("a/b", "its own id")
    assert kipviz.open(server).payload["notes"][-1]["lane"] == "a-b-3"


def test_hosts_of_the_model_are_no_clients_and_old_hosts_are_forgotten(monkeypatch):
    hosts = ClientHosts({"broker-1", "app-1"}.__contains__)
    assert hosts.name_host("app-1") == hosts.name_host("app-1") == "app-1-outside"
    assert hosts.name_host("app 1") == "app-1-outside-2"
    assert hosts.name_host("") == "client"
    monkeypatch.setattr("kipviz.serving.client_hosts.CLIENTS_MAX", 3)
    assert hosts.name_host("new") == "new"
    assert hosts.find_host("app 1") == "app-1-outside-2"
    assert hosts.find_host("app-1") == "app-1"
