"""Two application threads that use one session: how every interleaving ends, for each reading of "thread-safe"."""

from __future__ import annotations

from functools import partial

from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.checking.judging.outcomes import Decided, is_over
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.world import World
from kipviz.designs.catalogue import design
from kipviz.designs.design import slot_named
from kipviz.properties.verdict import States
from kipviz.records.record_name import place_of
from kipviz.scenarios.library import searched_scenario
from kipviz.studies.study import Part, Parts, Row, StoppedEarly, Tell, searching

# The programs, by their stories.
PROGRAMS = (
    ("it commits at once", "kip-1310-two-threads"),
    ("it waits for the worker, then commits", "kip-1310-two-threads-wait"),
    ("it gives the worker up, and does the work itself", "kip-1310-late-thread"),
)
SLOT = "session_threads"
HEADS = (
    "the first thread",
    "a call of another thread",
    "states",
    "final states",
    "of them: an output without its offset",
    "an output that is there twice",
    "nothing is committed",
)


def _count_endings(words: str, story: str, option: str, tell: Tell) -> tuple[Row, ...]:
    """Count how many endings of one program are faulty in one reading."""
    model = searched_scenario(story).model(design(f"repaired+{SLOT}={option}"), FaultBudget())
    found = Endings(model)
    explored = found.run(Bounds(), searching(tell))
    if explored.cancelled:
        raise StoppedEarly
    counts = (explored.states, found.over, found.again, found.twice, found.nothing)
    return ((words, option, *(f"{count:,}" for count in counts)),)


PARTS = Parts(
    HEADS,
    tuple(
        Part(f"{words}: {option.name}", partial(_count_endings, words, story, option.name))
        for words, story in PROGRAMS
        for option in slot_named(SLOT).options
    ),
)


class Endings(Search):
    """A search that records what is committed when nothing happens by itself any more."""

    def __init__(self, model: ClusterModel) -> None:
        """Start at zero."""
        self.over = self.again = self.twice = self.nothing = 0
        super().__init__(model, (Decided(),))

    def note(self, number: int, world: World, states: States, depth: int) -> None:
        """Count a final state."""
        if is_over(self.model, world):
            outputs = states[0].committed
            self.over += 1
            self.again += any(not _is_past(world, record) for record in outputs)
            self.twice += any(count > 1 for count in outputs.values())
            self.nothing += not outputs
        super().note(number, world, states, depth)


def _is_past(world: World, record: str) -> bool:
    """Return whether a group's committed offset is past a record."""
    partition, offset = place_of(record)
    offsets = [role.offsets for role in world.roles.values() if isinstance(role, GroupCoordinator)]
    return any(
        known.offset > offset
        for table in offsets
        for (_, of), known in table.items()
        if of == partition
    )
