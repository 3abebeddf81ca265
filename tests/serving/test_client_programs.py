"""The same programs with three real clients: what each does, and what a real broker recorded of it.

The tests' set-up brings all three. NOT COMPARED with a real
broker: kafka-python and librdkafka (the recordings of `older-client` have no program in common with these), and
what clients log.
"""

import itertools
import json
import time
from pathlib import Path

import pytest

import kipviz
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.serving.served_spec import cluster_of
from tests.patience import PATIENCE
from tests.serving.client_programs import Clients

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.usefixtures("kafka_python_is_swept"),
]
RECORDED = Path(__file__).parents[1] / "recordings" / "kafka-4.4.0" / "fenced-and-timed-out"
PYTHON, C, JAVA = "kafka-python", "librdkafka", "java"
BEGUN = (("open", "t"), ("init",), ("begin",), ("send", "orders", "one"))
# What is asked on the way to a request, and when, differs from run to run.
ON_THE_WAY = ("Metadata", "FindCoordinator")


@pytest.fixture(scope="module", params=[PYTHON, C, JAVA])
def clients(request):
    made = Clients(request.param)
    yield made
    made.end()


@pytest.fixture
def server(clients):
    with kipviz.serve() as served:
        assert clients.run("control", "servers", served.bootstrap_servers) == ""
        yield served


@pytest.fixture
def program(clients):
    """Make calls of actors and return what they raised or gave; producers are closed in the end."""
    opened = []

    def run(actor, *calls):
        opened.extend([actor] for call in calls if call[0] == "open")
        return [clients.run(actor, *call) for call in calls]

    yield run
    for (actor,) in opened:
        clients.run(actor, "close")


def requests(server, client):
    return [name for _, name in server.requests(client) if name not in ON_THE_WAY]


