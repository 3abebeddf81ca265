"""What an application may expect: over hand-made histories, and over whole searches."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kipviz.brokers.context import ReplyTo
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.share_leaders.share_partition import (
    ParkedFetch,
    SessionCall,
    ShareLeader,
    SharePartition,
)
from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.verdicts import EVERY_PROPERTY, property_named
from kipviz.clients.throwing.client_errors import Raised, request_error
from kipviz.core.model import Event, Outcome
from kipviz.core.table import Table
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.events import WRITE_FAILED, CallReturned, RecordsMoved
from kipviz.messages.transactions.transactions import EndTxn
from kipviz.properties.expectations import EXPECTATIONS, AbortIsNoFailure, Expectation
from kipviz.properties.verdict import BROKEN, HOLDS
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.library import searched_scenario
from kipviz.studies.review_findings.findings import first_break
from tests.messages.shares import fetches
from tests.properties.history import WORLD

S = RecordState


def move_event(before: RecordState, after: RecordState) -> Event:
    return RecordsMoved("src-0", "g1", 100, 100, before, after, 1, "M1", "of a test", 9, 0)


def verdict(prop: Expectation, *events: Event) -> str:
    seen = prop.initial(WORLD)
    for event in events:
        seen = prop.observe(seen, None, Outcome(WORLD, (event,)))
    return prop.finding(seen).status


BACK = move_event(S.TX_PENDING, S.ACQUIRED)
GIVEN_UP = move_event(S.ACQUIRED, S.ARCHIVED)


def test_a_record_that_an_abort_gave_back_is_not_to_be_archived() -> None:
    assert verdict(AbortIsNoFailure(), BACK, GIVEN_UP) == BROKEN


@pytest.mark.parametrize(
    "events",
    [
        (GIVEN_UP,),
        (BACK, move_event(S.ACQUIRED, S.AVAILABLE), move_event(S.AVAILABLE, S.ACQUIRED), GIVEN_UP),
        (move_event(S.TX_PENDING, S.ARCHIVED),),
    ],
    ids=["never staged", "delivered again", "rejected in a transaction"],
)
def test_what_is_archived_for_another_reason_is_no_failure_of_an_abort(
    events: tuple[Event, ...],
) -> None:
    assert verdict(AbortIsNoFailure(), *events) == HOLDS


@pytest.mark.parametrize("prop", EXPECTATIONS, ids=[p.name for p in EXPECTATIONS])
def test_an_expectation_is_found_by_name_and_not_asked_of_every_search(prop: Expectation) -> None:
    assert property_named(prop.name) is prop
    assert prop not in EVERY_PROPERTY
    assert prop.sentence.endswith(".")
    assert prop.source
    assert prop.finding(prop.initial(WORLD)).status == HOLDS


@pytest.mark.parametrize(
    ("story", "faults", "name"),
    [
        ("kip-1289-small", "time_out=1", "own acknowledgement is no conflict"),
        ("kip-1289-small", "", "commit means decided"),
        ("kip-1289-small-abort", "", "abort releases records"),
        ("kip-1289-small-abort", "", "no self-deadlock"),
        pytest.param(
            *("kip-1289-small-moved", "move_leader=1", "no self-deadlock"),
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_the_repaired_design_does_what_an_application_may_expect(
    story: str, faults: str, name: str
) -> None:
    model = searched_scenario(story).model(design("repaired"), budget_of(faults))
    found, explored = first_break(model, property_named(name))
    assert found is None
    assert explored.complete


def waiting_with(held: Table[int, InFlight], start: int) -> Any:
    """A world in which M1 waits for records of src-0, and holds some."""
    waiting = ParkedFetch(fetches("M1", 1, "src-0", 1), ReplyTo("app-1/consumer", 5, 0))
    share = SharePartition("k", "g1", "src-0", 0, start_offset=start, next_offset=102)
    leader = ShareLeader(shares=Table.of({"k": share.but(records=held, parked=(waiting,))}))
    return SimpleNamespace(roles=Table.of({(5, "share_partition_leader", ""): leader}))


@pytest.mark.parametrize(("start", "status"), [(100, BROKEN), (101, HOLDS)])
def test_nobody_waits_for_a_record_that_retention_took_from_the_log(
    start: int, status: str
) -> None:
    """The member's own lock holds it there; there is nothing to be delivered again."""
    world = waiting_with(Table.of({100: InFlight(S.ACQUIRED, 1, "M1", 100)}), start)
    prop = property_named("no self-deadlock")
    seen = prop.observe(
        prop.initial(world), None, Outcome(world, (move_event(S.AVAILABLE, S.ACQUIRED),))
    )
    assert prop.finding(seen).status == status


