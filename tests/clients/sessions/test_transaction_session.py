"""KIP-1310 7, the page's test plan, row by row; what it leaves open is under the two designs.

A test that has the name of a row is that row.
"""

from __future__ import annotations

import pytest

from kipviz.clients import settling, thread
from kipviz.clients.application import Application, Call, Line
from kipviz.clients.calls import CONSTRUCTORS, OF_SESSIONS
from kipviz.clients.sending import producer as p
from kipviz.clients.sessions import binding
from kipviz.clients.sessions import transaction_session as s
from kipviz.clients.sessions.bound_producer import BoundProducer
from kipviz.clients.sessions.session_calls import Resumed, resume_target, resumed_by_reflection
from kipviz.clients.sessions.transaction_session import TransactionSession
from kipviz.clients.timers import HeartbeatInterval, SenderBackOff
from kipviz.clients.transactions.external_database import ExternalDatabase
from kipviz.clients.transactions.prepared_txn_state import parse
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.cluster.specs.spec import SessionSpec
from kipviz.cluster.start.first_world import first_world
from kipviz.cluster.timing.clock import Clock
from kipviz.core.table import Table
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.events import CallReturned
from kipviz.messages.groups.groups import GroupOffset, TxnOffsetCommit
from kipviz.messages.logs.producing import (
    FetchedRecord,
    PartitionProduceResponse,
    Produce,
    ProduceResponse,
)
from kipviz.messages.transactions.liveness import TxnHeartbeat, TxnHeartbeatResponse
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    TxnPartitions,
)
from kipviz.scenarios.library import searched_scenario
from tests.clients.parts import (
    assigned_consumer_of,
    batch_of,
    change,
    offsets_response,
    partitions_response,
    producer_of,
    send_offsets,
    session_of,
)

S, C = ProducerState, Call
REPAIRED = design("repaired").client_rules()
WRITTEN = design("kip-1310").client_rules()
RECORD = (FetchedRecord("src-0", 100, "a", 1),)
ON = "session"


def on_session(call, **changes):
    return Line(call.value, call, client=ON, **changes)


def process(*program, producers=1):
    """An application with a session and some producers bound to it."""
    bound = {f"producer-{n}": BoundProducer(f"app-1/producer-{n}") for n in range(2, producers + 1)}
    return Application(
        "app-1",
        program,
        "out-0",
        BoundProducer("app-1/producer"),
        assigned_consumer_of("app-1/consumer", "g1", "C1", "src-0", 10),
        records=RECORD,
        others=Table.of({ON: session_of("app-1/session", "t"), **bound}),
    )


def step(me, rules=REPAIRED):
    """Enter a line, or come back; give the application and what the call threw."""
    me, events = thread.step(me, rules)
    raised = [str(e.raised) for e in events if isinstance(e, CallReturned)]
    return settling.settle(me, rules), raised


def answer_next(me, source, answer, rules=REPAIRED, broker=1):
    """Put the next request of a client on the wire and answer it."""
    client = me.client_at(source)
    module = s if isinstance(client, TransactionSession) else p
    request = module.next_request(client)
    client, _ = module.note_sent(client, request, broker)
    me = me.with_client(module.on_response(client, answer))
    return request, settling.settle(me, rules)


def initialize(*program, rules=REPAIRED, **more):
    me = process(on_session(C.INITIALIZE), *program, **more)
    me, _ = step(me, rules)
    given = InitProducerIdResponse(Errors.NONE, 9, 4)
    request, me = answer_next(me, "app-1/session", given, rules)
    assert isinstance(request, InitProducerId)
    return step(me, rules)[0]


ABORT = on_session(C.ABORT_TRANSACTION)
LOOP = (on_session(C.BEGIN_TRANSACTION), Line("send", C.SEND), on_session(C.COMMIT_TRANSACTION))


def sent_one(rules=REPAIRED):
    """A session in a transaction whose producer has one batch to send."""
    me = initialize(*LOOP, rules=rules)
    me, _ = step(me, rules)
    me, raised = step(me, rules)
    assert raised == [""]
    return me


# -- 7.1 Unit Tests, by their names -------------------------------------------------------------


