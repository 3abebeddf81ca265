"""The claims of KIP-1310, section by section, each with the way it is judged."""

from __future__ import annotations

from kipviz.clients.throwing.client_errors import ExceptionClass
from kipviz.messages.transactions.transactions import EndTxn
from kipviz.studies.kip_claims.statements import (
    Text,
    by_findings,
    by_look,
    by_nothing,
    by_search,
    by_story,
)
from kipviz.studies.review_findings.event_predicates import returns, sends, throws
from kipviz.studies.review_findings.findings import LIVE

PAGE, REPAIRED, KAFKA = "kip-1310", "repaired", "kafka"
AGREE = "stores agree"

PROBLEM, ENTITIES = "1.1 The Problem", "1.2 Entities Already Need Transaction Participation"
SESSION, CONFIGURATION = "2.1 New Class: TransactionSession", "2.2 Configuration"
PRODUCER, SHARES = "2.3 Integration with KafkaProducer", "2.4 Integration with KafkaShareConsumer"
SHAPE, EXTRACTING = "3.1 Architecture", "3.2 Extracting TransactionSession"
WIRE, NETWORK = "3.3 No Wire Protocol Changes", "3.4 Internal Network Client"
FLINK, SHARE, SOURCE = "4.1 Apache Flink", "4.2 Share Group Consumer", "4.4 Kafka Connect"
TWO_PHASE, SINK = "4.5 Custom 2PC Coordinators", "4.6 Kafka Connect Sink"
BACKWARD, DEPRECATION = "5.1 Full Backward Compatibility", "5.2 Deprecation Path"
RIGHTS, SHARING = "6.1 Authorization", "6.2 Session Sharing"
UNIT, INTEGRATION, MIXED = "7.1 Unit Tests", "7.2 Integration Tests", "7.3 Compatibility Tests"
REJECTED = "10. Rejected Alternatives"
SECTIONS = (
    PROBLEM,
    ENTITIES,
    SESSION,
    CONFIGURATION,
    PRODUCER,
    SHARES,
    SHAPE,
    EXTRACTING,
    WIRE,
    NETWORK,
    FLINK,
    SHARE,
    SOURCE,
    TWO_PHASE,
    SINK,
    BACKWARD,
    DEPRECATION,
    RIGHTS,
    SHARING,
    UNIT,
    INTEGRATION,
    MIXED,
    REJECTED,
)

