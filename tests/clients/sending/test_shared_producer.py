"""Several threads at one transactional KafkaProducer: whose result is whose, and what a send() leaves that threw."""

from __future__ import annotations

import re

import pytest

from kipviz.clients.application import Call, Line
from kipviz.clients.sending import appending
from kipviz.clients.thread import why_no_step
from kipviz.clients.timers import RetryBackOff
from kipviz.clients.transactions import results
from kipviz.clients.transactions.producer_state import ProducerState, Result
from kipviz.clients.workers import swap_thread
from kipviz.cluster.actions import ClientTimer, CreateTopic, ExpireBatch, Step, Tick, TimeOutCall
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import BadSpec, FaultBudget
from kipviz.core.table import Table
from kipviz.designs.catalogue import design
from kipviz.driving.cluster import Cluster
from kipviz.messages.events import CallReturned, MessageSent
from kipviz.messages.logs.producing import Produce
from kipviz.messages.transactions.transactions import EndTxn
from kipviz.records.batches import DataRecord
from kipviz.scenarios.applications import shared_producer_programs as programs
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.script import next_by_itself
from kipviz.views.explanations import exceptions
from kipviz.views.role_cards.owners import clients as card_of
from tests.clients.parts import batch_of, change, producer_of
from tests.scenarios.story import after, nodes, play_once

FORGOTTEN = searched_scenario("kip-98-threads-timed-out")
STRAY = searched_scenario("kip-98-threads-stray-record")
STUCK = searched_scenario("kip-98-threads-stuck-commit")

FIRST, SECOND = Step("app-1"), Step("app-1", "worker")
BUDGET = FaultBudget(max_block=2, delivery_timeout=1)
GIVEN = (DataRecord("f(x)", "src-0@1"),)
BACK_OFF = ClientTimer("app-1/producer", RetryBackOff())


class Run(Cluster):
    """A process of two threads at one producer."""

    def __init__(self, first, worker, under="kafka", app=None, **changes):
        program, at = programs.with_worker(first, worker)
        (process,) = STRAY.spec.applications
        (thread,) = process.threads
        made = process.but(program=program, threads=(thread.but(first=at),))
        records = (("src-0", 100, ("a", "c")), ("src-1", 200, ("b",)))
        spec = STRAY.spec.but(records=records, budget=BUDGET, **changes)
        spec = spec.but(applications=(made.but(**(app or {})),))
        super().__init__(STRAY.but(spec=spec), under)

    @property
    def process(self):
        return self.world.applications["app-1"]

    @property
    def producer(self):
        return self.process.producer

    def goes(self, thread=FIRST, calls=1):
        """Let a thread enter some calls, and come back from them."""
        for _ in range(calls):
            self.take(thread)
            seen = swap_thread(self.process, thread.thread)
            if seen.waiting:
                self.quiet().take(thread)
        return self

    @property
    def raised(self):
        return [str(e.raised) for e in self.events if isinstance(e, CallReturned) and e.raised]

    def list_sent(self, kind):
        return [
            e.message
            for e in self.events
            if isinstance(e, MessageSent) and isinstance(e.message, kind)
        ]


P = programs
OPEN = (P.INIT, P.BEGIN, P.SUBMIT)


def both_in_a_transaction(first, worker, **changes):
    """A run in which the first thread is behind submit(), both with a record in hand."""
    return (
        Run((*OPEN, P.POLL, *first), (P.ITS_POLL, *worker), **changes).goes(FIRST, 4).goes(SECOND)
    )


# -- whose result it is --------------------------------------------------------------------------


