"""What a consumer and a producer say to each other about a staging, in the small cluster."""

from __future__ import annotations

import pytest

from kipviz.clients.application import STAGING
from kipviz.clients.calls import CALLS
from kipviz.cluster.actions import Step
from kipviz.cluster.behaviour.catalogue import script_name
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.world import World
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.logs.producing import FetchedRecord
from kipviz.messages.shares.share_groups import AcknowledgeType
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.script import follow

TWICE, TWO_POLLS = "kip-1289-small-twice-in-one", "kip-1289-small-two-polls"
ABORT = "kip-1289-small-abort"
# initTransactions(), poll(), beginTransaction(), send()
TO_THE_SEND = ("app-1 goes on", "quiet", "app-1 goes on") * 2 + ("app-1 goes on",) * 2 + ("quiet",)


def after(story: str, name: str, *steps: str) -> tuple[ClusterModel, World]:
    model = searched_scenario(story).model(design(name))
    trace = Trace.start(model)
    for step in (*TO_THE_SEND, *steps):
        trace = follow(trace, model, step, "the test")
    return model, trace.world


def possible(model: ClusterModel, world: World) -> list[str]:
    return [script_name(world, action) for action in model.enabled(world)]


def test_a_poll_that_would_forget_what_is_in_the_transaction_is_refused() -> None:
    _, world = after(TWICE, "repaired", "app-1 goes on")
    app = world.applications["app-1"]
    assert app.ended.startswith("poll() threw IllegalStateException: all records must be staged")
    assert app.consumer.current_fetch.batch == (100,)


def test_a_poll_is_free_to_forget_when_everything_is_staged() -> None:
    staged = ("app-1 goes on", "quiet", "app-1 goes on")
    _, world = after(TWO_POLLS, "repaired", *staged)
    app = world.applications["app-1"]
    assert (app.waiting, app.ended, app.consumer.current_fetch.batch) == (True, "", ())


@pytest.mark.parametrize(("name", "waits"), [("repaired", True), ("finding-X25", False)])
def test_a_poll_waits_for_a_staging_that_is_under_way(name: str, waits: bool) -> None:
    model, world = after(TWO_POLLS, name, "app-1 goes on")
    assert ("app-1 goes on" not in possible(model, world)) == waits
    reason = model.why_not(world, Step("app-1"))
    assert reason == (
        "poll() of app-1 waits for the answer to TxnShareAcknowledge" if waits else None
    )


@pytest.mark.parametrize(("name", "staged"), [("repaired", ()), ("finding-X26", (100,))])
def test_what_an_abort_never_sends_is_the_consumers_again(
    name: str, staged: tuple[int, ...]
) -> None:
    _, world = after(ABORT, name, "app-1 goes on", "app-1 goes on")
    app = world.applications["app-1"]
    assert (app.consumer.current_fetch.staged, app.producer.manager.queue[0].committed) == (
        staged,
        False,
    )
    assert app.producer.manager.dropped == ()


@pytest.mark.parametrize(("name", "staged"), [("repaired", ()), ("finding-X26", (100,))])
def test_what_a_broker_refuses_to_stage_is_the_consumers_again(
    name: str, staged: tuple[int, ...]
) -> None:
    late = ("app-1 goes on", "the lock of src-0@100 runs out", "quiet")
    _, world = after(TWO_POLLS, name, *late)
    app = world.applications["app-1"]
    assert str(app.producer.error) == "TxnShareAcknowledge: INVALID_RECORD_STATE"
    assert (app.consumer.current_fetch.staged, app.producer.manager.dropped) == (staged, ())


def test_a_refused_staging_leaves_poll_free_because_nothing_can_commit_any_more() -> None:
    late = ("app-1 goes on", "the lock of src-0@100 runs out", "quiet", "app-1 goes on")
    _, world = after(TWO_POLLS, "repaired", *late)
    assert world.applications["app-1"].waiting


# -- with a TransactionSession (KIP-1310) ----------------------------------------------------------

TO_THE_ACKNOWLEDGEMENT = (*TO_THE_SEND[:-1], "app-1 goes on")


def in_session(story: str, *steps: str, again: bool = False) -> tuple[ClusterModel, World]:
    """The story's cluster after some steps; `again` lets the program poll right after its transactional acknowledgement."""
    told = searched_scenario(story)
    app = told.spec.applications[0]
    if again:
        app = app.but(program=(*app.program[:5], app.program[1]))
    spec = told.spec.but(applications=(app,), budget=FaultBudget(delivery_timeout=1))
    model = told.but(spec=spec).model(design("repaired"))
    trace = Trace.start(model)
    for step in (*TO_THE_ACKNOWLEDGEMENT, *steps):
        trace = follow(trace, model, step, "the test")
    return model, trace.world


def test_a_batch_that_fails_its_session_gives_the_records_back_that_it_had_not_staged() -> None:
    _, world = in_session("kip-1310-sink-session")
    assert world.applications["app-1"].consumer.current_fetch.staged == (100, 101)
    _, world = in_session("kip-1310-sink-session", "a batch of app-1/producer expires")
    app = world.applications["app-1"]
    assert (
        app.session.manager.queue,
        app.session.manager.dropped,
        app.consumer.current_fetch.staged,
    ) == (
        (),
        (),
        (),
    )


def test_a_poll_waits_for_the_transactional_acknowledgement_that_the_consumer_sends_itself() -> (
    None
):
    model, world = in_session("kip-1310-share-session", again=True)
    assert "app-1 goes on" not in possible(model, world)
    model, world = in_session("kip-1310-share-session", "quiet", again=True)
    assert "app-1 goes on" in possible(model, world)


@pytest.mark.parametrize(
    "story",
    [
        ABORT,
        "kip-1289-several-partitions",
        "kip-1310-sink-session",
        "kip-1310-share-session",
    ],
)
def test_a_staging_that_speaks_of_no_record_of_the_batch_sends_nothing(story: str) -> None:
    """Its request would be about nothing, and might be refused all the same."""
    model = searched_scenario(story).model(design("repaired"))
    app = model.initial().applications["app-1"]
    app = app.but(records=(FetchedRecord("src-0", 100, "a", 1),))
    line = next(line for line in app.program if line.call in STAGING)
    said = line.but(verdicts=((101, AcknowledgeType.ACCEPT),))
    assert CALLS[line.call].enter(app, said, design("repaired").client_rules()) is app
