"""The findings of our review of KIP-447's drafts: where they contradict themselves, each other and Kafka.

There are two texts. The middle version has the group's id as a producer config and still describes the first draft of
June 2019, whose coordinator knows the assignment. The second draft has initTransactions(consumer). Kafka released
neither. A name is never reused for another finding.
"""

from __future__ import annotations

from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import JoinGroup
from kipviz.messages.groups.groups import OffsetFetchResponse, TxnOffsetCommit
from kipviz.messages.transactions.transactions import InitProducerIdResponse
from kipviz.studies.review_findings import group_tallies as tallies
from kipviz.studies.review_findings.event_predicates import (
    answers_with,
    returns,
    sends,
    throws_error,
)
from kipviz.studies.review_findings.findings import Finding

MIDDLE = "middle version"
SECOND = "second draft"
KAFKA = "Kafka 4.4.0"

ABOUT = (
    "Both texts are drafts of 2019, and Kafka 2.5 released something else. 'Middle version' is the text with the "
    "group's id as a producer config, which still describes the first draft of June 2019; 'second draft' is the text "
    "with initTransactions(consumer). Each design is Kafka as released, except for the named decisions, which follow "
    "the text."
)

FINDINGS: tuple[Finding, ...] = (
    Finding(
        "447-A",
        "No input is processed twice during the upgrade, and a config selects the new producer.",
        f"{MIDDLE}: Compatibility, Deprecation, and Migration Plan",
        "With one rolling bounce the old task producer sends its offsets without a member id, so no coordinator can "
        "fence it. The second draft needs two bounces.",
        "kafka",
        "kip-447-one-bounce",
        property_name="atomic",
        played=True,
        against=f"{SECOND} (two rolling bounces)",
    ),
    Finding(
        "447-B",
        "An old consumer receives COORDINATOR_LOAD_IN_PROGRESS while offsets are pending.",
        f"{MIDDLE}: Compatibility, Deprecation, and Migration Plan",
        "Released brokers return the committed offset to it. Only a request that asks for stable offsets (OffsetFetch "
        "version 7) has to wait. The record is processed twice.",
        "kafka",
        "kip-447-old-consumer",
        property_name="atomic",
        played=True,
        against=f"{KAFKA}, OffsetFetchRequest.requireStable",
    ),
    Finding(
        "447-C",
        "The transaction coordinator uses the group's assignment to find the transactions that it has to complete.",
        f"{MIDDLE}: Proposed Changes, from the first draft",
        "The same text moves the guarantee to the group coordinator, because two copies get out of sync. A group that "
        "restarts counts its generations from 1, and the transaction coordinator, which remembers a later one, rejects "
        "its members.",
        "kip-447-first-draft",
        "kip-447-two-copies",
        look=answers_with(InitProducerIdResponse, Errors.ILLEGAL_GENERATION),
        against=f"{MIDDLE} itself (Proposed Changes; Rejected Alternatives)",
    ),
    Finding(
        "447-D",
        "InitProducerId carries the generation, and the producer need not be closed after a rebalance.",
        f"{MIDDLE}: Public Interfaces; the example's points 1 to 3",
        "The producer keeps the generation of its initTransactions(). After the next rebalance a healthy member's "
        "offsets are rejected until it calls initTransactions() again.",
        "kip-447-group-id",
        "kip-447-zombie",
        look=throws_error("sendOffsetsToTransaction", TxnOffsetCommit, Errors.STALE_MEMBER_EPOCH),
        against=f"{SECOND} (initTransactions() is called once); {KAFKA}, ConsumerGroupMetadata",
    ),
    Finding(
        "447-E",
        "Waiting for pending offsets is a one-time cost, during the upgrade only.",
        f"{MIDDLE}: Compatibility, Deprecation, and Migration Plan",
        "A new owner waits after every rebalance that happens during a transaction, also without an upgrade.",
        "kafka",
        "kip-447-race",
        look=answers_with(OffsetFetchResponse, Errors.UNSTABLE_OFFSET_COMMIT),
        against=f"{SECOND} (poll() is the fencing point); {KAFKA}, OffsetFetch version 7",
    ),
    Finding(
        "447-F",
        "transaction.timeout.ms is 10 s by default.",
        f"{SECOND}: Shrink transactional.timeout",
        "The middle version assumes one minute, and Kafka kept one minute. The new owner waits that long for a member "
        "that is paused.",
        counting=tallies.takeovers,
        against=f"{MIDDLE} ('one minute'); {KAFKA}, ProducerConfig",
    ),
    Finding(
        "447-G",
        "A request of a newer version is fenced until inter.broker.protocol.version is raised.",
        f"{MIDDLE} and {SECOND}: upgrade path, step 1",
        "The response to an unknown version is UNSUPPORTED_VERSION. No epoch changes, so no producer is fenced. The "
        "request is TxnOffsetCommit and not Produce, as the text says.",
        "kip-447-init-consumer",
        "kip-447-gate",
        look=throws_error("sendOffsetsToTransaction", TxnOffsetCommit, Errors.UNSUPPORTED_VERSION),
        against=f"{KAFKA}, ApiVersions",
    ),
    Finding(
        "447-H",
        "All brokers are upgraded first, and then the gate opens for all.",
        f"{MIDDLE} and {SECOND}: upgrade path, step 1",
        "Kafka released no such gate. Each broker accepts the versions that it knows, whatever the level.",
        "kafka",
        "kip-447-gate",
        look=returns("sendOffsetsToTransaction", "app-1"),
        against=f"{KAFKA}, TxnOffsetCommitRequest (version 3 is bound to no level)",
    ),
    Finding(
        "447-I",
        "initTransactions(consumer) blocks until the consumer has joined, and poll() comes after it.",
        f"{SECOND}: the example's comments",
        "A consumer joins only in poll(). Either initTransactions(consumer) polls for the application, as here, or it "
        "never returns. The text also puts it after the first rebalance, which it would have to cause.",
        "kip-447-init-consumer",
        "kip-447-gate-rolling",
        look=sends("consumer", JoinGroup),
        against=f"{SECOND} itself ('after first rebalance'); {KAFKA}, ConsumerCoordinator.poll",
    ),
    Finding(
        "447-J",
        "FetchOffset exports the last stable offset when isolation.level is read_committed.",
        f"{SECOND}: first paragraph",
        "A group coordinator returns the committed offset. The last stable offset belongs to a log. Without the wait "
        "for pending offsets, the new owner starts too early and processes a record twice.",
        "before-447",
        "kip-447-race",
        property_name="atomic",
        played=True,
        against=f"{KAFKA}, OffsetMetadataManager.fetchOffsets",
    ),
    Finding(
        "447-K",
        "sendOffsetsToTransaction() throws IllegalGenerationException.",
        f"{SECOND}: interface Producer",
        "Kafka throws CommitFailedException for this and for three other errors of the group, and the "
        "transaction has to be aborted.",
        "kafka",
        "kip-447-generation",
        look=throws_error("sendOffsetsToTransaction", TxnOffsetCommit, Errors.ILLEGAL_GENERATION),
        against=f"{KAFKA}, TransactionManager.TxnOffsetCommitHandler; KIP-1319",
    ),
    Finding(
        "447-L",
        "The group coordinator fences a zombie that calls InitProducerId.",
        f"{SECOND}: Fence zombie",
        "InitProducerId goes to the transaction coordinator and names no group. The group coordinator can check only a "
        "request that names a generation.",
        counting=tallies.requests_with_a_generation,
        against=f"{KAFKA}, InitProducerIdRequest.json; {MIDDLE} (the coordinator refuses it)",
    ),
    Finding(
        "447-M",
        "InitProducerId takes a transactional id, or a group id with a generation.",
        f"{MIDDLE}: Public Interfaces",
        "The requests that follow name the transaction by its transactional id, which cannot be null.",
        counting=tallies.requests_with_a_transactional_id,
        against=f"{MIDDLE} itself (no other request changes); {KAFKA}",
    ),
    Finding(
        "447-N",
        "The producer knows its group by the group id in its configurations.",
        f"{MIDDLE}: the example's point 1",
        "A group id does not name a member. A zombie's offsets are accepted, and the record is "
        "processed twice.",
        "kafka",
        "kip-447-group-id-only",
        property_name="atomic",
        played=True,
        against=f"{SECOND} (new KafkaProducer(), the consumer is passed); {KAFKA}, "
        "ConsumerGroupMetadata(groupId)",
    ),
    Finding(
        "447-O",
        "A consumer receives PendingTransactionException while offsets are pending.",
        f"{MIDDLE}: Compatibility, Deprecation, and Migration Plan",
        "Kafka has no such error. The response to a request for stable offsets is UNSTABLE_OFFSET_COMMIT.",
        "kafka",
        "kip-447-race",
        look=answers_with(OffsetFetchResponse, Errors.UNSTABLE_OFFSET_COMMIT),
        against=f"{KAFKA}, UnstableOffsetCommitException",
    ),
    Finding(
        "447-P",
        "The coordinator checks the previous assignment when it handles InitProducerId.",
        f"{MIDDLE}: Proposed Changes, from the first draft",
        "The request of the same text has a group id and a generation, and no partitions. The model adds the "
        "partitions, because there would be nothing to check without them.",
        counting=tallies.fields_of_the_first_draft,
        against=f"{MIDDLE} itself (Public Interfaces)",
    ),
    Finding(
        "447-Q",
        "Clients of version 2.4 on brokers of version 2.4, with UPGRADE_FROM.",
        f"{SECOND}: upgrade path",
        "The change was released in 2.5, and Kafka Streams chooses by processing.guarantee. The middle "
        "version has a third name, CONSUMER_GROUP_AWARE_TRANSACTION.",
        because="it is about names and numbers: kip-447-two-bounces shows that the path itself holds",
        against=f"{KAFKA}, StreamsConfig; {MIDDLE} (Compatibility)",
    ),
    Finding(
        "447-R",
        "transaction.timout.ms, transactional.timeout, FetchOffset, EndTransaction, initTransaction.",
        f"{SECOND}: Shrink transactional.timeout; first paragraph",
        "The names are transaction.timeout.ms, OffsetFetch, EndTxn and initTransactions.",
        because="it is about the wording of the text alone",
        against=f"{KAFKA}, ProducerConfig and ApiKeys",
    ),
    Finding(
        "447-S",
        "initTransactions(Consumer<byte[], byte[]>).",
        f"{SECOND}: interface Producer",
        "The example passes a consumer of the application's own types, which is not a Consumer<byte[], byte[]>.",
        because="it is about a type of the text's interface alone",
        against=f"{SECOND} itself (the example)",
    ),
    Finding(
        "447-T",
        "The coordinator lets one producer make progress for each assigned partition.",
        f"{MIDDLE}: Proposed Changes; Rejected Alternatives, 'generation and partition fencing'",
        "The coordinator checks the partitions only for an older epoch. A member that has released a partition and has "
        "the current epoch can still commit its offset, so the next owner's outputs and its own are both committed. "
        "Consumers before KAFKA-20332 release partitions outside poll(), in the middle of a transaction.",
        "kafka",
        "kip-848-no-listener",
        property_name="atomic",
        played=True,
        against=f"{KAFKA}, ConsumerGroup.validateOffsetCommit",
    ),
)
