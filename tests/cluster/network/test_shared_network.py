"""Several transactional ids in one producer: one connection to each broker, and answers that find back."""

from __future__ import annotations

import pytest

from kipviz.clients.kinds import network_of
from kipviz.cluster.actions import LoseConnection, Step
from kipviz.cluster.specs.abstraction import SMALL
from kipviz.cluster.specs.spec import ClusterSpec, FaultBudget, Placement
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.events import CallReturned
from kipviz.properties.verdict import HOLDS
from kipviz.records.placement import CONSUMER_OFFSETS
from kipviz.scenarios.applications import programs
from kipviz.scenarios.group_setting import member
from kipviz.scenarios.scenario import PROPERTIES, Scenario
from kipviz.scenarios.script import next_by_itself
from kipviz.scenarios.setting import GROUP, TOPIC_IDS, home
from kipviz.views.role_cards.owners import of_application

NAMES = ("", "task-1")
PLACES = (
    Placement("output-A-0", 3, (1,)),
    Placement(home(CONSUMER_OFFSETS, GROUP), 4, (3,)),
    Placement("src-0", 1, (3,)),
    Placement("src-1", 3, (4,)),
)


def run(lost_at: int = -1) -> Trace:
    """Let one thread commit a transaction under each of two ids, and break a connection on the way."""
    app = member("app-1", program=programs.per_task(NAMES), tasks=NAMES[1:], shares_sender=True)
    records = (("src-0", 0, ("a", "b")), ("src-1", 0, ("c", "d")))
    budget = FaultBudget(lose_connection=1)
    spec = SMALL.of_brokers(ClusterSpec((1, 3, 4, 5), PLACES, (app,), records, TOPIC_IDS, budget))
    model = Scenario("", "", "", "", spec, (), (), ("kafka",)).model(design("kafka"))
    trace, step = Trace.start(model, PROPERTIES), Step("app-1")
    while True:
        action = next_by_itself(model, trace.world)
        if action is None and model.why_not(trace.world, step) is None:
            action = step
        if action is None:
            return trace
        if len(trace.line) == lost_at:
            mine = (("app-1/producer", b) for _, b in trace.world.connections)
            cuts = (LoseConnection(*place) for place in mine)
            action = next((c for c in cuts if model.why_not(trace.world, c) is None), action)
        trace = trace.take(action)


def list_commits(trace: Trace) -> list[str]:
    events = (event for node in trace.line for event in trace.node(node).events)
    return [
        str(e.raised) for e in events if isinstance(e, CallReturned) and e.call.startswith("commit")
    ]


def test_two_ids_speak_through_one_connection_to_each_broker() -> None:
    trace = run()
    assert list_commits(trace) == ["", ""]
    assert PROPERTIES[0].finding(trace.observations[0]).status == HOLDS
    sources = {source for source, _ in trace.world.connections if "app-1" in source}
    assert sources == {"app-1/producer", "app-1/consumer"}
    (app,) = trace.world.applications.values()
    assert {network_of(client) for client in app.clients} == sources
    assert any("another transactional id" in row["label"] for row in _rows(trace))


@pytest.mark.parametrize("lost_at", range(4, 90, 3))
def test_when_it_breaks_both_ids_hear_of_it_and_ask_again(lost_at: int) -> None:
    trace = run(lost_at)
    assert list_commits(trace) == ["", ""]
    assert PROPERTIES[0].finding(trace.observations[0]).status == HOLDS


def _rows(trace: Trace) -> list[dict[str, object]]:
    (app,) = trace.world.applications.values()
    return list(of_application(app, trace.world.connections).values())
