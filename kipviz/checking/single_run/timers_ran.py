"""Which timers expired in a search, and when: the line below a verdict states what was actually visited.

A search records each timer that expires: because nothing else could happen (`at_rest`), earlier, as a race that spends
the budget, or, on a timed clock, when it was due. Repeated requests (lookups, polls, heartbeats, backoffs) are no
timeouts and are always tried.
"""

from __future__ import annotations

from collections.abc import Iterable

from kipviz.brokers.timers import ROLE_TIMERS
from kipviz.cluster.actions import (
    ClusterAction,
    ExpireBatch,
    ExpireLock,
    GiveUp,
    MissPoll,
    RunOut,
    TimeOutCall,
    TimeOutTransaction,
)
from kipviz.core.values import Value
from kipviz.settings import broker_configs, client_configs, consumer_configs

OF_ACTIONS: dict[type[ClusterAction], str] = {
    ExpireLock: f"acquisition lock ({broker_configs.GROUP_SHARE_RECORD_LOCK_DURATION_MS.name})",
    TimeOutTransaction: f"transaction time-out ({client_configs.TRANSACTION_TIMEOUT_MS.name})",
    GiveUp: f"a client's wait for a response ({client_configs.REQUEST_TIMEOUT_MS.name})",
    ExpireBatch: f"a batch's delivery ({client_configs.DELIVERY_TIMEOUT_MS.name})",
    TimeOutCall: f"a blocking call ({client_configs.MAX_BLOCK_MS.name})",
    MissPoll: f"a member's next poll() ({consumer_configs.MAX_POLL_INTERVAL_MS.name})",
}
# In the order in which a sentence lists them.
NAMES = tuple(dict.fromkeys((*OF_ACTIONS.values(), *(each.NAME for each in ROLE_TIMERS))))

AT_REST, EARLY, DUE = "at rest", "early", "due"
RESOLVING = (
    "A record or transaction is stuck if no continuation without a new fault resolves it. In these continuations any timer may "
    "expire at any moment."
)


def timer_of(action: ClusterAction) -> str:
    """Return the name of the timer that expires with an action, "" if none does."""
    if isinstance(action, RunOut):
        return action.timer.NAME
    return OF_ACTIONS.get(type(action), "")


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
