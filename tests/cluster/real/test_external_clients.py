"""A client from outside the model: which names it may have, what it may send, and where it is counted."""

from __future__ import annotations

import pytest

from kipviz.cluster.actions import Receive
from kipviz.cluster.behaviour import naming
from kipviz.cluster.real import external_clients
from kipviz.core.serialization import NotAValue, serialize
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import fetch_offsets
from tests.cluster.small_clusters import model_of, small_spec
from tests.messages.offset_fetches import response_of

ASKS = fetch_offsets("g", ("src-0",))
SPEC = small_spec("group")
MODEL = model_of(SPEC)
WORLD = MODEL.initial()
BROKER = SPEC.brokers[0]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("client-1/1", None),
        ("client-1", "the name of a connection must be like client-1/1, not 'client-1'"),
        ("/1", "the name of a connection must be like client-1/1, not '/1'"),
        ("client-1/", "the name of a connection must be like client-1/1, not 'client-1/'"),
        ("client-1/1#2", "the name of a connection must be like client-1/1, not 'client-1/1#2'"),
        ("app-1/1", "app-1 is a client of the model, which sends its own requests"),
        (f"B{BROKER}/1", f"B{BROKER} is a broker, not a client"),
    ],
)
def test_a_guest_has_a_host_of_its_own_and_a_name_for_each_connection(source, why):
    action = external_clients.receive(source, BROKER, ASKS)
    said = external_clients.why_not(SPEC, WORLD, action)
    assert said == why or (why is not None and str(said).endswith(why))
    assert (MODEL.why_not(WORLD, action) is None) is (why is None)


def test_a_guest_asks_a_broker_that_runs():
    action = external_clients.receive("client-1/1", 99, ASKS)
    assert external_clients.why_not(SPEC, WORLD, action) == "broker 99 is not running"


@pytest.mark.parametrize(
    ("request_bytes", "why"),
    [
        (serialize(response_of(Errors.NONE, "src-0")), "is not a request that a broker accepts"),
        (serialize(ASKS.but(groups=7)), "a field of the request has the wrong type"),
        (b"no message", ""),
    ],
)
def test_what_is_no_request_does_not_get_on_a_connection(request_bytes, why):
    action = Receive("client-1/1", BROKER, request_bytes)
    said = external_clients.why_not(SPEC, WORLD, action)
    assert said is not None
    assert why in said
    with pytest.raises(NotAValue):
        external_clients.request_of(action)


# -- the words for them ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("B5/markers", "the coordinator on Broker 5"),
        ("B5/add-partitions", "the leader on Broker 5"),
        ("B12/persister", "the share-partition leader on Broker 12"),
        ("B5/dlq", "the dead-letter producer on Broker 5"),
        ("B5/initializer", "the group coordinator on Broker 5"),
        ("B5/share-coordinator", "the share coordinator on Broker 5"),
        ("Bob/producer", "the producer of Bob"),
        ("B/consumer", "the consumer of B"),
        ("app-1/producer", "the producer of app-1"),
        ("client-1/1", "client client-1"),
    ],
)
def test_who_asks_is_a_role_of_a_broker_or_a_client_of_a_process(source, words):
    assert naming.who(source) == words


def test_numbers_and_rows_have_a_word_for_none():
    assert [naming.number(n) for n in (-1, 0, 7)] == ["none", "0", "7"]
    assert [naming.render_list(row) for row in ((), (1,), ("a", "b"))] == ["nothing", "1", "a, b"]
    assert (naming.request_name(None), naming.request_name(ASKS)) == ("nothing", "OffsetFetch")


@pytest.mark.parametrize(
    ("partition", "short"),
    [
        ("__transaction_state-3", "transactions-3"),
        ("__share_group_state-0", "share state-0"),
        ("__consumer_offsets-7", "offsets-7"),
        ("src-0", "src-0"),
    ],
)
def test_an_internal_partition_is_called_by_what_it_is_for(partition, short):
    assert naming.short_name(partition) == short


def test_what_is_lost_with_connections_is_counted_of_those_that_are_open():
    action = external_clients.receive("client-1/1", BROKER, ASKS)
    world = MODEL.step(WORLD, action).world
    (open_one,) = (c for (source, _), c in world.connections.items() if source == "client-1/1")
    found = dict(naming.losses_of((open_one, open_one.but(open=False))))
    assert found == {
        "connections that break": "1",
        "messages lost": "OffsetFetch",
        "requests not answered": "nothing",
    }
