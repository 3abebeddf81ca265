"""The corner cases of KIP-1289: the text's claim about each, and what happens in each reading of it.

A case is a story of the library. The claim is checked on the run itself, together with the two main properties: whether
each record is produced exactly once, and whether anything stays pending. Nothing here states the result: `told` plays
the story and checks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from kipviz.checking.search.liveness import settle
from kipviz.checking.single_run.continuation import breaks_later
from kipviz.clients.throwing.client_errors import ExceptionClass, exception_class
from kipviz.core.model import Event
from kipviz.core.traces.trace import Trace
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named
from kipviz.messages.errors import Errors
from kipviz.messages.events import CallReturned, MessageSent, RecordsMoved
from kipviz.messages.message_errors import error_of_response
from kipviz.messages.shares.share_groups import TxnShareAcknowledgeResponse
from kipviz.properties.harm import Harm
from kipviz.properties.verdict import BROKEN, PENDING
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.scenarios.script import ScriptError
from kipviz.studies.review_findings import story_predicates

S = RecordState
Events: TypeAlias = tuple[Event, ...]
Check: TypeAlias = Callable[[Trace, Events], bool]

# The readings of the text, the text's code as far as it is known, and our repair.
DESIGNS = (
    "as-written",
    "as-written-available",
    "as-written-broadcast",
    "as-written-local",
    "repaired",
)
YES, NO, STOPS = "yes", "no", "the story stops"


class Corner(Value, frozen=True):
    """One numbered case: the claim, in our words, and how a run is checked for it.

    `also` are designs in which it is played besides the text as written, if another finding hides the subject of the
    case.
    """

    number: int
    title: str
    claim: str
    scenario: str = ""
    check: Check | None = None
    needs: str = ""
    also: tuple[str, ...] = ()


class CornerResult(Value, frozen=True):
    """A case under a design: whether the claim holds, whether exactly once does, and what happened."""

    corner: Corner
    design: str
    holds: str
    once: str
    pending: str
    happens: str


# -- what a claim asks of a run ------------------------------------------------------------------


def nothing_lost(trace: Trace, events: Events) -> bool:
    """No record is acknowledged without a committed output."""
    return PROPERTIES[0].finding(trace.observations[0]).harm is not Harm.LOSS


def exactly_once(trace: Trace, events: Events) -> bool:
    """Each record is produced once, and acknowledged with it."""
    return PROPERTIES[0].finding(trace.observations[0]).status != BROKEN


def nothing_promised(trace: Trace, events: Events) -> bool:
    """No staging succeeds, and no record stays staged."""
    return Errors.NONE not in _answers(events) and not _left_staged(events)


def refused_is_not_staged(trace: Trace, events: Events) -> bool:
    """A rejected staging leaves no record TX_PENDING; otherwise it succeeded."""
    answers = _answers(events)
    return bool(answers) and (Errors.NONE in answers or not _left_staged(events))


def all_or_none(trace: Trace, events: Events) -> bool:
    """If a part of a call is rejected, no part of it is staged any more when the response is sent."""
    nodes = (trace.node(number) for number in trace.line)
    return not any(story_predicates.half_of_a_call(node.world, node.events) for node in nodes)


def refused_whole(trace: Trace, events: Events) -> bool:
    """The call is rejected for a record's state, and no record of it was ever staged before."""
    answers = _answers(events)
    return answers[:1] == [Errors.INVALID_RECORD_STATE] and all_or_none(trace, events)


def refused_for_its_state(trace: Trace, events: Events) -> bool:
    """The response to the staging is INVALID_RECORD_STATE, and no record stays staged."""
    told_so = set(_answers(events)) == {Errors.INVALID_RECORD_STATE}
    return told_so and not _left_staged(events)


def refused_for_its_member(trace: Trace, events: Events) -> bool:
    """The response to the staging is an unknown member id or a stale member epoch."""
    wanted = {Errors.STALE_MEMBER_EPOCH, Errors.UNKNOWN_MEMBER_ID}
    return bool(wanted & set(_answers(events)))