def test_session_lifecycle() -> None:
    """UNINITIALIZED, INITIALIZING, READY, IN_TRANSACTION, COMMITTING, READY."""
    me = process(on_session(C.INITIALIZE), *LOOP)
    seen = [me.session.state_name]
    me, _ = step(me)
    seen.append(me.session.state_name)
    _, me = answer_next(me, "app-1/session", InitProducerIdResponse(Errors.NONE, 9, 4))
    me, _ = step(me)
    seen.append(me.session.state_name)
    me, _ = step(me)
    seen.append(me.session.state_name)
    me, _ = step(me)
    _, me = answer_next(
        me, "app-1/producer", ProduceResponse((PartitionProduceResponse("out-0", Errors.NONE),))
    )
    me, _ = step(me)
    seen.append(me.session.state_name)
    request, me = answer_next(me, "app-1/session", EndTxnResponse(Errors.NONE, 9, 5))
    assert request == EndTxn("t", 9, 4, True)
    seen.append(me.session.state_name)
    assert seen == [
        "UNINITIALIZED",
        "INITIALIZING",
        "READY",
        "IN_TRANSACTION",
        "COMMITTING",
        "READY",
    ]


@pytest.mark.parametrize(
    ("call", "committed"), [(C.COMMIT_TRANSACTION, True), (C.ABORT_TRANSACTION, False)]
)
def test_initialize_and_the_end_of_a_transaction_ask_the_coordinator_and_begin_does_not(
    call: Call, committed: bool
) -> None:
    me = process(on_session(C.INITIALIZE), on_session(C.BEGIN_TRANSACTION), Line("send", C.SEND))
    me, _ = step(me.but(program=(*me.program, on_session(call))))
    request, me = answer_next(me, "app-1/session", InitProducerIdResponse(Errors.NONE, 9, 4))
    assert isinstance(request, InitProducerId)
    assert request.transactional_id == "t"
    me, _ = step(me)
    me, _ = step(me)
    assert (me.session.state_name, s.next_request(me.session)) == ("IN_TRANSACTION", None)
    me, _ = step(me)
    _, me = answer_next(
        me, "app-1/producer", ProduceResponse((PartitionProduceResponse("out-0", Errors.NONE),))
    )
    me, _ = step(me)
    assert s.next_request(me.session) == EndTxn("t", 9, 4, committed)


def test_a_bound_producer_writes_with_the_identity_of_its_session() -> None:
    request = p.next_request(sent_one().producer)
    assert isinstance(request, Produce)
    assert (request.transactional_id, batch_of(request).identity) == ("t", (9, 4))


def test_a_producer_has_the_batches_and_sequences_and_its_session_the_end_of_the_transaction() -> (
    None
):
    """KIP-1310 3.2, Responsibilities."""
    me = sent_one()
    assert (len(me.producer.accumulator.batches), hasattr(me.session, "accumulator")) == (1, False)
    _, me = answer_next(
        me, "app-1/producer", ProduceResponse((PartitionProduceResponse("out-0", Errors.NONE),))
    )
    assert dict(me.producer.partition_map.sequences.items()) == {"out-0": 1}
    me, _ = step(me)
    assert p.next_request(me.producer) is None
    assert s.next_request(me.session) == EndTxn("t", 9, 4, True)


def test_a_resumed_session_has_the_identity_that_it_was_given() -> None:
    me, _ = step(process(on_session(C.RESUME, target="other 12 7")))
    session = me.session
    assert (session.manager.transactional_id, session.manager.producer_id) == ("other", 12)
    assert session.manager.producer_epoch == 7


def test_session_resume() -> None:
    """resume() starts in IN_TRANSACTION and commitTransaction() can be called."""
    me = process(on_session(C.RESUME, target="t 9 4"), on_session(C.COMMIT_TRANSACTION))
    me, raised = step(me)
    assert (me.session.state_name, raised) == ("IN_TRANSACTION", [""])
    assert s.next_request(me.session) is None  # nobody is asked, nobody is fenced
    me, _ = step(me)
    request, me = answer_next(me, "app-1/session", EndTxnResponse(Errors.NONE, 9, 5))
    assert request == EndTxn("t", 9, 4, True)
    assert me.session.state_name == "READY"


