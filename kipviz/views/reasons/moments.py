"""The moments of a run at which a fault matters, in the protocol's words.

A fault is described by what has happened and what has not: "after PREPARE_COMMIT of tx-1 is durable, before the COMMIT
marker is in output-A-0". Both halves are clauses made from the events of a step, so one moment's "before" is the next
one's "after".
"""

from __future__ import annotations

from collections.abc import Sequence

from kipviz.core.model import Event
from kipviz.messages.events import (
    BatchAppended,
    CallReturned,
    CallStarted,
    LeaderMoved,
    OffsetResolved,
    OffsetStaged,
    RecordsMoved,
    SharePartitionLoaded,
    TransactionMoved,
)
from kipviz.scenarios.run_points import parse_point
from kipviz.views.page_parts import MomentPart, Shown

SMALL_WORDS = ("a", "an", "and", "at", "by", "in", "is", "of", "on", "the", "to", "with")


def clause(events: tuple[Event, ...]) -> str:
    """Return what a step made true in the protocol's terms; "" if nothing."""
    calls = any(isinstance(event, CallStarted) for event in events)
    told = [e for e in events if not (calls and isinstance(e, CallReturned) and not e.raised)]
    said = [words for event in told if (words := _clause(event))]
    return " and ".join(dict.fromkeys(said[:2]))


def point(fault: str, moments: Sequence[MomentPart], number: int) -> str:
    """Return the name of a fault at a moment: the fault, after what, before what."""
    after = f"{fault} after {moments[number]['text']}"
    if number + 1 == len(moments):
        return after
    return f"{after}, before {moments[number + 1]['text']}"


def points(words: str, faults: Sequence[Shown], moments: Sequence[MomentPart]) -> list[Shown]:
    """Return the points that match some words: each is a fault, with its `point` and its `moment`.

    The words are a point of a run (`scenarios.run_points`): a fault, optionally "after" what is done, optionally
    "before" what is not. "before" matches what comes right after the fault, or else anything later. `faults` are choices
    with the number of their moment.
    """
    asked = parse_point(words.lower())
    fault, after, before = asked.happens, asked.after, asked.before
    near: list[Shown] = []
    far: list[Shown] = []
    for item in faults:
        number = item["moment"]
        done, *due = [moment["text"].lower() for moment in moments[number:]]
        beside = f"{item['text']} {item.get('sub', '')} {done}".lower()
        if not (_all(fault, beside) and _all(after, done)):
            continue
        told = {**item, "point": point(item["text"], moments, number)}
        if _all(before, due[0] if due else ""):
            near.append(told)
        elif any(_all(before, later) for later in due):
            far.append(told)
    return near or far


def _all(words: str, text: str) -> bool:
    return all(w in text for w in words.replace(",", " ").split() if w not in SMALL_WORDS)


def _clause(event: Event) -> str:
    match event:
        case TransactionMoved(transactional_id=name, after=after, before=before):
            if after is before:
                return f"{name} has {' and '.join(event.partitions)}" if event.partitions else ""
            return f"{after.value} of {name} is durable"
        case BatchAppended(partition=partition, control=control, base_offset=offset):
            if control:
                return f"the {control} marker is in {partition}"
            if partition.startswith("__"):
                return ""  # the content of an internal record has its own event
            return f"the record is in {partition} at {offset}"
        case OffsetStaged(group_id=group, partition=partition):
            return f"the offset of {group} for {partition} is staged"
        case OffsetResolved(group_id=group, partition=partition, committed=committed):
            word = "committed" if committed else "dropped"
            return f"the offset of {group} for {partition} is {word}"
        case RecordsMoved(partition=partition, first=first, last=last, after=after):
            span = str(first) if first == last else f"{first}-{last}"
            return f"{partition}@{span} is {after.name}"
        case SharePartitionLoaded(partition=partition, group_id=group):
            return f"{partition} is loaded for {group}"
        case LeaderMoved(partition=partition, after=after):
            return f"{partition} has no leader" if after < 0 else f"B{after} leads {partition}"
        case CallStarted(application=name, call=call):
            return f"{name} calls {call}()"
        case CallReturned(application=name, call=call, raised=raised):
            return f"{call}() {f'throws {raised.words} at' if raised else 'returns to'} {name}"
        case _:
            return ""
