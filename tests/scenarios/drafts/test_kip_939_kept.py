"""What the stories of kept transactions show: which epochs they take, and where they are allowed."""

from __future__ import annotations

import pytest

from kipviz.messages.events import CallReturned
from kipviz.messages.transactions.transactions import NO_TIME_LIMIT
from kipviz.properties.verdict import BROKEN, HOLDS
from kipviz.records.transaction_state import TransactionRecord, TransactionState
from kipviz.scenarios.scenario import PROPERTIES
from tests.scenarios.story import nodes, play_once

S = TransactionState


def list_records(
    name: str, under: str, transactional_id: str = "my-txn"
) -> list[TransactionRecord]:
    """The records of a name, in the order of the log."""
    logs = play_once(name, under)[0].world.logs.values()
    records = (r for log in logs for batch in log.batches for r in batch.records)
    return [
        r
        for r in records
        if isinstance(r, TransactionRecord) and r.transactional_id == transactional_id
    ]


def list_thrown(name: str, under: str) -> list[str]:
    events = (event for node in nodes(play_once(name, under)[0]) for event in node.events)
    return [str(e.raised) for e in events if isinstance(e, CallReturned) and e.raised]


@pytest.mark.parametrize(
    ("under", "ends", "status"),
    [
        ("kip-939", [(S.COMPLETE_COMMIT, 2), (S.COMPLETE_ABORT, 4)], HOLDS),
        (
            "kip-939+kept_completion=as_kept",
            [(S.COMPLETE_COMMIT, 1), (S.COMPLETE_COMMIT, 2)],
            BROKEN,
        ),
    ],
)
def test_a_late_end_of_a_kept_transaction_commits_the_next_one_only_if_both_have_one_epoch(
    under: str, ends: list[tuple[TransactionState, int]], status: str
) -> None:
    complete = (S.COMPLETE_COMMIT, S.COMPLETE_ABORT)
    records = list_records("kip-939-late-end", under)
    assert [(r.state, r.producer_epoch) for r in records if r.state in complete] == ends
    trace, _ = play_once("kip-939-late-end", under)
    assert PROPERTIES[0].finding(trace.observations[0]).status == status


def test_at_the_last_epoch_another_producer_id_ends_what_was_kept() -> None:
    records = list_records("kip-939-last-epoch", "kip-939")
    told = [(r.state, r.producer_id, r.producer_epoch, r.next_producer_id) for r in records]
    assert told[-3:] == [
        (S.ONGOING, 5, 32766, 9),
        (S.PREPARE_COMMIT, 5, 32767, 9),
        (S.COMPLETE_COMMIT, 9, 1, -1),
    ]


def test_where_brokers_do_not_allow_it_nothing_is_logged_for_the_name_and_others_are_served() -> (
    None
):
    refused = "InitProducerId: TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
    assert list_thrown("kip-939-not-allowed", "kafka") == [refused, refused]
    assert list_records("kip-939-not-allowed", "kafka") == []
    last = list_records("kip-939-not-allowed", "kafka", "my-txn-2")[-1]
    assert last.state is S.COMPLETE_COMMIT


def test_under_version_1_a_two_phase_commit_has_one_epoch_and_keeping_is_refused() -> None:
    assert list_thrown("kip-939-version-1", "kafka-tv1") == ["InitProducerId: UNSUPPORTED_VERSION"]
    assert list_records("kip-939-version-1", "kafka-tv1", "my-txn-2") == []
    records = list_records("kip-939-version-1", "kafka-tv1")
    assert {(r.producer_epoch, r.timeout_ms) for r in records} == {(0, NO_TIME_LIMIT)}
    assert records[-1].state is S.COMPLETE_COMMIT
