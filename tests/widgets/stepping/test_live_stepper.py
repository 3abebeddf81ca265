"""A stepper that follows a served cluster: the clients' steps, and what a reader does at the newest one."""

import contextlib
import json
import logging
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

import kipviz
from kipviz.cluster.actions import CrashBroker
from kipviz.views.choices import choice_id
from kipviz.widgets.live import live_lines
from kipviz.widgets.live.live_stepper import LiveStepper
from kipviz.widgets.pages.line import line_of
from kipviz.widgets.stepping.sharing import SPANS
from tests.patience import PATIENCE, until

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from kafka import KafkaProducer

pytestmark = [
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning",
        "ignore::ResourceWarning",
        # kafka-python's own, of a producer whose cluster has stopped.
        "ignore::pytest.PytestUnraisableExceptionWarning",
    ),
    pytest.mark.usefixtures("kafka_python_is_swept"),
]


@pytest.fixture
def server():
    with kipviz.serve(time="model") as served:
        yield served


@pytest.fixture
def producers(server):
    made = []

    def make(name="app-1", transactional_id="t"):
        made.append(
            KafkaProducer(
                bootstrap_servers=server.bootstrap_servers.split(",")[0],
                transactional_id=transactional_id,
                client_id=name,
                retry_backoff_ms=5,
            )
        )
        made[-1].init_transactions()
        return made[-1]

    yield make
    for producer in made:
        producer.close(timeout=2)


def commit(producer, value=b"once"):
    producer.begin_transaction()
    producer.send("orders", value).get(PATIENCE)
    producer.commit_transaction()


def caught_up(stepper, server):
    until(lambda: stepper.last_step == server.step)
    with stepper.lab.turn:  # the cursor moves after the last step is there, in the same turn
        return stepper.last_step


def picture_of(payload):
    """Return what a payload shows at each of its steps, however its spans are cut."""
    line = line_of(payload, [], 0)
    rows = payload["rows"]
    found = []
    for step in range(line.last + 1):
        here = [r for r in rows if r["from"] <= step and (r["to"] is None or step < r["to"])]
        found.append(
            {
                "step": line.steps[step],
                "rows": sorted(
                    json.dumps([r["card"], r["id"], r["cells"], r["tone"]]) for r in here
                ),
                "choices": sorted(json.dumps(c, sort_keys=True) for c in line.choices_at(step)),
                "verdicts": sorted((v["property"], v["state"]) for v in line.verdicts_at(step)),
                "wire": [m["id"] for m in line.wire_at(step)],
                "notes": [n for n in payload["notes"] if n["step"] == step],
                "moments": [m for m in line.moments if m["step"] == step],
                "holds": sorted(
                    h["text"]
                    for h in payload["holds"]
                    if h["from"] <= step and (h["to"] is None or step < h["to"])
                ),
                **{
                    name: sorted(
                        json.dumps({k: v for k, v in s.items() if k not in ("from", "to")})
                        for s in payload[name]
                        if s["from"] <= step and (s["to"] is None or step < s["to"])
                    )
                    for name in SPANS
                },
            }
        )
    return found


def test_the_page_has_every_step_of_the_clients_as_a_run_that_is_opened_afterwards(
    server, producers
):
    stepper = kipviz.open(server)
    producer = producers()
    commit(producer)
    caught_up(stepper, server)
    producer.begin_transaction()
    producer.send("orders", b"two").get(PATIENCE)
    server.log_line("app-1", "the second one is sent")
    caught_up(stepper, server)
    server.crash(1)
    server.start(1)
    caught_up(stepper, server)
    with stepper.lab.turn:
        stepper.lab.catch_up()
        afterwards = kipviz.open(server.run()).payload
        here = picture_of(stepper.payload)
    assert len(here) == server.step + 1
    assert here == picture_of(afterwards)
    for name in ("lanes", "cards", "wire", "messages", "title"):
        assert stepper.payload[name] == afterwards[name], name


