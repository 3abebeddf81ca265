"""The moments of a run at which it matters that something goes wrong, in the protocol's words.

A fault is told by what has happened and what has not: "after PREPARE_COMMIT of tx-1 is durable,
before the COMMIT marker is in output-A-0". Both halves are a clause made of the step's events, so
the same clause that ends one moment's "before" begins the next one's "after".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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

Part = Mapping[str, Any]
SMALL_WORDS = ("a", "an", "and", "at", "by", "in", "is", "of", "on", "the", "to", "with")


def clause(events: tuple[Event, ...]) -> str:
    """Say what a step made true, as far as the protocol promises it; "" for nothing of that kind."""
    calls = any(isinstance(event, CallStarted) for event in events)
    told = [e for e in events if not (calls and isinstance(e, CallReturned) and not e.raised)]
    said = [words for event in told if (words := _clause(event))]
    return " and ".join(dict.fromkeys(said[:2]))


def point(fault: str, moments: Sequence[Part], number: int) -> str:
    """Name a fault at a moment: what is broken, after what, before what."""
    after = f"{fault} after {moments[number]['text']}"
    if number + 1 == len(moments):
        return after
    return f"{after}, before {moments[number + 1]['text']}"


def points(words: str, faults: Sequence[Part], moments: Sequence[Part]) -> list[Part]:
    """Give the points that some words mean: each a fault, with its `point` and its `moment`.

    The words are a fault, perhaps "after" what is done, perhaps "before" what is not. What the
    fault comes right before is meant, or else anything that happens later. `faults` are choices
    with the number of their moment.
    """
    fault, after, before = _parts(words)
    near: list[Part] = []
    far: list[Part] = []
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


def _parts(words: str) -> tuple[str, str, str]:
    head, _, before = words.lower().partition("before ")
    fault, _, after = head.partition("after ")
    return fault, after, before


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
                return ""  # what an internal record says is told by its own event
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
            return f"{call}() {'throws ' + raised + ' at' if raised else 'returns to'} {name}"
        case _:
            return ""
