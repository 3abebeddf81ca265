"""What the page makes of a payload, in Python: lines of branches, and the picture at a step.

The same as `front/src/lines/line.js`, written from the description of the payload, so that a branch can
be compared with the whole line told anew.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from kipviz.cluster.world import World, host_of
from kipviz.views.explanations.sentences import summary

Part = dict[str, Any]
SUFFIXED = ("rows", "messages", "notes", "downs", "verdicts", "choices")


def main_line(payload: Part) -> Part:
    """The main line of a payload."""
    return {name: list(payload[name]) for name in ("steps", "bigs", *SUFFIXED)}


def branch_line(parent: Part, branch: Part) -> Part:
    """The parent up to where the branch leaves it, and what the branch brings."""
    at = branch["at"]
    ends = {(card, row): to for card, row, to in branch["closes"]}
    said = {verdict["property"]: verdict["from"] for verdict in reversed(branch["verdicts"])}
    rows = [
        {**row, "to": ends.get((row["card"], row["id"]))} if lasts(row, at) else row
        for row in parent["rows"]
        if row["from"] <= at
    ]
    messages = {
        m["id"]: m
        if ending(m) is not None and ending(m) <= at
        else {**m, "arrived": None, "lost": None}
        for m in parent["messages"]
        if m["sent"] <= at
    }
    messages |= {m["id"]: m for m in branch["messages"]}
    downs = {
        (d["lane"], d["from"]): {**d, "to": None} if lasts(d, at) else d
        for d in parent["downs"]
        if d["from"] <= at
    }
    downs |= {(d["lane"], d["from"]): d for d in branch["downs"]}
    verdicts = [
        {**v, "to": said.get(v["property"])} if lasts(v, at) else v
        for v in parent["verdicts"]
        if v["from"] <= at
    ]
    choices = [
        {**c, "to": at} if c["to"] is None or c["to"] > at else c
        for c in parent["choices"]
        if c["from"] < at
    ]
    bigs = [{**b, "to": min(b["to"], at + 1)} for b in parent["bigs"] if b["from"] <= at]
    return {
        "steps": [*parent["steps"][: at + 1], *branch["steps"]],
        "rows": [*rows, *branch["rows"]],
        "messages": list(messages.values()),
        "notes": [*(n for n in parent["notes"] if n["step"] <= at), *branch["notes"]],
        "downs": list(downs.values()),
        "verdicts": [*verdicts, *branch["verdicts"]],
        "choices": [*choices, *branch["choices"]],
        "bigs": [*bigs, *branch["bigs"]],
    }


def lasts(part: Part, at: int) -> bool:
    """Whether a part with a lifetime goes on after a step."""
    return part["to"] is None or part["to"] > at


def alive(part: Part, step: int) -> bool:
    """Whether a part with a lifetime is shown at a step."""
    return part["from"] <= step and (part["to"] is None or step < part["to"])


def ending(message: Part) -> int | None:
    """The step at which a message leaves the wire."""
    return message["arrived"] if message["arrived"] is not None else message["lost"]


def cards_at(line: Part, step: int) -> Part:
    """Every card's rows at a step, with their tones."""
    cards: Part = {}
    for row in line["rows"]:
        if alive(row, step):
            card = cards.setdefault(row["card"], {})
            assert row["id"] not in card, f"two rows {row['id']!r} of {row['card']!r} at {step}"
            card[row["id"]] = {**row["cells"], "tone": row["tone"]}
    return cards


def on_wire_at(line: Part, step: int) -> list[Part]:
    """The messages that are on the wire after a step."""
    return [
        m for m in line["messages"] if m["sent"] <= step and (ending(m) is None or ending(m) > step)
    ]


def choices_at(line: Part, step: int) -> list[Part]:
    """What can happen next at a step, and what cannot."""
    return [item for choice in line["choices"] if alive(choice, step) for item in choice["items"]]


def verdicts_at(line: Part, step: int) -> dict[str, tuple[str, str]]:
    """What each property says at a step."""
    found = [v for v in line["verdicts"] if alive(v, step)]
    assert len({v["property"] for v in found}) == len(found)
    return {v["property"]: (v["state"], v["reason"]) for v in found}


def down_at(line: Part, step: int) -> set[str]:
    """The hosts that are down at a step."""
    return {d["lane"] for d in line["downs"] if alive(d, step)}


def picture(line: Part, step: int) -> Part:
    """All that the page shows at a step, in an order that does not depend on how it was sent."""
    return {
        "step": {k: v for k, v in line["steps"][step].items() if k != "node"},
        "cards": cards_at(line, step),
        "wire": sorted(
            (m["id"], m["label"], m["from"], m["to"], m["sent"]) for m in on_wire_at(line, step)
        ),
        "arrived": sorted(m["id"] for m in line["messages"] if m["arrived"] == step),
        "lost": sorted(m["id"] for m in line["messages"] if m["lost"] == step),
        "notes": [n for n in line["notes"] if n["step"] == step],
        "down": sorted(down_at(line, step)),
        "verdicts": verdicts_at(line, step),
        "choices": sorted(str(item) for item in choices_at(line, step)),
    }


def wire_of(world: World) -> Counter[tuple[str, str, str, str]]:
    """What is really in flight: from, to, way and label of every message."""
    found: Counter[tuple[str, str, str, str]] = Counter()
    for (source, broker), connection in world.connections.items():
        there, here = host_of(source), f"B{broker}"
        for envelope in connection.requests:
            found[there, here, "request", summary(envelope.message)] += 1
        for envelope in connection.responses:
            found[here, there, "response", summary(envelope.message)] += 1
    return found
