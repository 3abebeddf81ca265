"""Programs are played at the served cluster, which speaks as a broker does but leaves no logs."""

import pytest

import kipviz
from kipviz.conforming.plain_client import Lost, PlainClient
from kipviz.conforming.playing import OLD, Names, Playing, topic_of
from kipviz.conforming.programs import Step, program
from kipviz.serving.served_spec import cluster_of

PREFIX = "p0"


@pytest.fixture
def server():
    with kipviz.serve(cluster_of({topic_of(PREFIX): 2}, brokers=1)) as served:
        yield served


def played(server, made):
    """Play a program; return what it played with, and what clients asked."""
    port = int(server.bootstrap_servers.rpartition(":")[2])
    names = Names(PREFIX, dict(server._spec.topic_ids)[topic_of(PREFIX)])
    playing = Playing(made, names, lambda client: PlainClient(port, client))
    playing.play()
    return playing, [name for _, name in server.requests()]


def of(*steps, **more):
    return program(1).but(steps=tuple(Step(*each) for each in steps), old=(), shared=False, **more)


@pytest.mark.parametrize("seed", range(4))
def test_every_step_of_a_random_program_is_asked_and_answered(server, seed):
    made = program(seed)
    playing, _ = played(server, made)
    assert set(playing.asked.values()) == set(range(len(made.steps)))
    assert server.log == ()


def test_a_transaction_is_written_with_the_identity_and_sequences_that_were_given(server):
    made = of(
        ("a", "init", ("new",)),
        ("a", "produce", ("now", "0", "next")),
        ("a", "produce", ("now", "0", "next")),
        ("a", "end", ("now", "commit")),
        ("a", "produce", ("now", "1", "next")),
    )
    playing, _ = played(server, made)
    assert [each.base_sequence for each in playing.sent] == [0, 1, 0]
    first, _, last = playing.sent
    # EndTxn gives the next epoch since transaction version 2.
    assert last.producer_epoch == first.producer_epoch + 1
    assert [fate for *_, fate in server.records(f"{topic_of(PREFIX)}-0")] == ["committed"] * 2


def test_a_sequence_is_repeated_or_left_out_as_the_step_says(server):
    produce = [("a", "produce", ("now", "0", which)) for which in ("next", "again", "gap", "next")]
    playing, _ = played(server, of(("a", "init", ("new",)), *produce))
    assert [each.base_sequence for each in playing.sent] == [0, 0, 2, 1]


def test_an_older_client_adds_its_group_and_speaks_older_versions(server):
    made = of(("a", "init", ("new",)), ("a", "stage", ("now", "0"))).but(old=("a",))
    _, asked = played(server, made)
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
    _, asked = played(server, made)
    assert asked.count("ShareAcknowledge") == 1
    assert server.log == ()


def test_a_broker_that_is_not_there_is_one_sentence():
    with kipviz.serve(cluster_of({topic_of(PREFIX): 2}, brokers=1)) as served:
        port = int(served.bootstrap_servers.rpartition(":")[2])
    with pytest.raises(Lost, match=f"the broker at 127.0.0.1:{port} cannot be reached"):
        PlainClient(port, "a")
