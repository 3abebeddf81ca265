"""The application: a line at a time, with Java's rules about what may be called when."""

from __future__ import annotations

import pytest

from kipviz.clients import application as app
from kipviz.clients import thread
from kipviz.clients.application import Application, Call, Line
from kipviz.clients.calling.producer_calls import EVERY_PARTITION
from kipviz.clients.groups.consumer_coordinator import MemberState as ClassicState
from kipviz.clients.groups.consumer_membership import MemberState as GroupState
from kipviz.clients.kinds import next_request
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.throwing.client_errors import request_error
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.core.table import Table
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.events import CallReturned, CallStarted
from kipviz.messages.groups.classic_groups import LeaveGroup, Leaver
from kipviz.messages.groups.groups import GroupOffset
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat
from kipviz.messages.logs.producing import FetchedRecord, Produce
from kipviz.messages.shares.share_groups import AcknowledgementBatch, AcknowledgeType
from kipviz.scenarios.applications.programs import GROUP_LOOP, SHARE_LOOP
from tests.clients.parts import (
    assigned_consumer_of,
    change,
    classic_member_of,
    member_of,
    producer_of,
)

FAILED = request_error(Produce, Errors.INVALID_TXN_STATE)
C, S = Call, ProducerState
RULES = design("repaired").client_rules()
RECORDS = (FetchedRecord("src-0", 100, "a", 1), FetchedRecord("src-0", 101, "b", 1))


def process(*lines, state=S.READY, share=True, line=0, **changes):
    program = tuple(Line(c.value, c) if isinstance(c, Call) else c for c in lines)
    producer = producer_of("app-1/producer", "t", state=state, producer_id=9, producer_epoch=0)
    consumer = (
        ShareConsumer("app-1/consumer", "g1", "M1", 2, "src-0", 10)
        if share
        else assigned_consumer_of("app-1/consumer", "g1", "M1", "src-0", 10)
    )
    me = Application("app-1", program, "out-0", producer, consumer, line=line)
    return change(me, **changes)


def step(me):
    assert thread.why_no_step(me) is None
    return thread.step(me, RULES)


# The methods of Kafka's classes, and of the drafts' (KIP-1289, KIP-1309, KIP-1310), that a line may call by their name.
METHODS = [
    "initTransactions",
    "beginTransaction",
    "send",
    "flush",
    "sendOffsetsToTransaction",
    "commitTransaction",
    "abortTransaction",
    "prepareTransaction",
    "completeTransaction",
    "close",
    "poll",
    "commitSync",
    "commitAsync",
    "subscribe",
    "unsubscribe",
    "seek",
    "acknowledge",
    "listTransactions",
    "describeTransactions",
    "describeProducers",
    "fenceProducers",
    "forceTerminateTransaction",
    "listGroups",
    "describeConsumerGroups",
    "deleteConsumerGroups",
    "deleteConsumerGroupOffsets",
    "listConsumerGroupOffsets",
    "removeMembersFromConsumerGroup",
    "describeAcls",
    "createAcls",
    "deleteAcls",
    "describeShareGroups",
    "listShareGroupOffsets",
    "alterShareGroupOffsets",
    "deleteShareGroupOffsets",
    "deleteShareGroups",
    "sendShareAcknowledgementsToTransaction",
    "shareGroupMetadata",
    "acknowledgementsForTransaction",
    "heartbeat",
    "initialize",
    "resume",
    "addPartitionsToTransaction",
    "addShareAcksToTransaction",
    "acknowledgeTransactionally",
    "transactionSession",
    "resumeTransaction",
]
# Constructors, methods that two classes have, Kafka's tools, and what is none of Kafka's.
OTHERS = [
    "KafkaProducer",
    "TransactionSession",
    "KafkaShareConsumer.close",
    "admin.abortTransaction",
    "find-hanging",
    "database.insert",
    "database.claim",
    "database.prepareTransaction",
    "database.commitTransaction",
    "database.rollback",
    "executor.submit",
    "future.get",
]


def test_a_call_has_the_name_of_the_method_that_it_is():
    assert sorted(call.value for call in Call) == sorted([*METHODS, *OTHERS])


