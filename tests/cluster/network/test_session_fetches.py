"""A member whose ShareFetch asks a broker for all partitions of its share session."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kipviz.brokers.authorizer import Acl
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.clients.application import Call, Line
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec, ClusterSpec, Placement
from kipviz.core.model import Event
from kipviz.core.table import Table
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.driving.cluster import Cluster
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.errors import Errors
from kipviz.messages.events import AcknowledgementsCompleted, MessageSent
from kipviz.messages.shares.share_groups import ShareAcknowledge, ShareFetch, ShareFetchResponse
from kipviz.properties.expectations import ExpectationState, NoWaitForOneself
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.script import follow
from kipviz.views.explanations.guards import guards
from kipviz.views.reasons.request_position import why_broker_waits
from tests.messages.shares import fetches

ONE_ANSWER = searched_scenario("kip-932-one-answer")

POLL = ("app-1 goes on", "quiet")


def spec(**changes: object) -> ClusterSpec:
    (app,) = ONE_ANSWER.spec.applications
    return ONE_ANSWER.spec.but(applications=(app.but(**changes),))


def run(cluster: ClusterSpec, *steps: str) -> tuple[Trace, list[Event]]:
    driven = Cluster(cluster, "kafka").take(*steps)
    return driven.trace, driven.events


def list_sent(events: list[Event], kind: type) -> list[object]:
    return [e.message for e in events if isinstance(e, MessageSent) and isinstance(e.message, kind)]


def list_completed(events: list[Event]) -> list[tuple[str, int, int, str]]:
    done = (e for e in events if isinstance(e, AcknowledgementsCompleted))
    return [(e.partition, e.first, e.last, e.error) for e in done]


def list_added(fetch: ShareFetch) -> tuple[str, ...]:
    """The partitions that a fetch names only to add them to its session."""
    return tuple(part.partition for part in fetch.partitions if not part.acknowledgements)


def story(beats: int) -> tuple[str, ...]:
    return tuple(step for beat in ONE_ANSWER.beats[:beats] for step in beat.steps)


def test_the_session_is_told_what_changes_and_nothing_else() -> None:
    _, events = run(ONE_ANSWER.spec, *story(7))
    asked = [m for m in list_sent(events, ShareFetch) if isinstance(m, ShareFetch)]
    assert [(m.session_epoch, list_added(m)) for m in asked[:3]] == [
        (0, ("src-0", "src-1")),
        (1, ()),
        (2, ()),
    ]
    ends = {m.forgotten for m in asked[3:]}
    assert ends == {(), ("src-0",)}


def test_the_callback_hears_of_each_partition_what_became_of_its_acknowledgements() -> None:
    _, events = run(ONE_ANSWER.spec, *story(7))
    assert list_completed(events) == [
        ("src-0", 100, 102, "NONE"),
        ("src-1", 200, 201, "NONE"),
        ("src-0", 103, 103, Errors.UNKNOWN_TOPIC_OR_PARTITION.name),
    ]


def test_what_a_broker_delivered_that_leads_the_partition_no_more_is_not_sent() -> None:
    _, events = run(ONE_ANSWER.spec, *POLL, "src-0 moves to B3", "app-1 goes on", *POLL, *POLL)
    assert list_completed(events)[0] == ("src-0", 100, 102, Errors.NOT_LEADER_OR_FOLLOWER.name)


def test_what_was_delivered_over_a_connection_that_broke_is_lost() -> None:
    broken = (*POLL, "app-1/consumer loses B5", "app-1 goes on", *POLL, "app-1 goes on")
    _, events = run(ONE_ANSWER.spec, *broken)
    assert list_completed(events) == [("src-0", 100, 102, Errors.NETWORK_EXCEPTION.name)]


def test_acknowledgements_on_a_wire_that_breaks_are_in_doubt() -> None:
    _, events = run(ONE_ANSWER.spec, *story(3), "app-1/consumer loses B5", "quiet", "app-1 goes on")
    assert sorted(list_completed(events))[1:] == [
        ("src-0", 103, 103, Errors.NETWORK_EXCEPTION.name),
        ("src-1", 200, 201, Errors.NETWORK_EXCEPTION.name),
    ]


def test_with_two_brokers_each_is_asked_for_its_own_and_none_waits() -> None:
    third = ONE_ANSWER.spec.but(
        placements=(*ONE_ANSWER.spec.placements, Placement("src-2", 3, (5,))),
        records=(*ONE_ANSWER.spec.records, ("src-2", 300, ("g",))),
    )
    (app,) = third.applications
    both = third.but(applications=(app.but(further_sources=("src-1", "src-2")),))
    _, events = run(both, *POLL, *POLL)
    asked = [m for m in list_sent(events, ShareFetch) if isinstance(m, ShareFetch)]
    assert [(m.names, m.max_wait_ms) for m in asked[:2]] == [
        (("src-0", "src-1"), 0),
        (("src-2",), 0),
    ]
    answers = [
        m for m in list_sent(events, ShareFetchResponse) if isinstance(m, ShareFetchResponse)
    ]
    assert [[part.partition for part in m.responses] for m in answers[:2]] == [["src-0"], ["src-2"]]
    trace, _ = run(both, *("maybe app-1 goes on", "maybe app-1 goes on", "quiet") * 5)
    consumer = trace.world.applications["app-1"].consumer
    assert consumer is not None
    assert consumer.resting


COMMITS = (
    Line("records = shareConsumer.poll();", Call.POLL),
    Line("shareConsumer.commitSync();", Call.COMMIT_SYNC),
    Line("records = shareConsumer.poll();", Call.POLL, then=1),
)


def at_two_brokers() -> ClusterSpec:
    """src-0 and src-1 are led by Broker 5, src-2 by Broker 3, and all is committed by commitSync()."""
    cluster = ONE_ANSWER.spec.but(
        placements=(*ONE_ANSWER.spec.placements, Placement("src-2", 3, (5,))),
        records=(*ONE_ANSWER.spec.records, ("src-2", 300, ("g", "h", "i", "j"))),
    )
    (app,) = cluster.applications
    changed = app.but(further_sources=("src-1", "src-2"), program=COMMITS)
    check(cluster.but(applications=(changed,)))
    return cluster.but(applications=(changed,))


def acknowledged_at(events: list[Event]) -> list[tuple[int, ShareAcknowledge]]:
    """The requests that acknowledge records, each with the broker to which it is sent."""
    return [
        (event.broker, event.message)
        for event in events
        if isinstance(event, MessageSent) and isinstance(event.message, ShareAcknowledge)
    ]


READ = ("app-1 goes on", "quiet", "app-1 goes on")


def test_commit_sync_accepts_what_is_in_hand_with_one_request_to_each_broker() -> None:
    trace, events = run(at_two_brokers(), *READ, *READ, *READ, *READ)
    assert [(b, [p.partition for p in m.partitions]) for b, m in acknowledged_at(events)] == [
        *((5, ["src-0"]), (3, ["src-2"]), (5, ["src-0", "src-1"]), (3, ["src-2"]))
    ]
    consumer = trace.world.applications["app-1"].consumer
    assert isinstance(consumer, ShareConsumer)
    assert consumer.acknowledging.error is Errors.NONE


def test_a_commit_of_two_partitions_waits_for_the_write_of_the_one_that_is_not_durable_yet() -> (
    None
):
    sends = (
        "app-1 goes on",
        "app-1/consumer sends ShareAcknowledge",
        "ShareAcknowledge arrives at B5",
    )
    writes = ("WriteShareGroupState arrives at B7",) * 2
    durable = "WriteShareGroupStateResponse from B7 arrives at B5/persister"
    trace, _ = run(at_two_brokers(), *READ, *READ, *READ, *sends, *writes, durable)
    serving = trace.world.connections["app-1/consumer", 5].serving
    assert serving is not None
    assert [p.partition for p in serving.message.partitions] == ["src-0", "src-1"]
    leader = trace.world.roles[5, "share_partition_leader", ""]
    assert [call.owed for call in leader.waiting] == [("src-1",)]
    reason = why_broker_waits(trace.world, 5, serving.message)
    assert reason.text == (
        "The write at the share coordinator is answered; the response of Broker 7 is in flight."
    )


def test_commit_sync_hears_of_the_broker_whose_connection_broke_and_asks_the_other_one() -> None:
    lost = ("app-1 goes on", "app-1/consumer sends ShareAcknowledge", "app-1/consumer loses B5")
    trace, events = run(at_two_brokers(), *READ, *lost, "quiet")
    consumer = trace.world.applications["app-1"].consumer
    assert isinstance(consumer, ShareConsumer)
    assert consumer.acknowledging.error is Errors.NETWORK_EXCEPTION
    assert [broker for broker, _ in acknowledged_at(events)] == [5, 3]


def test_commit_sync_that_is_sent_into_a_session_that_is_gone_goes_on_with_the_other_broker() -> (
    None
):
    lost = ("app-1 goes on", "app-1/consumer loses B5", "quiet")
    trace, events = run(at_two_brokers(), *READ, *lost)
    consumer = trace.world.applications["app-1"].consumer
    assert isinstance(consumer, ShareConsumer)
    assert consumer.acknowledging.error is Errors.NETWORK_EXCEPTION
    assert [broker for broker, _ in acknowledged_at(events)] == [5, 3]


def test_commit_sync_has_nobody_to_tell_where_the_session_is_gone() -> None:
    gone = ("app-1/consumer loses B5", "app-1 goes on", "quiet")
    trace, events = run(at_two_brokers(), *READ, *gone)
    assert [broker for broker, _ in acknowledged_at(events)] == [3]
    consumer = trace.world.applications["app-1"].consumer
    assert isinstance(consumer, ShareConsumer)
    assert consumer.acknowledging.error is Errors.NETWORK_EXCEPTION


def test_a_topic_that_may_not_be_read_is_thrown_by_poll() -> None:
    group = Acl("app-1", Operation.READ, Resource.GROUP, "g1")
    trace, events = run(ONE_ANSWER.spec.but(acls=(group,)), *POLL, "app-1 goes on")
    (answer,) = list_sent(events, ShareFetchResponse)
    assert isinstance(answer, ShareFetchResponse)
    assert {part.error for part in answer.responses} == {Errors.TOPIC_AUTHORIZATION_FAILED}
    assert "TOPIC_AUTHORIZATION_FAILED" in trace.world.applications["app-1"].ended


def test_a_group_that_may_not_be_read_is_an_error_of_the_whole_request() -> None:
    _, events = run(ONE_ANSWER.spec.but(acls=()), *POLL)
    (answer,) = list_sent(events, ShareFetchResponse)
    assert isinstance(answer, ShareFetchResponse)
    assert (answer.error, answer.responses) == (Errors.GROUP_AUTHORIZATION_FAILED, ())


def test_the_page_says_in_which_order_partitions_are_looked_at_and_what_is_said_of_each() -> None:
    rules = design("kafka")
    model = rules.model(ONE_ANSWER.spec)
    trace = Trace.start(model, ())
    seen = []
    for step in story(7):
        before = trace.line[-1]
        trace = follow(trace, model, step, "")
        line = trace.line[trace.line.index(before) :]
        for node, following in pairwise(line):
            action = trace.node(following).action
            assert action is not None
            seen.append(guards(model, trace.node(node).world, action))
    rows = [row for found in seen for row in found]
    orders = [value for name, value in rows if name == "order of partitions"]
    assert orders[:2] == ["src-0, src-1", "src-1, src-0"]
    refused = Errors.NOT_LEADER_OR_FOLLOWER.name
    assert ("src-0, fetch", refused) in rows
    assert ("leader", f"this is Broker 5 · leader: Broker 3 → {refused}") in rows
    said = next(found for found in seen if ("held by", "asked by M1 · held by M1") in found)
    at = said.index(("partition", "src-0"))
    assert said[at + 1 : at + 3] == (
        ("topic there", "yes"),
        ("acknowledgements well-formed", "yes"),
    )


def test_only_members_of_its_spec_fetch_in_another_way_than_by_session() -> None:
    (app,) = ONE_ANSWER.spec.applications
    alone = app.but(name="app-2", by_session=False)
    regular = app.but(name="app-3", share=False, by_session=False)
    every = ONE_ANSWER.spec.but(applications=(app, alone, regular))
    assert every.simplified.without_session == ("app-2",)
    rules = design("kafka")
    model = rules.model(spec(by_session=False))
    context = model.context(model.initial(), 5)
    assert [context.simplified.fetches_by_session(f"{p}/consumer") for p in ("app-1", "java")] == [
        False,
        True,
    ]


def test_who_asks_by_session_gathers() -> None:
    with pytest.raises(BadSpec, match="gathers has to be on"):
        check(spec(gathers=False))


def test_a_member_whose_fetch_of_a_session_waits_does_not_hold_records_of_it() -> None:
    empty = ONE_ANSWER.spec.but(records=(("src-0", 100, ("a",)), ("src-1", 200, ())))
    trace, _ = run(empty, *POLL, *POLL, "app-1 goes on", "quiet")
    world = trace.world
    key, leader = next(
        (key, role)
        for key, role in world.roles.items()
        if isinstance(role, ShareLeader) and role.waiting
    )
    expected = NoWaitForOneself()
    event = MessageSent("app-1/consumer", 5, "request", fetches("M1", 1, "src-0", 1))
    assert expected.breaks(ExpectationState(), event, world) == ""
    name, share = next((k, s) for k, s in leader.shares.items() if s.partition == "src-1")
    held = share.but(records=Table.of({200: InFlight(RecordState.ACQUIRED, 1, "M1", 200)}))
    changed = leader.but(shares=leader.shares.set(name, held))
    found = expected.breaks(
        ExpectationState(), event, world.but(roles=world.roles.set(key, changed))
    )
    assert "src-1@200 is ACQUIRED by M1" in found
