"""Two designs side by side, stepped together.

Both runs tell the same flow, so they are held together by its big steps: within each, both sides go
on one small step at a time and the shorter one waits for the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import zip_longest
from typing import Any

import anywidget
import traitlets

from kipviz.widgets import payload as payloads
from kipviz.widgets import twin
from kipviz.widgets.line import Line, line_of
from kipviz.widgets.stepper import FRONT, with_words

Pairs = list[list[int]]


class Compare(anywidget.AnyWidget):
    """Two steppers in one: one cursor, two diagrams, the first difference marked.

    Attributes:
        payload: both payloads, the pairs of steps that belong together, and the first difference.
        step: the cursor, a place in the pairs.
        selection, all_lanes: as in the stepper.
    """

    _esm = FRONT.read_text(encoding="utf-8")

    payload = traitlets.Dict().tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    selection = traitlets.Dict().tag(sync=True)
    all_lanes = traitlets.Bool(False).tag(sync=True)

    def __init__(self, left: Mapping[str, Any], right: Mapping[str, Any], **traits: Any) -> None:
        """Show two payloads of one scenario."""
        for payload in (left, right):
            payloads.read(payload)
        self._left = line_of(left, [], 0)
        self._right = line_of(right, [], 0)
        pairs, bigs = in_step(self._left, self._right)
        both = {
            "format": payloads.FORMAT,
            "title": left["title"]
            if left["title"] == right["title"]
            else f"{left['title']} | {right['title']}",
            "left": dict(left),
            "right": dict(right),
            "pairs": pairs,
            "bigs": bigs,
            "difference": difference(self._left, self._right, pairs),
        }
        super().__init__(payload=both, **traits)

    @cached_property
    def _fingerprint(self) -> str:
        return payloads.fingerprint(self.payload)

    def text(self) -> str:
        """Both runs as tables for a plain terminal, one after the other."""
        left, right = self.payload["pairs"][self._place]
        halves = (
            (self.payload["left"], self._left, left),
            (self.payload["right"], self._right, right),
        )
        rows = [self.payload["title"]]
        for payload, line, step in halves:
            rows += ["", _design(payload), *twin.table(line, step)]
        return "\n".join([*rows, "", repr(self)])

    @property
    def _place(self) -> int:
        return max(0, min(self.step, len(self.payload["pairs"]) - 1))

    def __repr__(self) -> str:
        """Step n of m | first difference | each side's verdicts | fingerprint."""
        left, right = self.payload["pairs"][self._place]
        where = f"step {self._place} of {len(self.payload['pairs']) - 1}"
        found = self.payload["difference"]
        first = (
            f"first difference at {found['at']}: {found['sentence']}" if found else "no difference"
        )
        sides = (
            f"{self.payload['left']['design']['name']}: {twin.verdict_words(self._left, left)}",
            f"{self.payload['right']['design']['name']}: {twin.verdict_words(self._right, right)}",
        )
        return " | ".join((where, first, *sides, self._fingerprint))

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The widget, and beside it both flows in words for where no widget can be drawn."""
        bundle = super()._repr_mimebundle_(**kwargs)
        rows = [repr(self), _design(self.payload["left"]), *twin.flow(self._left)]
        rows += [_design(self.payload["right"]), *twin.flow(self._right)]
        return with_words(bundle, "\n".join(rows))


def in_step(left: Line, right: Line) -> tuple[Pairs, list[dict[str, Any]]]:
    """Pair the small steps of two lines, big step by big step.

    A big step that only one side tells, because its design leaves nothing to do there, lets the
    other side wait.

    Returns:
        The pairs, and the big steps as ranges of pairs.
    """
    pairs: Pairs = [[0, 0]]
    bigs: list[dict[str, Any]] = []
    for one, other in _together(left, right):
        begin, ends, title = len(pairs), (pairs[-1][0], pairs[-1][1]), ""
        if other is not None:
            ends, title = (ends[0], _end(right, other)), str(right.bigs[other]["title"])
        if one is not None:
            ends, title = (_end(left, one), ends[1]), str(left.bigs[one]["title"])
        while (pairs[-1][0], pairs[-1][1]) != ends:
            pairs.append([min(pairs[-1][0] + 1, ends[0]), min(pairs[-1][1] + 1, ends[1])])
        if len(pairs) > begin:
            bigs.append({"from": begin, "to": len(pairs), "title": title})
    while (pairs[-1][0], pairs[-1][1]) != (left.last, right.last):
        pairs.append([min(pairs[-1][0] + 1, left.last), min(pairs[-1][1] + 1, right.last)])
    return pairs, bigs


def difference(left: Line, right: Line, pairs: Sequence[Sequence[int]]) -> dict[str, Any] | None:
    """The first pair at which another thing happens or a property says something else."""
    for at, (one, other) in enumerate(pairs):
        words = left.steps[one]["sentence"], right.steps[other]["sentence"]
        states = _states(left, one), _states(right, other)
        if words[0] != words[1]:
            return {"at": at, "sentence": f"Left: {words[0]} Right: {words[1]}"}
        if states[0] != states[1]:
            names = [name for name, state in states[0].items() if states[1].get(name) != state]
            names += [name for name in states[1] if name not in states[0]]
            say = " and ".join(
                f"{name}: {states[0].get(name, 'not asked')} against {states[1].get(name, 'not asked')}"
                for name in names
            )
            return {"at": at, "sentence": f"The verdicts differ: {say}."}
    return None


def _states(line: Line, step: int) -> dict[str, str]:
    return {verdict["property"]: verdict["state"] for verdict in line.verdicts_at(step)}


def _together(left: Line, right: Line) -> list[tuple[int | None, int | None]]:
    """The big steps of both sides in order: of one title together, else one for one."""
    one, other = ([str(big["title"]) for big in line.bigs] for line in (left, right))
    found: list[tuple[int | None, int | None]] = []
    for _, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        found += zip_longest(range(a, b), range(c, d))
    return found


def _end(line: Line, n: int) -> int:
    """The last small step of the n-th big step."""
    return min(int(line.bigs[n]["to"]) - 1, line.last)


def _design(payload: Mapping[str, Any]) -> str:
    return f"design {payload['design']['name']} ({payload['design']['status']})"
