"""A member of a share group whose poll() brings records of several partitions at once."""

from __future__ import annotations

import pytest

from kipviz.brokers.authorizer import Acl
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.clients.application import Call, Line
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec
from kipviz.driving.cluster import Cluster
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageSent
from kipviz.messages.shares.share_groups import (
    AcknowledgeType,
    ShareFetch,
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
)
from kipviz.scenarios.applications import programs
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES

# initTransactions(), poll(), beginTransaction(), send().
CALL = ("app-1 goes on", "quiet", "app-1 goes on")
FIRST_ROUND = (*CALL, *CALL, "app-1 goes on", "app-1 goes on", "quiet")
SEVERAL = searched_scenario("kip-1289-several-partitions")
PLACEMENTS = SEVERAL.spec.placements

READS = (
    Line(programs.SHARE_POLL, Call.POLL),
    Line("process(records);", Call.POLL, then=1),
)


def run(spec, *steps, under="repaired"):
    """Play instructions and give the trace and every event of it."""
    cluster = Cluster(spec, under, properties=PROPERTIES).take(*steps)
    return cluster.trace, cluster.events


def reading(program=READS, **changes):
    (app,) = SEVERAL.spec.applications
    return SEVERAL.spec.but(applications=(app.but(program=program, **changes),))


def list_sent(events, kind):
    return [e.message for e in events if isinstance(e, MessageSent) and isinstance(e.message, kind)]


def test_one_poll_brings_what_all_partitions_have_with_a_fetch_for_each():
    trace, events = run(reading(), "app-1 goes on", "quiet", "app-1 goes on")
    app = trace.world.applications["app-1"]
    assert [(r.partition, r.offset) for r in app.records] == [
        ("src-0", 100),
        ("src-1", 200),
        ("pay-0", 300),
    ]
    assert app.consumer.in_hand == ("src-0@100", "src-1@200", "pay-0@300")
    assert app.consumer.current_fetch.batch == ()
    fetches = list_sent(events, ShareFetch)
    assert [(f.names, f.session_epoch) for f in fetches] == [
        (("src-0",), 0),
        (("src-1",), 1),
        (("pay-0",), 0),
    ]


def test_the_next_poll_says_of_each_record_what_became_of_it_to_who_delivered_it():
    _, events = run(reading(), *("app-1 goes on", "quiet") * 3)
    said = {
        fetch.first.partition: [(a.first, a.type) for a in fetch.first.acknowledgements]
        for fetch in list_sent(events, ShareFetch)
        if fetch.first.acknowledgements
    }
    accepted = AcknowledgeType.ACCEPT
    assert said == {
        "src-0": [(100, accepted)],
        "src-1": [(200, accepted)],
        "pay-0": [(300, accepted)],
    }


def test_what_is_staged_goes_in_one_request_to_each_leader():
    trace, events = run(SEVERAL.spec, *FIRST_ROUND, "app-1 goes on", "quiet")
    asked = list_sent(events, TxnShareAcknowledge)
    assert [[p.partition for p in request.partitions] for request in asked] == [
        ["src-0", "src-1"],
        ["pay-0"],
    ]
    pending = [
        f"{share.partition}@{offset}"
        for role in trace.world.roles.values()
        if isinstance(role, ShareLeader)
        for share in role.shares.values()
        for offset, record in share.records.items()
        if record.state.name == "TX_PENDING"
    ]
    assert sorted(pending) == ["pay-0@300", "src-0@100", "src-1@200"]
    assert all(not r.calls for r in trace.world.roles.values() if isinstance(r, ShareLeader))