LIFECYCLE = (
    C.INIT_TRANSACTIONS,
    C.BEGIN_TRANSACTION,
    C.COMMIT_TRANSACTION,
    C.ABORT_TRANSACTION,
    C.SEND_OFFSETS,
    C.PREPARE_TRANSACTION,
    C.COMPLETE_TRANSACTION,
)


@pytest.mark.parametrize("call", LIFECYCLE)
def test_producer_fencing(call: Call) -> None:
    """KafkaProducer throws IllegalStateException on lifecycle calls with an external session."""
    me = initialize(Line(call.value, call))
    me, (raised,) = step(me)
    assert raised == (
        f"IllegalStateException: {call.value}() is for the session that this producer is bound to"
    )
    assert me.ended.endswith(raised)


def test_identity_accessors() -> None:
    """producerId(), producerEpoch() and transactionalId() are right after initialize()."""
    me = initialize(*LOOP)
    session = me.session
    assert (
        session.manager.transactional_id,
        session.manager.producer_id,
        session.manager.producer_epoch,
    ) == ("t", 9, 4)
    assert (me.producer.manager.producer_id, me.producer.manager.producer_epoch) == (9, 4)


# -- 3.2 State mapping --------------------------------------------------------------------------


def test_the_state_mapping_is_the_pages() -> None:
    named = {state.value: s.state_name(state) for state in S}
    renamed = {old: new for old, new in named.items() if old != new}
    assert renamed == {
        "COMMITTING_TRANSACTION": "COMMITTING",
        "ABORTING_TRANSACTION": "ABORTING",
        "PREPARED_TRANSACTION": "PREPARED",
    }


def test_a_restarted_session_remembers_nothing_but_its_name() -> None:
    session = initialize(*LOOP).session
    assert s.restart(session, 2) == session_of("app-1/session", "t")


# What is no method of the session object: another client's, and what makes a session.
NO_METHODS = (C.ACKNOWLEDGE_TRANSACTIONALLY, *CONSTRUCTORS)


@pytest.mark.parametrize("call", [c for c in OF_SESSIONS if c not in NO_METHODS])
def test_nothing_can_be_called_after_close(call: Call) -> None:
    me = initialize(on_session(C.CLOSE), on_session(call, target="t 9 4"))
    me, raised = step(me)
    assert raised == [""]
    assert s.next_request(me.session) is None
    _, (raised,) = step(me)
    assert raised == f"IllegalStateException: {call.value}() of a session that is closed"


def test_what_makes_a_session_does_not_mind_that_another_one_is_closed() -> None:
    lines = (on_session(C.CLOSE), on_session(C.NEW_SESSION), on_session(C.INITIALIZE))
    me = initialize(*lines)
    for _ in lines:
        me, raised = step(me)
        assert raised in ([""], [])
    assert me.session.state_name == "INITIALIZING"
    me = initialize(on_session(C.CLOSE), on_session(C.RESUME, target="t 9 4"))
    for _ in range(2):
        me, raised = step(me)
    assert (me.session.state_name, raised) == ("IN_TRANSACTION", [""])


@pytest.mark.parametrize(
    ("under", "own", "resumed"),
    [
        ("repaired", True, False),
        ("repaired+session_close=aborts_whatever_is_open", True, True),
        ("kip-1310", False, False),
    ],
)
def test_what_close_does_with_an_open_transaction_is_a_question_of_design(
    under: str, own: bool, resumed: bool
) -> None:
    rules = design(under).client_rules()
    begun = sent_one(rules)
    _, begun = answer_next(
        begun,
        "app-1/producer",
        ProduceResponse((PartitionProduceResponse("out-0", Errors.NONE),)),
        rules,
    )
    begun = begun.but(program=(on_session(C.CLOSE),), line=0)
    taken_up = process(on_session(C.RESUME, target="t 9 4"), on_session(C.CLOSE))
    taken_up, _ = step(taken_up, rules)
    for me, aborts in ((begun, own), (taken_up, resumed)):
        closing, raised = step(me, rules)
        assert closing.session.closed is not aborts
        assert raised == ([] if aborts else [""])
        assert s.next_request(closing.session) == (EndTxn("t", 9, 4, False) if aborts else None)
        if aborts:
            ended = EndTxnResponse(Errors.NONE, 9, 5)
            _, closed = answer_next(closing, "app-1/session", ended, rules)
            assert closed.session.closed
            assert step(closed, rules)[1] == [""]


