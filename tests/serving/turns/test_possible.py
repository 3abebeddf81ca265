"""What a reader takes by hand besides deliveries: replication, loading coordinators, delays, and timers."""

import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

import kipviz
from kipviz.cluster.actions import Load, Replicate, RunOut
from kipviz.serving.script import answer
from kipviz.serving.served_cluster import EXPIRY
from kipviz.serving.served_spec import cluster_of
from tests.patience import PATIENCE
from tests.serving.translating.test_group_times import UNKNOWN_MEMBER_ID, Member

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from kafka import KafkaProducer

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.usefixtures("kafka_python_is_swept"),
]


@pytest.fixture
def server():
    with kipviz.serve(by="hand", time="model") as served:
        yield served


def commit_once(server):
    client = KafkaProducer(
        bootstrap_servers=server.bootstrap_servers.split(","),
        transactional_id="t",
        client_id="app-1",
        retry_backoff_ms=5,
    )
    client.init_transactions()
    client.begin_transaction()
    client.send("orders", value=b"once").get(PATIENCE)
    client.commit_transaction()
    return client


def by_hand(server, take_one):
    """Commit a transaction while a reader takes every step."""
    with ThreadPoolExecutor(1) as threads:
        committing = threads.submit(commit_once, server)
        end = time.monotonic() + PATIENCE
        while not committing.done():
            assert time.monotonic() < end, (server.held_messages(), server.possible())
            if not take_one():
                time.sleep(0.002)
        while take_one():
            pass
        committing.result().close(timeout=1)


def test_a_whole_transaction_is_taken_by_hand_in_python(server):
    taken = []

    def take_one():
        steps = [*server.held(), *(a for a in server.possible() if a.KIND != EXPIRY)]
        if steps:
            taken.append(steps[0])
            server.take(steps[0])
        return bool(steps)

    by_hand(server, take_one)
    assert any(isinstance(step, Replicate) for step in taken)
    assert server.records("orders-0") == ((0, "once", "committed"),)
    assert server.waiting() == 0


def test_a_whole_transaction_is_taken_by_hand_over_json_lines(server):
    def ask(**line):
        told = answer(server, line)
        assert told["ok"], (line, told)
        return told

    def take_one():
        if ask(do="held")["held"]:
            ask(do="deliver", index=0)
            return True
        steps = [each for each in ask(do="possible")["possible"] if not each["timer"]]
        if steps:
            assert steps[0]["what"]
            ask(do="take", action=steps[0]["action"])
        return bool(steps)

    by_hand(server, take_one)
    assert server.records("orders-0") == ((0, "once", "committed"),)


def test_a_coordinator_loads_its_log_when_a_reader_says_so(server):
    partition = "__transaction_state-1"
    leader = server.cluster.world.image.leader_of(partition)
    server.crash(leader)
    loads = [a for a in server.possible() if isinstance(a, Load)]
    assert loads
    assert answer(server, {"do": "take", "action": {"class": "Load", "broker": leader}}) == {
        "ok": False,
        "error": f'{{"class": "Load", "broker": {leader}}} is not possible now: \'possible\' lists what is',
    }
    server.take(loads[0])
    assert loads[0] not in server.possible()


def test_in_the_models_time_a_dead_members_session_is_ended_by_hand():
    with kipviz.serve(cluster_of(["orders"], brokers=1), time="model") as server:
        member = Member(server, "m")
        member.join()
        member.sync()
        timers = answer(server, {"do": "possible"})["possible"]
        session = next(each for each in timers if "session of m.1" in each["what"])
        assert session["timer"]
        assert answer(server, {"do": "take", "action": session["action"]})["ok"]
        assert member.beat() == UNKNOWN_MEMBER_ID
        assert not any(
            isinstance(a, RunOut) and a.role == "group_coordinator" for a in server.possible()
        )
        member.client.forget()


def test_an_action_that_is_none_is_refused_in_one_sentence(server):
    for action in (None, 3, "Load", [], {"class": "Nonsense"}, {"class": "Receive", "source": "x"}):
        told = answer(server, {"do": "take", "action": action})
        assert (told["ok"], "possible" in told["error"]) == (False, True)
