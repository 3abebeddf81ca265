"""KIP-1289's API: every exception that its javadoc declares, and its request and answer as bytes."""

from __future__ import annotations

import pytest

from kipviz.brokers import authorizer
from kipviz.brokers.authorizer import SUPPORTED
from kipviz.clients.application import Call, Line
from kipviz.clients.shares.handover import NOBODY_ASKS, NOT_TOLD, TOLD
from kipviz.clients.shares.share_consumer import restart
from kipviz.cluster.specs.spec import PlainSpec
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.errors import Errors
from kipviz.messages.events import CallReturned, MessageSent
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
)
from kipviz.messages.wire.codec import decode, encode
from kipviz.messages.wire.frame import KINDS
from kipviz.messages.wire.kind import Around
from kipviz.scenarios.applications import programs
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.script import Beat, play
from kipviz.studies.review_findings.tallies import DECLARED_PARTITION, DECLARED_TOP
from tests.brokers.rights_table import NEEDS
from tests.clients.parts import change
from tests.messages.shares import stages, staging_response
from tests.scenarios.story import nodes, play_once

BEATS = searched_scenario("kip-1289-share-commit").beats
BEGIN, STAGE = BEATS[:4], BEATS[4:6]

STAGING = Call.SEND_SHARE_ACKNOWLEDGEMENTS.value
STORY = searched_scenario("kip-1289-small")
TOPIC_IDS = STORY.spec.topic_ids


def list_raised(trace: Trace) -> dict[str, str]:
    """What each call threw, the first time that it threw anything."""
    found: dict[str, str] = {}
    for node in nodes(trace):
        for event in node.events:
            if isinstance(event, CallReturned) and event.raised:
                found.setdefault(event.call, str(event.raised))
    return found


def after(*steps: str) -> Trace:
    """The loop up to its output, and then some steps."""
    model = STORY.model(design("repaired"))
    return play(Trace.start(model), model, (*BEGIN, Beat("", "", steps)))[0]


# -- sendShareAcknowledgementsToTransaction ------------------------------------------------------


def test_illegal_state_without_a_transaction_in_progress() -> None:
    (app,) = STORY.spec.applications
    program = (
        programs.INIT,
        Line(programs.SHARE_POLL, Call.POLL),
        Line(programs.SHARE_STAGE, Call.SEND_SHARE_ACKNOWLEDGEMENTS),
    )
    story = STORY.but(spec=STORY.spec.but(applications=(app.but(program=program),)))
    model = story.model(design("repaired"))
    rounds = Beat("", "", ("maybe app-1 goes on", "quiet") * 5)
    trace, _ = play(Trace.start(model), model, (rounds,))
    assert list_raised(trace)[STAGING] == f"IllegalStateException: {STAGING}() in state READY"
    assert trace.world.applications["app-1"].ended


def test_illegal_state_of_a_producer_that_is_not_transactional() -> None:
    (app,) = STORY.spec.applications
    program = (
        Line(programs.SHARE_POLL, Call.POLL),
        Line(programs.SHARE_STAGE, Call.SEND_SHARE_ACKNOWLEDGEMENTS),
    )
    plain = app.but(program=program, plain=PlainSpec(), transactional_id="")
    model = STORY.but(spec=STORY.spec.but(applications=(plain,))).model(design("repaired"))
    trace, _ = play(
        Trace.start(model), model, (Beat("", "", ("maybe app-1 goes on", "quiet") * 4),)
    )
    assert list_raised(trace) == {
        STAGING: f"IllegalStateException: {STAGING}() on a non-transactional producer"
    }


@pytest.mark.parametrize("under", ["repaired", "as-written"])
def test_the_application_makes_the_calls_of_the_pseudo_code_in_their_order(under: str) -> None:
    trace, _ = play_once("kip-1289-share-commit", under)
    events = [event for node in nodes(trace) for event in node.events]
    assert [(e.call, str(e.raised)) for e in events if isinstance(e, CallReturned)] == [
        ("initTransactions", ""),
        ("poll", ""),
        ("beginTransaction", ""),
        ("send", ""),
        (STAGING, ""),
        ("commitTransaction", ""),
    ]
    (staging,) = [
        e.message
        for e in events
        if isinstance(e, MessageSent) and isinstance(e.message, TxnShareAcknowledge)
    ]
    assert {batch.type for batch in staging.only.acknowledgements} == {AcknowledgeType.ACCEPT}