STATEMENTS = (
    by_findings(PROBLEM, "KIP-939 lets a new producer resume a prepared transaction.", "1310-W"),
    by_search(
        PROBLEM,
        "With KIP-939 a prepared transaction survives a crash.",
        AGREE,
        "kip-939",
        "kip-939-small",
        "crash_client=1",
    ),
    by_findings(PROBLEM, "Preparing does not involve producing records.", "1310-K"),
    by_findings(PROBLEM, "A producer is heavyweight if it only commits.", "1310-Z"),
    by_nothing(
        PROBLEM,
        "The fields of the coordinator's metadata could have other names.",
        "names are not behaviour",
    ),
    by_findings(ENTITIES, "Six types of entities interact with the coordinator.", "1310-AE"),
    by_findings(ENTITIES, "A share consumer must borrow producer ids.", "1310-AD"),
    by_story(
        ENTITIES,
        "Flink sets a producer's identity by force, and commits with it.",
        "kip-1310-flink-producer",
        KAFKA,
    ),
    by_findings(SESSION, "The session is thread-safe.", "1310-AA"),
    by_search(
        SESSION,
        "commitTransaction() commits every record that bound producers accepted before it.",
        "atomic",
        PAGE,
        "kip-1310-unsent-batch",
    ),
    by_search(
        SESSION,
        "resume() with the stored state gives both stores one outcome.",
        AGREE,
        REPAIRED,
        "kip-1310-small-resumes",
        "crash_client=1",
    ),
    by_search(
        SESSION,
        "initialize() gives both stores one outcome.",
        AGREE,
        REPAIRED,
        "kip-1310-small-initialize",
        "crash_client=1",
    ),
    by_findings(SESSION, "initialize() has no argument.", "1310-J"),
    by_findings(SESSION, "heartbeat() keeps the session alive.", "1310-AN"),
    by_findings(
        SESSION, "addShareAcksToTransaction(groupId, acknowledgments) names the group.", "1310-N"
    ),
    by_story(
        SESSION,
        "completeTransaction(state) ends a prepared transaction in another process.",
        "kip-1310-complete",
        PAGE,
    ),
    by_findings(
        SESSION, "The session is focused strictly on the transaction coordinator.", "1310-H"
    ),
    by_findings(
        CONFIGURATION,
        "A subset of the producer's configurations and one new one suffice.",
        "1310-L",
        "1310-AK",
    ),
    by_findings(CONFIGURATION, "transactional.id is required in the configurations.", "1310-AI"),
    by_findings(
        CONFIGURATION, "The session sends the requests that KafkaProducer sends.", "1310-R"
    ),
    by_look(
        PRODUCER,
        "Lifecycle calls of a bound producer throw IllegalStateException.",
        "kip-1310-bound-calls",
        PAGE,
        throws("commitTransaction", ExceptionClass.ILLEGAL_STATE),
    ),
    by_look(
        PRODUCER,
        "transactionSession() returns the session.",
        "kip-1310-accessor",
        PAGE,
        returns("commitTransaction", "app-1"),
    ),
    by_findings(
        PRODUCER,
        "With transactional.id the producer works as today, with a session of its own.",
        "1310-AB",
    ),
    by_search(
        SHARES,
        "A share consumer acknowledges within the session, and both commit atomically.",
        "atomic",
        PAGE,
        "kip-1310-late-acknowledgement",
    ),
    by_findings(SHARES, "acknowledgeTransactionally() takes offsets.", "1310-O", "1310-P"),
    by_nothing(SHAPE, "The two diagrams.", "the stored text has headings without the diagrams"),
    by_findings(
        EXTRACTING,
        "The session has the identity, and the producer has the sequence numbers.",
        "1310-C",
        "1310-A",
    ),
    by_findings(
        EXTRACTING,
        "Each state of the TransactionManager has a corresponding state of the session.",
        "1310-AL",
    ),
    by_findings(WIRE, "Existing requests and schemas are reused.", "1310-V", "1310-S"),
    by_findings(WIRE, "The session sends AddPartitionsToTxn.", "1310-AC"),
    by_findings(NETWORK, "The session has one dedicated connection to the coordinator.", "1310-H"),
    by_findings(NETWORK, "Its network client is like the consumer's HeartbeatThread.", "1310-AF"),
    by_nothing(
        NETWORK,
        "A dedicated connection is lightweight.",
        "it is about performance; `kipviz study B33` measures how long a request waits behind a batch on a shared "
        "connection",
    ),
    by_look(
        FLINK,
        "resume() and commitTransaction() complete a transaction of another process.",
        "kip-1310-flink-session",
        PAGE,
        sends("session", EndTxn),
    ),
    by_findings(FLINK, "A resumed session can commit.", "1310-X", "1310-Y"),
    by_story(FLINK, "A writer that is still alive does no harm.", "kip-1310-live-writer", PAGE),
    by_story(
        SHARE,
        "With one session a producer and a share consumer commit atomically.",
        "kip-1310-share-session",
        PAGE,
    ),
    by_findings(SHARE, "The commit is atomic for both entities.", "1310-B"),
    by_findings(SOURCE, "maybeBeginTransaction() begins a transaction.", "1310-AG"),
    by_story(SOURCE, "A source task commits with a session.", "kip-1310-source-session", PAGE),
    by_search(
        TWO_PHASE,
        "Kafka commits first, and a transaction in doubt is resumed and committed.",
        AGREE,
        REPAIRED,
        "kip-1310-small-commits",
        "crash_client=1",
    ),
    by_findings(TWO_PHASE, "The order is recovery-friendly.", "1310-I"),
    by_story(SINK, "A sink with a session copies exactly once.", "kip-1310-sink-session", PAGE),
    by_findings(SINK, "The sink calls abortTransaction() after every exception.", "1310-AH"),
    by_findings(SINK, "The sink uses groupMetadata() and fromRecords().", "1310-Q", "1310-AJ"),
    by_search(
        BACKWARD,
        "A producer without an external session works as it does today.",
        "atomic",
        PAGE,
        "kip-1310-produce-producer",
        "time_out=1",
    ),
    by_findings(
        BACKWARD, "It works exactly as today, with an internal session.", "1310-AM", "1310-AO"
    ),
    by_nothing(DEPRECATION, "Nothing is deprecated.", "it is about the future of an interface"),
    by_findings(RIGHTS, "The permissions in the table are enough.", "1310-G", "1310-T"),
    by_findings(SHARING, "Both entities of a session need the same permissions.", "1310-U"),
    by_search(
        SHARING,
        "One session, one producer id, one epoch, regardless of how many clients use it.",
        "atomic",
        "kip-1310-many-senders",
        "kip-1310-silent-loss",
    ),
    by_story(
        UNIT,
        "The session changes from UNINITIALIZED to READY, and is READY again after a commit.",
        "kip-1310-produce-session",
        PAGE,
    ),
    by_findings(SHARING, "Clients of one session do not multiply its identity.", "1310-D"),
    by_findings(UNIT, "resume() starts in IN_TRANSACTION.", "1310-F"),
    by_story(
        UNIT,
        "transaction.session.timeout.ms determines whether the heartbeat thread runs.",
        "kip-1310-heartbeat",
        PAGE,
        LIVE,
    ),
    by_findings(UNIT, "A new session fences the older one.", "1310-E"),
    by_findings(UNIT, "producerId() and producerEpoch() are accurate.", "1310-M"),
    by_look(
        INTEGRATION,
        "Another process resumes and commits.",
        "kip-1310-flink-session",
        PAGE,
        sends("session", EndTxn),
    ),
    by_story(
        INTEGRATION,
        "A producer with an external session works from end to end.",
        "kip-1310-produce-session",
        PAGE,
    ),
    by_story(MIXED, "Internal and external sessions do not interfere.", "kip-1310-mixed", PAGE),
    by_story(
        MIXED, "Producers without a session have no regression.", "kip-1310-produce-producer", KAFKA
    ),
    by_nothing(REJECTED, "No alternative is named.", "the section has no claim"),
)

TEXT = Text("KIP-1310", "draft (state: Under discussion)", SECTIONS, STATEMENTS)
