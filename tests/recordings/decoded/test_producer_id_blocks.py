"""Which producer ids a broker may give next, and who coordinates what."""

from __future__ import annotations

from pathlib import Path

import pytest

from kipviz.core.table import Table
from kipviz.recordings.decoded.elections import LeaderDecision
from kipviz.recordings.decoded.producer_id_blocks import BLOCK, BLOCKS_MAX, GivenIds
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles.coordinator_lookup import NOBODY, possible_answers
from kipviz.recordings.request_context.evidence import of_recording

RELEASE = Path(__file__).parents[1] / "kafka-4.4.0"


def make_exchange(identity: int, begin: int, end: int, code: int = 0, epoch: int = 0) -> Exchange:
    """Give an exchange in which an id was given, or told again with a higher epoch."""
    told = Table.of({"producerId": identity, "producerEpoch": epoch, "errorCode": code})
    return Exchange("INIT_PRODUCER_ID", 5, "c", begin, end, Table.of({}), told)


def test_ids_are_given_one_after_the_other_or_from_the_next_block() -> None:
    ids = GivenIds((make_exchange(0, 0, 1), make_exchange(1, 2, 3)), 0)
    assert ids.next_of(make_exchange(-1, 5, 6)) == (2, BLOCK)
    assert not ids.block_is_due(make_exchange(-1, 5, 6))


def test_a_broker_that_gives_from_another_block_next_had_none_before_as_after_a_restart() -> None:
    restarted = GivenIds(
        (make_exchange(0, 0, 1), make_exchange(3_000, 9, 10), make_exchange(3_001, 11, 12)), 0
    )
    assert restarted.block_is_due(make_exchange(-1, 5, 6))
    assert not restarted.block_is_due(make_exchange(-1, 13, 14))
    assert not GivenIds((make_exchange(0, 0, 1), make_exchange(1, 9, 10)), 0).block_is_due(
        make_exchange(-1, 5, 6)
    )


def test_a_broker_that_was_out_of_sync_meanwhile_may_have_restarted_without_its_block() -> None:
    def make_decision(at: int, *isr: int) -> LeaderDecision:
        return LeaderDecision("__transaction_state-0", 2, 1, (0, 2), isr, at)

    away, back = make_decision(5, 2), make_decision(9, 0, 2)
    assert GivenIds((make_exchange(0, 0, 1),), 0, (away, back)).block_is_due(
        make_exchange(-1, 11, 12)
    )
    assert not GivenIds((make_exchange(0, 0, 1),), 0, (back,)).block_is_due(
        make_exchange(-1, 11, 12)
    )
    since = (make_exchange(0, 0, 1), make_exchange(1, 8, 9))
    assert not GivenIds(since, 0, (away, back)).block_is_due(make_exchange(-1, 11, 12))


def test_the_first_id_of_a_broker_without_a_past_is_the_first_of_a_block_that_may_be_awaited() -> (
    None
):
    ids = GivenIds((), 0)
    assert ids.next_of(make_exchange(-1, 5, 6)) == (0, BLOCK)
    assert ids.block_is_due(make_exchange(-1, 5, 6))


def test_of_two_that_come_together_either_may_be_first() -> None:
    both = (make_exchange(4, 10, 20), make_exchange(3, 11, 19))
    ids = GivenIds((make_exchange(2, 0, 1), *both), 0)
    assert {4, 3} <= set(ids.next_of(both[0]))
    assert {4, 3} <= set(ids.next_of(both[1]))


def test_of_a_broker_with_a_past_the_first_id_is_taken_as_told() -> None:
    first = make_exchange(4_017, 0, 1)
    assert GivenIds((first,), None).next_of(first) == (4_017,)
    assert GivenIds((first,), None).next_of(make_exchange(-1, 3, 4)) == (4_018, 5_000)


def test_an_id_that_was_refused_was_not_given() -> None:
    assert GivenIds((make_exchange(7, 0, 1, code=51),), 0).next_of(make_exchange(-1, 2, 3)) == (
        0,
        BLOCK,
    )


def test_an_id_that_a_new_coordinator_tells_again_is_none_of_its_own_broker_s_block() -> None:
    """Found by seeds 7016 to 7023 at three brokers: broker 3 coordinated a producer that has its id from broker 2."""
    own, of_another = (
        make_exchange(1_011, 0, 1).but(broker=3),
        make_exchange(2_016, 2, 3).but(broker=2),
    )
    told_again = make_exchange(2_016, 4, 5, epoch=1).but(broker=3)
    ids = GivenIds((own, of_another, told_again), 0)
    asks = make_exchange(1_012, 7, 8).but(broker=3)
    assert 1_012 in ids.next_of(asks)
    assert 2_017 not in ids.next_of(asks)
    assert not ids.block_is_due(asks)


def test_of_a_single_broker_an_id_that_is_told_again_was_given_by_it_before_the_record_begins() -> (
    None
):
    ids = GivenIds((make_exchange(0, 0, 1, epoch=32_762),), 0)
    assert ids.next_of(make_exchange(-1, 5, 6)) == (1, BLOCK)


def test_a_producer_without_a_name_is_asked_to_wait_for_the_broker_s_first_block() -> None:
    asked = [
        each
        for each in Acceptor(of_recording(RELEASE / "idempotent")).compare_all()
        if each.api == "INIT_PRODUCER_ID"
    ]
    told = [dict(each.recorded) for each in asked]
    assert all(each.accepted for each in asked)
    given = [each["producer id"] for each in told if each["error"] == "NONE"]
    assert sorted(given) == [0, 1]


@pytest.mark.parametrize("name", ["commit-and-abort", "older-client", "share-answers"])
def test_whoever_is_looked_up_is_the_leader_of_the_partition_that_holds_the_key(name: str) -> None:
    asked = [
        each
        for each in Acceptor(of_recording(RELEASE / name)).compare_all()
        if each.api == "FIND_COORDINATOR"
    ]
    assert asked
    assert all(each.accepted for each in asked)


def test_nobody_is_available_only_as_long_as_nobody_has_written() -> None:
    assert NOBODY in possible_answers(1, settled=False)
    assert NOBODY not in possible_answers(1, settled=True)


def test_an_id_of_another_broker_that_is_very_far_away_is_looked_for_in_its_own_block_only() -> (
    None
):
    """Of a hostile log, or of a cluster that has given many: one by one the blocks would fill the memory."""
    far = make_exchange(2**62, 2, 3).but(broker=2)
    ids = GivenIds((make_exchange(4, 0, 1), far), 0)
    mine = make_exchange(2**62 - 2**62 % BLOCK, 5, 6)
    found = ids.next_of(mine)
    assert mine.response["producerId"] in found
    assert len(found) == 2 + BLOCKS_MAX
    assert mine.response["producerId"] + 1 not in found
