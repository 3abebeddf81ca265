"""The findings of our review of KIP-1310: where its text contradicts itself, other texts and Kafka.

What the text says is stated in our words, with its section. KIP-1310 is a draft: what is wrong with it is our reading,
and the run decides. A name is never reused for another finding.
"""

from __future__ import annotations

from kipviz.clients.throwing.client_errors import ExceptionClass
from kipviz.messages.cluster.metadata import Metadata
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import TxnOffsetCommit
from kipviz.messages.logs.producing import ProduceResponse
from kipviz.messages.shares.share_groups import TxnShareAcknowledge
from kipviz.messages.transactions.transactions import EndTxn
from kipviz.studies.review_findings import session_tallies as tallies
from kipviz.studies.review_findings.event_predicates import (
    answers_with,
    closed_and_open,
    commits,
    sends,
    throws,
    throws_error,
)
from kipviz.studies.review_findings.findings import Finding

ITSELF = "KIP-1310 itself"
KAFKA = "Kafka 4.4.0"
KIP_939 = "KIP-939"
KIP_1289 = "KIP-1289"
# Only a reader of the text can see it.
WORDS = "it is about the wording of the text alone"

ABOUT = (
    "The text is a draft (state: under discussion). Each design is the repaired one, on the repaired KIP-1289, except "
    "for the named decisions, which follow the text. The design kip-1310 follows it in all of them."
)

