"""The payload that is sent to the stepper: its schema, and the check that a payload conforms to it.

A payload is plain text, numbers and lists, made once from a trace by `kipviz.views`. Everything that lasts for some
steps has a lifetime: it exists for the steps ``from <= k < to``, and ``to`` is None if it never ends. The page draws
every text as text, never as markup.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal

import msgspec

from kipviz.views.page_parts import Cells, Shown

FORMAT = 1

Tone = Literal["calm", "pending", "done", "warning", "broken", "gone"]
Status = Literal["shipped", "draft", "our inference"]


class _Part(msgspec.Struct, rename={"from_": "from"}):
    """One kind of thing in a payload; fields that it does not name are kept."""


class Design(_Part):
    """The design whose rules are shown, and how far they are decided.

    `left_out` is what the run's cluster leaves out of Kafka, if it is the small one of searches and the story's is not.
    """

    name: str
    status: Status
    sentence: str = ""
    left_out: list[str] = []


class Lane(_Part):
    """A lifeline of the diagram; `first` puts it on the first screen (four at most)."""

    id: str
    title: str
    sub: str = ""
    first: bool = False


class Why(_Part):
    """The rule that fired and its source."""

    rule: str = ""
    guards: list[tuple[str, str]] = []
    clause: str = ""
    status: str = ""
    kafka: str = ""


class Step(_Part):
    """One small step: one action of the model. The first one is the start.

    A permalink is made of `pick`, the index of the action among the possible ones (or the action itself, as JSON), and
    `mark`, the first eight bytes of the world's fingerprint in base64url. `causes` are (step, what was used from it),
    the main one first; a fault has no step that caused it, only the state that it found.
    """

    kind: str
    actor: str
    title: str
    sentence: str
    node: str | int = ""
    why: Why = msgspec.field(default_factory=Why)
    tone: Tone = "calm"
    chapter: str = ""
    interesting: bool = False
    pick: int | str = 0
    mark: str = ""
    causes: list[tuple[int, str]] = []
    accident: bool = False


class Big(_Part):
    """One big step, a bullet of the KIP's flow: the small steps ``from <= k < to``.

    `rests` are the small steps inside it at which stepping forward pauses, in ascending order.
    """

    from_: int
    to: int
    title: str
    say: str = ""
    rests: list[int] = []


class Message(_Part):
    """A message between two lanes; it is in flight from `sent` until it has arrived or is lost.

    `bytes` are the name of a shape in the `wire` tables, and hex digits.
    """

    id: str
    from_: str
    to: str
    label: str
    sent: int
    detail: str = ""
    kind: Literal["request", "response"] = "request"
    arrived: int | None = None
    lost: int | None = None
    tone: Tone = "calm"
    bytes: tuple[str, str] | None = None


class WireKind(_Part):
    """A kind of message in bytes, with every field that it can have.

    A field is depth, name and type, optionally followed by a note and the names of its numbers.
    """

    name: str
    key: int
    version: int
    status: Status
    places: list[list[int | str]]


class WireShape(_Part):
    """The fields of a message, each with its size; ~field is a default, because it is not modelled."""

    kind: str
    spans: list[int]


class WireTables(_Part):
    """The meaning of the bytes of messages: a message has the name of a shape, and hex digits.

    `names` are the names of numbers, such as error codes; a field refers to the ones that it uses.
    """

    kinds: dict[str, WireKind] = {}
    shapes: dict[str, WireShape] = {}
    names: dict[str, dict[str, str]] = {}


class Note(_Part):
    """A box on a lane: a state that was reached in this step."""

    lane: str
    step: int
    text: str
    sub: str = ""
    tone: Tone = "calm"


class Down(_Part):
    """A lane whose host is down."""

    lane: str
    from_: int
    to: int | None = None


class Head(_Part):
    """The text in the head of a lane instead of its own: what a broker leads now, and what is wrong there."""

    lane: str
    sub: str
    mark: str
    from_: int
    to: int | None = None


class CutApart(_Part):
    """Two lanes between whose hosts the network is partitioned."""

    one: str
    other: str
    from_: int
    to: int | None = None


class CardInfo(_Part):
    """A card of state; `lane` is the lane whose state it is, `about` the subject of some of its rows."""

    id: str
    title: str
    kind: Literal[
        "records",
        "log",
        "entries",
        "facts",
        "application",
        "machine",
        "metrics",
        "beliefs",
        "own",
    ]
    where: str = ""
    lane: str | None = None
    order: int = 0
    machine: str = ""
    about: dict[str, str] = {}


class StateBox(_Part):
    """A state of a machine; x and y are its centre."""

    name: str
    x: float
    y: float
    lines: list[str]


class Edge(_Part):
    """A transition of a machine and its path; a sudden transition is drawn only when it is taken."""

    from_: str
    to: str
    d: str
    sudden: bool = False


class Machine(_Part):
    """A state machine's drawing."""

    id: str
    source: str
    width: int
    height: int
    states: list[StateBox]
    edges: list[Edge]
    note: str = ""