@pytest.mark.parametrize("under", ["repaired", "repaired+session_close=aborts_whatever_is_open"])
def test_close_leaves_open_what_is_prepared(under: str) -> None:
    rules = design(under).client_rules()
    me, _ = prepare(on_session(C.CLOSE), rules=rules)
    me, raised = step(me, rules)
    assert (me.session.closed, raised, s.next_request(me.session)) == (True, [""], None)


def test_a_closed_session_does_not_send_again_what_its_connection_loses() -> None:
    me = sent_one()
    me = me.with_client(s.heartbeat(change(me.session, heartbeat_interval_ms=3_000)))
    beat = s.next_request(me.session)
    session, _ = s.note_sent(me.session, beat, 1)
    lost = s.on_disconnected(session.but(closed=True), 1)
    assert (lost.on_wire, lost.manager.queue) == (None, ())
    assert s.on_disconnected(session, 1).manager.queue == (beat,)


# -- prepareTransaction() and completeTransaction(state) ----------------------------------------


def prepare(*program, rules=REPAIRED, two_phase=True):
    """A session that has been asked to prepare, with the batch of its producer answered."""
    me = sent_one(rules)
    me = me.with_client(change(me.session, two_phase_commit=two_phase))
    me = me.but(program=(on_session(C.PREPARE_TRANSACTION), *program), line=0)
    me, raised = step(me, rules)
    if two_phase:
        assert me.session.state_name == "IN_TRANSACTION"  # it waits for the batch
        _, me = answer_next(
            me,
            "app-1/producer",
            ProduceResponse((PartitionProduceResponse("out-0", Errors.NONE),)),
            rules,
        )
        me, raised = step(me, rules)
    return me, raised


@pytest.mark.parametrize(("stored", "committed"), [("", True), ("stored", False)])
def test_a_session_completes_what_it_prepared_as_the_state_says(stored: str, committed) -> None:
    complete = on_session(C.COMPLETE_TRANSACTION, target=stored)
    me, raised = prepare(complete)
    assert (me.session.state_name, str(me.session.manager.prepared), raised) == (
        "PREPARED",
        "9:4",
        [""],
    )
    assert me.producer.manager.state is S.PREPARED_TRANSACTION
    me = me.but(others=me.others.set("database", ExternalDatabase("app-1/database")))
    me, _ = step(me)
    assert s.next_request(me.session) == EndTxn("t", 9, 4, committed)


def test_a_session_prepares_only_with_a_setting_that_the_page_does_not_list() -> None:
    """KIP-1310 2.2 has no transaction.two.phase.commit.enable."""
    _, (raised,) = prepare(two_phase=False)
    assert raised == "InvalidTxnStateException: transaction.two.phase.commit.enable is false"


@pytest.mark.parametrize(("under", "legal"), [("repaired", True), ("kip-1310", False)])
def test_whether_a_resumed_session_can_complete_is_a_question_of_design(under, legal) -> None:
    rules = design(under).client_rules()
    complete = on_session(C.COMPLETE_TRANSACTION, target="stored")
    for state, committed in (("9:4", True), ("9:3", False)):
        me = process(on_session(C.RESUME, target="t 9 4"), complete)
        database = ExternalDatabase("app-1/database", prepared_txn_state=parse(state))
        me = me.but(others=me.others.set("database", database))
        me, _ = step(me, rules)
        me, raised = step(me, rules)
        if legal:
            assert s.next_request(me.session) == EndTxn("t", 9, 4, committed)
        else:
            text = "InvalidTxnStateException: completeTransaction() in state IN_TRANSACTION"
            assert raised == [text]