def test_each_thread_comes_back_with_its_own_offsets_and_not_with_the_last_ones():
    run = both_in_a_transaction((P.STAGE, P.COMMIT), (P.STAGE,)).take(FIRST, SECOND)
    while run.why_not(FIRST) is not None:
        run.take(next_by_itself(run.model, run.world))
    assert "sendOffsetsToTransaction() of app-1 has not returned yet" in run.why_not(SECOND)
    assert [(r.threads, r.ended) for r in run.producer.manager.results] == [
        (("",), True),
        (("worker",), False),
    ]
    run.take(FIRST)
    assert [r.threads for r in run.producer.manager.results] == [("worker",)]
    run.quiet().take(SECOND)
    assert run.producer.manager.results == ()


def test_a_thread_comes_back_without_its_result_and_the_other_one_commits_what_it_asked_for():
    world = after(FORGOTTEN.name, "kafka", "future.get()")
    (worker,) = world.applications["app-1"].workers
    assert worker.ended.startswith("sendOffsetsToTransaction() threw TimeoutException")
    committed = world.roles[4, "group_coordinator", "__consumer_offsets-7"]
    assert "src-1" in str(committed)
    assert world.applications["app-1"].producer.manager.results == ()


def test_the_same_call_of_another_thread_waits_for_the_same_result():
    run = both_in_a_transaction((P.SEND, P.COMMIT), (P.COMMIT, P.BEGIN)).goes(FIRST)
    run.take(FIRST, SECOND).quiet()
    assert [r.threads for r in run.producer.manager.results] == [("", "worker")]
    assert len(run.list_sent(EndTxn)) == 1
    run.take(SECOND)
    assert [(r.threads, r.acked) for r in run.producer.manager.results] == [(("",), True)]
    # It is acknowledged: the worker goes on, although the first thread is in its call yet.
    run.take(SECOND)
    assert run.producer.manager.state is ProducerState.IN_TRANSACTION
    run.take(FIRST)
    assert (run.raised, run.producer.manager.results) == ([], ())


def test_a_result_that_no_thread_has_taken_stands_in_the_way_although_nothing_timed_out():
    run = both_in_a_transaction((P.SEND, P.COMMIT), (P.BEGIN,)).goes(FIRST).take(FIRST).quiet()
    assert run.producer.manager.state is ProducerState.READY
    run.take(SECOND)
    assert run.raised == [
        "IllegalStateException: beginTransaction(), because commitTransaction() timed out and must be retried"
    ]


def test_of_two_threads_in_one_commit_one_times_out_and_the_other_has_the_result():
    run = both_in_a_transaction((P.SEND, P.COMMIT), (P.COMMIT, P.BEGIN)).goes(FIRST)
    run.take(FIRST, SECOND, TimeOutCall("app-1"))
    assert run.raised == ["TimeoutException: commitTransaction() took longer than max.block.ms"]
    assert run.why_not(TimeOutCall("app-1")) == "app-1 is in no call that it waits for"
    assert "no thread other" in run.why_not(TimeOutCall("app-1", "other"))
    run.quiet()
    late = TimeOutCall("app-1", "worker")
    assert run.why_not(late) == "commitTransaction() of app-1 has its result"
    run.take(SECOND, SECOND)
    assert run.producer.manager.state is ProducerState.IN_TRANSACTION


def test_both_threads_throw_what_their_calls_failed_with():
    run = both_in_a_transaction((P.STAGE,), (P.STAGE,)).take(FIRST, SECOND)
    failed = change(run.producer, state=ProducerState.FATAL_ERROR, error="x", done=True, queue=())
    told = results.settle(run.process.with_client(failed))
    assert {r.error for r in told.producer.manager.results} == {"x"}
    assert why_no_step(told) is None


def test_prepare_is_over_when_the_producer_is_prepared():
    me = both_in_a_transaction((P.SEND,), (P.SEND,)).process
    waited = Result("prepareTransaction", ("",))
    for preparing in (True, False):
        producer = change(me.producer, results=(waited,), preparing=preparing, done=True)
        (told,) = results.settle(me.with_client(producer)).producer.manager.results
        assert told.ended is not preparing


# -- what a send() leaves that threw -------------------------------------------------------------


