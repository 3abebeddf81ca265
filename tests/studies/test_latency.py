"""What the designs cost and how long a record waits: the tables, in their words."""

from __future__ import annotations

from kipviz.checking.timed.critical_path import Latencies
from kipviz.studies.library import STUDIES, study
from kipviz.studies.study import answer
from kipviz.studies.test_plan import cost
from kipviz.studies.timed import latency, lock_end
from kipviz.views.reports.review import study_page

SLOW = Latencies(round_trip_ms=10, fsync_ms=5)


def by_label(table: cost.Table) -> dict[str, dict[str, str]]:
    heads, rows = table
    return {row[0]: dict(zip(heads, row, strict=True)) for row in rows}


def test_the_text_the_repair_and_their_rivals_stand_in_one_table_of_costs() -> None:
    rows = by_label(cost.table())
    assert {row["design"] for row in rows.values()} == {
        "kafka",
        "as-written",
        "as-written+marker_epoch=at_least",
        "repaired",
        "repaired+outcome_news=the_coordinator_tells",
        "kip-1310",
    }
    told = rows["the same, and the leader is notified of the outcome (study B2)"]
    assert told["to an acknowledged batch"] == "14.8 ms", "it waits for no look-up"
    plain = rows["share group, the next poll() acknowledges: not atomic"]
    assert (plain["messages"], plain["bytes"], plain["appends"]) == ("15", "1,137", "6")
    written = rows["share group, KIP-1289 as written"]
    assert written["to an acknowledged batch"] == "never"
    repaired = rows["share group, KIP-1289 repaired"]
    assert repaired["poll() to the end of commitTransaction()"] == "14.6 ms"
    assert repaired["critical path of the commit"] == (
        "6 broker hops (3 ms), 6 client hops (6 ms), 5 replicated appends (5 ms), "
        "6 requests handled (0.6 ms)"
    )


def test_what_throws_is_not_counted() -> None:
    row = by_label(cost.table())["share group in a session (KIP-1310 as written)"]
    assert row["poll() to the end of commitTransaction()"].startswith(
        "throws EndTxn: INVALID_TXN_STATE"
    )
    assert (row["messages"], row["to a visible output"]) == ("-", "never")


def test_other_stated_times_give_other_times_and_the_same_counts() -> None:
    fast, slow = by_label(cost.table()), by_label(cost.table(SLOW))
    for label in ("regular group, sendOffsetsToTransaction()", "share group, KIP-1289 repaired"):
        assert fast[label]["bytes"] == slow[label]["bytes"]
        assert fast[label]["to a visible output"] != slow[label]["to a visible output"]


def test_an_abort_that_leaves_the_record_held_keeps_it_until_its_lock_runs_out() -> None:
    rows = by_label(latency.abort_delays())
    same, other = rows["free (the test plan)"], rows["held again by its member (the javadoc)"]
    wait = "abortTransaction() to the poll() of the same member"
    assert same[wait] == "101.1 ms"
    assert other[wait] == "29.994 s"
    assert same["timers that expired until then"] == "none"
    assert other["timers that expired until then"] == "the lock of src-0@100 expires"


def test_a_crash_keeps_a_durable_transactional_acknowledgement_for_the_transaction_timeout_and_a_restart_frees_it() -> (
    None
):
    row = by_label(latency.redelivery())["share group, KIP-1289 repaired"]
    assert row["after a crash: another member"].startswith("60.0")
    assert row["timers that expired before that last one"] == "my-txn times out"
    assert row["after a crash: restarted at once"].endswith(" ms")


def test_a_regular_group_waits_for_the_session_and_for_the_transaction() -> None:
    row = by_label(latency.redelivery())["regular group, sendOffsetsToTransaction()"]
    assert row["timers that expired before that last one"] == (
        "the session of C1 in my-group-4 expires at B4; my-txn times out"
    )


def test_only_on_a_shared_connection_a_request_waits_for_a_batch_and_longer_with_a_flush() -> None:
    wait = "TxnOffsetCommit waits for the batch"
    fast, slow = by_label(latency.behind_a_batch()), by_label(latency.behind_a_batch(SLOW))
    today, own = "one per broker (today)", "the session has its own (KIP-1310)"
    assert [row[own][wait] for row in (fast, slow)] == ["0 ms", "0 ms"]
    # In front of it the batch asks the coordinator on the same broker, and both append: two requests and two
    # appends, of 1 ms and then of 11 ms.
    assert [row[today][wait] for row in (fast, slow)] == ["2.2 ms", "22.2 ms"]


def test_every_table_of_times_says_what_it_assumes_and_that_it_is_no_benchmark() -> None:
    timed = [each.name for each in STUDIES if each.timing is not None]
    assert timed == ["B6", "B10", "cost", "lock-end", "redelivery", "B33"]
    page = study_page(answer(study("cost"), latencies=SLOW))
    assert "Assumed: round trip client to broker 10 ms, broker to broker 1 ms; fsync 5 ms;" in page
    assert "no benchmark of a broker" in page
    assert page.count("Assumed:") == 1


def test_a_lock_that_frees_a_record_commits_its_output_again_and_again() -> None:
    rows = by_label(lock_end.costs(Latencies(work_ms=lock_end.WORK_MS)))
    free = rows["the record is free again (the text)"]
    longer = rows["the lock lasts as long as the transaction may"]
    aborts = rows["the coordinator aborts the transaction at the lock's end"]
    asked = rows[lock_end.ASKED]
    waits = rows["the record waits, and its leader looks the outcome up"]
    commits, last = "transactions with its output that commit", "first poll() to acknowledged"
    assert (free[commits], free["deliveries"], free[last]) == ("3", "4", lock_end.NOT_YET)
    assert (aborts[commits], aborts["that abort"], aborts[last]) == ("0", "2", lock_end.NOT_YET)
    for once in (longer, waits):
        assert (once[commits], once["that abort"], once["deliveries"]) == ("1", "0", "1")
        assert once[last] == "45.096 s"
    # What a request of the leader would add: one EndTxn and its response for each transaction that is aborted.
    assert int(asked["messages"].replace(",", "")) == int(aborts["messages"].replace(",", "")) + 4
    assert asked["appends"] == aborts["appends"]


def test_work_that_ends_before_the_lock_costs_the_same_whatever_the_lock_does() -> None:
    _, rows = lock_end.costs(Latencies(work_ms=20_000))
    assert len({row[4:] for row in rows}) == 1


def test_the_work_of_a_study_is_stated_under_its_table_and_gives_way_to_the_readers() -> None:
    asked = study("lock-end").but(timing=lambda latencies: (("work",), ((latencies.words,),)))
    assert "45000 ms to process a batch" in answer(asked).assumptions
    assert "45000 ms to process a batch" in answer(asked).rows[0][0]
    stated = answer(asked, latencies=Latencies(work_ms=20_000))
    assert "20000 ms to process a batch" in stated.assumptions
