"""State machines, drawn from the transition tables of the floors below.

Only what the tables allow is drawn, always at the same position. The history of a run is in the rows: the highlighted
states, and how often each transition was taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TypeVar

from kipviz.brokers.membership import classic_group
from kipviz.brokers.share_leaders import in_flight
from kipviz.clients.transactions import producer_state
from kipviz.core.values import Value
from kipviz.records.transaction_state import NOT_ENTERED, VALID_PREVIOUS
from kipviz.settings.client_configs import TRANSACTION_TWO_PHASE_COMMIT_ENABLE
from kipviz.views.page_parts import Part
from kipviz.views.role_cards.card_rows import Card

S = TypeVar("S", bound=Enum)
Pair = tuple[str, str]
Point = tuple[float, float]

WIDTH = 320
HALF_WIDTH, HALF_HEIGHT = 50, 15
FITS = 14  # letters on one line of a box
# The distance between two transitions between the same states, one in each direction.
APART = 7


class Machine(Value, frozen=True):
    """The states and transitions of one table, and their positions on the drawing.

    `transitions` are drawn. `sudden` are those to one state from everywhere, or those that undo another one; they are
    drawn only when they are taken. `gutters` routes a transition around the boxes between its ends, through this x.
    """

    id: str
    source: str
    note: str
    places: dict[str, Point]
    transitions: tuple[Pair, ...]
    sudden: tuple[Pair, ...]
    everywhere: str
    gutters: dict[Pair, int]


def pairs(table: Mapping[S, Iterable[S]]) -> tuple[Pair, ...]:
    """Return a table of state -> next states as pairs of names."""
    return tuple((a.name, b.name) for a, after in table.items() for b in after)


FATAL = "FATAL_ERROR"
PREPARED = "PREPARED_TRANSACTION"
EVERYWHERE = "any state"
# Only a producer without a transactional id returns from READY, and it has no such card.
_producer = tuple(p for p in pairs(producer_state.TRANSITIONS) if p != ("READY", "UNINITIALIZED"))
# The client's own epoch bump at the end of a transaction (versions 0 and 1): drawn if taken.
_bumps = tuple(
    pair for pair in _producer if pair[1] == "INITIALIZING" and pair[0] != "UNINITIALIZED"
)

TWO_PHASE_PRODUCER = Machine(
    "producer in two phases",
    "TransactionManager.State.isTransitionValid",
    "Any state may become FATAL_ERROR. PREPARED_TRANSACTION (KIP-939) is known to the client alone. "
    "Back to INITIALIZING: the client bumps its epoch (transaction versions 0 and 1).",
    {
        "UNINITIALIZED": (84, 20),
        "INITIALIZING": (84, 72),
        "READY": (84, 124),
        "IN_TRANSACTION": (84, 176),
        PREPARED: (84, 228),
        "COMMITTING_TRANSACTION": (84, 280),
        "ABORTING_TRANSACTION": (222, 124),
        "ABORTABLE_ERROR": (222, 176),
        FATAL: (222, 280),
    },
    tuple(pair for pair in _producer if pair[1] != FATAL and pair not in _bumps),
    (*(pair for pair in _producer if pair[1] == FATAL and pair[0] != FATAL), *_bumps),
    FATAL,
    {
        ("INITIALIZING", PREPARED): 18,
        ("IN_TRANSACTION", "COMMITTING_TRANSACTION"): 150,
        ("COMMITTING_TRANSACTION", "READY"): 4,
        ("COMMITTING_TRANSACTION", "INITIALIZING"): 10,
        ("INITIALIZING", "ABORTABLE_ERROR"): 316,
        ("ABORTABLE_ERROR", "UNINITIALIZED"): 330,
        ("UNINITIALIZED", FATAL): 330,
        ("INITIALIZING", FATAL): 330,
        ("READY", FATAL): 4,
        ("ABORTING_TRANSACTION", FATAL): 330,
    },
)

# The same without two-phase commit: nothing is prepared.
PRODUCER = TWO_PHASE_PRODUCER.but(
    id="producer",
    note="Any state may become FATAL_ERROR. Not drawn: PREPARED_TRANSACTION (KIP-939), which needs "
    f"{TRANSACTION_TWO_PHASE_COMMIT_ENABLE.name}. Back to INITIALIZING: the client bumps its epoch "
    "(transaction versions 0 and 1).",
    places={
        **{name: at for name, at in TWO_PHASE_PRODUCER.places.items() if name != PREPARED},
        "COMMITTING_TRANSACTION": (84, 228),
        FATAL: (222, 228),
    },
    transitions=tuple(pair for pair in TWO_PHASE_PRODUCER.transitions if PREPARED not in pair),
    sudden=tuple(pair for pair in TWO_PHASE_PRODUCER.sudden if PREPARED not in pair),
    gutters={
        pair: x
        for pair, x in TWO_PHASE_PRODUCER.gutters.items()
        if PREPARED not in pair and pair != ("IN_TRANSACTION", "COMMITTING_TRANSACTION")
    },
)

TRANSACTION = Machine(
    "transaction",
    "TransactionState.VALID_PREVIOUS_STATES",
    "Not drawn, because never entered here: DEAD (ids do not expire), PREPARE_EPOCH_FENCE (logged "
    "as PREPARE_ABORT).",
    {
        "EMPTY": (160, 20),
        "ONGOING": (160, 80),
        "PREPARE_COMMIT": (92, 146),
        "PREPARE_ABORT": (228, 146),
        "COMPLETE_COMMIT": (92, 212),
        "COMPLETE_ABORT": (228, 212),
    },
    tuple(
        (before.name, after.name)
        for after, previous in VALID_PREVIOUS.items()
        for before in previous
        if before not in NOT_ENTERED and after not in NOT_ENTERED
    ),
    (),
    "",
    {
        ("COMPLETE_COMMIT", "ONGOING"): 26,
        ("COMPLETE_COMMIT", "EMPTY"): 0,
        ("COMPLETE_ABORT", "ONGOING"): 294,
        ("COMPLETE_ABORT", "EMPTY"): 320,
        ("EMPTY", "PREPARE_ABORT"): 284,
    },
)

_groups = tuple(
    (before.name, after.name)
    for after, previous in classic_group.VALID_PREVIOUS.items()
    for before in previous
    if after is not classic_group.GroupState.DEAD
)
CLASSIC_GROUP = Machine(
    "classic group",
    "ClassicGroupState.validPreviousStates",
    "Not drawn: Dead, a group that is deleted, or whose coordinator is another broker now.",
    {
        "EMPTY": (160, 20),
        "PREPARING_REBALANCE": (160, 86),
        "COMPLETING_REBALANCE": (160, 152),
        "STABLE": (160, 218),
    },
    _groups,
    (),
    "",
    {("STABLE", "PREPARING_REBALANCE"): 310},
)

STAGED = "TX_PENDING"
_undone = tuple(
    pair
    for pair in pairs(in_flight.UNDONE)
    if pair[0] != pair[1] and pair not in pairs(in_flight.TRANSITIONS)
)
RECORD = Machine(
    "record",
    "RecordState.validateTransition, InFlightState",
    "TX_PENDING is KIP-1289's (draft), ARCHIVING is for groups with a dead-letter queue. A dashed "
    "arrow undoes a step whose durable write failed, or archives records that no consumer may read.",
    {
        "AVAILABLE": (160, 20),
        "ACQUIRED": (160, 80),
        STAGED: (160, 146),
        "ACKNOWLEDGED": (92, 212),
        "ARCHIVING": (228, 212),
        "ARCHIVED": (228, 264),
    },
    pairs(in_flight.TRANSITIONS),
    tuple(dict.fromkeys((*_undone, *pairs(in_flight.AT_ONCE)))),
    "",
    {
        ("ACQUIRED", "ACKNOWLEDGED"): 26,
        ("ACQUIRED", "ARCHIVING"): 294,
        ("ACQUIRED", "ARCHIVED"): 322,
        (STAGED, "ARCHIVED"): 160,
        ("AVAILABLE", "ARCHIVED"): 334,
        (STAGED, "AVAILABLE"): 330,
    },
)

# The shipped states: without transactional acknowledgements.
SHIPPED_RECORD = RECORD.but(
    id="record shipped",
    note="ARCHIVING is for groups with a dead-letter queue. A dashed arrow undoes a step whose "
    "durable write failed, or archives records that no consumer may read.",
    places={name: place for name, place in RECORD.places.items() if name != STAGED},
    transitions=tuple(pair for pair in RECORD.transitions if STAGED not in pair),
    sudden=tuple(pair for pair in RECORD.sudden if STAGED not in pair),
    gutters={pair: x for pair, x in RECORD.gutters.items() if STAGED not in pair},
)


def drawing(machine: Machine) -> Part:
    """Return a machine as the page draws it: boxes, and a path for every transition."""
    known = {*machine.transitions, *machine.sudden}
    edges = [
        {
            "from": a,
            "to": b,
            "d": _path(machine, a, b, twin=(b, a) in known),
            "sudden": (a, b) in machine.sudden,
        }
        for a, b in (*machine.transitions, *machine.sudden)
    ]
    if machine.everywhere:
        x, y = machine.places[machine.everywhere]
        d = f"M{x + HALF_WIDTH + 34:.0f} {y}L{x + HALF_WIDTH:.0f} {y}"
        edges.append({"from": EVERYWHERE, "to": machine.everywhere, "d": d, "sudden": False})
    return {
        "id": machine.id,
        "source": machine.source,
        "note": machine.note,
        "width": WIDTH,
        "height": int(max(y for _, y in machine.places.values())) + HALF_HEIGHT + 5,
        "states": [
            {"name": name, "x": x, "y": y, "lines": _lines(name)}
            for name, (x, y) in machine.places.items()
        ],
        "edges": edges,
    }


def _lines(name: str) -> list[str]:
    """Return a name on as many lines as its box needs."""
    first, _, rest = name.partition("_")
    return [f"{first}_", rest] if len(name) > FITS else [name]


def _path(machine: Machine, a: str, b: str, *, twin: bool) -> str:
    (ax, ay), (bx, by) = machine.places[a], machine.places[b]
    if a == b:
        x, y = int(ax) + HALF_WIDTH, int(ay)
        return f"M{x} {y - 6}c18 -2 18 14 0 12"
    gutter = machine.gutters.get((a, b))
    if gutter is not None:
        side = 1 if gutter > ax else -1
        ends = [int(ax) + side * HALF_WIDTH, int(bx) + side * HALF_WIDTH]
        return f"M{ends[0]} {ay}C{gutter} {ay} {gutter} {by} {ends[1]} {by}"
    length = ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5
    shift = APART if twin else 0
    sx, sy = -(by - ay) / length * shift, (bx - ax) / length * shift
    start = _border((ax, ay), (bx, by))
    end = _border((bx, by), (ax, ay))
    return f"M{start[0] + sx:.0f} {start[1] + sy:.0f}L{end[0] + sx:.0f} {end[1] + sy:.0f}"


def _border(box: Point, towards: Point) -> Point:
    """Return the point at which the line from a box to another position leaves the box."""
    dx, dy = towards[0] - box[0], towards[1] - box[1]
    ratios = [HALF_WIDTH / abs(dx)] if dx else []
    ratios += [HALF_HEIGHT / abs(dy)] if dy else []
    ratio = min(ratios)
    return box[0] + dx * ratio, box[1] + dy * ratio


# -- what a run has done -----------------------------------------------------------------------


def way(machine: Machine, before: str, after: str) -> tuple[Pair, ...]:
    """Return the shortest legal path between two states; a step may pass through several."""
    known: dict[str, tuple[Pair, ...]] = {before: ()}
    frontier = [before]
    while frontier and after not in known:
        following = []
        for a, b in machine.transitions:
            if a in frontier and b not in known:
                known[b] = (*known[a], (a, b))
                following.append(b)
        frontier = following
    direct = ((before, after),)
    return direct if direct[0] in machine.sudden else known.get(after, ())


def rows(lit: dict[str, str], taken: Mapping[Pair, int]) -> Card:
    """Return a machine's rows: the highlighted states, each with a word, and the transitions taken."""
    card: Card = {f"state {name}": {"state": name, "text": text} for name, text in lit.items()}
    for (a, b), times in taken.items():
        card[f"{a} to {b}"] = {"from": a, "to": b, "times": times}
    return card