def test_a_cursor_at_the_newest_step_goes_with_the_clients_and_another_one_stays(server, producers):
    ahead, behind = kipviz.open(server), kipviz.open(server)
    producer = producers()
    caught_up(ahead, server)
    caught_up(behind, server)
    behind.step = 3
    commit(producer)
    caught_up(ahead, server)
    caught_up(behind, server)
    assert (ahead.step, behind.step) == (ahead.last_step, 3)
    assert ahead.live == "1 client"


def test_what_is_chosen_at_the_newest_step_happens_in_the_clients_cluster(server, producers):
    stepper = kipviz.open(server)
    producers()
    newest = caught_up(stepper, server)
    stepper.take("B3 crashes")
    assert 3 not in server.cluster.world.up
    assert stepper.branch == 0
    assert stepper.step == stepper.last_step > newest
    caught_up(stepper, server)
    stepper.take("B3 starts")
    assert 3 in server.cluster.world.up


def test_a_held_message_is_delivered_and_another_one_is_lost_by_the_reader(server, producers):
    stepper = kipviz.open(server)
    producer = producers()
    server.rule("hold Produce")
    producer.begin_transaction()
    sent = producer.send("orders", b"once")
    server.wait_held("Produce", PATIENCE)
    caught_up(stepper, server)
    until(lambda: "1 message waits for you" in stepper.live)
    stepper.lose("Produce")
    server.wait_held("Produce", PATIENCE)
    caught_up(stepper, server)
    (choice,) = (words for words in stepper.possible() if words.startswith("Produce"))
    stepper.take(choice)
    assert sent.get(PATIENCE).offset == 0
    producer.commit_transaction()
    assert server.records("orders-0") == ((0, "once", "committed"),)
    assert stepper.branch == 0


def test_by_hand_a_client_does_nothing_but_what_the_reader_delivers():
    with kipviz.serve(by="hand", time="model") as server, ThreadPoolExecutor(1) as threads:
        stepper = kipviz.open(server)
        program = threads.submit(run_producer, server.bootstrap_servers.split(",")[0])
        while not program.done():
            until(lambda: program.done() or stepper.live.endswith("for you"))
            line = line_of(stepper.payload, [], 0)
            waiting = [c["id"] for c in line.choices_at(line.last) if c["group"] == "next"]
            if waiting:
                with contextlib.suppress(ValueError):  # the client went on meanwhile
                    stepper.take(waiting[0])
        program.result()
        assert server.records("orders-0") == ((0, "once", "committed"),)
        caught_up(stepper, server)
        assert stepper.branch == 0
        assert not stepper.known_branches


def run_producer(servers):
    producer = KafkaProducer(
        bootstrap_servers=servers, transactional_id="t", client_id="app-1", retry_backoff_ms=5
    )
    producer.init_transactions()
    commit(producer)
    producer.close(timeout=2)


def test_a_choice_at_an_earlier_step_makes_a_branch_without_the_clients(server, producers):
    stepper = kipviz.open(server)
    producer = producers()
    caught_up(stepper, server)
    stepper.step = 3
    stepper.take("B3 crashes")
    assert stepper.said == "No client takes part in this branch."
    assert stepper.branch == 1
    assert 3 in server.cluster.world.up
    commit(producer)
    until(lambda: len(stepper.payload["steps"]) == server.step + 1)
    (branch,) = stepper.known_branches
    assert branch["at"] == 3
    assert stepper.branch == 1


def test_dice_from_the_newest_step_lose_no_step_of_the_clients(server, producers):
    stepper = kipviz.open(server)
    producer = producers()
    server.rule("hold Produce")
    producer.begin_transaction()
    sent = producer.send("orders", b"once")
    server.wait_held("Produce", PATIENCE)
    caught_up(stepper, server)
    work = stepper.lab.respond(
        {"do": "run", "branch": 0, "step": stepper.last_step, "seed": 3, "faults": "hostile"}
    )
    server.release()
    sent.get(PATIENCE)
    producer.commit_transaction()
    answer = None
    while answer is None:
        try:
            next(work)
        except StopIteration as done:
            answer = done.value
    assert answer["say"].endswith("No client takes part in this branch.")
    caught_up(stepper, server)
    assert [s["title"] for s in stepper.payload["steps"]] == [
        s["title"] for s in kipviz.open(server.run()).payload["steps"]
    ]