def test_a_failure_while_a_session_prepares_ends_the_preparing() -> None:
    me = sent_one()
    me = me.with_client(change(me.session, two_phase_commit=True))
    me, _ = step(me.but(program=(on_session(C.PREPARE_TRANSACTION),), line=0))
    assert me.session.manager.preparing
    refused = ProduceResponse((PartitionProduceResponse("out-0", Errors.INVALID_TXN_STATE),))
    _, me = answer_next(me, "app-1/producer", refused)
    assert (me.session.state_name, me.session.manager.preparing) == ("ABORTABLE_ERROR", False)


@pytest.mark.parametrize(
    "text", ["t", "t 9", "t 9 x", "t -1 0", "t 9 0 1", "t 9 0 v3", "t 9 0 v2 v2"]
)
def test_what_resume_is_given_is_a_name_and_two_numbers(text: str) -> None:
    with pytest.raises(ValueError, match="a transactional id, a producer id and an epoch"):
        resume_target(text)


def test_a_token_that_remembers_its_version_is_ended_in_that_one() -> None:
    assert resume_target("t 9 0") == ("t", 9, 0, -1)
    assert resume_target("t 9 0 v1") == ("t", 9, 0, 1)
    for version, end in ((-1, 4), (1, 4), (2, 5)):
        me = resumed_by_reflection(producer_of("app-1/producer", "t"), Resumed("t", 9, 0, version))
        request = p.next_request(p.end_transaction(me, committed=True))
        assert (request.producer_id, request.producer_epoch, request.version) == (9, 0, end)


# -- what the page leaves open ------------------------------------------------------------------


def test_a_commit_waits_for_the_unsent_batch_of_a_bound_producer_or_does_not_know_of_it() -> None:
    for rules, waits in ((REPAIRED, True), (WRITTEN, False)):
        me, _ = step(sent_one(rules), rules)
        assert me.session.state_name == "COMMITTING"
        assert (s.next_request(me.session) is None) is waits
        assert me.session.held_back_by == (("app-1/producer",) if waits else ())


def test_the_failure_of_a_batch_is_the_sessions_or_the_producers_alone() -> None:
    refused = ProduceResponse((PartitionProduceResponse("out-0", Errors.INVALID_TXN_STATE),))
    for rules, state in ((REPAIRED, "ABORTABLE_ERROR"), (WRITTEN, "IN_TRANSACTION")):
        _, me = answer_next(sent_one(rules), "app-1/producer", refused, rules)
        assert me.producer.manager.state is S.ABORTABLE_ERROR
        assert me.session.state_name == state
        me, raised = step(me, rules)
        assert raised == (["Produce: INVALID_TXN_STATE"] if rules is REPAIRED else [])


def commit(rules):
    me = sent_one(rules)
    _, me = answer_next(
        me,
        "app-1/producer",
        ProduceResponse((PartitionProduceResponse("out-0", Errors.NONE),)),
        rules,
    )
    me, _ = step(me, rules)
    _, me = answer_next(me, "app-1/session", EndTxnResponse(Errors.NONE, 9, 5), rules)
    return step(me, rules)[0]


@pytest.mark.parametrize(
    ("under", "epoch", "sequence"),
    [
        ("repaired", 5, 0),
        ("kip-1310", 5, 1),
        ("repaired+session_identity=when_refused", 4, 1),
    ],
)
def test_what_the_next_batch_of_a_bound_producer_carries_after_a_commit(
    under: str, epoch: int, sequence: int
) -> None:
    rules = design(under).client_rules()
    me = commit(rules)
    me = me.but(program=LOOP[:2], line=0, ended="")
    me, _ = step(me, rules)
    me, _ = step(me, rules)
    request = p.next_request(me.producer)
    assert isinstance(request, Produce)
    batch = batch_of(request)
    assert (batch.producer_epoch, batch.base_sequence) == (epoch, sequence)


