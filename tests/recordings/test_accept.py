"""The model could have given the answers that a real broker gave, and no others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kipviz.core.table import Table
from kipviz.recordings.accept import LEFT_OUT, NOT_ASKED, Acceptor
from kipviz.recordings.evidence import of_recording
from kipviz.recordings.questions import ASKED
from kipviz.recordings.recorded import Exchange, load_recording
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.sharing import MEMBERS

HERE = Path(__file__).parent
RELEASE = HERE / "kafka-4.4.0"
SCENARIOS = sorted(folder.name for folder in RELEASE.iterdir() if folder.is_dir())
RECORDED = sorted(place.parent for place in HERE.glob("kafka-*/*/recording.json"))
LEADERS = ("PRODUCE", "FETCH")
OFFSETS = ("TXN_OFFSET_COMMIT", "OFFSET_COMMIT")


def acceptor_of(folder: Path) -> Acceptor:
    """Read a recording, to ask for its answers."""
    return Acceptor(of_recording(folder))


@pytest.mark.parametrize("folder", RECORDED, ids=lambda f: f"{f.parent.name}-{f.name}")
def test_every_answer_is_one_that_the_model_could_have_given(folder: Path) -> None:
    refused = [asked for asked in acceptor_of(folder).asked() if not asked.accepted]
    assert refused == []


def test_the_recordings_ask_every_kind_of_question_and_for_refusals_too() -> None:
    asked = [each for name in SCENARIOS for each in acceptor_of(RELEASE / name).asked()]
    counts = Counter(each.api for each in asked)
    assert set(counts) == {*ASKED, *MEMBERS, *LEADERS}
    errors = {value for each in asked for what, value in each.recorded if what == "error"}
    assert errors >= {
        "NONE",
        "CONCURRENT_TRANSACTIONS",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "INVALID_PRODUCER_EPOCH",
        "INVALID_RECORD_STATE",
        "INVALID_TXN_STATE",
        "OFFSET_OUT_OF_RANGE",
        "NOT_COORDINATOR",
        "PRODUCER_FENCED",
        "TRANSACTIONAL_ID_NOT_FOUND",
        "UNSTABLE_OFFSET_COMMIT",
        "UNSUPPORTED_VERSION",
    }
    of_offsets = {value for each in asked if each.api in OFFSETS for _, value in each.recorded}
    assert {"STALE_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID"} <= of_offsets


def test_of_every_other_request_it_is_said_why_it_is_not_asked() -> None:
    seen = {x.api for name in SCENARIOS for x in load_recording(RELEASE / name).wire}
    assert seen - {*ASKED, *MEMBERS, *LEADERS} == set(NOT_ASKED)


# -- an answer that was changed -------------------------------------------------------------------


def changed(found: Any) -> Iterator[Any]:
    """Give an answer with one of its numbers or names changed, in every place where that counts."""
    if isinstance(found, Table):
        for name, value in found.items():
            if name not in LEFT_OUT:
                for other in changed(value):
                    yield found.set(name, other)
    elif isinstance(found, tuple):
        for at, value in enumerate(found):
            for other in changed(value):
                yield (*found[:at], other, *found[at + 1 :])
    elif isinstance(found, int) and not isinstance(found, bool):
        yield found + 7


def refused(acceptor: Acceptor, number: int, exchange: Exchange) -> bool:
    """Say whether a changed answer is not accepted, or not even read as one."""
    try:
        return any(not asked.accepted for asked in acceptor.of(number, exchange))
    except RecordingError:
        return True


def indexes(answer: Table[str, Any]) -> list[int]:
    """Give the partitions that a fetch is answered about."""
    return [p["partitionIndex"] for t in answer["responses"] for p in t["partitions"]]


@pytest.mark.parametrize("name", SCENARIOS)
def test_an_answer_with_any_number_changed_is_one_that_the_model_cannot_give(name: str) -> None:
    acceptor = acceptor_of(RELEASE / name)
    for number, exchange in enumerate(acceptor.exchanges):
        if not tuple(acceptor.of(number, exchange)):
            continue
        for answer in changed(exchange.response):
            if exchange.api == "FETCH" and indexes(answer) != indexes(exchange.response):
                continue  # a fetch within a session need not name its partitions
            other = exchange.but(response=answer)
            assert refused(acceptor, number, other), (number, exchange.api, answer)


def test_an_exchange_that_lacks_a_field_is_refused_with_its_number() -> None:
    acceptor = acceptor_of(RELEASE / "commit-and-abort")
    number, exchange = next(
        (n, x) for n, x in enumerate(acceptor.exchanges) if x.api == "OFFSET_FETCH"
    )
    with pytest.raises(RecordingError, match=rf"Request {number} is no OFFSET_FETCH of version 10"):
        tuple(acceptor.of(number, exchange.but(request=Table.of({"groups": 3}))))
