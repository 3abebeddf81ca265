"""Topics that are deleted for good, and topics that are made while somebody waits for them."""

from __future__ import annotations

import pytest

from kipviz.brokers.authorizer import Acl
from kipviz.brokers.context import NOBODY
from kipviz.cluster.actions import (
    CrashBroker,
    CreateTopic,
    DeleteTopic,
    Deliver,
    RemakeTopic,
    StartBroker,
)
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec, FaultBudget, Placement, Remade
from kipviz.cluster.world import Envelope
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.cluster.metadata import Metadata
from kipviz.messages.errors import Errors
from kipviz.messages.events import TopicCreated, TopicDeleted
from kipviz.messages.logs.list_offsets import LATEST_TIMESTAMP, ListOffsets, ListOffsetsPartition
from kipviz.messages.logs.producing import Fetch, FetchPartition, PartitionProduceData, Produce
from kipviz.messages.message_errors import error_in
from kipviz.messages.shares.share_groups import ShareAcknowledge
from kipviz.messages.transactions.admin import DescribeProducers
from kipviz.messages.transactions.transactions import AddPartitionsToTxn, TxnPartitions
from kipviz.records.batches import DataRecord
from tests.cluster.invariants import wrong_between, wrong_in
from tests.cluster.small_clusters import EVERYTHING, OUTPUT_ID, model_of, small_spec, steps_of
from tests.messages.shares import acknowledges, fetches

BOTH = ("src", "output-A")
GONE = DeleteTopic("output-A")


def answer_request(model, world, broker, message, source="app-1/asker"):
    """Let a broker take a request; give the answer that it puts on the wire."""
    turn = model.turn(world)
    turn.put_request(source, broker, Envelope(message))
    world = model.step(turn.world(), Deliver(source, broker, "request")).world
    (envelope,) = world.connections[source, broker].responses
    return envelope.message


def produce(version):
    return Produce(
        "txn-1", (PartitionProduceData("output-A-0", 9, 0, 0, (DataRecord("x"),)),), version
    )


ENDS = ListOffsets((ListOffsetsPartition("output-A-0", LATEST_TIMESTAMP),))
ASKED = [
    (produce(13), Errors.UNKNOWN_TOPIC_ID),
    (produce(11), Errors.UNKNOWN_TOPIC_OR_PARTITION),
    (Fetch((FetchPartition("output-A-0", 0),), True), Errors.UNKNOWN_TOPIC_ID),
    (ENDS, Errors.UNKNOWN_TOPIC_OR_PARTITION),
    (DescribeProducers(("output-A-0",)), Errors.UNKNOWN_TOPIC_OR_PARTITION),
    (fetches("M1", 0, "output-A-0", 1), Errors.UNKNOWN_TOPIC_ID),
    (acknowledges("g1", "M1", "output-A-0", -1, ()), Errors.NONE),
]


@pytest.mark.parametrize(("message", "error"), ASKED, ids=lambda m: type(m).__name__)
def test_what_names_a_deleted_topic_by_id_or_by_name_has_an_error_for_that(message, error):
    model = model_of(small_spec().but(deletable_topics=BOTH))
    world = model.step(model.initial(), GONE).world
    answer = answer_request(model, world, 3, message)
    if isinstance(message, ShareAcknowledge):
        assert answer.error is Errors.SHARE_SESSION_NOT_FOUND
    else:
        assert error_in(answer) is error


def test_by_id_nobody_is_refused_a_right_on_a_topic_that_is_gone():
    acls = (Acl("app-2", Operation.READ, Resource.TOPIC, "src"),)
    model = model_of(small_spec().but(deletable_topics=BOTH, acls=acls))
    before = model.initial()
    after = model.step(before, GONE).world
    fetch, by_name = (
        Fetch((FetchPartition("output-A-0", 0),), True),
        ENDS,
    )
    assert error_in(answer_request(model, before, 3, fetch)) is Errors.TOPIC_AUTHORIZATION_FAILED
    assert error_in(answer_request(model, after, 3, fetch)) is Errors.UNKNOWN_TOPIC_ID
    assert error_in(answer_request(model, after, 3, by_name)) is Errors.TOPIC_AUTHORIZATION_FAILED


def test_one_partition_that_is_gone_keeps_the_others_out_of_the_transaction():
    model = model_of(small_spec().but(deletable_topics=BOTH))
    world = model.step(model.initial(), GONE).world
    home = world.image.home_of_transactions("txn-1")
    asked = AddPartitionsToTxn((TxnPartitions("txn-1", 9, 0, ("output-A-0", "src-0")),), version=3)
    (answer,) = answer_request(model, world, world.image.leader_of(home), asked).results
    assert answer.error_of("output-A-0") is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert answer.error_of("src-0") is Errors.OPERATION_NOT_ATTEMPTED


