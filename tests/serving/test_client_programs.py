"""Each program with each client in the simulated cluster: it does what it did at real brokers.

Calls, results and exceptions, the requests of each client with their versions and errors, and the logs are those that
`record_programs` stored. What is left out of the comparison stands in `program_runs`, each with the reason.
"""

import itertools
import json
import queue
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import pytest

import kipviz
from kipviz.serving.served_spec import cluster_of
from tests.patience import PATIENCE
from tests.serving import kafka_jars
from tests.serving.client_programs import Clients
from tests.serving.program_runs import (
    IN_NO_ORDER,
    SimulatedCluster,
    requests_in_order,
    run_calls,
    see,
)
from tests.serving.program_table import CLIENTS, CLUSTER, JAVA, PROGRAMS, PYTHON, C, programs_of
from tests.serving.record_programs import HOW, read_runs, version_of

RECORDED = Path(__file__).parents[1] / "recordings" / "kafka-4.4.0" / "fenced-and-timed-out"
# For what a client sends on a thread of its own after its last call has returned.
REST_S = 10.0
# How long a call is waited for that does not come back; the coordinator's successor is there at once.
HANGS_S = 2.0
NEEDS_SHARES = "share-open"


@pytest.fixture(scope="module")
def clients(request):
    made = Clients(request.param)
    yield made
    made.end()


def run(program, clients):
    """Run a program in a simulated cluster of its own, until its client has sent what it sent to the real brokers."""
    stored = read_runs(clients.name)["programs"][program.name]
    cluster = SimulatedCluster()

    def rest():
        end = time.monotonic() + REST_S
        while (
            requests_in_order(list(cluster.proxy.exchanges), searches=program.searches)
            != stored["requests"]
        ):
            if time.monotonic() > end:
                return
            time.sleep(0.01)

    try:
        calls = run_calls(program, clients, cluster, rest)
        seen = asdict(see(program, calls, cluster.proxy.take(), cluster))
        assert not cluster.server.log, "a request was refused"
    finally:
        cluster.stop()
    return seen


def run_alone(program):
    """Run a program of librdkafka in a process of its own."""
    made = Clients(C)
    try:
        return run(program, made)
    finally:
        made.end()


@pytest.fixture(scope="module")
def shares():
    """Run librdkafka's programs with share groups side by side.

    Its share consumer does nothing for the five seconds of a heartbeat's interval, here as at real brokers.
    """
    programs = [each for each in programs_of(C) if NEEDS_SHARES in each.text]
    with ThreadPoolExecutor(len(programs)) as pool:
        yield {each.name: pool.submit(run_alone, each) for each in programs}


@pytest.mark.parametrize(
    ("clients", "program"),
    [
        pytest.param(client, program, id=f"{client}-{program.name}")
        for client in CLIENTS
        for program in programs_of(client)
    ],
    indirect=["clients"],
)
def test_a_client_does_here_what_it_did_at_real_brokers(clients, program, request):
    if clients.name == C and NEEDS_SHARES in program.text:
        seen = request.getfixturevalue("shares")[program.name].result()
    else:
        seen = run(program, clients)
    for part, found in seen.items():
        assert found == read_runs(clients.name)["programs"][program.name][part], part


def test_kafka_python_forgets_a_commit_when_its_coordinator_cannot_be_reached():
    """It asks for the coordinator again, and is told; the EndTxn that it was about to send is gone."""
    program = next(each for each in PROGRAMS if each.name == "coordinator-crashes")
    assert PYTHON in program.without
    python, cluster = Clients(PYTHON), SimulatedCluster()
    try:
        python.run("control", "servers", cluster.proxy.bootstrap_servers)
        for call in (("open", "t"), ("init",), ("begin",), ("send", "orders", "one")):
            python.run("p", *call)
        cluster.proxy.take()
        cluster.act(["crash-coordinator", "t"])
        python.ask("p", "commit")
        with pytest.raises(queue.Empty):
            python.answer("p", HANGS_S)
        asked = [each.api for each in cluster.proxy.take()]
        assert "FindCoordinator" in asked
        assert "EndTxn" not in asked
        assert [fate for _, _, fate in cluster.records("orders")] == ["open"]
    finally:
        cluster.stop()
        python.process.kill()  # its actor waits for ever
        python.end()


