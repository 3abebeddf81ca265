"""The leader of a share-partition, followed: what it told its members, and what it had written."""

from __future__ import annotations

from pathlib import Path

import pytest

from kipviz.recordings.accept import Acceptor
from kipviz.recordings.evidence import Evidence, of_recording
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.sayings import Asked
from kipviz.recordings.share_sayings import STATES
from kipviz.recordings.sharing import MEMBERS
from tests.recordings.changed import changed

HERE = Path(__file__).parent
RELEASE = HERE / "kafka-4.4.0"
FOLLOWED = sorted(
    place.parent
    for place in HERE.glob("kafka-*/*/recording.json")
    if place.parent.name.startswith(("share-", "restart"))
)

# In these an answer to a member is changed, in the last one every third.
CHANGED = [
    ("share-acknowledge", 1),
    ("share-answers", 1),
    ("share-dead-letters", 1),
    ("share-renew", 1),
    ("share-two-members", 1),
    ("share-leader-move", 1),
    ("share-partitions", 3),
]


def followed(evidence: Evidence) -> tuple[Asked, ...]:
    """Follow the members of the share groups of a recording."""
    return Acceptor(evidence).shared()


@pytest.mark.parametrize("folder", FOLLOWED, ids=lambda f: f"{f.parent.name}-{f.name}")
def test_every_answer_to_a_member_and_every_write_is_one_of_the_model_s(folder: Path) -> None:
    verdicts = followed(of_recording(folder))
    for verdict in verdicts:
        assert verdict.accepted, verdict
    asked = [v for v in verdicts if v.api in MEMBERS]
    written = [v for v in verdicts if v.api in STATES]
    wire = of_recording(folder).exchanges
    numbers = {v.number for v in verdicts}
    left = [x for n, x in enumerate(wire) if x.api in (*MEMBERS, *STATES) and n not in numbers]
    assert all(x.request["topics"] == x.response["responses"] == () for x in left)
    assert asked
    assert written


@pytest.mark.parametrize(("name", "every"), CHANGED)
def test_an_answer_to_a_member_with_any_number_changed_is_not_accepted(
    name: str, every: int
) -> None:
    evidence = of_recording(RELEASE / name)
    asked = dict.fromkeys(v.number for v in followed(evidence) if v.api in MEMBERS)
    answered = [(number, evidence.exchanges[number]) for number in asked]
    for number, exchange in answered[::every]:
        for answer in changed(exchange.response):
            assert refused(evidence, number, exchange.but(response=answer)), (number, answer)


@pytest.mark.parametrize("name", ["share-acknowledge", "share-renew", "share-dead-letters"])
def test_a_write_with_any_number_changed_is_not_what_the_model_writes(name: str) -> None:
    evidence = of_recording(RELEASE / name)
    for number, exchange in enumerate(evidence.exchanges):
        if exchange.api != "WRITE_SHARE_GROUP_STATE":
            continue
        for request in changed(exchange.request):
            assert refused(evidence, number, exchange.but(request=request)), (number, request)


def refused(evidence: Evidence, number: int, other: Exchange) -> bool:
    """Say whether a recording is not accepted any more with another exchange in it."""
    wire = evidence.exchanges
    exchanges = (*wire[:number], other, *wire[number + 1 :])
    try:
        return any(not v.accepted for v in followed(evidence.but(exchanges=exchanges)))
    except RecordingError:
        return True
