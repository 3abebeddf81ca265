"""How long a run takes under stated times: small paths by hand, and what must hold of every timed run."""

from __future__ import annotations

import pytest

from kipviz.checking.timed.critical_path import BadLatency, Latencies, Timed, validate_latencies
from kipviz.clients.application import Call
from kipviz.cluster.actions import ExpireLock, TimeOutTransaction
from kipviz.messages.events import DELIVERED, RecordsMoved
from kipviz.studies.test_plan.rounds import WAYS, Round, Way, return_step, timed_round
from kipviz.studies.timed.latency import OTHER_MEMBER, after_abort, after_crash

# Half a round trip of a client and of a broker, an append, and a request handled, all different.
ODD = Latencies(round_trip_ms=10, broker_round_trip_ms=4, fsync_ms=3, handling_ms=0.5)
C, B, A, H = 5.0, 2.0, 4.0 + 2 * 3.0, 0.5
PLAIN, GROUP, AS_WRITTEN, _, REPAIRED, _, SESSION = WAYS[:7]


def ms(found: Round, step: int | None) -> float:
    assert step is not None
    return (found.timed.at_us(step) - found.timed.at_us(found.polled)) / 1_000


def test_init_transactions_takes_a_round_trip_a_request_and_an_append() -> None:
    found = timed_round(GROUP, ODD)
    step = return_step(found.timed, Call.INIT_TRANSACTIONS)
    assert step is not None
    assert found.timed.at_us(step) / 1_000 == 2 * C + H + A


def test_a_commit_of_a_regular_group_by_hand() -> None:
    found = timed_round(GROUP, ODD)
    # TxnOffsetCommit and Produce each ask the coordinator (one append) and append once themselves.
    staged = 2 * C + 2 * B + 2 * A + 2 * H
    assert ms(found, found.ended) == 2 * staged + (2 * C + A + H)
    # The marker of the output leaves when the decision is durable, which the client hears at the same time.
    assert ms(found, found.visible) == ms(found, found.ended) - C + B + H + A


def test_a_plain_acknowledgement_by_hand() -> None:
    found = timed_round(PLAIN, ODD)
    commit = (2 * C + 2 * B + 2 * A + 2 * H) + (2 * C + A + H)
    assert ms(found, found.ended) == commit
    # The next poll() carries it to the share-partition leader, which has it written by the share coordinator.
    assert ms(found, found.acknowledged) == commit + C + H + B + H + A + B


def test_a_durable_transactional_acknowledgement_costs_the_commit_an_append_and_two_broker_hops_more() -> (
    None
):
    written, repaired = timed_round(AS_WRITTEN, ODD), timed_round(REPAIRED, ODD)
    assert ms(repaired, repaired.ended) - ms(written, written.ended) == A + 2 * B + H
    assert written.acknowledged is None
    assert repaired.acknowledged is not None


def test_a_session_sends_the_batch_and_the_transactional_acknowledgement_at_the_same_time() -> None:
    one, other = timed_round(REPAIRED, ODD), timed_round(SESSION, ODD)
    assert ms(other, other.ended) < ms(one, one.ended)


@pytest.mark.parametrize("way", WAYS[:7], ids=lambda way: way.label)
def test_every_step_takes_as_long_as_its_stretches_and_none_comes_before_its_cause(
    way: Way,
) -> None:
    timed = timed_round(way, ODD).timed
    times = [moment.at_us for moment in timed.moments]
    assert times == sorted(times)
    for step, moment in enumerate(timed.moments):
        assert moment.cause < step
        took = sum(stretch for _, stretch in moment.stretches)
        assert moment.at_us == timed.at_us(moment.cause) + took, step


@pytest.mark.parametrize("way", WAYS[:7], ids=lambda way: way.label)
def test_a_path_adds_up_to_the_time_between_its_ends(way: Way) -> None:
    found = timed_round(way, ODD)
    assert found.ended is not None
    spent = sum(took for _, _, took in found.timed.stretches(found.ended, found.polled))
    assert spent / 1_000 == ms(found, found.ended)


@pytest.mark.parametrize(
    "name", ["round_trip_ms", "broker_round_trip_ms", "fsync_ms", "handling_ms"]
)
def test_a_commit_never_gets_faster_when_a_stated_time_grows(name: str) -> None:
    for way in WAYS[:6]:
        took = []
        for value in (0.0, 1.0, 2.5, 7.0, 20.0):
            found = timed_round(way, Latencies().but(**{name: value}))
            took.append(ms(found, found.ended))
        assert took == sorted(took), way.label
        assert took[0] < took[-1], way.label


def test_without_any_time_a_round_takes_none_but_the_look_up() -> None:
    nothing = Latencies(round_trip_ms=0, broker_round_trip_ms=0, handling_ms=0, look_up_ms=7)
    found = timed_round(REPAIRED, nothing)
    assert ms(found, found.visible) == 0
    assert ms(found, found.acknowledged) == 7


def test_work_on_a_batch_comes_before_its_commit() -> None:
    busy = timed_round(GROUP, ODD.but(work_ms=500))
    # sendOffsetsToTransaction() waits for its response. The batch goes out during the work.
    assert ms(busy, busy.ended) == (2 * C + 2 * B + 2 * A + 2 * H) + 500 + (2 * C + A + H)


def test_the_same_input_gives_the_same_run() -> None:
    one, other = (timed_round(SESSION, ODD).timed for _ in range(2))
    assert one.moments == other.moments


def first_delivery(timed: Timed) -> int:
    """Return when the first record was delivered first, in microseconds."""
    step = timed.first(
        lambda m, _: any(isinstance(e, RecordsMoved) and e.because == DELIVERED for e in m.events)
    )
    assert step is not None
    return timed.at_us(step)


@pytest.mark.parametrize("handling_ms", [0.1, 0.3, 0.7, 1.0])
def test_a_lock_runs_out_when_its_duration_is_over_and_not_before(handling_ms: float) -> None:
    found = after_abort(AS_WRITTEN, ODD.but(handling_ms=handling_ms), to=OTHER_MEMBER)
    step = found.timed.first(lambda m, _: isinstance(m.action, ExpireLock))
    assert step is not None
    assert found.timed.at_us(step) - first_delivery(found.timed) == 30_000_000


def test_a_transactional_acknowledgement_of_a_crashed_process_waits_for_the_transaction_timeout() -> (
    None
):
    found = after_crash(REPAIRED, ODD, to=OTHER_MEMBER)
    step = found.timed.first(lambda m, _: isinstance(m.action, TimeOutTransaction))
    assert step is not None
    assert found.end is not None
    assert found.timed.at_us(step) > 60_000_000
    assert 60_000 < (found.took_ms or 0) < 60_300


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"fsync_ms": -1.0}, "fsync_ms must be a number of ms from 0 to 3600000, not -1.0"),
        (
            {"round_trip_ms": float("nan")},
            "round_trip_ms must be a number of ms from 0 to 3600000, not nan",
        ),
        ({"handling_ms": True}, "handling_ms must be a number of ms from 0 to 3600000, not True"),
        ({"look_up_ms": 0.5}, "look_up_ms must be at least 1, not 0.5"),
        ({"work_ms": 0.5}, "work_ms must be a whole number of ms, not 0.5"),
    ],
)
def test_a_time_that_cannot_be_is_refused_in_one_sentence(wrong: dict, sentence: str) -> None:
    with pytest.raises(BadLatency) as refused:
        validate_latencies(Latencies().but(**wrong))
    assert str(refused.value) == sentence