def until(what):
    """Wait for what a client does on a thread of its own, after its call has returned."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def fates(server):
    return [(value, fate) for _, value, fate in server.records("orders-0")]


def test_a_transaction_commits_and_the_next_one_aborts(clients, server, program):
    assert program("p", *BEGUN, ("commit",)) == ["", "", "", "0", ""]
    assert program("p", ("begin",), ("send", "orders", "two"), ("abort",)) == ["", "2", ""]
    assert fates(server) == [("one", "committed"), ("two", "aborted")]
    # Java's client leaves it to the partition's leader (KIP-890); the others add the partition themselves.
    added = [] if clients.name == JAVA else ["AddPartitionsToTxn"]
    assert requests(server, "p") == ["InitProducerId", *[*added, "Produce", "EndTxn"] * 2]
    assert server.log == ()


def test_offsets_are_committed_with_the_transaction(clients, server, program):
    program("p", *BEGUN, ("offsets", "group", "orders", "7"))
    assert program("p", ("commit",)) == [""]
    assert clients.run("q", "committed", "group", "orders") == "7"
    named = [name for name in requests(server, "p") if "Offset" in name]
    added = [] if clients.name == JAVA else ["AddOffsetsToTxn"]
    assert named == [*added, "TxnOffsetCommit"]


def test_offsets_of_an_aborted_transaction_are_not_committed(clients, server, program):
    program("p", *BEGUN, ("offsets", "group", "orders", "7"), ("abort",))
    assert clients.run("q", "committed", "group", "orders") == "none"


def test_a_zombie_that_commits_is_fenced_by_its_coordinator(clients, server, program):
    program("p", *BEGUN)
    assert program("q", ("open", "t"), ("init",)) == ["", ""]
    raised = {
        PYTHON: ["! ProducerFencedError", "! KafkaError"],
        C: ["! _FENCED", "! _FENCED"],
        JAVA: ["! ProducerFencedException", "! ProducerFencedException"],
    }
    assert program("p", ("commit",), ("abort",)) == raised[clients.name]
    assert fates(server) == [("one", "aborted")]


def test_a_zombie_that_sends_is_refused_by_the_partition_s_leader(clients, server, program):
    program("p", *BEGUN)
    assert program("q", ("open", "t"), ("init",)) == ["", ""]
    raised, then = {
        PYTHON: (["! InvalidProducerEpochError", "! KafkaError", "! KafkaError"], "InitProducerId"),
        C: (["! SystemError from _FENCED", "! _FENCED", "! _FENCED"], "Produce"),
        JAVA: (
            ["! InvalidProducerEpochException"] * 2 + ["! ProducerFencedException"],
            "EndTxn",
        ),
    }[clients.name]
    assert program("p", ("send", "orders", "late"), ("commit",), ("abort",)) == raised
    until(lambda: requests(server, "p")[-1] == then)
    assert fates(server) == [("one", "aborted")]


def test_kafka_python_gives_the_offset_before_an_open_transaction_s_as_the_committed_one():
    """The two others ask with RequireStable, and wait: the broker answers UNSTABLE_OFFSET_COMMIT."""
    python = Clients(PYTHON)
    try:
        with kipviz.serve() as server:
            python.run("control", "servers", server.bootstrap_servers)
            for call in (*BEGUN, ("offsets", "group", "orders", "7")):
                python.run("p", *call)
            assert python.run("q", "committed", "group", "orders") == "none"
            assert python.run("p", "commit") == ""
            assert python.run("q", "committed", "group", "orders") == "7"
            python.run("p", "close")
    finally:
        python.end()


def test_a_lost_answer_to_end_txn_is_asked_for_again_and_commits_once(clients, server, program):
    program("p", *BEGUN)
    server.rule("lose the 1st EndTxnResponse")
    assert program("p", ("commit",)) == [""]
    assert requests(server, "p")[-2:] == ["EndTxn", "EndTxn"]
    # The next transaction has the epoch that the repeated EndTxn was answered with.
    assert program("p", ("begin",), ("send", "orders", "two"), ("commit",)) == ["", "2", ""]
    assert fates(server) == [("one", "committed"), ("two", "committed")]


def test_a_coordinator_that_moves_is_found_again(clients, server, program):
    program("p", *BEGUN)
    image = server.cluster.world.image
    home = image.home_of(TRANSACTION_STATE, "t")
    server.move(home, image.leader_of(home) % 3 + 1)
    assert program("p", ("commit",)) == [""]
    assert requests(server, "p")[-2:] == ["EndTxn", "EndTxn"]
    assert fates(server) == [("one", "committed")]


def time_out(server):
    """Let transaction.timeout.ms be over for the transaction that is open."""
    ((action, _),) = server.cluster.overdue()
    server.take(action)


def test_a_transaction_that_times_out_is_aborted_and_its_commit_raises(clients, server, program):
    program("p", *BEGUN)
    time_out(server)
    raised = {
        # EndTxn 5 says which transactions are meant by an epoch; older versions only that it is fenced.
        PYTHON: ["! ProducerFencedError", "! KafkaError"],
        C: ["! _FENCED", "! _FENCED"],
        JAVA: ["! InvalidTxnStateException", "! KafkaException"],
    }
    assert program("p", ("commit",), ("abort",)) == raised[clients.name]
    assert fates(server) == [("one", "aborted")]


def test_a_held_commit_waits_and_another_producer_goes_on(clients, server, program):
    program("p", *BEGUN)
    server.rule("hold EndTxn")
    clients.ask("p", "commit")
    program("q", ("open", "u"), ("init",), ("begin",), ("send", "orders", "of the other"))
    assert [message for _, message in server.held_messages()] == ["EndTxn"]
    server.release()
    assert clients.answer("p") == ""
    assert program("q", ("commit",)) == [""]


def test_java_s_share_consumer_releases_records_and_gets_them_again():
    """librdkafka and kafka-python have no share consumer that is driven here."""
    java = Clients(JAVA)
    try:
        with kipviz.serve() as server:
            java.run("control", "servers", server.bootstrap_servers)
            for call in (*BEGUN, ("send", "orders", "two"), ("commit",)):
                java.run("p", *call)
            assert java.run("s", "share-open", "group", "orders") == ""
            assert java.run("s", "share-poll", "RELEASE") == "one*1 two*1"
            assert java.run("s", "share-commit") == "orders ok"
            assert java.run("s", "share-poll", "ACCEPT") == "one*2 two*2"
            assert java.run("s", "share-commit") == "orders ok"
            assert java.run("s", "share-close") == ""
            asked = {name for _, name in server.requests("s")} - {"Metadata"}
            assert asked == {"ShareGroupHeartbeat", "ShareFetch", "ShareAcknowledge"}
            assert server.log == ()
            java.run("p", "close")
    finally:
        java.end()


# -- against a recording of a real broker --------------------------------------------------------

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


def recorded(name):
    return [json.loads(line) for line in (RECORDED / name).read_text().splitlines()]


def test_kafka_s_java_client_does_here_what_it_did_at_a_real_broker_call_by_call():
    java = Clients(JAVA)
    opened = []
    try:
        with kipviz.serve(cluster_of(["output-A"], brokers=1)) as server:
            java.run("control", "servers", server.bootstrap_servers)
            open_at = None
            for call in recorded("calls.jsonl"):
                actor, name = call["actor"], call["name"]
                if name == "waitForState" and call["arguments"]["state"] == "CompleteAbort":
                    assert open_at is not None
                    time_out(server)
                if not actor.startswith("producer-"):
                    continue
                if actor not in opened:
                    opened.append(actor)
                    assert java.run(actor, "open", "my-txn") == ""
                if name == "send":
                    words = ("send", call["arguments"]["topic"], call["arguments"]["value"])
                    open_at = call["call"]
                else:
                    words = (CALLS[name],)
                told = java.run(actor, *words)
                if "error" in call:
                    expected = f"! {call['error']['class']}"
                else:
                    expected = str(call["result"]["offset"]) if name == "send" else ""
                assert told == expected, f"call {call['call']}: {actor}.{name}"
            for actor in opened:
                asked = [n for _, n in server.requests(actor) if n in NAMES.values()]
                assert asked == expected_requests(actor), actor
    finally:
        java.end()
    assert len(opened) == 4


def expected_requests(actor):
    """Return what an actor asked the real broker, without what it repeated while that was still loading."""
    return [
        NAMES[line["api"]]
        for line in recorded("wire.jsonl")
        if line["client"] == actor
        and line["response"].get("errorCode") != COORDINATOR_LOAD_IN_PROGRESS
    ]


def test_the_recording_has_both_ways_in_which_a_producer_is_refused():
    raised = [call["error"]["class"] for call in recorded("calls.jsonl") if "error" in call]
    assert [name for name, _ in itertools.groupby(raised)] == [
        "InvalidProducerEpochException",
        "ProducerFencedException",
        "InvalidTxnStateException",
    ]
