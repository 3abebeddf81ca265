"""What is told of a request of several partitions: what each compares, who waits for the question, and for what."""

from __future__ import annotations

from itertools import pairwise

from kipviz.cluster.actions import Deliver
from kipviz.designs.catalogue import design
from kipviz.messages.logs.producing import Produce
from kipviz.scenarios.library import scenario
from kipviz.views.explanations.guards import guards
from kipviz.views.explanations.sentences import summary
from kipviz.views.reasons.request_position import AT_WORK, why_broker_waits
from tests.scenarios import story
from tests.scenarios.story import nodes, play_once

NAME = "kip-98-two-partitions"


def arrivals(source: str, way: str, name: str = NAME):
    """The arrivals on a connection, each with the world before it and what is looked at."""
    trace, _ = play_once(name, "kafka")
    model = scenario(name).model(design("kafka"))
    line = nodes(trace)
    for before, after in pairwise(line):
        action = after.action
        if isinstance(action, Deliver) and (action.source, action.way) == (source, way):
            yield before.world, after.world, guards(model, before.world, action)


def test_each_partition_of_a_request_is_compared_with_its_own_log():
    of_request = [found for _, _, found in arrivals("app-1/producer", "request")]
    both = next(found for found in of_request if ("partition", "output-B-0") in found)
    at = both.index(("partition", "output-B-0"))
    assert ("partition", "output-A-0") in both[:at]
    for rows in (both[:at], both[at:]):
        assert ("producer epoch", "request 0 · broker none") in rows
        assert ("partition added", "no") in rows


def test_the_answer_to_one_question_frees_a_request_of_two_partitions():
    (first, *_) = [found for _, _, found in arrivals("B3/add-partitions", "response")]
    assert ("waits for it", "Produce of output-A-0, output-B-0") in first


def test_the_answer_has_a_result_for_each_partition():
    told = [dict(found) for _, _, found in arrivals("app-1/producer", "response")]
    each = {"output-A-0": "NONE", "output-B-0": "NOT_ENOUGH_REPLICAS"}
    assert any(each.items() <= found.items() for found in told)


def test_a_request_of_two_partitions_waits_for_the_coordinator_and_else_for_nothing():
    for before, after, _ in arrivals("app-1/producer", "request"):
        connection = before.connections.get(("app-1/producer", 3))
        asked = connection.requests[0].message if connection and connection.requests else None
        if isinstance(asked, Produce) and len(asked.partition_data) > 1:
            assert "transaction coordinator" in why_broker_waits(after, 3, asked).text
            assert why_broker_waits(before, 3, asked) == AT_WORK
            return
    raise AssertionError("no request of two partitions")


def test_the_arrow_says_of_how_many_transactions_the_markers_are():
    trace, _ = play_once("kip-98-markers-together", "kafka")
    words = {summary(e.message) for n in nodes(trace) for e in n.events if hasattr(e, "message")}
    assert "markers · 2 transactions" in words
    (found,) = [g for _, _, g in arrivals("B5/markers", "request", "kip-98-markers-together")]
    assert sum(name == "producer epoch" for name, _ in found) == 2


def test_a_fetch_without_room_for_another_share_session_waits_for_its_refusal():
    world = story.after("kip-932-no-room", "kafka", "app-2 polls")
    (waiting,) = [c.serving for c in world.connections.values() if c.serving is not None]
    reason = why_broker_waits(world, 5, waiting.message)
    assert (
        reason.text
        == "Broker 5 had as many share sessions as it may have when the request arrived."
    )
    assert reason.free == "the wait is over; the request is refused even if there is room by then."
