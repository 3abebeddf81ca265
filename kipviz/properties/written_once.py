"""Written once: no source record has two committed outputs, and none is acknowledged by a transaction without any.

It is weaker than "atomic": a record whose output is committed may be free for a while, if it is acknowledged before it
is delivered again. A job that commits outputs and acknowledgements one after the other is judged by this.
"""

from __future__ import annotations

from typing import Any

from kipviz.core.model import Outcome
from kipviz.core.table import Table
from kipviz.core.values import Part
from kipviz.messages.events import BatchAppended, RecordsMoved, TransactionDecided
from kipviz.properties import outputs
from kipviz.properties.outputs import Open
from kipviz.properties.verdict import BROKEN, HOLDS, Finding
from kipviz.records.share_group_state import RecordState


class Written(Part, frozen=True):
    """Outputs of undecided transactions, committed outputs of each record, and records that owe one."""

    open: Open = Table.of()
    committed: Table[str, int] = Table.of()
    owed: Table[str, bool] = Table.of()
    broken: str = ""


class WrittenOnce:
    """The property itself: it breaks with a second committed output, and when an owed one cannot come any more."""

    name = "written once"
    sentence = "No source record is written twice, and none is acknowledged without its output."

    def initial(self, world: Any) -> Written:
        """Start with nothing written."""
        return Written()

    def observe(self, seen: Written, action: Any, outcome: Outcome) -> Written:
        """Take in one step."""
        for event in () if seen.broken else outcome.events:
            match event:
                case BatchAppended():
                    seen = seen.but(open=outputs.appended(seen.open, event))
                case TransactionDecided():
                    opened, ended = outputs.decided(seen.open, event)
                    seen = seen.but(open=opened)
                    for record, _ in ended:
                        seen = _counted(seen, record)
                case RecordsMoved(after=RecordState.ACKNOWLEDGED):
                    for offset in range(event.first, event.last + 1):
                        record = f"{event.partition}@{offset}"
                        if not seen.committed.get(record, 0):
                            seen = seen.but(owed=seen.owed.set(record, True))
                case _:
                    pass
        for record in () if seen.broken else seen.owed:
            if not any(record == output for each in seen.open.values() for output, _ in each):
                seen = seen.but(broken=f"{record} is acknowledged, and its output is lost")
        return seen

    def finding(self, seen: Written) -> Finding:
        """Say whether it still holds."""
        return Finding(BROKEN, seen.broken) if seen.broken else Finding(HOLDS)


def _counted(seen: Written, record: str) -> Written:
    count = seen.committed.get(record, 0) + 1
    seen = seen.but(committed=seen.committed.set(record, count), owed=seen.owed.without(record))
    return seen.but(broken=f"{record} is written twice") if count > 1 else seen