def test_the_record_of_a_send_that_threw_goes_out_with_the_next_transaction():
    world = after(STRAY.name, "kafka", "Worker: send(f(b))")
    producer = world.applications["app-1"].producer
    assert [(b.partition, len(b.records)) for b in producer.accumulator.stray] == [
        ("output-A-0", 1)
    ]
    fact = card_of(world.applications["app-1"])[
        "left over from a send() that threw, for output-A-0"
    ]
    assert "in no transaction" in str(fact)
    trace, _ = play_once(STRAY.name, "kafka")
    sent = [
        batch_of(e.message).records
        for n in nodes(trace)
        for e in n.events
        if isinstance(e, MessageSent) and isinstance(e.message, Produce)
    ]
    assert [[r.value for r in records] for records in sent] == [["f(b)", "f(a)"], ["f(b)"]]


def test_a_batch_that_expires_between_two_transactions_poisons_the_producer():
    """KAFKA-14831: the sender may not step from READY to ABORTABLE_ERROR; each call throws from then on."""
    run = Run((*OPEN, P.COMMIT, P.BEGIN), (P.ITS_POLL, P.ITS_SEND))
    run.goes(FIRST, 3).goes(SECOND).goes(FIRST).goes(SECOND)
    assert (bool(run.producer.accumulator.stray), run.producer.manager.state) == (
        True,
        ProducerState.READY,
    )
    run.take(ExpireBatch("app-1/producer"))
    assert run.producer.manager.state is ProducerState.FATAL_ERROR
    met = exceptions.exception_of(run.process)
    assert met is not None
    poisoned = "IllegalStateException: previous invalid state transition attempt"
    assert met.words == f"{poisoned}: fatal, close this producer"
    run.take(FIRST)
    assert run.raised[-1] == poisoned
    assert run.process.ended == f"beginTransaction() threw {poisoned}"


def test_a_commit_waits_for_a_record_that_no_transaction_takes_along_until_it_expires():
    trace, chapters = play_once(STUCK.name, "kafka")
    model = STUCK.model(design("kafka"))
    world = nodes(trace)[chapters[6].end].world
    late = ExpireBatch("app-1/producer")
    while (why := model.why_not(world, late)) is not None:
        assert why.startswith("it is due in")
        world = model.step(world, Tick()).world
        while (action := next_by_itself(model, world)) is not None:
            world = model.step(world, action).world
        due = [a for a in model.enabled(world) if type(a).__name__ == "TimeOutTransaction"]
        world = model.step(world, due[0]).world if due else world
    world = model.step(world, late).world
    producer = world.applications["app-1"].producer
    assert (producer.accumulator.stray, producer.manager.state) == (
        (),
        ProducerState.ABORTABLE_ERROR,
    )
    assert str(producer.error) == "Produce: REQUEST_TIMED_OUT"


def test_an_abort_drops_what_a_send_has_left_and_ends_without_a_request():
    abort = Line("producer.abortTransaction();", Call.ABORT_TRANSACTION)
    run = Run((*OPEN, P.COMMIT, P.BEGIN, abort), (P.ITS_POLL, P.ITS_SEND))
    run.goes(FIRST, 3).goes(SECOND).goes(FIRST).goes(SECOND)
    assert run.producer.accumulator.stray
    run.goes(FIRST, 2)
    assert (run.producer.accumulator.stray, run.list_sent(EndTxn)) == ((), [])
    assert run.producer.manager.state is ProducerState.READY


def test_an_empty_commit_waits_for_it_too():
    run = Run((*OPEN, P.COMMIT, P.BEGIN, P.COMMIT), (P.ITS_POLL, P.ITS_SEND))
    run.goes(FIRST, 3).goes(SECOND).goes(FIRST).goes(SECOND).goes(FIRST).take(FIRST).quiet()
    assert "has not returned yet" in run.why_not(FIRST)


