"""Rolling upgrades, stage by stage, in a running cluster whose brokers have different releases."""

from __future__ import annotations

from collections.abc import Sequence

from kipviz.cluster.actions import UpgradeFeature
from kipviz.cluster.behaviour.catalogue import script_name
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.world import host_of
from kipviz.core.model import Event
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design as design_named
from kipviz.messages.cluster.features import STAGING_LEVEL
from kipviz.messages.events import CallReturned, MessageDelivered, MessageSent, TransactionMoved
from kipviz.messages.transactions.transactions import AddPartitionsToTxn
from kipviz.properties.atomic import Atomic
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.script import Beat, play
from kipviz.scenarios.setting import PLAYGROUND, share_app, share_spec
from kipviz.studies.test_plan.rollout import BROKERS, NEW, OLD, ROUNDS, Table, outcome
from kipviz.studies.test_plan.rounds import PLAIN

CLIENTS = ("app-1", "app-2")
# The last release that does not verify membership in a transaction, the first that does, and today's (KIP-890).
VERIFYING = ("3.5", "3.6", "4.4")


def restart_steps(brokers: tuple[int, ...], release: str) -> tuple[str, ...]:
    """Return the steps that restart brokers one after the other with a release."""
    steps: tuple[str, ...] = ()
    for broker in brokers:
        steps += (f"B{broker} is stopped for {release}", "quiet", f"B{broker} starts", "quiet")
    return steps


# One broker after the other, then the feature level, then new connections, and all the way back.
STAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("before", ()),
    ("phase 1: Broker 7", restart_steps((7,), NEW)),
    ("phase 1: Broker 3", restart_steps((3,), NEW)),
    ("phase 1: Broker 1", restart_steps((1,), NEW)),
    ("phase 1: Broker 5, the last one", restart_steps((5,), NEW)),
    ("phase 3: the level is finalized", ("share.version 3 is finalized",)),
    ("phase 4: the client connects again", ("app-1/producer loses B?",)),
    ("the level is downgraded", ("share.version 2 is finalized",)),
    ("downgrade: Broker 7", restart_steps((7,), OLD)),
)


def stages(design: str = "repaired") -> Table:
    """Roll KIP-1289 out and back in one run; at each stage a new and an old client run one round."""
    apps = (
        searched_scenario("kip-1289-rollout").spec.applications[0],
        share_app("app-2", program=PLAIN, max_records=1),
    )
    values = tuple(f"v{number}" for number in range(60))
    spec = share_spec(*apps, values=values).but(
        share_rollout=STAGING_LEVEL - 1,
        releases=tuple((broker, OLD) for broker in BROKERS),
        binaries=(OLD, NEW),
        budget=PLAYGROUND.but(restart=8, upgrade=4, lose_connection=9),
    )
    chosen = design_named(design)
    model = chosen.model(spec)
    trace = Trace.start(model)
    rows = []
    for stage, steps in STAGES:
        trace = _follow_steps(trace, model, steps)
        world = trace.world
        coded = sum(world.image.release_of(b).stages for b in spec.brokers)
        why = model.why_not(world, UpgradeFeature("share_version", STAGING_LEVEL))
        now = world.image.features.share_version
        level = f"is {now}" if now == STAGING_LEVEL else "refused" if why else "possible"
        begun = trace.depth
        trace, _ = play(trace, model, (_rounds(),))
        told = [e for n in trace.line[begun + 1 :] for e in trace.node(n).events]
        cells = (_after_all(_filter_events(told, name)) for name in CLIENTS)
        rows.append((stage, f"{coded} of {len(spec.brokers)}", level, *cells))
    return ("stage", "brokers with the code", "share.version 3", "new client", "old client"), tuple(
        rows
    )


def _after_all(events: Sequence[Event]) -> str:
    """Return the final outcome of a client: a round that started at the previous stage may fail first."""
    thrown = [at for at, e in enumerate(events) if isinstance(e, CallReturned) and e.raised]
    at_last = outcome(events[thrown[-1] + 1 :]) if thrown else ""
    return at_last if at_last == "works" else outcome(events)


def _rounds() -> Beat:
    """Let both clients run, in turn, until each has completed its loop."""
    each = tuple(step for name in CLIENTS for step in (f"maybe {name} goes on", "quiet"))
    return Beat("", "", each * (2 * ROUNDS))


def _follow_steps(trace: Trace, model: ClusterModel, steps: tuple[str, ...]) -> Trace:
    """Follow instructions; one that matches several actions is followed for each of them."""
    for step in steps:
        if "?" not in step:
            trace, _ = play(trace, model, (Beat("", "", (step,)),))
            continue
        before, after = step.split("?")
        fits = [
            text
            for text in (script_name(trace.world, a) for a in model.enabled(trace.world))
            if text.startswith(before) and text.endswith(after)
        ]
        trace, _ = play(trace, model, (Beat("", "", tuple(fits)),))
    return trace


def _filter_events(events: Sequence[Event], name: str) -> tuple[Event, ...]:
    """Return the events of a run that belong to one client, and the transactions, which are app-1's."""
    return tuple(event for event in events if _is_of(event, name))


def _is_of(event: Event, name: str) -> bool:
    match event:
        case CallReturned():
            return event.application == name
        case MessageSent():
            return host_of(event.source) == name
        case TransactionMoved():
            return event.transactional_id.endswith("-2") == (name == "app-2")
        case _:
            return False


def verification() -> Table:
    """Let a batch arrive after its abort, for each pair of releases of coordinator and leader."""
    cells = [tuple(_late(coordinator, leader) for leader in VERIFYING) for coordinator in VERIFYING]
    heads = ("coordinator", *(f"leader {name}" for name in VERIFYING))
    rows = tuple((f"{name}", *row) for name, row in zip(VERIFYING, cells, strict=True))
    both = VERIFYING[-1:] * 2
    last = ("transaction.version 2, all 4.4", "", "", _late(*both, version=2))
    return heads, (*rows, last)


def _late(coordinator: str, leader: str, version: int = 0) -> str:
    """Play the late batch of kip-890-hanging and return its outcome."""
    of = {1: coordinator, 3: leader}
    spec = searched_scenario("kip-890-rolling").spec
    spec = spec.but(
        transaction_version=version,
        releases=tuple((b, of.get(b, leader)) for b in spec.brokers),
    )
    kafka = design_named("kafka")
    model = kafka.model(spec)
    beats = searched_scenario("kip-890-hanging").beats[:4]
    trace, _ = play(Trace.start(model, (Atomic(),)), model, beats)
    log = trace.world.logs["output-A-0"]
    asked = any(
        isinstance(event, MessageDelivered)
        and isinstance(event.message, AddPartitionsToTxn)
        and event.source.startswith("B3/")
        for number in trace.line[-4:]
        for event in trace.node(number).events
    )
    what = "appended, and hangs" if log.open else "refused"
    return f"{what}; {'asked' if asked else 'did not ask'}"
