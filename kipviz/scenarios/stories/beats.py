"""The beats that several stories have in common: a loop up to its decision."""

from __future__ import annotations

from kipviz.scenarios.script import Beat

# A blocking call from its beginning to its return; a loop's poll(), beginTransaction() and send(); the
# same behind initTransactions().
CALL = ("app-1 goes on", "quiet", "app-1 goes on")
NEXT_ROUND = (*CALL, "app-1 goes on", "app-1 goes on", "quiet")
FIRST_ROUND = (*CALL, *NEXT_ROUND)


def of(name: str, steps: tuple[str, ...]) -> tuple[str, ...]:
    """Give instructions for app-1 as those for another application."""
    return tuple(step.replace("app-1", name) for step in steps)


BEGIN = (
    Beat(
        "producer.initTransactions()",
        "The coordinator of my-txn, Broker 1, gives the producer its id and epoch and fences "
        "whoever had the name before.",
        ("app-1 goes on", "quiet", "app-1 goes on"),
    ),
    Beat(
        "consumer.poll()",
        "Broker 5 leads src-0. It loads what is durable, delivers offsets 100 and 101, and locks "
        "them for member M1.",
        ("app-1 goes on", "quiet", "app-1 goes on"),
    ),
    Beat(
        "producer.beginTransaction()",
        "Purely local: no broker hears of it.",
        ("app-1 goes on",),
    ),
    Beat(
        'producer.send("output-A", record)',
        "Under transaction version 2 nobody sends AddPartitionsToTxn for the client: Broker 3 "
        "enlists output-A-0 itself before it appends the first batch. The records are in the log, "
        "but the last stable offset stays before them.",
        ("app-1 goes on", "quiet"),
    ),
)

GROUP_BEGIN = (
    BEGIN[0],
    Beat(
        "consumer.poll()",
        "The consumer asks Broker 4 where its group left off, and then Broker 5 for the records "
        "from there on.",
        ("app-1 goes on", "quiet", "app-1 goes on"),
    ),
    *BEGIN[2:],
)

STAGE = (
    Beat(
        "sendShareAcknowledgementsToTransaction(acks, meta)",
        "The call returns at once. The sender takes TxnShareAcknowledge to Broker 5, the leader of "
        "the share-partition, not to a coordinator.",
        ("app-1 goes on", "until TxnShareAcknowledge arrives at B5"),
    ),
    Beat(
        "TX_PENDING",
        "The vote is kept as the design says, a partition of __share_group_state becomes a "
        "participant of the transaction, and the producer is told that the records are staged.",
        ("quiet",),
    ),
)

COMMIT = (
    Beat(
        "producer.commitTransaction(): PREPARE_COMMIT",
        "Broker 1 logs PREPARE_COMMIT with the next epoch. From here the transaction can only "
        "commit.",
        ("app-1 goes on", "until EndTxn arrives at B1"),
    ),
    Beat(
        "commitTransaction() returns",
        "The coordinator answers as soon as the decision is durable: no marker is written yet.",
        ("EndTxnResponse arrives at app-1/producer", "app-1 goes on"),
    ),
)

SHARE_MARKERS = (
    Beat(
        "COMMIT marker in output-A-0",
        "Broker 3 appends a control batch: the output becomes visible to read_committed consumers.",
        ("WriteTxnMarkers arrives at B3",),
    ),
    Beat(
        "COMMIT marker on the share side",
        "The leader of the enlisted partition of __share_group_state appends its control batch.",
        ("maybe WriteTxnMarkers arrives at B[57]",),
    ),
    Beat(
        "COMPLETE_COMMIT",
        "Every participant has answered: Broker 1 closes the transaction.",
        ("quiet",),
    ),
    Beat(
        "ACKNOWLEDGED",
        "The share-partition leader learns the outcome, and the start offset moves on.",
        ("maybe B5 refreshes src-0", "quiet"),
    ),
    Beat(
        "consumer.poll() again",
        "If all went well there is nothing left to deliver.",
        ("app-1 goes on", "quiet"),
    ),
)

ABORT = (
    Beat(
        "producer.abortTransaction(): PREPARE_ABORT",
        "Processing failed. Broker 1 logs PREPARE_ABORT with the next epoch.",
        ("app-1 goes on", "until EndTxn arrives at B1"),
    ),
    Beat(
        "abortTransaction() returns",
        "The decision is durable; the markers are on their way.",
        ("EndTxnResponse arrives at app-1/producer", "app-1 goes on"),
    ),
)
