"""A message of a real client in the hand: wait until it is held, deliver it, lose it, and show the run up to there."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

import kipviz
from kipviz.serving.script import answer
from tests.patience import PATIENCE

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from kafka import KafkaProducer

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.usefixtures("kafka_python_is_swept"),
]


@pytest.fixture
def server():
    with kipviz.serve(time="model") as served:
        yield served


@pytest.fixture
def commit(server):
    """Commit a transaction in a thread; what is called gives the future of `commit_transaction`."""
    client = KafkaProducer(
        bootstrap_servers=server.bootstrap_servers.split(","),
        transactional_id="t",
        client_id="app-1",
        retry_backoff_ms=5,
    )
    threads = ThreadPoolExecutor(1)

    def begin():
        client.init_transactions()
        client.begin_transaction()
        client.send("orders", value=b"once").get(PATIENCE)
        return threads.submit(client.commit_transaction)

    yield begin
    threads.shutdown()
    client.close(timeout=1)


def ends(server):
    return [name for _, name in server.requests("app-1") if name == "EndTxn"]


def test_a_held_answer_that_is_lost_makes_the_client_ask_again_and_the_run_can_end_at_the_loss(
    server, commit
):
    server.rule("hold EndTxnResponse")
    committing = commit()
    held = server.wait_held("EndTxnResponse")
    assert (held.way, committing.done()) == ("response", False)
    assert server.records("orders-0") == ((0, "once", "committed"),)
    before = server.step

    server.log_line("app-1", "it waits")
    step = server.lose(held)
    server.release()
    committing.result(PATIENCE)
    server.log_line("app-1", "it has committed")

    assert ends(server) == ["EndTxn", "EndTxn"]
    assert server.records("orders-0") == ((0, "once", "committed"),)
    assert step == before + 1 < server.step
    shown = kipviz.open(server.run(until=step))
    assert shown.step == shown.last_step == step
    assert shown.payload["steps"][step]["title"].startswith("app-1/")
    assert " is disconnected from B" in shown.payload["steps"][step]["title"]
    assert [n["text"] for n in shown.payload["notes"] if n["lane"] == "app-1"] == ["it waits"]
    whole = server.run().trace
    assert server.run(until=before).trace.world == whole.jump(whole.line[before]).world


def test_a_crash_in_the_hand_ends_with_the_next_coordinator_s_markers(server, commit):
    server.rule("hold EndTxn")
    committing = commit()
    held = server.wait_held()
    server.rule("crash the coordinator at PREPARE_COMMIT")
    step = server.take(held)
    shown = kipviz.open(server.run(until=step))
    titles = [each["title"] for each in shown.payload["steps"]]
    assert any("crashes" in title for title in titles)
    assert server.records("orders-0") == ((0, "once", "committed"),)
    server.release()
    committing.result(PATIENCE)
    assert ends(server) == ["EndTxn", "EndTxn"]


def test_what_is_never_held_and_what_is_no_message_is_refused_in_one_sentence(server):
    with pytest.raises(TimeoutError, match=r"no EndTxn is held after 0\.01 s; held now: nothing"):
        server.wait_held("EndTxn", 0.01)
    with pytest.raises(ValueError, match="EndTxn"):
        server.wait_held("EndTx", 0.01)
    with pytest.raises(ValueError, match="step must be from 0 to 0, not 1"):
        server.run(until=1)


def test_a_script_waits_for_a_held_message_and_loses_it(server, commit):
    assert answer(server, {"do": "rule", "rule": "hold EndTxn"})["ok"]
    committing = commit()
    held = answer(server, {"do": "wait-held", "message": "EndTxn", "seconds": 5})
    assert (held["ok"], held["index"]) == (True, 0)
    lost = answer(server, {"do": "lose", "index": 0})
    assert lost["ok"]
    # The client asks again, and its request is held again.
    again = answer(server, {"do": "wait-held", "message": "EndTxn", "seconds": 5})
    assert (again["index"], again["id"]) == (0, held["id"] + 1)
    # The lost message's number is free of any message now.
    told = answer(server, {"do": "deliver", "id": held["id"]})
    assert (told["ok"], "matching ids: none" in told["error"]) == (False, True)
    assert answer(server, {"do": "deliver", "id": again["id"]})["step"] > lost["step"]
    committing.result(PATIENCE)
    assert server.records("orders-0") == ((0, "once", "committed"),)


def test_a_script_that_waits_in_vain_or_for_nonsense_is_told_why(server):
    told = answer(server, {"do": "wait-held", "message": "EndTxn", "seconds": 0})
    assert (told["ok"], "no EndTxn is held" in told["error"]) == (False, True)
    for line in ({"seconds": -1}, {"seconds": True}, {"message": 3}, {"message": "EndTx"}):
        told = answer(server, {"do": "wait-held", **line})
        assert not told["ok"], line
        assert told["error"]
