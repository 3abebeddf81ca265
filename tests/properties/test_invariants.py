"""Each invariant over hand-made histories, and all of them over runs of the designs."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from kipviz.brokers.context import Image, Leadership
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.membership.classic_group import ClassicGroup, ClassicMember, GroupState
from kipviz.brokers.membership.consumer_group import ConsumerGroup, GroupMember
from kipviz.brokers.share_leaders.share_partition import PendingWrite, ShareLeader, SharePartition
from kipviz.checking.single_run.seeded_run import Task, model_of, moments
from kipviz.core.model import Event, Outcome
from kipviz.core.table import Table
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.events import (
    BatchAppended,
    LeaderMoved,
    MessageSent,
    OffsetStaged,
    RecordsMoved,
    ShareStateReset,
    TopicDeleted,
    TopicRemade,
    TransactionMoved,
)
from kipviz.messages.shares.share_state import TxnWriteShareGroupState
from kipviz.messages.transactions.transactions import InitProducerIdResponse
from kipviz.properties.facts.share_facts import forget_decided
from kipviz.properties.facts.share_record import ShareRecord
from kipviz.properties.invariants import INVARIANTS, Facts, Invariant
from kipviz.properties.verdict import BROKEN
from kipviz.records.batches import Batch
from kipviz.records.classic_groups import Subscription
from kipviz.records.placement import SHARE_GROUP_STATE, partition_for
from kipviz.records.share_group_state import RecordState, ShareUpdateRecord
from kipviz.records.transaction_state import TransactionState
from kipviz.scenarios.library import LIBRARY
from tests.messages.shares import staging_response
from tests.properties.history import (
    KEY,
    WORLD,
    after,
    decision,
    drop_event,
    load_event,
    marker,
    output,
)
from tests.properties.hostile import MISUSED, broken_in, each_once, playable

S = RecordState
ANY = INVARIANTS[0]


def moves(
    before: RecordState, after: RecordState, offset: int = 100, member: str = "M1", epoch: int = 0
) -> Event:
    because = f"it went from {before.name} to {after.name}"
    return RecordsMoved("src-0", "g1", offset, offset, before, after, 1, member, because, 9, epoch)


def answer_event(message: object) -> Event:
    return MessageSent("A1/producer", 1, "response", message)


def start_at(offset: int) -> Event:
    record = ShareUpdateRecord(KEY, 0, 0, offset, 0, ())
    return BatchAppended("__share_group_state-7", 1, (record,), -1, -1, "")


def complete_event(partition: str = "out-0") -> Event:
    state = TransactionState.COMPLETE_COMMIT
    return TransactionMoved("my-txn", 9, 1, TransactionState.PREPARE_COMMIT, state, (partition,))


def fresh(epoch: int) -> Event:
    return answer_event(InitProducerIdResponse(Errors.NONE, 9, epoch))


TAKEN = moves(S.AVAILABLE, S.ACQUIRED)
STAGED = (
    moves(S.ACQUIRED, S.TX_PENDING),
    answer_event(staging_response(Errors.NONE, "src-0")),
)
COMMITS, ABORTS = decision(committed=True), decision(committed=False)
DONE = moves(S.TX_PENDING, S.ACKNOWLEDGED)
FREED = moves(S.TX_PENDING, S.AVAILABLE)
RESET = ShareStateReset(KEY, 5, 100)

BREAKING: dict[str, tuple[str, tuple[Event, ...]]] = {
    "delivered after its commit": ("committed stays", (TAKEN, *STAGED, COMMITS, FREED)),
    "unknown to the new leader after its commit": (
        "committed stays",
        (TAKEN, *STAGED, COMMITS, DONE, drop_event(), load_event()),
    ),
    "acknowledged straight after the abort": (
        "abort undoes the acknowledgement",
        (
            TAKEN,
            *STAGED,
            ABORTS,
            moves(S.TX_PENDING, S.ACQUIRED),
            moves(S.ACQUIRED, S.ACKNOWLEDGED),
        ),
    ),
    "given to a second member": ("one owner", (TAKEN, moves(S.ACQUIRED, S.ACQUIRED, member="M2"))),
    "freed while undecided": ("staged waits", (TAKEN, *STAGED, FREED)),
    "a start offset that goes back": ("start offset only advances", (start_at(102), start_at(101))),
    "a start offset past a record in use": (
        "start offset only advances",
        (start_at(100), TAKEN, start_at(101)),
    ),
    "a start offset past a transactional acknowledgement that no log had": (
        "start offset only advances",
        (
            start_at(100),
            TAKEN,
            moves(S.ACQUIRED, S.TX_PENDING),
            drop_event(),
            load_event(),
            COMMITS,
            start_at(101),
        ),
    ),
    "a start offset past a transactional acknowledgement that is aborted": (
        "start offset only advances",
        (
            start_at(100),
            TAKEN,
            moves(S.ACQUIRED, S.TX_PENDING),
            drop_event(),
            load_event(100),
            ABORTS,
            start_at(101),
        ),
    ),
    "a promised transactional acknowledgement that a new leader has not": (
        "transactional acknowledgements survive",
        (TAKEN, *STAGED, drop_event(), load_event()),
    ),
    "a transactional acknowledgement that a reset takes while it is undecided": (
        "transactional acknowledgements survive",
        (TAKEN, *STAGED, RESET, drop_event(), load_event()),
    ),
    "both decisions": ("one outcome", (COMMITS, ABORTS)),
    "two kinds of marker": ("one outcome", (marker("COMMIT"), marker("ABORT", to="out-1"))),
    "a batch behind its marker": ("nothing hangs", (marker("ABORT"), output(100))),
    "a fenced producer's commit": (
        "fenced producer cannot commit",
        (output(100), fresh(3), COMMITS),
    ),
    "a fenced producer's batch": ("fenced producer cannot write", (fresh(3), output(100))),
}
HOLDING: dict[str, tuple[Event, ...]] = {
    "nothing": (),
    "a committed flow": (
        start_at(100),
        TAKEN,
        *STAGED,
        COMMITS,
        marker("COMMIT"),
        DONE,
        start_at(101),
    ),
    "an aborted one, tried again": (
        TAKEN,
        *STAGED,
        ABORTS,
        FREED,
        moves(S.AVAILABLE, S.ACQUIRED, member="M2"),
        moves(S.ACQUIRED, S.ACKNOWLEDGED, member="M2"),
    ),
    "aborted, then staged anew by the same member": (
        TAKEN,
        *STAGED,
        ABORTS,
        moves(S.TX_PENDING, S.ACQUIRED),
        moves(S.ACQUIRED, S.TX_PENDING, epoch=1),
    ),
    "a staging that fails before anybody was told": (
        TAKEN,
        moves(S.ACQUIRED, S.TX_PENDING),
        moves(S.TX_PENDING, S.ACQUIRED),
    ),
    "a new leader that holds the transactional acknowledgement": (
        TAKEN,
        *STAGED,
        drop_event(),
        load_event(100),
        COMMITS,
        DONE,
    ),
    "a new leader without a transactional acknowledgement that was aborted": (
        TAKEN,
        *STAGED,
        ABORTS,
        drop_event(),
        load_event(),
    ),
    "another owner after the lock ran out": (
        TAKEN,
        moves(S.ACQUIRED, S.AVAILABLE),
        moves(S.AVAILABLE, S.ACQUIRED, member="M2"),
    ),
    "a transactional acknowledgement that was durable before its producer heard of it, and a new leader": (
        start_at(100),
        TAKEN,
        moves(S.ACQUIRED, S.TX_PENDING),
        drop_event(),
        load_event(100),
        COMMITS,
        start_at(101),
    ),
    "the same, decided before the new leader took office": (
        start_at(100),
        TAKEN,
        moves(S.ACQUIRED, S.TX_PENDING),
        drop_event(),
        COMMITS,
        load_event(start=101),
        start_at(101),
    ),
    "an operator who sets the start back": (
        start_at(102),
        RESET,
        start_at(100),
    ),
    "an operator who wants again what was decided": (
        TAKEN,
        *STAGED,
        COMMITS,
        RESET,
        drop_event(),
        load_event(),
    ),
    "another topic of the same name": (
        TAKEN,
        *STAGED,
        COMMITS,
        TopicRemade("src", "SRC-ID", "NEW-ID"),
        load_event(),
        moves(S.AVAILABLE, S.ACQUIRED, member="M2"),
    ),
    "a topic that is deleted while a member has a record of it": (
        TAKEN,
        TopicDeleted("src", "SRC-ID"),
        moves(S.AVAILABLE, S.ACQUIRED, member="M2"),
    ),
    "another owner under a new leader": (
        TAKEN,
        drop_event(),
        load_event(),
        moves(S.AVAILABLE, S.ACQUIRED, member="M2"),
    ),
    "the next transaction behind the marker": (marker("COMMIT"), output(101, epoch=1)),
    "the newest producer": (fresh(3), output(100, epoch=3), decision(committed=True, epoch=3)),
}


def find_invariant(name: str) -> Invariant:
    return next(invariant for invariant in INVARIANTS if invariant.name == name)


@pytest.mark.parametrize("story", BREAKING)
def test_a_story_breaks_its_invariant_with_its_last_event_and_no_other(story: str) -> None:
    name, events = BREAKING[story]
    assert after(events[:-1]).broken == Table.of()
    assert tuple(after(events).broken) == (name,)


@pytest.mark.parametrize("story", HOLDING)
def test_a_story_that_keeps_every_invariant(story: str) -> None:
    assert dict(after(HOLDING[story]).broken.items()) == {}


def test_a_start_offset_may_pass_what_retention_took_though_a_member_holds_it() -> None:
    log = SimpleNamespace(start_offset=101)
    world = SimpleNamespace(
        logs=Table.of({"src-0": log}), roles=Table.of(), image=WORLD.image, budget=WORLD.budget
    )
    assert after((start_at(100), TAKEN, start_at(101)), world).broken == Table.of()
    assert (
        "start offset only advances" in after((start_at(100), TAKEN, start_at(102)), world).broken
    )


def test_a_start_offset_that_was_not_replicated_is_forgotten_with_its_leader() -> None:
    home = f"{SHARE_GROUP_STATE}-{partition_for(KEY, 50)}"
    kept = Batch(0, (ShareUpdateRecord(KEY, 0, 0, 100, 0, ()),))
    image = Image(Table.of(), 50, Table.of({"src": "SRC-ID"}))
    for batches, left in (((kept,), {KEY: 100}), ((), {})):
        logs = Table.of({home: SimpleNamespace(batches=batches), "src-0": WORLD.logs["src-0"]})
        world = SimpleNamespace(logs=logs, roles=Table.of(), image=image, budget=WORLD.budget)
        for moved, starts in ((home, left), ("src-0", {KEY: 103})):
            facts = after((RESET, start_at(103), LeaderMoved(moved, 7, 3, 1)), world)
            assert dict(facts.starts.items()) == starts


def test_what_a_dropped_leader_has_yet_to_write_was_promised_to_nobody() -> None:
    """The answer is about another staging of the same partition."""
    message = TxnWriteShareGroupState(KEY, 2, 0, "t", 9, 0, (), 100, False)
    write = PendingWrite("stage", message, (100,))
    left = SharePartition(KEY, "g1", "src-0", 0, writes=(write,))
    for shares in ({"leaving": Table.of({(KEY, 0): left})}, {"shares": Table.of({KEY: left})}):
        roles = Table.of({"B5": ShareLeader(**shares)})
        world = SimpleNamespace(
            logs=Table.of(), roles=roles, image=WORLD.image, budget=WORLD.budget
        )
        facts = after((TAKEN, *STAGED), world)
        assert (len(facts.staging), len(facts.acknowledgements)) == (1, 0)
    assert len(after((TAKEN, *STAGED)).acknowledgements) == 1


def test_a_transaction_that_is_complete_while_a_partition_is_open_breaks_its_invariant() -> None:
    logs = Table.of({"out-0": SimpleNamespace(open=((5, 9),))})
    world = SimpleNamespace(logs=logs, roles=Table.of(), image=WORLD.image, budget=WORLD.budget)
    facts = after((complete_event(),), world)
    assert "its transaction is open in out-0" in facts.broken["complete means closed"]
    assert after((complete_event("out-1"),), world).broken == Table.of()
    nameless = complete_event().but(partitions=())
    assert "complete means closed" in after((nameless,), world).broken, "as a coordinator says it"


@pytest.mark.parametrize(
    ("member", "partition", "words"),
    [
        ("C1", "src-0", ""),
        ("C1", "src-1", ""),  # it has not let go of it yet
        ("C1", "src-9", "C1 staged an offset of src-9, which it no longer owns"),
        ("C9", "src-0", "C9 staged an offset of src-0 and is not a member of g"),
        ("", "src-0", "a request without a member id staged an offset of src-0"),
    ],
)
def test_who_stages_offsets_is_a_member_that_has_the_partition(
    member: str, partition: str, words: str
) -> None:
    known = GroupMember(("src",), epoch=3, assigned=(("src-0", 2),), revoking=(("src-1", 2),))
    group = ConsumerGroup(3, 3, Table.of({"C1": known}))
    home = "__consumer_offsets-0"
    role = GroupCoordinator(home, groups=Table.of({"g": group}))
    image = Image(Table.of({home: Leadership(4, 0, (4,))}), 1, Table.of())
    roles = Table.of({(4, "group_coordinator", home): role})
    world = SimpleNamespace(logs=Table.of(), roles=roles, image=image, budget=WORLD.budget)
    facts = after((OffsetStaged("g", partition, 102, 9, member),), world)
    assert facts.broken.get("no zombie offset commits", "").startswith(words)
    assert bool(facts.broken) == bool(words)


def test_of_a_classic_group_only_who_was_assigned_a_partition_stages_offsets_of_it() -> None:
    member = ClassicMember("C", Subscription(("src",)), ("src-0",))
    group = ClassicGroup(GroupState.STABLE, generation=2, members=Table.of({"C.1": member}))
    home = "__consumer_offsets-0"
    role = GroupCoordinator(home, classic_groups=Table.of({"g": group}))
    image = Image(Table.of({home: Leadership(4, 0, (4,))}), 1, Table.of())
    world = SimpleNamespace(
        logs=Table.of(),
        roles=Table.of({(4, "group_coordinator", home): role}),
        image=image,
        budget=WORLD.budget,
    )
    for partition, name, broken in (
        ("src-0", "C.1", False),
        ("src-1", "C.1", True),
        ("src-0", "C.2", True),
    ):
        facts = after((OffsetStaged("g", partition, 102, 9, name),), world)
        assert bool(facts.broken) is broken


def test_every_invariant_has_a_story_that_breaks_it() -> None:
    asks_the_world = {
        "complete means closed",
        "no zombie offset commits",
        "batch stays in its transaction",
    }
    told = {name for name, _ in BREAKING.values()} | asks_the_world
    assert told == {invariant.name for invariant in INVARIANTS}


def test_an_invariant_that_broke_stays_broken_with_its_first_reason() -> None:
    facts = after((COMMITS, ABORTS, marker("COMMIT"), marker("ABORT")))
    found = find_invariant("one outcome").finding(facts)
    assert found.status == BROKEN
    assert "was decided as commit and as abort" in found.reason


def test_the_next_transaction_of_an_old_client_has_the_epoch_and_an_outcome_of_its_own() -> None:
    """Whatever the cluster is at: who speaks EndTxn 4 keeps its epoch."""
    done, open_, ends = (
        TransactionState.COMPLETE_COMMIT,
        TransactionState.ONGOING,
        TransactionState.PREPARE_ABORT,
    )
    begins, adds, aborts = (
        TransactionMoved("t", 9, 0, before, after, ("out-0",))
        for before, after in ((done, open_), (open_, open_), (open_, ends))
    )
    first = (COMMITS, marker("COMMIT", epoch=0))
    second = (aborts, ABORTS, marker("ABORT", epoch=0))
    assert after((*first, begins, adds, *second)).broken == Table.of()
    assert "one outcome" in after((*first, adds, *second)).broken


def broken_by(name: str, seeds: range, clusters: slice = slice(None)) -> Iterator[str]:
    """What hostile runs of each cluster break, one after the other: whoever looks for a break stops at it."""
    for story in playable(each_once(LIBRARY)[clusters], design(name)):
        if story.name in MISUSED:
            continue
        for seed in seeds:
            task = Task(story.name, name, "hostile", seed)
            facts = ANY.initial(model_of(task).initial())
            for moment in moments(task):
                facts = ANY.observe(facts, moment.action, moment.outcome)
            yield from facts.broken


@pytest.mark.parametrize(("name", "first"), [("kafka", 0), ("repaired", 1)])
def test_a_whole_design_keeps_every_invariant_in_hostile_runs_of_every_second_cluster(
    name: str, first: int
) -> None:
    assert set(broken_by(name, range(1), slice(first, None, 2))) == set()


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["kafka", "repaired"])
def test_a_whole_design_keeps_every_invariant_in_many_hostile_runs(name: str) -> None:
    assert set(broken_by(name, range(12))) == set()


def test_a_lock_that_runs_on_breaks_the_invariants_it_should() -> None:
    missing = {"committed stays", "staged waits"}
    for broken in broken_by("finding-D", range(1)):
        missing.discard(broken)
        if not missing:
            break
    assert missing == set()


def test_transactional_acknowledgements_in_memory_do_not_survive() -> None:
    assert "transactional acknowledgements survive" in broken_by(
        "repaired+staged_acks=memory_only", range(5, 6)
    )


def test_all_invariants_share_one_pass_over_the_facts() -> None:
    outcome = Outcome(WORLD, (COMMITS,))
    states = [invariant.initial(WORLD) for invariant in INVARIANTS]
    states = [p.observe(s, None, outcome) for p, s in zip(INVARIANTS, states, strict=True)]
    assert len({id(state) for state in states}) == 1


@pytest.mark.parametrize(
    ("story", "under", "seed"),
    [
        ("kip-1319-by-id", "kafka", 11),  # a staged offset whose topic is deleted
        ("kip-932-reset", "kafka", 12),  # an operator sets a start offset back
        ("kip-664-hanging", "kafka-tv0", 13),  # a leader moves behind a committed transaction
    ],
)
def test_runs_of_a_sweep_that_were_false_alarms_keep_every_invariant(
    story: str, under: str, seed: int
) -> None:
    assert broken_in(Task(story, under, "hostile", seed)) == {}


def test_a_record_that_is_not_staged_leaves_no_transactional_acknowledgement_alone_though_one_is_known_of_it():
    name = ShareRecord("g1", "src-0", 100)
    facts = Facts().but(acknowledgements=Table.of({name: (9, 0)}))
    (invariant,) = (each for each in INVARIANTS if each.name == "staged waits")
    assert invariant.breaks(facts, moves(S.TX_PENDING, S.AVAILABLE), WORLD).startswith(name)
    assert invariant.breaks(facts, moves(S.AVAILABLE, S.ACQUIRED), WORLD) == ""
    assert invariant.breaks(facts, moves(S.TX_PENDING, S.TX_PENDING), WORLD) == ""
    done = facts.but(decided=Table.of({(9, 0): "commit"}))
    assert invariant.breaks(done, moves(S.TX_PENDING, S.AVAILABLE), WORLD) == ""


def test_a_reset_takes_back_the_decided_transactional_acknowledgements_of_its_own_partition_and_group_alone():
    staged = {
        ShareRecord("g1", "src-0", 100): (9, 0),
        ShareRecord("g1", "src-0", 101): (9, 1),
        ShareRecord("g1", "src-1", 100): (9, 0),
        ShareRecord("g2", "src-0", 100): (9, 0),
    }
    facts = Facts().but(decided=Table.of({(9, 0): "commit"}))
    left = forget_decided(facts, Table.of(staged), "g1", "src-0")
    assert dict(left.items()) == {
        name: acknowledgement
        for name, acknowledgement in staged.items()
        if name != ShareRecord("g1", "src-0", 100)
    }


@pytest.mark.parametrize(
    ("held", "broken", "left"),
    [
        (
            (100,),
            (),
            {
                ShareRecord("g1", "src-0", 100),
                ShareRecord("g1", "src-1", 100),
                ShareRecord("g2", "src-0", 100),
            },
        ),
        (
            (),
            ("transactional acknowledgements survive",),
            {ShareRecord("g1", "src-1", 100), ShareRecord("g2", "src-0", 100)},
        ),
    ],
)
def test_a_new_leader_answers_for_its_own_partition_and_group_alone(held, broken, left) -> None:
    """SharePartition.maybeInitialize reads the state of one key."""
    acknowledgements = Table.of(
        dict.fromkeys(
            (
                ShareRecord("g1", "src-0", 100),
                ShareRecord("g1", "src-1", 100),
                ShareRecord("g2", "src-0", 100),
            ),
            (9, 0),
        )
    )
    before = ANY.initial(WORLD).but(acknowledgements=acknowledgements)
    facts = ANY.observe(before, None, Outcome(WORLD, (load_event(*held),)))
    assert tuple(facts.broken) == broken
    assert set(facts.acknowledgements.keys()) == left


@pytest.mark.parametrize(("kept", "epochs"), [(-1, {12: 5}), (0, {0: 3}), (9, {9: 3})])
def test_who_keeps_a_transaction_is_known_by_its_identity_whatever_its_number(kept, epochs) -> None:
    """KIP-939: -1 says that there is none; producer ids are from 0 on."""
    answer = InitProducerIdResponse(Errors.NONE, 12, 5).but(
        ongoing_txn_producer_id=kept, ongoing_txn_producer_epoch=3
    )
    facts = after((MessageSent("app-1/producer", 7, "response", answer),))
    assert dict(facts.epochs.items()) == epochs
