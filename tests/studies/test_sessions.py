"""The counted studies of KIP-1310: what their runs give, held against our review's table."""

from __future__ import annotations

from kipviz.studies.library import study
from kipviz.studies.study import answer


def rows(name: str) -> tuple[tuple[str, ...], ...]:
    return answer(study(name)).rows


def test_only_an_abort_keeps_out_what_a_writer_sends_behind_its_checkpoint() -> None:
    found = {row[0].partition(" (")[0]: row[2:] for row in rows("B12")}
    resumed = found["TransactionSession.resume()"]
    assert resumed == ("EndTxn 1", "NONE", "f(a), f(b)", "yes")
    assert [said[-1] for said in found.values()] == ["yes", "yes", "yes", "no"]
    # KIP-939 fences who may end the transaction; the log hears of it with the marker only.
    assert found["initTransactions(keepPreparedTxn)"][1] == "NONE"
    assert found["initTransactions(), which aborts"][1:3] == ("INVALID_PRODUCER_EPOCH", "nothing")


def test_what_end_txn_answers_is_the_table_of_our_review() -> None:
    """Debated as B13."""
    assert {row[0]: row[1:3] for row in rows("B13")} == {
        "it is open": ("NONE", "NONE"),
        "its commit is logged, markers are under way": (
            "CONCURRENT_TRANSACTIONS",
            "PRODUCER_FENCED",
        ),
        "it is committed": ("NONE", "PRODUCER_FENCED"),
        "it was aborted by its time-out": ("INVALID_TXN_STATE", "PRODUCER_FENCED"),
        "it is committed, and the next one has begun": ("PRODUCER_FENCED", "PRODUCER_FENCED"),
        "another process has called InitProducerId since": ("PRODUCER_FENCED", "PRODUCER_FENCED"),
        # TransactionCoordinator.endTransaction, retryOnOverflow: version 5 alone knows the id before.
        "it is committed, and its epoch was the last one of its producer id": (
            "NONE",
            "INVALID_PRODUCER_ID_MAPPING",
        ),
        "nothing was ever written in it": ("INVALID_TXN_STATE", "INVALID_TXN_STATE"),
    }


def test_a_session_costs_a_thread_and_saves_no_request_between_brokers() -> None:
    found = rows("B20")
    for today, draft in zip(found[::2], found[1::2], strict=True):
        assert today[0] == draft[0]
        of_today, of_draft = ([int(cell) for cell in row[2:]] for row in (today, draft))
        if today[0] == "flink":
            # The committer has no producer at all: one accumulator and one InitProducerId less.
            assert (of_today[4] - of_draft[4], of_today[5] - of_draft[5]) == (1, 1)
            assert of_today[:4] == of_draft[:4]
            continue
        assert [b - a for a, b in zip(of_today[:2], of_draft[:2], strict=True)] == [1, 1]
        assert of_today[4:] == of_draft[4:]
        stages = today[0] == "share"
        assert of_draft[2] - of_today[2] == (-1 if stages else 0)
        assert of_draft[3] - of_today[3] == (0 if stages else 1)


def test_ids_grow_with_the_consumers_or_with_the_processes() -> None:
    counts = {(row[0], row[1]): int(row[2]) for row in rows("B32")}
    assert counts["200", "one for each consumer"] == 200
    assert counts["200", "one for each process"] == 10


def test_only_on_a_shared_connection_a_transactional_request_stands_behind_a_batch() -> None:
    shared, own = ([int(cell.replace(",", "")) for cell in row[2:]] for row in rows("B33"))
    assert shared[1] > shared[2] > 0
    assert own[1] > own[2] == 0


def test_a_second_commit_takes_the_next_transaction_along_where_both_have_one_identity() -> None:
    """FLINK-8132: 42 and 44 are committed, and the checkpoint holds 42 alone."""
    again, anew, second = rows("B16")
    assert again[2:] == ("NONE", "f(a), f(b)", "yes")
    assert anew[2:] == ("PRODUCER_FENCED", "f(a)", "no")
    assert second[1:] == ("kafka", "PRODUCER_FENCED", "f(a)", "no")
