"""How long a record waits for its next delivery, and a request behind a batch: assumed latencies, real timers.

The times are those of a critical path (`kipviz.checking.timed.critical_path`): what the protocol has to wait for, not a
benchmark. Kafka's timers have their defaults, such as a lock of 30 s and a transaction timeout of 60 s, unless a story
has others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kipviz.checking.timed.critical_path import Latencies, Moment, Timed, number, run
from kipviz.clients.application import Call
from kipviz.clients.groups.subscribing import MODERN
from kipviz.cluster.actions import (
    ClusterAction,
    CrashClient,
    ExpireLock,
    RunOut,
    StartClient,
    Step,
    TimeOutTransaction,
)
from kipviz.cluster.behaviour.catalogue import label
from kipviz.cluster.specs.kafka_defaults import default_in_flight
from kipviz.cluster.specs.spec import ApplicationSpec, ClusterSpec, FaultBudget, Placement
from kipviz.cluster.world import World
from kipviz.core.values import Value
from kipviz.messages.events import MessageDelivered, MessageSent
from kipviz.messages.groups.groups import TxnOffsetCommit, TxnOffsetCommitResponse
from kipviz.messages.logs.producing import Produce, ProduceResponse
from kipviz.messages.shares.share_groups import TxnShareAcknowledgeResponse
from kipviz.messages.transactions.transactions import EndTxn
from kipviz.records.placement import CONSUMER_OFFSETS, TRANSACTION_STATE
from kipviz.scenarios.applications import programs
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.setting import GROUP as GROUP_ID
from kipviz.scenarios.setting import TRANSACTIONAL_ID, group_app, home, share_app
from kipviz.studies.test_plan.cost import NEVER, Table, path_words, since
from kipviz.studies.test_plan.rounds import (
    APP,
    GROUP,
    OTHER,
    PLAIN,
    ROUND_MAX_MS,
    WAYS,
    Way,
    first_return,
    has_called,
    has_returned,
    model_of,
    return_step,
    spec_of,
)

# How long a redelivery is awaited: longer than any of Kafka's timers that can cause it.
WAIT_MAX_MS = 300_000
TIMERS = FaultBudget(expire_lock=9, time_out=9, run_out=99, crash_client=1)

SAME, OTHER_MEMBER, RESTARTED = "the same member", "another member", "restarted at once"
STAGES = frozenset({Call.SEND_OFFSETS, Call.SEND_SHARE_ACKNOWLEDGEMENTS})
NOT_ASKED = "-"
STAGED_RESPONSES = (TxnShareAcknowledgeResponse, TxnOffsetCommitResponse)

# The possible states after an abort (B10), each on the repaired design.
ABORTS = (
    Way("free (the test plan)", "repaired"),
    Way("held again by its member (the javadoc)", "repaired+abort_target=acquired"),
    Way(
        "the same, and the next poll() accepts all",
        "repaired+abort_target=acquired+next_poll=accept_all",
    ),
    Way("free, the delivery not counted", "repaired+abort_target=available_uncounted"),
)
CONNECTIONS = (
    ("one per broker (today)", "kafka", "kip-1310-streams-producer"),
    ("the session has its own (KIP-1310)", "repaired", "kip-1310-streams-session"),
)


class Redelivery(Value, frozen=True):
    """One wait for a redelivery: its run, and the steps at which it began and ended (None: never)."""

    timed: Timed
    begin: int
    end: int | None

    @property
    def took_ms(self) -> float | None:
        """How long it took in ms, None if the record was not delivered again."""
        if self.end is None:
            return None
        return (self.timed.at_us(self.end) - self.timed.at_us(self.begin)) / 1_000

    @property
    def words(self) -> str:
        """How long it took, in words."""
        return since(self.timed, self.end, self.begin)

    @property
    def timers(self) -> str:
        """The timers of brokers that expired until then, each once."""
        end = len(self.timed.moments) if self.end is None else self.end + 1
        fired = (
            label(self.timed.worlds[k], self.timed.moments[k].action)
            for k in range(self.begin + 1, end)
            if isinstance(self.timed.moments[k].action, (ExpireLock, RunOut, TimeOutTransaction))
        )
        return "; ".join(dict.fromkeys(fired))

    @property
    def path(self) -> str:
        """How the time was spent."""
        return path_words(self.timed, self.end, self.begin)


def after_abort(way: Way, latencies: Latencies, *, to: str = SAME) -> Redelivery:
    """Measure from abortTransaction() to the poll() that returns the record again.

    The program is the way's own with a first round that aborts after everything was staged. `to` is the member that
    polls then: the same one, or another one whose poll() already waits while the first one stops.

    Raises:
        BadLatency: if a latency is not valid.
        UnknownDesign: if there is no such design.
    """
    program = programs.GROUP_ABORT if way.story == GROUP else programs.SHARE_ABORT
    spec = _members(way.but(program=way.program or program), TIMERS.but(crash_client=0), to)

    begun = _once(lambda m, _: has_called(m, APP, Call.ABORT_TRANSACTION))
    ended = _once(lambda m, _: has_returned(m, APP, Call.ABORT_TRANSACTION))
    heard = _once(lambda m, _: _has_heard(m, STAGED_RESPONSES))
    polled = _once(lambda m, _: has_returned(m, APP, Call.POLL))

    def withheld(timed: Timed, action: ClusterAction) -> bool:
        if not isinstance(action, Step):
            return False
        if action.application == OTHER:
            return polled(timed) is None
        app = timed.world.applications[APP]
        aborts = app.program[app.line].call is Call.ABORT_TRANSACTION and not app.waiting
        too_early = aborts and heard(timed) is None
        return too_early or (to == OTHER_MEMBER and ended(timed) is not None)

    receiver = OTHER if to == OTHER_MEMBER else APP
    return _redelivery(spec, way.design, latencies, receiver, begun, withheld, None)


def after_crash(way: Way, latencies: Latencies, *, to: str = OTHER_MEMBER) -> Redelivery:
    """Measure from a crash of the application to the poll() that returns the record again.

    It crashes when its acknowledgement is staged (or, without a staging, its batch is written), before it ends the
    transaction. `to` is the member that polls then: another one that already waits, or the same application, which
    restarts at once.

    Raises:
        BadLatency: if a latency is not valid.
        UnknownDesign: if there is no such design.
    """
    spec = _members(way, TIMERS, to)
    staged = STAGED_RESPONSES if _stages(spec) else (ProduceResponse,)
    crashed = _once(lambda m, _: isinstance(m.action, CrashClient))
    polled = _once(lambda m, _: has_returned(m, APP, Call.POLL))

    def withheld(timed: Timed, action: ClusterAction) -> bool:
        theirs = isinstance(action, Step) and action.application == OTHER
        return theirs and polled(timed) is None

    def choose_crash(timed: Timed) -> ClusterAction | None:
        if not timed.moments:
            return None
        last = timed.moments[-1]
        if isinstance(last.action, CrashClient):
            return StartClient(APP) if to == RESTARTED else None
        return CrashClient(APP) if crashed(timed) is None and _has_heard(last, staged) else None

    receiver = OTHER if to == OTHER_MEMBER else APP
    return _redelivery(spec, way.design, latencies, receiver, crashed, withheld, choose_crash)


def redelivery(latencies: Latencies = Latencies()) -> Table:  # noqa: B008  a value never changes
    """Return how long each way leaves a record undelivered after an abort and after a crash.

    A regular group has one reader of a partition, so no other member polls after its abort.

    Raises:
        BadLatency: if a latency is not valid.
    """
    rows = []
    for way in WAYS[:5]:
        stages = _stages(spec_of(way))
        readers = (stages, stages and way.story != GROUP)
        aborts = (
            after_abort(way, latencies, to=to).words if asked else NOT_ASKED
            for to, asked in zip((SAME, OTHER_MEMBER), readers, strict=True)
        )
        crashes = [after_crash(way, latencies, to=to) for to in (RESTARTED, OTHER_MEMBER)]
        rows.append(
            (
                way.label,
                way.design,
                *aborts,
                *(each.words for each in crashes),
                crashes[1].timers or "none",
            )
        )
    heads = (
        "one record, staged",
        "design",
        f"after an abort: {SAME}",
        f"after an abort: {OTHER_MEMBER}",
        f"after a crash: {RESTARTED}",
        f"after a crash: {OTHER_MEMBER}",
        "timers that expired before that last one",
    )
    return heads, tuple(rows)


def abort_delays(latencies: Latencies = Latencies()) -> Table:  # noqa: B008  a value never changes
    """Return how long an abort delays the next delivery of a record, by the state after the abort.

    Raises:
        BadLatency: if a latency is not valid.
    """
    rows = []
    for way in ABORTS:
        found = [after_abort(way, latencies, to=to) for to in (SAME, OTHER_MEMBER)]
        timers = "; ".join(dict.fromkeys(each.timers for each in found if each.timers))
        rows.append((way.label, way.design, *(each.words for each in found), timers or "none"))
    heads = (
        "what the abort leaves",
        "design",
        f"abortTransaction() to the poll() of {SAME}",
        f"to the poll() of {OTHER_MEMBER}",
        "timers that expired until then",
    )
    return heads, tuple(rows)


def behind_a_batch(latencies: Latencies = Latencies()) -> Table:  # noqa: B008  a value never changes
    """Return how long a request of the transaction waits for a batch on its connection (KIP-1310 3.4).

    The coordinators are on the broker of the output, and the batch is in flight when
    sendOffsetsToTransaction() is called.

    Raises:
        BadLatency: if a latency is not valid.
    """
    rows = []
    for words, design, name in CONNECTIONS:
        spec = searched_scenario(name).spec
        coordinators = (home(CONSUMER_OFFSETS, GROUP_ID), home(TRANSACTION_STATE, TRANSACTIONAL_ID))
        placements = tuple(
            p if p.partition not in coordinators else Placement(p.partition, 3, (4,))
            for p in spec.placements
        )
        produced = _once(_sending(Produce))

        def withheld(
            timed: Timed,
            action: ClusterAction,
            produced: Callable[[Timed], int | None] = produced,
        ) -> bool:
            app = timed.world.applications[APP]
            stages = app.program[app.line].call is Call.SEND_OFFSETS and not app.waiting
            return isinstance(action, Step) and stages and produced(timed) is None

        timed = run(
            model_of(
                spec.but(
                    placements=placements,
                    budget=FaultBudget(),
                    applications=tuple(
                        app.but(max_in_flight=default_in_flight(app)) for app in spec.applications
                    ),
                ),
                design,
                latencies,
            ),
            latencies,
            lambda _: False,
            withheld=withheld,
            time_max_ms=ROUND_MAX_MS,
        )
        begin = first_return(timed, Call.POLL, -1)
        committed = return_step(timed, Call.COMMIT_TRANSACTION, begin)
        rows.append(
            (words, design, *_render_waits(timed, begin, latencies), since(timed, committed, begin))
        )
    heads = (
        "connection",
        "design",
        "TxnOffsetCommit waits for the batch",
        "EndTxn waits for the batch",
        "poll() to the end of commitTransaction()",
    )
    return heads, tuple(rows)


def _render_waits(timed: Timed, after: int, latencies: Latencies) -> Iterator[str]:
    """Yield for how long the first request of each kind waited at its broker before it was read."""
    free_ms = latencies.round_trip_ms / 2 + latencies.handling_ms
    for kind in (TxnOffsetCommit, EndTxn):
        sent = timed.first(_sending(kind), after)
        read = timed.first(_reading(kind), after)
        if sent is None or read is None:
            yield NEVER
        else:
            took_ms = (timed.at_us(read) - timed.at_us(sent)) / 1_000
            yield f"{number(max(took_ms - free_ms, 0))} ms"


def _sending(kind: type) -> Callable[[Moment, World], bool]:
    return lambda m, _: any(
        isinstance(e, MessageSent) and isinstance(e.message, kind) for e in m.events
    )


def _reading(kind: type) -> Callable[[Moment, World], bool]:
    return lambda m, _: _has_heard(m, (kind,))


def _redelivery(
    spec: ClusterSpec,
    design: str,
    latencies: Latencies,
    receiver: str,
    begun: Callable[[Timed], int | None],
    withheld: Callable[[Timed, ClusterAction], bool],
    forced: Callable[[Timed], ClusterAction | None] | None,
) -> Redelivery:
    def find_receipt(timed: Timed) -> int | None:
        begin = begun(timed)
        if begin is None:
            return None
        return timed.first(lambda m, world: _is_delivered(m, world, receiver), begin)

    timed = run(
        model_of(spec, design, latencies),
        latencies,
        lambda timed: (
            begun(timed) is not None and _is_delivered(timed.moments[-1], timed.world, receiver)
        ),
        withheld=withheld,
        forced=forced,
        time_max_ms=WAIT_MAX_MS,
    )
    begin = begun(timed)
    assert begin is not None, f"{design}: what the wait begins with does not happen"
    return Redelivery(timed, begin, find_receipt(timed))


def _has_heard(moment: Moment, responses: tuple[type, ...]) -> bool:
    return any(
        isinstance(e, MessageDelivered) and isinstance(e.message, responses) for e in moment.events
    )


def _is_delivered(moment: Moment, world: World, name: str) -> bool:
    return has_returned(moment, name, Call.POLL) and bool(world.applications[name].records)


def _once(found: Callable[[Moment, World], bool]) -> Callable[[Timed], int | None]:
    """Return a function that finds the first step that satisfies a condition, checking each step once."""
    seen = 0
    step: int | None = None

    def request_times(timed: Timed) -> int | None:
        nonlocal seen, step
        while step is None and seen < len(timed.moments):
            if found(timed.moments[seen], timed.worlds[seen + 1]):
                step = seen
            seen += 1
        return step

    return request_times


def _members(way: Way, budget: FaultBudget, to: str) -> ClusterSpec:
    """Return the cluster of a way with one record, and with another member if that is to get it."""
    spec = spec_of(way, records=1).but(budget=budget)
    if to != OTHER_MEMBER:
        return spec
    if way.story != GROUP:
        return spec.but(
            applications=(*spec.applications, share_app(OTHER, program=PLAIN, max_records=1))
        )
    (first,) = spec.applications
    second = group_app(name=OTHER, member_id="C2", transactional_id=f"{TRANSACTIONAL_ID}-5")
    return spec.but(applications=(_joining(first), _joining(second)))


def _joining(app: ApplicationSpec) -> ApplicationSpec:
    return app.but(protocol=MODERN)


def _stages(spec: ClusterSpec) -> bool:
    """Return whether the first application stages what it has read in its transaction."""
    return any(line.call in STAGES for line in spec.applications[0].program)
