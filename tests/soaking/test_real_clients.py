"""The real clients of a soak, one by one, without faults."""

from __future__ import annotations

import pytest

import kipviz
from kipviz.serving.served_spec import cluster_of
from tests.serving import kafka_jars
from tests.serving.client_programs import go_without
from tests.soaking import real_clients
from tests.soaking.ledger import Ledger
from tests.soaking.raw_client import Tally
from tests.soaking.real_clients import RealClient, command_of, find_programs

PROGRAMS = (real_clients.KAFKA_PYTHON, real_clients.LIBRDKAFKA, real_clients.JAVA)


def make_client(program, server):
    try:
        command_of(program)
    except kafka_jars.NoClient as why:
        go_without(str(why))
    servers = server.bootstrap_servers.split(",")
    ports = {number: int(each.rpartition(":")[2]) for number, each in enumerate(servers, 1)}
    return RealClient(f"{program}-0", 7, ports, Tally(), Ledger(), program=program)


def ask_until(client, line, wanted):
    """Repeat a line until its answer is another one than nothing."""
    for _ in range(60):
        said = client._ask(line, dies=False)
        if said == wanted:
            return
        assert said.endswith(" 0"), said
    raise AssertionError(f"{line}: no {wanted}")


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_real_client_commits_aborts_and_polls_what_was_committed(program):
    with kipviz.serve(cluster_of({"orders": 3})) as server:
        client = make_client(program, server)
        try:
            assert client._ask("commit orders:0:a", dies=False) == "committed"
            assert client._ask("abort orders:0:b", dies=False) == "aborted"
            ask_until(client, "poll g", "polled 1")
            if program == real_clients.JAVA:
                ask_until(client, "share s", "shared 2")  # it reads uncommitted
            fates = [(value, fate) for _, value, fate in server.records("orders-0")]
        finally:
            client.end()
    assert fates == [("a", "committed"), ("b", "aborted")]
    assert client.kills == 1


def test_a_client_that_is_not_here_is_named(monkeypatch):
    def no_jars():
        raise kafka_jars.NoClient("there are no jars")

    monkeypatch.setattr(kafka_jars, "jars", no_jars)
    monkeypatch.setattr(real_clients.importlib.util, "find_spec", lambda _: None)
    said = []
    assert find_programs(said.append) == ("kafka-python",)
    assert said == [
        "without librdkafka: librdkafka is not here: confluent-kafka is not installed",
        "without java: there are no jars",
    ]
