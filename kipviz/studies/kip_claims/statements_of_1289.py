"""The claims of KIP-1289, section by section, each with the way it is judged."""

from __future__ import annotations

from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import TxnShareAcknowledge, TxnShareAcknowledgeResponse
from kipviz.studies.kip_claims.statements import Text, contradicted, kept, searched, seen, unjudged
from kipviz.studies.review_findings.event_predicates import answered, returns, sends, throws
from kipviz.studies.review_findings.findings import LIVE

WRITTEN, AVAILABLE = "as-written", "as-written-available"
STAGE = TxnShareAcknowledgeResponse
INTERFACE = "it is about the shape of an interface, which makes no difference to a run"
WORDS = "it is about the wording of the text alone"

MOTIVATION, BACKGROUND = "1 Motivation", "1.1 Background: Share Groups"
INTERFACES, PRODUCER = "2 Public Interfaces", "Producer (clients module)"
CONSUMER, METADATA = "ShareConsumer (clients module)", "ShareGroupMetadata"
REQUEST, RESPONSE = "New RPC: TxnShareAcknowledgeRequest", "New RPC: TxnShareAcknowledgeResponse"
UNCHANGED, SCHEMAS = "Existing RPCs NOT changed", "Internal Topic Record Schemas"
REGULAR, SHARE = "Flow - Regular Consumer Group", "Flow - Share Group (THIS KIP)"
STATE, INTER_BROKER = "__share_group_state schema unchanged", "Inter-broker protocol unchanged"
MACHINE, CODE, CORNERS = "State machine additions", "Pseudo code", "Corner cases"
METRICS, GATING = "Metrics", "Feature Gating"
ROLLING, MATRIX, DOWNGRADE = (
    "Rolling Upgrade",
    "Cross-Version Client/Broker Matrix",
    "Downgrade",
)
TESTS, LATER, REJECTED = "Test Plan", "Follow-up KIP (deferred)", "Rejected Alternatives"

SECTIONS = (
    MOTIVATION,
    BACKGROUND,
    INTERFACES,
    PRODUCER,
    CONSUMER,
    METADATA,
    REQUEST,
    RESPONSE,
    UNCHANGED,
    SCHEMAS,
    REGULAR,
    SHARE,
    STATE,
    INTER_BROKER,
    MACHINE,
    CODE,
    CORNERS,
    METRICS,
    GATING,
    ROLLING,
    MATRIX,
    DOWNGRADE,
    TESTS,
    LATER,
    REJECTED,
)

