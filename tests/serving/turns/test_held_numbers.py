"""A held message keeps its number, whatever else arrives."""

import socket

import pytest

import kipviz
from kipviz.serving.script import answer
from kipviz.serving.served_spec import cluster_of
from tests.patience import until
from tests.soaking.raw_client import encode_frame


@pytest.fixture
def server():
    with kipviz.serve(cluster_of(["orders"], brokers=1), time="model", rules=["hold request"]) as s:
        yield s


@pytest.fixture
def send(server):
    made = []

    def sent(name):
        sock = socket.create_connection(("127.0.0.1", server.cluster.desk.ports[1]))
        sock.settimeout(30)
        made.append(sock)
        before = len(server.held())
        sock.sendall(encode_frame(3, 12, client_id=name, Topics=None))
        until(lambda: len(server.held()) > before)
        return sock

    yield sent
    for sock in made:
        sock.close()


def test_a_number_stays_where_an_index_changes(server, send):
    second = send("b")
    ((number, held, name),) = server.list_held()
    assert (held.source, name) == ("b/1", "Metadata")
    first = send("a")
    assert [each["source"] for each in answer(server, {"do": "held"})["held"]] == ["a/1", "b/1"]
    assert answer(server, {"do": "deliver", "id": number})["ok"]
    assert second.recv(65_536)
    with pytest.raises(ValueError, match=f"no held message has the number {number}; held now: "):
        server.deliver(number)
    (left,) = server.list_held()
    server.lose(left[0])
    assert first.recv(1) == b""


def test_a_message_is_named_by_what_it_is(server, send):
    made = [send("b"), send("a")]
    told = answer(server, {"do": "deliver", "message": "Metadata"})
    assert told["error"].startswith(
        'one held message has to match {"message": "Metadata"}; matching ids: '
    )
    for line, why in (
        ({"do": "deliver"}, "name a held message by 'index' or by some of id, source"),
        ({"do": "lose", "source": "c/1"}, "matching ids: none"),
        ({"do": "lose", "id": True}, "matching ids: none"),
        ({"do": "lose", "id": "1"}, "matching ids: none"),
    ):
        assert why in answer(server, line)["error"]
    assert answer(server, {"do": "deliver", "source": "b/1", "broker": 1, "way": "request"})["ok"]
    assert made[0].recv(65_536)


def test_while_it_is_paused_nothing_happens(server, send):
    send("a")
    with server.paused():
        ((number, _, _),) = server.list_held()
        step = server.step
        assert server.deliver(number) > step