def test_two_producers_of_one_session_count_apart_together_or_not_at_all() -> None:
    def first_sequences(under):
        rules = design(under).client_rules()
        second = Line("producer2.send", C.SEND, client="producer-2")
        me = initialize(*LOOP[:2], second, producers=2, rules=rules)
        raised = [""]
        for _ in range(3):
            me, raised = step(me, rules)
        requests = []
        for client in binding.bound_producers(me):
            mine = me.client_at(client.source)
            requests += [request for request in [p.next_request(mine)] if request is not None]
            me = (
                me.with_client(p.note_sent(mine, requests[-1], 1)[0])
                if mine.accumulator.batches
                else me
            )
            me = settling.settle(me, rules)
        return [batch_of(request).base_sequence for request in requests], raised

    assert first_sequences("kip-1310") == ([0, 0], [""])
    together = "kip-1310+session_sequences=counted_together"
    assert first_sequences(together) == ([0, 1], [""])
    sequences, (raised,) = first_sequences("repaired")
    assert sequences == [0]
    assert raised == "IllegalStateException: this session has a producer already"


def test_a_producer_of_a_resumed_session_sends_from_sequence_0_or_not_at_all() -> None:
    for rules, text in ((WRITTEN, ""), (REPAIRED, "can only end its transaction")):
        me = process(on_session(C.RESUME, target="t 9 4"), Line("send", C.SEND))
        me, _ = step(me, rules)
        me, (raised,) = step(me, rules)
        assert text in raised
        request = p.next_request(me.producer)
        assert (request is None) if text else (batch_of(request).base_sequence == 0)


# -- heartbeats ---------------------------------------------------------------------------------


def test_heartbeat_logic() -> None:
    """The heartbeat thread follows transaction.session.timeout.ms: -1 is none."""
    for timeout, beats in ((-1, False), (9_000, True)):
        interval = SessionSpec(session_timeout_ms=timeout).heartbeat_interval_ms
        me = initialize(*LOOP)
        me = me.with_client(change(me.session, heartbeat_interval_ms=interval))
        assert s.timers(me.session) == ()  # nothing is open yet
        me, _ = step(me)
        me, _ = step(me)
        assert (HeartbeatInterval() in s.timers(me.session)) is beats
        told = s.heartbeat(me.session)
        assert s.next_request(told) == (TxnHeartbeat("t", 9, 4) if beats else None)
        assert s.heartbeat(told) == told  # one at a time
        assert HeartbeatInterval() not in s.timers(s.close(me.session, aborts=False))


def test_a_session_that_is_fenced_hears_it_from_its_heartbeat() -> None:
    me = sent_one()
    me = me.with_client(s.heartbeat(change(me.session, heartbeat_interval_ms=3_000)))
    _, heard = answer_next(me, "app-1/session", TxnHeartbeatResponse(Errors.NONE))
    assert heard.session.state_name == "IN_TRANSACTION"
    _, fenced = answer_next(me, "app-1/session", TxnHeartbeatResponse(Errors.PRODUCER_FENCED))
    assert fenced.session.state_name == "FATAL_ERROR"
    assert fenced.producer.manager.state is S.FATAL_ERROR


def below_2(me):
    """The same process in a cluster with transaction version 1."""
    return me.with_client(change(me.session, version=1, finalized=1))


def test_below_version_2_a_batch_waits_until_the_session_has_added_its_partition() -> None:
    me = below_2(initialize(*LOOP))
    for _ in range(2):
        me, _ = step(me)
    assert p.next_request(me.producer) is None
    done = partitions_response(Errors.NONE, "out-0")
    request, me = answer_next(me, "app-1/session", done)
    assert request == AddPartitionsToTxn((TxnPartitions("t", 9, 4, ("out-0",)),), version=3)
    assert isinstance(p.next_request(me.producer), Produce)
    assert (me.session.manager.partitions, me.session.manager.transaction_started) == (
        ("out-0",),
        True,
    )


def test_below_version_2_a_failed_batch_makes_the_session_bump_its_epoch() -> None:
    me = below_2(initialize(*LOOP[:2], on_session(C.COMMIT_TRANSACTION, on_error=4), ABORT))
    for _ in range(2):
        me, _ = step(me)
    done = partitions_response(Errors.NONE, "out-0")
    _, me = answer_next(me, "app-1/session", done)
    refused = ProduceResponse((PartitionProduceResponse("out-0", Errors.INVALID_TXN_STATE),))
    _, me = answer_next(me, "app-1/producer", refused)
    assert (me.session.state_name, me.session.manager.bump) == ("ABORTABLE_ERROR", True)
    for _ in range(2):
        me, _ = step(me)
    end, me = answer_next(me, "app-1/session", EndTxnResponse(Errors.NONE, -1, -1))
    assert end == EndTxn("t", 9, 4, False, 4)
    given = InitProducerIdResponse(Errors.NONE, 9, 5)
    bumps, me = answer_next(me, "app-1/session", given)
    assert (bumps.producer_id, bumps.producer_epoch) == (9, 4)
    assert (me.session.state_name, me.session.manager.bump, me.producer.manager.bump) == (
        "READY",
        False,
        False,
    )
    assert (me.producer.manager.producer_epoch, me.producer.partition_map.sequences) == (
        5,
        Table.of(),
    )


