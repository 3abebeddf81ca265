"""The claims of KIP-1319, section by section, each with the way it is judged."""

from __future__ import annotations

from kipviz.messages.cluster.metadata import Metadata
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import TxnOffsetCommit, TxnOffsetCommitResponse
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
        "Topic names are enough (the text says that they are not).",
        "kip-1319-remade-v5",
        KAFKA,
    ),
    kept(
        MOTIVATION,
        "An offset with the id of a deleted topic is rejected.",
        "kip-1319-remade",
        KAFKA,
    ),
    seen(
        MOTIVATION,
        "Before version 6 the response to a stale member epoch is ILLEGAL_GENERATION.",
        "kip-1319-stale-v5",
        KAFKA,
        answered(ANSWER, Errors.ILLEGAL_GENERATION),
    ),
    contradicted(MOTIVATION, "Version 6 closes the gaps to OffsetCommit.", "1319-E"),
    seen(
        ASKED,
        "A request of version 6 names topics by id.",
        "kip-1319-by-id",
        KAFKA,
        sends("producer", TxnOffsetCommit),
    ),
    searched(
        ASKED,
        "In the consumer protocol GenerationIdOrMemberEpoch is the member epoch, and an older one is rejected.",
        "no zombie offset commits",
        KAFKA,
        "kip-447-small-first-draft",
    ),
    searched(
        ASKED,
        "The same if a member releases a partition outside poll(), as consumers before KAFKA-20332 do.",
        "no zombie offset commits",
        KAFKA,
        "kip-1319-stale",
    ),
    unjudged(
        ASKED,
        "Renaming GenerationId changes no byte.",
        "a name in a schema is not behaviour; the encoder's tests compare the bytes of both versions",
    ),
    kept(ANSWERED, "The response has the ids of the request.", "kip-1319-by-id", KAFKA),
    seen(
        ERRORS,
        "From version 6 on the response to a stale member epoch is STALE_MEMBER_EPOCH.",
        "kip-1319-stale",
        KAFKA,
        answered(ANSWER, Errors.STALE_MEMBER_EPOCH),
    ),
    contradicted(
        ERRORS,
        "The response to a missing group is GROUP_ID_NOT_FOUND from version 6 on, and ILLEGAL_GENERATION before.",
        "1319-G",
    ),
    contradicted(ERRORS, "A new error shows the application what is wrong.", "1319-C"),
    seen(
        ERRORS,
        "The response is UNKNOWN_TOPIC_ID for an id that the broker does not know.",
        "kip-1319-remade",
        KAFKA,
        answered(ANSWER, Errors.UNKNOWN_TOPIC_ID),
    ),
    unjudged(
        BROKER,
        "The broker checks the topic id first, then the permission, and then whether the partition exists.",
        "the order is Kafka's; tests/kips has a row for each check, and a run shows a single order",
    ),
    kept(BROKER, "Existing mappings of versions 0 to 5 are preserved.", "kip-1319-stale-v5", KAFKA),
    kept(BROKER, "OffsetCommitValue has the real topic id.", "kip-1319-remade", KAFKA),
    contradicted(PRODUCER, "sendOffsetsToTransaction() does not change.", "1319-F"),
    seen(
        PRODUCER,
        "The producer sends Metadata for topics that it does not know.",
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
        "the model's cache does not expire; an eviction costs a lookup and changes no outcome",
    ),
    contradicted(
        PRODUCER, "Responses are mapped by the ids of the request's construction.", "1319-A"
    ),
    searched(
        COMPATIBILITY,
        "Clients of version 5 work as before.",
        "no zombie offset commits",
        KAFKA,
        "kip-1319-remade-v5",
    ),
    searched(
        COMPATIBILITY,
        "So do clients with transaction version 1.",
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
        "Two versions would have no advantage over one.",
        "kip-1319-two-versions",
        "kip-1319-two-versions",
    ),
    kept(
        REJECTED,
        "Names in addition to ids block nothing (rejected: redundant and ambiguous).",
        "kip-1319-both",
        "kafka+name_beside_id=names_too",
        LIVE,
    ),
)

TEXT = Text("KIP-1319", "accepted, released in Kafka 4.4.0", SECTIONS, STATEMENTS)
