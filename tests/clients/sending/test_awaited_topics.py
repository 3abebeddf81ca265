"""A send() that waits for the metadata of its topic, and what ends the wait."""

from __future__ import annotations

from kipviz.brokers.authorizer import Acl
from kipviz.clients.sending import awaited_topics
from kipviz.clients.sending import producer as sending
from kipviz.clients.sending.awaited_topics import KnownTopics
from kipviz.clients.timers import RetryBackOff
from kipviz.clients.transactions.producer_errors import error_of
from kipviz.cluster.actions import (
    ClientTimer,
    CrashClient,
    CreateTopic,
    StartClient,
    Step,
    TimeOutCall,
)
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.timing.clock import Clock
from kipviz.driving.cluster import Cluster
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.cluster.metadata import Metadata, MetadataResponse, TopicId
from kipviz.messages.errors import Errors
from kipviz.messages.events import CallReturned, MessageSent
from kipviz.messages.logs.producing import PartitionProduceResponse, Produce
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxnResponse,
    EndTxn,
    PartitionResult,
    TxnPartitionsResult,
)
from kipviz.scenarios.applications.programs import GROUP_LOOP, MANY_IN_A_TRANSACTION
from kipviz.scenarios.script import next_by_itself
from tests.clients.parts import change, producer_of
from tests.cluster.small_clusters import small_spec

BACK_OFF = ClientTimer("app-1/producer", RetryBackOff())


class Run(Cluster):
    """A process that is in send(), for a topic that is not there."""

    def __init__(self, program=GROUP_LOOP, *, acls=None, timed=False, **changes):
        spec = small_spec("group", program=program, budget=FaultBudget(max_block=2, crash_client=1))
        (app,) = spec.applications
        spec = spec.but(applications=(app.but(**changes),), later_topics=("output-A",), acls=acls)
        spec = spec.but(clock=Clock("timed") if timed else Clock())
        super().__init__(spec, "kafka")
        for _ in range(200):
            if self.waits and next_by_itself(self.model, self.world) is None:
                break
            self.take(next_by_itself(self.model, self.world) or Step("app-1"))
            if self.raised:
                break

    @property
    def app(self):
        return self.world.applications["app-1"]

    @property
    def producer(self):
        return self.app.producer

    @property
    def waits(self):
        return self.app.waiting and self.app.program[self.app.line].call.value == "send"

    @property
    def raised(self):
        return [str(e.raised) for e in self.events if isinstance(e, CallReturned) and e.raised]

    def count_sent(self, kind):
        return sum(isinstance(e, MessageSent) and isinstance(e.message, kind) for e in self.events)


def test_send_waits_as_long_as_nobody_knows_the_topic_and_asks_after_each_back_off():
    run = Run()
    assert run.waits
    assert run.producer.metadata == KnownTopics(True, (), run.producer.metadata.held, True)
    assert (run.count_sent(Metadata), run.count_sent(Produce)) == (1, 0)
    run.take(BACK_OFF)
    run.quiet()
    assert run.count_sent(Metadata) == 2
    assert run.waits


def test_send_goes_on_when_the_topic_is_made_and_asks_no_more():
    run = Run()
    run.take(CreateTopic("output-A"))
    run.take(BACK_OFF)
    run.quiet()
    run.take(Step("app-1"))
    assert run.producer.metadata == KnownTopics(True, ("output-A",))
    run.quiet()
    assert (run.count_sent(Metadata), run.count_sent(Produce)) == (2, 1)


def test_after_max_block_ms_send_returns_and_the_next_call_throws():
    run = Run()
    run.take(TimeOutCall("app-1"))
    assert run.raised == []
    run.take(Step("app-1"))
    why = "TimeoutException: Topic output-A not present in metadata after max.block.ms"
    assert run.raised == [why]
    assert (run.producer.state_name, run.producer.manager.queue) == ("ABORTABLE_ERROR", ())


def test_whoever_may_not_see_the_topic_is_told_so_at_once():
    acls = (
        Acl("app-1", Operation.WRITE, Resource.TRANSACTIONAL_ID, "txn-1"),
        Acl("app-1", Operation.READ, Resource.GROUP, "g1"),
        Acl("app-1", Operation.READ, Resource.TOPIC, "src"),
    )
    run = Run(acls=acls)
    run.take(Step("app-1"))
    assert run.raised == ["Produce: TOPIC_AUTHORIZATION_FAILED"]
    assert run.producer.metadata.held == ()