STATEMENTS = (
    searched(
        MOTIVATION,
        "Either the output is produced and the record is acknowledged, or neither.",
        "atomic",
        WRITTEN,
    ),
    searched(MOTIVATION, "The same under the repaired design.", "atomic", "repaired"),
    kept(
        MOTIVATION,
        "MirrorMaker copies a share group's records exactly once.",
        "kip-1289-mirroring",
        WRITTEN,
    ),
    kept(
        MOTIVATION,
        "A stateless topology of Kafka Streams uses more members than partitions.",
        "kip-1289-streams-topology",
        WRITTEN,
    ),
    kept(
        MOTIVATION,
        "A connector writes to a dead-letter topic atomically.",
        "kip-1289-atomic-dead-letter",
        WRITTEN,
    ),
    searched(
        BACKGROUND,
        "A record that is ACQUIRED is locked by one consumer.",
        "one owner",
        "repaired",
        faults="expire_lock=1",
    ),
    contradicted(MOTIVATION, "A write to a dead-letter topic is atomic with the rejection.", "X14"),
    contradicted(MOTIVATION, "The protocol of the text works when no fault occurs.", "T"),
    contradicted(BACKGROUND, "RENEW is a state of a record.", "X33"),
    searched(
        BACKGROUND,
        "ACKNOWLEDGED and ARCHIVED records are never delivered again.",
        "committed stays",
        WRITTEN,
        faults="expire_lock=1",
    ),
    contradicted(
        BACKGROUND,
        "In implicit mode the next poll() acknowledges the records, in explicit mode acknowledge() does.",
        "X1",
        "X27",
    ),
    contradicted(
        INTERFACES,
        "sendShareAcknowledgementsToTransaction() is the only method that stages acknowledgements.",
        "X34",
    ),
    contradicted(INTERFACES, "ShareGroupMetadata has an optional groupInstanceId.", "N"),
    contradicted(
        INTERFACES, "The API takes AcknowledgementBatch, and a record has a topic id.", "X22"
    ),
    contradicted(PRODUCER, "The acknowledgements are sent to the consumer-coordinator.", "X37"),
    searched(
        PRODUCER,
        "Staged records wait in TX_PENDING until their transaction ends.",
        "staged waits",
        WRITTEN,
        faults="expire_lock=1",
    ),
    contradicted(PRODUCER, "A commit makes rejected records ARCHIVING or ARCHIVED.", "G"),
    contradicted(PRODUCER, "An abort leaves staged records ACQUIRED by their consumer.", "F", "M"),
    seen(
        PRODUCER,
        "RELEASE, RENEW and GAP are rejected in a transaction.",
        "kip-1289-corner-10",
        WRITTEN,
        answered(STAGE, Errors.INVALID_RECORD_STATE),
    ),
    contradicted(
        PRODUCER,
        "InvalidRecordStateException means that the acknowledgement type is invalid.",
        "X38",
    ),
    contradicted(
        PRODUCER,
        "The call throws ProducerFencedException and the other declared exceptions.",
        "X31",
    ),
    seen(
        PRODUCER,
        "The call throws UnsupportedVersionException if no broker supports the request.",
        "kip-1289-corner-9",
        WRITTEN,
        throws("sendShareAcknowledgementsToTransaction", "UnsupportedVersionException"),
    ),
    contradicted(
        PRODUCER,
        "Every error of a staging is reported by commitTransaction() or abortTransaction().",
        "X42",
    ),
    seen(
        PRODUCER,
        "The call returns before a broker has processed the request.",
        "kip-1289-share-commit",
        WRITTEN,
        sends("producer", TxnShareAcknowledge),
    ),
    contradicted(PRODUCER, "A transaction may contain only acknowledgements.", "X11"),
    contradicted(PRODUCER, "The principal needs Write on the share group.", "X21"),
    contradicted(PRODUCER, "The member id in the call is enough to distinguish deliveries.", "X25"),
    contradicted(
        CONSUMER, "A snapshot with a stale epoch is rejected with STALE_MEMBER_EPOCH.", "L"
    ),
    kept(
        CONSUMER,
        "An application that retries with a new snapshot succeeds.",
        "kip-1289-corner-8-snapshot",
        "repaired",
        LIVE,
    ),
    unjudged(
        CONSUMER, "shareGroupMetadata() is thread-safe and may throw TimeoutException.", INTERFACE
    ),
    unjudged(METADATA, "The class is immutable and can be compared.", INTERFACE),
    contradicted(REQUEST, "The request has API key 93, and its response has 94.", "O"),
    contradicted(REQUEST, "MemberEpoch fences a member of the share group.", "L", "X8"),
    contradicted(RESPONSE, "STALE_MEMBER_EPOCH and UNKNOWN_MEMBER_ID are top-level errors.", "X40"),
    contradicted(RESPONSE, "The NOT_LEADER_OR_FOLLOWER response names the current leader.", "X10"),
    contradicted(RESPONSE, "The lists of errors are complete.", "X20"),
    seen(
        RESPONSE,
        "The response has an error for each partition.",
        "kip-1289-small-moved",
        WRITTEN,
        answered(STAGE, Errors.INVALID_RECORD_STATE),
    ),
    contradicted(
        UNCHANGED,
        "Markers are broadcast, so the coordinator need not track share-partitions.",
        "A",
        "B",
    ),
    contradicted(
        UNCHANGED,
        "The filter by (producerId, producerEpoch) selects the records of the transaction.",
        "I",
    ),
    contradicted(
        UNCHANGED, "A late marker, or one that an operator sends, is filtered out.", "X12", "J"
    ),
    contradicted(UNCHANGED, "AddPartitionsToTxn is needed for the output only.", "A", "X35"),
    kept(
        UNCHANGED,
        "TxnOffsetCommit of regular groups is an independent path.",
        "kip-1289-group-commit",
        WRITTEN,
    ),
    contradicted(UNCHANGED, "The hook scans all share-partitions of the broker.", "X23"),
    contradicted(
        SCHEMAS,
        "The group's state partition is added to the transaction as its __consumer_offsets partition is.",
        "C",
        "X2",
    ),
    kept(
        REGULAR,
        "The output partition and __consumer_offsets receive markers, so output and offsets commit atomically.",
        "kip-1289-group-commit",
        "kafka",
    ),
    contradicted(REGULAR, "The client's TransactionManager sends AddPartitionsToTxn.", "X35"),
    contradicted(SHARE, "Broker 5 leads the share-partition and the state partition.", "B", "C"),
    contradicted(SHARE, "The handler calls the transaction coordinator on its own broker.", "X2"),
    contradicted(SHARE, "Acknowledgements are staged only after the registration succeeded.", "X4"),
    contradicted(SHARE, "The hook finds the matching records and commits them.", "I", "X43"),
    contradicted(SHARE, "The marker is appended to __share_group_state by the log.", "X3", "H"),
    contradicted(SHARE, "commitTransaction() returns when the transaction is complete.", "X7"),
    contradicted(
        STATE,
        "The share coordinator and its replay do not change, so there is no risk.",
        "X3",
        "X15",
        "X16",
    ),
    contradicted(
        INTER_BROKER, "The coordinator's existing call is enough, without a new code path.", "X2"
    ),
    contradicted(
        MACHINE, "On commit TX_PENDING becomes ACKNOWLEDGED, also for RELEASE and REJECT.", "G"
    ),
    contradicted(MACHINE, "On abort TX_PENDING becomes ACQUIRED and the lock continues.", "F"),
    contradicted(MACHINE, "Only an ACQUIRED record can be staged.", "K"),
    contradicted(MACHINE, "TX_PENDING is one more non-terminal state.", "P"),
    contradicted(MACHINE, "On abort the lock continues.", "X18"),
    searched(MACHINE, "Every staged record is resolved.", LIVE, "finding-I"),
    contradicted(CODE, "The loop repeats poll, send, stage and commit.", "X1", "X27", "X24"),
    contradicted(CODE, "commitTransaction() is the true synchronisation point.", "X7"),
    contradicted(
        CODE,
        "acknowledge() on a staged record is rejected, and the transaction can still commit.",
        "R",
        "X27",
    ),
    contradicted(
        CODE, "ProducerFencedException and UnsupportedVersionException kill the process.", "X28"
    ),
    contradicted(CODE, "After an abort the next poll() returns the records again.", "F", "X26"),
    kept(
        CORNERS,
        "1. A broker that crashes while a record is TX_PENDING loses nothing.",
        "kip-1289-corner-1",
        WRITTEN,
    ),
    contradicted(
        CORNERS, "1. The state in memory may be lost, so delivery is at least once, as before.", "E"
    ),
    kept(
        CORNERS,
        "2. A registration that fails stages nothing; the application aborts and retries.",
        "kip-1289-corner-2",
        "repaired",
    ),
    seen(
        CORNERS,
        "3. A fenced producer's staging is rejected.",
        "kip-1289-corner-3",
        WRITTEN,
        answered(STAGE, Errors.INVALID_PRODUCER_EPOCH),
    ),
    kept(
        CORNERS,
        "5. A duplicate marker changes nothing.",
        "kip-1289-corner-5",
        "repaired",
    ),
    contradicted(
        CORNERS,
        "6. A lock that expires while a record is TX_PENDING reverts the record, and the late marker is ignored.",
        "D",
        "X32",
        "X39",
    ),
    kept(
        CORNERS,
        "7. The coordinator aborts an abandoned transaction, and the record is delivered again.",
        "kip-1289-corner-7",
        WRITTEN,
        LIVE,
    ),
    contradicted(
        CORNERS,
        "8. The leader compares the member epoch with the owner of the share-partition.",
        "L",
        "X8",
    ),
    seen(
        CORNERS,
        "9. If a broker does not support the request, nothing is sent, and the user aborts.",
        "kip-1289-corner-9-abort",
        WRITTEN,
        returns("abortTransaction", "app-1"),
    ),
    contradicted(
        CORNERS, "9. The call throws at once if any broker does not support the request.", "X19"
    ),
    contradicted(CORNERS, "9. The user has to abort.", "X28"),
    seen(
        CORNERS,
        "10. Any type but ACCEPT and REJECT is rejected, and nothing is staged.",
        "kip-1289-corner-10",
        WRITTEN,
        answered(STAGE, Errors.INVALID_RECORD_STATE),
    ),
    contradicted(CORNERS, "11. A call is staged as a whole or not at all.", "Q"),
    kept(
        CORNERS,
        "12. After a leader change of the state partition the record is redelivered, and nothing else happens.",
        "kip-1289-corner-12",
        WRITTEN,
    ),
    kept(
        CORNERS,
        "13. An abort converges although its markers do not arrive.",
        "kip-1289-corner-13",
        WRITTEN,
        LIVE,
    ),
    contradicted(CORNERS, "13. The late marker is a no-op.", "X39"),
    kept(
        CORNERS, "14. A staging with an older epoch stages nothing.", "kip-1289-corner-14", WRITTEN
    ),
    contradicted(CORNERS, "The corner cases are 1 to 14.", "X41"),
    contradicted(
        METRICS, "TxnPendingRecordsCount > 0 for more than 60 s is the primary alert.", "X29"
    ),
    contradicted(METRICS, "TxnPendingLockExpiredCount is critical whenever it is not zero.", "X30"),
    contradicted(METRICS, "TransactionPartitionsCount is reused: 6 metrics are new.", "X36"),
    unjudged(METRICS, "Names and types follow Kafka's conventions; none is renamed.", WORDS),
    contradicted(GATING, "share.version 2 finalizes the change.", "X9"),
    unjudged(GATING, "There is no new feature flag.", WORDS),
    kept(
        GATING,
        "transaction.version 2 provides registration and fencing.",
        "kip-1289-rollout",
        "repaired",
    ),
    kept(
        ROLLING,
        "Brokers are upgraded one by one without disruption, and the level is finalized.",
        "kip-1289-rolling",
        "repaired",
    ),
    kept(
        ROLLING,
        "Finalizing needs no restart, no rebalance and no leader change.",
        "kip-1289-rollout",
        "repaired",
    ),
    seen(
        MATRIX,
        "A new client gets UnsupportedVersionException below the level.",
        "kip-1289-corner-9",
        WRITTEN,
        throws("sendShareAcknowledgementsToTransaction", "UnsupportedVersionException"),
    ),
    kept(MATRIX, "An old client is unaffected.", "kip-1289-group-commit", WRITTEN),
    contradicted(
        DOWNGRADE, "The downgrade is refused while a record is TX_PENDING in memory.", "S"
    ),
    unjudged(
        DOWNGRADE,
        "Wait transaction.timeout.ms (60 s) for abandoned transactions.",
        "it is advice to an operator; a producer's timeout may be longer, up to transaction.max.timeout.ms (finding S)",
    ),
    kept(
        DOWNGRADE,
        "A downgrade lowers the feature level first and the release after it.",
        "kip-1289-binary-downgrade",
        "repaired",
    ),
    contradicted(TESTS, "Unit tests: ACQUIRED becomes AVAILABLE on abort.", "F"),
    kept(
        TESTS,
        "Integration tests: commit and abort from end to end.",
        "kip-1289-share-abort",
        AVAILABLE,
        LIVE,
    ),
    unjudged(
        TESTS,
        "Performance tests compare transactional and other modes.",
        "it is about a broker's performance; `kipviz study cost` and `kipviz study redelivery` count requests, bytes, "
        "appends and the critical path",
    ),
    searched(
        TESTS,
        "Chaos tests: brokers crash around PREPARE_COMMIT, and the protocol is durable.",
        "vote survives",
        WRITTEN,
        faults="move_leader=1",
    ),
    searched(
        LATER,
        "A durable TX_PENDING survives a broker's crash.",
        "vote survives",
        "repaired",
        faults="move_leader=1",
    ),
    unjudged(
        LATER,
        "A metric of the time in TX_PENDING helps to find slow producers.",
        "whether a metric helps is not behaviour; a story's metrics show how long the records of each share-partition "
        "stay TX_PENDING",
    ),
    contradicted(REJECTED, "Alternatives were rejected.", "X41"),
)

TEXT = Text("KIP-1289", "draft (state: Voting)", SECTIONS, STATEMENTS)
