"""The client and broker matrix of KIP-1289, cell by cell; each cell is a run of one round of the loop."""

from __future__ import annotations

from collections.abc import Sequence

from kipviz.clients.application import Line
from kipviz.clients.throwing.client_errors import ExceptionClass, exception_class
from kipviz.cluster.actions import UpgradeFeature
from kipviz.cluster.specs.spec import ClusterSpec, FaultBudget
from kipviz.core.model import Event
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design as design_named
from kipviz.messages.cluster.features import STAGING_LEVEL
from kipviz.messages.events import CallReturned, MessageSent, TransactionMoved
from kipviz.messages.shares.share_groups import TxnShareAcknowledge
from kipviz.records.transaction_state import TransactionState
from kipviz.scenarios.applications import programs
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.script import Beat, play
from kipviz.studies.test_plan.rounds import PLAIN

BELOW = STAGING_LEVEL - 1
ROUNDS = 8
# The new client survives an error: its one catch block is that of corner case 9. With those of the pseudo code it would
# end there (finding X28).
CLIENTS = (("new", programs.SHARE_LOOP_OF_CASE_9), ("old", PLAIN))
OLD, NEW = "4.4", "kip-1289"
BROKERS = (1, 3, 5, 7)
# The name of a cluster, its brokers without the code, the feature level at its start, and whether the level changes
# under a client.
CLUSTERS: tuple[tuple[str, tuple[int, ...], int, int], ...] = (
    ("the level finalized", (), STAGING_LEVEL, 0),
    ("the code, below the level", (), BELOW, 0),
    ("no code", BROKERS, BELOW, 0),
    ("one broker of four without the code", (7,), BELOW, 0),
    ("finalized while the client is connected", (), BELOW, STAGING_LEVEL),
    ("downgraded while the client is connected", (), STAGING_LEVEL, BELOW),
)
Table = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]


def matrix(design: str = "repaired") -> Table:
    """Play every cell and return the client's result."""
    rows = []
    for cluster, lacking, start, then in CLUSTERS:
        cells = [_cell(design, program, lacking, start, then) for _, program in CLIENTS]
        rows.append((cluster, *cells))
    return ("cluster", *(f"{name} client" for name, _ in CLIENTS)), tuple(rows)


def _cell(
    design: str, program: tuple[Line, ...], lacking: tuple[int, ...], start: int, then: int
) -> str:
    """Run one round: initTransactions(), a change of the feature level if there is one, and the loop."""
    story = searched_scenario("kip-1289-corner-9")
    (app,) = story.spec.applications
    spec: ClusterSpec = story.spec.but(
        applications=(app.but(program=program),),
        share_rollout=start,
        releases=tuple((b, OLD if b in lacking else NEW) for b in BROKERS),
        budget=FaultBudget(upgrade=1),
    )
    chosen = design_named(design)
    model = chosen.model(spec)
    go_on = Beat("", "", ("maybe app-1 goes on", "quiet"))
    trace, _ = play(Trace.start(model), model, (go_on,) * 6)
    if then:
        trace = trace.take(UpgradeFeature("share_version", then))
    trace, _ = play(trace, model, (go_on,) * ROUNDS)
    return outcome([e for number in trace.line for e in trace.node(number).events])


def outcome(events: Sequence[Event]) -> str:
    """Return the result of a round for a client: it works, or what it throws and what was sent before."""
    thrown = [e.raised for e in events if isinstance(e, CallReturned) and e.raised]
    sent = sum(
        isinstance(e, MessageSent) and isinstance(e.message, TxnShareAcknowledge) for e in events
    )
    committed = any(
        isinstance(e, TransactionMoved) and e.after is TransactionState.COMPLETE_COMMIT
        for e in events
    )
    if not thrown:
        return "works" if committed else "does not come to a commit"
    first = thrown[0]
    unsupported = ExceptionClass.UNSUPPORTED_VERSION
    what = unsupported.value if exception_class(first) is unsupported else first.words
    return f"throws {what}, after {sent or 'no'} staging{'' if sent == 1 else 's'} sent"
