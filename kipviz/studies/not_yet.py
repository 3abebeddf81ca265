"""The debated questions that the model cannot answer yet, each with what it would need.

They stand beside the studies, so that the list of questions is complete and nobody takes a missing
answer for a good one.
"""

from __future__ import annotations

from kipviz.core.values import Value

SESSION = "TransactionSession (KIP-1310)"
TWO_PHASE = "prepared transactions and an external database (KIP-939)"
OLDER = "transaction versions 0 and 1: version 2 is what is modelled"


class NotYet(Value, frozen=True):
    """A question without an answer, and what the model lacks for one."""

    name: str
    question: str
    needs: str


NOT_YET: tuple[NotYet, ...] = (
    NotYet("B12", "Does a resumed session fence the writer that is still alive?", SESSION),
    NotYet(
        "B13",
        "What does one EndTxn tell somebody who recovers a transaction?",
        f"{SESSION} and DescribeTransactions",
    ),
    NotYet("B14", "Must keeping a prepared transaction bump the epoch and log it?", TWO_PHASE),
    NotYet("B15", "What if two senders use one producer's identity in a partition?", SESSION),
    NotYet("B16", "Can two prepared transactions have one identity?", TWO_PHASE),
    NotYet("B17", "What becomes of unsent batches when a session commits?", SESSION),
    NotYet("B18", "Must a failed batch of one producer fail the whole session?", SESSION),
    NotYet("B19", "Who tells the other clients of a session about the next epoch?", SESSION),
    NotYet(
        "B20",
        "What does a session save, or cost, in connections, threads and requests?",
        f"{SESSION}, and a ledger of resources",
    ),
    NotYet("B21", "Is one time-out enough, or does a session need a heartbeat?", SESSION),
    NotYet("B22", "Who keeps a prepared transaction alive?", f"{SESSION}; {TWO_PHASE}"),
    NotYet(
        "B25",
        "What if one broker stages its part of an acknowledgement and another refuses?",
        "an application that reads several partitions: here each one reads one",
    ),
    NotYet("B26", "Can a delayed commit end the next transaction?", OLDER),
    NotYet(
        "B27",
        "Which version leaves transactions hanging?",
        f"{OLDER} (B23 asks it of version 2)",
    ),
    NotYet(
        "B32",
        "How many transactional ids does a large share group need?",
        f"{SESSION}, and members that come and go",
    ),
    NotYet(
        "B33",
        "Is a session's own connection worth its cost?",
        f"{SESSION}, and time: the clock of a search is untimed",
    ),
    NotYet(
        "B34",
        "What if the version goes up between prepare and commit?",
        f"{OLDER}; {TWO_PHASE}",
    ),
)
