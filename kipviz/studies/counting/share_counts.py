"""Studies of share groups that count: the fate of a rejected record, and which host waits for which."""

from __future__ import annotations

from kipviz.brokers.logs.partition_log import is_aborted
from kipviz.brokers.settings import READ_COMMITTED, READ_UNCOMMITTED, GroupConfig
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.clients.application import Line
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import ClusterSpec, Placement
from kipviz.cluster.world import World
from kipviz.designs.catalogue import design as design_named
from kipviz.properties.verdict import States
from kipviz.records.placement import SHARE_GROUP_STATE, partition_for, share_partition_key
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.applications import programs
from kipviz.scenarios.library import searched_scenario

Table = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]
SMALL = "kip-1289-small"
BOUNDS = Bounds(states_max=40_000)
DEAD_LETTERS = "dlq.g1"


class _Ends(Search):
    """A search that keeps the worlds in which nothing can happen any more, or only idle actions."""

    def __init__(self, model: ClusterModel, idle: str) -> None:
        self.ends: list[World] = []
        self._idle = idle
        super().__init__(model, ())

    def note(self, number: int, world: World, states: States, depth: int) -> None:
        """Keep a new state if it is final."""
        if all(self._idle == action.KIND for action in self.model.enabled(world)):
            self.ends.append(world)
        super().note(number, world, states, depth)


def follow_rejected() -> Table:
    """Return the fate of a record that its reader rejects in a transaction, with a dead-letter queue."""
    memory = (
        "repaired+staged_acks=memory_only+participant=state_partition_by_group"
        "+marker_reach=every_one_on_the_broker"
    )
    copy = "producer.send(deadLetter(record));"
    rivals = (
        ("REJECT, staged in the log, then commit", "repaired", programs.REJECT_COMMIT, ""),
        (
            "the same, and a connection breaks",
            "repaired",
            programs.REJECT_COMMIT,
            "lose_connection=1",
        ),
        ("REJECT, staged in memory, then commit", memory, programs.REJECT_COMMIT, ""),
        ("REJECT, then abort", "repaired", programs.REJECT_ABORT, ""),
        (f"{copy} and ACCEPT in the transaction", "repaired", programs.COPY_COMMIT, ""),
        (
            "the same, and a connection breaks",
            "repaired",
            programs.COPY_COMMIT,
            "lose_connection=1",
        ),
    )
    rows = []
    for label, design, program, faults in rivals:
        search = _search(_queue(program), design, faults, "")
        explored = search.run(BOUNDS)
        copies = [_copies(world) for world in search.ends]
        none = sum(not n and _is_gone(w) for n, w in zip(copies, search.ends, strict=True))
        counts = (explored.states, len(copies), copies.count(1), sum(n > 1 for n in copies), none)
        rows.append((label, design, *(f"{count:,}" for count in counts)))
    heads = (
        "rival",
        "design",
        "states",
        "final states",
        "of them: one copy",
        "of them: two copies",
        "of them: no copy, and never delivered again",
    )
    return heads, tuple(rows)


def loop() -> Table:
    """Return whether a member's poll() inside its own transaction returns."""
    rows = []
    for label, level in (("off", READ_UNCOMMITTED), ("on", READ_COMMITTED)):
        for clock in ("", "time_out=1"):
            # An undecided transactional acknowledgement is looked up again without end.
            search = _search(_loop_cluster(level), "repaired", clock, "refresh")
            explored = search.run(BOUNDS)
            stuck = sum(_polls(world) for world in search.ends)
            own = sum(_has_its_own(world) for world in search.ends)
            counts = (explored.states, len(search.ends), stuck, own)
            rows.append((label, clock or "no timeout", *(f"{count:,}" for count in counts)))
    heads = (
        "share.isolation.level=read_committed",
        "transaction timeout",
        "states",
        "final states",
        "of them: the second poll() never came back",
        "of them: it brought the transaction's own output",
    )
    return heads, tuple(rows)


