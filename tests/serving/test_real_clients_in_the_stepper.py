"""A real client as a lane: its software, its connections, what is in flight, and its log."""

import logging
import warnings

import pytest

import kipviz
from kipviz.checking.single_run import runs
from kipviz.cluster.real.served_run import ClientLine, RealClient
from kipviz.core.traces.tracefile import TraceFileError
from kipviz.scenarios import served_scenario
from tests.patience import PATIENCE

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from kafka import KafkaProducer

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.usefixtures("kafka_python_is_swept"),
]


@pytest.fixture(scope="module")
def run():
    with kipviz.serve() as server:
        client = KafkaProducer(
            bootstrap_servers=server.bootstrap_servers.split(","),
            transactional_id="t",
            client_id="app-1",
            retry_backoff_ms=5,
        )
        client.init_transactions()
        log = logging.getLogger("a-client-of-this-test")
        log.setLevel(logging.INFO)
        handler = server.log_handler("app-1")
        log.addHandler(handler)
        log.info("the transaction begins \x1b[31m")
        client.begin_transaction()
        client.send("orders", value=b"once").get(PATIENCE)
        server.rule("lose the 1st EndTxnResponse")
        client.commit_transaction()
        log.info("committed")
        log.removeHandler(handler)
        client.close()
        return server.run()


@pytest.fixture(scope="module")
def payload(run):
    return kipviz.open(Held(run)).payload


class Held:
    """What has a run, as a server has one."""

    def __init__(self, run):
        self._run = run

    def run(self):
        return self._run


def values(payload, card):
    return [row["cells"]["value"] for row in payload["rows"] if row["card"] == card]


def test_a_client_is_a_lane_with_the_name_and_version_of_its_software(payload):
    (lane, *brokers) = payload["lanes"]
    assert lane["id"] == "app-1"
    assert lane["sub"].startswith("kafka-python 3.")
    assert lane["first"]
    assert [each["id"] for each in brokers] == ["B1", "B2", "B3"]


def test_what_a_client_has_in_flight_and_which_connections_are_open_is_a_card(payload):
    found = values(payload, "connections:app-1")
    assert "open, in flight: EndTxn" in found
    assert "open, in flight: EndTxnResponse" in found
    assert "closed" in found
    assert "transaction:t" in [card["id"] for card in payload["cards"]]


def test_a_client_s_log_lines_stand_beside_the_steps_and_cannot_move_a_terminal_s_cursor(payload):
    lines = values(payload, "lines:app-1")
    assert lines == ["INFO the transaction begins \\x1b[31m", "INFO committed"]
    first, second = (note for note in payload["notes"] if note["lane"] == "app-1")
    assert first["text"] == lines[0]
    assert first["step"] < second["step"]
    ends = [step["title"] for step in payload["steps"][: second["step"] + 1]]
    assert any("EndTxn" in title for title in ends)


def test_a_saved_run_keeps_the_clients_and_opens_without_them(run, payload, tmp_path):
    runs.save(run, tmp_path / "run.trace")
    stepper = kipviz.open_trace(tmp_path / "run.trace")
    assert stepper.payload == payload
    assert stepper.step == stepper.last_step
    kipviz.save(stepper, tmp_path / "again.trace")
    assert kipviz.open_trace(tmp_path / "again.trace").payload == payload


def test_a_branch_of_a_saved_run_goes_on_without_the_client(run, tmp_path):
    runs.save(run, tmp_path / "run.trace")
    stepper = kipviz.open_trace(tmp_path / "run.trace")
    stepper.step = next(
        k for k, s in enumerate(stepper.payload["steps"]) if s["title"].endswith("sends EndTxn")
    )
    stepper.fault_at("B1 crashes")
    assert stepper.branch != 0
    kipviz.save(stepper, tmp_path / "branched.trace")
    again = kipviz.open_trace(tmp_path / "branched.trace")
    assert len(again.known_branches) == 1
    assert [n for n in again.payload["notes"] if n["lane"] == "app-1"] == [
        n for n in stepper.payload["notes"] if n["lane"] == "app-1"
    ]


def test_a_damaged_description_of_a_served_cluster_is_refused_in_one_sentence(run, tmp_path):
    said = served_scenario.encode_served(run.scenario, {n: n for n in range(len(run.trace))})
    for wrong in ({"spec": "?"}, {**said, "clients": 3}, {**said, "spec": ""}):
        with pytest.raises(ValueError, match="cannot be read"):
            served_scenario.read(wrong, "kafka")
    assert served_scenario.read(said, "kafka") == run.scenario
    text = (tmp_path / "run.trace").as_posix()
    runs.save(run, text)
    data = (tmp_path / "run.trace").read_bytes()
    (tmp_path / "run.trace").write_bytes(data.replace(b'"clients":[', b'"clients":7,"x":[', 1))
    with pytest.raises(TraceFileError):
        runs.load(text)


def test_a_line_whose_step_is_gone_is_left_out():
    lines = (ClientLine("a", 1, "first"), ClientLine("a", 5, "second"))
    assert served_scenario.renumber_lines(lines, {5: 2}) == (ClientLine("a", 2, "second"),)


def test_a_client_that_does_not_say_what_it_is_has_a_lane_too(run):
    nameless = run.scenario.but(clients=(RealClient("app-1"),), lines=())
    model = nameless.model(run.design)
    shown = runs.Run(nameless, run.design, model, run.trace)
    assert kipviz.open(Held(shown)).payload["lanes"][0]["sub"] == "software not announced"


@pytest.mark.parametrize(
    ("given", "more", "why"),
    [
        (7, {}, "not int"),
        ("server", {"design": "kafka"}, "has its design already"),
        ("server", {"keep": "x.trace"}, "has its design already"),
    ],
)
def test_what_cannot_be_opened_is_refused_in_one_sentence(run, given, more, why):
    with pytest.raises(ValueError, match=why):
        kipviz.open(Held(run) if given == "server" else given, **more)


def test_a_line_of_a_client_that_has_sent_nothing_is_refused():
    with (
        kipviz.serve() as server,
        pytest.raises(ValueError, match="requests came from no client yet"),
    ):
        server.log_line("app-1", "hello")
