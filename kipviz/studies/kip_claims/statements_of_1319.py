"""The claims of KIP-1319, section by section, each with the way it is judged."""

from __future__ import annotations

from kipviz.messages.cluster.metadata import Metadata
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import TxnOffsetCommit, TxnOffsetCommitResponse
from kipviz.studies.kip_claims.statements import (
    Text,
    by_findings,
    by_look,
    by_nothing,
    by_search,
    by_story,
)
from kipviz.studies.review_findings.event_predicates import answers_with, returns, sends
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
    by_story(
        MOTIVATION,
        "Topic names are enough (the text says that they are not).",
        "kip-1319-remade-v5",
        KAFKA,
    ),
    by_story(
        MOTIVATION,
        "An offset with the id of a deleted topic is rejected.",
        "kip-1319-remade",
        KAFKA,
    ),
    by_look(
        MOTIVATION,
        "Before version 6 the response to a stale member epoch is ILLEGAL_GENERATION.",
        "kip-1319-stale-v5",
        KAFKA,
        answers_with(ANSWER, Errors.ILLEGAL_GENERATION),
    ),
    by_findings(MOTIVATION, "Version 6 closes the gaps to OffsetCommit.", "1319-E"),
    by_look(
        ASKED,
        "A request of version 6 names topics by id.",
        "kip-1319-by-id",
        KAFKA,
        sends("producer", TxnOffsetCommit),
    ),
    by_search(
        ASKED,
        "In the consumer protocol GenerationIdOrMemberEpoch is the member epoch, and an older one is rejected.",
        "no zombie offset commits",
        KAFKA,
        "kip-447-small-first-draft",
    ),
    by_search(
        ASKED,
        "The same if a member releases a partition outside poll(), as consumers before KAFKA-20332 do.",
        "no zombie offset commits",
        KAFKA,
        "kip-1319-stale",
    ),
    by_nothing(
        ASKED,
        "Renaming GenerationId changes no byte.",
        "a name in a schema is not behaviour; the encoder's tests compare the bytes of both versions",
    ),
    by_story(ANSWERED, "The response has the ids of the request.", "kip-1319-by-id", KAFKA),
    by_look(
        ERRORS,
        "From version 6 on the response to a stale member epoch is STALE_MEMBER_EPOCH.",
        "kip-1319-stale",
        KAFKA,
        answers_with(ANSWER, Errors.STALE_MEMBER_EPOCH),
    ),
    by_findings(
        ERRORS,
        "The response to a missing group is GROUP_ID_NOT_FOUND from version 6 on, and ILLEGAL_GENERATION before.",
        "1319-G",
    ),
    by_findings(ERRORS, "A new error shows the application what is wrong.", "1319-C"),
    by_look(
        ERRORS,
        "The response is UNKNOWN_TOPIC_ID for an id that the broker does not know.",
        "kip-1319-remade",
        KAFKA,
        answers_with(ANSWER, Errors.UNKNOWN_TOPIC_ID),
    ),
    by_nothing(
        BROKER,
        "The broker checks the topic id first, then the permission, and then whether the partition exists.",
        "the order is Kafka's; tests/kips has a row for each check, and a run shows a single order",
    ),
    by_story(
        BROKER, "Existing mappings of versions 0 to 5 are preserved.", "kip-1319-stale-v5", KAFKA
    ),
    by_story(BROKER, "OffsetCommitValue has the real topic id.", "kip-1319-remade", KAFKA),
    by_findings(PRODUCER, "sendOffsetsToTransaction() does not change.", "1319-F"),
    by_look(
        PRODUCER,
        "The producer sends Metadata for topics that it does not know.",
        "kip-1319-by-id",
        KAFKA,
        sends("producer", Metadata),
    ),
    by_findings(
        PRODUCER, "When the broker supports version 6 the producer waits for the ids.", "1319-D"
    ),
    by_findings(PRODUCER, "The fallback to version 5 should never trigger.", "1319-B"),
    by_findings(
        PRODUCER, "UNKNOWN_TOPIC_ID is retriable: the handler enqueues the request again.", "1319-A"
    ),
    by_look(
        PRODUCER,
        "A stale epoch is abortable: the application aborts.",
        "kip-1319-stale",
        KAFKA,
        returns("abortTransaction", APP),
    ),
    by_nothing(
        PRODUCER,
        "Idle topics leave the metadata cache after metadata.max.idle.ms.",
        "the model's cache does not expire; an eviction costs a lookup and changes no outcome",
    ),
    by_findings(
        PRODUCER, "Responses are mapped by the ids of the request's construction.", "1319-A"
    ),
    by_search(
        COMPATIBILITY,
        "Clients of version 5 work as before.",
        "no zombie offset commits",
        KAFKA,
        "kip-1319-remade-v5",
    ),
    by_search(
        COMPATIBILITY,
        "So do clients with transaction version 1.",
        "no zombie offset commits",
        "kafka-tv1",
        "kip-1319-remade-tv1",
    ),
    by_findings(COMPATIBILITY, "Version 6 needs transaction version 2.", "1319-D"),
    by_story(
        COMPATIBILITY,
        "Old and new brokers read each other's OffsetCommitValue.",
        "kip-1319-two-versions",
        KAFKA,
    ),
    by_findings(TESTS, "The changes are covered by tests.", "1319-H"),
    by_story(
        REJECTED,
        "Two versions would have no advantage over one.",
        "kip-1319-two-versions",
        "kip-1319-two-versions",
    ),
    by_story(
        REJECTED,
        "Names in addition to ids block nothing (rejected: redundant and ambiguous).",
        "kip-1319-both",
        "kafka+name_beside_id=names_too",
        LIVE,
    ),
)

TEXT = Text("KIP-1319", "accepted, released in Kafka 4.4.0", SECTIONS, STATEMENTS)
