"""What a step of the model costs: run `python tests/bench/bench_model.py`.

An undisturbed loop of share-group transactions under the repaired design, with full history in a
trace. It prints and asserts nothing. Processor time is taken, so that other work on the machine
counts little; the ratios, above all those that should be near 1, are what matters. With
`--short` it takes a tenth of the steps.
"""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable

import simpy

from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.abstraction import SMALL
from kipviz.cluster.specs.spec import ApplicationSpec, ClusterSpec, Placement
from kipviz.cluster.world import World
from kipviz.core.traces.trace import Observer, Trace
from kipviz.designs.catalogue import design
from kipviz.messages.events import MessageDelivered, TransactionDecided
from kipviz.scenarios.applications.programs import SHARE_LOOP
from kipviz.scenarios.scenario import PROPERTIES

STEPS = 10_000 if "--short" in sys.argv else 100_000
WINDOW = 1_000
STEPS_A_TRANSACTION = 40
# In which order the loop lets things happen; before each of its calls transactional acknowledgements are looked up once.
ORDER = {"deliver": 0, "load": 1, "replicate": 2, "sender": 3}


def loop_model(records: int) -> ClusterModel:
    """One application on four brokers, the source led by B5, the output by B3."""
    spec = SMALL.of_brokers(
        ClusterSpec(
            (1, 3, 5, 7),
            (Placement("src-0", 5, (3,)), Placement("output-A-0", 3, (5,))),
            (
                SMALL.of_application(
                    ApplicationSpec(
                        "app-1", "txn", SHARE_LOOP, "g1", "M1", True, "src-0", "output-A-0"
                    )
                ),
            ),
            (("src-0", 0, tuple(f"r{i}" for i in range(records))),),
            (("src", "AAAAAAAAAAAAAAAAAAAAAg"), ("output-A", "AAAAAAAAAAAAAAAAAAAAAw")),
        )
    )
    repaired = design("repaired")
    return repaired.model(spec)


class Calm:
    """Takes what happens by itself, then looks transactional acknowledgements up, then lets the application go on."""

    def __init__(self) -> None:
        self.before = ""

    def choose(self, model: ClusterModel, world: World) -> ClusterAction:
        best, rank = None, 9
        others = []
        for action in model.enabled(world):
            at = ORDER.get(action.KIND, 9)
            if at < rank:
                best, rank = action, at
            elif at == 9:
                others.append(action)
        if best is not None:
            return best
        fresh = [a for a in others if self.before != a.KIND] or others
        chosen = min(fresh, key=lambda a: a.KIND != "refresh")
        self.before = chosen.KIND
        return chosen


def walk(trace: Trace, calm: Calm, steps: int) -> Trace:
    model = trace.model
    for _ in range(steps):
        trace = trace.take(calm.choose(model, trace.world))
    return trace


def time_work(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def simpy_message() -> float:
    """Seconds of one message through a SimPy store: put by one process, got by another."""
    count = 50_000
    environment = simpy.Environment()
    store = simpy.Store(environment)

    def sender():
        for number in range(count):
            yield store.put(number)

    def receiver():
        for _ in range(count):
            yield store.get()

    environment.process(sender())
    environment.process(receiver())
    return time_work(environment.run) / count


def row(title: str, value: str, note: str = "") -> None:
    print(f"{title:<58}{value:>14}   {note}")


def windows_of(
    model: ClusterModel, steps: int = STEPS, observers: tuple[Observer, ...] = ()
) -> tuple[Trace, list[float]]:
    """A run, and the seconds of a step in each of its windows."""
    calm, trace, windows = Calm(), Trace.start(model, observers), []
    for _ in range(steps // WINDOW):
        begun = time.process_time()
        trace = walk(trace, calm, WINDOW)
        windows.append((time.process_time() - begun) / WINDOW)
    return trace, windows


def main() -> None:
    bare = min(simpy_message() for _ in range(3))
    model = loop_model(STEPS // STEPS_A_TRANSACTION * 2 + 100)
    # Worlds hold no cycles, so the collector finds nothing, however often it looks.
    gc.disable()
    trace, windows = windows_of(model)
    seconds = sum(windows) * WINDOW
    messages = committed = 0
    for node in range(1, len(trace)):
        for event in trace.jump(node).events:
            messages += isinstance(event, MessageDelivered)
            committed += isinstance(event, TransactionDecided) and event.committed
    message = seconds / messages
    row("steps", f"{STEPS:,}", "with `enabled` at each, every world kept")
    row("microseconds of a step", f"{seconds / STEPS * 1e6:.1f}")
    row("microseconds of a delivered message", f"{message * 1e6:.1f}", "senders and calls included")
    row("microseconds of a bare SimPy message", f"{bare * 1e6:.1f}", "Store.put and Store.get")
    row("  a delivered message against that", f"{message / bare:.1f}")
    row("messages of a committed transaction", f"{messages / committed:.1f}")
    row("committed share transactions per second", f"{committed / seconds:,.0f}")
    _, judged = windows_of(model, max(STEPS // 5, WINDOW), PROPERTIES)
    with_properties = sum(judged) / len(judged)
    row("microseconds of a step with both properties on", f"{with_properties * 1e6:.1f}")
    row("  that against a bare SimPy message", f"{with_properties / bare:.1f}")
    tenth = max(len(windows) // 10, 1)
    early, late = min(windows[:tenth]), min(windows[-tenth:])
    row(f"microseconds of a step, best of the first {tenth},000", f"{early * 1e6:.1f}")
    row(f"microseconds of a step, best of the last {tenth},000", f"{late * 1e6:.1f}")
    row("  late against early", f"{late / early:.2f}")
    del trace
    gc.enable()
    gc.collect()
    _, collected = windows_of(model)
    with_collector = sum(collected) / len(collected)
    row("microseconds of a step with Python's collector", f"{with_collector * 1e6:.1f}")
    gc.collect()
    memory(model)
    search_keys(model)


def memory(model: ClusterModel) -> None:
    calm, count = Calm(), STEPS // 10
    trace = walk(Trace.start(model), calm, WINDOW)
    tracemalloc.start()
    kept = walk(trace, calm, count)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    row("bytes of a step", f"{used / count:,.0f}", f"over {len(kept) - 1:,} steps")


def search_keys(model: ClusterModel) -> None:
    calm, count = Calm(), STEPS // 10
    world = model.initial()

    def search() -> None:
        here = world
        for _ in range(count):
            here = model.step(here, calm.choose(model, here)).world
            model.search_key(here)

    row("microseconds of a step with its search key", f"{time_work(search) / count * 1e6:.1f}")


if __name__ == "__main__":
    main()
