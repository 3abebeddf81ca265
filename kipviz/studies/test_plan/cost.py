"""The performance row of KIP-1289's test plan: the cost of each way to acknowledge a batch.

Applications do the same work on the same records, each in its own way (`kipviz.studies.test_plan.rounds`). Messages are
counted on every connection, records and batches in every log, bytes as Kafka's schemas and the draft's would encode
them. The times are those of a critical path under stated assumptions, not a benchmark.
"""

from __future__ import annotations

from collections.abc import Callable

from kipviz.checking.timed.critical_path import LOCAL_HOP, Latencies, Timed, number
from kipviz.clients.application import Call
from kipviz.core.values import Value
from kipviz.messages.events import MessageSent
from kipviz.messages.message import Message
from kipviz.messages.wire.frame import KINDS, bytes_of
from kipviz.messages.wire.kind import Around
from kipviz.records.placement import topic_of
from kipviz.studies.counting.counted import RESPONSES
from kipviz.studies.test_plan.rounds import PLAIN, WAYS, Round, Way, call_step, timed_round

Table = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]
NEVER = "never"
SECOND_MS = 1_000

# The two ways whose difference is what KIP-1289 adds: the same loop, with and without the staging.
PAIR = (
    Way("with the next poll()", "kafka", program=PLAIN),
    Way("in the transaction", "repaired"),
)


class Bill(Value, frozen=True):
    """The cost of one way, from the first poll() to the response of the next one.

    `messages` counts requests and responses by name, `records` the appended records by topic, `appends` the appended
    batches and markers. `without_schema` names messages whose bytes are not defined anywhere; they are not in
    `sent_bytes`.
    """

    way: str
    design: str
    messages: tuple[tuple[str, int], ...]
    records: tuple[tuple[str, int], ...]
    appends: int
    sent_bytes: int
    without_schema: tuple[str, ...]

    @property
    def sent(self) -> int:
        """The number of messages, requests and responses."""
        return sum(count for _, count in self.messages)


def bills(records: int = 2) -> tuple[Bill, ...]:
    """Count a plain and a transactional acknowledgement of one batch of records."""
    return tuple(bill(timed_round(way, Latencies(), records)) for way in PAIR)


def bill(found: Round) -> Bill:
    """Count what one round sent and appended.

    A connection is counted from the start of the round: messages that were already in flight are not included.
    """
    messages: dict[str, int] = {}
    stored: dict[str, int] = {}
    size, appends, unknown = 0, 0, set()
    asked: dict[tuple[str, int], Message] = {}
    topic_ids = _topic_ids(found.timed)
    for moment in found.timed.moments[found.called :]:
        for event in moment.events:
            match event:
                case MessageSent(source, broker, way, message):
                    name = type(message).__name__
                    messages[name] = messages.get(name, 0) + 1
                    if way == "request":
                        asked[source, broker] = message
                    if type(message) not in KINDS:
                        unknown.add(name)
                        continue
                    around = Around(topic_ids, asked.get((source, broker)), source)
                    size += len(bytes_of(message, around).data)
                case _:
                    pass
    before, after = found.timed.worlds[found.called], found.timed.world
    for partition, log in after.logs.items():
        for batch in log.batches:
            if batch.base_offset >= before.logs[partition].end_offset:
                place = f"{topic_of(partition)}{', markers' if batch.control else ''}"
                stored[place] = stored.get(place, 0) + (len(batch.records) or 1)
                appends += 1
    return Bill(
        found.way.label,
        found.way.design,
        tuple(sorted(messages.items())),
        tuple(sorted(stored.items())),
        appends,
        size,
        tuple(sorted(unknown)),
    )


def _topic_ids(timed: Timed) -> tuple[tuple[str, str], ...]:
    ids = timed.world.image.topic_ids
    return tuple((topic, ids[topic]) for topic in sorted(ids.keys()))


