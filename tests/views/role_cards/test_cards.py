"""What the cards say at the turning points of a story."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.brokers.share_coordinators.share_state import ShareCoordinator, ShareState
from kipviz.core.table import Table
from kipviz.views.measures import metrics
from kipviz.views.role_cards import shares
from kipviz.views.role_cards.card_rows import Card
from kipviz.views.role_cards.cards import Cards
from tests.scenarios.story import nodes, play_once

SHARES = "share:g1:AAAAAAAAAAAAAAAAAAAAAg:0"
STATE = "state:__share_group_state-16"
OUTPUT = "log:output-A-0"


def at(title: str, name: str = "kip-1289-share-commit", under: str = "repaired") -> dict[str, Card]:
    """The cards at the end of the big step of this title."""
    trace, chapters = play_once(name, under)
    end = next(c.end for c in chapters if c.title == title)
    cards = Cards(trace.model)
    shown: dict[str, Card] = {}
    for node in nodes(trace)[: end + 1]:
        cards.observe(node.world, node.events)
        shown = cards.snapshot(node.world)
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


def test_the_share_coordinator_holds_the_transactional_acknowledgement_until_the_marker_and_the_state_after_it() -> (
    None
):
    staged, done = facts(at("TX_PENDING")[STATE]), facts(at("ACKNOWLEDGED")[STATE])
    assert (staged["transactional acknowledgements"], staged["durable"]) == (
        "100-101 by pid 9, epoch 0",
        "nothing acknowledged",
    )
    assert (done["transactional acknowledgements"], done["durable"]) == ("none", "100-101 ACK d1")


def test_transactional_acknowledgements_in_memory_are_on_no_durable_card() -> None:
    shown = at("TX_PENDING", under="as-written")
    assert column(shown[SHARES], "short") == ["PEND", "PEND"]
    assert facts(shown[STATE])["transactional acknowledgements"] == "none"


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
    assert line["text"] == "producer.commitTransaction(); // BLOCKS"
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
    trace, _ = play_once("kip-1289-share-commit", "repaired")
    cards = Cards(trace.model)
    shown = []
    for node in nodes(trace)[:2]:
        cards.observe(node.world, node.events)
        shown.append(cards.snapshot(node.world))
    first, second = shown
    assert second["leaders"] is first["leaders"]
    assert second[OUTPUT] is first[OUTPUT]
    assert second["program:app-1"] is not first["program:app-1"]


# -- the strip, the logs, who owns what, and what it adds up to ------------------------------------


def test_the_strip_has_the_in_flight_window_and_says_how_each_lock_stands() -> None:
    held, staged = at("consumer.poll()")[SHARES], at("TX_PENDING")[SHARES]
    assert (held["SPSO"]["at"], held["SPEO"]["at"]) == (100, 101)
    assert held["offset 100"]["lock"] == "locked: the lock may expire at any moment"
    assert held["offset 100"]["member"] == "M1"
    assert staged["offset 100"]["lock"] == "its lock is stopped while it is staged"
    assert staged["offset 100"]["staged"] == "9/0"
    written = at("TX_PENDING", under="as-written")[SHARES]
    assert written["offset 100"]["lock"] == "locked: the lock may expire at any moment"
    done = at("ACKNOWLEDGED")[SHARES]
    assert done["SPSO"]["at"] == 102
    assert "SPEO" not in done
    assert done["offset 100"]["below"]


def test_a_log_says_what_became_of_a_batch_and_who_holds_the_lso() -> None:
    open_, done = at("commitTransaction() returns")[OUTPUT], at("COMPLETE_COMMIT")[OUTPUT]
    assert column(open_, "fate") == ["open", "open"]
    assert open_["LSO"]["by"] == "pid 9 epoch 0, open since offset 0"
    assert column(open_, "span") == ["0-1", "0-1"]
    assert column(done, "fate") == ["committed", "committed"]
    assert "by" not in done["LSO"]
    aborted = at("ABORT markers", "kip-1289-share-abort")[OUTPUT]
    assert column(aborted, "fate") == ["aborted", "aborted"]


def test_an_internal_log_reads_as_keys_and_values_between_its_marks() -> None:
    logs = at("COMPLETE_COMMIT")
    assert column(logs["log:__transaction_state-45"], "value") == [
        "my-txn → EMPTY · pid 9 epoch 0",
        "my-txn → ONGOING · pid 9 epoch 0 · output-A-0",
        "my-txn → ONGOING · pid 9 epoch 0 · share state-16, output-A-0",
        "my-txn → PREPARE_COMMIT · pid 9 epoch 1 · share state-16, output-A-0",
        "my-txn → COMPLETE_COMMIT · pid 9 epoch 1",
        "high watermark",
    ]
    shares = column(logs["log:__share_group_state-16"], "value")
    assert shares[0].startswith("g1, src-0 → snapshot 0: state epoch 2")
    assert "g1, src-0 → TX_PENDING: 100-101 ACCEPT d1 · pid 9 epoch 0: committed" in shares
    assert "COMMIT marker of pid 9 epoch 0, in epoch 1" in shares
    group = at("COMPLETE", "kip-1289-group-commit")["log:__consumer_offsets-7"]
    offset = "offset 102, topic id AAAAAAAAAAAAAAAAAAAAAg · pid 9 epoch 0: committed"
    assert f"my-group-4, src-0 → {offset}" in column(group, "value")
    orders = column(group, "order")
    assert orders == sorted(orders)


def test_a_process_owns_its_clients_they_their_threads_and_connections() -> None:
    card = at("TX_PENDING")["owns:app-1"]
    order = sorted(card.values(), key=lambda cells: cells["order"])
    names = [(cells["level"], cells["label"]) for cells in order]
    assert names[:4] == [
        (0, "process"),
        (1, "application thread"),
        (1, "KafkaProducer"),
        (2, "sender thread"),
    ]
    assert (2, "producer → Broker 3") in names
    assert names.index((1, "KafkaShareConsumer")) < names.index((2, "consumer → Broker 5"))
    assert facts(card)["KafkaProducer"] == "my-txn, pid 9, last epoch 0"
    broker = facts(at("commitTransaction() returns")["owns:B1"])
    assert broker["transaction coordinator transactions-45"] == "active"
    assert broker["markers → Broker 3"] == "out: WriteTxnMarkers"


def test_machines_light_where_everybody_stands_and_count_what_was_taken() -> None:
    shown = at("commitTransaction() returns")
    producer, transaction = shown["machine:app-1"], shown["machine:my-txn"]
    assert column(producer, "state") == ["READY"]
    assert producer["COMMITTING_TRANSACTION to READY"]["times"] == 1
    assert column(transaction, "state") == ["PREPARE_COMMIT"]
    assert transaction["ONGOING to ONGOING"]["times"] == 1
    records = shown[SHARES.replace("share", "machine", 1)]
    assert records["state TX_PENDING"]["text"] == "100-101"
    assert records["ACQUIRED to TX_PENDING"]["times"] == 2


def test_counters_add_up_what_has_happened_and_are_not_in_the_world() -> None:
    start, done = at("producer.initTransactions()")["metrics"], at("ACKNOWLEDGED")["metrics"]
    assert {start[name]["value"] for name in metrics.FIRST} == {0}
    assert {name: done[name]["value"] for name in metrics.FIRST if done[name]["value"]} == {
        metrics.COMMITTED: 1,
        metrics.MARKERS: 2,
        metrics.PRODUCED: 2,
        metrics.ACQUIRED: 2,
        metrics.STAGED: 2,
        metrics.ACKNOWLEDGED: 2,
    }
    assert done["requests sent · WriteTxnMarkers"]["value"] == 2
    expired = at("The lock expires", "kip-1289-lock-expiry", "as-written")["metrics"]
    assert expired[metrics.EXPIRED]["value"] == 1


def test_a_consumer_of_the_classic_protocol_has_a_generation_once_it_has_joined() -> None:
    trace, _ = play_once("kip-62-rebalance", "kafka")
    cards, told = Cards(trace.model), []
    for node in nodes(trace):
        cards.observe(node.world, node.events)
        owned = cards.snapshot(node.world)["owns:app-1"].values()
        told += [cells["value"] for cells in owned if cells["label"] == "KafkaConsumer"]
    assert told[0] == "no member id yet, generation none"
    assert "C1.1, generation 2" in told
    assert not any("member epoch" in words for words in told)


def test_the_coordinator_of_a_group_shows_generations_and_its_producers_know_theirs() -> None:
    story = "kip-447-first-draft"
    shown = at("Generation 3 reaches the transaction coordinator", story, story)
    old, new = (facts(shown[f"transaction:{name}"]) for name in ("my-txn", "my-txn-2"))
    assert old["state"] == "PREPARE_ABORT"
    assert old["generation"] == "1 of my-group-4, over: 3 was seen; has src-0, src-1"
    assert new["state"] == "unknown yet"
    shown = at("app-2 continues", story, story)
    assert "generation" not in facts(at("app-2 continues", story, "kafka")["transaction:my-txn"])
    assert facts(shown["transaction:my-txn-2"])["generation"] == "3 of my-group-4; has src-0, src-1"
    clients = next(facts(card) for key, card in shown.items() if key == "clients:app-2")
    assert clients["identity for generation"] == "3 of my-group-4"


@pytest.mark.parametrize(("below", "fenced"), [(2, "leaders below epoch 2"), (0, None)])
def test_a_state_that_was_made_anew_says_which_leaders_are_fenced_all_the_same(below, fenced):
    state = ShareState(1, 3, 0, 10, 0, (), fenced_below=below)
    role = ShareCoordinator("__share_group_state-0", states=Table.of().set("g1:id:0", state))
    card = shares.coordinator(role)
    assert card["epochs"]["value"] == "state 3, leader 0"
    assert card.get("fenced", {}).get("value") == fenced


def test_the_card_of_a_process_shows_for_each_partition_what_poll_left():
    trace, _ = play_once("kip-429-cooperative", "kafka")
    cards = Cards(trace.model)
    seen: list[dict[str, str]] = []
    for node in nodes(trace):
        cards.observe(node.world, node.events)
        shown = facts(cards.snapshot(node.world)["clients:app-1"])
        fetched = {label: value for label, value in shown.items() if label.endswith(" fetched")}
        if seen[-1:] != [fetched]:
            seen.append(fetched)
    assert seen == [
        {},
        {"src-0 fetched": "101, 102, 103", "src-1 fetched": "200, 201"},
        {"src-0 fetched": "102, 103", "src-1 fetched": "200, 201"},
        {"src-0 fetched": "103", "src-1 fetched": "200, 201"},
        {"src-0 fetched": "103"},
        {},
    ]
