"""The relation of lock, time-out and work, as a rule that a user can apply."""

from __future__ import annotations

import pytest

from kipviz.brokers.settings import BrokerSettings
from kipviz.checking.timed.landscape import LOOK_UP_MS
from kipviz.checking.timed.time_limits import BadLimits, Limits, advice
from kipviz.cluster.specs.spec import ApplicationSpec

WORK, ACKNOWLEDGEMENTS, WHATEVER, DELIVERIES, ABORTS, BOUNDS = range(6)


def right(**changes: int) -> list[bool]:
    return [each.right for each in advice(Limits(**changes))]


def test_the_defaults_are_kafkas() -> None:
    limits, settings = Limits(), BrokerSettings()
    assert limits.lock == settings.record_lock_duration_ms
    assert limits.scan == settings.transaction_scan_ms
    assert limits.deliveries == settings.delivery_count_limit
    assert limits.look_up == LOOK_UP_MS
    app = ApplicationSpec("a", "t", (), "g", "m", True, "s-0", "o-0")
    assert limits.timeout == app.transaction_timeout_ms


def test_with_kafkas_defaults_it_hangs_on_the_work_whether_a_transactional_acknowledgement_can_be_taken_back() -> (
    None
):
    assert right(work=20_000) == [True, True, False, True, True, True]
    assert right(work=25_000)[ACKNOWLEDGEMENTS] is False, (
        "25 s and 5 s until the look-up are not below 30 s"
    )
    told = advice(Limits())[WHATEVER].says
    assert told.endswith("a transaction.timeout.ms below 15 s would be enough")


def test_a_lock_above_time_out_scan_and_look_up_holds_for_any_work() -> None:
    for work in (1_000, 40_000, 3_600_000):
        found = right(lock=60_000, timeout=44_000, work=work)
        assert (found[ACKNOWLEDGEMENTS], found[WHATEVER]) == (True, True)
    assert right(lock=60_000, timeout=45_000)[WHATEVER] is False
    assert "no transaction.timeout.ms would be enough" in advice(Limits(lock=15_000))[WHATEVER].says


@pytest.mark.parametrize(
    ("work", "says"),
    [
        (59_999, "a healthy transaction commits"),
        (60_000, "commits depends on the scan"),
        (70_000, "commits depends on the scan"),
        (70_001, "no transaction ever commits"),
    ],
)
def test_work_ends_before_the_time_out_or_depends_on_the_scan(work: int, says: str) -> None:
    assert says in advice(Limits(work=work))[WORK].says


def test_without_a_transaction_a_lock_shorter_than_the_work_gives_the_record_up_in_the_end() -> (
    None
):
    told = advice(Limits(lock=30_000, work=30_000, deliveries=5))[DELIVERIES]
    assert not told.right
    assert "5 times, and is archived after 150 s" in told.says
    assert advice(Limits(lock=30_001, work=30_000))[DELIVERIES].right


def test_a_delivery_limit_has_to_be_above_the_aborts_in_a_row() -> None:
    told = advice(Limits(deliveries=2, aborts=2))[ABORTS]
    assert not told.right
    assert told.says.startswith("2 aborts use up 2 deliveries")
    assert advice(Limits(deliveries=3, aborts=2))[ABORTS].right


def test_what_a_broker_does_not_take_is_said() -> None:
    assert "a lock lasts from 15 s to 60 s" in advice(Limits(lock=70_000))[BOUNDS].says
    assert "is 900 s at most" in advice(Limits(timeout=900_001))[BOUNDS].says


def test_what_is_no_limit_is_refused_in_one_sentence() -> None:
    with pytest.raises(BadLimits, match="work must be a whole number of at least 1, not 0"):
        advice(Limits(work=0))
