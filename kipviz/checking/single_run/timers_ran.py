"""Which timers ran out in a search, and when: the line under a verdict says what was visited, not what might have been.

A search notes each timer that it lets run out: because nothing else could happen (`at_rest`), earlier, as a race that spends
the budget, or, on a timed clock, when it was due. What asks again by itself (look-ups, polls, heartbeats, back-offs) is
no time-out and is always tried.
"""

from __future__ import annotations

from collections.abc import Iterable

from kipviz.brokers.groups.group_retention import OF_ONE, RETENTION
from kipviz.brokers.groups.group_writes import REBALANCE, SESSION, SYNC
from kipviz.brokers.logs.log_retention import RETAINS
from kipviz.brokers.logs.producer_expiry import FORGETS
from kipviz.brokers.membership.assignment_interval import INTERVAL
from kipviz.brokers.membership.classic_membership import FIRST_GENERATION
from kipviz.brokers.share_coordinators.share_state_maintenance import COLD, PRUNE
from kipviz.brokers.transactions.transaction_append import APPENDS
from kipviz.brokers.transactions.transaction_coordinator import EXPIRES
from kipviz.brokers.transactions.transaction_liveness import TIMER as LIVENESS
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

OF_ACTIONS: dict[type[ClusterAction], str] = {
    ExpireLock: "acquisition lock (group.share.record.lock.duration.ms)",
    TimeOutTransaction: "transaction time-out (transaction.timeout.ms)",
    GiveUp: "a client's wait for a response (request.timeout.ms)",
    ExpireBatch: "a batch's delivery (delivery.timeout.ms)",
    TimeOutCall: "a blocking call (max.block.ms)",
    MissPoll: "a member's next poll() (max.poll.interval.ms)",
}
# What the timers of a role are called by the first words of their names.
OF_ROLES = (
    (SESSION, "a member's session"),
    (REBALANCE, "a member's rebalance time-out"),
    (SYNC, "a member's sync time-out"),
    (APPENDS, "a coordinator's append"),
    (LIVENESS, "a transaction's heartbeat session"),
    (FIRST_GENERATION, "group.initial.rebalance.delay.ms"),
    (INTERVAL, "a group's assignment interval"),
    (RETENTION, "the retention of offsets"),
    (OF_ONE, "the retention of offsets"),
    (RETAINS, "log.retention.ms"),
    (FORGETS, "producer.id.expiration.ms"),
    (EXPIRES, "transactional.id.expiration.ms"),
    (PRUNE, "the share coordinator's prune interval"),
    (COLD, "the share coordinator's cold snapshot interval"),
)
OTHER = "another timer of a broker"
NAMES = tuple(dict.fromkeys((*OF_ACTIONS.values(), *(name for _, name in OF_ROLES), OTHER)))

AT_REST, EARLY, DUE = "at rest", "early", "due"
RESOLVING = (
    "A record or transaction is stuck if no continuation without a new fault resolves it; there any timer may run "
    "out at any moment."
)


def timer_of(action: ClusterAction) -> str:
    """Return what the timer is called that runs out with an action, "" if none does."""
    if isinstance(action, RunOut):
        return next((name for start, name in OF_ROLES if action.timer.startswith(start)), OTHER)
    return OF_ACTIONS.get(type(action), "")


class TimersRan(Value, frozen=True):
    """The timers that ran out in searches: when nothing else could happen, before that, or when they were due.

    `asks_for_ever` says that it was asked whether anything is stuck, too.
    """

    at_rest: tuple[str, ...] = ()
    early: tuple[str, ...] = ()
    due: tuple[str, ...] = ()
    asks_for_ever: bool = False

    @property
    def sentence(self) -> str:
        """The line under a verdict or a table of verdicts."""
        told = [_told("Timers that ran out because nothing else could happen", self.at_rest)]
        if self.due:
            told.append(_told("Timers that ran out when they were due", self.due))
        if self.early or not self.due:
            when = "Timers that ran out earlier, at any moment, as often as the faults say"
            told.append(_told(when, self.early))
        return " ".join((*told, RESOLVING) if self.asks_for_ever else told)

    @property
    def short(self) -> str:
        """The same for a cell of a table, without the names of settings."""
        groups = (("at rest", self.at_rest), ("early", self.early), ("when due", self.due))
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
    """Return what a search noted, pairs of a timer's name and when it ran out, in the order of `NAMES`."""
    pairs = set(noted)

    def of(when: str) -> tuple[str, ...]:
        return tuple(name for name in NAMES if (name, when) in pairs)

    return TimersRan(of(AT_REST), of(EARLY), of(DUE), asks_for_ever)


def all_timers_ran(searches: Iterable[TimersRan]) -> TimersRan:
    """Return what ran out in any of several searches."""
    every = tuple(searches)
    noted = (
        (name, when)
        for each in every
        for when, names in ((AT_REST, each.at_rest), (EARLY, each.early), (DUE, each.due))
        for name in names
    )
    return timers_ran(noted, asks_for_ever=any(each.asks_for_ever for each in every))


def _told(what: str, names: tuple[str, ...]) -> str:
    return f"{what}: {'; '.join(names) or 'none'}."
