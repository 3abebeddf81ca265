"""Two threads at one consumer: who throws, who waits, and what is safe."""

from __future__ import annotations

import re

import pytest

from kipviz.clients.application import Call, Line
from kipviz.clients.groups import consumer_threads
from kipviz.clients.shares import staged_records
from kipviz.clients.thread import step, why_no_step
from kipviz.clients.workers import swap_thread
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import BadSpec, ThreadSpec
from kipviz.designs.catalogue import design
from kipviz.messages.events import CallReturned
from kipviz.properties.verdict import BROKEN
from kipviz.scenarios.applications import shared_consumer_programs as programs
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from tests.clients.parts import change
from tests.messages.shares import stages
from tests.scenarios.story import nodes, play_once

POLLS_ON = searched_scenario("kip-1289-threads-poll-on")
LATE_THREAD = searched_scenario("kip-1310-late-thread")

RULES = design("repaired").client_rules()
POLL = programs.POLL
SNAPSHOT = Line("metadata = shareConsumer.shareGroupMetadata();", Call.SHARE_GROUP_METADATA)
SAYS = Line("shareConsumer.acknowledge(record);", Call.ACKNOWLEDGE)
COMMITS = Line("shareConsumer.commitSync();", Call.COMMIT_SYNC)


def process(mine, its, story=POLLS_ON):
    """A process whose first thread waits in a call, and whose worker stands in front of another one."""
    app = story.model(design("repaired")).initial().applications["app-1"]
    (worker,) = app.workers
    ready = worker.but(line=1, first=1, ended="")
    return app.but(program=(mine, its, its), waiting=True, workers=(ready,))


def list_raised(me):
    _, events = step(swap_thread(me, "worker"), RULES)
    return [str(e.raised) for e in events if isinstance(e, CallReturned)]


@pytest.mark.parametrize(("mine", "its"), [(POLL, SAYS), (POLL, COMMITS), (COMMITS, POLL)])
def test_a_call_beside_another_threads_call_throws(mine, its):
    assert list_raised(process(mine, its)) == [
        "ConcurrentModificationException: KafkaShareConsumer is not safe for multi-threaded access"
    ]


def test_two_polls_of_a_regular_consumer_throw_too():
    poll = Line("records = consumer.poll(timeout);", Call.POLL)
    assert list_raised(process(poll, poll, LATE_THREAD)) == [
        "ConcurrentModificationException: KafkaConsumer is not safe for multi-threaded access"
    ]


def test_a_second_poll_of_a_share_consumer_waits_for_the_first_one_and_then_goes_in():
    me = process(POLL, POLL)
    why = "poll() of app-1 waits until poll() of another thread is over: it is synchronized"
    assert why_no_step(swap_thread(me, "worker")) == why
    back = me.but(waiting=False)
    assert why_no_step(swap_thread(back, "worker")) is None
    after, _ = step(swap_thread(back, "worker"), RULES)
    assert after.waiting


def test_a_snapshot_is_taken_beside_a_poll_and_is_that_of_before():
    me = process(POLL, SNAPSHOT)
    told = me.but(consumer=change(me.consumer, member_epoch=3, staging_told=3))
    after, events = step(swap_thread(told, "worker"), RULES)
    assert [str(e.raised) for e in events if isinstance(e, CallReturned)] == [""]
    later = after.but(consumer=after.consumer.but(member_epoch=4))
    assert later.consumer.handover.snapshot == (me.consumer.member_id, 3)


def test_calls_of_other_objects_and_of_one_thread_alone_are_not_asked():
    me = process(POLL, programs.BEGIN)
    assert consumer_threads.why_refused(swap_thread(me, "worker"), programs.BEGIN) == ""
    assert consumer_threads.why_refused(me.but(workers=()), SAYS) == ""


def test_only_the_thread_that_polls_next_waits_for_a_staging():
    me = process(POLL, SNAPSHOT).but(waiting=False)
    staging = stages("t", 1, 0, "g1", "M1", 0, "src-0", ())
    asked = me.with_client(change(me.producer, queue=(staging,)))
    told = staged_records.settle(asked, RULES)
    assert told.consumer.handover.poll_waits
    assert "waits for the answer to TxnShareAcknowledge" in str(staged_records.why_it_waits(told))
    assert staged_records.why_it_waits(swap_thread(told, "worker")) is None


@pytest.mark.parametrize(("under", "lost"), [("repaired", False), ("finding-X1", True)])
def test_who_polls_on_beside_a_worker_loses_its_record_where_poll_accepts_it(under, lost):
    trace, _ = play_once(POLLS_ON.name, under)
    threw = [
        str(e.raised)
        for n in nodes(trace)
        for e in n.events
        if isinstance(e, CallReturned) and e.raised
    ]
    assert threw == (["TxnShareAcknowledge: INVALID_RECORD_STATE"] if lost else [])
    found = PROPERTIES[0].finding(trace.observations[0])
    assert (found.status == BROKEN) is lost
    polled = trace.world.applications["app-1"].records
    assert [r.value for r in polled] == (["b"] if lost else ["a"])


def test_the_one_share_consumer_of_a_process_is_for_all_its_threads():
    (app,) = POLLS_ON.spec.applications
    own = (ThreadSpec("worker", 4, "consumer-2", "src-0", "M2"),)
    spec = POLLS_ON.spec.but(applications=(app.but(threads=own),))
    says = "thread worker of app-1 has no consumer of its own: the share consumer is one for all threads"
    with pytest.raises(BadSpec, match=re.escape(says)):
        ClusterModel(spec, None, RULES)