def test_a_process_that_starts_again_knows_no_topic():
    run = Run()
    run.take(CreateTopic("output-A"))
    run.take(BACK_OFF)
    run.quiet()
    run.take(CrashClient("app-1"))
    run.take(StartClient("app-1"))
    assert run.producer.metadata == KnownTopics(True)


def test_with_several_batches_on_the_way_it_waits_for_the_topic_and_then_for_room():
    run = Run(MANY_IN_A_TRANSACTION, max_in_flight=5, buffer=1, max_records=1)
    assert run.waits
    run.take(CreateTopic("output-A"))
    run.take(BACK_OFF)
    run.quiet()
    run.take(Step("app-1"))
    assert not run.app.waiting
    assert run.producer.metadata.topics == ("output-A",)
    run.take(CrashClient("app-1"))
    run.take(StartClient("app-1"))
    assert run.producer.metadata == KnownTopics(True)


def test_room_may_be_missing_when_the_topic_has_come():
    run = Run(MANY_IN_A_TRANSACTION, max_in_flight=5, buffer=1, max_records=1)
    producer = run.producer
    full = change(producer, metadata=producer.metadata.but(topics=("output-A",)), done=True)
    batch = full.metadata.held[0]
    with_one = awaited_topics.end_wait(full)
    with_one = _send_batch(with_one, batch)
    app = run.app.with_client(change(with_one, metadata=full.metadata, done=True))
    turn = run.model.turn(run.world)
    turn.applications = turn.applications.set("app-1", app)
    world = run.model.step(turn.world(), Step("app-1")).world
    after = world.applications["app-1"]
    assert after.waiting
    assert after.producer.accumulator.blocked == (batch,)


def _send_batch(producer, batch):
    return sending.send(producer, *batch)


def test_on_a_timed_clock_the_back_off_takes_its_time():
    run = Run(timed=True)
    assert BACK_OFF not in run.model.enabled(run.world)
    due = [d.by for d in run.world.deadlines if d.place == ("app-1/producer", RetryBackOff())]
    assert due


def test_an_answer_that_nobody_waits_for_changes_nothing():
    answer = MetadataResponse(Errors.NONE, (TopicId("output-A", "A"),))
    me = producer_of("p", "t", metadata=KnownTopics(True))
    assert awaited_topics.on_metadata(me, answer) is me
    assert awaited_topics.look_up_again(me) is me


def test_a_batch_that_fails_because_nobody_leads_its_partition_takes_the_topic_out_of_the_cache():
    me = producer_of("p", "t", metadata=KnownTopics(True, ("out", "other")))
    gone = PartitionProduceResponse("out-0", Errors.UNKNOWN_TOPIC_ID)
    after = awaited_topics.after_failure(me, gone, gone.error)
    assert after.metadata.topics == ("other",)
    fenced = PartitionProduceResponse("out-0", Errors.INVALID_PRODUCER_EPOCH)
    assert awaited_topics.after_failure(me, fenced, fenced.error).metadata == me.metadata


def test_a_missing_partition_is_asked_for_again_whatever_is_wrong_with_the_others():
    def error_beside(other: Errors) -> Errors:
        forbidden = PartitionResult("a-0", Errors.TOPIC_AUTHORIZATION_FAILED)
        result = TxnPartitionsResult("t", (forbidden, PartitionResult("b-0", other)))
        return error_of(AddPartitionsToTxnResponse((result,)))

    unknown = Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert error_beside(unknown) is unknown
    assert error_beside(Errors.OPERATION_NOT_ATTEMPTED) is Errors.TOPIC_AUTHORIZATION_FAILED


def test_a_topic_is_asked_for_before_everything_else_and_no_more_when_the_wait_is_over():
    """KafkaProducer.waitOnMetadata: the request of the metadata waits for none of the transaction's."""
    me = producer_of("app-1/producer", "t", queue=(EndTxn("t", 9, 0, True),))
    waiting = awaited_topics.asking(me, "out-0", ())
    assert waiting.manager.queue == (Metadata(("out",)), *me.manager.queue)
    assert awaited_topics.asks(waiting)
    asked = change(waiting, queue=me.manager.queue)
    assert not awaited_topics.asks(asked), "the question is on its way"
    over = awaited_topics.end_wait(waiting)
    assert (over.manager.queue, over.metadata.held, over.manager.done) == (
        me.manager.queue,
        (),
        True,
    )