class RowInfo(_Part):
    """One row of a card with its lifetime."""

    card: str
    id: str
    from_: int
    to: int | None
    cells: Cells
    tone: Tone = "calm"


class VerdictInfo(_Part):
    """The verdict on a property during some steps."""

    property: str
    sentence: str
    from_: int
    to: int | None
    state: Literal["holds", "pending", "broken"]
    reason: str = ""


class HoldInfo(_Part):
    """Why rows of a card are blocked, what frees them, which host has to act, and which rows show it."""

    card: str
    rows: list[str]
    from_: int
    to: int | None
    text: str
    free: str
    how: Literal["soon", "someone", "never", "idle"]
    see: list[tuple[str, str]] = []


class Item(_Part):
    """An action that can happen next, or that cannot, and why."""

    id: str
    text: str
    sub: str = ""
    group: Literal["next", "fault"] = "next"
    enabled: bool = True
    why: str = ""
    taken: bool = False
    message: str = ""


class Choice(_Part):
    """What can happen next, for the steps of its lifetime."""

    from_: int
    to: int | None
    items: list[Item]


class Option(_Part):
    """One answer to a question."""

    text: str
    right: bool
    say: str = ""


class Question(_Part):
    """Predict, then reveal: asked from step `ask` on, answered by what step `step` shows."""

    id: str
    step: int
    text: str
    options: list[Option]
    ask: int = 0


class Asks(_Part):
    """The predictions of a branch: ``[step, kind, text, reveal, [[text, right, say], ...]]``.

    Texts are given by their index in `texts`; `reveal` is -1 if the step itself answers.
    """

    texts: list[str] = []
    questions: list[tuple[int, str, int, int, list[tuple[int, int, int]]]] = []


class GoalSpan(_Part):
    """The steps at which a goal holds."""

    goal: str
    from_: int
    to: int | None


class Watch(_Part):
    """A note on what to look at, for the steps of its lifetime."""

    from_: int
    to: int | None
    text: str


class Checkpoint(_Part):
    """Something to have seen or done; its goal determines the steps at which this is so."""

    goal: str
    text: str


class Lesson(_Part):
    """The teaching material of the scenario."""

    watch: list[Watch] = []
    checkpoints: list[Checkpoint] = []


class Moment(_Part):
    """What has become true at a step, as a clause by which faults are named."""

    step: int
    text: str


class Setting(_Part):
    """A setting that can be changed for another run; without options it accepts any number."""

    name: str
    asks: str
    now: str
    options: list[tuple[str, str]] = []


class Hold(_Part):
    """An action that does not happen by itself from step `from` on: a message, or a choice."""

    id: str
    text: str
    from_: int
    to: int | None = None
    message: str = ""


