"""Programs are played at the served cluster, which speaks as a broker does but leaves no logs."""

import pytest

import kipviz
from kipviz.conforming import playing
from kipviz.conforming.asking import Names, topic_of
from kipviz.conforming.plain_client import Lost, PlainClient
from kipviz.conforming.playing import Playing
from kipviz.conforming.programs import ClientStep, program
from kipviz.conforming.questions import OLD
from kipviz.serving.served_spec import cluster_of

PREFIX = "p0"


def serve_without_creation(brokers):
    """Serve what the programs are about; a real cluster creates no topic by itself, either (real_cluster.SETTINGS)."""
    return kipviz.serve(cluster_of({topic_of(PREFIX): 2}, brokers), auto_create_topics=False)


@pytest.fixture
def server():
    with serve_without_creation(1) as served:
        yield served


class Served:
    """The served cluster as one that programs are played at."""

    def __init__(self, server):
        servers = server.bootstrap_servers.split(",")
        self.ports = dict(enumerate((int(each.rpartition(":")[2]) for each in servers), 1))
        self.nodes = tuple(self.ports)
        self.moved = []

    def connect(self, node, client_id, numbers):
        return PlainClient(self.ports[node], client_id, numbers)

    def move(self, topic, index):
        self.moved.append((topic, index))


def play_program(server, made):
    """Play a program; return what it played with, and what clients asked."""
    names = Names(PREFIX, dict(server._spec.topic_ids)[topic_of(PREFIX)])
    played = Playing(made, names, Served(server))
    played.play()
    return played, [name for _, name in server.requests()]


def of(*steps, **more):
    return program(1).but(
        steps=tuple(ClientStep(*each) for each in steps), old=(), shared=False, **more
    )


def without(made, client, does=""):
    steps = (each for each in made.steps if each.client != client and each.does != does)
    return made.but(steps=tuple(steps))


@pytest.mark.parametrize("seed", range(4))
def test_every_step_of_a_random_program_is_asked_and_answered(server, seed):
    # No time passes here, so that a member of a classic group would wait for one that does not come back.
    made = without(program(seed), client="d")
    played, _ = play_program(server, made)
    # Alone in its group, a classic member waits for no other, so none of its steps is left out.
    assert set(played.asked.values()) == set(range(len(made.steps)))
    assert server.log == ()


def test_of_three_brokers_each_is_asked_what_it_leads_or_coordinates():
    with serve_without_creation(3) as served:
        made = without(program(3, brokers=3), client="d", does="kill")
        played, asked = play_program(served, made)
        assert served.log == ()
    assert {"FindCoordinator", "Metadata"} <= set(asked)
    moves = sum(step.does == "move" for step in made.steps)
    assert len(played._cluster.moved) == moves > 0
    assert len({node for _, node in played._connections}) == 3


def test_what_is_at_once_is_sent_before_the_answer_to_the_step_before(server):
    """A reader waits for its answer half a second; the producer that is at once is answered meanwhile."""
    order = []

    class Noting(PlainClient):
        def send(self, question, values, version=-1):
            order.append(("sent", self.client_id))
            return super().send(question, values, version)

        def answer_to(self, waiting):
            told = super().answer_to(waiting)
            order.append(("answered", self.client_id))
            return told

    class Noted(Served):
        def connect(self, node, client_id, numbers):
            return Noting(self.ports[node], client_id, numbers)

    steps = (
        ClientStep("a", "init", ("new",)),
        ClientStep("b", "plain", ("0",), True),
        ClientStep("o", "list"),
    )
    made = program(1).but(steps=steps, old=(), shared=False)
    names = Names(PREFIX, dict(server._spec.topic_ids)[topic_of(PREFIX)])
    Playing(made, names, Noted(server)).play()
    assert order[:2] == [("sent", "p0-a"), ("sent", "p0-b")]
    assert {order[2][0], order[3][0]} == {"answered"}
    assert order[4:] == [("sent", "p0-o"), ("answered", "p0-o")]