def test_what_is_forbidden_is_said_before_what_is_gone_and_the_rest_is_not_attempted():
    acls = (
        Acl("app-1", Operation.WRITE, Resource.TRANSACTIONAL_ID, "txn-1"),
        Acl("app-1", Operation.WRITE, Resource.TOPIC, "output*"),
    )
    spec = small_spec()
    spec = spec.but(
        placements=(*spec.placements, Placement("output-B-0", 3)),
        topic_ids=(*spec.topic_ids, ("output-B", "AAAAAAAAAAAAAAAAAAAAEA")),
        deletable_topics=("output-B",),
        acls=acls,
    )
    model = model_of(spec)
    world = model.step(model.initial(), DeleteTopic("output-B")).world
    home = world.image.home_of_transactions("txn-1")
    partitions = ("src-0", "output-A-0", "output-B-0")
    asked = AddPartitionsToTxn((TxnPartitions("txn-1", 9, 0, partitions),), version=3)
    (answer,) = answer_request(model, world, world.image.leader_of(home), asked).results
    assert [answer.error_of(p) for p in partitions] == [
        Errors.TOPIC_AUTHORIZATION_FAILED,
        Errors.OPERATION_NOT_ATTEMPTED,
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
    ]


def test_metadata_has_no_id_of_a_topic_that_is_not_there():
    spec = small_spec().but(later_topics=("output-A",))
    model = model_of(spec)
    world = model.initial()
    (told,) = answer_request(model, world, 5, Metadata(("output-A",))).topics
    assert told.topic_id == ""
    outcome = model.step(world, CreateTopic("output-A"))
    assert outcome.events == (TopicCreated("output-A", OUTPUT_ID),)
    (told,) = answer_request(model, outcome.world, 5, Metadata(("output-A",))).topics
    assert told.topic_id == OUTPUT_ID
    assert outcome.world.image.leader_of("output-A-0") == 3


def test_a_topic_is_made_on_the_brokers_that_run_and_waits_for_those_that_do_not():
    spec = small_spec(budget=FaultBudget(crash_broker=2)).but(later_topics=("output-A",))
    model = model_of(spec)
    one_down = model.step(model.initial(), CrashBroker(3)).world
    world = model.step(one_down, CreateTopic("output-A")).world
    assert world.image.leader_of("output-A-0") == 5
    both_down = model.step(one_down, CrashBroker(5)).world
    world = model.step(both_down, CreateTopic("output-A")).world
    assert world.image.leader_of("output-A-0") == NOBODY
    world = model.step(world, StartBroker(5)).world
    assert world.image.leader_of("output-A-0") == 5


def test_a_topic_is_deleted_once_and_made_once_where_that_may_be():
    spec = small_spec().but(deletable_topics=("src",), later_topics=("output-A",))
    model = model_of(spec)
    world = model.initial()
    assert model.why_not(world, DeleteTopic("output-A")) == (
        "output-A cannot be deleted here; topics that can: src"
    )
    assert model.why_not(world, CreateTopic("src")) == (
        "src cannot be created here; topics that can: output-A"
    )
    assert {DeleteTopic("src"), CreateTopic("output-A")} <= set(model.enabled(world))
    outcome = model.step(world, DeleteTopic("src"))
    assert isinstance(outcome.events[0], TopicDeleted)
    world = model.step(outcome.world, CreateTopic("output-A")).world
    assert model.why_not(world, DeleteTopic("src")) == "src is already deleted"
    assert model.why_not(world, CreateTopic("output-A")) == "topic output-A already exists"
    assert not {DeleteTopic("src"), CreateTopic("output-A")} & set(model.enabled(world))


def test_a_topic_that_is_deleted_for_good_is_not_made_again():
    remade = Remade("src", "AAAAAAAAAAAAAAAAAAAABQ", ())
    model = model_of(small_spec().but(deletable_topics=("src",), remade=(remade,)))
    world = model.step(model.initial(), DeleteTopic("src")).world
    assert model.why_not(world, RemakeTopic("src")) == "src is deleted for good"
    assert RemakeTopic("src") not in model.enabled(world)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"deletable_topics": ("nowhere",)},
            "nowhere cannot be created or deleted: only users' topics with a placement and an id can",
        ),
        (
            {"deletable_topics": ("output-A",), "later_topics": ("output-A",)},
            "output-A can be created once or deleted once: it cannot be in two of the lists",
        ),
        (
            {"later_topics": ("src",)},
            "src is not there at first: it can have no records",
        ),
    ],
)
def test_topics_that_cannot_come_and_go_like_this_are_refused(changes, sentence):
    with pytest.raises(BadSpec, match=sentence):
        check(small_spec().but(**changes))


@pytest.mark.parametrize("replication", ["instant", "stepwise"])
@pytest.mark.parametrize(
    ("name", "flow"),
    [("repaired", "share"), ("as-written", "share-abort"), ("kafka", "group")],
)
def test_no_fault_breaks_what_holds_where_topics_go(name, flow, replication):
    budget = EVERYTHING.but(request_timeout=3, delivery_timeout=2, max_block=2)
    spec = small_spec(flow, replication=replication, budget=budget, applications=2)
    model = model_of(spec.but(deletable_topics=BOTH), name)
    deleted = 0
    for seed in range(6):
        for step, (before, action, outcome) in enumerate(steps_of(model, seed, 160)):
            wrong = wrong_in(outcome.world) + wrong_between(before, outcome.world)
            assert not wrong, (seed, step, action, wrong)
            deleted += isinstance(action, DeleteTopic)
    assert deleted >= 4
