"""The findings of our review of KIP-1319: where its text contradicts itself and Kafka.

What the text says is stated in our words, with its section. KIP-1319 is accepted and released in Kafka 4.4.0: what is
wrong with its text is our reading. A name is never reused for another finding.
"""

from __future__ import annotations

from kipviz.clients.throwing.client_errors import ExceptionClass
from kipviz.messages.cluster.metadata import Metadata
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import TxnOffsetCommitResponse
from kipviz.studies.review_findings import group_tallies as tallies
from kipviz.studies.review_findings.event_predicates import answers_with, sends, throws
from kipviz.studies.review_findings.findings import Finding

ITSELF = "KIP-1319 itself"
KAFKA = "Kafka 4.4.0"

ABOUT = (
    "The text is accepted, and Kafka 4.4.0 has it (version 6 of TxnOffsetCommit). Each design is Kafka as "
    "released unless another one is named."
)

FINDINGS: tuple[Finding, ...] = (
    Finding(
        "1319-A",
        "UNKNOWN_TOPIC_ID is retriable: the handler enqueues the request again.",
        "Proposed Changes, Producer-Side, Error handling",
        "The request keeps the topic id that it was built with, and no broker ever knows a deleted topic's id again. "
        "Every retry gets the same response, until max.block.ms ends the call.",
        "kafka",
        "kip-1319-remade",
        look=throws("sendOffsetsToTransaction", ExceptionClass.TIMEOUT),
        against=f"{ITSELF} (Response mapping: ids are those of the request's construction)",
    ),
    Finding(
        "1319-B",
        "The fallback to version 5 should never trigger, because topics always have ids.",
        "Proposed Changes, Producer-Side, Fallback",
        "If the producer cannot look up a topic, it sends the topic's name without an id. The offset of a deleted topic "
        "is then committed for the topic that now has the name.",
        "kafka",
        "kip-1319-remade-v5",
        property_name="atomic",
        played=True,
        against=f"{ITSELF} (Topic ID resolution, bounded by max.block.ms); {KAFKA}, "
        "KafkaProducer.awaitTopicMetadata",
    ),
    Finding(
        "1319-C",
        "A stale member epoch gets an error of its own instead of ILLEGAL_GENERATION.",
        "Public Interfaces, New error codes",
        "The producer treats four errors alike: the transaction has to be aborted after a CommitFailedException. Only "
        "the message of the exception differs between the versions.",
        "kafka",
        "kip-1319-stale",
        look=answers_with(TxnOffsetCommitResponse, Errors.STALE_MEMBER_EPOCH),
        against=f"{KAFKA}, TransactionManager.TxnOffsetCommitHandler",
    ),
    Finding(
        "1319-D",
        "When the broker supports version 6, the producer waits for the ids of the topics.",
        "Proposed Changes, Producer-Side, Topic ID resolution",
        "Version 6 also needs transaction version 2, which is a finalized feature and not a broker's version. Without "
        "it the producer still waits, and then sends names, which protect nothing.",
        "kafka-tv1",
        "kip-1319-remade-tv1",
        property_name="atomic",
        played=True,
        against=f"{ITSELF} (Version negotiation; Rejected Alternatives); {KAFKA}, "
        "KafkaProducer.sendOffsetsToTransaction",
    ),
    Finding(
        "1319-E",
        "The request carries the resolved ids, as OffsetCommit version 10 does.",
        "Motivation; Proposed Changes, Producer-Side",
        "A consumer has the id from its assignment. The producer resolves the name when it sends. If the topic was "
        "deleted and created again since the fetch, the offset is committed for the new topic.",
        "kafka",
        "kip-1319-remade-first",
        property_name="atomic",
        played=True,
        against=f"{KAFKA}, OffsetCommitRequest version 10",
    ),
    Finding(
        "1319-F",
        "sendOffsetsToTransaction() does not change.",
        "Proposed Changes, Producer-Side",
        "Only its signature does not change. The first call for a topic now sends Metadata and waits, which may use up "
        "max.block.ms before anything is sent to the group coordinator.",
        "kafka",
        "kip-1319-by-id",
        look=sends("producer", Metadata),
        against=f"{ITSELF} (Topic ID resolution); {KAFKA}, KafkaProducer.awaitTopicMetadata",
    ),
    Finding(
        "1319-G",
        "GROUP_ID_NOT_FOUND is for version 6; older versions get ILLEGAL_GENERATION.",
        "Public Interfaces, New error codes; 'existing error mappings are preserved'",
        "For a share group the response is GROUP_ID_NOT_FOUND in every version, although the group exists. Only the "
        "lookup of a group maps this error to ILLEGAL_GENERATION.",
        counting=tallies.a_share_group_by_version,
        against=f"{KAFKA}, ShareGroup.validateOffsetCommit and "
        "OffsetMetadataManager.validateTransactionalOffsetCommit",
    ),
    Finding(
        "1319-H",
        "The changes are covered by unit, integration and system tests.",
        "Test Plan",
        "The text names no test, so it does not say what must happen after an unknown id, a fallback or a stale epoch.",
        because="it is about the wording of the text alone",
        against="the test plans of KIP-1289 and KIP-1310, which have rows",
    ),
)
