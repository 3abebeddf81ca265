"""One round of a consume-transform-produce loop, on a timed clock: the ways to acknowledge what was read.

Each way is a program on a cluster under a design. The round begins when poll() is called. It ends when the next poll()
waits and nothing of the round is left to happen by itself.
"""

from __future__ import annotations

from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.checking.timed.critical_path import (
    Latencies,
    Moment,
    Timed,
    run,
    validate_latencies,
    with_timed_clock,
)
from kipviz.clients.application import Call, Line
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import ClusterSpec, FaultBudget
from kipviz.cluster.world import World
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named
from kipviz.messages.events import CallReturned, CallStarted, OffsetResolved
from kipviz.scenarios.applications import programs
from kipviz.scenarios.library import searched_scenario

APP, OTHER = "app-1", "app-2"
SOURCE, OUTPUT = "src-0", "output-A-0"
FIRST_OFFSET = 100
# How long a round is followed: a way that is not done by then retries without end.
ROUND_MAX_MS = 10_000

SHARE, GROUP = "kip-1289-share-commit", "kip-1289-group-commit"
# The share group's loop without the staging: the next poll() accepts the previous batch.
PLAIN: tuple[Line, ...] = (
    *(line.but(on_error=-1) for line in programs.SHARE_LOOP[:4]),
    programs.SHARE_LOOP[5].but(then=1, on_error=-1),
)


class Way(Value, frozen=True):
    """A way to acknowledge: a program (the story's own if empty) on a story's cluster, under a design."""

    label: str
    design: str
    story: str = SHARE
    program: tuple[Line, ...] = ()


WAYS = (
    Way("share group, the next poll() acknowledges: not atomic", "kafka", program=PLAIN),
    Way("regular group, sendOffsetsToTransaction()", "kafka", GROUP),
    Way("share group, KIP-1289 as written", "as-written"),
    Way("the same, with markers that resolve", "as-written+marker_epoch=at_least"),
    Way("share group, KIP-1289 repaired", "repaired"),
    Way(
        "the same, and the leader is notified of the outcome (study B2)",
        "repaired+outcome_news=the_coordinator_tells",
    ),
    Way("share group in a session (KIP-1310, repaired)", "repaired", "kip-1310-share-session"),
    Way("share group in a session (KIP-1310 as written)", "kip-1310", "kip-1310-share-session"),
    Way("regular group in a session (KIP-1310, repaired)", "repaired", "kip-1310-streams-session"),
)


class Round(Value, frozen=True):
    """One round: its run, and the steps at which its conditions were met (None: never).

    `call_step` and `polled` are when poll() was called and returned records. `ended` is when commitTransaction() returned,
    with `raised` as the name of its exception ("" if it committed). `visible` is when a read_committed consumer could
    read the output. `acknowledged` is when the share-partition start offset passed the records, or the group's offset
    was committed.
    """

    way: Way
    timed: Timed
    called: int
    polled: int
    ended: int | None
    raised: str
    visible: int | None
    acknowledged: int | None


def spec_of(way: Way, records: int = 2) -> ClusterSpec:
    """Return the cluster of a way with `records` records to read and an application that takes them all."""
    story = searched_scenario(way.story)
    app = next(a for a in story.spec.applications if a.name == APP)
    values = tuple(f"v{n}" for n in range(records))
    changed = app.but(program=way.program or app.program, max_records=records)
    return story.spec.but(
        applications=(changed,), records=((SOURCE, FIRST_OFFSET, values),), budget=FaultBudget()
    )


def model_of(spec: ClusterSpec, design: str, latencies: Latencies) -> ClusterModel:
    """Return a cluster with a timed clock whose applications have the assumed processing time.

    Raises:
        BadLatency: if a latency is not valid.
        UnknownDesign: if there is no such design.
    """
    work_ms = int(validate_latencies(latencies).work_ms)
    apps = tuple(app.but(work_ms=work_ms) for app in spec.applications)
    chosen = design_named(design)
    return ClusterModel(
        with_timed_clock(spec.but(applications=apps, **dict(chosen.levels))),
        chosen.broker_rules(),
        chosen.client_rules(),
    )


def timed_round(way: Way, latencies: Latencies, records: int = 2) -> Round:
    """Run one round of a way, and record when its conditions were met.

    Raises:
        BadLatency: if a latency is not valid.
    """
    spec = spec_of(way, records)
    timed = run(
        model_of(spec, way.design, latencies),
        latencies,
        lambda _: False,
        time_max_ms=ROUND_MAX_MS,
    )
    begun = first_call(timed, Call.POLL)
    polled = first_return(timed, Call.POLL, begun)
    ended = return_step(timed, Call.COMMIT_TRANSACTION, polled)
    return Round(
        way,
        timed,
        begun,
        polled,
        ended,
        "" if ended is None else _find_exception(timed.moments[ended], Call.COMMIT_TRANSACTION),
        timed.first(lambda _, world: output_is_visible(world), polled),
        timed.first(lambda moment, world: acknowledged(moment, world, records), polled),
    )


def call_step(timed: Timed, call: Call, after: int = -1, name: str = APP) -> int | None:
    """Return the first step after `after` at which an application makes a call, or None."""
    return timed.first(lambda m, _: has_called(m, name, call), after)


def return_step(timed: Timed, call: Call, after: int = -1, name: str = APP) -> int | None:
    """Return the first step after `after` at which a call of an application returns, or None."""
    return timed.first(lambda m, _: has_returned(m, name, call), after)


def first_call(timed: Timed, call: Call) -> int:
    """Return the first step at which the application makes a call; every round has one."""
    found = call_step(timed, call)
    assert found is not None, f"no round without {call.value}()"
    return found


def first_return(timed: Timed, call: Call, after: int) -> int:
    """Return the first step at which a call of the application returns; every round has one."""
    found = return_step(timed, call, after)
    assert found is not None, f"no round in which {call.value}() does not return"
    return found


def has_called(moment: Moment, name: str, call: Call) -> bool:
    """Return whether an application makes a call in a step."""
    return any(
        isinstance(e, CallStarted) and (e.application, e.call) == (name, call)
        for e in moment.events
    )


def has_returned(moment: Moment, name: str, call: Call) -> bool:
    """Return whether a call of an application returns in a step."""
    return any(
        isinstance(e, CallReturned) and (e.application, e.call) == (name, call)
        for e in moment.events
    )


def _find_exception(moment: Moment, call: Call) -> str:
    found = (str(e.raised) for e in moment.events if isinstance(e, CallReturned) and e.call == call)
    return next(found, "")


def output_is_visible(world: World) -> bool:
    """Return whether the last stable offset has passed the first output."""
    return bool(world.logs[OUTPUT].last_stable_offset > 0)


def acknowledged(moment: Moment, world: World, records: int) -> bool:
    """Return whether the group is done with the records, from one step and the world after it."""
    resolved = any(isinstance(e, OffsetResolved) and e.committed for e in moment.events)
    return resolved or any(
        share.start_offset >= FIRST_OFFSET + records
        for role in world.roles.values()
        if isinstance(role, ShareLeader)
        for share in role.shares.values()
    )
