"""KIP-1310 7, the rows of the page's test plan that take a cluster; those of a client alone are in
tests/clients/sessions/test_transaction_session.py. A test bears the name of its row."""

from __future__ import annotations

import pytest

from kipviz.brokers.authorizer import DRAFTS
from kipviz.clients.sessions.transaction_session import NOBODY, SENDERS
from kipviz.cluster.specs.session_config import SESSION
from kipviz.cluster.specs.spec import SessionSpec
from kipviz.core.values import fingerprint
from kipviz.designs.catalogue import design
from kipviz.driving.cluster import Cluster
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.apis.transactions.added_partitions import OF_A_CLIENT
from kipviz.messages.errors import Errors
from kipviz.messages.events import CallReturned, MessageSent
from kipviz.messages.groups.groups import TxnOffsetCommit
from kipviz.messages.shares.share_groups import TxnShareAcknowledge
from kipviz.messages.transactions.liveness import TxnHeartbeat
from kipviz.messages.transactions.transactions import EndTxn, EndTxnResponse, InitProducerId
from kipviz.properties.verdict import HOLDS
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.scenarios.applications import programs, session_programs
from kipviz.scenarios.library import LIBRARY, scenario
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.scenarios.setting import group_app, group_spec, home
from tests.brokers.rights_table import NEEDS
from tests.scenarios.story import committed_outputs, nodes, play_once

TURN = ("{} goes on", "quiet", "{} goes on")


def run(spec, *steps, under="repaired"):
    return Cluster(spec, under, properties=PROPERTIES).take(*steps).trace


def by(name, *steps):
    return tuple(step.format(name) for step in steps)


def verdicts(trace):
    return [p.finding(s).status for p, s in zip(PROPERTIES, trace.observations, strict=True)]


# -- 7.1 Unit Tests that need a broker ----------------------------------------------------------


def list_returned(trace):
    """The calls that came back, and what they threw."""
    return [
        (e.call, str(e.raised))
        for n in nodes(trace)
        for e in n.events
        if isinstance(e, CallReturned)
    ]


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("under", ["repaired", "kip-1310"])
def test_backward_compatibility(under: str, version: int) -> None:
    """The methods of KafkaProducer do the same, whatever a design says of sessions."""
    story = scenario("kip-1310-streams-producer")
    story = story.but(spec=story.spec.but(transaction_version=version))
    trace, kafka = (story.play(design(name))[0] for name in (under, "kafka"))
    assert fingerprint(trace.world) == fingerprint(kafka.world)
    assert verdicts(trace) == [HOLDS, HOLDS]
    assert list_returned(trace) == [
        ("initTransactions", ""),
        ("poll", ""),
        ("beginTransaction", ""),
        ("send", ""),
        ("sendOffsetsToTransaction", ""),
        ("commitTransaction", ""),
    ]


def test_epoch_fencing() -> None:
    """A new session with the same transactional.id fences the older one."""
    first = group_app(session=SessionSpec(), program=session_programs.COPY)
    second = first.but(name="app-2", group_id="other", member_id="C2")
    spec = group_spec(first)
    trace = run(
        spec.but(applications=(first, second)),
        *by("app-1", *TURN, *TURN, "{} goes on", "{} goes on", "quiet"),
        *by("app-2", *TURN),
        *by("app-1", "{} goes on", "quiet", "{} goes on"),
    )
    apps = trace.world.applications
    old, new = apps["app-1"].session, apps["app-2"].session
    assert new.manager.producer_epoch > old.manager.producer_epoch
    assert new.state_name == "READY"
    assert old.state_name == "FATAL_ERROR"
    assert apps["app-1"].ended == "commitTransaction() threw EndTxn: PRODUCER_FENCED"
    assert committed_outputs(trace.world) == {}


# -- 7.2 Integration Tests ----------------------------------------------------------------------


@pytest.mark.parametrize("under", ["repaired", "kip-1310"])
def test_producer_and_external_session_e2e(under: str) -> None:
    trace, _ = play_once("kip-1310-produce-session", under)
    assert committed_outputs(trace.world) == {"src-0@100": 1, "src-0@101": 1}
    assert verdicts(trace) == [HOLDS, HOLDS]


def test_resume_and_commit_from_different_process() -> None:
    trace, _ = play_once("kip-1310-flink-session", "repaired")
    assert not trace.world.applications["app-1"].alive
    assert committed_outputs(trace.world) == {"src-0@100": 1, "src-0@101": 1}
    sent = [
        type(e.message).__name__
        for node in nodes(trace)
        for e in node.events
        if isinstance(e, MessageSent) and e.way == "request" and e.source.startswith("app-2/")
    ]
    assert sent == ["EndTxn"]


# -- 7.3 Compatibility Tests --------------------------------------------------------------------

WITHOUT = [
    story.name
    for story in LIBRARY
    if story.beats
    and "repaired" in story.designs
    and not any(a.session for a in story.spec.applications)
]


