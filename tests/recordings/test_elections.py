"""Several brokers: who led what when, and what a broker that is asked may have known of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kipviz.core.table import Table
from kipviz.recordings.accept import Acceptor
from kipviz.recordings.elections import (
    LEARNS_MS,
    Decision,
    brokers_of,
    elected_of,
    known_between,
    placements_of,
)
from kipviz.recordings.evidence import Evidence, of_recording
from kipviz.recordings.fetching import MARKS, Read, Reading, refusal_of
from kipviz.recordings.given_ids import BLOCK, GivenIds
from kipviz.recordings.recorded import Exchange, load_recording

RELEASE = Path(__file__).parent / "kafka-4.4.0"
CLUSTERS = ("leader-move",)
OUTPUT = "output-A-0"


def decision(at_ms: int, leader: int, epoch: int, *isr: int) -> Decision:
    return Decision(OUTPUT, leader, epoch, (1, 2, 3), isr or (1, 2, 3), at_ms)


MADE, MOVED, SHRUNK = decision(0, 1, 0), decision(5_000, 2, 1), decision(9_000, 2, 1, 2)


def leaders(begin_ms: int, end_ms: int) -> list[int]:
    known = known_between((MADE, MOVED, SHRUNK), begin_ms, end_ms)
    return [each.leader_of(OUTPUT) for each in known]


def test_a_broker_learns_of_a_decision_when_it_was_made_or_a_moment_later() -> None:
    assert leaders(4_000, 4_900) == [1]
    assert leaders(4_900, 5_100) == [1, 2]
    assert leaders(5_000 + LEARNS_MS - 1, 6_100) == [1, 2]
    assert leaders(5_000 + LEARNS_MS, 6_100) == [2]


def test_who_is_not_in_sync_any_more_is_known_too() -> None:
    known = list(known_between((MADE, MOVED, SHRUNK), 9_100, 9_200))
    assert [each.out_of_sync(OUTPUT) for each in known] == [(), (1, 3)]
    assert known[0].leader_of("src-0") == -1


def test_brokers_first_leaders_and_when_each_began_come_from_the_decisions() -> None:
    assert brokers_of((MADE, MOVED)) == (1, 2, 3)
    (placed,) = placements_of((MADE, MOVED, SHRUNK))
    assert (placed.leader, placed.others) == (1, (2, 3))
    assert elected_of((MADE, MOVED, SHRUNK)) == {(OUTPUT, 0): 0, (OUTPUT, 1): 5_000}


@pytest.mark.parametrize(
    ("broker", "epoch", "told"),
    [
        (2, 1, None),
        (2, -1, None),
        (1, -1, "NOT_LEADER_OR_FOLLOWER"),
        (1, 1, "NOT_LEADER_OR_FOLLOWER"),
        (2, 0, "FENCED_LEADER_EPOCH"),
        (2, 2, "error 75"),
    ],
)
def test_a_reader_is_refused_who_has_another_leader_in_mind(
    broker: int, epoch: int, told: str | None
) -> None:
    (known,) = known_between((MADE, MOVED), 8_000, 8_000)
    reading = Reading(0, committed=True, leader_epoch=epoch)
    said = refusal_of(Read(OUTPUT, reading, ()), known, broker)
    assert (None if said is None else said[0][1]) == told


def test_a_reader_of_whom_nothing_is_known_is_told_no_more_than_marks() -> None:
    (known,) = known_between((MADE, MOVED), 8_000, 8_000)
    said = refusal_of(Read(OUTPUT, None, ()), known, 1)
    assert said is not None
    assert len(said) == MARKS


def test_each_broker_has_a_block_of_producer_ids_of_its_own() -> None:
    def given(identity: int, begin: int, broker: int) -> Exchange:
        told = Table.of({"producerId": identity, "errorCode": 0})
        return Exchange("INIT_PRODUCER_ID", 5, "c", begin, begin + 1, Table.of({}), told, broker)

    ids = GivenIds((given(0, 0, 2), given(BLOCK, 4, 1)), 0)
    assert ids.next_of(given(-1, 8, 2)) == (1, BLOCK, 2 * BLOCK)
    assert ids.next_of(given(-1, 8, 1)) == (BLOCK + 1, 2 * BLOCK)
    assert ids.block_is_due(given(-1, 8, 3))


# -- the recordings ------------------------------------------------------------------------------


def refused(evidence: Evidence) -> set[str]:
    return {asked.api for asked in Acceptor(evidence).asked() if not asked.accepted}


@pytest.mark.parametrize("name", CLUSTERS)
def test_nobody_else_than_who_was_asked_could_have_said_it(name: str) -> None:
    """An answer that is put into another broker's mouth is refused, where only a leader gives it."""
    evidence = of_recording(RELEASE / name)
    assert refused(evidence) == set()
    others = {1: 2, 2: 3, 3: 1}
    swapped = tuple(x.but(broker=others[x.broker]) for x in evidence.exchanges)
    assert {"END_TXN", "INIT_PRODUCER_ID", "PRODUCE"} <= refused(evidence.but(exchanges=swapped))


@pytest.mark.parametrize("name", CLUSTERS)
def test_without_the_decisions_about_leaders_the_answers_are_refused(name: str) -> None:
    evidence = of_recording(RELEASE / name)
    first = tuple(d for d in evidence.decisions if d.leader_epoch == 0)
    assert "PRODUCE" in refused(evidence.but(decisions=first))


def test_a_zombie_is_told_that_the_leader_is_another_one() -> None:
    recording = load_recording(RELEASE / "leader-move")
    (told,) = [x for x in recording.wire if x.client == "zombie"]
    assert told.broker == 1
    (topic,) = told.response["responses"]
    (part,) = topic["partitionResponses"]
    assert (part["errorCode"], part["currentLeader"]["leaderId"]) == (6, 2)


def test_markers_go_to_the_leader_of_now_with_the_epoch_of_the_coordinator_of_now() -> None:
    recording = load_recording(RELEASE / "leader-move")
    written = [x for x in recording.wire if x.api == "WRITE_TXN_MARKERS"]
    coordinators = [x.client for x in written]
    assert coordinators == ["broker-2-txn-marker-sender", "broker-3-txn-marker-sender"]
    assert [x.broker for x in written] == [2, 1]
    assert [m["coordinatorEpoch"] for x in written for m in x.request["markers"]] == [0, 1]
