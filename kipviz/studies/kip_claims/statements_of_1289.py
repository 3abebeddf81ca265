"""The claims of KIP-1289, section by section, each with the way it is judged."""

from __future__ import annotations

from kipviz.clients.throwing.client_errors import ExceptionClass
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import TxnShareAcknowledge, TxnShareAcknowledgeResponse
from kipviz.studies.kip_claims.statements import (
    Text,
    by_findings,
    by_look,
    by_nothing,
    by_search,
    by_story,
)
from kipviz.studies.review_findings.event_predicates import answers_with, returns, sends, throws
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
    by_search(
        MOTIVATION,
        "Either the output is produced and the record is acknowledged, or neither.",
        "atomic",
        WRITTEN,
    ),
    by_search(MOTIVATION, "The same under the repaired design.", "atomic", "repaired"),
    by_story(
        MOTIVATION,
        "MirrorMaker copies a share group's records exactly once.",
        "kip-1289-mirroring",
        WRITTEN,
    ),
    by_story(
        MOTIVATION,
        "A stateless topology of Kafka Streams uses more members than partitions.",
        "kip-1289-streams-topology",
        WRITTEN,
    ),
    by_story(
        MOTIVATION,
        "A connector writes to a dead-letter topic atomically.",
        "kip-1289-atomic-dead-letter",
        WRITTEN,
    ),
    by_search(
        BACKGROUND,
        "A record that is ACQUIRED is locked by one consumer.",
        "one owner",
        "repaired",
        faults="expire_lock=1",
    ),
    by_findings(MOTIVATION, "A write to a dead-letter topic is atomic with the rejection.", "X14"),
    by_findings(MOTIVATION, "The protocol of the text works when no fault occurs.", "T"),
    by_findings(BACKGROUND, "RENEW is a state of a record.", "X33"),
    by_search(
        BACKGROUND,
        "ACKNOWLEDGED and ARCHIVED records are never delivered again.",
        "committed stays",
        WRITTEN,
        faults="expire_lock=1",
    ),
    by_findings(
        BACKGROUND,
        "In implicit mode the next poll() acknowledges the records, in explicit mode acknowledge() does.",
        "X1",
        "X27",
    ),
    by_findings(
        INTERFACES,
        "sendShareAcknowledgementsToTransaction() is the only method that stages acknowledgements.",
        "X34",
    ),
    by_findings(INTERFACES, "ShareGroupMetadata has an optional groupInstanceId.", "N"),
    by_findings(
        INTERFACES, "The API takes AcknowledgementBatch, and a record has a topic id.", "X22"
    ),
    by_findings(PRODUCER, "The acknowledgements are sent to the consumer-coordinator.", "X37"),
    by_search(
        PRODUCER,
        "Staged records wait in TX_PENDING until their transaction ends.",
        "staged waits",
        WRITTEN,
        faults="expire_lock=1",
    ),
    by_findings(PRODUCER, "A commit makes rejected records ARCHIVING or ARCHIVED.", "G"),
    by_findings(PRODUCER, "An abort leaves staged records ACQUIRED by their consumer.", "F", "M"),
    by_look(
        PRODUCER,
        "RELEASE, RENEW and GAP are rejected in a transaction.",
        "kip-1289-corner-10",
        WRITTEN,
        answers_with(STAGE, Errors.INVALID_RECORD_STATE),
    ),
    by_findings(
        PRODUCER,
        "InvalidRecordStateException means that the acknowledgement type is invalid.",
        "X38",
    ),
    by_findings(
        PRODUCER,
        "The call throws ProducerFencedException and the other declared exceptions.",
        "X31",
    ),
    by_look(
        PRODUCER,
        "The call throws UnsupportedVersionException if no broker supports the request.",
        "kip-1289-corner-9",
        WRITTEN,
        throws("sendShareAcknowledgementsToTransaction", ExceptionClass.UNSUPPORTED_VERSION),
    ),
    by_findings(
        PRODUCER,
        "Every error of a staging is reported by commitTransaction() or abortTransaction().",
        "X42",
    ),
    by_look(
        PRODUCER,
        "The call returns before a broker has processed the request.",
        "kip-1289-share-commit",
        WRITTEN,
        sends("producer", TxnShareAcknowledge),
    ),
    by_findings(PRODUCER, "A transaction may contain only acknowledgements.", "X11"),
    by_findings(PRODUCER, "The principal needs Write on the share group.", "X21"),
    by_findings(PRODUCER, "The member id in the call is enough to distinguish deliveries.", "X25"),
    by_findings(
        CONSUMER, "A snapshot with a stale epoch is rejected with STALE_MEMBER_EPOCH.", "L"
    ),
    by_story(
        CONSUMER,
        "An application that retries with a new snapshot succeeds.",
        "kip-1289-corner-8-snapshot",
        "repaired",
        LIVE,
    ),
    by_nothing(
        CONSUMER, "shareGroupMetadata() is thread-safe and may throw TimeoutException.", INTERFACE
    ),
    by_nothing(METADATA, "The class is immutable and can be compared.", INTERFACE),
    by_findings(REQUEST, "The request has API key 93, and its response has 94.", "O"),
    by_findings(REQUEST, "MemberEpoch fences a member of the share group.", "L", "X8"),
    by_findings(RESPONSE, "STALE_MEMBER_EPOCH and UNKNOWN_MEMBER_ID are top-level errors.", "X40"),
    by_findings(RESPONSE, "The NOT_LEADER_OR_FOLLOWER response names the current leader.", "X10"),
    by_findings(RESPONSE, "The lists of errors are complete.", "X20"),
    by_look(
        RESPONSE,
        "The response has an error for each partition.",
        "kip-1289-small-moved",
        WRITTEN,
        answers_with(STAGE, Errors.INVALID_RECORD_STATE),
    ),
    by_findings(
        UNCHANGED,
        "Markers are broadcast, so the coordinator need not track share-partitions.",
        "A",
        "B",
    ),
    by_findings(
        UNCHANGED,
        "The filter by (producerId, producerEpoch) selects the records of the transaction.",
        "I",
    ),
    by_findings(
        UNCHANGED, "A late marker, or one that an operator sends, is filtered out.", "X12", "J"
    ),
    by_findings(UNCHANGED, "AddPartitionsToTxn is needed for the output only.", "A", "X35"),
    by_story(
        UNCHANGED,
        "TxnOffsetCommit of regular groups is an independent path.",
        "kip-1289-group-commit",
        WRITTEN,
    ),
    by_findings(UNCHANGED, "The hook scans all share-partitions of the broker.", "X23"),
    by_findings(
        SCHEMAS,
        "The group's state partition is added to the transaction as its __consumer_offsets partition is.",
        "C",
        "X2",
    ),
    by_story(
        REGULAR,
        "The output partition and __consumer_offsets receive markers, so output and offsets commit atomically.",
        "kip-1289-group-commit",
        "kafka",
    ),
    by_findings(REGULAR, "The client's TransactionManager sends AddPartitionsToTxn.", "X35"),
    by_findings(SHARE, "Broker 5 leads the share-partition and the state partition.", "B", "C"),
    by_findings(SHARE, "The handler calls the transaction coordinator on its own broker.", "X2"),
    by_findings(SHARE, "Acknowledgements are staged only after the registration succeeded.", "X4"),
    by_findings(SHARE, "The hook finds the matching records and commits them.", "I", "X43"),
    by_findings(SHARE, "The marker is appended to __share_group_state by the log.", "X3", "H"),
    by_findings(SHARE, "commitTransaction() returns when the transaction is complete.", "X7"),
    by_findings(
        STATE,
        "The share coordinator and its replay do not change, so there is no risk.",
        "X3",
        "X15",
        "X16",
    ),
    by_findings(
        INTER_BROKER, "The coordinator's existing call is enough, without a new code path.", "X2"
    ),
    by_findings(
        MACHINE, "On commit TX_PENDING becomes ACKNOWLEDGED, also for RELEASE and REJECT.", "G"
    ),
    by_findings(MACHINE, "On abort TX_PENDING becomes ACQUIRED and the lock continues.", "F"),
    by_findings(MACHINE, "Only an ACQUIRED record can be staged.", "K"),
    by_findings(MACHINE, "TX_PENDING is one more non-terminal state.", "P"),
    by_findings(MACHINE, "On abort the lock continues.", "X18"),
    by_search(MACHINE, "Every staged record is resolved.", LIVE, "finding-I"),
    by_findings(CODE, "The loop repeats poll, send, stage and commit.", "X1", "X27", "X24"),
    by_findings(CODE, "commitTransaction() is the true synchronisation point.", "X7"),
    by_findings(
        CODE,
        "acknowledge() on a staged record is rejected, and the transaction can still commit.",
        "R",
        "X27",
    ),
    by_findings(
        CODE, "ProducerFencedException and UnsupportedVersionException kill the process.", "X28"
    ),
    by_findings(CODE, "After an abort the next poll() returns the records again.", "F", "X26"),
    by_story(
        CORNERS,
        "1. A broker that crashes while a record is TX_PENDING loses nothing.",
        "kip-1289-corner-1",
        WRITTEN,
    ),
    by_findings(
        CORNERS, "1. The state in memory may be lost, so delivery is at least once, as before.", "E"
    ),
    by_story(
        CORNERS,
        "2. A registration that fails stages nothing; the application aborts and retries.",
        "kip-1289-corner-2",
        "repaired",
    ),
    by_look(
        CORNERS,
        "3. A fenced producer's staging is rejected.",
        "kip-1289-corner-3",
        WRITTEN,
        answers_with(STAGE, Errors.INVALID_PRODUCER_EPOCH),
    ),
    by_story(
        CORNERS,
        "5. A duplicate marker changes nothing.",
        "kip-1289-corner-5",
        "repaired",
    ),
    by_findings(
        CORNERS,
        "6. A lock that expires while a record is TX_PENDING reverts the record, and the late marker is ignored.",
        "D",
        "X32",
        "X39",
    ),
    by_story(
        CORNERS,
        "7. The coordinator aborts an abandoned transaction, and the record is delivered again.",
        "kip-1289-corner-7",
        WRITTEN,
        LIVE,
    ),
    by_findings(
        CORNERS,
        "8. The leader compares the member epoch with the owner of the share-partition.",
        "L",
        "X8",
    ),
    by_look(
        CORNERS,
        "9. If a broker does not support the request, nothing is sent, and the user aborts.",
        "kip-1289-corner-9-abort",
        WRITTEN,
        returns("abortTransaction", "app-1"),
    ),
    by_findings(
        CORNERS, "9. The call throws at once if any broker does not support the request.", "X19"
    ),
    by_findings(CORNERS, "9. The user has to abort.", "X28"),
    by_look(
        CORNERS,
        "10. Any type but ACCEPT and REJECT is rejected, and nothing is staged.",
        "kip-1289-corner-10",
        WRITTEN,
        answers_with(STAGE, Errors.INVALID_RECORD_STATE),
    ),
    by_findings(CORNERS, "11. A call is staged as a whole or not at all.", "Q"),
    by_story(
        CORNERS,
        "12. After a leader change of the state partition the record is redelivered, and nothing else happens.",
        "kip-1289-corner-12",
        WRITTEN,
    ),
    by_story(
        CORNERS,
        "13. An abort converges although its markers do not arrive.",
        "kip-1289-corner-13",
        WRITTEN,
        LIVE,
    ),
    by_findings(CORNERS, "13. The late marker is a no-op.", "X39"),
    by_story(
        CORNERS, "14. A staging with an older epoch stages nothing.", "kip-1289-corner-14", WRITTEN
    ),
    by_findings(CORNERS, "The corner cases are 1 to 14.", "X41"),
    by_findings(
        METRICS, "TxnPendingRecordsCount > 0 for more than 60 s is the primary alert.", "X29"
    ),
    by_findings(METRICS, "TxnPendingLockExpiredCount is critical whenever it is not zero.", "X30"),
    by_findings(METRICS, "TransactionPartitionsCount is reused: 6 metrics are new.", "X36"),
    by_nothing(METRICS, "Names and types follow Kafka's conventions; none is renamed.", WORDS),
    by_findings(GATING, "share.version 2 finalizes the change.", "X9"),
    by_nothing(GATING, "There is no new feature flag.", WORDS),
    by_story(
        GATING,
        "transaction.version 2 provides registration and fencing.",
        "kip-1289-rollout",
        "repaired",
    ),
    by_story(
        ROLLING,
        "Brokers are upgraded one by one without disruption, and the level is finalized.",
        "kip-1289-rolling",
        "repaired",
    ),
    by_story(
        ROLLING,
        "Finalizing needs no restart, no rebalance and no leader change.",
        "kip-1289-rollout",
        "repaired",
    ),
    by_look(
        MATRIX,
        "A new client gets UnsupportedVersionException below the level.",
        "kip-1289-corner-9",
        WRITTEN,
        throws("sendShareAcknowledgementsToTransaction", ExceptionClass.UNSUPPORTED_VERSION),
    ),
    by_story(MATRIX, "An old client is unaffected.", "kip-1289-group-commit", WRITTEN),
    by_findings(DOWNGRADE, "The downgrade is refused while a record is TX_PENDING in memory.", "S"),
    by_nothing(
        DOWNGRADE,
        "Wait transaction.timeout.ms (60 s) for abandoned transactions.",
        "it is advice to an operator; a producer's timeout may be longer, up to transaction.max.timeout.ms (finding S)",
    ),
    by_story(
        DOWNGRADE,
        "A downgrade lowers the feature level first and the release after it.",
        "kip-1289-binary-downgrade",
        "repaired",
    ),
    by_findings(TESTS, "Unit tests: ACQUIRED becomes AVAILABLE on abort.", "F"),
    by_story(
        TESTS,
        "Integration tests: commit and abort from end to end.",
        "kip-1289-share-abort",
        AVAILABLE,
        LIVE,
    ),
    by_nothing(
        TESTS,
        "Performance tests compare transactional and other modes.",
        "it is about a broker's performance; `kipviz study cost` and `kipviz study redelivery` count requests, bytes, "
        "appends and the critical path",
    ),
    by_search(
        TESTS,
        "Chaos tests: brokers crash around PREPARE_COMMIT, and the protocol is durable.",
        "transactional acknowledgements survive",
        WRITTEN,
        faults="move_leader=1",
    ),
    by_search(
        LATER,
        "A durable TX_PENDING survives a broker's crash.",
        "transactional acknowledgements survive",
        "repaired",
        faults="move_leader=1",
    ),
    by_nothing(
        LATER,
        "A metric of the time in TX_PENDING helps to find slow producers.",
        "whether a metric helps is not behaviour; a story's metrics show how long the records of each share-partition "
        "stay TX_PENDING",
    ),
    by_findings(REJECTED, "Alternatives were rejected.", "X41"),
)

TEXT = Text("KIP-1289", "draft (state: Voting)", SECTIONS, STATEMENTS)
