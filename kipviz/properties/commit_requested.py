"""A transaction commits only because its application called commitTransaction(), once per transaction."""

from __future__ import annotations

from kipviz.cluster.world import World
from kipviz.core.model import Outcome
from kipviz.core.table import Table
from kipviz.core.values import Part
from kipviz.messages.events import CallStarted, TransactionDecided
from kipviz.properties.verdict import BROKEN, HOLDS, Finding

COMMITS = ("commitTransaction",)


class CommitCounts(Part, frozen=True):
    """The number of commitTransaction() calls with a producer id, and of its commits."""

    calls: Table[int, int] = Table.of()
    commits: Table[int, int] = Table.of()
    broken: str = ""


class CommitsAsAsked:
    """The property: never more commits of a producer id than calls.

    A repeated request belongs to one call; a commit that ends the next transaction is one too many. The identity of an
    epoch would not distinguish them, because one epoch may last for many transactions.
    """

    name = "commit only when requested"
    sentence = "A transaction commits only if its application called commitTransaction()."

    def initial(self, world: World) -> CommitCounts:
        """Start without any calls."""
        return CommitCounts()

    def observe(self, state: CommitCounts, action: object, outcome: Outcome) -> CommitCounts:
        """Fold one step."""
        for event in outcome.events:
            match event:
                case CallStarted(application=name, call=call) if call in COMMITS:
                    app = outcome.world.applications[name]
                    pid = app.producer.manager.producer_id
                    state = state.but(calls=state.calls.set(pid, state.calls.get(pid, 0) + 1))
                case TransactionDecided(producer_id=pid, committed=True):
                    count = state.commits.get(pid, 0) + 1
                    state = state.but(commits=state.commits.set(pid, count))
                    if count > state.calls.get(pid, 0) and not state.broken:
                        state = state.but(
                            broken=f"{event.transactional_id} has {count} committed transactions of "
                            f"producer {pid}, and commitTransaction() was called "
                            f"{state.calls.get(pid, 0)} times"
                        )
                case _:
                    pass
        return state

    def finding(self, state: CommitCounts) -> Finding:
        """Return whether it still holds."""
        return Finding(BROKEN, state.broken) if state.broken else Finding(HOLDS)
