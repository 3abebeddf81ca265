"""KIP-98: exactly once delivery and transactional messaging."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, SIMPLIFIED, Kip, Row

KIP = Kip(
    98,
    "Exactly once delivery and transactional messaging",
    "shipped since 0.11",
    (
        Row(
            "Data Flow: 1. Finding a transaction coordinator",
            "A producer without the right to look up its coordinator gets a fatal error.",
            SIMPLIFIED,
            "brokers.kafka_apis.on_find_coordinator",
            "pain-refused-at-start",
            "brokers/test_rights_of_kafka_apis.py::"
            "test_who_may_not_know_its_coordinator_is_at_its_end",
            page="65-operators-and-symptoms",
            note="FindCoordinator is sent only where there are ACLs, and for transactional ids; "
            "otherwise the coordinator is looked up at once",
        ),
        Row(
            "InitPidRequest",
            "A transactional id gets a producer id and an epoch; its previous producer is fenced.",
            MODELLED,
            handler="brokers.transactions.transaction_coordinator.on_init_producer_id",
            scenario="kip-1289-group-commit",
            test="brokers/transactions/test_transaction_coordinator.py::test_a_new_name_gets_a_new_producer_id_and_epoch_0",
            page="10-transactions-kip-98",
        ),
        Row(
            "Transaction coordinator, transaction log",
            "The coordinator logs and replicates a transition before it takes effect and before "
            "the client gets a response.",
            MODELLED,
            handler="brokers.transactions.transaction_state_manager.on_replicated",
            scenario="kip-1289-group-commit",
            test="brokers/transactions/test_transaction_coordinator.py::test_nothing_is_answered_before_the_record_is_replicated",
            page="10-transactions-kip-98",
        ),
        Row(
            "Transaction log: appends that fail",
            "If the append of a decision times out, the decision still takes effect when the next "
            "coordinator loads the log.",
            MODELLED,
            handler="brokers.transactions.transaction_state_manager.fail_append",
            scenario="kip-98-given-up-decision",
            test="brokers/transactions/test_failed_appends.py::test_the_next_coordinator_takes_a_given_up_decision_for_what_it_says",
            page="10-transactions-kip-98",
        ),
        Row(
            "acks=all, min.insync.replicas",
            "A leader with too few in-sync replicas rejects batches.",
            SIMPLIFIED,
            handler="brokers.logs.partition_leader.on_produce",
            scenario="kip-98-too-few-replicas",
            test="brokers/transactions/test_failed_appends.py::test_a_leader_without_enough_replicas_takes_no_batch",
            page="15-producer-ids-and-epochs-kip-98",
            note="a replica is in sync while its broker runs; NOT_ENOUGH_REPLICAS_AFTER_APPEND "
            "needs a moment that the model does not have",
        ),
        Row(
            "min.insync.replicas of __consumer_offsets and __share_group_state",
            "A coordinator with too few in-sync replicas rejects writes and returns "
            "COORDINATOR_NOT_AVAILABLE at once. Markers are resent.",
            SIMPLIFIED,
            handler="brokers.logs.replication.marker_checks",
            test="brokers/groups/test_coordinators_without_replicas.py::test_an_offset_is_refused_and_not_kept",
            note="a classic group's generation waits until the replicas are back; Kafka rebalances again",
            scenario="kip-98-offsets-without-replicas",
            page="15-producer-ids-and-epochs-kip-98",
        ),
        Row(
            "AddPartitionsToTxnRequest",
            "The coordinator logs a partition of a transaction once, no matter how often it is added.",
            MODELLED,
            handler="brokers.transactions.transaction_coordinator.on_add_partitions",
            scenario="kip-1289-group-commit",
            test="brokers/transactions/test_transaction_coordinator.py::test_partitions_are_logged_once_and_answered_when_replicated",
            page="10-transactions-kip-98",
        ),
        Row(
            "AddPartitionsToTxnRequest: errors of single partitions",
            "If one partition is unauthorized or does not exist, none is added, and the others get "
            "OPERATION_NOT_ATTEMPTED.",
            MODELLED,
            handler="brokers.deleted_topics.not_added",
            scenario="kip-98-topic-deleted-tv1",
            test="cluster/topics/test_coming_topics.py::"
            "test_what_is_forbidden_is_said_before_what_is_gone_and_the_rest_is_not_attempted",
            page="65-operators-and-symptoms",
        ),
        Row(
            "AddPartitionsToTxnRequest: UNKNOWN_TOPIC_OR_PARTITION at the client",
            "The client retries without limit, and EndTxn waits behind the request.",
            MODELLED,
            handler="clients.transactions.transaction_manager.on_answer",
            test="clients/transactions/test_older_transaction_versions.py::"
            "test_a_partition_that_is_not_there_is_asked_for_for_ever_and_an_abort_waits_behind_it",
            scenario="kip-98-topic-deleted-tv1",
            page="65-operators-and-symptoms",
        ),
        Row(
            "retry.backoff.ms of producers",
            "The sender retries a rejected request after a back-off of constant length, and sends "
            "nothing else meanwhile.",
            MODELLED,
            handler="clients.transactions.transaction_manager._resting",
            scenario="kip-98-next-transaction-waits",
            test="clients/sending/test_sender.py::"
            "test_a_request_that_was_refused_for_now_rests_and_nothing_else_goes_out",
            note="on a timed clock with back-offs (backs_off), and with max_in_flight",
            page="15-producer-ids-and-epochs-kip-98",
        ),
        Row(
            "retry.backoff.ms of batches (KIP-580)",
            "The sender retries a rejected batch after a back-off that increases up to retry.backoff.max.ms.",
            MODELLED,
            handler="clients.sending.producer.back_off",
            test="cluster/topics/test_pipelined_producers.py::"
            "test_on_a_timed_clock_a_refused_batch_goes_out_again_after_a_growing_while",
            note="on a timed clock with max_in_flight; without the jitter of 20 %",
            scenario="kip-98-batch-backs-off",
            page="15-producer-ids-and-epochs-kip-98",
        ),
        Row(
            "The sender's order of requests",
            "The sender sends transactional requests before batches, and only one of them is in flight at a time.",
            MODELLED,
            handler="clients.sending.producer.next_request",
            scenario="kip-98-offsets-go-first",
            test="clients/sending/test_sender.py::"
            "test_a_transactional_request_goes_before_a_batch_and_alone",
            page="16-what-a-sender-sends",
        ),
        Row(
            "EndTxnRequest",
            "The coordinator logs the decision as PREPARE_COMMIT or PREPARE_ABORT before it responds.",
            MODELLED,
            handler="brokers.transactions.transaction_coordinator.on_end_txn",
            scenario="kip-1289-group-commit",
            test="brokers/transactions/test_transaction_coordinator.py::test_the_decision_is_logged_before_it_is_answered",
            page="10-transactions-kip-98",
        ),
        Row(
            "WriteTxnMarkerRequest",
            "Every partition in the transaction gets a marker. When all of them have it, the transaction is complete.",
            MODELLED,
            handler="brokers.kafka_apis.on_write_txn_markers",
            scenario="kip-1289-group-commit",
            test="brokers/transactions/test_transaction_coordinator.py::test_a_transaction_is_over_when_every_partition_has_its_marker",
            page="10-transactions-kip-98",
        ),
        Row(
            "WriteTxnMarkerRequest: answers",
            "The error of a partition decides whether its marker is resent, is no longer needed, "
            "or has failed for good.",
            MODELLED,
            handler="brokers.transactions.transaction_coordinator.on_markers_answered",
            test="brokers/transactions/test_transaction_coordinator.py::test_the_errors_after_which_a_marker_is_sent_again_are_those_of_kafka",
            page="15-producer-ids-and-epochs-kip-98",
            scenario="kip-98-offsets-without-replicas",
        ),
        Row(
            "WriteTxnMarkerRequest: several transactions in one",
            "A coordinator sends the markers of several transactions for one broker in one request.",
            SIMPLIFIED,
            handler="brokers.transactions.transaction_append.merge_markers",
            scenario="kip-98-markers-together",
            test="cluster/topics/test_markers_together.py::"
            "test_a_new_coordinator_sends_all_markers_for_one_broker_in_one_request",
            page="16-what-a-sender-sends",
            note="here these are the markers that one step of a coordinator creates; in Kafka "
            "everything that was queued for the broker between two rounds of the sender "
            "thread, from all coordinators of the sending broker",
        ),
        Row(
            "WriteTxnMarkerRequest: a deleted partition",
            "A partition whose topic was deleted needs no marker, and does not keep a transaction open.",
            MODELLED,
            handler="brokers.transactions.transaction_state_manager.send_markers",
            scenario="kip-98-topic-deleted",
            test="brokers/administration/test_deleted_topics.py::"
            "test_a_marker_that_waits_for_a_leader_is_dropped_with_its_topic",
            page="65-operators-and-symptoms",
        ),
        Row(
            "Coordinator failover",
            "A new coordinator reads the log and completes the transactions that were prepared.",
            MODELLED,
            handler="brokers.transactions.transaction_state_manager.on_loaded",
            test="brokers/transactions/test_transaction_coordinator.py::test_a_new_coordinator_redoes_from_the_log_and_sends_every_marker_again",
            page="10-transactions-kip-98",
            scenario="kip-98-zombie-coordinator",
        ),
        Row(
            "ACLs: TransactionalId resource",
            "A transactional request needs WRITE on its transactional id, in addition to the "
            "rights for its topics and its group.",
            MODELLED,
            handler="brokers.authorizer.refusal",
            scenario="pain-refused-at-start",
            test="brokers/test_authorizer.py::"
            "test_a_transactional_request_needs_write_on_its_id_and_what_its_topics_and_group_need",
            page="65-operators-and-symptoms",
        ),
        Row(
            "Zombie fencing",
            "A second producer with the same transactional id fences the first one: brokers reject "
            "every later request from it.",
            MODELLED,
            handler="brokers.transactions.transaction_coordinator.on_init_producer_id",
            scenario="pain-two-instances",
            test="scenarios/test_pains.py::test_the_application_gets_the_exception_that_users_name",
            page="10-transactions-kip-98",
        ),
        Row(
            "transaction.timeout.ms",
            "The coordinator aborts a transaction that takes too long, and bumps the epoch. One "
            "scan finds all such transactions of a broker.",
            MODELLED,
            handler="brokers.transactions.transaction_coordinator.on_timeout",
            scenario="kip-890-too-late",
            test="brokers/transactions/test_transaction_coordinator.py::test_a_transaction_that_runs_out_of_time_is_aborted_with_a_bump",
            page="10-transactions-kip-98",
            note="on a timed clock the scan is at most its interval late, whenever the previous "
            "one was; without a clock each transaction may time out at any moment",
        ),
        Row(
            "Idempotent producer: sequences",
            "The leader recognizes a repeated batch, and rejects one that does not follow the last sequence.",
            MODELLED,
            handler="brokers.logs.partition_log.check_client_batch",
            test="brokers/logs/test_partition_log.py::test_the_last_five_batches_are_recognised_as_duplicates_and_older_ones_are_out_of_order",
            page="15-producer-ids-and-epochs-kip-98",
            scenario="kip-98-idempotent-retry",
        ),
        Row(
            "Read Committed: LSO and aborted transactions",
            "A consumer reads below the last stable offset, and skips aborted records.",
            MODELLED,
            handler="brokers.logs.partition_leader.on_fetch",
            scenario="kip-98-stuck-lso",
            test="brokers/logs/test_partition_leader.py::test_a_read_committed_consumer_reads_below_the_lso_and_skips_what_was_aborted",
            page="10-transactions-kip-98",
        ),
        Row(
            "TxnOffsetCommitRequest",
            "Offsets are pending in the transaction until its marker commits or drops them.",
            MODELLED,
            handler="brokers.groups.group_coordinator.on_txn_offset_commit",
            scenario="kip-1289-group-commit",
            test="brokers/groups/test_group_coordinator.py::test_the_marker_commits_or_drops_what_was_pending",
            page="10-transactions-kip-98",
        ),
        Row(
            "Producer API: states and errors",
            "The client retries after some errors, aborts the transaction after others, and treats the rest as fatal.",
            MODELLED,
            handler="clients.transactions.transaction_manager.on_answer",
            scenario="kip-1289-group-abort",
            test="clients/transactions/test_producer.py::test_every_error_is_retried_aborts_the_transaction_or_ends_the_producer",
            page="10-transactions-kip-98",
        ),
        Row(
            "Producer API: send() and max.block.ms",
            "send() waits for the metadata of its topic. Its exception is in the Future that it returns.",
            MODELLED,
            handler="clients.sending.producer.send_timed_out",
            scenario="kip-98-topic-awaited",
            test="clients/sending/test_awaited_topics.py::"
            "test_after_max_block_ms_send_returns_and_the_next_call_throws",
            page="65-operators-and-symptoms",
            note="in clusters whose topics are created and deleted; elsewhere every producer knows every topic",
        ),
        Row(
            "AddOffsetsToTxnRequest",
            "The coordinator adds the __consumer_offsets partition of the group id to the transaction, once.",
            MODELLED,
            handler="brokers.transactions.transaction_coordinator.on_add_offsets",
            scenario="kip-890-late-commit",
            test="brokers/transactions/test_older_transaction_versions.py::test_a_groups_offsets_are_added_by_the_group_id",
            page="20-requests-that-arrive-late-kip-890",
        ),
        Row(
            "AddPartitionsToTxnRequest of clients",
            "Below transaction version 2 a batch waits until its partition has been added to the transaction.",
            MODELLED,
            handler="clients.sending.producer.next_request",
            scenario="kip-890-late-commit",
            test="clients/transactions/test_older_transaction_versions.py::test_a_batch_waits_until_its_partition_is_added",
            page="20-requests-that-arrive-late-kip-890",
        ),
        Row(
            "AddOffsetsToTxnRequest of clients",
            "Below transaction version 2 the client sends AddOffsetsToTxn before it commits the offsets.",
            MODELLED,
            handler="clients.sending.producer.next_request",
            scenario="kip-890-late-commit",
            test="clients/transactions/test_older_transaction_versions.py::test_offsets_are_added_before_they_are_committed",
            page="20-requests-that-arrive-late-kip-890",
        ),
        Row(
            "Producer fencing",
            "A producer that has been replaced is rejected wherever epochs are compared.",
            MODELLED,
            handler="brokers.logs.partition_log.is_fenced",
            scenario="kip-98-zombie",
            test="scenarios/shipped/test_kip_890.py::test_a_producer_that_wakes_up_is_fenced_and_the_work_is_done_once",
            page="10-transactions-kip-98",
        ),
        Row(
            "TransactionStartTimestampMs, TransactionLastUpdateTimestampMs",
            "A record contains when the transaction began and when it was last updated.",
            MODELLED,
            handler="brokers.transactions.transaction_append.add_time",
            test="conformance/test_transactions.py::"
            "test_07_a_clock_that_goes_back_keeps_nobody_from_adding_partitions",
            note="where a spec with a timed clock asks for timestamps in records (stamps)",
            page="65-operators-and-symptoms",
            scenario="kip-994-who-takes-long",
        ),
        Row(
            "transactional.id.expiration.ms",
            "An unused transactional id expires.",
            MODELLED,
            handler="brokers.transactions.transaction_coordinator.on_timer",
            test="brokers/transactions/test_transactional_id_expiration.py::test_a_name_that_nobody_uses_is_forgotten_with_a_tombstone",
            page="15-producer-ids-and-epochs-kip-98",
            scenario="pain-idle-week",
        ),
        Row(
            "InitPidRequest without a TransactionalId",
            "A broker returns a new producer id for each request, and logs none of them.",
            MODELLED,
            handler="brokers.transactions.transaction_append.nameless",
            scenario="kip-98-idempotent-retry",
            test="conformance/test_transactions.py::"
            "test_09_a_producer_without_a_name_gets_an_identity_that_nobody_remembers",
            page="15-producer-ids-and-epochs-kip-98",
        ),
        Row(
            "Produce: the batches of several partitions in one request",
            "A producer sends its batches for one broker in one request. Each partition accepts or "
            "rejects its own batch.",
            SIMPLIFIED,
            handler="brokers.logs.requests.produce_requests.on_produce",
            scenario="kip-98-two-partitions",
            test="cluster/topics/test_several_produced.py::"
            "test_one_request_is_appended_in_one_partition_and_refused_in_the_other",
            page="16-what-a-sender-sends",
            note="the sender sends every batch that is ready, without max.request.size; a "
            "partition that has to wait does not end the round for its broker as it does in "
            "RecordAccumulator.drain",
        ),
        Row(
            "Produce: one of several topics is forbidden",
            "The batches for the other topics are appended, and the transaction can only be aborted.",
            MODELLED,
            handler="cluster.topic_authorization.collect_part",
            scenario="kip-98-two-partitions-forbidden",
            test="cluster/topics/test_several_produced.py::"
            "test_a_forbidden_topic_is_taken_out_of_a_request_and_stands_in_its_answer",
            page="16-what-a-sender-sends",
        ),
        Row(
            "max.in.flight.requests.per.connection",
            "Several batches of a partition are in flight at once. After an error they are resent "
            "one at a time and in order.",
            SIMPLIFIED,
            handler="clients.sending.in_flight.next_batches",
            scenario="kip-98-in-flight",
            test="clients/sending/test_idempotent_epoch.py::test_what_is_sent_again_goes_alone_and_in_order",
            page="10-transactions-kip-98",
            note="the limit counts the requests of a connection, including transactional ones; a "
            "batch for another broker waits behind one whose connection has no room",
        ),
        Row(
            "max.in.flight.requests.per.connection in a transaction",
            "A commit sends the remaining batches. An abort waits for the batches that a leader "
            "may have. When a batch fails for good, the batches behind it take over its sequences.",
            MODELLED,
            handler="clients.sending.sender.on_response",
            scenario="kip-98-in-flight-transaction",
            test="cluster/topics/test_pipelined_producers.py::"
            "test_whatever_goes_wrong_each_record_is_committed_once_and_in_order",
            page="10-transactions-kip-98",
            note="with max_in_flight; otherwise a producer has one batch of a partition in flight",
        ),
        Row(
            "delivery.timeout.ms of a batch in flight (KIP-91)",
            "The timeout ends the client's wait, but not the request: a batch in the network may "
            "arrive after the abort.",
            MODELLED,
            handler="clients.sending.sender.fail_expired",
            scenario="kip-98-in-flight-given-up",
            test="clients/sending/test_several_in_flight.py::"
            "test_a_batch_that_expires_on_the_wire_ends_the_transaction_and_its_answer_is_nobodys",
            note="with max_in_flight; other producers expire only batches that have not been sent",
            page="15-producer-ids-and-epochs-kip-98",
        ),
        Row(
            "enable.idempotence=false",
            "A producer without idempotence requests no producer id, and its batches have no sequences.",
            MODELLED,
            handler="clients.sending.idempotent_epoch.on_refused",
            scenario="kip-98-in-flight-without",
            test="clients/sending/test_idempotent_epoch.py::"
            "test_without_idempotence_it_asks_for_nothing_and_numbers_nothing",
            page="10-transactions-kip-98",
        ),
        Row(
            "Sequences of a producer that is unknown to a log",
            "The log accepts any first sequence. Only a transaction of version 2 has to begin at 0.",
            MODELLED,
            handler="brokers.logs.partition_log.check_client_batch",
            scenario="kip-98-in-flight-unknown",
            test="clients/sending/test_idempotent_epoch.py::"
            "test_a_gap_that_nothing_can_fill_bumps_the_epoch_and_begins_at_0",
            page="10-transactions-kip-98",
        ),
        Row(
            "Retention, DeleteRecords (KIP-107)",
            "Records may be deleted from the front of a log. The state of producers stays, the "
            "last stable offset is never before the log start offset, and a transaction whose "
            "first records are deleted still ends with its marker.",
            SIMPLIFIED,
            handler="brokers.logs.partition_log.delete_records",
            scenario="kip-98-deleted-transaction",
            test="cluster/topics/test_deleted_records.py::"
            "test_a_transaction_whose_first_records_are_gone_still_ends_with_its_marker",
            note="by an operator or as a fault, one batch at a time",
            page="15-producer-ids-and-epochs-kip-98",
        ),
        Row(
            "log.retention.ms",
            "Old records are deleted from the front of a log, even if their transaction is open. "
            "The transaction still commits.",
            SIMPLIFIED,
            handler="brokers.logs.log_retention.on_timer",
            scenario="kip-98-older-than-retention",
            test="brokers/logs/test_log_retention.py::test_the_records_of_an_open_transaction_are_deleted_and_it_commits",
            note="where records have timestamps (stamps) and a spec sets it; each batch is a segment; not by size",
            page="15-producer-ids-and-epochs-kip-98",
        ),
        Row(
            "OFFSET_OUT_OF_RANGE, auto.offset.reset, ListOffsets",
            "If a log does not have a consumer's position, the consumer resets to the first record "
            "or to the end, or throws. The end depends on its isolation level.",
            SIMPLIFIED,
            handler="brokers.logs.partition_leader.on_list_offsets",
            scenario="kip-98-away-too-long",
            test="scenarios/shipped/test_kip_98_reset.py::"
            "test_what_was_deleted_unread_is_in_no_output_and_nobody_is_told",
            note="for consumers of regular groups of either protocol, where a spec sets their "
            "policy; otherwise earliest, without the round trips; by_duration only for "
            "members that join (KIP-1106)",
            page="15-producer-ids-and-epochs-kip-98",
        ),
        Row(
            "producer.id.expiration.ms",
            "A log removes a producer after a day without a batch. Then it accepts any sequence from that producer.",
            MODELLED,
            handler="brokers.logs.producer_expiry.on_timer",
            scenario="kip-98-silent-for-a-day",
            test="brokers/logs/test_producer_expiry.py::"
            "test_a_batch_that_comes_again_after_that_is_in_the_log_twice",
            page="10-transactions-kip-98",
            note="where a spec enables it (producer_ids_expire); no broker of 4.4 returns "
            "UNKNOWN_PRODUCER_ID, but its clients still handle it",
        ),
        Row(
            "Data Flow: 5.2: during a network partition",
            "A decision needs only the coordinator's log. Markers wait until the network partition "
            "heals, no matter which coordinator sends them then.",
            SIMPLIFIED,
            handler="brokers.transactions.transaction_coordinator.on_end_txn",
            scenario="kip-98-split-network",
            test="scenarios/shipped/test_split_network.py::"
            "test_a_decision_on_one_side_of_a_cut_is_carried_out_when_it_is_healed",
            page="05-break-it-yourself",
            note="a network partition lies between two sets of hosts and only holds up messages: "
            "followers stay in sync across it, and the controller, which has no host, reaches "
            "every broker",
        ),
        Row(
            "max.block.ms",
            "A blocking call times out, and afterwards only the same call may be made again.",
            MODELLED,
            handler="clients.thread.time_out_call",
            scenario="kip-98-commit-timed-out",
            test="clients/sending/test_max_block.py::test_the_same_call_again_waits_for_the_same_result",
            page="10-transactions-kip-98",
        ),
        Row(
            "max.block.ms, buffer.memory: send()",
            "send() waits for room in the buffer. When max.block.ms is over it throws nothing; the next call throws.",
            MODELLED,
            handler="clients.sending.producer.send_timed_out",
            scenario="kip-98-buffer-full",
            test="clients/sending/test_max_block.py::"
            "test_a_send_that_finds_no_room_comes_back_and_the_next_call_throws",
            page="10-transactions-kip-98",
            note="with buffer, counted in batches; a producer without it has unlimited room",
        ),
        Row(
            "max.block.ms: sendOffsetsToTransaction()",
            "The call times out; its request is still sent, before the request that ends the transaction.",
            MODELLED,
            handler="clients.thread.time_out_call",
            scenario="kip-98-offsets-timed-out",
            test="clients/sending/test_max_block.py::"
            "test_offsets_of_a_call_that_timed_out_are_in_the_transaction_all_the_same",
            page="15-producer-ids-and-epochs-kip-98",
        ),
        Row(
            "max.block.ms: another call",
            "After a timeout the outcome is unknown: any other call throws IllegalStateException.",
            MODELLED,
            handler="clients.thread.time_out_call",
            scenario="kip-98-commit-timed-out-then-abort",
            test="clients/sending/test_max_block.py::test_any_other_call_is_illegal_until_that_one_was_made_again",
            page="10-transactions-kip-98",
        ),
        Row(
            "max.block.ms: several threads",
            "A call times out in one thread while another thread continues. The next thread that "
            "makes the same call gets the result that was not returned.",
            MODELLED,
            handler="clients.transactions.results.leave_wait",
            scenario="kip-98-threads-timed-out",
            test="clients/sending/test_shared_producer.py::"
            "test_a_thread_comes_back_without_its_result_and_the_other_one_commits_what_it_asked_for",
            page="16-what-a-sender-sends",
        ),
        Row(
            "Producer API: thread safe",
            "Several threads share a transactional producer. send() appends its record before it "
            "checks whether a transaction is open.",
            MODELLED,
            handler="clients.sending.appending.keep_unsent",
            scenario="kip-98-threads-stray-record",
            test="clients/sending/test_shared_producer.py::"
            "test_the_record_of_a_send_that_threw_goes_out_with_the_next_transaction",
            page="16-what-a-sender-sends",
            note="read in KafkaProducer.doSend of 4.4; the javadoc says that sharing is safe",
        ),
        Row(
            "Producer API: thread safe, and a commit",
            "EndTxn waits for a record that belongs to no transaction. The commit hangs until the record expires.",
            MODELLED,
            handler="clients.sending.appending.keep_unsent",
            scenario="kip-98-threads-stuck-commit",
            test="clients/sending/test_shared_producer.py::"
            "test_a_commit_waits_for_a_record_that_no_transaction_takes_along_until_it_expires",
            page="16-what-a-sender-sends",
        ),
        Row(
            "WriteTxnMarkerRequest: coordinator epoch",
            "A log rejects markers from a coordinator that has been replaced.",
            MODELLED,
            handler="brokers.logs.replication.of_marker",
            scenario="kip-98-zombie-coordinator",
            test="scenarios/kip_1289/test_late_and_restored.py::test_markers_of_the_coordinator_before_are_refused",
            page="10-transactions-kip-98",
        ),
    ),
)