def test_a_record_goes_along_with_a_commit_whose_end_waits_for_its_partition():
    run = both_in_a_transaction((P.SEND, P.COMMIT), (P.ITS_SEND,)).take(FIRST, FIRST, SECOND)
    assert run.raised[0].startswith("IllegalStateException: send(), because commitTransaction()")
    assert len(run.producer.accumulator.batches) == 2
    run.quiet().take(FIRST)
    assert [r.value for m in run.list_sent(Produce) for r in batch_of(m).records] == [
        "f(a)",
        "f(b)",
    ]


@pytest.mark.parametrize(
    ("state", "ending", "kept"),
    [
        (ProducerState.READY, False, True),
        (ProducerState.COMMITTING_TRANSACTION, False, True),
        (ProducerState.ABORTING_TRANSACTION, False, True),
        (ProducerState.ABORTING_TRANSACTION, True, False),
        (ProducerState.ABORTABLE_ERROR, False, False),
        (ProducerState.PREPARED_TRANSACTION, False, False),
    ],
)
def test_a_record_is_left_where_the_sender_does_not_drop_it(state, ending, kept):
    queue = (EndTxn("t", 1, 1, False, 5),) if ending else ()
    me = producer_of("app-1/producer", "t", state=state, queue=queue)
    left = appending.keep_unsent(me, "output-A-0", GIVEN)
    assert bool(left.accumulator.stray) is kept
    twice = appending.keep_unsent(left, "output-A-0", GIVEN)
    assert [len(b.records) for b in twice.accumulator.stray] == ([2] if kept else [])


@pytest.mark.parametrize("version", [1, 2])
def test_only_a_partition_of_the_transaction_that_ends_takes_a_record_along(version):
    me = producer_of(
        "app-1/producer",
        "t",
        state=ProducerState.COMMITTING_TRANSACTION,
        version=version,
        queue=(EndTxn("t", 1, 1, True, 5),),
        partitions=("output-A-0",) if version < 2 else (),
        sequences=Table.of({"output-A-0": 1}),
    )
    assert appending.goes_along(me, "output-A-0")
    assert not appending.goes_along(me, "output-A-1")
    assert not appending.goes_along(change(me, queue=()), "output-A-0")


def test_a_transaction_takes_along_what_is_left_in_its_partitions_alone():
    me = appending.keep_unsent(producer_of("p", "t"), "output-A-1", GIVEN)
    other = appending.append_records(me, "output-A-0", GIVEN)
    assert (other.accumulator.stray, other.accumulator.batches[0].records) == (
        me.accumulator.stray,
        GIVEN,
    )
    taken = appending.append_records(me, "output-A-1", GIVEN)
    assert (taken.accumulator.stray, len(taken.accumulator.batches[0].records)) == ((), 2)


# -- sends that wait -----------------------------------------------------------------------------


def test_a_send_that_finds_no_room_waits_and_the_other_threads_send_stands_behind_it():
    app = {"max_in_flight": 5, "buffer": 1}
    run = both_in_a_transaction((P.SEND, P.SEND), (P.ITS_SEND,), app=app).take(FIRST, FIRST)
    assert run.why_not(SECOND) == "send() of app-1 waits behind the send() of another thread"
    run.take(TimeOutCall("app-1"))
    assert (run.raised, run.producer.manager.results) == ([], ())
    assert str(run.producer.error) == "Produce: REQUEST_TIMED_OUT"


@pytest.mark.parametrize("under", ["kafka", "kafka-tv1"])
def test_a_send_that_gets_room_when_its_transaction_is_over_throws_and_goes_along(under):
    app = {"max_in_flight": 5, "buffer": 1}
    run = both_in_a_transaction((P.SEND, P.COMMIT), (P.ITS_SEND,), app=app, under=under)
    run.take(FIRST, SECOND, FIRST).quiet()
    assert run.why_not(SECOND) is None
    run.take(SECOND)
    assert run.raised[-1].startswith("IllegalStateException: send(), because commitTransaction()")
    assert [r.value for m in run.list_sent(Produce) for r in batch_of(m).records] == [
        "f(a)",
        "f(b)",
    ]