def test_a_classic_group_goes_through_its_generations(server):
    made = of(
        ("c", "classic-join"),
        ("c", "classic-beat", ("now",)),
        ("c", "classic-commit", ("now", "0")),
        ("d", "classic-join"),
        ("d", "classic-beat", ("now",)),
        ("c", "classic-join"),
    )
    played, asked = play_program(server, made)
    # The second member waits for the first one to join again; what it is to say meanwhile is left out.
    assert 4 not in played.asked.values()
    assert asked.count("JoinGroup") == 5
    assert asked.count("SyncGroup") == 3
    assert asked[-1] == "SyncGroup"


def test_a_classic_member_leaves_under_the_name_that_it_was_given(server, monkeypatch):
    # A member that is alone in its group waits for its broker, however slow that is.
    monkeypatch.setattr(playing, "MOMENT_S", 0.0)
    played, asked = play_program(server, of(("c", "classic-join"), ("c", "classic-leave")))
    assert asked == ["JoinGroup", "JoinGroup", "SyncGroup", "LeaveGroup"]
    assert not played._who._members["c"].name


def test_a_broker_that_goes_away_unasked_is_one_sentence(server):
    class Closing(Served):
        def connect(self, node, client_id, numbers):
            client = super().connect(node, client_id, numbers)
            client._socket.shutdown(2)
            return client

    names = Names(PREFIX, dict(server._spec.topic_ids)[topic_of(PREFIX)])
    with pytest.raises(Lost, match="broker 1 closed a connection, or cannot be reached"):
        Playing(of(("o", "list")), names, Closing(server)).play()


def test_a_transaction_is_written_with_the_identity_and_sequences_that_were_given(server):
    made = of(
        ("a", "init", ("new",)),
        ("a", "produce", ("now", "0", "next")),
        ("a", "produce", ("now", "0", "next")),
        ("a", "end", ("now", "commit")),
        ("a", "produce", ("now", "1", "next")),
    )
    played, _ = play_program(server, made)
    assert [each.base_sequence for each in played.sent] == [0, 1, 0]
    first, _, last = played.sent
    # EndTxn gives the next epoch since transaction version 2.
    assert last.producer_epoch == first.producer_epoch + 1
    assert [fate for *_, fate in server.records(f"{topic_of(PREFIX)}-0")] == ["committed"] * 2


def test_a_sequence_is_repeated_or_left_out_as_the_step_says(server):
    produce = [("a", "produce", ("now", "0", which)) for which in ("next", "again", "gap", "next")]
    played, _ = play_program(server, of(("a", "init", ("new",)), *produce))
    assert [each.base_sequence for each in played.sent] == [0, 0, 2, 1]


def test_an_older_client_adds_its_group_and_speaks_older_versions(server):
    made = of(("a", "init", ("new",)), ("a", "stage", ("now", "0"))).but(old=("a",))
    _, asked = play_program(server, made)
    assert asked == ["InitProducerId", "AddOffsetsToTxn", "TxnOffsetCommit"]
    assert all(version <= 11 for version in OLD.values())


def test_what_a_share_member_has_got_is_what_it_acknowledges(server):
    made = of(
        ("s", "share-join"),
        ("b", "plain", ("0",)),
        ("s", "share-fetch", ("now", "500")),
        ("b", "plain", ("0",)),
        ("s", "share-fetch", ("now", "500")),
        ("s", "share-acknowledge", ("now", "accept")),
        ("o", "share-offsets"),
    )
    _, asked = play_program(server, made)
    assert asked.count("ShareAcknowledge") == 1
    assert server.log == ()


def test_a_broker_that_is_not_there_is_one_sentence():
    with serve_without_creation(1) as served:
        port = int(served.bootstrap_servers.rpartition(":")[2])
    with pytest.raises(Lost, match=f"the broker at 127.0.0.1:{port} cannot be reached"):
        PlainClient(port, "a")
