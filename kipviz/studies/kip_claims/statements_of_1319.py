"""The claims of KIP-1319, section by section, each with the way it is judged."""

from __future__ import annotations

from kipviz.messages.errors import Errors
from kipviz.messages.groups import TxnOffsetCommit, TxnOffsetCommitResponse
from kipviz.messages.metadata import Metadata
from kipviz.studies.kip_claims.statements import Text, contradicted, kept, searched, seen, unjudged
from kipviz.studies.review_findings.event_predicates import answered, returns, sends
from kipviz.studies.review_findings.findings import LIVE

KAFKA = "kafka"
ANSWER = TxnOffsetCommitResponse
APP = "app-1"

MOTIVATION, ASKED, ANSWERED = (
    "Motivation",
    "TxnOffsetCommit Request (v6)",
    "TxnOffsetCommit Response (v6)",
)
ERRORS, BROKER, PRODUCER = "New error codes", "Broker-Side", "Producer-Side"
COMPATIBILITY = "Compatibility, Deprecation, and Migration Plan"
TESTS, REJECTED = "Test Plan", "Rejected Alternatives"
SECTIONS = (MOTIVATION, ASKED, ANSWERED, ERRORS, BROKER, PRODUCER, COMPATIBILITY, TESTS, REJECTED)

STATEMENTS = (
    kept(
        MOTIVATION,
        "Topic names are enough (the text: they are not).",
        "kip-1319-remade-v5",
        KAFKA,
    ),
    kept(MOTIVATION, "By id, it is refused.", "kip-1319-remade", KAFKA),
    seen(
        MOTIVATION,
        "A stale member epoch was ILLEGAL_GENERATION.",
        "kip-1319-stale-v5",
        KAFKA,
        answered(ANSWER, Errors.ILLEGAL_GENERATION),
    ),
    contradicted(
        MOTIVATION, "Version 6 closes the gaps that OffsetCommit does not have.", "1319-E"
    ),
    seen(
        ASKED,
        "A request of version 6 names topics by id.",
        "kip-1319-by-id",
        KAFKA,
        sends("producer", TxnOffsetCommit),
    ),
    searched(
        ASKED,
        "GenerationIdOrMemberEpoch is the member epoch in the consumer protocol: an older one is refused.",
        "no zombie offset commits",
        KAFKA,
        "kip-447-small-first-draft",
    ),
    searched(
        ASKED,
        "The same where a member gives a partition up outside poll(), as consumers before KAFKA-20332 do.",
        "no zombie offset commits",
        KAFKA,
        "kip-1319-stale",
    ),
    unjudged(
        ASKED,
        "Renaming GenerationId changes no byte.",
        "a name in a schema is no behaviour; the encoder's tests compare the bytes of both versions",
    ),
    kept(ANSWERED, "The response has the ids of the request.", "kip-1319-by-id", KAFKA),
    seen(
        ERRORS,
        "STALE_MEMBER_EPOCH is answered from version 6 on.",
        "kip-1319-stale",
        KAFKA,
        answered(ANSWER, Errors.STALE_MEMBER_EPOCH),
    ),
    contradicted(
        ERRORS,
        "GROUP_ID_NOT_FOUND is answered from version 6 on, and ILLEGAL_GENERATION before.",
        "1319-G",
    ),
    contradicted(ERRORS, "A new error tells the application what is wrong.", "1319-C"),
    seen(
        ERRORS,
        "UNKNOWN_TOPIC_ID is answered for an id that the broker does not know.",
        "kip-1319-remade",
        KAFKA,
        answered(ANSWER, Errors.UNKNOWN_TOPIC_ID),
    ),
    unjudged(
        BROKER,
        "An unknown id comes before a missing right, and that before a partition that is not there.",
        "the order is Kafka's, and tests/kips has a row for each step of it; one run has one order",
    ),
    kept(BROKER, "Existing mappings of versions 0 to 5 are preserved.", "kip-1319-stale-v5", KAFKA),
    kept(BROKER, "The real topic id stands in OffsetCommitValue.", "kip-1319-remade", KAFKA),
    contradicted(PRODUCER, "sendOffsetsToTransaction() does not change.", "1319-F"),
    seen(
        PRODUCER,
        "The producer asks Metadata for topics that it does not know.",
        "kip-1319-by-id",
        KAFKA,
        sends("producer", Metadata),
    ),
    contradicted(
        PRODUCER, "When the broker supports version 6 the producer waits for the ids.", "1319-D"
    ),
    contradicted(PRODUCER, "The fallback to version 5 should never trigger.", "1319-B"),
    contradicted(
        PRODUCER, "UNKNOWN_TOPIC_ID is retriable: the handler enqueues the request again.", "1319-A"
    ),
    seen(
        PRODUCER,
        "A stale epoch is abortable: the application aborts.",
        "kip-1319-stale",
        KAFKA,
        returns("abortTransaction", APP),
    ),
    unjudged(
        PRODUCER,
        "Idle topics leave the metadata cache after metadata.max.idle.ms.",
        "the model keeps no cache that grows old: an eviction costs a look-up, and changes no outcome",
    ),
    contradicted(
        PRODUCER, "Responses are mapped by the ids of the request's construction.", "1319-A"
    ),
    searched(
        COMPATIBILITY,
        "Clients of version 5 keep what they had.",
        "no zombie offset commits",
        KAFKA,
        "kip-1319-remade-v5",
    ),
    searched(
        COMPATIBILITY,
        "Clients of transaction version 1, too.",
        "no zombie offset commits",
        "kafka-tv1",
        "kip-1319-remade-tv1",
    ),
    contradicted(COMPATIBILITY, "Version 6 needs transaction version 2.", "1319-D"),
    kept(
        COMPATIBILITY,
        "Old and new brokers read each other's OffsetCommitValue.",
        "kip-1319-two-versions",
        KAFKA,
    ),
    contradicted(TESTS, "The changes are covered by tests.", "1319-H"),
    kept(
        REJECTED,
        "Two versions would bring nothing that one does not.",
        "kip-1319-two-versions",
        "kip-1319-two-versions",
    ),
    kept(
        REJECTED,
        "Names beside ids hold nothing up (rejected: redundant and ambiguous).",
        "kip-1319-both",
        "kafka+name_beside_id=names_too",
        LIVE,
    ),
)

TEXT = Text("KIP-1319", "accepted, released in Kafka 4.4.0", SECTIONS, STATEMENTS)
