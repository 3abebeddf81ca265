"""When a request can have come: a line of a busy broker is late, and nothing but causality bounds by how much."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kipviz.recordings.followed_members.share_requests import MEMBERS
from kipviz.recordings.judging.accept import Acceptor
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles.answer_text import ComparedAnswer
from kipviz.recordings.request_context.arrival import as_early, as_written, span_of, with_earliest
from kipviz.recordings.request_context.evidence import Evidence, of_broker, of_recording
from tests.recordings.whole_folder import unpack_folder

RELEASE = Path(__file__).parents[1] / "kafka-4.4.0"
# What is in memory alone is followed in some orders of the lines, not in all: those recordings are left out here.
STRETCHED = sorted(
    folder.name
    for folder in RELEASE.iterdir()
    if folder.is_dir() and not any(x.api in MEMBERS for x in of_recording(folder).exchanges)
)
BUSY_MS = 1_000


def line(received: int, answered: int, thread: str = "0", **more: object) -> Exchange:
    """Make a request with its line's times, on a connection of a network thread."""
    connection = f"127.0.0.1:9092-127.0.0.1:5000{thread}-{thread}-7"
    return Exchange("FETCH", 17, "c", received, answered, None, None, connection=connection).but(
        **more
    )


def list_refused(evidence: Evidence) -> list[ComparedAnswer]:
    return [each for each in Acceptor(evidence).compare_all() if not each.accepted]


def write_later(exchanges: tuple[Exchange, ...], seed: int) -> tuple[Exchange, ...]:
    """Write each line later than it was, as a busy broker does: up to a second, but before its thread's next one."""
    dice = random.Random(seed)
    following: dict[tuple[int, str], int] = {}
    found = []
    for exchange in reversed(exchanges):
        thread = exchange.broker, exchange.connection.rsplit("-", 2)[-2:][0]
        most = min(
            following.get(thread, exchange.answered_ms + BUSY_MS) - exchange.answered_ms, BUSY_MS
        )
        late = dice.randint(0, max(most, 0))
        following[thread] = exchange.answered_ms
        times = {
            "received_ms": exchange.received_ms + late,
            "answered_ms": exchange.answered_ms + late,
        }
        found.append(exchange.but(**times))
    found.reverse()
    return tuple(sorted(found, key=lambda each: each.answered_ms))


def test_a_request_cannot_have_come_before_its_thread_s_line_before_less_its_own_time() -> None:
    lines = (line(100, 110), line(105, 190, "1"), line(400, 420), line(500, 503, "1"))
    assert [x.earliest_ms for x in with_earliest(lines)] == [0, 0, 110 - 20 - 1, 190 - 3 - 1]


def test_a_line_that_was_written_at_once_has_its_own_times() -> None:
    (one,) = with_earliest((line(100, 110),))
    assert span_of(one) == (0, 110)
    assert span_of(as_written(one)) == (99, 110)


def test_brokers_and_threads_are_told_apart() -> None:
    first, second = line(10, 20, broker=1), line(30, 40, broker=2)
    assert [x.earliest_ms for x in with_earliest((first, second))] == [0, 0]
    third = line(30, 40, broker=1)
    assert [x.earliest_ms for x in with_earliest((first, third))] == [0, 9]


def test_a_connection_s_next_request_is_read_after_the_answer_to_the_one_before() -> None:
    lines = with_earliest((line(10, 20), line(25, 30, "1"), line(90, 95), line(300, 301)))
    early = as_early(lines, ("FETCH",))
    assert [x.received_ms for x in early] == [0, 0, 20, 95]
    assert as_early(lines, ()) == lines


@pytest.mark.parametrize("name", STRETCHED)
def test_a_busy_broker_s_late_lines_are_accepted(name: str) -> None:
    evidence = of_recording(RELEASE / name)
    for seed in range(2):
        assert list_refused(evidence.but(exchanges=write_later(evidence.exchanges, seed))) == []


def test_late_lines_of_a_broker_s_own_request_log_are_accepted_thread_by_thread(
    tmp_path: Path,
) -> None:
    logs, requests = unpack_folder(tmp_path)
    evidence = of_broker(logs, (requests,))
    threads = {x.connection.rsplit("-", 2)[-2] for x in evidence.exchanges}
    assert len(threads) > 2
    for seed in range(8):
        late = write_later(evidence.exchanges, seed)
        # Later than any constant that would still judge something: up to a second.
        assert (
            max(
                a.answered_ms - b.answered_ms for a, b in zip(late, evidence.exchanges, strict=True)
            )
            > 100
        )
        assert list_refused(evidence.but(exchanges=late)) == []


def find_description(evidence: Evidence) -> tuple[int, Exchange]:
    """Find the first answer that says that a transaction is ongoing."""
    return next(
        (number, exchange)
        for number, exchange in enumerate(evidence.exchanges)
        if exchange.api == "DESCRIBE_TRANSACTIONS"
        and "Ongoing"
        in str([t["transactionState"] for t in exchange.response["transactionStates"]])
    )


def test_an_answer_of_before_that_is_written_behind_its_thread_s_later_lines_is_refused() -> None:
    """The transaction is over, and the thread has written many lines since: no lateness explains ONGOING."""
    evidence = of_recording(RELEASE / "operator")
    number, exchange = find_description(evidence)
    last = evidence.exchanges[-1].answered_ms
    took = exchange.answered_ms - exchange.received_ms
    others = (*evidence.exchanges[:number], *evidence.exchanges[number + 1 :])
    after = exchange.but(received_ms=last + 100, answered_ms=last + 100 + took)
    assert list_refused(evidence) == []
    (wrong,) = list_refused(evidence.but(exchanges=(*others, after)))
    assert wrong.api == "DESCRIBE_TRANSACTIONS"
    # A thread that has written nothing since may have been busy with this line all the time.
    of_thread = after.but(connection="127.0.0.1:9092-127.0.0.1:50001-1-7")
    assert list_refused(evidence.but(exchanges=(*others, of_thread))) == []