def split() -> Table:
    """Return how transactions end that acknowledge records on two brokers when one of them is replaced."""
    rows = []
    for faults in ("", "move_leader=1"):
        search = _search(_two_brokers(), "repaired", faults, "")
        explored = search.run(BOUNDS)
        done = [_count_acknowledged(world) for world in search.ends]
        counts = (explored.states, len(done), done.count(2), done.count(0), done.count(1))
        rows.append((faults or "none", *(f"{count:,}" for count in counts)))
    heads = (
        "accident",
        "states",
        "final states",
        "of them: both records acknowledged",
        "of them: none",
        "of them: one of two",
    )
    return heads, tuple(rows)


def _search(spec: ClusterSpec, design: str, faults: str, idle: str) -> _Ends:
    story = searched_scenario(SMALL).but(spec=spec)
    return _Ends(story.model(design_named(design), budget_of(faults)), idle)


def _queue(program: tuple[Line, ...]) -> ClusterSpec:
    """Return the small cluster with a group that has a dead-letter queue."""
    spec = searched_scenario(SMALL).spec
    (app,) = spec.applications
    return spec.but(
        applications=(app.but(program=program),),
        placements=(*spec.placements, Placement(f"{DEAD_LETTERS}-0", 3, (1,))),
        topic_ids=(*spec.topic_ids, (DEAD_LETTERS, "AAAAAAAAAAAAAAAAAAAABQ")),
        group_configs=(GroupConfig(app.group_id, dead_letter_topic=DEAD_LETTERS),),
        dead_letter_topics=(DEAD_LETTERS,),
    )


def _loop_cluster(level: str) -> ClusterSpec:
    """Return the small cluster with an application that writes to the topic that it reads."""
    spec = searched_scenario(SMALL).spec
    (app,) = spec.applications
    return spec.but(
        applications=(app.but(program=programs.POLL_INSIDE, output=app.source),),
        group_configs=(GroupConfig(app.group_id, isolation_level=level),),
    )


def _two_brokers() -> ClusterSpec:
    """Return the small cluster with one record on each of two brokers, staged in one transaction.

    Only src-1 has another replica, so that only its leader can change.
    """
    spec = searched_scenario(SMALL).spec
    (app,) = spec.applications
    key = share_partition_key(app.group_id, dict(spec.topic_ids)["src"], 1)
    home = f"{SHARE_GROUP_STATE}-{partition_for(key, spec.internal_partitions)}"
    return spec.but(
        applications=(app.but(program=programs.STAGE_TWICE, further_sources=("src-1",)),),
        placements=(
            *(placement.but(others=()) for placement in spec.placements),
            Placement("src-1", 3, (5,)),
            Placement(home, 7),
        ),
        records=(*spec.records, ("src-1", 200, ("b",))),
    )


def _count_acknowledged(world: World) -> int:
    """Count the records that are durably acknowledged."""
    return sum(
        batch.last - batch.first + 1
        for role in world.roles.values()
        if isinstance(role, ShareCoordinator)
        for state in role.states.values()
        for batch in state.batches
        if batch.state is RecordState.ACKNOWLEDGED
    )


def _copies(world: World) -> int:
    """Count the records that a read_committed consumer finds in the dead-letter queue."""
    log = world.logs[f"{DEAD_LETTERS}-0"]
    return sum(
        len(batch.records)
        for batch in log.batches
        if not batch.control and not is_aborted(log, batch)
    )


def _is_gone(world: World) -> bool:
    """Return whether the record is final in a leader's memory: it will not be delivered again."""
    shares = [
        share
        for role in world.roles.values()
        if isinstance(role, ShareLeader)
        for share in role.shares.values()
    ]
    given = (RecordState.AVAILABLE, RecordState.ACQUIRED)
    held = [record.state for share in shares for record in share.records.values()]
    return bool(shares) and not any(state in given for state in held)


def _polls(world: World) -> bool:
    return any(app.waiting and not app.ended for app in world.applications.values())


def _has_its_own(world: World) -> bool:
    """Return whether the application holds a record that it wrote itself, decided or not."""
    return any(r.value.startswith("f(") for a in world.applications.values() for r in a.records)
