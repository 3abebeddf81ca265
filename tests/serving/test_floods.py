"""Too many connections, clients that never read, half frames, idle clients: each is bounded and disturbs no other."""

import contextlib
import json
import os
import resource
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import psutil
import pytest

import kipviz
from tests.patience import PATIENCE, until
from tests.serving.frames import frame
from tests.soaking.raw_client import METADATA, Client, Connection, Tally, encode_frame

ROOT = Path(__file__).parents[2]
LOOPBACK = "127.0.0.1"
HOLD = """
import resource, socket, sys
ports, count = [int(p) for p in sys.argv[1].split(",")], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
held = [socket.create_connection(("127.0.0.1", ports[n % len(ports)])) for n in range(count)]
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def server():
    with kipviz.serve() as served:
        yield served


def connect(server, broker=1):
    return socket.create_connection((LOOPBACK, server.cluster.desk.ports[broker]), timeout=10)


def serves(server):
    client = Client(server.cluster.desk.ports, "another", Tally())
    found = client.ask_any(METADATA, Topics=None)
    client.forget()
    return bool(found["Topics"])


def add_size(data):
    return len(data).to_bytes(4, "big") + data


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.thorough)])
def test_thousands_of_connections_are_held_and_a_client_beside_them_is_served(count):
    words = [sys.executable, "-m", "kipviz", "serve", "--script"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
    with subprocess.Popen(words, env={**os.environ, "PYTHONPATH": str(ROOT)}, **pipes) as serving:
        said = json.loads(serving.stdout.readline())["bootstrap_servers"]
        ports = [address.rpartition(":")[2] for address in said.split(",")]
        with subprocess.Popen(
            [sys.executable, "-c", HOLD, ",".join(ports), str(count)], **pipes
        ) as holding:
            assert holding.stdout.readline() == "held\n"
            client = Client({1: int(ports[0])}, "beside", Tally())
            for _ in range(20):
                assert client.ask_any(METADATA, Topics=None)["Topics"]
            client.forget()
            serving.stdin.write('{"do": "clients"}\n')
            serving.stdin.flush()
            assert len(json.loads(serving.stdout.readline())["clients"]) >= count
            holding.stdin.close()
            assert holding.wait(PATIENCE) == 0
        serving.stdin.close()
        assert serving.wait(PATIENCE) == 0


SMALL = """
import resource, sys, time
import kipviz
from kipviz.serving import socket_server
socket_server.FILES_SPARE = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (150, 150))
with kipviz.serve() as server:
    print(server.bootstrap_servers, flush=True)
    sys.stdin.readline()
    print(len(server.clients()), "|".join(server.log), flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("spare", [64, -10_000])
def test_where_the_machine_has_no_more_file_descriptors_the_rest_is_refused_without_a_busy_loop(
    spare,
):
    """With a spare nothing else in the process fails; without one, accept() itself fails (EMFILE)."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
    with (
        contextlib.ExitStack() as held,
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(SMALL), str(spare)], **pipes
        ) as serving,
    ):
        port = int(serving.stdout.readline().split(",")[0].rpartition(":")[2])
        first = Connection(port, "first", Tally())
        for _ in range(200):
            held.enter_context(socket.create_connection((LOOPBACK, port), timeout=10))
        time.sleep(0.3)
        used = psutil.Process(serving.pid)
        before = used.cpu_times().user + used.cpu_times().system
        time.sleep(1.0)
        assert used.cpu_times().user + used.cpu_times().system - before < 0.5
        assert first.ask(METADATA, Topics=None)["Topics"]  # the client that is there goes on
        serving.stdin.write("\n")
        serving.stdin.flush()
        count, _, log = serving.stdout.readline().partition(" ")
        assert 50 < int(count) < 150
        assert log.count("refused") == 1
        assert "this process may have 150 open files (ulimit -n)" in log
        held.close()
        until(lambda: _serves_again(port))
        first.close()
        serving.stdin.close()
        assert serving.wait(PATIENCE) == 0


def _serves_again(port):
    with contextlib.suppress(OSError):
        client = Connection(port, "later", Tally())
        found = client.ask(METADATA, Topics=None)
        client.close()
        return bool(found["Topics"])
    return False


def test_a_client_that_never_reads_costs_one_response_and_what_it_sent_is_not_read(server):
    with connect(server) as client:
        client.settimeout(0.5)
        request = encode_frame(METADATA, 1, Topics=None) * 100
        with contextlib.suppress(TimeoutError):
            for _ in range(2_000):
                client.sendall(request)
        assert serves(server)
        caller = min(server._sockets.callers, key=lambda each: each.number)
        assert len(caller.out) < 100_000
        assert len(server._sockets._buffers[caller]) <= 2 * 256 * 1024
        assert not caller.broken
    until(lambda: not server.clients())
    assert server._sockets._buffered == 0
    # How many requests are served first is a matter of the system's buffers: the run may be longer than what is kept.
    assert [line for line in server.log if "steps are kept" not in line] == []


def test_a_client_that_sends_thousands_of_requests_at_once_keeps_nobody_waiting(server):
    count = 30_000
    with connect(server) as client:
        sending = threading.Thread(target=send_in_vain, args=(client, count))
        sending.start()
        client.recv(1)
        assert serves(server)
        server.clients()
        # Each request is three steps or more: another client was served before all of them were answered.
        assert server.cluster.steps < 3 * count
        client.shutdown(socket.SHUT_RDWR)
        sending.join()


def send_in_vain(client, count):
    """Send requests until the connection is closed, without an error where that comes first."""
    with contextlib.suppress(OSError):
        client.sendall(encode_frame(METADATA, 1, Topics=None) * count)


def test_unfinished_requests_are_bounded_together(server, monkeypatch):
    monkeypatch.setattr("kipviz.serving.socket_server.BUFFERED_MAX", 1 << 20)
    with contextlib.ExitStack() as held:
        for _ in range(4):
            client = held.enter_context(connect(server))
            client.sendall((10_000_000).to_bytes(4, "big") + bytes(400_000))
        until(lambda: server.log)
        why = "closed: the unfinished requests of all clients are above 1 MB"
        assert all(line.endswith(why) for line in server.log)
        assert len(set(server.log)) == len(server.log) <= 3
        assert serves(server)
        assert server._sockets._buffered <= 1 << 20
    until(lambda: not server.clients())
    assert server._sockets._buffered == 0


def test_an_idle_connection_is_closed_and_one_whose_request_is_held_is_not(server):
    server.rule("hold Metadata")
    server._sockets._max_idle_s = 0.2
    with connect(server) as waits, connect(server) as idle, connect(server) as half:
        half.sendall(b"\x00\x00")
        waits.sendall(add_size(frame(3, 12)))
        assert idle.recv(1) == b""
        assert half.recv(1) == b""
        assert [line.partition(": ")[2] for line in server.log] == [
            "idle for 0.2 s (connections.max.idle.ms)"
        ] * 2
        time.sleep(0.3)
        server.release()
        assert waits.recv(4)


def test_a_command_takes_as_many_file_descriptors_as_it_may_have():
    raises = (
        "import resource; from kipviz.serving.socket_server import files_max, raise_files_max; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (100, 300)); raise_files_max(); print(files_max())"
    )
    done = subprocess.run(
        [sys.executable, "-c", raises], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout == "300\n"
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] != 100


def refuses(server, broker):
    with pytest.raises(ConnectionRefusedError):
        connect(server, broker)
    return True


def test_the_port_of_a_crashed_broker_is_kept_for_it(server):
    port = server.cluster.desk.ports[1]
    server.crash(1)
    until(lambda: 1 in server._sockets._reserved)
    assert refuses(server, 1)
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((LOOPBACK, port))
    server.start(1)
    until(lambda: not server._sockets._reserved)
    connect(server).close()
    assert server.log == ()


def test_a_port_that_another_program_has_taken_is_tried_again(server):
    server.crash(1)
    until(lambda: 1 in server._sockets._reserved)
    server._sockets._reserved.pop(1).close()
    with socket.create_server((LOOPBACK, server.cluster.desk.ports[1])):
        server.start(1)
        until(lambda: server.log)
        assert serves(server)  # the other brokers go on
    (line,) = server.log
    assert line.endswith("yet: Address already in use")
    until(lambda: 1 in server._sockets._listeners)
    connect(server).close()


def test_an_error_while_a_connection_is_accepted_ends_no_server(server, monkeypatch):
    fails = iter((True,))

    def connect_once(broker, real=server.cluster.connect):
        if next(fails, False):
            raise OSError("it is gone already")
        return real(broker)

    monkeypatch.setattr(server.cluster, "connect", connect_once)
    with connect(server):
        until(lambda: server.log)
    assert server.log[0].startswith("a new connection: ")
    assert serves(server)
