"""One branch of a payload, in Python: its steps from the start of the run to its end.

The page does the same in the browser; here it serves text output, commands and comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kipviz.views.lifetimes import covers
from kipviz.views.page_parts import MomentPart, Shown


@dataclass(frozen=True)
class Line:
    """All steps, big steps, verdicts and choices along one branch."""

    name: str
    steps: Sequence[Shown]
    bigs: Sequence[Shown]
    verdicts: Sequence[Shown]
    choices: Sequence[Shown]
    moments: Sequence[MomentPart] = ()
    messages: Sequence[Shown] = ()

    @property
    def last(self) -> int:
        """The last step."""
        return len(self.steps) - 1

    def big_number(self, step: int) -> int:
        """Return how many big steps have started at a step; 0 at the start."""
        return sum(big["from"] <= step for big in self.bigs)

    def big_at(self, step: int) -> Shown | None:
        """Return the big step that a small step belongs to, or None."""
        return next((big for big in self.bigs if big["from"] <= step < big["to"]), None)

    def sentence(self, step: int) -> str:
        """Return the text of a step: the big step's words at its end, else the small step's."""
        big = self.big_at(step)
        if big is not None and step == big["to"] - 1 and big.get("say"):
            return str(big["say"])
        return str(self.steps[step]["sentence"])

    def verdicts_at(self, step: int) -> list[Shown]:
        """Return the verdict of each property at a step, in the payload's order."""
        return [verdict for verdict in self.verdicts if covers(verdict, step)]

    def choices_at(self, step: int) -> list[Shown]:
        """Return what can and what cannot happen next at a step."""
        return [item for choice in self.choices if covers(choice, step) for item in choice["items"]]

    def wire_at(self, step: int) -> list[Shown]:
        """Return the messages in flight at a step, in the order in which they were sent."""
        return [m for m in self.messages if m["sent"] <= step and not _has_ended(m, step)]


def no_step(step: object, last: int, what: str = "") -> str:
    """Return the sentence that there is no such step, with the range of steps."""
    return f"there is no step {step!r} on this line{what}: it has 0 to {last}"


def line_of(payload: Shown, branches: Sequence[Shown], number: object) -> Line:
    """Return all steps along a branch; 0 is the main branch.

    Raises:
        ValueError: if there is no such branch.
    """
    if number == 0:
        return Line(
            "main",
            payload["steps"],
            payload["bigs"],
            payload["verdicts"],
            payload["choices"],
            payload.get("moments", []),
            payload["messages"],
        )
    branch = next((branch for branch in branches if branch["id"] == number), None)
    if branch is None:
        known = ", ".join(str(n) for n in [0, *(branch["id"] for branch in branches)])
        raise ValueError(f"there is no branch {number!r}; there are {known}")
    return _grow_line(line_of(payload, branches, branch["parent"] or 0), branch)


def _grow_line(parent: Line, branch: Shown) -> Line:
    at = branch["at"]
    said = {
        verdict["property"]: verdict["from"] for verdict in reversed(branch.get("verdicts", []))
    }
    bigs = branch.get("bigs", [])
    first_big = bigs[0]["from"] if bigs else at + 1
    return Line(
        branch["name"],
        [*parent.steps[: at + 1], *branch["steps"]],
        [
            *(
                {**big, "to": min(big["to"], at + 1)}
                for big in parent.bigs
                if big["from"] <= at and (not bigs or big["from"] < first_big)
            ),
            *bigs,
        ],
        [
            *(
                verdict
                if verdict["to"] is not None and verdict["to"] <= at
                else {**verdict, "to": said.get(verdict["property"])}
                for verdict in parent.verdicts
                if verdict["from"] <= at
            ),
            *branch.get("verdicts", []),
        ],
        [
            *(
                choice if choice["to"] is not None and choice["to"] <= at else {**choice, "to": at}
                for choice in parent.choices
                if choice["from"] < at
            ),
            *branch.get("choices", []),
        ],
        [
            *(moment for moment in parent.moments if moment["step"] <= at),
            *branch.get("moments", []),
        ],
        _messages(parent, branch, at),
    )


def _messages(parent: Line, branch: Shown, at: int) -> list[Shown]:
    """Return the parent's messages up to a step, with their fate on this branch, and the new ones."""
    own = {message["id"]: message for message in branch.get("messages", [])}
    old = [
        own.pop(m["id"], m if _has_ended(m, at) else {**m, "arrived": None, "lost": None})
        for m in parent.messages
        if m["sent"] <= at
    ]
    return [*old, *own.values()]


def _has_ended(message: Shown, step: int) -> bool:
    end = message.get("arrived")
    if end is None:
        end = message.get("lost")
    return end is not None and end <= step


def message_of(
    payload: Shown, branches: Sequence[Shown], number: int, name: str
) -> tuple[Shown, Shown]:
    """Return a message of a branch, and the tables that describe its bytes.

    Raises:
        ValueError: if the branch has no such message.
    """
    messages = line_of(payload, branches, number).messages
    found = next((message for message in messages if message["id"] == name), None)
    if found is None:
        raise ValueError(f"there is no message {name!r} on this line")
    known = {branch["id"]: branch for branch in branches}
    tables: list[Shown] = []
    while number:
        tables.append(known[number].get("wire", {}))
        number = known[number]["parent"] or 0
    tables.append(payload.get("wire", {}))
    joined = {
        what: {key: one for table in tables for key, one in table.get(what, {}).items()}
        for what in ("kinds", "shapes", "names")
    }
    return found, joined
