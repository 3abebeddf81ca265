"""What an application may expect, clause by clause: a hand-made step that breaks it, and its neighbours that do not."""

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
from kipviz.checking.judging.verdicts import property_named
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.throwing.client_errors import NoOffset, NotAllAcknowledged, request_error
from kipviz.core.model import Event, Outcome
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.events import (
    WRITE_FAILED,
    CallReturned,
    MessageDelivered,
    MessageSent,
    RecordsMoved,
    TimePassed,
)
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
)
from kipviz.messages.transactions.transactions import EndTxn
from kipviz.properties.verdict import BROKEN
from kipviz.records.share_group_state import RecordState
from tests.clients.parts import change
from tests.messages.shares import fetches, stages, staging_response

S = RecordState
ACCEPT, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.REJECT
SOURCE = "app-1/producer"
STAGED = InFlight(
    S.TX_PENDING, 1, staged_producer_id=9, staged_producer_epoch=0, staged_type=ACCEPT
)
HELD = InFlight(S.ACQUIRED, 1, "M1", 100)


def world_of(
    records: dict[int, InFlight],
    *,
    applications: dict[str, Any] | None = None,
    start: int = 100,
    parked: tuple[ParkedFetch, ...] = (),
    waiting: tuple[SessionCall, ...] = (),
    group: str = "g1",
) -> Any:
    """A world of one share-partition, src-0, whose leader has these records in flight; another role comes first."""
    share = SharePartition("k", group, "src-0", 0, start_offset=start, next_offset=102)
    share = share.but(records=Table.of(records), parked=parked)
    roles = {
        (4, "partition_leader", ""): SimpleNamespace(waiting=("no fetch of a share session",)),
        (5, "share_partition_leader", ""): ShareLeader(
            shares=Table.of({"k": share}), waiting=waiting
        ),
    }
    return SimpleNamespace(roles=Table.of(roles), applications=Table.of(applications or {}))


def reason(name: str, world: Any, *events: Event) -> str:
    """Why an expectation is broken after these events, a step each, in a world that stays the same."""
    prop = property_named(name)
    seen = prop.initial(world)
    for event in events:
        seen = prop.observe(seen, None, Outcome(world, (event,)))
    finding = prop.finding(seen)
    assert bool(finding.reason) is (finding.status == BROKEN)
    return finding.reason


def move_event(
    before: RecordState, after: RecordState, because: str = "a marker", *, first: int = 100
) -> Event:
    return RecordsMoved("src-0", "g1", first, 100, before, after, 5, "M1", because, 9, 0)


# -- own acknowledgement is no conflict --------------------------------------------------------------

OWN = "own acknowledgement is no conflict"
FOR_100 = (AcknowledgementBatch(100, 100, ACCEPT),)
FOR_BOTH = (AcknowledgementBatch(100, 101, ACCEPT),)


def staging(
    *batches: AcknowledgementBatch,
    to: str = "src-0",
    others: tuple[tuple[str, tuple[AcknowledgementBatch, ...]], ...] = (),
    **changes: Any,
) -> Any:
    asked = stages("my-txn", "g1", 9, 0, "M1", 1, to, batches, *others)
    return asked.but(**changes)


def producer(on_wire: Any, source: str = SOURCE) -> Any:
    return SimpleNamespace(producer=SimpleNamespace(source=source, on_wire=on_wire))


def refusal(error: Errors = Errors.INVALID_RECORD_STATE, partition: str = "src-0") -> Event:
    answer = staging_response(error, partition)
    return MessageSent(SOURCE, 5, "response", answer)


def reason_of_refusal(
    asked: Any, event: Event, records: dict[int, InFlight], group: str = "g1", **others: Any
) -> str:
    """What is said of a refused staging; other applications come first."""
    applications = {**others, "A9": producer(asked)}
    return reason(OWN, world_of(records, applications=applications, group=group), event)


