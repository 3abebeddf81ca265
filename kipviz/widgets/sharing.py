"""A stepper's run to take away: its permalink, its files, its steps as rows of a table."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from typing import Any

from kipviz.checking.permalink import check_of, sealed
from kipviz.core.linkcode import MARK_SIZE, Part, Taken
from kipviz.widgets.line import line_of


def permalink_of(
    payload: Mapping[str, Any], branches: Sequence[Mapping[str, Any]], branch: int, step: int
) -> str:
    """Give the permalink to a step of a line.

    Raises:
        ValueError: if the run is of no scenario of the library, or the link would be too long.
    """
    known = {one["id"]: one for one in branches}
    chain: list[Part] = []
    number, head = branch, payload.get("head", "")
    while number:
        own = known[number]
        number = own["parent"] or 0
        if own.get("tree", 0) != known.get(number, {}).get("tree", 0):
            # The same run under other settings: it is told whole, from its own start.
            head = own.get("head", "")
            chain.append(Part(0, _taken(line_of(payload, branches, own["id"]).steps[1:])))
            break
        chain.append(Part(own["at"], _taken(own["steps"])))
    else:
        chain.append(Part(0, _taken(payload["steps"][1:])))
    steps = line_of(payload, branches, branch).steps
    start, here = _mark(steps[0]), _mark(steps[min(step, len(steps) - 1)])
    return sealed(head, start, here, min(step, len(steps) - 1), chain[::-1])


def steps_of(
    payload: Mapping[str, Any], branches: Sequence[Mapping[str, Any]], branch: int
) -> list[dict[str, Any]]:
    """Give one row for each step of a line; each property has a column of its own name."""
    line = line_of(payload, branches, branch)
    messages = _messages(payload, branches, branch)
    rows = []
    for number, step in enumerate(line.steps):
        big = line.big_at(number)
        ended = [m for m in messages if number in (m["arrived"], m["lost"])]
        rows.append(
            {
                "step": number,
                "big_step": "" if big is None else big["title"],
                "node": str(step.get("node", "")),
                "actor": step["actor"],
                "kind": step["kind"],
                "title": step["title"],
                "sentence": step["sentence"],
                "message": ", ".join(m["label"] for m in ended),
                "lost": any(m["lost"] == number for m in ended),
                "chapter": step.get("chapter", ""),
                "rule": step.get("why", {}).get("rule", ""),
                "fingerprint": _mark(step).hex() if step.get("mark") else "",
                **{v["property"]: v["state"] for v in line.verdicts_at(number)},
            }
        )
    return rows


def _messages(
    payload: Mapping[str, Any], branches: Sequence[Mapping[str, Any]], branch: int
) -> list[Mapping[str, Any]]:
    """Give the messages of a line: those of its parent that ended before it left, and its own."""
    if branch == 0:
        return list(payload["messages"])
    own = next(one for one in branches if one["id"] == branch)
    before = _messages(payload, branches, own["parent"] or 0)
    ended = [m for m in before if max(m["arrived"] or 0, m["lost"] or 0) <= own["at"]]
    return [*ended, *own.get("messages", [])]


def _taken(steps: Sequence[Mapping[str, Any]]) -> tuple[Taken, ...]:
    return tuple(Taken(step.get("pick", 0), check_of(_mark(step))) for step in steps)


def _mark(step: Mapping[str, Any]) -> bytes:
    """Give the first bytes of a step's fingerprint; a payload made elsewhere may have none."""
    text = step.get("mark", "")
    return urlsafe_b64decode(text + "=" * (-len(text) % 4)) if text else bytes(MARK_SIZE)
