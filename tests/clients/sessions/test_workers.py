"""Further application threads of a process, and what they find at its session."""

from __future__ import annotations

import re

import pytest

from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.clients import workers
from kipviz.clients.application import IDLE, THROUGH, Call
from kipviz.clients.rules import ThreadEntry
from kipviz.clients.sessions import session_threads
from kipviz.clients.thread import step, why_no_step
from kipviz.clients.throwing.client_errors import WorkerBusy
from kipviz.cluster.actions import CrashClient, StartClient, Step
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import BadSpec, FaultBudget, ThreadSpec
from kipviz.designs.catalogue import design
from kipviz.messages.events import CallReturned
from kipviz.scenarios.applications import thread_programs as programs
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.studies.library import study
from kipviz.studies.study import answer
from tests.clients.parts import change
from tests.scenarios.story import nodes, play_once

THREADS, AWAITED, LATE = (
    "kip-1310-two-threads",
    "kip-1310-two-threads-wait",
    "kip-1310-late-thread",
)
RULES = design("repaired").client_rules()


def process(story=THREADS):
    return searched_scenario(story).model(design("repaired")).initial().applications["app-1"]


def at(me, line, thread=""):
    """The process with a thread in front of a line."""
    there = workers.swap_thread(me, thread).but(line=line, ended="", waiting=False)
    return workers.swap_thread(there, thread)


def submit(me):
    return workers.submit(me, programs.SUBMIT, RULES)


def test_a_thread_sees_the_process_with_its_own_place_and_nothing_else_is_different():
    me = submit(process().but(line=3))
    seen = workers.swap_thread(me, "worker")
    assert (seen.line, seen.ended) == (programs.FIRST_OF_WORKER, "")
    assert seen.workers[0].line == 3
    assert (seen.clients, seen.program) == (me.clients, me.program)
    assert workers.swap_thread(seen, "worker") == me
    assert workers.swap_thread(me, "") is me


def test_a_thread_begins_when_it_is_submitted_and_is_through_at_the_end_of_its_lines():
    me = process()
    assert "has not been started" in (why_no_step(workers.swap_thread(me, "worker")) or "")
    me = submit(me.but(records=("r",)))
    assert me.workers[0].records == ("r",)
    assert why_no_step(workers.swap_thread(me, "worker")) is None
    assert workers.why_not_now(me, programs.SUBMIT) == WorkerBusy("worker")
    last = workers.swap_thread(at(me, len(me.program) - 1, "worker"), "worker")
    gone, _ = step(last.but(waiting=True).with_client(change(last.session, done=True)), RULES)
    assert gone.ended == THROUGH


def test_future_get_waits_for_a_thread_and_throws_what_it_threw():
    me = at(submit(process(AWAITED)), AWAITS)
    assert why_no_step(me) == "future.get() of app-1 waits for worker"
    for ended, threw in (
        (THROUGH, ""),
        (IDLE, ""),
        ("send() threw x", "ExecutionException: send() threw x"),
    ):
        done = me.but(workers=(me.workers[0].but(ended=ended),))
        assert why_no_step(done) is None
        _, events = step(done, RULES)
        assert [str(e.raised) for e in events if isinstance(e, CallReturned)] == [threw]


AWAITS = next(i for i, li in enumerate(programs.WAITS_FOR_IT) if li.call is Call.GET)


def test_a_catch_block_takes_what_a_thread_threw_only_if_it_names_it():
    """Future.get throws ExecutionException, which is no KafkaException."""
    me = process(AWAITED)
    me = me.but(line=AWAITS, workers=(me.workers[0].but(ended="send() threw x"),))
    named = me.program[AWAITS]
    assert named.catches == ("ExecutionException",)
    caught, _ = step(me, RULES)
    assert (caught.line, caught.ended) == (named.on_error, "")
    plain = tuple(line.but(catches=()) if line is named else line for line in me.program)
    ended, _ = step(me.but(program=plain), RULES)
    assert ended.ended == "future.get() threw ExecutionException: send() threw x"


def busy():
    """A process whose worker waits in sendOffsetsToTransaction(), and the first thread's next line."""
    me = submit(process())
    (worker,) = me.workers
    return me.but(line=5, workers=(worker.but(line=worker.first + 2, waiting=True),))


@pytest.mark.parametrize(
    ("option", "call", "send"),
    [
        ("one_lock_for_all", ThreadEntry.ENTERS, ThreadEntry.ENTERS),
        ("a_lock_in_the_session", ThreadEntry.ENTERS, ThreadEntry.LOOKS),
        ("held_until_it_returns", ThreadEntry.WAITS, ThreadEntry.WAITS),
        ("one_thread_at_a_time", ThreadEntry.REFUSED, ThreadEntry.REFUSED),
    ],
)
def test_what_a_call_finds_while_another_thread_is_in_one(option, call, send):
    rules = design(f"repaired+session_threads={option}").client_rules()
    me = busy()
    assert session_threads.entry(me, me.program[5], rules) is call
    assert session_threads.entry(me, me.program[4], rules) is send
    idle = me.but(workers=(me.workers[0].but(ended=THROUGH, waiting=False),))
    assert session_threads.entry(idle, me.program[4], rules) is ThreadEntry.ENTERS
    assert (
        session_threads.entry(me, me.program[3], rules) is ThreadEntry.ENTERS
    )  # poll() is no session's


