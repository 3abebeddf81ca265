"""Arguments that are wrong or without effect are refused in one sentence, and a stopped server says so."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import kipviz
from kipviz.serving.script import DO, answer
from kipviz.serving.served_spec import cluster_of
from tests.patience import PATIENCE, until

ROOT = Path(__file__).parents[2]


def command(*words):
    return subprocess.run(
        [sys.executable, "-m", "kipviz", "serve", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--by", "hand"), "--by hand waits for commands: give --script, too"),
        (("--time", "model"), "--time model waits for commands"),
        (("--rule", "hold EndTxn"), "--rule 'hold EndTxn' waits for commands"),
        (("--topic", "__consumer_offsets"), "__consumer_offsets is an internal topic"),
        (("--topic", "a b"), "a topic's name must have 1 to 249 letters"),
        (("--rule", "lose ApiVersions"), "ApiVersions is no step of the model"),
    ],
)
def test_a_command_without_effect_is_refused_in_one_sentence(words, why):
    done = command(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"idle_s": "x"}, "idle_s must be a number of seconds"),
        ({"idle_s": -1}, "idle_s must be a number of seconds"),
        ({"idle_s": float("nan")}, "idle_s must be a number of seconds"),
        ({"idle_s": True}, "idle_s must be a number of seconds"),
        ({"auto_create_topics": "false"}, "auto_create_topics must be True or False, not 'false'"),
        ({"rules": "hold EndTxn"}, "rules must be a list of rules"),
        ({"rules": [5]}, "a rule must be a text such as 'hold EndTxn', not 5"),
        ({"rules": [None]}, "a rule must be a text"),
        ({"rules": ["hold ApiVersions"]}, "ApiVersions is no step of the model"),
    ],
)
def test_what_serve_cannot_take_is_refused_and_no_listener_stays_open(settings, why, monkeypatch):
    made = []
    monkeypatch.setattr("kipviz.serving.socket_server._bind", _noting(made))
    with pytest.raises(ValueError, match=why):
        kipviz.serve(**settings)
    assert all(sock.fileno() == -1 for sock in made)


def _noting(made):
    def bind(port):
        sock = socket.socket()
        sock.bind(("127.0.0.1", port))
        made.append(sock)
        return sock

    return bind


@pytest.mark.parametrize(
    ("topics", "brokers", "why"),
    [
        (["__transaction_state"], 3, "__transaction_state is an internal topic"),
        ([""], 3, "a topic's name must have"),
        ([".."], 3, "a topic's name must have"),
        ([7], 3, "a topic's name must have"),
        ({"orders": 0}, 3, "the topic orders must have at least 1 partition, not 0"),
        (["orders"], 0, "a cluster must have at least 1 broker, not 0"),
        (["orders"], "x", "a cluster must have at least 1 broker, not 'x'"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused_in_one_sentence(topics, brokers, why):
    with pytest.raises(ValueError, match=why):
        cluster_of(topics, brokers)


@pytest.mark.parametrize(
    "story", ["kip-1106-passed-over", "kip-98-older-than-retention", "kip-994-who-takes-long"]
)
def test_a_story_that_needs_a_timed_clock_cannot_be_served(story):
    with pytest.raises(ValueError, match="cannot be served, because it needs a timed clock"):
        kipviz.serve(story)


def test_a_client_with_tls_is_told_what_the_listeners_speak():
    with kipviz.serve(cluster_of(["orders"], brokers=1)) as server:
        port = server.cluster.desk.ports[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
            assert client.recv(1) == b""
        assert server.log[0].endswith("; is it TLS? The listeners speak PLAINTEXT")


def test_a_stopped_server_carries_out_nothing_and_says_why_it_stopped():
    server = kipviz.serve(cluster_of(["orders"], brokers=1), idle_s=0.0)
    until(lambda: server.stopped)
    assert server.ended == "no client was connected for 0 s"
    for line in (
        {"do": "crash", "broker": 1},
        {"do": "rule", "rule": "hold EndTxn"},
        {"do": "release"},
        {"do": "end-polls"},
        {"do": "back", "step": 0},
        {"do": "time-out", "transactional_id": "t"},
    ):
        assert answer(server, line) == {
            "ok": False,
            "error": "the served cluster has stopped: no client was connected for 0 s",
        }
    for do in ("step", "log", "held", "requests", "clients", "possible", "polls"):
        assert do in DO
        assert answer(server, {"do": do})["ok"]


def test_without_a_script_the_log_is_printed_and_why_it_ends():
    with subprocess.Popen(
        [sys.executable, "-m", "kipviz", "serve", "--json", "--idle", "1"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as serving:
        servers = json.loads(serving.stdout.readline())["bootstrap_servers"]
        host, _, port = servers.split(",")[0].partition(":")
        with socket.create_connection((host, int(port))) as stranger:
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert stranger.recv(1) == b""
        said = serving.stderr.read()
        assert serving.wait(timeout=PATIENCE) == 0
    closed, ended = said.splitlines()
    assert closed.startswith("connection 1 to broker 1 closed: a frame has a size of")
    assert ended == "Stopped: no client was connected for 1 s (--idle)."
