"""What the cards say at the turning points of a story."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.views.cards import Cards
from kipviz.views.facts import Card
from tests.scenarios.story import nodes, played

SHARES = "share:g1:AAAAAAAAAAAAAAAAAAAAAg:0"
STATE = "state:__share_group_state-16"
OUTPUT = "log:output-A-0"


def at(title: str, name: str = "kip-1289-share-commit", under: str = "repaired") -> dict[str, Card]:
    """The cards at the end of the big step of this title."""
    trace, chapters = played(name, under)
    end = next(c.end for c in chapters if c.title == title)
    cards = Cards(trace.model)
    shown: dict[str, Card] = {}
    for node in nodes(trace)[: end + 1]:
        shown = cards.snapshot(node.world, node.events)
    return shown


def column(card: Card, field: str) -> list[Any]:
    """One field of every row, in the order of the rows."""
    return [cells[field] for cells in card.values() if field in cells]


def facts(card: Card) -> dict[str, str]:
    return {cells["label"]: cells["value"] for cells in card.values()}


@pytest.mark.parametrize(
    ("title", "short", "note"),
    [
        ("producer.initTransactions()", "AV", "not loaded"),
        ("consumer.poll()", "AQ", "held by M1"),
        ("TX_PENDING", "PEND", "staged by pid 9, epoch 0, held by M1"),
        ("commitTransaction() returns", "PEND", "staged by pid 9, epoch 0, held by M1"),
        ("ACKNOWLEDGED", "ACK", "below the start offset"),
    ],
)
def test_a_record_shows_its_state_and_who_has_it(title: str, short: str, note: str) -> None:
    card = at(title)[SHARES]
    assert column(card, "offset") == [100, 101]
    assert column(card, "short") == [short, short]
    assert column(card, "note") == [note, note]


def test_a_log_shows_its_batches_by_producer_and_its_three_marks() -> None:
    before, after = at("commitTransaction() returns")[OUTPUT], at("COMPLETE_COMMIT")[OUTPUT]
    assert column(before, "text") == ["f(a)", "f(b)"]
    assert column(before, "control") == ["", ""]
    assert {m: before[m]["at"] for m in ("LSO", "HW", "LEO")} == {"LSO": 0, "HW": 2, "LEO": 2}
    assert column(after, "control") == ["", "", "C"]
    assert {m: after[m]["at"] for m in ("LSO", "HW", "LEO")} == {"LSO": 3, "HW": 3, "LEO": 3}


def test_a_marker_stands_with_the_batches_that_it_decides() -> None:
    card = at("COMPLETE_COMMIT")[OUTPUT]
    assert set(column(card, "batch")) == {"pid 9 epoch 0"}
    aborted = at("ABORT markers", "kip-1289-share-abort")[OUTPUT]
    assert column(aborted, "control")[-1] == "A"
    assert set(column(aborted, "batch")) == {"pid 9 epoch 0"}


def test_the_share_coordinator_holds_the_vote_until_the_marker_and_the_state_after_it() -> None:
    voted, done = facts(at("TX_PENDING")[STATE]), facts(at("ACKNOWLEDGED")[STATE])
    assert (voted["votes"], voted["durable"]) == (
        "100-101 by pid 9, epoch 0",
        "nothing acknowledged",
    )
    assert (done["votes"], done["durable"]) == ("none", "100-101 ACK d1")


def test_votes_in_memory_are_on_no_durable_card() -> None:
    shown = at("TX_PENDING", under="as-written")
    assert column(shown[SHARES], "short") == ["PEND", "PEND"]
    assert facts(shown[STATE])["votes"] == "none"


def test_the_coordinator_says_where_it_stands_and_where_it_is_going() -> None:
    name = "transaction:my-txn"
    decided, done = (
        facts(at("commitTransaction() returns")[name]),
        facts(at("COMPLETE_COMMIT")[name]),
    )
    assert (decided["state"], decided["pending transition"]) == (
        "PREPARE_COMMIT",
        "COMPLETE_COMMIT",
    )
    assert decided["epoch"] == "1"
    assert decided["participants"] == "share state-16, output-A-0"
    assert decided["markers sent"] == "output-A-0, share state-16"
    assert (done["state"], done["participants"], done["markers sent"]) == (
        "COMPLETE_COMMIT",
        "none",
        "none",
    )


def test_the_application_lights_its_line_and_says_whether_it_waits() -> None:
    card = at("TX_PENDING")["program:app-1"]
    (line,) = [cells for cells in card.values() if cells["current"]]
    assert line["text"] == "producer.commitTransaction();"
    assert not line["waiting"]
    waiting = at("consumer.poll() again")["program:app-1"]
    assert [cells["line"] for cells in waiting.values() if cells["waiting"]] == [2]


def test_a_group_shows_what_is_committed_and_what_is_pending() -> None:
    card = "offsets:__consumer_offsets-7"
    title = "producer.sendOffsetsToTransaction(offsets, metadata)"
    pending = facts(at(title, "kip-1289-group-commit")[card])
    assert pending["pending, src-0"] == "102 by pid 9"
    assert "my-group-4, src-0" not in pending
    done = facts(at("COMPLETE", "kip-1289-group-commit")[card])
    assert done["my-group-4, src-0"] == "committed 102"
    assert "pending, src-0" not in done


def test_a_card_whose_world_did_not_change_is_the_very_same_card() -> None:
    trace, _ = played("kip-1289-share-commit", "repaired")
    cards = Cards(trace.model)
    first, second, *_ = (cards.snapshot(n.world, n.events) for n in nodes(trace))
    assert second["leaders"] is first["leaders"]
    assert second[OUTPUT] is first[OUTPUT]
    assert second["program:app-1"] is not first["program:app-1"]