@pytest.mark.parametrize("clients", CLIENTS, indirect=True)
def test_a_held_commit_waits_and_another_producer_goes_on(clients):
    begun = (("init",), ("begin",), ("send", "orders", "one"))
    with kipviz.serve() as server:
        clients.run("control", "servers", server.bootstrap_servers)
        for actor, name in (("p", "t"), ("q", "u")):
            for call in (("open", name), *begun):
                assert not clients.run(actor, *call).startswith("!")
            if actor == "p":
                server.rule("hold EndTxn")
                clients.ask("p", "commit")
        assert server.wait_held("EndTxn", PATIENCE).source.startswith("p/")
        server.release()
        assert clients.answer("p") == ""
        assert clients.run("q", "commit") == ""
        for actor in "pq":
            clients.run(actor, "close")


@pytest.mark.parametrize("client", CLIENTS)
def test_the_recordings_are_of_these_programs_and_of_the_versions_that_run_here(client):
    stored = read_runs(client)
    assert {name: each["steps"] for name, each in stored["programs"].items()} == {
        program.name: program.steps for program in programs_of(client)
    }, f"record them again: {HOW}"
    assert stored["client"] == version_of(client)
    (jar,) = (name for name in kafka_jars.SHA256 if "clients" in name)
    assert jar == f"kafka-clients-{stored['brokers'].removeprefix('Kafka ')}.jar"


def test_a_client_that_cannot_run_a_program_has_a_reason_and_one_can():
    for program in PROGRAMS:
        assert set(program.without) < set(CLIENTS), program.name
        assert all(program.without.values())


def test_the_programs_have_every_scenario_that_users_ask_for():
    lines = {line for program in PROGRAMS for line in program.steps}
    faults = {line.split()[1] for line in lines if line.startswith(CLUSTER)}
    assert {"lose-answer", "move-coordinator", "time-out"} <= faults
    calls = {line.split()[1] for line in lines} - faults
    assert {"commit", "abort", "send-offsets", "share-poll", "share-commit"} <= calls
    assert {line.split()[2] for line in lines if "consume " in line} == {"classic", "consumer"}


def test_what_has_no_order_is_still_compared_by_its_versions():
    asked = {
        line.split()[0]
        for lines in read_runs("java")["programs"].values()
        for lines in lines["versions"].values()
        for line in lines
    }
    assert asked == set(IN_NO_ORDER)


# -- against a recording of a broker alone, with its request log ----------------------------------

CALLS = {
    "initTransactions": "init",
    "beginTransaction": "begin",
    "commitTransaction": "commit",
    "abortTransaction": "abort",
}
NAMES = {
    "FIND_COORDINATOR": "FindCoordinator",
    "INIT_PRODUCER_ID": "InitProducerId",
    "PRODUCE": "Produce",
    "END_TXN": "EndTxn",
}
COORDINATOR_LOAD_IN_PROGRESS = 14


def lines_of(name):
    return [json.loads(line) for line in (RECORDED / name).read_text().splitlines()]


@pytest.mark.parametrize("clients", [JAVA], indirect=True)
def test_kafka_s_java_client_does_here_what_it_did_at_a_real_broker_call_by_call(clients):
    opened = []
    with kipviz.serve(cluster_of(["output-A"], brokers=1)) as server:
        clients.run("control", "servers", server.bootstrap_servers)
        open_at = None
        for call in lines_of("calls.jsonl"):
            actor, name = call["actor"], call["name"]
            if name == "waitForState" and call["arguments"]["state"] == "CompleteAbort":
                assert open_at is not None
                server.time_out("my-txn")
            if not actor.startswith("producer-"):
                continue
            if actor not in opened:
                opened.append(actor)
                assert clients.run(actor, "open", "my-txn") == ""
            if name == "send":
                words = ("send", call["arguments"]["topic"], call["arguments"]["value"])
                open_at = call["call"]
            else:
                words = (CALLS[name],)
            told = clients.run(actor, *words)
            if "error" in call:
                expected = f"! {call['error']['class']}"
            else:
                expected = str(call["result"]["offset"]) if name == "send" else ""
            assert told == expected, f"call {call['call']}: {actor}.{name}"
        for actor in opened:
            asked = [n for _, n in server.requests(actor) if n in NAMES.values()]
            assert asked == expected_requests(actor), actor
    for actor in opened:
        clients.run(actor, "close")
    assert len(opened) == 4


def expected_requests(actor):
    """Return what an actor asked the real broker, without what it repeated while that was still loading."""
    return [
        NAMES[line["api"]]
        for line in lines_of("wire.jsonl")
        if line["client"] == actor
        and line["response"].get("errorCode") != COORDINATOR_LOAD_IN_PROGRESS
    ]


def test_the_recording_has_both_ways_in_which_a_producer_is_refused():
    raised = [call["error"]["class"] for call in lines_of("calls.jsonl") if "error" in call]
    assert [name for name, _ in itertools.groupby(raised)] == [
        "InvalidProducerEpochException",
        "ProducerFencedException",
        "InvalidTxnStateException",
    ]