def test_a_call_that_has_to_wait_is_made_when_the_other_one_is_over():
    rules = design("repaired+session_threads=held_until_it_returns").client_rules()
    parked, events = step(busy(), rules)
    assert (parked.gate, events) == (session_threads.PARKED, ())
    assert why_no_step(parked) == (
        "sendOffsetsToTransaction() of app-1 waits until sendOffsetsToTransaction() of another thread is over"
    )
    over = parked.but(workers=(parked.workers[0].but(waiting=False),))
    assert why_no_step(over) is None
    assert step(over, rules)[0].gate == ""


def test_a_process_that_is_started_again_has_no_thread_at_work():
    model = searched_scenario(THREADS).model(design("repaired"))
    world = model.initial()
    begun = world.but(applications=world.applications.set("app-1", submit(process())))
    assert Step("app-1", "worker") in model.enabled(begun)
    assert "no thread other" in (model.why_not(begun, Step("app-1", "other")) or "")
    dead = model.step(begun, CrashClient("app-1")).world
    alive = model.step(dead, StartClient("app-1")).world
    assert alive.applications["app-1"].workers == process().workers


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"threads": ()},
            "app-1 has no thread 'worker' for executor.submit(): its threads are none",
        ),
        ({"threads": (ThreadSpec("worker", 0),)}, "begins with a line from 1 to"),
        ({"threads": (ThreadSpec("worker", 9), ThreadSpec("worker", 9))}, "a name of its own"),
        (
            {"threads": (ThreadSpec("worker", 9, "c", "nowhere-0"),)},
            "which no placement gives a leader",
        ),
        ({"protocol": "consumer"}, "a consumer of a regular group is in it since before the run"),
    ],
)
def test_threads_that_cannot_be_are_refused_in_one_sentence(changes, says):
    spec = searched_scenario(THREADS).spec
    (app,) = spec.applications
    with pytest.raises(BadSpec, match=re.escape(says)):
        ClusterModel(spec.but(applications=(app.but(**changes),)), None, RULES)


@pytest.mark.thorough  # notebook 52 prints the same table, and is compared
def test_how_every_interleaving_of_two_threads_ends_in_each_reading():
    found = {
        row[:2]: tuple(int(c.replace(",", "")) for c in row[2:])
        for row in answer(study("threads")).rows
    }
    at_once, waits, gives_up = dict.fromkeys(row[0] for row in found)
    locked, in_session, held, alone = dict.fromkeys(row[1] for row in found)
    # states, final states, an output without its offset, an output twice, nothing committed
    assert found == {
        (at_once, locked): (4_062, 20, 8, 0, 0),
        (at_once, in_session): (6_126, 56, 12, 0, 0),
        (at_once, held): (3_712, 14, 4, 0, 0),
        (at_once, alone): (4_009, 46, 12, 0, 20),
        (waits, locked): (2_706, 8, 0, 0, 0),
        (waits, in_session): (2_845, 8, 0, 0, 0),
        (waits, held): (2_634, 8, 0, 0, 0),
        (waits, alone): (3_065, 32, 0, 0, 24),
        (gives_up, locked): (601, 6, 0, 0, 0),
        (gives_up, in_session): (843, 8, 0, 2, 0),
        (gives_up, held): (602, 6, 0, 0, 0),
        (gives_up, alone): (737, 8, 0, 0, 0),
    }


def test_a_lock_in_the_session_alone_lets_a_record_in_behind_an_abort():
    model = searched_scenario(LATE).model(design("kip-1310-look-first"), FaultBudget())
    found = Search(model, PROPERTIES).run(Bounds())
    assert {c.property: len(c.actions) for c in found.counterexamples} == {"atomic": 48}


def test_the_three_stories_end_as_they_say():
    def says(story, under):
        trace, _ = play_once(story, under)
        raised = [
            str(e.raised)
            for n in nodes(trace)
            for e in n.events
            if isinstance(e, CallReturned) and e.raised
        ]
        return PROPERTIES[0].finding(trace.observations[0]).status, [
            r.partition(":")[0] for r in raised
        ]

    assert says(THREADS, "repaired") == ("broken", ["IllegalStateException"])
    assert says(AWAITED, "repaired") == ("holds", [])
    assert says(AWAITED, "kip-1310-one-thread") == (
        "holds",
        ["ConcurrentModificationException", "ExecutionException"],
    )
    assert says(LATE, "repaired") == ("holds", [])
    assert says(LATE, "kip-1310") == ("broken", [])


def test_a_thread_s_place_is_its_line_its_wait_its_records_and_its_gate():
    me = submit(process().but(line=3))
    mine = me.workers[0].but(line=5, waiting=True, ended="over", gate="looked")
    me = me.but(workers=(mine,), waiting=False, ended="", gate="parked")
    seen = workers.swap_thread(me, "worker")
    assert (seen.line, seen.waiting, seen.ended, seen.gate) == (5, True, "over", "looked")
    theirs = seen.workers[0]
    assert (theirs.line, theirs.waiting, theirs.ended, theirs.gate) == (3, False, "", "parked")
    assert (seen.thread, workers.swap_thread(seen, "worker").thread) == ("worker", "")