def test_a_repeated_staging_of_the_producer_s_own_record_may_not_be_refused() -> None:
    both = {100: STAGED, 101: STAGED}
    said = (
        "src-0@100 is staged by producer 9, epoch 0, and the same producer receives INVALID_RECORD_STATE: "
        "it has to abort a correct transaction"
    )
    assert reason_of_refusal(staging(*FOR_100), refusal(), {100: STAGED}) == said
    assert reason_of_refusal(staging(*FOR_BOTH), refusal(), both) == said
    other = producer(staging(AcknowledgementBatch(7, 7, ACCEPT)), "app-0/producer")
    assert reason_of_refusal(staging(*FOR_100), refusal(), {100: STAGED}, A0=other) == said
    busy = producer(EndTxn("my-txn", 9, 0, True))
    assert reason_of_refusal(staging(*FOR_100), refusal(), {100: STAGED}, A0=busy) == said
    further = (("src-0", FOR_100),)
    elsewhere = staging(AcknowledgementBatch(5, 5, ACCEPT), to="src-1", others=further)
    assert reason_of_refusal(elsewhere, refusal(), {100: STAGED}) == said


@pytest.mark.parametrize(
    ("asked", "event", "records", "group"),
    [
        (staging(*FOR_100), refusal(Errors.NONE), {100: STAGED}, "g1"),
        (staging(*FOR_100), refusal(Errors.SHARE_SESSION_NOT_FOUND), {100: STAGED}, "g1"),
        (staging(*FOR_100), TimePassed(5), {100: STAGED}, "g1"),
        (None, refusal(), {100: STAGED}, "g1"),
        (staging(*FOR_100), refusal(), {}, "g1"),
        (staging(*FOR_100), refusal(), {100: STAGED.but(state=S.AVAILABLE)}, "g1"),
        (staging(*FOR_100), refusal(), {100: STAGED.but(state=S.ACQUIRED)}, "g1"),
        (staging(*FOR_100), refusal(), {100: STAGED.but(staged_producer_id=8)}, "g1"),
        (staging(*FOR_100), refusal(), {100: STAGED.but(staged_producer_epoch=1)}, "g1"),
        (staging(*FOR_100), refusal(), {100: STAGED.but(staged_type=REJECT)}, "g1"),
        (staging(*FOR_100), refusal(), {100: STAGED}, "g2"),
        (staging(*FOR_BOTH), refusal(), {100: STAGED}, "g1"),
    ],
    ids=[
        *("accepted", "another error", "no response", "nothing asked", "not in flight"),
        *("available", "acquired", "another producer", "another epoch", "another type"),
        *("another group", "one of two"),
    ],
)
def test_any_other_staging_may_be_refused(
    asked: Any, event: Event, records: dict[int, InFlight], group: str
) -> None:
    assert reason_of_refusal(asked, event, records, group) == ""


# -- the others that look at records in flight ---------------------------------------------------------


def reason_of_commit(records: dict[int, InFlight], event: Event) -> str:
    manager = SimpleNamespace(identity=(9, 0))
    applications = {"A1": SimpleNamespace(producer=SimpleNamespace(manager=manager))}
    return reason("commit means decided", world_of(records, applications=applications), event)


def test_a_commit_that_returns_has_decided_every_record_wherever_it_stands() -> None:
    returned = CallReturned("A1", 3, "commitTransaction", "")
    said = "commitTransaction() of A1 has returned, and src-0@101 is staged in an undecided transaction"
    others = STAGED.but(staged_producer_id=8)
    assert reason_of_commit({100: others, 101: STAGED, 102: others}, returned) == said
    assert reason_of_commit({101: STAGED}, CallReturned("A1", 3, "abortTransaction", "")) == ""
    assert reason_of_commit({101: STAGED}, CallReturned("A1", 3, "commitTransaction", FENCED)) == ""
    assert reason_of_commit({101: STAGED}, TimePassed(5)) == ""
    assert reason_of_commit({101: STAGED.but(state=S.AVAILABLE)}, returned) == ""


