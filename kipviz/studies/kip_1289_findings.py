"""The findings of our review of KIP-1289, from A to S and from X1 to X24, in the order of the review.

What the text says is told in our words, with the place where it says so. KIP-1289 is a draft; that
it says so is a fact, what is the matter with it is our reading, and the run is what decides.
"""

from __future__ import annotations

from kipviz.studies import looks
from kipviz.studies.findings import LIVE, Finding

TOGETHER = "kip-1289-small-together"
ABORTING = "kip-1289-small-abort"

FINDINGS: tuple[Finding, ...] = (
    Finding(
        "A",
        "The coordinator need not track share-partitions: the marker is broadcast anyway.",
        "Existing RPCs NOT changed, AddPartitionsToTxn",
        "A transaction sends markers to its participants only; without one nobody is told.",
        "finding-A",
        promise=LIVE,
    ),
    Finding(
        "B",
        "The marker's broker finds the staged records in its cache.",
        "Flow - Share Group, 'Broker 5'",
        "The leader of the source and the leader of the state partition are two brokers.",
        "finding-B",
        promise=LIVE,
    ),
    Finding(
        "C",
        "The participant is partitionFor(groupId).",
        "Flow - Share Group, 1.",
        "Share state is placed by group, topic id and partition; the marker goes elsewhere.",
        "finding-C",
        promise=LIVE,
    ),
    Finding(
        "D",
        "A lock that runs out frees a staged record.",
        "Corner case 6",
        "The record is given away after the decision to commit.",
        "finding-D",
        faults="expire_lock=1",
        promise="atomic",
    ),
    Finding(
        "E",
        "TX_PENDING lives in memory only.",
        "Corner cases 1 and 12, __share_group_state unchanged",
        "A new leader finds no vote, and the output of the record is committed.",
        "finding-E",
        TOGETHER,
        "move_leader=1",
        "atomic",
    ),
    Finding(
        "F",
        "An abort makes staged records ACQUIRED; the next poll() brings them again.",
        "javadoc and State machine additions against the pseudo code",
        "The next poll() waits for what its own member holds, until the lock runs out.",
        "finding-F",
        ABORTING,
        promise="an abort brings it again",
    ),
    Finding(
        "I",
        "Only a marker with the staged producer epoch resolves a record.",
        "Existing RPCs NOT changed, WriteTxnMarkers",
        "Under transaction version 2 the decision bumps the epoch: no honest marker fits.",
        "finding-I",
        promise=LIVE,
    ),
    Finding(
        "K",
        "A record that is not ACQUIRED cannot be staged: INVALID_RECORD_STATE.",
        "State machine additions",
        "A staging whose answer was lost is refused when it comes again.",
        "finding-K",
        faults="lose_connection=1",
        promise="own vote counts",
    ),
    Finding(
        "M",
        "An abort makes staged records ACQUIRED until the lock runs out.",
        "javadoc; KIP-932 delivery count limit",
        "At the limit the lock archives a record that nobody ever failed to process.",
        "finding-M",
        "kip-1289-small-last-delivery",
        "expire_lock=1",
        "an abort is no failure",
    ),
    Finding(
        "N",
        "ShareGroupMetadata has an optional group instance id.",
        "Public Interfaces, list",
        "Share groups have no static members, and the class in the same text has no such field.",
        because="two lists in the text differ; no message carries it",
    ),
    Finding(
        "X1",
        "In implicit mode the loop needs no acknowledge(); the next poll() follows the abort.",
        "Pseudo code",
        "That poll() accepts the whole batch before it, and no output is committed: it is lost.",
        "finding-X1",
        ABORTING,
        promise="atomic",
    ),
    Finding(
        "X4",
        "Staging follows the enlistment in memory; nothing is said of what comes in between.",
        "Flow - Share Group, Staging Phase",
        "The time-out aborts in between; the marker finds nothing, and then it is staged.",
        "finding-X4",
        TOGETHER,
        "time_out=1",
        LIVE,
    ),
    Finding(
        "X5",
        "The last session of a group on a broker takes its share-partitions along.",
        "SharePartitionManager, Kafka 4.4.0; not mentioned in the KIP",
        "A crash of the application, which exactly once is for, evicts the vote.",
        "finding-X5",
        TOGETHER,
        "crash_client=1",
        "atomic",
    ),
    Finding(
        "X7",
        "commitTransaction() returns when the transaction is complete.",
        "Flow - Share Group, Transaction Completion; 'true synchronisation point'",
        "It returns at PREPARE_COMMIT, while the records are still TX_PENDING.",
        "repaired",
        "kip-1289-share-commit",
        look=looks.committed_and_pending,
    ),
)


def finding(name: str) -> Finding:
    """Give a finding by its name, such as "X4".

    Raises:
        LookupError: if there is none; the message lists what there is.
    """
    for known in FINDINGS:
        if known.name.lower() == name.strip().lower():
            return known
    allowed = ", ".join(known.name for known in FINDINGS)
    raise LookupError(f"there is no finding {name!r}; the findings are {allowed}")
