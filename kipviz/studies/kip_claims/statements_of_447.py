"""The claims of the two drafts of KIP-447, section by section, each with the way it is judged."""

from __future__ import annotations

from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import OffsetFetchResponse
from kipviz.studies.kip_claims.statements import (
    Text,
    by_counting,
    by_findings,
    by_look,
    by_nothing,
    by_search,
    by_story,
)
from kipviz.studies.review_findings.event_predicates import answers_with, returns
from kipviz.studies.review_findings.findings import LIVE
from kipviz.studies.timed import takeover

FIRST, GROUP_ID, CONSUMER, KAFKA = (
    "kip-447-first-draft",
    "kip-447-group-id",
    "kip-447-init-consumer",
    "kafka",
)
SMALL = "kip-447-small-first-draft"

MOTIVATION, PROPOSED, INTERFACES = "Motivation", "Proposed Changes", "Public Interfaces"
ZOMBIE, UPGRADES, EXAMPLE = "Fencing zombie", "Fencing for upgrades", "Example of a loop"
COMPATIBILITY = "Compatibility, Deprecation, and Migration Plan"
REJECTED = "Rejected Alternatives"
MIDDLE_SECTIONS = (
    MOTIVATION,
    PROPOSED,
    INTERFACES,
    ZOMBIE,
    UPGRADES,
    EXAMPLE,
    COMPATIBILITY,
    REJECTED,
)


def _stands_still() -> str:
    """Return for how long a partition is not read under the second draft's default and the released one."""
    found = (
        takeover.run_takeover(name, takeover.SESSIONS_MS[0]).stands_still_ms
        for name in (CONSUMER, KAFKA)
    )
    draft, released = found
    return f"the partition is not read for {draft} ms with a default of 10 s, and for {released} ms with 60 s"


MIDDLE = (
    by_search(
        MOTIVATION,
        "Either all writes of a transaction succeed or all fail.",
        "atomic",
        KAFKA,
        SMALL,
    ),
    by_nothing(
        MOTIVATION,
        "One producer for each partition needs too many buffers, threads and connections.",
        "it is about performance; `kipviz study producers` counts producers, threads, connections and requests",
    ),
    by_search(
        PROPOSED,
        "The previous transactions of the assigned partitions are completed before a member processes them.",
        "atomic",
        FIRST,
        SMALL,
    ),
    by_search(PROPOSED, "No transaction of an earlier member stays open.", LIVE, FIRST, SMALL),
    by_findings(
        PROPOSED,
        "The coordinator uses the previous assignment to find the transactions that it has to complete.",
        "447-C",
        "447-P",
    ),
    by_findings(PROPOSED, "Only one producer makes progress for each assigned partition.", "447-T"),
    by_findings(
        INTERFACES,
        "InitProducerId takes a transactional id, or a group id with a generation.",
        "447-M",
    ),
    by_findings(
        INTERFACES, "A producer id is allocated whenever initTransactions() is called.", "447-D"
    ),
    by_nothing(
        INTERFACES,
        "CONSUMER_GROUP_AWARE_TRANSACTION selects one producer for each thread.",
        "the name of a configuration is not behaviour; `kipviz study producers` has both arrangements",
    ),
    by_story(
        ZOMBIE,
        "Requests of an older generation are rejected.",
        "kip-447-generation",
        KAFKA,
        "no zombie offset commits",
    ),
    by_search(
        ZOMBIE,
        "A zombie of an older generation commits nothing.",
        "no zombie offset commits",
        KAFKA,
        SMALL,
    ),
    by_findings(ZOMBIE, "The generation identifies a zombie that calls InitProducerId.", "447-N"),
    by_findings(
        UPGRADES,
        "A consumer receives an exception and backs off while offsets are pending.",
        "447-O",
    ),
    by_story(
        UPGRADES,
        "The new owner waits for the pending offsets of the old one.",
        "kip-447-race",
        GROUP_ID,
    ),
    by_findings(
        EXAMPLE, "The producer is configured with the group id, which is used to fence it.", "447-N"
    ),
    by_findings(EXAMPLE, "The producer need not be closed after a rebalance.", "447-D"),
    by_findings(
        COMPATIBILITY,
        "Brokers are upgraded first. Before that, a newer request is fenced.",
        "447-G",
        "447-H",
    ),
    by_findings(COMPATIBILITY, "No input is processed twice during the upgrade.", "447-A"),
    by_look(
        COMPATIBILITY,
        "An old consumer receives COORDINATOR_LOAD_IN_PROGRESS and retries.",
        "kip-447-old-consumer",
        GROUP_ID,
        answers_with(OffsetFetchResponse, Errors.COORDINATOR_LOAD_IN_PROGRESS),
    ),
    by_findings(COMPATIBILITY, "An old consumer needs nothing but that error.", "447-B"),
    by_findings(COMPATIBILITY, "Waiting is a one-time cost of at most a minute.", "447-E"),
    by_story(
        REJECTED,
        "A coordinator that remembers assignments loses and duplicates no record (rejected: it may get out of sync).",
        "kip-447-two-copies",
        FIRST,
    ),
    by_nothing(
        REJECTED,
        "A producer pool, several transactional ids or an admin client would be worse.",
        "it is a judgement about effort; `kipviz study producers` counts several transactional ids in one producer",
    ),
)

