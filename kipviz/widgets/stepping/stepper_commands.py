"""The methods of a stepper: move the cursor, let steps happen, let faults happen.

A fault of your own takes a few lines:

    stepper = kipviz.open("kip-1289-group-commit")
    stepper.points("B1 crashes")                          every moment for it, in words
    stepper.fault_at("B1 crashes after PREPARE_COMMIT")   the one at which it matters
    stepper.take("B1 starts").run_on(seed=7)
    stepper.run_until("COMPLETE_COMMIT", seed=7)

Every method moves the cursor to its result and returns the stepper; the stepper's `said` describes the result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Self

from kipviz.core.outside.validation import text
from kipviz.views.page_parts import Shown
from kipviz.views.reasons.moments import points
from kipviz.widgets.pages.line import Line

# A network partition between two sets of hosts, as the faults are named.
CUT = re.compile(r"\s*([^|]*)\|([^|]*) are (?:cut apart|partitioned)")


class Asking:
    """The methods of a stepper that a notebook's cell uses."""

    # Provided by the stepper itself.
    branch: int
    step: int

    @property
    def _line(self) -> Line:
        raise NotImplementedError

    def ask(self, do: str, **more: object) -> Self:
        """Make a request at the cursor, and move to its answer."""
        raise NotImplementedError

    # -- where to go -----------------------------------------------------------------------------------

    def last(self) -> Self:
        """Move the cursor to the last step of this branch."""
        self.step = self._line.last
        return self

    def go_to(self, title: str) -> Self:
        """Move the cursor to the first step of this branch with a title.

        Raises:
            ValueError: if no step has it; the message lists the titles.
        """
        titles = [step["title"] for step in self._line.steps]
        if title not in titles:
            known = "; ".join(dict.fromkeys(titles))
            raise ValueError(f"no step on this branch is called {title!r}; the steps are: {known}")
        self.step = titles.index(title)
        return self

    # -- what happens next -------------------------------------------------------------------------------

    def possible(self) -> tuple[str, ...]:
        """Return what can happen at the cursor, in words; `take` accepts any of them."""
        items = self._line.choices_at(self.step)
        return tuple(item["text"] for item in items if item.get("enabled", True))

    def take(self, choice: str) -> Self:
        """Take a choice at the cursor, as a click does, and move to its result.

        The choice is named by its id or by its words, as `possible` returns them. A network partition between sets of
        hosts, of which there are too many to list, is named like "B1 B3 | B5 app-1 are partitioned".

        Raises:
            ValueError: if the choice is not possible here, with the reason.
        """
        items = self._line.choices_at(self.step)
        item = next((i for i in items if choice in (i["id"], i["text"])), None)
        if item is None and isinstance(choice, str) and (asked := CUT.fullmatch(choice)):
            return self.cut(asked[1], asked[2])
        if item is None:
            known = "; ".join(self.possible()) or "none"
            raise ValueError(
                f"there is no choice {choice!r} at step {self.step}; there are: {known}"
            )
        _can(item)
        if item.get("taken") and self.step < self._line.last:
            self.step += 1
            return self
        return self.ask("take", choice=item["id"])

    def on_the_wire(self) -> tuple[str, ...]:
        """Return the messages in flight at the cursor, in words; `hold` accepts any of them."""
        return tuple(_message_words(message) for message in self._wire())

    def hold(self, message: str) -> Self:
        """Hold a message back until it is released, and run everything else as far as possible.

        The message is named by its id ("m12") or by some of its words, as `on_the_wire` returns them.

        Raises:
            ValueError: if no such message is in flight, or nothing else happens without it.
        """
        return self.ask("hold", message=self._message(message))

    def lose(self, message: str) -> Self:
        """Break the connection of a message: the message is lost, with all others on that connection.

        Raises:
            ValueError: if no such message is in flight.
        """
        return self.ask("lose", message=self._message(message))

    def release(self, message: str) -> Self:
        """Deliver a message that was held back.

        Raises:
            ValueError: if no such message is in flight, or it is not held back.
        """
        return self.ask("release", message=self._message(message))

    def delay(self, message: str, after: int | str = "quiet") -> Self:
        """Deliver a message only after a later step of this branch, or when nothing else happens by itself.

        Raises:
            ValueError: if no such message is in flight, or that step is not a later one.
        """
        return self.ask("delay", message=self._message(message), after=after)

    def run_on(self, seed: int = 1, steps: int = 400, faults: str = "calm") -> Self:
        """Let dice choose what happens, until nothing is left to do or `steps` steps are made.

        Raises:
            ValueError: if the seed or the number is not valid, or nothing happens by itself here.
        """
        return self.ask("run", seed=seed, steps=steps, faults=faults)

    def run_until(
        self, wanted: str, kind: str = "any", seed: int = 1, steps: int = 400, faults: str = "calm"
    ) -> Self:
        """Let dice choose what happens until a condition holds.

        `kind` is the kind of the condition: a "message" (EndTxn), a "state" (TX_PENDING), a "property" that does not
        hold (atomic), "text" of a step's sentence, or "any" of these.

        Raises:
            ValueError: if it does not hold within `steps` steps.
        """
        return self.ask("until", wanted=wanted, kind=kind, seed=seed, steps=steps, faults=faults)

    # -- what goes wrong, and when -----------------------------------------------------------------------

    def points(self, words: str = "") -> tuple[str, ...]:
        """Return the faults at named moments of the protocol on this branch, filtered by words.

        Each has the form "FAULT after what is done, before what is not"; `fault_at` accepts any of them.

        Raises:
            ValueError: if the words match no fault of this branch.
        """
        found = self._points(text("a fault", words, "B1 crashes"))
        if words.strip() and not found:
            raise self._unknown(words)
        return tuple(item["point"] for item in found)

    def fault_at(self, words: str) -> Self:
        """Let a fault happen at a named moment of the protocol, and move to its result.

        The words are one of `points`, or enough of it to identify one fault; it happens at the first moment that fits:
        "transaction coordinator crashes after PREPARE_COMMIT before marker". A network partition between sets of hosts
        is written in full: "B1 app-1 | B3 are partitioned after PREPARE_COMMIT".

        Raises:
            ValueError: if the words match no fault or several, or it is not possible then, with the reason.
        """
        if not text("a fault", words, "B1 crashes").strip():
            raise ValueError('name a fault, such as "B1 crashes"; points() gives all of them')
        found = self._points(words)
        found = [item for item in found if item["point"] == words] or found
        if not found:
            raise self._unknown(words)
        able = [item for item in found if item.get("enabled", True)] or found
        names = list(dict.fromkeys(item["text"] for item in able))
        if len(names) > 1:
            raise ValueError(f"{words!r} matches several faults: {'; '.join(names[:8])}")
        _can(able[0])
        self.step = self._line.moments[able[0]["moment"]]["step"]
        if "cut" in able[0]:
            return self.cut(*able[0]["cut"])
        return self.ask("take", choice=able[0]["id"])

    def _unknown(self, words: str) -> ValueError:
        known = "; ".join(dict.fromkeys(item["text"] for item in self._points("")))
        return ValueError(
            f"no fault on this branch is called {words!r}; the faults are: {known}. "
            "points(words) gives the moments"
        )

    def cut(self, one: str | Sequence[str], other: str | Sequence[str] = "*") -> Self:
        """Partition the network at the cursor between every host of one set and every host of the other.

        The hosts of a set are named as on the lanes, "B1 B3 app-1" or a list; "*" is all the others.
        It is one fault, and heals as one: `take("B1 B3 | B5 app-1 are connected again")`.

        Raises:
            ValueError: if a set is empty, names an unknown host, or shares a host with the other, or no network
                partition is left in the budget.
        """
        return self.ask("cut", one=one, other=other)

    def _points(self, words: str) -> list[Shown]:
        line = self._line
        asked = CUT.match(words)
        wide = [{"text": asked[0], "cut": asked.groups()}] if asked else []
        faults = [
            {**item, "moment": number}
            for number, moment in enumerate(line.moments)
            for item in wide or line.choices_at(moment["step"])
            if wide or item["group"] == "fault"
        ]
        return points(words, faults, line.moments)

    # -- another course of the same line -------------------------------------------------------------------

    def skip(self) -> Self:
        """Skip the event of this step, and replay the rest as far as possible without it.

        The stepper's `said` states how many events could not happen any more; the branch lists them, with the reasons.

        Raises:
            ValueError: if nothing happens without it.
        """
        return self.ask("skip")

    def move(self, to: int, where: str = "after") -> Self:
        """Move the event of this step to right "after" or right "before" another step's.

        Raises:
            ValueError: if it is not possible there, with the reason.
        """
        return self.ask("move", to=to, where=where)

    def change(self, *settings: str) -> Self:
        """Replay this branch with some settings changed: "lock_expiry=back_to_available".

        A setting is a slot of the design, a limit of the brokers (delivery_count_limit=2), a client's setting
        (app-1.max_records=2), or the number of times a fault may happen (crash_broker=5).

        Raises:
            ValueError: if a setting is unknown or cannot have that value.
        """
        return self.ask("change", settings=list(settings))

    # -- the tree ------------------------------------------------------------------------------------------

    def name(self, name: str, branch: int | None = None) -> Self:
        """Name this branch, or another one.

        Raises:
            ValueError: if there is no such branch or the name is not valid.
        """
        return self.ask("rename", name=name, branch=self.branch if branch is None else branch)

    def prune(self, branch: int | None = None) -> Self:
        """Remove this branch, or another one, with all branches that leave it.

        Raises:
            ValueError: if there is no such branch, or it is the main branch.
        """
        return self.ask("prune", branch=self.branch if branch is None else branch)

    # -- pieces --------------------------------------------------------------------------------------------

    def _wire(self) -> list[Shown]:
        return self._line.wire_at(self.step)

    def _message(self, words: str) -> str:
        """Return the id of the one message in flight that some words identify."""
        found = [
            m
            for m in self._wire()
            if m["id"] == words
            or (isinstance(words, str) and words.lower() in _message_words(m).lower())
        ]
        if len(found) != 1:
            known = "; ".join(self.on_the_wire()) or "nothing"
            many = "several messages" if found else "no message"
            raise ValueError(f"{words!r} means {many} in flight at step {self.step}: {known}")
        return str(found[0]["id"])


def _message_words(message: Shown) -> str:
    return f"{message['id']} {message['label']} from {message['from']} to {message['to']}"


def _can(item: Shown) -> None:
    if not item.get("enabled", True):
        raise ValueError(f"{item['text']} cannot happen: {item.get('why') or 'it is not enabled'}")