def test_what_gets_room_behind_the_end_of_a_transaction_is_left():
    app = {"max_in_flight": 5, "buffer": 1}
    run = both_in_a_transaction((P.SEND, P.COMMIT), (P.ITS_SEND.but(target="output-A-1"),), app=app)
    run.take(FIRST, SECOND, FIRST).quiet()
    assert [b.partition for b in run.producer.accumulator.stray] == ["output-A-1"]
    assert results.why_it_waits(run.process) is None


def test_a_send_whose_topic_comes_when_the_transaction_is_over_throws_too():
    run = both_in_a_transaction((P.COMMIT,), (P.ITS_SEND,), later_topics=("output-A",))
    run.take(SECOND).goes(FIRST)
    assert why_no_step(run.process) is not None
    run.take(CreateTopic("output-A"))
    while run.why_not(SECOND) is not None:
        run.take(next_by_itself(run.model, run.world) or BACK_OFF)
    run.take(SECOND)
    assert run.raised == ["IllegalStateException: send() in state READY"]
    assert [b.partition for b in run.producer.accumulator.stray] == ["output-A-0"]


def test_a_send_that_times_out_when_its_transaction_is_over_throws_and_poisons_nothing():
    """KafkaProducer.doSend: the application's thread throws, and the state stays (TransactionManager.transitionTo)."""
    run = both_in_a_transaction((P.COMMIT,), (P.ITS_SEND,), later_topics=("output-A",))
    run.take(SECOND).goes(FIRST)
    assert run.producer.manager.state is ProducerState.READY
    run.take(TimeOutCall("app-1", "worker"))
    assert run.raised == [
        "IllegalStateException: Invalid transition attempted from state READY to state ABORTABLE_ERROR"
    ]
    assert (run.producer.manager.state, run.producer.error) == (ProducerState.READY, "")
    assert run.producer.metadata.held == ()


def test_a_send_whose_topic_comes_in_time_goes_on_in_its_own_thread():
    run = both_in_a_transaction((P.STAGE, P.COMMIT), (P.ITS_SEND,), later_topics=("output-A",))
    run.take(SECOND).goes(FIRST).take(CreateTopic("output-A"))
    while run.why_not(SECOND) is not None:
        run.take(next_by_itself(run.model, run.world) or BACK_OFF)
    run.take(SECOND).goes(FIRST)
    assert [r.value for m in run.list_sent(Produce) for r in batch_of(m).records] == ["f(b)"]
    assert run.producer.manager.results == ()


def test_a_send_to_a_topic_of_which_nobody_knows_leaves_nothing_when_it_throws():
    run = both_in_a_transaction((P.COMMIT,), (P.ITS_SEND,), later_topics=("output-A",))
    run.goes(FIRST).take(SECOND)
    assert (run.raised, run.producer.accumulator.stray) == (
        ["IllegalStateException: send() in state READY"],
        (),
    )


# -- what cannot be ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of_spec", "of_app", "says"),
    [
        ({"look_up_topics": True}, {}, "at one producer, which looks up no ids of topics"),
        (
            {"deletable_topics": ("output-A",)},
            {"max_in_flight": 5, "buffer": 1},
            "their sends wait for room (buffer) or for topics that come and go, not for both",
        ),
    ],
)
def test_what_several_threads_at_one_producer_cannot_have_is_said_in_one_sentence(
    of_spec, of_app, says
):
    (app,) = STRAY.spec.applications
    spec = STRAY.spec.but(applications=(app.but(**of_app),), **of_spec)
    with pytest.raises(BadSpec, match=re.escape(says)):
        ClusterModel(spec, None, design("kafka").client_rules())
