"""KIP-447's first draft: what a transaction coordinator does with the generations that it hears of."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.brokers.transactions import group_transactions as gt
from kipviz.brokers.transactions import transaction_coordinator as tc
from kipviz.brokers.transactions.transaction_append import unreported_decisions
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.driving.desk import Desk
from kipviz.messages.cluster.features import Features
from kipviz.messages.errors import Errors
from kipviz.messages.events import GenerationSeen
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.group_transactions import InitProducerIdOfGroup
from kipviz.messages.transactions.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    TxnPartitions,
)
from kipviz.records.transaction_state import GroupAssignmentRecord, TransactionState

E = Errors
S = TransactionState
HOME = "__transaction_state-0"
DRAFT = "kip-447-first-draft"
BOTH = ("src-0", "src-1")


def desk(rules: str = DRAFT, **image: Any) -> Desk:
    made = Desk(tc, TransactionCoordinator(HOME, 2), leaders={HOME: 1, "out-0": 3}, rules=rules)
    made.image |= {"features": Features(transaction_version=0), **image}
    return made


def init(at: Desk, name: str, generation: int, *assigned: str, group: str = "g") -> Any:
    request = InitProducerIdOfGroup(
        name, group_id=group, generation=generation, assigned=assigned or BOTH
    )
    return at.ask(gt.on_init_producer_id_of_group, request)


def add(at: Desk, name: str, pid: int) -> Errors:
    request = AddPartitionsToTxn((TxnPartitions(name, pid, 0, ("out-0",)),), version=3)
    return error_in(at.ask(tc.on_add_partitions, request))


def open_transaction(rules: str = DRAFT, *assigned: str) -> Desk:
    """A producer of generation 1 with a transaction open."""
    at = desk(rules)
    given = init(at, "old", 1, *assigned)
    assert add(at, "old", given.producer_id) is E.NONE
    return at


def test_the_assignment_is_in_the_log_before_the_identity() -> None:
    at = desk()
    assert init(at, "t", 1).error is E.NONE
    first, second = at.written(HOME)
    assert first == GroupAssignmentRecord("g", "t", 1, BOTH)
    assert (second.transactional_id, second.state) == ("t", S.EMPTY)
    assert at.events[0] == GenerationSeen("g", 1)


def test_every_call_gets_a_producer_id_of_its_own_and_says_nothing_twice() -> None:
    at = desk()
    ids = [init(at, "t", generation).producer_id for generation in (1, 1, 2)]
    assert ids == [9, 10, 11]
    told = [r for r in at.written(HOME) if isinstance(r, GroupAssignmentRecord)]
    assert [r.generation for r in told] == [1, 2]


def test_what_an_older_generation_has_open_in_these_partitions_is_aborted_first() -> None:
    at = open_transaction()
    assert init(at, "new", 2, "src-1").error is E.CONCURRENT_TRANSACTIONS
    assert at.role.transactions["old"].state is S.PREPARE_ABORT
    # The markers are on their way: it is not over yet.
    assert init(at, "new", 2, "src-1").error is E.CONCURRENT_TRANSACTIONS
    (request,) = at.requests
    (marker,) = request.message.markers
    assert (marker.committed, marker.partitions) == (False, ("out-0",))


@pytest.mark.parametrize(
    ("option", "answer", "left"),
    [
        ("it_is_aborted", E.CONCURRENT_TRANSACTIONS, S.PREPARE_ABORT),
        ("it_has_to_time_out", E.CONCURRENT_TRANSACTIONS, S.ONGOING),
        ("it_stays_open", E.NONE, S.ONGOING),
    ],
)
def test_what_becomes_of_it_is_a_question_of_its_own(option, answer, left) -> None:
    at = open_transaction(f"{DRAFT}+older_transaction={option}")
    assert init(at, "new", 2).error is answer
    assert at.role.transactions["old"].state is left


def test_other_partitions_and_other_groups_are_left_alone() -> None:
    at = open_transaction(DRAFT, "src-0")
    assert init(at, "new", 2, "src-1").error is E.NONE
    assert init(at, "other", 7, "src-0", group="h").error is E.NONE
    assert at.role.transactions["old"].state is S.ONGOING


def test_an_older_generation_is_refused_whatever_it_asks() -> None:
    at = open_transaction(DRAFT, "src-0")
    assert init(at, "new", 2, "src-1").error is E.NONE
    assert add(at, "old", 9) is E.PRODUCER_FENCED
    for handler, request in (
        (tc.on_add_offsets, AddOffsetsToTxn("old", 9, 0, "g")),
        (tc.on_end_txn, EndTxn("old", 9, 0, True, 4)),
    ):
        assert at.ask(handler, request).error is E.PRODUCER_FENCED
    assert init(at, "old", 1).error is E.ILLEGAL_GENERATION
    assert init(at, "old", 2, "src-0").error is E.CONCURRENT_TRANSACTIONS  # its own is aborted
    assert add(at, "new", 10) is E.NONE


def test_until_it_hears_of_a_newer_one_an_older_generation_is_served() -> None:
    at = open_transaction()
    assert at.ask(tc.on_end_txn, EndTxn("old", 9, 0, True, 4)).error is E.NONE


def test_without_the_check_an_older_generation_may_go_on() -> None:
    at = open_transaction(f"{DRAFT}+older_generation=no_generation_is_known", "src-0")
    assert init(at, "new", 2, "src-1").error is E.NONE
    assert at.ask(tc.on_end_txn, EndTxn("old", 9, 0, True, 4)).error is E.NONE
    assert init(at, "late", 1, "src-2").error is E.NONE


def test_the_next_coordinator_knows_the_generations_from_the_log() -> None:
    at = open_transaction(DRAFT, "src-0")
    init(at, "new", 2, "src-1")
    before = at.role.assignments
    at.role = TransactionCoordinator(HOME, 3, loading=True)
    assert init(at, "new", 2).error is E.COORDINATOR_LOAD_IN_PROGRESS
    at.do(tc.on_loaded(at.role, at.on))
    assert at.role.assignments == before
    assert add(at, "old", 9) is E.PRODUCER_FENCED


def test_a_request_that_cannot_be_served_leaves_no_trace() -> None:
    at = desk(min_insync_replicas=(("__transaction_state", 2),), offline=(99,))
    assert init(at, "t", 1).error is E.COORDINATOR_NOT_AVAILABLE
    at.image |= {"offline": (), "features": Features(inter_broker_protocol=0)}
    assert init(at, "t", 1).error is E.UNSUPPORTED_VERSION
    at.image["features"] = Features()
    late = InitProducerIdOfGroup("t", 0, group_id="g", generation=1)
    assert at.ask(gt.on_init_producer_id_of_group, late).error is E.INVALID_TRANSACTION_TIMEOUT
    assert at.written(HOME) == []
    assert not len(at.role.assignments)


def test_an_assignment_is_no_decision_that_anybody_has_to_hear_of() -> None:
    at = open_transaction()
    log = at.logs[HOME].but(given_up=(at.logs[HOME].end_offset - 1,))
    assert unreported_decisions(log) == ()


def test_what_is_only_about_to_be_open_is_waited_for_too() -> None:
    at = desk()
    given = init(at, "old", 1)
    at.instant = False  # the replicas have not got its first partition
    request = AddPartitionsToTxn(
        (TxnPartitions("old", given.producer_id, 0, ("out-0",)),), version=3
    )
    assert at.ask(tc.on_add_partitions, request) is None
    assert at.role.transactions["old"].state is S.EMPTY
    assert init(at, "new", 2).error is E.CONCURRENT_TRANSACTIONS


def test_a_generation_is_seen_once_however_many_members_name_it() -> None:
    at = desk()
    for name, partition in (("t", "src-0"), ("u", "src-1")):
        assert init(at, name, 1, partition).error is E.NONE
    assert [e for e in at.events if isinstance(e, GenerationSeen)] == [GenerationSeen("g", 1)]


def test_another_group_s_generation_is_no_newer_one() -> None:
    at = desk()
    assert init(at, "of-h", 7, "src-0", group="h").error is E.NONE
    assert init(at, "of-g", 1, "src-0").error is E.NONE
    assert add(at, "of-g", 10) is E.NONE


def test_who_is_of_the_same_generation_or_has_nothing_open_is_not_waited_for() -> None:
    at = open_transaction(DRAFT, "src-1")
    assert init(at, "peer", 1, "src-1").error is E.NONE
    assert at.role.transactions["old"].state is S.ONGOING
    at = desk()
    assert init(at, "idle", 1).error is E.NONE
    gone = GroupAssignmentRecord("g", "gone", 1, BOTH)
    at.role = at.role.but(assignments=at.role.assignments.set("gone", gone))
    assert init(at, "new", 2).error is E.NONE


@pytest.mark.parametrize(
    "left",
    [{"state": S.PREPARE_COMMIT}, {"pending_state": S.PREPARE_COMMIT}],
    ids=["is decided", "is about to be decided"],
)
def test_what_an_older_generation_has_committed_is_waited_for_and_not_aborted(left) -> None:
    at = open_transaction()
    transactions = at.role.transactions
    at.role = at.role.but(transactions=transactions.set("old", transactions["old"].but(**left)))
    assert init(at, "new", 2).error is E.CONCURRENT_TRANSACTIONS
    assert at.role.transactions["old"] == transactions["old"].but(**left)
    assert S.PREPARE_ABORT not in [getattr(r, "state", None) for r in at.written(HOME)]