def resolved_once(trace: Trace, events: Events) -> bool:
    """The record leaves TX_PENDING once, however often the marker arrives."""
    return sum(event.before is S.TX_PENDING for event in _moves(events)) == 1


def delivered_again(trace: Trace, events: Events) -> bool:
    """The record is delivered a second time."""
    return (
        sum(event.after is S.ACQUIRED and event.before is S.AVAILABLE for event in _moves(events))
        > 1
    )


def thrown_and_not_sent(trace: Trace, events: Events) -> bool:
    """The staging call throws UnsupportedVersionException, and no staging is sent."""
    thrown = any(
        isinstance(event, CallReturned)
        and exception_class(event.raised) is ExceptionClass.UNSUPPORTED_VERSION
        for event in events
    )
    return thrown and not _answers(events)


def aborted_by_the_application(trace: Trace, events: Events) -> bool:
    """The application aborts: abortTransaction() returns, and no transaction is open at the end."""
    aborted = any(
        isinstance(event, CallReturned) and event.call == "abortTransaction" and not event.raised
        for event in events
    )
    return aborted and not any(log.open for log in trace.world.logs.values())


CORNERS: tuple[Corner, ...] = (
    Corner(
        1,
        "Broker crash during TX_PENDING",
        "No data is lost, and delivery is at least once while the broker is down.",
        "kip-1289-corner-1",
        nothing_lost,
    ),
    Corner(
        2,
        "Registration fails",
        "Nothing is staged unless the response to the producer says so.",
        "kip-1289-corner-2",
        refused_is_not_staged,
    ),
    Corner(
        3,
        "Producer fenced mid-stage",
        "A fenced producer is rejected, and nothing stays staged.",
        "kip-1289-corner-3",
        nothing_promised,
    ),
    Corner(
        5,
        "Duplicate WriteTxnMarkers",
        "The second marker has no effect, so the record is resolved once.",
        "kip-1289-corner-5",
        resolved_once,
        # As written, only the marker's epoch breaks it (finding I), not the duplicate.
        also=("finding-I", "as-written+marker_epoch=greater"),
    ),
    Corner(
        6,
        "Lock expiry while TX_PENDING",
        "The record is released, and the late marker does no harm.",
        "kip-1289-lock-expiry",
        exactly_once,
    ),
    Corner(
        7,
        "Transaction timeout while TX_PENDING",
        "The abort releases the record, and it is delivered again.",
        "kip-1289-corner-7",
        delivered_again,
    ),
    Corner(
        8,
        "Stale member epoch",
        "The response to the staging is STALE_MEMBER_EPOCH or UNKNOWN_MEMBER_ID.",
        "kip-1289-corner-8",
        refused_for_its_member,
    ),
    Corner(
        8,
        "Stale member epoch, the member's own snapshot is old",
        "The response to the staging is STALE_MEMBER_EPOCH or UNKNOWN_MEMBER_ID.",
        "kip-1289-corner-8-snapshot",
        refused_for_its_member,
    ),
    Corner(
        9,
        "Mixed-version cluster",
        "The call throws UnsupportedVersionException, and no byte of the staging is sent.",
        "kip-1289-corner-9",
        thrown_and_not_sent,
    ),
    Corner(
        9,
        "Mixed-version cluster, the recovery with the loop of the text",
        "The application aborts the transaction that its output is in.",
        "kip-1289-corner-9",
        aborted_by_the_application,
    ),
    Corner(
        9,
        "Mixed-version cluster, the recovery with one catch block",
        "The application aborts the transaction that its output is in.",
        "kip-1289-corner-9-abort",
        aborted_by_the_application,
    ),
    Corner(
        10,
        "Invalid acknowledge type",
        "INVALID_RECORD_STATE, and nothing is staged.",
        "kip-1289-corner-10",
        refused_for_its_state,
    ),
    Corner(
        11,
        "Partial stage failure",
        "A call is all or nothing. Here the second of three records of one partition is not acquired.",
        "kip-1289-corner-11",
        refused_whole,
    ),
    Corner(
        11,
        "Partial stage failure, two partitions of one leader",
        "The staged records are ACQUIRED again before the response is sent.",
        "kip-1289-corner-11-one-leader",
        all_or_none,
    ),
    Corner(
        11,
        "Partial stage failure, two partitions of two leaders",
        "The staged records are ACQUIRED again before the response is sent.",
        "kip-1289-corner-11-two-leaders",
        all_or_none,
    ),
    Corner(
        12,
        "Leader change of the state partition",
        "TX_PENDING is lost with the leader, the lock reverts the record, and it is delivered again.",
        "kip-1289-corner-12",
        delivered_again,
    ),
    Corner(
        13,
        "Abort without markers",
        "The abort converges, and the record is delivered again.",
        "kip-1289-corner-13",
        delivered_again,
    ),
    Corner(
        14,
        "Concurrent transactions, different epochs",
        "A staging with an older epoch is rejected, and nothing stays staged.",
        "kip-1289-corner-14",
        nothing_promised,
    ),
)