class Branch(_Part):
    """What differs from the parent after step `at`; `closes` are inherited rows that end here.

    `tree` is the number of the run, if there are runs under other settings; `design`, `head` and `start` (the mark of
    the first world, see `Step`) then belong to that run. `said` and `missing` (what no longer happens, and why) are the
    result of the reader's request.
    """

    id: int
    name: str
    parent: int | None
    at: int
    steps: list[Step] = []
    rows: list[RowInfo] = []
    closes: list[tuple[str, str, int]] = []
    messages: list[Message] = []
    notes: list[Note] = []
    downs: list[Down] = []
    heads: list[Head] = []
    cuts: list[CutApart] = []
    verdicts: list[VerdictInfo] = []
    choices: list[Choice] = []
    bigs: list[Big] = []
    wire: WireTables = msgspec.field(default_factory=WireTables)
    goals: list[GoalSpan] = []
    asks: Asks = msgspec.field(default_factory=Asks)
    holds: list[HoldInfo] = []
    moments: list[Moment] = []
    tree: int = 0
    design: Design | None = None
    head: str = ""
    start: str = ""
    said: str = ""
    missing: list[tuple[str, str]] = []
    held: list[Hold] = []


class Payload(_Part):
    """Everything one stepper shows."""

    format: Literal[1]
    title: str
    design: Design
    lanes: list[Lane]
    steps: list[Step]
    bigs: list[Big]
    messages: list[Message]
    notes: list[Note]
    cards: list[CardInfo]
    rows: list[RowInfo]
    verdicts: list[VerdictInfo]
    choices: list[Choice]
    untold: str = ""
    """Shown instead of a title that gives the answer away, until the story's question is answered."""
    scenario: str = ""
    head: str = ""
    spec_line: str = ""
    machines: list[Machine] = []
    downs: list[Down] = []
    heads: list[Head] = []
    cuts: list[CutApart] = []
    questions: list[Question] = []
    branches: list[Branch] = []
    wire: WireTables = msgspec.field(default_factory=WireTables)
    lesson: Lesson = msgspec.field(default_factory=Lesson)
    goals: list[GoalSpan] = []
    asks: Asks = msgspec.field(default_factory=Asks)
    holds: list[HoldInfo] = []
    moments: list[Moment] = []
    settings: list[Setting] = []
    glossary: dict[str, str] = {}
    live: bool = False
    """Whether this is the run of a server that clients use now: its main branch grows."""
    grown: int = 0
    """How often it has grown; what a page is told of an earlier growth is in it already."""


class Difference(_Part):
    """A place at which two runs diverge: the pairs ``at <= k < to``."""

    at: int
    to: int
    sentence: str


class Comparison(_Part):
    """Everything one comparison shows.

    `pairs` are corresponding steps of the left and the right, `marks` states for each pair in one letter whether both
    sides do the same, and `bigs` are ranges of pairs.
    """

    format: Literal[1]
    title: str
    left: Payload
    right: Payload
    names: tuple[str, str]
    lines: tuple[int, int]
    pairs: list[tuple[int, int]]
    marks: str
    bigs: list[Big]
    differences: list[Difference]


def read(payload: Shown) -> Payload:
    """Read a payload and check that its parts are consistent.

    Raises:
        ValueError: with what is wrong and what is allowed, in one sentence.
    """
    try:
        known = msgspec.convert(payload, Payload)
    except msgspec.ValidationError as wrong:
        raise ValueError(f"this is not a payload of format {FORMAT}: {wrong}") from wrong
    if not known.steps:
        raise ValueError("a payload needs at least one step: step 0 is the start")
    lanes = _names("lane", (lane.id for lane in known.lanes))
    cards = _names("card", (card.id for card in known.cards))
    machines = _names("machine", (machine.id for machine in known.machines))
    for card in known.cards:
        if card.machine:
            _validate_name("machine", card.machine, machines, f"card {card.id!r}")
    first = sum(lane.first for lane in known.lanes)
    if first > 4:
        raise ValueError(f"the first screen takes four lanes at most, and {first} ask to be on it")
    _check_suffix(known, lanes, cards, range(len(known.steps)))
    for branch in known.branches:
        if branch.steps:
            _check_suffix(branch, lanes, cards, range(branch.at + 1 + len(branch.steps)))
    return known


