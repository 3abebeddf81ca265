"""Request logs whose clock is another one than that of the logs, and what is told of the difference."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from kipviz.messages.errors import Errors
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from kipviz.messages.transactions.transactions import InitProducerId, InitProducerIdResponse
from kipviz.recordings.files.request_log import zone_of
from kipviz.recordings.judging.report import report
from kipviz.recordings.recorded import Exchange, plain
from kipviz.recordings.request_context.clocks import hours_apart, shift_offset
from kipviz.recordings.request_context.evidence import Evidence, of_recording
from kipviz.recordings.request_context.logged_effects import LoggedEffects
from tests.recordings.whole_folder import unpack_folder

RECORDED = Path(__file__).parents[1] / "kafka-4.4.0"
HOUR_MS = 3_600_000


def later(evidence: Evidence, by_ms: int) -> Evidence:
    return evidence.but(
        exchanges=tuple(
            x.but(received_ms=x.received_ms + by_ms, answered_ms=x.answered_ms + by_ms)
            for x in evidence.exchanges
        )
    )


@pytest.mark.parametrize("name", ["commit-and-abort", "share-acknowledge", "two-phase"])
@pytest.mark.parametrize("hours", [-5.5, 0, 2])
def test_the_hours_between_two_clocks_are_those_with_which_what_was_written_was_asked_for(
    name: str, hours: float
) -> None:
    evidence = of_recording(RECORDED / name)
    assert hours_apart(later(evidence, int(hours * HOUR_MS))) == hours * HOUR_MS


def test_exchanges_that_overlap_are_one_time_in_which_something_may_be_written() -> None:
    """One long request, and short ones within it: what is written near its end is its own."""
    evidence = of_recording(RECORDED / "commit-and-abort")
    written = [entry.at_ms for entry in evidence.entries if entry.partition.startswith("__")]
    first, last = min(written), max(written)

    def make_exchange(begin: int, end: int) -> Exchange:
        return Exchange("END_TXN", 5, "c", begin, end, plain({}), plain({}))

    long, short = make_exchange(first, last), make_exchange(first + 1, first + 2)
    for exchanges in ((long,), (long, short), (short, long)):
        moved = later(evidence.but(exchanges=exchanges), 3 * HOUR_MS)
        assert hours_apart(moved) == 3 * HOUR_MS


@pytest.mark.parametrize(
    ("before", "by_hours", "after"),
    [
        ("+00:00", 2, "+02:00"),
        ("-03:30", 5.5, "+02:00"),
        ("+02:00", -5.75, "-03:45"),
        ("+13:45", 0.25, "+14:00"),
        ("+14:00", 0.25, ""),
        ("+14:00", 1, ""),
        ("-11:00", -1, "-12:00"),
        ("-12:00", -0.25, ""),
        ("Z", 1, ""),
    ],
)
def test_an_offset_from_utc_is_told_as_java_takes_it(
    before: str, by_hours: float, after: str
) -> None:
    assert shift_offset(before, int(by_hours * HOUR_MS)) == after


def test_an_offset_beyond_every_time_zone_is_refused() -> None:
    assert zone_of("+14:00").utcoffset(None) == timedelta(hours=14)
    assert zone_of("-14:00").utcoffset(None) == timedelta(hours=-14)
    for wide in ("+14:01", "-14:59", "+15:00"):
        with pytest.raises(ValueError, match=r"at most 14:00 hours, as \+14:00"):
            zone_of(wide)


def test_a_request_log_of_another_zone_is_told_with_the_offset_that_fits(tmp_path: Path) -> None:
    logs, requests = unpack_folder(tmp_path)
    told = report(logs, requests, utc_offset="+02:00").clock
    assert "--utc-offset=+00:00 instead of +02:00, and then 0 answers are refused" in told
    assert report(logs, requests).clock == ""


def test_what_no_log_can_have_is_no_reason_to_refuse_an_answer() -> None:
    """An idempotent producer has no transactional id, and no coordinator logs its identity."""
    effects = LoggedEffects(())
    given = InitProducerIdResponse(Errors.NONE, 9, 0)
    assert effects.allow(InitProducerId(None), given, 0, 1)
    assert effects.allow(InitProducerId(""), given, 0, 1)
    assert not effects.allow(InitProducerId("t"), given, 0, 1)
    refused = InitProducerIdResponse(Errors.CONCURRENT_TRANSACTIONS)
    assert effects.allow(InitProducerId("t"), refused, 0, 1)
    beat = ConsumerGroupHeartbeat("g", "C1", 3)
    told = ConsumerGroupHeartbeatResponse(Errors.NONE, "C1", 4)
    assert not effects.allow(beat, told, 0, 1)
    assert effects.allow(beat, told.but(member_epoch=3), 0, 1)
