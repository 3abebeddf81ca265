"""Which timers expired in a search, and when: the line below a verdict states what was actually visited.

A search records each timer that expires: because nothing else could happen (`at_rest`), earlier, as a race that spends
the budget, or, on a timed clock, when it was due. Repeated requests (lookups, polls, heartbeats, backoffs) are no
timeouts and are always tried.
"""

from __future__ import annotations

from collections.abc import Iterable

from kipviz.brokers.timers import ROLE_TIMERS
from kipviz.cluster.behaviour.catalogue import BEHAVIOUR_OF, BEHAVIOURS
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.model import Action
from kipviz.core.values import Value

# In the order in which a sentence lists them: as the fault budget has them, then the other timers of roles.
NAMES = tuple(
    dict.fromkeys(
        (
            *(
                each.timer
                for field in FaultBudget.__struct_fields__
                for each in BEHAVIOURS
                if each.timer and each.spends == field
            ),
            *(each.NAME for each in ROLE_TIMERS),
        )
    )
)

AT_REST, EARLY, DUE = "at rest", "early", "due"
RESOLVING = (
    "A record or transaction is stuck if no continuation without a new fault resolves it. In these continuations any timer may "
    "expire at any moment."
)


def timer_of(action: Action) -> str:
    """Return the name of the timer that expires with an action, "" if none does; models without timers have none."""
    behaviour = BEHAVIOUR_OF.get(type(action))
    return "" if behaviour is None else behaviour.expiring_timer(action)


class TimersRan(Value, frozen=True):
    """The timers that expired in searches: when nothing else could happen, before that, or when they were due.

    `asks_for_ever` is True if the search also looked for stuck transactions and records.
    """

    at_rest: tuple[str, ...] = ()
    early: tuple[str, ...] = ()
    due: tuple[str, ...] = ()
    asks_for_ever: bool = False

    @property
    def sentence(self) -> str:
        """The line below a verdict or a table of verdicts."""
        told = [
            _render_timers("Timers that expired because nothing else could happen", self.at_rest)
        ]
        if self.due:
            told.append(_render_timers("Timers that expired when they were due", self.due))
        if self.early or not self.due:
            when = "Timers that expired earlier, at any moment, as often as the faults allow"
            told.append(_render_timers(when, self.early))
        return " ".join((*told, RESOLVING) if self.asks_for_ever else told)

    @property
    def short(self) -> str:
        """The same for a cell of a table, without the names of settings."""
        groups = (
            ("nothing else possible", self.at_rest),
            ("early", self.early),
            ("when due", self.due),
        )
        return "; ".join(
            f"{when}: {', '.join(name.partition(' (')[0] for name in names)}"
            for when, names in groups
            if names
        )

    @property
    def document(self) -> dict[str, object]:
        """The same as one JSON object."""
        return {
            "at_rest": list(self.at_rest),
            "early": list(self.early),
            "when_due": list(self.due),
            "sentence": self.sentence,
        }


def timers_ran(noted: Iterable[tuple[str, str]], *, asks_for_ever: bool = False) -> TimersRan:
    """Return what a search recorded, pairs of a timer's name and when it expired, in the order of `NAMES`."""
    pairs = set(noted)

    def of(when: str) -> tuple[str, ...]:
        return tuple(name for name in NAMES if (name, when) in pairs)

    return TimersRan(of(AT_REST), of(EARLY), of(DUE), asks_for_ever)


def all_timers_ran(searches: Iterable[TimersRan]) -> TimersRan:
    """Return the timers that expired in any of several searches."""
    every = tuple(searches)
    noted = (
        (name, when)
        for each in every
        for when, names in ((AT_REST, each.at_rest), (EARLY, each.early), (DUE, each.due))
        for name in names
    )
    return timers_ran(noted, asks_for_ever=any(each.asks_for_ever for each in every))


def _render_timers(what: str, names: tuple[str, ...]) -> str:
    return f"{what}: {'; '.join(names) or 'none'}."