# call x state: ok, err (the producer's error is thrown), or ISE (IllegalStateException)
LEGAL = """
           initTransactions beginTransaction send sendOffsetsToTransaction sendShareAcknowledgementsToTransaction commitTransaction abortTransaction
UNINITIALIZED            ok   ISE  ISE  ISE  ISE  ISE  ISE
INITIALIZING             ISE  ISE  ISE  ISE  ISE  ISE  ISE
READY                    ISE  ok   ISE  ISE  ISE  ISE  ISE
IN_TRANSACTION           ISE  ISE  ok   ok   ok   ok   ok
COMMITTING_TRANSACTION   ISE  ISE  ISE  ISE  ISE  ISE  ISE
ABORTING_TRANSACTION     ISE  ISE  ISE  ISE  ISE  ISE  ISE
ABORTABLE_ERROR          err  err  err  err  err  err  ok
FATAL_ERROR              err  err  err  err  err  err  err
"""
CALLS = [Call(name) for name in LEGAL.split("\n")[1].split()]
TABLE = [
    (S[row[0]], call, cell)
    for row in (line.split() for line in LEGAL.strip().splitlines()[1:])
    for call, cell in zip(CALLS, row[1:], strict=True)
]


@pytest.mark.parametrize(("state", "call", "cell"), TABLE)
def test_which_call_is_legal_in_which_state(state, call, cell):
    """Sheet 5.2, TransactionManager and KafkaProducer."""
    share = call is not C.SEND_OFFSETS
    me = process(call, C.POLL, state=state, share=share, records=RECORDS)
    if state in (S.ABORTABLE_ERROR, S.FATAL_ERROR):
        me = me.with_client(change(me.producer, error=FAILED))
    after, events = step(me)
    assert events[0] == CallStarted("app-1", 0, call.value)
    raised = [str(e.raised) for e in events if isinstance(e, CallReturned)]
    if cell == "ok":
        assert raised in ([], [""])
    elif cell == "err":
        assert raised == [str(FAILED)]
    else:
        assert raised[0].startswith("IllegalStateException")
    assert bool(after.ended) == (cell != "ok")


def test_a_kafka_exception_goes_to_the_catch_block_and_an_illegal_state_does_not():
    caught = Line("commit", C.COMMIT_TRANSACTION, on_error=1)
    me = process(caught, C.ABORT_TRANSACTION, state=S.ABORTABLE_ERROR)
    me = me.with_client(change(me.producer, error=FAILED))
    after, _ = step(me)
    assert (after.line, after.ended) == (1, "")
    after, _ = step(process(caught, C.ABORT_TRANSACTION, state=S.READY))
    assert after.ended.startswith("commitTransaction() threw IllegalStateException")


def test_a_blocking_call_is_entered_and_left_in_two_steps():
    me, events = step(process(C.POLL, C.BEGIN_TRANSACTION))
    assert (me.waiting, len(events)) == (True, 1)
    assert thread.why_no_step(me) == "poll() of app-1 has not returned yet"
    me = me.but(consumer=me.consumer.but(done=True, records=RECORDS))
    me, events = step(me)
    assert (me.line, me.waiting, me.records) == (1, False, RECORDS)
    assert isinstance(events[-1], CallReturned)


def test_the_output_of_a_record_is_named_after_it():
    me = process(C.SEND, C.POLL, state=S.IN_TRANSACTION, records=RECORDS)
    after, _ = step(me)
    (batch,) = after.producer.accumulator.batches
    assert [(r.value, r.origin) for r in batch.records] == [
        ("f(a)", "src-0@100"),
        ("f(b)", "src-0@101"),
    ]


def test_a_line_says_which_record_is_staged_how():
    verdicts = ((101, AcknowledgeType.REJECT), (-1, AcknowledgeType.ACCEPT))
    line = Line("stage", C.SEND_SHARE_ACKNOWLEDGEMENTS, verdicts=verdicts)
    me, _ = step(process(line, C.POLL, state=S.IN_TRANSACTION, records=RECORDS))
    assert me.producer.manager.queue[0].only.acknowledgements == (
        AcknowledgementBatch(100, 100, AcknowledgeType.ACCEPT),
        AcknowledgementBatch(101, 101, AcknowledgeType.REJECT),
    )
    assert me.consumer.current_fetch.staged == (100, 101)


def test_a_plain_share_consumer_accepts_its_batch_whatever_the_design():
    """The slot is about loops that stage; KIP-932's implicit mode is not up for discussion."""
    consumer = change(process(C.POLL).consumer, session_epoch=1, session_broker=5, batch=(100, 101))
    me, _ = step(process(C.POLL, C.POLL, consumer=consumer))
    accepted = AcknowledgementBatch(100, 101, AcknowledgeType.ACCEPT)
    assert me.consumer.to_send.first.acknowledgements == (accepted,)
    staging, _ = step(process(*SHARE_LOOP, line=1, consumer=consumer))
    (said,) = staging.consumer.to_send.first.acknowledgements
    assert said.type is AcknowledgeType.RELEASE


