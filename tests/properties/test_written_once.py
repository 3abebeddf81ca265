"""Written once, over hand-made histories: what is in hand may come, what is counted twice may not."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kipviz.core.table import Table
from kipviz.properties.verdict import BROKEN, HOLDS
from kipviz.properties.written_once import WrittenOnce
from kipviz.records.share_group_state import RecordState
from tests.properties.history import WORLD, decision, findings, moves, output

ACKNOWLEDGED, ARCHIVED = moves(RecordState.ACKNOWLEDGED), moves(RecordState.ARCHIVED)
RECORD = SimpleNamespace(partition="src-0", offset=100)
OTHER = SimpleNamespace(partition="src-0", offset=101)
COMMIT, ABORT = decision(committed=True), decision(committed=False)


def world(*records: object, alive: bool = True, ended: bool = False) -> SimpleNamespace:
    app = SimpleNamespace(alive=alive, ended=ended, records=records)
    return SimpleNamespace(**vars(WORLD) | {"applications": Table.of({"A1": app})})


@pytest.mark.parametrize(
    ("there", "status"),
    [
        (world(RECORD), HOLDS),
        (world(OTHER, RECORD), HOLDS),
        (world(OTHER), BROKEN),
        (world(RECORD, alive=False), BROKEN),
        (world(RECORD, ended=True), BROKEN),
        (world(), BROKEN),
    ],
)
def test_an_archived_record_may_still_be_written_by_a_living_process_that_has_it_in_hand(
    there, status
):
    assert findings(WrittenOnce(), ARCHIVED, world=there)[-1].status == status


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ((ACKNOWLEDGED,), "src-0@100 is acknowledged, and its output is lost"),
        ((output(100), ACKNOWLEDGED), ""),
        ((output(100), ACKNOWLEDGED, COMMIT), ""),
        ((output(100), COMMIT, ACKNOWLEDGED), ""),
        ((output(100), COMMIT, ARCHIVED), ""),
        ((output(100), ACKNOWLEDGED, ABORT), "src-0@100 is acknowledged, and its output is lost"),
        ((output(100), ARCHIVED, ABORT), "src-0@100 is archived, and its output is lost"),
        ((output(100), ARCHIVED, COMMIT), ""),
        ((output(101), ACKNOWLEDGED), "src-0@100 is acknowledged, and its output is lost"),
        ((output(100), COMMIT, output(100), COMMIT), "src-0@100 is written twice"),
        ((output(100), COMMIT, output(100), ABORT), ""),
        ((output(100), COMMIT, output(101), COMMIT), ""),
    ],
)
def test_what_is_owed_is_written_once(events, reason):
    found = findings(WrittenOnce(), *events)[-1]
    assert (found.status, found.reason) == ((BROKEN, reason) if reason else (HOLDS, ""))


def test_what_has_broken_stays_broken_for_its_first_reason():
    found = findings(WrittenOnce(), ACKNOWLEDGED, output(100), COMMIT, output(100), COMMIT)
    assert {each.reason for each in found[1:]} == {
        "src-0@100 is acknowledged, and its output is lost"
    }


def test_what_breaks_first_in_a_step_is_its_reason():
    """A decision may bring the second output of one record and, with it, the end of another one's only output."""
    twice = (output(100), COMMIT, output(100), COMMIT, moves(RecordState.ACKNOWLEDGED, 101))
    assert findings(WrittenOnce(), twice)[-1].reason == "src-0@100 is written twice"
