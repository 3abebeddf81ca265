"""What the page says of a further application thread: its steps, its place, and why it stands still."""

from __future__ import annotations

from kipviz.clients.workers import swap_thread
from kipviz.cluster.actions import Step
from kipviz.cluster.behaviour.catalogue import script_name, title_of
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import scenario
from kipviz.views.choices import action_of, choice_id, choices
from kipviz.views.explanations.guards import guards
from kipviz.views.explanations.sentences import tell
from kipviz.views.role_cards import owners
from tests.scenarios.story import play_once

WORKER = Step("app-1", "worker")


def at_work():
    """A world in which both threads are before their poll(), and the model."""
    trace, chapters = play_once("kip-1310-two-threads", "repaired")
    return trace.jump(chapters[1].end).world, scenario("kip-1310-two-threads").model(
        design("repaired")
    )


def test_a_step_of_a_thread_is_told_in_the_threads_name():
    world, model = at_work()
    assert script_name(world, WORKER) == "worker of app-1 goes on"
    assert title_of(world, WORKER) == "poll()"
    outcome = model.step(world, WORKER)
    assert tell(world, WORKER, outcome.events).sentence.startswith("worker of app-1 calls poll().")
    assert title_of(outcome.world, WORKER) == "poll() returns"
    line, *_ = guards(model, world, WORKER)
    assert line == ("line", "9 of 11: records = consumer2.poll(timeout); // the worker's own")


def test_the_lines_of_all_threads_are_lit_and_each_thread_has_a_place():
    world, _ = at_work()
    app = world.applications["app-1"]
    lit = [row["line"] for row in owners.program(app).values() if row["current"]]
    assert lit == [4, 9]
    places = {
        row["label"]: row["value"] for row in owners.of_application(app, world.connections).values()
    }
    assert places["application thread"] == "line 4: poll()"
    assert places["thread worker"] == "line 9: poll()"
    looked = swap_thread(swap_thread(app, "worker").but(gate="has looked"), "worker")
    places = {
        row["label"]: row["value"]
        for row in owners.of_application(looked, world.connections).values()
    }
    assert places["thread worker"] == "line 9: poll(), has looked"


def test_a_thread_that_nobody_has_started_is_shown_with_the_reason():
    model = scenario("kip-1310-two-threads").model(design("repaired"))
    why = model.why_not(model.initial(), WORKER)
    assert why == "the program of app-1 has ended: it has not been started"
    (item,) = (i for i in choices(model, model.initial(), None) if i["why"] == why)
    assert item["text"].startswith("worker of app-1: ")


def test_the_first_thread_of_a_process_is_written_as_before_there_were_others():
    assert choice_id(Step("app-1")) == '{"class":"Step","application":"app-1"}'
    assert action_of(choice_id(WORKER)) == WORKER