def test_an_abort_sends_a_regular_consumer_back_to_the_committed_offset():
    me = process(*GROUP_LOOP, share=False, state=S.IN_TRANSACTION, line=6)
    me = me.but(consumer=change(me.consumer, positions=Table.of({"src-0": 102})))
    after, _ = step(me)
    assert after.consumer.position == -1


def test_the_next_process_remembers_nothing_but_names():
    me = process(*SHARE_LOOP, line=3, records=RECORDS, waiting=True, alive=False, life=2)
    fresh = app.restart(me)
    assert (fresh.life, fresh.line, fresh.records, fresh.alive) == (3, 0, (), True)
    assert fresh.producer == producer_of("app-1/producer", "t")
    assert (fresh.consumer.member_id, fresh.consumer.sessions.epoch) == ("M1#3", 0)


def test_a_program_that_runs_past_its_last_line_has_ended():
    me, _ = step(process(C.BEGIN_TRANSACTION))
    assert me.ended == "it ran to its last line"
    assert thread.why_no_step(me) == "the program of app-1 has ended: it ran to its last line"


def classic_member():
    """A member of a classic group that has read up to two positions."""
    me = classic_member_of("app-1/consumer", "g1", "C1", "src", "src-0", 10, ("src-0", "src-1"))
    me = change(me, state=ClassicState.STABLE, member_id="C1.1", generation=3, metadata=("C1.1", 3))
    return change(
        me, owned=me.membership.topic_partitions, positions=Table.of({"src-0": 102, "src-1": 7})
    )


AT = (GroupOffset("src-0", 102), GroupOffset("src-1", 7))


def test_the_offsets_of_every_partition_of_a_member_go_into_its_transaction():
    line = Line("send offsets", C.SEND_OFFSETS, target=EVERY_PARTITION, metadata=True)
    me = process(line, C.POLL, state=S.IN_TRANSACTION, consumer=classic_member(), records=RECORDS)
    (request,) = step(me)[0].producer.manager.queue
    assert (request.offsets, request.member_id, request.member_epoch) == (AT, "C1.1", 3)


def test_the_offsets_of_a_batch_are_those_of_each_partition_that_it_has_records_of():
    batch = (*RECORDS, FetchedRecord("src-1", 6, "c", 1))
    me = process(C.SEND_OFFSETS, C.POLL, state=S.IN_TRANSACTION, consumer=classic_member())
    (request,) = step(me.but(records=batch))[0].producer.manager.queue
    assert request.offsets == AT
    (request,) = step(me.but(records=RECORDS))[0].producer.manager.queue
    assert request.offsets == AT[:1]


def test_a_member_of_a_classic_group_commits_every_position_and_leaves():
    me, _ = step(process(C.COMMIT_SYNC, C.UNSUBSCRIBE, consumer=classic_member()))
    assert (me.waiting, me.consumer.done, me.consumer.offsets.committing) == (True, False, AT)
    me = process(C.UNSUBSCRIBE, C.POLL, consumer=classic_member(), records=RECORDS)
    me, _ = step(me)
    assert me.consumer.membership.leaving == LeaveGroup("g1", (Leaver("C1.1"),))
    assert (me.records, me.consumer.owned, me.consumer.done) == ((), (), True)


def test_a_member_of_a_classic_group_subscribes_to_what_a_line_names():
    line = Line("subscribe", C.SUBSCRIBE, target="src,other")
    me, _ = step(process(line, C.POLL, consumer=classic_member()))
    assert me.consumer.subscription.topics == ("src", "other")
    assert me.consumer.membership.rejoin


def test_a_member_of_a_consumer_group_waits_until_the_coordinator_knows_that_it_is_gone():
    consumer = member_of("app-1/consumer", "g1", "C1", "src", "src-0", 10)
    consumer = change(
        consumer, state=GroupState.STABLE, member_epoch=3, owned=("src-0",), told=("src-0",)
    )
    me, _ = step(process(C.UNSUBSCRIBE, C.POLL, consumer=consumer, records=RECORDS))
    assert (me.waiting, me.consumer.done, me.records) == (True, False, ())
    assert next_request(me.consumer) == ConsumerGroupHeartbeat("g1", "C1", -1)


@pytest.mark.parametrize("call", [C.BEGIN_TRANSACTION, C.COMMIT_TRANSACTION, C.INIT_TRANSACTIONS])
def test_a_producer_without_a_transactional_id_has_no_transactions(call):
    me, _ = step(process(call, C.SEND, own_producer=producer_of("app-1/producer", "")))
    assert me.ended == (
        f"{call.value}() threw IllegalStateException: "
        f"{call.value}() on a non-transactional producer"
    )
