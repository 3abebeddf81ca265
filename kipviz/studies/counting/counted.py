"""Studies that count: the outcomes of every interleaving, in numbers instead of verdicts."""

from __future__ import annotations

from functools import partial

from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.outcomes import endings
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.world import World
from kipviz.designs.catalogue import design as design_named
from kipviz.properties.verdict import States
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.applications import programs
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.setting_changes import apply_changes
from kipviz.studies.study import Part, Parts, Row, StoppedEarly, Tell, searching

Table = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]
SMALL = "kip-1289-small"
BOUNDS = Bounds(states_max=40_000)


# When the coordinator responds to EndTxn (B6).
AT_COMPLETION = "end_txn_response=at_completion"
RESPONSES: tuple[tuple[str, str], ...] = (
    ("at PREPARE_COMMIT (Kafka)", "repaired"),
    ("at COMPLETE_COMMIT", f"repaired+{AT_COMPLETION}"),
    (
        "at COMPLETE_COMMIT, and the leader is notified of the outcome",
        f"repaired+{AT_COMPLETION}+outcome_news=the_coordinator_tells",
    ),
    ("at PREPARE_COMMIT, markers that do not resolve (finding I)", "finding-I"),
    ("at COMPLETE_COMMIT, markers that do not resolve (finding I)", f"finding-I+{AT_COMPLETION}"),
)


def window() -> Table:
    """Count the states in which the producer knows of its commit and the share side does not."""
    rows = []
    for label, design in RESPONSES:
        search = _Window(searched_scenario(SMALL).model(design_named(design), FaultBudget()))
        explored = search.run(BOUNDS)
        counts = (explored.states, search.states, search.pending, search.held)
        rows.append((label, design, *(f"{count:,}" for count in counts)))
    heads = (
        "the coordinator responds to EndTxn",
        "design",
        "states",
        "commitTransaction() has returned",
        "of them: the record is TX_PENDING",
        "of them: the output is not visible",
    )
    return heads, tuple(rows)


class _Window(Search):
    """A search that counts the states after the response to a commit, and what is unfinished in them."""

    def __init__(self, model: ClusterModel) -> None:
        self.states = self.pending = self.held = 0
        super().__init__(model, ())

    def note(self, number: int, world: World, states: States, depth: int) -> None:
        """Count a new state."""
        app = next(iter(world.applications.values()))
        # The response to EndTxn contained the next epoch.
        if app.producer.manager.producer_epoch > 0:
            self.states += 1
            self.pending += has_staged(world)
            self.held += bool(world.logs[app.output].open)
        super().note(number, world, states, depth)


def has_staged(world: World) -> bool:
    """Return whether a record is TX_PENDING at some share-partition leader."""
    return any(
        record.state is RecordState.TX_PENDING
        for role in world.roles.values()
        if isinstance(role, ShareLeader)
        for share in role.shares.values()
        for record in share.records.values()
    )


def _count_archived(label: str, design: str, tell: Tell) -> tuple[Row, ...]:
    """Count in how many endings a record is archived: one abort, one lock that expires, two attempts."""
    story, chosen = searched_scenario(SMALL), design_named(design)
    (app,) = story.spec.applications
    spec = story.spec.but(applications=(app.but(program=programs.SHARE_ABORT),))
    spec, chosen = apply_changes(spec, chosen, ("delivery_count_limit=2",))
    model = story.but(spec=spec).model(chosen, budget_of("expire_lock=1"))
    found, explored = endings(model, BOUNDS, searching(tell))
    if explored.cancelled:
        raise StoppedEarly
    lost = [e for e in found if any(not count for _, count in e.outputs)]
    finals = sum(count for count, _ in found.values())
    given_up = sum(found[ended][0] for ended in lost)
    states = f"{explored.states:,}" + ("" if explored.complete else ", not complete")
    return ((label, design, states, str(finals), str(given_up)),)


ATTEMPTS = Parts(
    ("rival", "design", "states", "final states", "of them: the record is archived"),
    tuple(
        Part(label, partial(_count_archived, label, design))
        for label, design in (
            ("the delivery counts", "repaired"),
            ("an abort gives it back", "repaired+abort_target=available_uncounted"),
        )
    ),
)