STATED, PRODUCER = "FetchOffset and pending offsets", "interface Producer"
SHRINK, FENCE, LOOP, PATH = (
    "Shrink transactional.timeout",
    "Fence zombie",
    "The loop",
    "Upgrade path",
)
SECOND_SECTIONS = (STATED, PRODUCER, SHRINK, FENCE, LOOP, PATH)

SECOND = (
    by_story(
        STATED,
        "A pending transaction is aborted when the producer calls initTransactions() again.",
        "kip-447-task-ids",
        "before-447",
    ),
    by_findings(STATED, "The offsets are exported up to the last stable offset.", "447-J"),
    by_findings(
        PRODUCER,
        "initTransactions(consumer) gives the producer access to the consumer's state.",
        "447-I",
        "447-S",
    ),
    by_findings(PRODUCER, "sendOffsetsToTransaction() throws IllegalGenerationException.", "447-K"),
    by_findings(SHRINK, "transaction.timeout.ms is 10 s by default.", "447-F", "447-R"),
    by_counting(SHRINK, "A shorter default shortens the wait for pending offsets.", _stands_still),
    by_findings(FENCE, "The group coordinator fences a zombie that calls InitProducerId.", "447-L"),
    by_story(
        FENCE,
        "A client of an older generation is fenced.",
        "kip-447-zombie",
        CONSUMER,
        "no zombie offset commits",
    ),
    by_findings(LOOP, "initTransactions(consumer) blocks until the consumer has joined.", "447-I"),
    by_story(
        LOOP,
        "The first poll() is the fencing point if offsets are pending.",
        "kip-447-race",
        CONSUMER,
    ),
    by_look(
        LOOP,
        "The loop commits records and offsets in one transaction.",
        "kip-447-race",
        CONSUMER,
        returns("commitTransaction", "app-1"),
    ),
    by_findings(
        PATH,
        "Brokers are upgraded to 2.4 first. Before that, a newer request is fenced.",
        "447-G",
        "447-H",
        "447-Q",
    ),
    by_story(
        PATH, "With two rolling bounces no record is processed twice.", "kip-447-two-bounces", KAFKA
    ),
    by_story(
        PATH,
        "One rolling bounce is enough (the text says that it is not).",
        "kip-447-one-bounce",
        KAFKA,
    ),
)

TEXTS = (
    Text(
        "KIP-447, middle version",
        "draft of 2019; Kafka 2.5 released another form",
        MIDDLE_SECTIONS,
        MIDDLE,
    ),
    Text(
        "KIP-447, second draft",
        "draft of 2019; Kafka 2.5 released another form",
        SECOND_SECTIONS,
        SECOND,
    ),
)