def test_there_is_a_suite_to_run_without_sessions() -> None:
    assert len(WITHOUT) >= 40


@pytest.mark.parametrize("name", WITHOUT)
def test_legacy_producer(name: str) -> None:
    """No story without a session is touched by what a design says of sessions."""
    with_them, _ = play_once(name, "kip-1310")
    without, _ = play_once(name, "repaired")
    assert fingerprint(with_them.world) == fingerprint(without.world)


def test_mixed_mode() -> None:
    """A producer with its own session and an external session do not disturb each other."""
    plain = group_app(program=programs.COPY)
    bound = group_app(name="app-2", session=SessionSpec(), program=session_programs.COPY)
    bound = bound.but(transactional_id="my-txn-2", group_id="other", member_id="C2")
    spec = group_spec(plain)
    turns = (*TURN, *TURN, "{} goes on", "{} goes on", "quiet")
    trace = run(
        spec.but(applications=(plain, bound)),
        *by("app-1", *turns),
        *by("app-2", *turns),
        *by("app-1", "{} goes on", "quiet", "{} goes on"),
        *by("app-2", "{} goes on", "quiet", "{} goes on"),
    )
    assert committed_outputs(trace.world) == {"src-0@100": 2, "src-0@101": 2}
    ends = [
        e.message.error
        for node in nodes(trace)
        for e in node.events
        if isinstance(e, MessageSent) and isinstance(e.message, EndTxnResponse)
    ]
    assert ends == [Errors.NONE, Errors.NONE]
    assert {home(TRANSACTION_STATE, name) for name in ("my-txn", "my-txn-2")} <= set(
        trace.world.logs
    )
    raised = [
        str(e.raised) for node in nodes(trace) for e in node.events if isinstance(e, CallReturned)
    ]
    assert set(raised) == {""}


# -- 6.1 Authorization --------------------------------------------------------------------------

# A client sends AddPartitionsToTxn below transaction version 2 only; a broker needs another right for it.
SAME = {"AddShareAcksToTxn": "TxnShareAcknowledge", "AddPartitionsToTxn": OF_A_CLIENT}


def test_the_acls_of_the_page_are_those_that_requests_need() -> None:
    rows = [row for row in DRAFTS if row.source.startswith("KIP-1310 6.1")]
    assert len(rows) == 7
    for row in rows:
        name = SAME.get(row.request, row.request)
        needs = {(need.resource, need.operation) for need in NEEDS[name]}
        assert row.resource in {resource for resource, _ in needs}
        if row.operation:
            assert (row.resource, Operation(row.operation)) in needs
    assert any(row.resource is Resource.GROUP and not row.operation for row in rows)


def test_every_request_of_the_acl_table_has_a_sender_in_the_table_of_senders() -> None:
    names = {row.request for row in SENDERS}
    asked = {row.request for row in DRAFTS if row.source.startswith("KIP-1310 6.1")}
    asked = {"TxnShareAcknowledge" if name == "AddShareAcksToTxn" else name for name in asked}
    assert asked <= names
    # What 3.3 lets a session send and 6.1 forgets: a right for the group, and to find a coordinator.
    assert names - asked == {"FindCoordinator", "AddOffsetsToTxn", "TxnOffsetCommit"}


def test_two_requests_of_the_table_are_new() -> None:
    """KIP-1310 2.2 says that no request is; both are of other drafts."""
    new = [row.request for row in SENDERS if row.today == NOBODY]
    assert new == [TxnHeartbeat.__name__, TxnShareAcknowledge.__name__]
    assert {TxnHeartbeat.STATUS, TxnShareAcknowledge.STATUS} == {"draft"}


def test_a_coordinator_cannot_tell_a_session_from_a_producer() -> None:
    """KIP-1310 1.1: the requests carry identities, and no type of client."""

    def list_requests(story):
        trace, _ = play_once(story, "repaired")
        return [
            e.message
            for node in nodes(trace)
            for e in node.events
            if isinstance(e, MessageSent)
            and type(e.message) in (InitProducerId, TxnOffsetCommit, EndTxn)
        ]

    of_session = list_requests("kip-1310-streams-session")
    assert of_session == list_requests("kip-1310-streams-producer")
    assert len(of_session) == 3


def test_sharing_a_session_multiplies_no_identity() -> None:
    """KIP-1310 6.2: one session, one producer id, one epoch, however many clients use it."""
    trace, _ = play_once("kip-1310-share-session", "repaired")
    used = {
        (e.message.producer_id, e.message.producer_epoch)
        for node in nodes(trace)
        for e in node.events
        if isinstance(e, MessageSent)
        and e.way == "request"
        and e.source.startswith("app-1/")
        and getattr(e.message, "producer_id", -1) >= 0
    }
    assert used == {(9, 0)}
    assert trace.world.applications["app-1"].producer.manager.session == SESSION