def test_partitions_are_only_noted_and_a_heartbeat_of_the_applications_own_is_sent() -> None:
    """KIP-1310 2.1."""
    lines = (on_session(C.ADD_PARTITIONS), on_session(C.HEARTBEAT), on_session(C.CLOSE))
    me = initialize(on_session(C.BEGIN_TRANSACTION), *lines)
    me = me.with_client(change(me.session, heartbeat_interval_ms=5_000))
    me, _ = step(me)
    assert not me.session.manager.transaction_started
    me, raised = step(me)
    assert (me.session.manager.transaction_started, raised) == (True, [""])
    assert s.next_request(me.session) is None  # no client sends AddPartitionsToTxn
    me, raised = step(me)
    assert raised == [""]
    request, me = answer_next(me, "app-1/session", TxnHeartbeatResponse(Errors.NONE))
    assert request == TxnHeartbeat("t", 9, 4)
    assert s.running(me.session) == (HeartbeatInterval(),)
    me, _ = step(me)
    assert s.running(me.session) == ()


# -- 3.4 Internal Network Client ------------------------------------------------------------------


def asking(session):
    """The session with the offsets of a group on the wire."""
    session = send_offsets(session, "g1", "C1", 2, (GroupOffset("src-0", 101),))
    session, request = s.note_sent(session, s.next_request(session), 1)
    assert isinstance(request, TxnOffsetCommit)
    return session


def test_a_batch_of_a_bound_producer_does_not_wait_for_a_request_of_its_session() -> None:
    """Two network clients are two senders; today's one sends nothing beside such a request."""
    me = sent_one()
    me = settling.settle(me.with_client(asking(me.session)), REPAIRED)
    assert isinstance(p.next_request(me.producer), Produce)
    today = change(me.producer, on_wire=me.session.on_wire, on_wire_broker=1)
    assert p.next_request(today) is None


def test_a_session_rests_before_it_asks_again_where_the_clock_has_rests() -> None:
    spec = searched_scenario("kip-1310-share-session").spec.but(
        clock=Clock("timed", backs_off=True)
    )
    made = first_world(spec).applications["app-1"].session
    assert made.manager.backs_off
    assert s.restart(made, 1).manager.backs_off
    session = asking(change(sent_one().session, backs_off=True))
    session = s.on_response(session, offsets_response(Errors.NOT_COORDINATOR))
    assert (s.timers(session), s.next_request(session)) == ((SenderBackOff(),), None)
    assert isinstance(s.next_request(s.on_timer(session, SenderBackOff())), TxnOffsetCommit)


def test_only_a_resumed_session_may_complete_what_it_did_not_begin():
    line = on_session(C.COMPLETE_TRANSACTION)
    session = session_of("app-1/session", "t")
    assert binding.legal_besides(session, line, REPAIRED) == ()
    assert binding.legal_besides(session.but(resumed=True), line, REPAIRED) == (S.IN_TRANSACTION,)
    assert binding.legal_besides(producer_of("app-1/producer", "t"), line, REPAIRED) == ()
    other = on_session(C.COMMIT_TRANSACTION)
    assert binding.legal_besides(session.but(resumed=True), other, REPAIRED) == ()


def test_a_session_that_has_aborted_what_was_open_is_closed_and_no_more_closing():
    closing = change(session_of("app-1/session", "t"), closing=True, done=False)
    assert s._closed_when_done(closing) == closing
    closed = s._closed_when_done(change(closing, done=True))
    assert (closed.closed, closed.closing) == (True, False)