def play_case(corner: Corner, name: str) -> CornerResult:
    """Play a case under a design and return the result."""
    if corner.check is None:
        return CornerResult(corner, name, "", "", "", f"not in the model: {corner.needs}")
    story, chosen = searched_scenario(corner.scenario), design_named(name)
    try:
        trace, _ = story.play(chosen)
    except ScriptError as stopped:
        return CornerResult(corner, name, STOPS, "", "", str(stopped).partition("; possible:")[0])
    events = _events(trace)
    atomic, pending = (
        prop.finding(state) for prop, state in zip(PROPERTIES, trace.observations, strict=True)
    )
    left = ""
    if pending.status == PENDING:
        left = settle(story.model(chosen), trace.world, trace.observations[1]).answer
        left = f"{pending.reason} ({left})"
    holds = YES if corner.check(trace, events) else NO
    later = breaks_later(story.model(chosen), trace.world, trace.observations[:1], PROPERTIES[:1])
    once = NO if atomic.status == BROKEN or later else YES
    reason = later[0].sentence if later else atomic.reason
    return CornerResult(corner, name, holds, once, left, _happens(trace, events, reason))


def play_corners(designs: tuple[str, ...] = DESIGNS) -> Iterator[CornerResult]:
    """Play every case under every design; next to the text as written also under the designs in `also`."""
    for corner in CORNERS:
        also = corner.also if DESIGNS[0] in designs else ()
        others = tuple(name for name in also if name not in designs)
        for name in (*designs, *others) if corner.check is not None else designs[:1]:
            yield play_case(corner, name)


def _happens(trace: Trace, events: Events, reason: str) -> str:
    """Return what happened to the first record, the responses, and the exceptions, in words."""
    path = [event.after.name for event in _moves(events) if event.first == 100]
    parts = [f"record 100: {' → '.join(path)}"]
    answers = [answer.name for answer in _answers(events)]
    if answers:
        parts.append(f"stagings: {', '.join(dict.fromkeys(answers))}")
    thrown = [e.raised.words for e in events if isinstance(e, CallReturned) and e.raised]
    if thrown:
        parts.append(f"thrown: {', '.join(dict.fromkeys(thrown))}")
    if reason:
        parts.append(reason)
    return "; ".join(parts)


def _events(trace: Trace) -> Events:
    nodes = (trace.node(number) for number in trace.line)
    return tuple(event for node in nodes for event in node.events)


def _moves(events: Events) -> list[RecordsMoved]:
    return [event for event in events if isinstance(event, RecordsMoved)]


def _left_staged(events: Events) -> bool:
    last = {event.first: event.after for event in _moves(events)}
    return S.TX_PENDING in last.values()


def _answers(events: Events) -> list[Errors]:
    return [
        error_of_response(event.message)
        for event in events
        if isinstance(event, MessageSent) and isinstance(event.message, TxnShareAcknowledgeResponse)
    ]