@pytest.mark.parametrize("under", ["repaired", "as-written"])
def test_a_snapshot_needs_a_cluster_that_has_the_kip(under: str) -> None:
    """UnsupportedVersionException, until a new connection tells of the level; a restart asks anew."""
    rollout = searched_scenario("kip-1289-rollout")
    (app,) = rollout.spec.applications
    # The pseudo code's loop would end here; this one has the catch block of corner case 9.
    goes_on = programs.ABORT_OF_CASE_9.but(then=1)
    asks = app.but(program=(*programs.SNAPSHOT_LOOP[:-1], goes_on))
    budget = rollout.spec.budget.but(lose_connection=1)
    story = rollout.but(spec=rollout.spec.but(applications=(asks,), budget=budget))
    model = story.model(design(under))
    rounds = ("maybe app-1 goes on", "quiet") * 6
    trace, _ = play(Trace.start(model), model, (Beat("", "", rounds),))
    call = Call.SHARE_GROUP_METADATA.value
    assert list_raised(trace)[call].startswith(
        "UnsupportedVersionException: no connection has reported"
    )
    consumer = trace.world.applications["app-1"].consumer
    assert consumer.handover.staging_told == NOT_TOLD
    level = "share.version 3 is finalized"
    lost = "app-1/consumer loses B5"
    trace, _ = play(trace, model, (Beat("", "", (level, lost, *rounds)),))
    assert trace.world.applications["app-1"].consumer.handover.staging_told == TOLD
    assert restart(consumer, 2).handover.staging_told == TOLD
    assert (
        restart(change(consumer, staging_told=NOBODY_ASKS), 2).handover.staging_told == NOBODY_ASKS
    )


def test_producer_fenced_is_told_by_commit_transaction_and_not_by_the_call() -> None:
    thrown = list_raised(play_once("kip-1289-corner-3", "repaired")[0])
    assert STAGING not in thrown
    assert thrown["commitTransaction"] == "TxnShareAcknowledge: PRODUCER_FENCED"


def test_unsupported_version_comes_at_once() -> None:
    thrown = list_raised(play_once("kip-1289-corner-9", "repaired")[0])
    assert thrown[STAGING].startswith("UnsupportedVersionException: ")


def test_a_timed_out_transaction_ends_the_producer_as_fenced() -> None:
    """The javadoc has InvalidProducerEpochException; under version 2 the coordinator says FENCED."""
    trace = after("my-txn times out", "quiet", "app-1 goes on", "quiet", "app-1 goes on")
    assert list_raised(trace) == {"commitTransaction": "TxnShareAcknowledge: PRODUCER_FENCED"}


def test_a_kafka_exception_can_be_tried_again_by_aborting() -> None:
    trace, _ = play_once("kip-1289-corner-8", "repaired")
    assert list_raised(trace) == {"commitTransaction": "TxnShareAcknowledge: INVALID_RECORD_STATE"}
    assert not trace.world.applications["app-1"].ended


def test_the_call_returns_before_the_broker_has_processed_it() -> None:
    trace, _ = play(Trace.start(model := STORY.model(design("repaired"))), model, (*BEGIN, *STAGE))
    returned = sent = -1
    for step, node in enumerate(nodes(trace)):
        for event in node.events:
            if isinstance(event, CallReturned) and event.call == STAGING:
                returned = step
            if isinstance(event, MessageSent) and isinstance(event.message, TxnShareAcknowledge):
                sent = step if event.way == "request" else sent
    assert 0 < returned < sent


# -- authorization -------------------------------------------------------------------------------


