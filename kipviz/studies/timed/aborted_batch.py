"""The cost of aborts for a batch of 100 records of which the first cannot be processed (B11).

One run for each rival and limit: a member acquires a batch, sends the outputs and stages the acknowledgements. It
aborts if the poison record is in the batch, and commits if not. A lock expires only if nothing else can happen.
"""

from __future__ import annotations

from functools import partial

from kipviz.checking.judging.budgets import budget_of
from kipviz.clients.application import Call, Line
from kipviz.cluster.actions import ClusterAction, ExpireLock, Refresh, Step
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.world import World
from kipviz.core.model import Event
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named
from kipviz.messages.events import RecordsMoved, TransactionDecided
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.applications import programs
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.script import next_by_itself
from kipviz.scenarios.setting_changes import apply_changes
from kipviz.studies.study import Part, Parts, Row, StoppedEarly, Tell

STORY = "kip-1289-small-abort"
RECORDS = 100
FINAL = (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)
# A poison record without a limit is delivered again and again: so many aborts, as a multiple of the limit, are enough
# to see it.
ABORTS_PER_DELIVERY = 3
FAILING = tuple(
    programs.FAIL.but(then=line.then) if line.call is Call.COMMIT_TRANSACTION else line
    for line in programs.SHARE_LOOP
)
LIMITS = (5, 2)
RIVALS = (
    ("the delivery counts, and the lock archives at the limit (the text)", "finding-M"),
    (
        "the delivery counts, and the abort archives at the limit",
        "repaired+abort_limit=archived_at_the_limit",
    ),
    ("the delivery counts, and the abort does not look at the limit", "repaired"),
    ("an abort gives the delivery back", "repaired+abort_target=available_uncounted"),
)


class BatchHistory(Value, frozen=True):
    """What has happened so far: the number of aborted transactions, and the state changes of records."""

    aborts: int = 0
    moves: tuple[RecordsMoved, ...] = ()

    def with_events(self, events: tuple[Event, ...]) -> BatchHistory:
        """Return the same with the events of one more step."""
        aborts = sum(isinstance(e, TransactionDecided) and not e.committed for e in events)
        moved = tuple(e for e in events if isinstance(e, RecordsMoved))
        return self.but(aborts=self.aborts + aborts, moves=(*self.moves, *moved))

    def into(self, state: RecordState) -> list[int]:
        """Return the offsets that entered a state, once for each time."""
        return [
            offset
            for move in self.moves
            if move.after is state
            for offset in range(move.first, move.last + 1)
        ]

    def is_staged(self, offset: int) -> bool:
        """Return whether a record is TX_PENDING."""
        states = [move.after for move in self.moves if move.first <= offset <= move.last]
        return bool(states) and states[-1] is RecordState.TX_PENDING


def model_of(design: str, limit: int) -> ClusterModel:
    """Return the model: one share-partition of 100 records, and one member that takes all it can get."""
    story = searched_scenario(STORY)
    ((partition, first, _),) = story.spec.records
    (app,) = story.spec.applications
    spec = story.spec.but(
        records=((partition, first, tuple(f"r{number}" for number in range(RECORDS))),),
        applications=(app.but(program=programs.SHARE_LOOP, max_records=RECORDS),),
    )
    spec, chosen = apply_changes(spec, design_named(design), (f"delivery_count_limit={limit}",))
    budget = budget_of(f"expire_lock={ABORTS_PER_DELIVERY * limit}")
    return story.but(spec=spec).model(chosen, budget)


def play_batch(design: str, limit: int, tell: Tell) -> BatchHistory:
    """Play until every record is archived or acknowledged, or the poison record was delivered too often.

    A lookup and a statement of the application alternate, each followed by everything that happens by itself.
    """
    model = model_of(design, limit)
    ((_, poison, _),) = model.spec.records
    world, found = model.initial(), BatchHistory()
    while found.aborts < ABORTS_PER_DELIVERY * limit:
        taken = False
        for kind in (Refresh, Step, ExpireLock):
            if kind is ExpireLock and taken:
                break
            if kind is Step:
                world = _with_program(
                    world, FAILING if found.is_staged(poison) else programs.SHARE_LOOP
                )
            action: ClusterAction | None = next(
                (a for a in model.enabled(world) if isinstance(a, kind)), None
            )
            while action is not None:
                taken = True
                outcome = model.step(world, action)
                world, found = outcome.world, found.with_events(outcome.events)
                action = next_by_itself(model, world)
        ended = sum(len(found.into(state)) for state in FINAL)
        if ended == RECORDS or not taken:
            break
        if not tell(f"{found.aborts} aborts, {ended} of {RECORDS} records have ended"):
            raise StoppedEarly
    return found


def _with_program(world: World, program: tuple[Line, ...]) -> World:
    """Return the state in which the application's next statements are those of a program."""
    ((name, app),) = world.applications.items()
    return world.but(applications=world.applications.set(name, app.but(program=program)))


def _play_limit(words: str, design: str, limit: int, tell: Tell) -> tuple[Row, ...]:
    found = play_batch(design, limit, tell)
    archived, done = (
        set(found.into(state)) for state in (RecordState.ARCHIVED, RecordState.ACKNOWLEDGED)
    )
    innocent = max(len(archived) - 1, 0)
    left = RECORDS - len(archived) - len(done)
    counts = (limit, found.aborts, len(archived), innocent, len(done), left)
    return ((words, design, *map(str, counts)),)


PARTS = Parts(
    (
        "rival",
        "design",
        "delivery limit",
        "transactions aborted",
        f"of {RECORDS} records: archived",
        "of them: no processing has failed on them",
        "committed",
        "still waiting when the run is stopped",
    ),
    tuple(
        Part(f"{words}, limit {limit}", partial(_play_limit, words, design, limit))
        for words, design in RIVALS
        for limit in LIMITS
    ),
)
