"""The performance row of KIP-1289's test plan, counted: what a transactional acknowledgement costs.

Two applications do the same work on the same records: one acknowledges with its next poll(), as a
share consumer does today, the other inside its transaction. Messages are counted on every
connection, records in every log, bytes as Kafka's schemas and the draft's would write them. There
is no clock in these figures: they are what has to be sent and stored, not how long it takes.
"""

from __future__ import annotations

from typing import Any

from kipviz.clients.application import Call, Line
from kipviz.core.trace import Trace
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named
from kipviz.messages.events import MessageSent
from kipviz.messages.message import Message
from kipviz.messages.wire.frame import KINDS, bytes_of
from kipviz.messages.wire.kind import Around
from kipviz.records.placement import topic_of
from kipviz.scenarios import programs
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.scenarios.script import Beat, play

STORY = "kip-1289-share-commit"
# The same loop without the staging: the next poll() accepts the batch before it.
PLAIN: tuple[Line, ...] = (
    *(line.but(on_error=-1) for line in programs.SHARE_LOOP[:4]),
    programs.SHARE_LOOP[5].but(then=1, on_error=-1),
)
WAYS = (("with the next poll()", PLAIN), ("in the transaction", programs.SHARE_LOOP))
LOOK_UP = Beat("A look-up", "", ("maybe B5 refreshes src-0", "quiet"))
ROUND = Beat("A round", "", ("app-1 goes on", "quiet"))


class Bill(Value, frozen=True):
    """What one way costs, from the first poll() to the next one's answer."""

    way: str
    design: str
    messages: tuple[tuple[str, int], ...]
    records: tuple[tuple[str, int], ...]
    sent_bytes: int
    without_schema: tuple[str, ...]

    @property
    def sent(self) -> int:
        """How many messages there are, requests and answers."""
        return sum(count for _, count in self.messages)


def bills(design: str = "repaired", records: int = 2) -> tuple[Bill, ...]:
    """Count both ways for one batch of records."""
    return tuple(_bill(way, program, design, records) for way, program in WAYS)


def _bill(way: str, program: tuple[Line, ...], design: str, records: int) -> Bill:
    story = scenario_named(STORY)
    (app,) = story.spec.applications
    values = tuple(f"v{number}" for number in range(records))
    spec = story.spec.but(
        applications=(app.but(program=program, max_records=records),),
        records=(("src-0", 100, values),),
    )
    story = story.but(spec=spec)
    model = story.model(design_named(design))
    trace = Trace.start(model)
    trace, _ = play(trace, model, (ROUND, ROUND.but(steps=("app-1 goes on",))))
    first = trace.depth
    trace = _loop(trace, model)
    messages: dict[str, int] = {}
    stored: dict[str, int] = {}
    size, unknown = 0, set()
    asked: dict[tuple[str, int], Message] = {}
    for number in trace.line[first + 1 :]:
        node: Any = trace.node(number)
        for event in node.events:
            match event:
                case MessageSent(source=source, broker=broker, message=message):
                    name = type(message).__name__
                    messages[name] = messages.get(name, 0) + 1
                    if event.way == "request":
                        asked[source, broker] = message
                    if type(message) not in KINDS:
                        unknown.add(name)
                        continue
                    around = Around(spec.topic_ids, asked.get((source, broker)), source)
                    size += len(bytes_of(message, around).data)
                case _:
                    pass
    before, after = trace.node(trace.line[first]).world, trace.world
    for partition, log in after.logs.items():
        for batch in log.batches:
            if batch.base_offset >= before.logs[partition].end_offset:
                place = f"{topic_of(partition)}{', markers' if batch.control else ''}"
                stored[place] = stored.get(place, 0) + (len(batch.records) or 1)
    return Bill(
        way,
        design,
        tuple(sorted(messages.items())),
        tuple(sorted(stored.items())),
        size,
        tuple(sorted(unknown)),
    )


def _loop(trace: Trace, model: Any) -> Trace:
    """Go once around the loop: up to the second poll() that waits for records."""
    polls = 0
    while polls < 2:
        app = trace.world.applications["app-1"]
        entering = not app.waiting and app.program[app.line].call is Call.POLL
        polls += entering
        trace, _ = play(trace, model, (ROUND,))
    trace, _ = play(trace, model, (LOOK_UP,))
    return trace


def table(records: int = 2) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Give both bills side by side, line by line."""
    plain, staged = bills(records=records)
    rows = [("messages in all", str(plain.sent), str(staged.sent))]
    for name in sorted({n for n, _ in (*plain.messages, *staged.messages)}):
        one, other = dict(plain.messages).get(name, 0), dict(staged.messages).get(name, 0)
        if one != other:
            rows.append((f"· {name}", str(one), str(other)))
    for place in sorted({p for p, _ in (*plain.records, *staged.records)}):
        one, other = dict(plain.records).get(place, 0), dict(staged.records).get(place, 0)
        rows.append((f"records in {place}", str(one), str(other)))
    rows.append(("bytes sent", str(plain.sent_bytes), str(staged.sent_bytes)))
    return ("for one batch of records", *(way for way, _ in WAYS)), tuple(rows)
