"""Steps that are not kept are counted, and wait_news notices them."""

import socket

import pytest

import kipviz
from kipviz.serving import served_cluster
from kipviz.serving.script import answer
from kipviz.serving.served_spec import cluster_of
from tests.patience import until
from tests.soaking.raw_client import encode_frame

KEPT = 6


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(served_cluster, "STEPS_MAX", KEPT)
    with kipviz.serve(cluster_of(["orders"], brokers=2), time="model") as served:
        yield served


def ask(server):
    with socket.create_connection(("127.0.0.1", server.cluster.desk.ports[1])) as client:
        client.sendall(encode_frame(3, 12, client_id="c", Topics=None))
        assert client.recv(65_536)


def test_the_number_of_steps_goes_on_where_steps_are_no_longer_kept(server):
    for _ in range(4):
        ask(server)
    until(lambda: "0 connections" in repr(server))  # the end of a connection is a step, too
    before, news = server.step, server.wait_news(None, 0)
    assert before > KEPT
    crashed = server.crash(2)
    assert crashed == server.step > before
    assert server.wait_news(news, 0) != news
    assert server.start(2) > crashed
    assert any("6 steps are kept" in line for line in server.log)
    assert answer(server, {"do": "step"}) == {"ok": True, "step": server.step, "kept": KEPT}
    page = kipviz.open(server)
    assert page.last_step == KEPT
    assert "; the run's first 6 steps are kept, " in page.live
    assert page.live.endswith(" later ones are not")
    page.close()
    server.back(server.kept)


def test_the_cluster_goes_back_to_a_kept_step_and_counts_from_there(server):
    for _ in range(4):
        ask(server)
    server.back(2)
    assert server.step <= 4
    step = server.step
    assert server.crash(2) > step
    with pytest.raises(ValueError, match="step must be from 0 to 2, not 7"):
        server.back(7)
    server.back(0)
    assert server.step == 0