def test_a_lock_whose_timer_has_fired_releases_nothing() -> None:
    name, taken = "every lock expires", move_event(S.TX_PENDING, S.ACQUIRED)
    stuck = HELD.but(lock=-1)
    assert reason(name, world_of({100: stuck}), taken) == (
        "src-0@100 is ACQUIRED by M1 because a marker, but its timer has already fired, so nothing will release it"
    )
    assert reason(name, world_of({99: HELD, 100: stuck}), taken)
    for fine in (
        *(HELD, HELD.but(lock=0), stuck.but(ongoing=True)),
        *(stuck.but(state=S.AVAILABLE), stuck.but(state=S.ACKNOWLEDGED)),
    ):
        assert reason(name, world_of({100: fine}), taken) == ""
    assert reason(name, world_of({100: stuck}), move_event(S.ACQUIRED, S.AVAILABLE)) == ""
    assert reason(name, world_of({100: stuck}), TimePassed(5)) == ""


FENCED = request_error(EndTxn, Errors.PRODUCER_FENCED)
EXPLICIT = NotAllAcknowledged()


def reason_of_poll(staged: tuple[int, ...], event: Event) -> str:
    consumer = ShareConsumer("src", "g1", "M1", 1, "src-0", 5)
    consumer = change(consumer, batch=(100, 101), staged=staged)
    applications = {"A1": SimpleNamespace(consumer=consumer)}
    return reason("poll() goes on", world_of({}, applications=applications), event)


def test_a_poll_after_every_record_is_staged_goes_on() -> None:
    thrown = CallReturned("A1", 3, "poll", EXPLICIT)
    said = f"poll() of A1 throws {EXPLICIT}, and all of them are staged"
    assert reason_of_poll((100, 101), thrown) == said
    assert reason_of_poll((100, 101, 102), thrown) == said
    assert reason_of_poll((100,), thrown) == ""
    assert reason_of_poll((), thrown) == ""
    assert reason_of_poll((100, 101), CallReturned("A1", 3, "poll", "")) == ""
    assert reason_of_poll((100, 101), CallReturned("A1", 3, "poll", NoOffset("src-0"))) == ""
    assert reason_of_poll((100, 101), CallReturned("A1", 3, "acknowledge", EXPLICIT)) == ""
    assert reason_of_poll((100, 101), TimePassed(5)) == ""


# -- a member that waits for what it holds -------------------------------------------------------------

FETCH = ParkedFetch(fetches("M1", 1, "src-0", 1), ReplyTo("app-1/consumer", 5, 0))
ALONE = "no self-deadlock"
AFTER_ABORT = "abort releases records"
WAITS = (
    "M1 waits in poll(), and src-0@100 is ACQUIRED by M1, which does not know it: only the expiry of the "
    "record's lock releases it"
)
BACK = move_event(S.TX_PENDING, S.ACQUIRED)
SENT = MessageSent("app-1/consumer", 5, "request", FETCH.request)


def test_a_member_may_not_wait_for_a_record_that_it_holds() -> None:
    waiting = world_of({100: HELD}, parked=(FETCH,))
    for event in (SENT, move_event(S.AVAILABLE, S.ACQUIRED)):
        assert reason(ALONE, waiting, event) == WAITS
    assert reason(ALONE, waiting, TimePassed(5)) == ""
    assert reason(ALONE, waiting, SENT, TimePassed(5)) == WAITS
    second = world_of({99: HELD, 100: HELD}, parked=(FETCH,))
    assert reason(ALONE, second, SENT) == WAITS


@pytest.mark.parametrize(
    "others",
    [
        world_of({100: HELD}),
        world_of({100: HELD}, parked=(FETCH.but(acknowledging=True),)),
        world_of({100: HELD.but(ongoing=True)}, parked=(FETCH,)),
        world_of({100: HELD.but(state=S.ACKNOWLEDGED)}, parked=(FETCH,)),
        world_of({100: HELD.but(member_id="M2")}, parked=(FETCH,)),
        world_of({100: HELD}, parked=(FETCH,), start=101),
    ],
    ids=["nobody waits", "acknowledging", "not durable", "done", "another's", "behind the start"],
)
def test_whoever_does_not_hold_the_record_may_wait(others: Any) -> None:
    assert reason(ALONE, others, SENT) == ""