def test_a_part_that_waits_is_forgotten_with_its_connection_and_staged_again():
    arrived = (*FIRST_ROUND, "app-1 goes on", "until TxnShareAcknowledge arrives at B5")
    trace, _ = run(SEVERAL.spec, *arrived)
    calls = [c for r in trace.world.roles.values() if isinstance(r, ShareLeader) for c in r.calls]
    assert [len(c.results) for c in calls] == [0]
    trace, events = run(SEVERAL.spec, *arrived, "app-1/producer loses B5", "quiet")
    assert all(not r.calls for r in trace.world.roles.values() if isinstance(r, ShareLeader))
    assert [len(r.partitions) for r in list_sent(events, TxnShareAcknowledge)] == [2, 2, 1]
    answers = [e.message for e in events if isinstance(e, MessageSent)]
    told = [a for a in answers if isinstance(a, TxnShareAcknowledgeResponse)]
    assert {each.error for a in told for each in a.responses} == {Errors.NONE}


def test_a_poll_that_has_gathered_something_comes_back_when_a_broker_is_gone():
    trace, _ = run(
        reading(),
        "app-1 goes on",
        "until app-1/consumer sends ShareFetch",
        "quiet but ShareFetch arrives at B3",
        "app-1/consumer loses B3",
        "quiet",
        "app-1 goes on",
    )
    app = trace.world.applications["app-1"]
    assert [(r.partition, r.offset) for r in app.records] == [("src-0", 100), ("src-1", 200)]


def test_a_process_that_starts_again_gathers_again():
    trace, _ = run(
        reading(),
        "app-1 goes on",
        "quiet",
        "app-1 crashes",
        "quiet",
        "app-1 starts",
        "app-1 goes on",
        "quiet",
    )
    consumer = trace.world.applications["app-1"].consumer
    assert consumer.gathers
    assert len(consumer.in_hand) == 3


def test_who_gathers_has_several_partitions_and_says_nothing_of_one_alone():
    with pytest.raises(BadSpec, match="gathers implicitly and from further_sources"):
        check(reading(further_sources=()))
    with pytest.raises(BadSpec, match="gathers implicitly"):
        check(reading(explicit=True))
    alone = (*READS, Line("consumer.commitSync();", Call.COMMIT_SYNC))
    with pytest.raises(BadSpec, match=r"commitSync\(\) is about records of one partition"):
        check(reading(alone))


def test_the_states_of_three_partitions_lie_in_three_partitions_of_a_topic():
    states = [p.partition for p in PLACEMENTS if p.partition.startswith("__share_group_state")]
    assert len(states) == len(set(states)) == 4  # the fourth is where the group id hashes to


def test_who_may_not_read_one_of_the_topics_stages_nothing_and_is_told_so_for_all() -> None:
    """KIP-1289 lists TOPIC_AUTHORIZATION_FAILED for the whole answer."""
    read_pay = Acl("app-1", Operation.READ, Resource.TOPIC, "pay")
    acls = (
        read_pay,
        Acl("app-1", Operation.READ, Resource.TOPIC, "src"),
        Acl("app-1", Operation.WRITE, Resource.TOPIC, "output-A"),
        Acl("app-1", Operation.READ, Resource.GROUP, "g1"),
        Acl("app-1", Operation.WRITE, Resource.TRANSACTIONAL_ID, "my-txn"),
    )
    together = tuple(
        p.but(leader=5, others=(3,)) if p.partition == "pay-0" else p
        for p in SEVERAL.spec.placements
    )
    spec = SEVERAL.spec.but(acls=acls, placements=together, budget=SEVERAL.spec.budget.but(acls=1))
    forbidden = f"the ACL '{read_pay.words}' is deleted"
    trace, events = run(spec, *FIRST_ROUND, forbidden, "app-1 goes on", "quiet")
    (request,) = list_sent(events, TxnShareAcknowledge)
    assert [part.partition for part in request.partitions] == ["src-0", "src-1", "pay-0"]
    (answer,) = list_sent(events, TxnShareAcknowledgeResponse)
    refused = {each.error for each in answer.responses}
    assert refused == {Errors.TOPIC_AUTHORIZATION_FAILED}
    assert trace.world.applications["app-1"].producer.state_name == "FATAL_ERROR"
    assert all(not r.calls for r in trace.world.roles.values() if isinstance(r, ShareLeader))