def test_the_cluster_goes_back_and_its_clients_cannot(server, producers):
    stepper = kipviz.open(server)
    producer = producers()
    commit(producer)
    newest = caught_up(stepper, server)
    stepper.step = newest - 2
    stepper.take("B3 crashes")
    stepper.branch, stepper.step = 0, 5
    stepper.go_back()
    assert "Its clients cannot" in stepper.said
    assert stepper.branch == 0
    assert stepper.step == stepper.last_step
    left, own = stepper.known_branches
    assert (left["name"], left["parent"], left["at"]) == ("left at step 5", 0, 5)
    assert len(line_of(stepper.payload, stepper.known_branches, left["id"]).steps) == newest + 1
    assert (own["name"], own["parent"], own["at"]) == ("B3 crashes", left["id"], newest - 2)
    until(server.clients)
    caught_up(stepper, server)


def test_the_cluster_does_not_go_back_on_a_branch_of_the_reader(server, producers):
    stepper = kipviz.open(server)
    producers()
    caught_up(stepper, server)
    stepper.step = 3
    stepper.take("B3 crashes")
    with pytest.raises(ValueError, match="on the branch of its clients"):
        stepper.go_back()


def test_another_client_gets_a_lane(server, producers):
    stepper = kipviz.open(server)
    producers()
    producers("app-2", "u")
    caught_up(stepper, server)
    until(lambda: [lane["id"] for lane in stepper.payload["lanes"]][:2] == ["app-1", "app-2"])
    assert stepper.step == stepper.last_step
    until(lambda: stepper.live == "2 clients")


def test_a_line_of_a_client_s_log_stands_at_the_step_at_which_it_was_written(server, producers):
    stepper = kipviz.open(server)
    producer = producers()
    log = logging.getLogger("a-client-of-the-live-test")
    log.setLevel(logging.INFO)
    handler = server.log_handler("app-1")
    log.addHandler(handler)
    at = caught_up(stepper, server)
    log.info("it begins")
    commit(producer)
    log.removeHandler(handler)
    caught_up(stepper, server)
    (note,) = (n for n in stepper.payload["notes"] if n["text"] == "INFO it begins")
    assert note["step"] == at


def test_a_fault_that_is_chosen_while_the_clients_go_on_happens_in_their_cluster(server, producers):
    stepper = kipviz.open(server)
    producer = producers()
    seen = caught_up(stepper, server)
    choice = choice_id(CrashBroker(3))
    with stepper.lab.turn:  # nobody follows meanwhile
        commit(producer)
        answer = stepper.lab.respond(
            {"do": "take", "choice": choice, "branch": 0, "step": seen, "live": True}
        )
    assert answer["go"]["branch"] == 0
    assert answer["go"]["step"] > seen
    assert 3 not in server.cluster.world.up


def test_a_delivery_of_another_message_than_the_one_that_was_seen_is_refused(server, producers):
    stepper = kipviz.open(server)
    producer = producers()
    server.rule("hold Produce")
    producer.begin_transaction()
    producer.send("orders", b"one")
    held = server.wait_held("Produce", PATIENCE)
    seen = caught_up(stepper, server)
    with stepper.lab.turn:  # nobody follows meanwhile
        server.take(held)
        until(lambda: server.records("orders-0"))
        sent = producer.send("orders", b"two")
        assert server.wait_held("Produce", PATIENCE) == held
        with pytest.raises(ValueError, match="has gone on meanwhile"):
            stepper.lab.respond(
                {"do": "take", "choice": choice_id(held), "branch": 0, "step": seen, "live": True}
            )
    server.release()
    assert sent.get(PATIENCE).offset == 1