def test_who_was_told_that_a_record_could_not_be_given_back_knows_of_it() -> None:
    waiting = world_of({100: HELD}, parked=(FETCH,))
    told = move_event(S.AVAILABLE, S.ACQUIRED, WRITE_FAILED)
    assert reason(ALONE, waiting, told, SENT) == ""
    assert reason(ALONE, waiting, told, move_event(S.AVAILABLE, S.ACQUIRED)) == WAITS
    assert reason(ALONE, waiting, move_event(S.TX_PENDING, S.ACQUIRED, WRITE_FAILED)) == WAITS


def test_after_an_abort_the_next_poll_does_not_wait_for_the_record_that_it_gave_back() -> None:
    waiting = world_of({100: HELD}, parked=(FETCH,))
    assert reason(AFTER_ABORT, waiting, BACK, SENT) == WAITS
    assert reason(AFTER_ABORT, waiting, SENT) == ""
    assert reason(AFTER_ABORT, waiting, BACK, TimePassed(5)) == ""
    for event in (
        move_event(S.TX_PENDING, S.ACQUIRED, WRITE_FAILED),
        move_event(S.TX_PENDING, S.AVAILABLE),
        move_event(S.AVAILABLE, S.ACQUIRED),
    ):
        assert reason(AFTER_ABORT, waiting, event, SENT) == ""
        assert reason(AFTER_ABORT, world_of({}), BACK, event) == ""
    again = world_of({100: HELD, 101: HELD}, parked=(FETCH,))
    assert reason(AFTER_ABORT, again, BACK, SENT) == WAITS
    later = world_of({99: HELD, 100: HELD}, parked=(FETCH,))
    assert reason(AFTER_ABORT, later, BACK, SENT) == WAITS


def test_a_fetch_of_a_session_waits_until_it_has_fetched() -> None:
    call = SessionCall(FETCH.reply_to, FETCH.request, ("src-0",))
    assert reason(ALONE, world_of({100: HELD}, waiting=(call,)), SENT) == WAITS
    assert reason(ALONE, world_of({100: HELD}, waiting=(call.but(fetched=()),)), SENT) == ""
    elsewhere = call.but(partitions=("src-1",))
    assert reason(ALONE, world_of({100: HELD}, waiting=(elsewhere,)), SENT) == ""
    assert reason(ALONE, world_of({100: HELD}, waiting=(call,), group="g2"), SENT) == ""


# -- what an abort gives back, and what is rejected ----------------------------------------------------


def test_a_record_that_an_abort_gave_back_is_not_archived() -> None:
    name, gone = (
        "abort is no failed delivery",
        move_event(S.ACQUIRED, S.ARCHIVED, "its lock expired"),
    )
    assert reason(name, world_of({}), BACK, gone) == (
        "src-0@100 was given back by an aborted transaction and is ARCHIVED, because its lock expired after "
        "delivery 5: no consumer ever failed to process it"
    )
    assert reason(name, world_of({}), BACK, move_event(S.ACQUIRED, S.ACKNOWLEDGED)) == ""
    assert reason(name, world_of({}), BACK, TimePassed(5)) == ""
    assert reason(name, world_of({}), TimePassed(5), BACK, TimePassed(5), gone)
    first_of_two = move_event(S.ACQUIRED, S.ARCHIVED, first=99)
    assert reason(name, world_of({}), BACK, first_of_two).startswith("src-0@100 was given back")
    released = move_event(S.TX_PENDING, S.AVAILABLE)
    assert reason(name, world_of({}), released, gone) == ""
    failed = move_event(S.TX_PENDING, S.ACQUIRED, WRITE_FAILED)
    assert reason(name, world_of({}), failed, gone) == ""


REJECTED = "rejected records are archived"
ENDED = move_event(S.TX_PENDING, S.ACKNOWLEDGED)
PENDING = move_event(S.ACQUIRED, S.TX_PENDING)


