"""Written once: no source record has two committed outputs, and every acknowledged one has an output.

It is weaker than "atomic": a record whose output is committed may be free for a while, if it is acknowledged before it
is delivered again. It is for jobs that commit outputs and acknowledgements one after the other. An archived record is
lost once no process is working on it and no output of it is open: these programs reject no record, so the delivery
limit archived it.
"""

from __future__ import annotations

from kipviz.cluster.world import World
from kipviz.core.model import Outcome
from kipviz.core.table import Table
from kipviz.core.values import Part
from kipviz.messages.events import BatchAppended, RecordsMoved, TransactionDecided
from kipviz.properties.facts import outputs
from kipviz.properties.facts.outputs import Open
from kipviz.properties.verdict import BROKEN, HOLDS, Finding
from kipviz.records.share_group_state import RecordState


class OutputCounts(Part, frozen=True):
    """Outputs of undecided transactions, committed outputs of each record, and records that still need one.

    `archived` are the archived records without a committed output.
    """

    open: Open = Table.of()
    committed: Table[str, int] = Table.of()
    owed: Table[str, bool] = Table.of()
    archived: Table[str, bool] = Table.of()
    broken: str = ""


class WrittenOnce:
    """The property itself: it breaks with a second committed output, or when a needed output can no longer come."""

    name = "written once"
    sentence = "No source record is written twice, and none is acknowledged or archived without its output."

    def initial(self, world: World) -> OutputCounts:
        """Start with nothing written."""
        return OutputCounts()

    def observe(self, seen: OutputCounts, action: object, outcome: Outcome) -> OutputCounts:
        """Fold one step."""
        for event in () if seen.broken else outcome.events:
            match event:
                case BatchAppended():
                    seen = seen.but(open=outputs.fold_batch(seen.open, event))
                case TransactionDecided():
                    opened, ended = outputs.end_transaction(seen.open, event)
                    seen = seen.but(open=opened)
                    for record, _ in ended:
                        seen = _count_record(seen, record)
                case RecordsMoved(after=RecordState.ACKNOWLEDGED):
                    for offset in range(event.first, event.last + 1):
                        record = f"{event.partition}@{offset}"
                        if not seen.committed.get(record, 0):
                            seen = seen.but(owed=seen.owed.set(record, True))
                case RecordsMoved(after=RecordState.ARCHIVED):
                    for offset in range(event.first, event.last + 1):
                        record = f"{event.partition}@{offset}"
                        if not seen.committed.get(record, 0):
                            seen = seen.but(archived=seen.archived.set(record, True))
                case _:
                    pass
        if seen.broken:
            return seen
        for record in seen.owed:
            if not _is_open(seen, record):
                return seen.but(broken=f"{record} is acknowledged, and its output is lost")
        for record in seen.archived:
            if not _is_open(seen, record) and record not in _in_hand(outcome.world):
                return seen.but(broken=f"{record} is archived, and its output is lost")
        return seen

    def finding(self, seen: OutputCounts) -> Finding:
        """Return whether it still holds."""
        return Finding(BROKEN, seen.broken) if seen.broken else Finding(HOLDS)


def _is_open(seen: OutputCounts, record: str) -> bool:
    return any(record == output for each in seen.open.values() for output, _ in each)


def _in_hand(world: World) -> tuple[str, ...]:
    """Return the records of the last poll() of each process, which it may still write."""
    running = (each for each in world.applications.values() if each.alive and not each.ended)
    return tuple(f"{r.partition}@{r.offset}" for each in running for r in each.records)


def _count_record(seen: OutputCounts, record: str) -> OutputCounts:
    count = seen.committed.get(record, 0) + 1
    seen = seen.but(committed=seen.committed.set(record, count), owed=seen.owed.without(record))
    seen = seen.but(archived=seen.archived.without(record))
    return seen.but(broken=f"{record} is written twice") if count > 1 else seen
