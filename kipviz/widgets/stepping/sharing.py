"""A stepper's run to take away: its permalink, its files, its steps as rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from kipviz.checking.single_run.permalink import seal_link
from kipviz.core.links.bits import bytes_of
from kipviz.core.links.link import MARK_SIZE, Leg
from kipviz.views.page_parts import Part, Shown
from kipviz.widgets.pages.line import line_of

# A step as a row of a table.
StepRow: TypeAlias = dict[str, str | int]

# Things that last for several steps and are drawn: hosts that are down, heads of lanes, network partitions.
SPANS = ("downs", "heads", "cuts")


def permalink_of(payload: Shown, branches: Sequence[Shown], branch: int, step: int) -> str:
    """Return the permalink to a step of a branch.

    Raises:
        ValueError: if the run's scenario is not in the library, or the link would be too long.
    """
    known = {one["id"]: one for one in branches}
    tree = _tree(known, branch)
    chain: list[Leg] = []
    number = branch
    while number and _tree(known, known[number]["parent"]) == tree:
        own = known[number]
        chain.append(Leg(own["at"], _encode_taken(own["steps"])))
        number = own["parent"] or 0
    # The first branch of a run under other settings represents the whole run.
    origin = known[number] if number else payload
    first = line_of(payload, branches, number).steps
    chain.append(Leg(0, _encode_taken(first[1:])))
    start = _mark({"mark": origin["start"]} if number else first[0])
    steps = line_of(payload, branches, branch).steps
    here = min(step, len(steps) - 1)
    return seal_link(origin.get("head", ""), start, here, chain[::-1])


def _tree(known: Mapping[int, Shown], number: int | None) -> int:
    """Return the number of a branch's run: 0, or that of other settings."""
    return int(known[number].get("tree", 0)) if number else 0


def steps_of(payload: Shown, branches: Sequence[Shown], branch: int) -> list[StepRow]:
    """Return one row for each step of a branch; each property has its own column."""
    line = line_of(payload, branches, branch)
    messages = line.messages
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


def whole(payload: Shown, branches: Sequence[Shown], branch: int) -> Part:
    """Return a branch as a payload in which it is the main branch, with what a picture shows of it."""
    line = line_of(payload, branches, branch)
    parts = {name: list(payload.get(name, [])) for name in ("notes", *SPANS)}
    chain: list[Shown] = []
    while branch:
        chain.append(next(one for one in branches if one["id"] == branch))
        branch = chain[-1]["parent"] or 0
    for own in reversed(chain):
        at = own["at"]
        notes = [n for n in parts["notes"] if n["step"] <= at] + own.get("notes", [])
        parts = {name: _spans(parts[name], own.get(name, []), at) for name in SPANS}
        parts["notes"] = notes
    told = {
        "steps": line.steps,
        "bigs": line.bigs,
        "verdicts": line.verdicts,
        "messages": line.messages,
    }
    return {**payload, **told, **parts, "branches": []}


def _spans(inherited: Sequence[Shown], own: Sequence[Shown], at: int) -> list[Shown]:
    """Return the spans of a branch: those that began on its parent, and those that it replaces or adds."""
    found = {_span_key(span): span for span in inherited if span["from"] <= at}
    return list((found | {_span_key(span): span for span in own}).values())


def _span_key(span: Shown) -> tuple[object, ...]:
    return tuple(value for name, value in span.items() if name != "to")


def _encode_taken(steps: Sequence[Shown]) -> tuple[tuple[int | str, bytes], ...]:
    return tuple((step.get("pick", 0), _mark(step)) for step in steps)


def _mark(step: Shown) -> bytes:
    """Return the first bytes of a step's fingerprint; a payload of another origin may have none."""
    text = step.get("mark", "")
    return bytes_of(text) if text else bytes(MARK_SIZE)