@pytest.mark.parametrize(
    ("because", "status"), [(WRITE_FAILED, HOLDS), ("delivered to the member", BROKEN)]
)
def test_who_could_not_give_back_two_records_knows_of_both(because: str, status: str) -> None:
    """One refused write brings them back, in an event each."""
    held = Table.of({o: InFlight(S.ACQUIRED, 1, "M1", 100) for o in (100, 101)})
    world = waiting_with(held, 100)
    events = tuple(
        RecordsMoved("src-0", "g1", o, o, S.AVAILABLE, S.ACQUIRED, 1, "M1", because, -1, -1)
        for o in (100, 101)
    )
    prop = property_named("no self-deadlock")
    seen = prop.observe(prop.initial(world), None, Outcome(world, events))
    assert prop.finding(seen).status == status
    assert prop.observe(seen, None, Outcome(world, events)) == seen


def committing(record: InFlight, call: str = "commitTransaction", raised: Raised = "") -> str:
    """What "commit means decided" says of a commit of A1, producer 9 with epoch 0, while a record is in flight."""
    world = waiting_with(Table.of({100: record}), 100)
    world.applications = Table.of(
        {"A1": SimpleNamespace(producer=SimpleNamespace(manager=SimpleNamespace(identity=(9, 0))))}
    )
    prop = property_named("commit means decided")
    event = CallReturned("A1", 3, call, raised)
    return prop.finding(prop.observe(prop.initial(world), None, Outcome(world, (event,)))).status


STAGED = InFlight(S.TX_PENDING, 1, staged_producer_id=9, staged_producer_epoch=0)


def test_a_commit_that_has_returned_leaves_nothing_of_its_transaction_staged() -> None:
    assert committing(STAGED) == BROKEN
    assert committing(STAGED, raised=request_error(EndTxn, Errors.PRODUCER_FENCED)) == HOLDS
    assert committing(STAGED, call="abortTransaction") == HOLDS
    assert committing(STAGED.but(staged_producer_epoch=1)) == HOLDS
    assert committing(STAGED.but(staged_producer_id=8)) == HOLDS
    assert committing(STAGED.but(state=S.ACKNOWLEDGED)) == HOLDS


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, BROKEN),
        ({"partitions": ("src-1",)}, HOLDS),
        ({"fetched": ()}, HOLDS),
        ({"request": fetches("M1", 1, "src-0", 1, group_id="g2")}, HOLDS),
        ({"request": fetches("M2", 1, "src-0", 1)}, HOLDS),
    ],
)
def test_a_fetch_of_a_session_waits_for_itself_where_it_waits_for_that_partition(
    changes: dict[str, Any], status: str
) -> None:
    request, to = fetches("M1", 1, "src-0", 1), ReplyTo("app-1/consumer", 5, 0)
    call = SessionCall(to, request, ("src-0", "src-1")).but(**changes)
    held = Table.of({100: InFlight(S.ACQUIRED, 1, "M1", 100)})
    share = SharePartition("k", "g1", "src-0", 0, start_offset=100, next_offset=102)
    leader = ShareLeader(shares=Table.of({"k": share.but(records=held)}), waiting=(call,))
    world = SimpleNamespace(roles=Table.of({(5, "share_partition_leader", ""): leader}))
    prop = property_named("no self-deadlock")
    taken = move_event(S.AVAILABLE, S.ACQUIRED)
    seen = prop.observe(prop.initial(world), None, Outcome(world, (taken,)))
    assert prop.finding(seen).status == status