def table_of(designs: tuple[str, ...]) -> Callable[[Latencies], Table]:
    """Return the table of costs with a row for the share group's loop under each of these designs."""
    ways = tuple(Way(f"share group, {name}", name) for name in designs)
    return lambda latencies: table(latencies, ways)


def table(
    latencies: Latencies = Latencies(),  # noqa: B008  a value never changes
    further: tuple[Way, ...] = (),
) -> Table:
    """Return the cost of each way: messages, bytes, appends and time.

    Raises:
        BadLatency: if a latency is not valid.
    """
    rows = []
    for way in (*WAYS, *further):
        found = timed_round(way, latencies)
        rows.append(
            (
                way.label,
                way.design,
                *_times(found),
                *_counts(bill(found) if not found.raised else None),
                path_words(found.timed, found.ended, found.polled),
            )
        )
    heads = (
        "one batch of two records",
        "design",
        "poll() to the end of commitTransaction()",
        "to a visible output",
        "to an acknowledged batch",
        "messages",
        "bytes",
        "appends",
        "critical path of the commit",
    )
    return heads, tuple(rows)


def responses(latencies: Latencies = Latencies()) -> Table:  # noqa: B008  a value never changes
    """Return the cost of a commit, by the time at which the coordinator responds to EndTxn (B6).

    Raises:
        BadLatency: if a latency is not valid.
    """
    rows = []
    for label, design in RESPONSES[:3]:
        found = timed_round(Way(label, design), latencies)
        begin = commit_step(found)
        rows.append(
            (
                label,
                design,
                since(found.timed, found.ended, begin),
                since(found.timed, found.visible, begin),
                since(found.timed, found.acknowledged, begin),
                *_counts(bill(found)),
                path_words(found.timed, found.ended, begin),
            )
        )
    heads = (
        "the coordinator responds to EndTxn",
        "design",
        "commitTransaction() takes",
        "from its call to a visible output",
        "from its call to an acknowledged batch",
        "messages",
        "bytes",
        "appends",
        "what the commit waits for",
    )
    return heads, tuple(rows)


def commit_step(found: Round) -> int:
    """Return the step at which a round calls commitTransaction()."""
    step = call_step(found.timed, Call.COMMIT_TRANSACTION, found.polled)
    assert step is not None, f"{found.way.label}: no commit"
    return step


def _counts(counted: Bill | None) -> tuple[str, str, str]:
    """Return the counts in words; a way that throws retries without end, and is not counted."""
    if counted is None:
        return "-", "-", "-"
    return str(counted.sent), f"{counted.sent_bytes:,}", str(counted.appends)


def _times(found: Round) -> tuple[str, str, str]:
    took = (since(found.timed, step, found.polled) for step in (found.ended, found.visible))
    commit, visible = took
    if found.raised:
        commit = f"throws {found.raised} after {commit}"
    return commit, visible, since(found.timed, found.acknowledged, found.polled)


def since(timed: Timed, step: int | None, begin: int) -> str:
    """Return the time from one step to another in words, or that the latter never came."""
    if step is None:
        return NEVER
    took_ms = (timed.at_us(step) - timed.at_us(begin)) / 1_000
    return f"{number(took_ms)} ms" if took_ms < SECOND_MS else f"{number(took_ms / SECOND_MS)} s"


def path_words(timed: Timed, step: int | None, begin: int) -> str:
    """Return how the time between two steps was spent, such as "4 client hops, 2 replicated appends"."""
    if step is None:
        return "-"
    parts = []
    for what, count, spent in timed.stretches(step, begin):
        if what == LOCAL_HOP:
            continue
        several = what if count == 1 else _plural(what)
        parts.append(f"{count} {several} ({number(spent / 1_000)} ms)")
    return ", ".join(parts) or "nothing"


def _plural(what: str) -> str:
    first, space, rest = what.partition(" ")
    return f"{first}s{space}{rest}" if first in ("request", "wait") else f"{what}s"