def read_branch(branch: Shown, known: Payload) -> Branch:
    """Read a branch of a payload that was already read.

    Raises:
        ValueError: with what is wrong and what is allowed, in one sentence.
    """
    try:
        suffix = msgspec.convert(branch, Branch)
    except msgspec.ValidationError as wrong:
        raise ValueError(f"this is not a branch of a format {FORMAT} payload: {wrong}") from wrong
    if not suffix.steps:
        raise ValueError(f"branch {suffix.id} has no step of its own")
    lanes = {lane.id for lane in known.lanes}
    cards = {card.id for card in known.cards}
    _check_suffix(suffix, lanes, cards, range(suffix.at + 1 + len(suffix.steps)))
    return suffix


def fingerprint(payload: Shown) -> str:
    """Return sixteen hex digits that change with anything in the payload, the same on every machine."""
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _names(what: str, names: Iterable[str]) -> set[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"two {what}s are called {name!r}; each needs its own name")
        seen.add(name)
    return seen


def _check_suffix(
    part: Payload | Branch, lanes: set[str], cards: set[str], steps: Sequence[int]
) -> None:
    first = len(steps) - len(part.steps)
    for number, told in enumerate(part.steps, first):
        for cause, _ in told.causes:
            _inside(cause, range(number), f"the causes of step {number}")
    for message in part.messages:
        for lane in (message.from_, message.to):
            _validate_name("lane", lane, lanes, f"message {message.id!r}")
        for step in (message.sent, message.arrived, message.lost):
            _inside(step, steps, f"message {message.id!r}")
        if message.bytes:
            _validate_name(
                "shape", message.bytes[0], part.wire.shapes.keys(), f"message {message.id!r}"
            )
    for note in part.notes:
        _validate_name("lane", note.lane, lanes, f"the note {note.text!r}")
        _inside(note.step, steps, f"the note {note.text!r}")
    for down in part.downs:
        _validate_name("lane", down.lane, lanes, "a host that is down")
        _inside(down.from_, steps, "a host that is down")
    for head in part.heads:
        _validate_name("lane", head.lane, lanes, "the head of a lane")
        _inside(head.from_, steps, "the head of a lane")
    for cut in part.cuts:
        for lane in (cut.one, cut.other):
            _validate_name("lane", lane, lanes, "a cut")
        _inside(cut.from_, steps, "a cut")
    for row in part.rows:
        _validate_name("card", row.card, cards, f"row {row.id!r}")
        _inside(row.from_, steps, f"row {row.id!r} of card {row.card!r}")
    for hold in part.holds:
        _validate_name("card", hold.card, cards, f"what holds {hold.rows} back")
        _inside(hold.from_, steps, f"what holds {hold.rows} of card {hold.card!r} back")
    for big in part.bigs:
        _inside(big.from_, steps, f"the big step {big.title!r}")
        if big.to <= big.from_:
            raise ValueError(f"the big step {big.title!r} has no small step in it")
        for rest in big.rests:
            _inside(rest, range(big.from_, big.to), f"the big step {big.title!r}")


def _validate_name(what: str, name: str, names: AbstractSet[str], where: str) -> None:
    if name not in names:
        raise ValueError(f"there is no {what} {name!r}, named by {where}")


def _inside(step: int | None, steps: Sequence[int], where: str) -> None:
    if step is not None and step not in steps:
        raise ValueError(f"there is no step {step}, named by {where}: the last one is {steps[-1]}")
