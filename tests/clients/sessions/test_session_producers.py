"""A producer's constructor with two identities, and its transactionSession() (KIP-1310 2.3)."""

from __future__ import annotations

import pytest

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.clients.application import Call, Line
from kipviz.clients.calls import client_of
from kipviz.clients.sessions.session_calls import GIVEN, find_session
from kipviz.clients.thread import step
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import BadSpec, PlainSpec
from kipviz.designs.catalogue import design
from kipviz.messages.events import CallReturned, SessionGiven
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from tests.clients.parts import change
from tests.scenarios.story import nodes, play_once

RULES = design("repaired").client_rules()
ASK = Line("session = producer.transactionSession();", Call.TRANSACTION_SESSION)
END = Line(f"{GIVEN}.beginTransaction();", Call.BEGIN_TRANSACTION, client=GIVEN)
NEW = Line("producer = new KafkaProducer(configs, session);", Call.NEW_PRODUCER)


def process(story, **changes):
    spec = searched_scenario(story).spec
    app = spec.applications[0].but(**changes)
    model = ClusterModel(spec.but(applications=(app,)), design("repaired").broker_rules(), RULES)
    return model.initial().applications[app.name]


def make_call(me, rules=RULES):
    after, events = step(me, rules)
    raised = next((str(e.raised) for e in events if isinstance(e, CallReturned)), "")
    return after, raised, [e.session for e in events if isinstance(e, SessionGiven)]


TODAY, BOUND = "kip-1310-produce-producer", "kip-1310-produce-session"


def test_a_bound_producer_gives_the_session_that_it_is_bound_to():
    me = process(BOUND, program=(ASK, END))
    after, raised, sessions = make_call(me)
    assert (raised, sessions) == ("", ["app-1/session"])
    assert client_of(after, END) is me.session


def test_a_producer_with_a_transactional_id_gives_its_own_session_which_has_its_state():
    me = process(TODAY, program=(ASK, END))
    after, _, sessions = make_call(me)
    assert sessions == ["app-1/producer"]
    ready = after.with_client(change(me.producer, state=type(me.producer.manager.state).READY))
    begun, raised, _ = make_call(ready)
    assert (raised, begun.producer.state_name) == ("", "IN_TRANSACTION")


def test_a_producer_without_one_gives_null_and_nothing_can_be_called_on_that():
    me = process(TODAY, program=(ASK, END), plain=PlainSpec(), transactional_id="")
    after, raised, sessions = make_call(me)
    assert (raised, sessions, find_session(me)) == ("", [""], None)
    after, raised, _ = make_call(after)
    assert raised == f"NullPointerException: {GIVEN} is null: it is a non-transactional producer"
    assert after.ended.startswith("beginTransaction() threw NullPointerException")


@pytest.mark.parametrize(
    ("option", "configured", "name", "session"),
    [
        ("only_if_they_agree", "", "my-txn", "session"),
        ("only_if_they_agree", "my-txn", "my-txn", "session"),
        ("the_id_of_the_session", "old-txn", "my-txn", "session"),
        ("the_id_of_its_own", "old-txn", "old-txn", ""),
        ("the_id_of_its_own", "my-txn", "my-txn", "session"),
    ],
)
def test_by_which_identity_a_producer_goes(option, configured, name, session):
    rules = design(f"repaired+session_and_id={option}").client_rules()
    me, raised, _ = make_call(process(BOUND, program=(NEW.but(target=configured), ASK)), rules)
    assert (raised, me.producer.manager.transactional_id, me.producer.manager.session) == (
        "",
        name,
        session,
    )


def test_a_constructor_with_two_identities_says_which_two():
    _, raised, _ = make_call(process(BOUND, program=(NEW.but(target="old-txn"), ASK)))
    assert raised == (
        "ConfigException: transactional.id is old-txn, and the session's is my-txn: "
        "a producer has one of them"
    )


@pytest.mark.parametrize(
    ("under", "states", "broken"),
    [
        ("repaired", 35, set()),
        ("repaired+session_and_id=the_id_of_the_session", 40, set()),
        ("repaired+session_and_id=the_id_of_its_own", 0, {"atomic"}),
    ],
)
def test_two_identities_are_two_decisions_and_a_crash_tears_them(under, states, broken):
    model = searched_scenario("kip-1310-two-identities").model(
        design(under), budget_of("crash_client=1")
    )
    search = Search(model, PROPERTIES)
    found = search.run(Bounds(states_max=60_000), lambda *_: not search.found)
    assert {c.property for c in found.counterexamples} == broken
    if not broken:
        assert (found.complete, found.states) == (True, states)


def test_whoever_has_a_producer_ends_its_owners_transaction_through_the_accessor():
    trace, _ = play_once("kip-1310-accessor", "repaired")
    raised = [str(e.raised) for n in nodes(trace) for e in n.events if isinstance(e, CallReturned)]
    assert [r for r in raised if r] == ["IllegalStateException: commitTransaction() in state READY"]


@pytest.mark.parametrize(
    ("story", "line", "says"),
    [
        (TODAY, NEW, "app-1 has no session that a producer could be made for"),
        (
            BOUND,
            Line("", Call.HEARTBEAT, client=GIVEN),
            "heartbeat.. on producer.transactionSession",
        ),
    ],
)
def test_a_call_without_its_object_is_no_program(story, line, says):
    with pytest.raises(BadSpec, match=says):
        process(story, program=(line,))