def test_a_script_acts_while_the_clients_go_on(server, producers, monkeypatch):
    stepper = kipviz.open(server)
    producer = producers()
    caught_up(stepper, server)
    take, meanwhile = server.take, [True]

    def late(action, *, at=None):
        if meanwhile and meanwhile.pop():
            commit(producer)
        return take(action, at=at)

    monkeypatch.setattr(server, "take", late)
    stepper.take("B3 crashes")
    assert 3 not in server.cluster.world.up
    assert stepper.branch == 0


def test_what_is_not_possible_in_the_clients_cluster_is_refused_in_one_sentence(server, producers):
    stepper = kipviz.open(server)
    producers()
    caught_up(stepper, server)
    with pytest.raises(ValueError, match=r"^that is not possible here: .*$"):
        stepper.lab.respond(
            {
                "do": "take",
                "choice": '{"class":"StartBroker","broker":3}',
                "branch": 0,
                "step": stepper.last_step,
            }
        )
    with pytest.raises(ValueError, match="held by a rule"):
        stepper.lab.respond({"do": "hold", "message": "m1", "branch": 0, "step": stepper.last_step})


def test_a_stopped_cluster_is_said_and_its_run_can_still_be_branched(server, producers):
    stepper = kipviz.open(server)
    producers()
    caught_up(stepper, server)
    server.stop()
    until(lambda: stepper.live == "the cluster has stopped")
    assert not stepper.following
    stepper.take("B3 crashes")
    assert stepper.branch != 0
    stepper.branch, stepper.step = 0, 2
    with pytest.raises(ValueError, match="has stopped"):
        stepper.go_back()


def test_a_page_follows_so_many_steps_and_says_where_the_others_are(server, producers, monkeypatch):
    monkeypatch.setattr(live_lines, "FOLLOWED_MAX", 20)
    stepper = kipviz.open(server)
    producer = producers()
    commit(producer)
    commit(producer)
    until(lambda: "kipviz.open(server) shows the others" in stepper.live)
    assert 20 <= stepper.last_step <= server.step


def test_a_page_that_missed_something_gets_the_whole_run(server, producers, monkeypatch):
    stepper = kipviz.open(server)
    producers()
    caught_up(stepper, server)
    sent = []
    monkeypatch.setattr(stepper, "send_state", sent.append)
    stepper._on_message(stepper, {"do": "whole"}, [])
    assert sent == [["payload", "branches", "tree"]]


def test_a_live_stepper_is_saved_copied_and_opened_without_the_server(server, producers, tmp_path):
    stepper = kipviz.open(server)
    commit(producers())
    caught_up(stepper, server)
    kipviz.save(stepper, tmp_path / "run.trace")
    again = kipviz.open_trace(tmp_path / "run.trace")
    assert not isinstance(again, LiveStepper)
    assert [s["title"] for s in again.payload["steps"]] == [
        s["title"] for s in stepper.payload["steps"]
    ]
    copied = stepper.copy(4)
    assert not isinstance(copied, LiveStepper)
    assert copied.step == 4


def test_a_run_of_the_server_does_not_follow(server, producers):
    producer = producers()
    stepper = kipviz.open(server.run())
    last = stepper.last_step
    commit(producer)
    assert not isinstance(stepper, LiveStepper)
    assert stepper.last_step == last


def test_a_closed_stepper_follows_no_longer(server, producers):
    stepper = kipviz.open(server)
    producer = producers()
    last = caught_up(stepper, server)
    stepper.close()
    commit(producer)
    with kipviz.serve() as other:
        assert other.step == 0
    assert stepper.last_step == last


def test_views_of_the_reader_are_on_the_live_page_too(server, producers):
    def running(world):
        """Which brokers are running."""
        return {f"broker {broker}": "runs" for broker in world.up}

    stepper = kipviz.open(server, views=[running])
    producers()
    caught_up(stepper, server)
    stepper.take("B3 crashes")
    assert "broker 3" not in stepper.why("running", "broker 1")
    assert stepper.why("running", "broker 1").startswith("running, broker 1: runs")