def asks(kind: AcknowledgeType, first: int = 100, last: int = 100, **changes: Any) -> Event:
    request = staging(AcknowledgementBatch(first, last, kind), **changes)
    return MessageDelivered(SOURCE, 5, "request", request)


def after(*events: Event) -> str:
    return reason(REJECTED, world_of({}), *events)


def test_a_record_that_was_staged_with_reject_is_not_acknowledged() -> None:
    said = (
        "src-0@100 was rejected in its transaction and is ACKNOWLEDGED, because a marker: it counts as "
        "processed, and no dead letter is written"
    )
    assert after(asks(REJECT), PENDING, ENDED) == said
    assert after(asks(REJECT, 99, 100), PENDING, ENDED) == said
    assert after(asks(REJECT, 100, 101), PENDING, ENDED) == said
    assert after(asks(REJECT), TimePassed(5), PENDING, TimePassed(5), ENDED) == said
    assert after(asks(ACCEPT), asks(REJECT), PENDING, ENDED) == said
    assert after(asks(REJECT), PENDING, move_event(S.TX_PENDING, S.ACKNOWLEDGED, first=99)) == said
    further = (("src-0", (AcknowledgementBatch(100, 100, REJECT),)),)
    several = asks(ACCEPT, to="src-1", others=further)
    assert after(several, PENDING, ENDED) == said
    assert after(asks(REJECT), PENDING, move_event(S.TX_PENDING, S.ACQUIRED), ENDED) == said


@pytest.mark.parametrize(
    "events",
    [
        (ENDED,),
        (asks(REJECT), ENDED),
        (asks(ACCEPT), PENDING, ENDED),
        (asks(AcknowledgeType.RELEASE), PENDING, ENDED),
        (asks(AcknowledgeType.RENEW), PENDING, ENDED),
        (asks(REJECT), asks(ACCEPT), PENDING, ENDED),
        (asks(REJECT, 101, 101), PENDING, ENDED),
        (asks(REJECT, 99, 99), PENDING, ENDED),
        (asks(REJECT, producer_id=8), PENDING, ENDED),
        (asks(REJECT, producer_epoch=1), PENDING, ENDED),
        (asks(REJECT), PENDING, move_event(S.TX_PENDING, S.ARCHIVED)),
        (asks(REJECT), PENDING, move_event(S.TX_PENDING, S.AVAILABLE), ENDED),
        (asks(REJECT), PENDING, PENDING, ENDED),
        (asks(REJECT), PENDING, TimePassed(5)),
    ],
    ids=[
        *("nobody asked", "never staged", "accepted", "released", "renewed", "changed their mind"),
        *("the next one", "the one before", "another producer", "another epoch", "archived"),
        *("free in between", "staged again without", "nothing happens"),
    ],
)
def test_a_record_that_was_not_staged_with_reject_may_be_acknowledged(
    events: tuple[Event, ...],
) -> None:
    assert after(*events) == ""


def test_an_expectation_that_is_broken_stays_so_for_its_first_reason() -> None:
    broken = after(asks(REJECT), PENDING, ENDED)
    later = move_event(S.TX_PENDING, S.ACKNOWLEDGED, "another marker")
    assert after(asks(REJECT), PENDING, ENDED, asks(REJECT), PENDING, later) == broken


def test_what_breaks_within_a_step_is_what_comes_first() -> None:
    world, prop = world_of({}), property_named(REJECTED)
    second = RecordsMoved(
        *("src-0", "g1", 101, 101, S.TX_PENDING, S.ACKNOWLEDGED, 5, "M1", "a marker", 9, 0)
    )
    both = RecordsMoved("src-0", "g1", 100, 101, S.ACQUIRED, S.TX_PENDING, 5, "M1", "it", 9, 0)
    step = Outcome(world, (asks(REJECT, 100, 101), both, second, ENDED))
    seen = prop.observe(prop.initial(world), None, step)
    assert prop.finding(seen).reason.startswith("src-0@101 was rejected")
