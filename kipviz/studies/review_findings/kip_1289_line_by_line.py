"""The findings X27 to X43 of our review of KIP-1289: the text compared with itself, its loop, metrics and corner cases.

What the text says is stated in our words, with its section, as in `kip_1289_findings`.
"""

from __future__ import annotations

from kipviz.studies.review_findings import story_predicates, tallies
from kipviz.studies.review_findings.findings import Finding
from kipviz.studies.test_plan import alerts

LINE_BY_LINE: tuple[Finding, ...] = (
    Finding(
        "X27",
        "The application must not call acknowledge() on records that it has staged.",
        "Pseudo code; Current Acknowledgment Modes, 2.",
        "In explicit mode the next poll() of Kafka's share consumer then throws IllegalStateException, because these "
        "records have no acknowledgement.",
        "finding-X27",
        "kip-1289-small-explicit",
        property_name="poll() goes on",
    ),
    Finding(
        "X28",
        "The loop rethrows UnsupportedVersionException: 'unrecoverable - kill the process'.",
        "Pseudo code, against corner case 9, 'user must abort the transaction'",
        "The loop ends without an abort, so its output holds back the last stable offset until the transaction times "
        "out.",
        "repaired",
        "kip-1289-corner-9",
        look=story_predicates.ended_with_its_output_open,
    ),
    Finding(
        "X29",
        "Primary alert: TxnPendingRecordsCount > 0 sustained for > 60s.",
        "Metrics, against corner case 6 and group.share.record.lock.duration.ms",
        "The acquisition lock ends TX_PENDING after 30 s, so an abandoned batch never raises the alert.",
        "finding-D",
        counting=alerts.never_raised,
    ),
    Finding(
        "X30",
        "Any non-zero TxnPendingLockExpiredCount is an abandoned transaction or a missing marker.",
        "Metrics, against Existing RPCs NOT changed, WriteTxnMarkers",
        "No marker has the staged epoch (finding I), so the lock expires after every commit, and every commit raises "
        "the critical alert.",
        "as-written",
        counting=alerts.raised_by_a_commit,
    ),
    Finding(
        "X31",
        "The call throws ProducerFencedException, GroupAuthorizationException, InvalidProducerEpochException.",
        "javadoc @throws, against 'Threading: Returns immediately after enqueuing'",
        "The call returns before a broker receives the request, so commitTransaction() throws the exceptions that the "
        "call declares.",
        "repaired",
        "kip-1289-corner-3",
        look=story_predicates.thrown_by_the_commit,
    ),
    Finding(
        "X32",
        "A lock that expires makes a TX_PENDING record ACQUIRED, and so re-acquirable.",
        "Corner case 6, 'reverts to ACQUIRED'",
        "An ACQUIRED record cannot be acquired, and its only timer has just fired, so nothing releases the record.",
        "finding-X32",
        faults="expire_lock=1",
        property_name="every lock expires",
    ),
    Finding(
        "X33",
        "RENEW is one of the states of a record.",
        "Background: Share Groups, Current State Machine",
        "RENEW is an acknowledgement type. The state machine that the text extends has no such state.",
        counting=tallies.renew_as_a_state,
    ),
    Finding(
        "X34",
        "Applications call sendShareAcknowledgementsToTransaction(), or sendShareAcksToTransaction().",
        "Public Interfaces and Pseudo code, against corner cases 8 and 10",
        "One method has two names, and no interface has the second one.",
        because="both names occur only in the text",
    ),
    Finding(
        "X35",
        "send() makes the client's TransactionManager send AddPartitionsToTxn.",
        "Flow - Regular Consumer Group; Flow - Share Group; against 'Only TV 2 supporting'",
        "Under transaction version 2 no client sends this request. The leader adds its partition to the transaction "
        "itself.",
        "as-written",
        counting=tallies.senders_of_partitions,
    ),
    Finding(
        "X36",
        "TransactionPartitionsCount is an existing metric of the TransactionCoordinator.",
        "Metrics, 'Reused'",
        "Kafka has no metric of this name, so seven metrics are new.",
        because="it is about a name that Kafka 4.4.0 does not have",
    ),
    Finding(
        "X37",
        "The acknowledgements are sent to the consumer-coordinator.",
        "javadoc, against Flow - Share Group, 'Broker 5 (the SharePartition leader)'",
        "Only the share-partition leader has the records. The group coordinator has none.",
        "as-written",
        counting=tallies.addressee,
    ),
    Finding(
        "X38",
        "RELEASE, RENEW and GAP are rejected with INVALID_RECORD_STATE.",
        "javadoc; corner case 10",
        "A lost lock has the same error, so the loop aborts and repeats a call that can never succeed.",
        "repaired",
        "kip-1289-corner-10",
        look=story_predicates.staging_refused,
    ),
    Finding(
        "X39",
        "A late marker of a stale staging is filtered out because its epoch does not match.",
        "Corner cases 6 and 13, 'epoch mismatch'",
        "The marker is ignored because the record is no longer TX_PENDING. Case 13 gives both reasons.",
        because="the outcome is the same: the epoch is not compared for a record that is not staged",
    ),
    Finding(
        "X40",
        "STALE_MEMBER_EPOCH and UNKNOWN_MEMBER_ID are errors of the whole response.",
        "TxnShareAcknowledgeResponse, against corner case 8, 'current SharePartition owner'",
        "Each record of a share-partition has its own owner, and one request names several partitions.",
        because="the text has one error in the response, and compares once for each share-partition",
    ),
    Finding(
        "X41",
        "The corner cases are 1 to 14, one of them cites 'commit 8 on the branch', and alternatives are rejected.",
        "Corner cases; Rejected Alternatives",
        "There is no case 4, no branch is linked where it is cited, and no alternative is named.",
        because="it is about what the text leaves out",
    ),
    Finding(
        "X42",
        "Any error of a staging is reported by commitTransaction() or abortTransaction().",
        "javadoc, Threading",
        "abortTransaction() throws no abortable error, so an application that aborts never learns of it.",
        "repaired",
        counting=tallies.thrown_by_an_abort,
    ),
    Finding(
        "X43",
        "The hook commits matching records to ACKNOWLEDGED. The text does not mention a write that fails.",
        "Flow - Share Group, Execution on Broker 5",
        "If the write fails, the transaction completes all the same, and the next leader delivers the record again. In "
        "the draft implementation (pull request 22357) the marker fails and is retried.",
        "finding-X43",
        "kip-1289-small-lost-outcome",
        property_name="atomic",
        played=True,
    ),
)
