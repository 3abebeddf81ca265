"""The messages from a decision until the record leaves TX_PENDING, in one run without faults (B2)."""

from __future__ import annotations

from functools import partial

from kipviz.designs.catalogue import design as design_named
from kipviz.messages.events import MessageDelivered, TransactionDecided
from kipviz.scenarios.library import searched_scenario
from kipviz.studies.counting.counted import has_staged
from kipviz.studies.counting.databases import PROMPT, run
from kipviz.studies.study import Part, Parts, Rival, Row, StoppedEarly, Tell
from kipviz.studies.test_plan.chaos import go_on

STORY = "kip-1289-small-apart"
NEVER = "never"


def hops(design: str) -> tuple[tuple[str, ...], bool]:
    """Return the messages between brokers after the decision, and whether the record left TX_PENDING."""
    model = searched_scenario(STORY).model(design_named(design))
    trace = go_on(run(model, PROMPT), model)
    decided, found = False, []
    for number in trace.line:
        world, events = trace.jump(number).world, trace.node(number).events
        if decided:
            found += [
                type(event.message).__name__
                for event in events
                if isinstance(event, MessageDelivered)
                and event.source.partition("/")[0] not in world.applications
            ]
            if not has_staged(world):
                return tuple(found), True
        decided = decided or any(isinstance(event, TransactionDecided) for event in events)
    return tuple(found), False


def _count_hops(rival: Rival, tell: Tell) -> tuple[Row, ...]:
    found, left = hops(rival.design)
    if not tell(f"{len(found)} messages"):
        raise StoppedEarly
    return ((rival.label, str(len(found)) if left else NEVER, ", ".join(found)),)


def hops_of(rivals: tuple[Rival, ...]) -> Parts:
    """Return the table of messages for each rival."""
    return Parts(
        (
            "rival",
            "messages between brokers until the record leaves TX_PENDING",
            "messages after the decision",
        ),
        tuple(Part(rival.label, partial(_count_hops, rival)) for rival in rivals),
    )
