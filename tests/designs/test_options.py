"""What each option does, as the function that it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.designs.options import options
from kipviz.designs.options.options import SLOTS
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import AcknowledgeType, offsets_of
from kipviz.records.share_group_state import RecordState, StagedBatch

ACKNOWLEDGEMENT = (StagedBatch(100, 101, AcknowledgeType.ACCEPT, 1),)
HELD = ("g1:A:0", "g2:A:0")
KEY = ("g1", "AAAA", 0)
# slot, option, what it is asked, what it answers.
ANSWERS = [
    ("staged_acks", "share_group_state", (ACKNOWLEDGEMENT,), ACKNOWLEDGEMENT),
    ("staged_acks", "memory_only", (ACKNOWLEDGEMENT,), ()),
    ("participant", "state_partition_by_key", KEY, ("g1:AAAA:0",)),
    ("participant", "state_partition_by_group", KEY, ("g1",)),
    ("participant", "nowhere", KEY, ()),
    ("enlistment", "transaction_coordinator", (5, 1), 1),
    ("enlistment", "own_broker", (5, 1), 5),
    ("marker_epoch", "greater", (4, 5), True),
    ("marker_epoch", "greater", (4, 4), False),
    ("marker_epoch", "greater", (4, 3), False),
    ("marker_epoch", "equal", (4, 5), False),
    ("marker_epoch", "equal", (4, 4), True),
    ("marker_epoch", "equal", (4, 3), False),
    ("marker_reach", "none_of_them", (HELD,), ()),
    ("marker_reach", "every_one_on_the_broker", (HELD,), HELD),
    ("outcome_write", "counts_as_done", (), False),
    ("outcome_write", "keeps_the_acknowledgement", (), True),
    ("initialize_again", "made_anew", (), True),
    ("initialize_again", "left_as_it_is", (), False),
    ("end_txn_response", "at_the_decision", (), False),
    ("end_txn_response", "at_completion", (), True),
    ("stage_retry", "idempotent", (), Errors.NONE),
    ("stage_retry", "invalid_record_state", (), Errors.INVALID_RECORD_STATE),
    ("eviction", "refused", (), False),
    ("eviction", "allowed", (), True),
    ("poll_before_staging", "all_of_it_is_staged", ((100, 101), (101, 100)), True),
    ("poll_before_staging", "all_of_it_is_staged", ((100, 101), (100,)), False),
    ("poll_before_staging", "all_of_it_is_staged", ((), ()), True),
    ("poll_before_staging", "at_any_time", ((100, 101), ()), True),
    ("poll_while_staging", "until_it_is_answered", (True,), True),
    ("poll_while_staging", "until_it_is_answered", (False,), False),
    ("poll_while_staging", "without_waiting", (True,), False),
    ("dropped_staging", "the_consumer_has_it_back", (), True),
    ("dropped_staging", "taken_for_staged", (), False),
]


def option(slot: str, name: str) -> object:
    return next(s for s in SLOTS if s.name == slot).option(name).choose


@pytest.mark.parametrize(
    ("slot", "name", "asked", "answer"), ANSWERS, ids=[f"{s}={n}{a}" for s, n, a, _ in ANSWERS]
)
def test_an_option_answers_as_its_sentence_says(
    slot: str, name: str, asked: tuple[object, ...], answer: object
) -> None:
    choose = option(slot, name)
    assert callable(choose)
    assert choose(*asked) == answer


# -- records -----------------------------------------------------------------------------------

STAGED = InFlight(
    RecordState.TX_PENDING,
    delivery_count=3,
    member_id="M1",
    lock=7,
    staged_producer_id=9,
    staged_producer_epoch=4,
    staged_type=AcknowledgeType.ACCEPT,
)


def freed(record: InFlight) -> bool:
    return (record.state, record.member_id, record.lock, record.staged_producer_id) == (
        RecordState.AVAILABLE,
        "",
        -1,
        -1,
    )


def test_a_lock_that_is_pinned_frees_nothing_and_one_that_runs_on_frees_the_record() -> None:
    pinned, runs_on = (
        option("lock_expiry", "pinned_until_marker"),
        option("lock_expiry", "back_to_available"),
    )
    assert callable(pinned)
    assert callable(runs_on)
    assert pinned(STAGED) is None
    assert freed(runs_on(STAGED))


def test_an_abort_frees_the_record_or_gives_it_back_to_its_holder() -> None:
    available, acquired = option("abort_target", "available"), option("abort_target", "acquired")
    assert callable(available)
    assert callable(acquired)
    assert freed(available(STAGED))
    kept = acquired(STAGED)
    assert (kept.state, kept.member_id, kept.lock) == (RecordState.ACQUIRED, "M1", 7)
    assert kept.staged_producer_id == -1
    assert available(STAGED).delivery_count == kept.delivery_count == 3
    uncounted = option("abort_target", "available_uncounted")
    assert callable(uncounted)
    assert freed(uncounted(STAGED))
    assert uncounted(STAGED).delivery_count == 2


@pytest.mark.parametrize(
    ("name", "kind", "offsets"),
    [
        ("release_the_unstaged", AcknowledgeType.RELEASE, [101, 103]),
        ("accept_the_unstaged", AcknowledgeType.ACCEPT, [101, 103]),
        ("accept_all", AcknowledgeType.ACCEPT, [100, 101, 102, 103]),
    ],
)
def test_the_next_poll_says_something_of_the_batch_before_it(
    name: str, kind: AcknowledgeType, offsets: list[int]
) -> None:
    choose = option("next_poll", name)
    assert callable(choose)
    batches = choose((100, 101, 102, 103), (100, 102))
    assert {batch.type for batch in batches} == {kind}
    assert list(offsets_of(batches)) == offsets


# -- the source --------------------------------------------------------------------------------


def test_the_heading_above_the_options_of_a_slot_is_its_question() -> None:
    questions = {slot.name: slot.question for slot in SLOTS}
    assert options.__file__ is not None
    for path in sorted(Path(options.__file__).parent.glob("*.py")):
        for name, heading in re.findall(r"^# -- (\w+): (.*?) -+$", path.read_text(), re.MULTILINE):
            assert heading == questions[name], f"{path.name}: the question of {name} has changed"