def test_the_operation_that_the_text_names_cannot_be_granted_on_a_group() -> None:
    (asked,) = [
        a
        for a in authorizer.DRAFTS
        if (a.request, a.resource) == ("TxnShareAcknowledge", Resource.GROUP)
    ]
    assert asked.operation == "WRITE"
    assert Operation.WRITE not in SUPPORTED[Resource.GROUP]
    needed = {need.resource: need.operation for need in NEEDS["TxnShareAcknowledge"]}
    assert needed[Resource.GROUP] is Operation.READ


@pytest.mark.parametrize("resource", [Resource.TRANSACTIONAL_ID, Resource.GROUP, Resource.TOPIC])
def test_what_is_not_allowed_is_answered_with_an_error_that_the_text_lists(
    resource: Resource,
) -> None:
    assert authorizer.ERROR_OF[resource].name in DECLARED_TOP


# -- the wire ------------------------------------------------------------------------------------

# The KIP's table of the request, in its order: name and type.
REQUEST = [
    ("TransactionalId", "string"),
    ("GroupId", "string"),
    ("ProducerId", "int64"),
    ("ProducerEpoch", "int16"),
    ("MemberId", "string"),
    ("MemberEpoch", "int32"),
    ("Topics", "[]TxnShareAcknowledgeTopic"),
    ("TopicId", "uuid"),
    ("Partitions", "[]TxnShareAcknowledgePartition"),
    ("PartitionIndex", "int32"),
    ("AcknowledgementBatches", "[]TxnShareAcknowledgeBatch"),
    ("FirstOffset", "int64"),
    ("LastOffset", "int64"),
    ("AcknowledgeTypes", "[]int8"),
]
ASKED = stages(
    "t", "g1", 9, 4, "M1", 7, "src-0", (AcknowledgementBatch(100, 103, AcknowledgeType.REJECT),)
)
AROUND = Around(TOPIC_IDS, ASKED, "app-1/producer")


def flat(fields) -> list[tuple[str, str]]:
    """The fields of a schema and of what is in it, without the tagged one that a repair of ours adds."""
    text = [f for f in fields if not (f.status == "our inference" and f.tag >= 0)]
    return [pair for f in text for pair in ((f.name, f.type), *flat(f.fields))]


def test_the_request_has_every_field_of_the_texts_table_in_its_order() -> None:
    schema = KINDS[TxnShareAcknowledge].schema
    assert flat(schema.fields) == REQUEST
    assert schema.key == 93


def test_the_member_epoch_and_the_types_are_among_the_bytes_and_come_back() -> None:
    kind = KINDS[TxnShareAcknowledge]
    data = encode(kind.schema, 0, kind.fill(ASKED, AROUND), {}).data
    read = decode(kind.schema, 0, data)
    read = read[0] if isinstance(read, tuple) else read
    assert read["MemberEpoch"] == 7
    batch = read["Topics"][0]["Partitions"][0]["AcknowledgementBatches"][0]
    assert (batch["FirstOffset"], batch["LastOffset"]) == (100, 103)
    assert tuple(batch["AcknowledgeTypes"]) == (3,)


KNOWN = {error.name: error for error in Errors}


@pytest.mark.parametrize("name", [n for n in (*DECLARED_TOP, *DECLARED_PARTITION) if n in KNOWN])
def test_an_error_stands_where_the_text_has_it(name: str) -> None:
    kind = KINDS[TxnShareAcknowledgeResponse]
    filled = kind.fill(staging_response(KNOWN[name], "src-0"), AROUND)
    of_a_partition = [p["ErrorCode"] for t in filled["Responses"] for p in t["Partitions"]]
    if name in DECLARED_TOP:
        assert (filled["ErrorCode"], of_a_partition) == (KNOWN[name], [])
    else:
        assert (filled["ErrorCode"], of_a_partition) == (Errors.NONE, [KNOWN[name]])
    assert encode(kind.schema, 0, filled, {}).data


def test_the_errors_that_the_model_has_no_use_for_are_known_by_name() -> None:
    missing = {*DECLARED_TOP, *DECLARED_PARTITION} - set(KNOWN)
    assert missing <= {"TRANSACTIONAL_ID_NOT_FOUND", "UNKNOWN_TOPIC_ID"}
