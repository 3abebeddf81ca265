"""The findings of our review of KIP-1319: what its text says against itself and Kafka.

What the text says is told in our words, with its section. KIP-1319 is accepted and released in Kafka
4.4.0: what is the matter with its text is our reading. A name is never given to another finding.
"""

from __future__ import annotations

from kipviz.messages.errors import Errors
from kipviz.studies.findings import Finding
from kipviz.studies.moments import answered, throws

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
        "The request was built with the id, and a deleted topic's id is never known again. Every retry "
        "gets the same response, until max.block.ms ends the call.",
        "kafka",
        "kip-1319-remade",
        look=throws("sendOffsetsToTransaction", "TimeoutException"),
        against=f"{ITSELF} (Response mapping: ids are those of the request's construction)",
    ),
    Finding(
        "1319-B",
        "The fallback to version 5 should never trigger, because topics always have ids.",
        "Proposed Changes, Producer-Side, Fallback",
        "A topic that the producer cannot look up has no id for it. It goes by name, and the offset of "
        "a deleted topic is committed for the one that has its name now.",
        "kafka",
        "kip-1319-remade-v5",
        promise="atomic",
        played=True,
        against=f"{ITSELF} (Topic ID resolution, bounded by max.block.ms); {KAFKA}, "
        "KafkaProducer.awaitTopicMetadata",
    ),
    Finding(
        "1319-C",
        "A stale member epoch gets an error of its own instead of ILLEGAL_GENERATION.",
        "Public Interfaces, New error codes",
        "The producer treats the four errors alike: CommitFailedException, abort. The application sees "
        "no difference between the versions.",
        "kafka",
        "kip-1319-stale",
        look=answered("TxnOffsetCommitResponse", Errors.STALE_MEMBER_EPOCH),
        against=f"{KAFKA}, TransactionManager.TxnOffsetCommitHandler",
    ),
)