FINDINGS: tuple[Finding, ...] = (
    Finding(
        "1310-A",
        "The session commits, and in-flight batches belong to the producer's TransactionManager.",
        "2.1 commitTransaction(); 3.2",
        "The session has no method to find its producers, so EndTxn overtakes a batch. Kafka's Sender holds EndTxn back "
        "while RecordAccumulator.hasIncomplete().",
        "kip-1310-unaware",
        "kip-1310-unsent-batch",
        property_name="atomic",
        played=True,
        against=f"{ITSELF} (4.2 'atomic commit'); {KAFKA}",
    ),
    Finding(
        "1310-B",
        "A share consumer acknowledges within the session, and the session commits both atomically.",
        "2.4; 4.2, 3. and 4.",
        "The session does not know of an acknowledgement in flight. It commits, and the "
        "acknowledgement arrives with the epoch of a transaction that is over.",
        "kip-1310-unaware",
        "kip-1310-late-acknowledgement",
        property_name="atomic",
        played=True,
        against=ITSELF,
    ),
    Finding(
        "1310-C",
        "The epoch is in the session and the sequence numbers are in the producer.",
        "3.2, responsibilities",
        "Under transaction version 2 every commit bumps the epoch, and a new epoch starts at sequence 0. "
        "TransactionManager.EndTxnHandler changes both at once.",
        "kip-1310-counting-on",
        "kip-1310-next-epoch",
        look=answers_with(ProduceResponse, Errors.OUT_OF_ORDER_SEQUENCE_NUMBER),
        against=KAFKA,
    ),
    Finding(
        "1310-D",
        "One producer id and one epoch, regardless of how many clients use the session.",
        "6.2; 2.3 refuses no second producer",
        "Each producer counts its own sequence numbers. The leader treats the second producer's batch as a duplicate of "
        "the first one's, responds NONE and appends nothing.",
        "kip-1310-many-senders",
        "kip-1310-silent-loss",
        property_name="atomic",
        played=True,
        against=f"{ITSELF} (3.2); {KAFKA}, ProducerStateEntry",
    ),
    Finding(
        "1310-E",
        "A new session with the same transactional.id fences the older one.",
        "7.1 Epoch Fencing",
        "resume() makes a new session with the same transactional.id and sends nothing. The writer of the older session "
        "appends a record after the checkpoint, and the new session commits it.",
        "repaired",
        "kip-1310-live-writer",
        look=commits("output-A-0", "f(b)"),
        against=f"{ITSELF} (2.1 and 7.1, resume())",
    ),
    Finding(
        "1310-F",
        "resume() starts in IN_TRANSACTION.",
        "7.1 Session Resume",
        "completeTransaction(PreparedTxnState) is for a prepared transaction. The process that has the "
        "state from its database cannot call it.",
        "repaired+resumed_complete=only_when_prepared",
        "kip-1310-complete",
        look=throws("completeTransaction", ExceptionClass.INVALID_TXN_STATE),
        against=f"{ITSELF} (2.1 completeTransaction()); {KAFKA}, KafkaProducer.completeTransaction",
    ),
    Finding(
        "1310-G",
        "A session needs the permissions in the table.",
        "6.1",
        "The table lacks AddOffsetsToTxn and TxnOffsetCommit, which a session sends. With the permissions in the table "
        "sendOffsetsToTransaction() throws.",
        "repaired",
        "kip-1310-rights",
        look=throws_error(
            "sendOffsetsToTransaction", TxnOffsetCommit, Errors.GROUP_AUTHORIZATION_FAILED
        ),
        against=f"{ITSELF} (2.2 and 3.3); {KAFKA}, KafkaApis.handleTxnOffsetCommitRequest",
    ),
    Finding(
        "1310-H",
        "The session is focused strictly on the transaction coordinator and has one dedicated connection.",
        "2.1; 3.4",
        "sendOffsetsToTransaction() sends TxnOffsetCommit to the group coordinator, on another broker.",
        "repaired",
        "kip-1310-streams-session",
        look=sends("session", TxnOffsetCommit, elsewhere_than=1),
        against=f"{ITSELF} (2.1 and 3.3)",
    ),
    Finding(
        "1310-I",
        "The database prepares first, and Kafka commits first: 'Recovery-friendly'.",
        "4.5",
        "Nothing records the decision. After a crash between the two prepare steps the next process resumes "
        "and commits a transaction that holds no record, and the database follows.",
        "repaired",
        "kip-1310-small-commits",
        "crash_client=1",
        "stores agree",
        against=f"{ITSELF} ('Recovery-friendly'); {KIP_939}, whose recipe commits the database first",
    ),
    Finding(
        "1310-J",
        "initialize() has no argument.",
        "2.1",
        "initialize() aborts a prepared transaction. KIP-939 has initTransactions(keepPreparedTxn) so that the next "
        "process can end a transaction as its database decided.",
        "repaired",
        "kip-1310-small-initialize",
        "crash_client=1",
        "stores agree",
        against=f"{ITSELF} (1.1, 'Resilient Resumption'); {KIP_939}",
    ),
    Finding(
        "1310-K",
        "Preparing does not involve producing records, so it belongs to the session.",
        "1.1 'Wrong Abstraction'; 2.1 prepareTransaction()",
        "KafkaProducer.prepareTransaction() calls flush() first. A session that does not know its "
        "producers prepares without a batch, and the database commits.",
        "kip-1310-unaware",
        "kip-1310-small-resumes",
        "crash_client=1",
        "stores agree",
        against=f"{KAFKA}, KafkaProducer.prepareTransaction",
    ),
    Finding(
        "1310-L",
        "The configurations are a subset of the producer's, and one new one.",
        "2.2",
        "transaction.two.phase.commit.enable is not among them, and prepareTransaction() needs it. "
        "ProducerConfig also refuses it together with transaction.timeout.ms, which is listed.",
        "repaired",
        "kip-1310-unlisted-setting",
        look=throws("prepareTransaction", ExceptionClass.INVALID_TXN_STATE),
        against=f"{ITSELF} (2.1 prepareTransaction()); {KAFKA}, ProducerConfig",
    ),
    Finding(
        "1310-M",
        "producerId() and producerEpoch() are accurate after initialize().",
        "7.1 Identity Accessors",
        "The class has only transactionalId(). resume() needs the other two values, and no method returns them before "
        "prepareTransaction() returns a state.",
        because=f"{WORDS}: the model's sessions know their identity without a method",
        against=f"{ITSELF} (2.1, Identity; 4.5 uses pid and epoch)",
    ),
    Finding(
        "1310-N",
        "addShareAcksToTransaction(groupId, acknowledgments) names the group.",
        "2.1; 4.6",
        "KIP-1289's request also needs the member and its epoch, and its own call takes "
        "ShareGroupMetadata for that.",
        counting=tallies.fields_of_the_member,
        against=f"{KIP_1289} (TxnShareAcknowledgeRequest)",
    ),
    Finding(
        "1310-O",
        "acknowledgeTransactionally() takes a map from TopicPartition to offsets.",
        "2.4",
        "A set of offsets has no acknowledge type, so a record cannot be rejected in the transaction. A topic name "
        "without an id may belong to another topic when the request arrives.",
        counting=tallies.fields_of_an_acknowledgement,
        against=f"{KIP_1289} (ACCEPT and REJECT, TopicIdPartition); {ITSELF} (4.6 has a type)",
    ),
    Finding(
        "1310-P",
        "A share consumer's acknowledgements enter the transaction by the consumer.",
        "2.4; 4.2",
        "2.1 and 4.6 have a second way, by the session, with other arguments. The text does not say "
        "which client sends the request, nor what a record acknowledged by both becomes.",
        because=f"{WORDS}: both ways are modelled, in kip-1310-share-session and kip-1310-sink-session",
        against=f"{ITSELF} (2.1 addShareAcksToTransaction(); 4.6)",
    ),
    Finding(
        "1310-Q",
        "The sink calls shareConsumer.groupMetadata().",
        "4.6",
        "KafkaShareConsumer has no such method. KIP-1289 adds shareGroupMetadata().",
        because=f"{WORDS}: it names a method that neither text defines",
        against=f"{KAFKA}, ShareConsumer; {KIP_1289} (Public Interfaces)",
    ),
    Finding(
        "1310-R",
        "No new requests: the session sends those that KafkaProducer sends today.",
        "2.2; 3.3",
        "TxnHeartbeat and the share acknowledgement are requests of two other drafts. With transaction "
        "version 2 today's producer sends neither AddPartitionsToTxn nor AddOffsetsToTxn.",
        counting=tallies.unlisted_requests,
        against=f"{ITSELF} (3.3, AddShareAcksToTxn); {KAFKA}, TransactionManager",
    ),
    Finding(
        "1310-S",
        "The session sends AddShareAcksToTxn of KIP-1289.",
        "3.3; 6.1",
        "KIP-1289's request is TxnShareAcknowledge. No text defines a request named AddShareAcksToTxn.",
        because=f"{WORDS}: the model sends TxnShareAcknowledge",
        against=f"{KIP_1289} (New RPC)",
    ),
    Finding(
        "1310-T",
        "A session needs the same ACLs as a producer: WRITE on the transactional id, a topic, a group.",
        "6.1",
        "Permissions that Kafka requires are missing, TWO_PHASE_COMMIT among them, and two rows name a resource without "
        "an operation.",
        counting=tallies.missing_rights,
        against=f"{KAFKA}, KafkaApis.handleInitProducerIdRequest and handleTxnOffsetCommitRequest",
    ),
    Finding(
        "1310-U",
        "The producer and the share consumer of a session require the same ACLs.",
        "6.2",
        "They send different requests, and each needs permissions that the other one does not.",
        counting=tallies.rights_of_both,
        against=f"{ITSELF} (6.1)",
    ),
    Finding(
        "1310-V",
        "Existing requests and schemas are reused.",
        "3.3",
        "transaction.session.timeout.ms has to reach the coordinator, and InitProducerId has no field "
        "for it.",
        counting=tallies.no_field_for_the_session_timeout,
        against=f"{ITSELF} (2.2, transaction.session.timeout.ms); {KAFKA}, InitProducerIdRequest.json",
    ),
    Finding(
        "1310-W",
        "KIP-939 lets a new producer resume a prepared transaction without aborting it.",
        "1.1 'What KIP-939 Solved'",
        "Kafka 4.4.0 responds UNSUPPORTED_VERSION to keepPreparedTxn. A new producer can only call initTransactions(), "
        "which aborts what the database has committed.",
        "kafka",
        "kip-939-released-only",
        property_name="atomic",
        played=True,
        against=f"{KAFKA}, TransactionCoordinator.handleInitProducerId",
    ),
    Finding(
        "1310-X",
        "resume() starts in IN_TRANSACTION and can commit.",
        "4.1; 7.1 Session Resume",
        "resume() sends no request. Only the response to EndTxn shows whether there is a transaction to commit, and one "
        "error can have several causes.",
        counting=tallies.answers_to_a_resumed_commit,
        against=f"{KAFKA}, TransactionCoordinator.endTransaction; FLINK-31363",
    ),
    Finding(
        "1310-Y",
        "The resumed session calls commitTransaction().",
        "4.1; 4.5",
        "An identity does not name a transaction. The state that prepareTransaction() returned, which "
        "completeTransaction() compares, is discarded.",
        counting=tallies.commits_of_the_next_transaction,
        against=f"{ITSELF} (2.1 completeTransaction(PreparedTxnState))",
    ),
    Finding(
        "1310-Z",
        "The session is lightweight, and a producer is heavyweight.",
        "1.1 'Heavyweight Bloat'; 2.1; 3.4",
        "A producer's buffer.memory is a limit: BufferPool allocates on demand. A session beside a "
        "producer adds a client, a thread and sometimes a connection.",
        counting=tallies.what_sessions_cost,
        against=f"{KAFKA}, BufferPool; {ITSELF} (4.2, 4.4 and 4.6, where the producer stays)",
    ),
    Finding(
        "1310-AA",
        "The session is thread-safe.",
        "2.1",
        "The state is in the session and the batches are in the producer. A thread can check the session and append to "
        "the producer after an abort, so its record becomes part of the next transaction.",
        "kip-1310-look-first",
        "kip-1310-late-thread",
        property_name="atomic",
        played=True,
        against=f"{ITSELF} (3.2); {KAFKA}, TransactionManager (synchronized)",
    ),
    Finding(
        "1310-AB",
        "A producer with transactional.id works as today, with a session of its own.",
        "2.3, Backward Compatibility",
        "The new constructor takes configurations and a session. With transactional.id among the configurations there "
        "are two transactions, and after a crash between their commits only one of them is committed.",
        "repaired+session_and_id=the_id_of_its_own",
        "kip-1310-two-identities",
        property_name="atomic",
        played=True,
        against=f"{ITSELF} (2.3, KafkaProducer(configs, session))",
    ),
    Finding(
        "1310-AC",
        "The session sends AddPartitionsToTxn.",
        "3.3",
        "Below transaction version 2 the producer knows the partition and the session does not. The batch is rejected, "
        "the session does not learn of it, and the offset is committed.",
        "kip-1310",
        "kip-1310-unnamed-partition",
        property_name="atomic",
        played=True,
        against=f"{ITSELF} (3.2); {KAFKA}, TransactionManager.maybeAddPartition",
    ),
    Finding(
        "1310-AD",
        "The share consumer of KIP-1289 must borrow producer ids.",
        "1.2, Share Consumer",
        "In KIP-1289 the producer sends the acknowledgements with its own identity, and the consumer "
        "gives it ShareGroupMetadata.",
        "repaired",
        "kip-1310-share-producer",
        look=sends("producer", TxnShareAcknowledge),
        against=f"{KIP_1289} (Producer.sendShareAcknowledgementsToTransaction)",
    ),
    Finding(
        "1310-AE",
        "Six entity types already interact with the transaction coordinator.",
        "1.2",
        "The table says N/A for two of the six, the Connect sink and the share consumer.",
        because=WORDS,
        against=f"{ITSELF} (1.2, the table)",
    ),
    Finding(
        "1310-AF",
        "The session's network client is similar to the consumer's HeartbeatThread.",
        "3.4",
        "AbstractCoordinator.HeartbeatThread has no client of its own: it uses the consumer's "
        "ConsumerNetworkClient. The consumer of KIP-848 has no such thread.",
        because=f"{WORDS}: the model has a connection for the session and no class for its thread",
        against=f"{KAFKA}, AbstractCoordinator",
    ),
    Finding(
        "1310-AG",
        "maybeBeginTransaction() calls session.beginTransaction().",
        "4.4",
        "Connect calls it before every record, and begins only if no transaction is open. The second call of the text's "
        "method throws.",
        "repaired",
        "kip-1310-begins-twice",
        look=throws("beginTransaction", ExceptionClass.ILLEGAL_STATE),
        against=f"{KAFKA}, ExactlyOnceWorkerSourceTask.maybeBeginTransaction",
    ),
    Finding(
        "1310-AH",
        "The sink answers every exception with session.abortTransaction().",
        "4.6",
        "After a fence the state is FATAL_ERROR, and abortTransaction() throws in that state. KIP-1289's loop rethrows "
        "fatal exceptions instead.",
        because=f"{WORDS}: a program of the model ends at a fatal exception, with or without that call",
        against=f"{KIP_1289} (Pseudo code); {KAFKA}, KafkaProducer javadoc",
    ),
    Finding(
        "1310-AI",
        "transactional.id is required in the configurations.",
        "2.2",
        "resume() takes a transactional id besides the configurations, and the text does not say which "
        "one counts if they differ.",
        because=f"{WORDS}: the model's resume() has one name",
        against=f"{ITSELF} (2.1 resume())",
    ),
    Finding(
        "1310-AJ",
        "The sink passes ShareAcknowledgements.fromRecords(records, type).",
        "4.6",
        "The method takes Collection<ShareAcknowledgment>, and neither class is defined. "
        "producer.send(records) of 4.5 does not exist either. Sections 4.3 and 8 are missing.",
        because=WORDS,
        against=f"{ITSELF} (2.1; 4.5); {KAFKA}, KafkaProducer.send",
    ),
    Finding(
        "1310-AK",
        "sendOffsetsToTransaction() sends TxnOffsetCommit and needs no configuration but those listed.",
        "2.2",
        "Since KIP-1319 the producer looks up the ids of the input topics first and waits up to "
        "max.block.ms. Neither Metadata nor max.block.ms is in the lists.",
        "kafka",
        "kip-1319-by-id",
        look=sends("producer", Metadata),
        against=f"KIP-1319 (Producer-Side); {KAFKA}, KafkaProducer.awaitTopicMetadata",
    ),
    Finding(
        "1310-AL",
        "ABORTABLE_ERROR is a state of the session, and in-flight batches are the producer's.",
        "3.2, state mapping and responsibilities",
        "A batch of a bound producer fails. The session does not learn of it and commits the other records.",
        "repaired+session_failure=separate_failure+session_producers=any_number_of_producers"
        "+session_sequences=counted_apart",
        "kip-1310-two-senders",
        property_name="atomic",
        played=True,
        against=f"{ITSELF} (4.2 'atomic commit'); {KAFKA}, TransactionManager.handleFailedBatch",
    ),
    Finding(
        "1310-AM",
        "A producer works exactly as today, and transactionSession() returns its internal session.",
        "5.1; 2.3",
        "Any code that has the producer can now end its transaction. The producer's own commitTransaction() throws "
        "after that.",
        "repaired",
        "kip-1310-accessor",
        look=throws("commitTransaction", ExceptionClass.ILLEGAL_STATE),
        against=ITSELF,
    ),
    Finding(
        "1310-AN",
        "The application calls heartbeat(), and the session has a heartbeat thread.",
        "2.1 Liveness; 3.2 and 7.1, Heartbeat thread",
        "The text does not say which of the two keeps a transaction alive, nor what heartbeat() does with "
        "transaction.session.timeout.ms = -1. Here both send TxnHeartbeat, and neither restarts transaction.timeout.ms, "
        "so a commit after it is rejected.",
        "repaired",
        "kip-1310-heartbeat-by-hand",
        look=throws_error("commitTransaction", EndTxn, Errors.INVALID_TXN_STATE),
        against=f"{ITSELF} (2.2, a time-out for the session and one for the transaction)",
    ),
    Finding(
        "1310-AO",
        "The producer delegates to its session and works exactly as today; a session has close().",
        "5.1; 2.1 close()",
        "KafkaProducer.close() aborts an open transaction. The text does not say this of a session, whose records block "
        "readers until the transaction times out.",
        "repaired+session_close=leaves_it_open",
        "kip-1310-close",
        look=closed_and_open,
        against=f"{KAFKA}, Sender.run (close aborts)",
    ),
)
