"""KIP-98: exactly once delivery and transactional messaging."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, OPEN, SIMPLIFIED, Kip, Row

KIP = Kip(
    98,
    "Exactly once delivery and transactional messaging",
    "shipped since 0.11",
    (
        Row(
            "InitPidRequest",
            "A name gets a producer id and an epoch; whoever had it before is fenced.",
            MODELLED,
            handler="brokers.transaction_coordinator.on_init_producer_id",
            scenario="kip-1289-group-commit",
            test="brokers/test_transaction_coordinator.py::test_a_new_name_gets_a_new_producer_id_and_epoch_0",
        ),
        Row(
            "Transaction coordinator, transaction log",
            "A transition is logged and replicated before it counts and is answered.",
            MODELLED,
            handler="brokers.transaction_coordinator.on_replicated",
            scenario="kip-1289-group-commit",
            test="brokers/test_transaction_coordinator.py::test_nothing_is_answered_before_the_record_is_replicated",
        ),
        Row(
            "AddPartitionsToTxnRequest",
            "A partition is enlisted before the first batch is written to it.",
            MODELLED,
            handler="brokers.transaction_coordinator.on_add_partitions",
            scenario="kip-1289-group-commit",
            test="brokers/test_transaction_coordinator.py::test_partitions_are_logged_once_and_answered_when_replicated",
        ),
        Row(
            "EndTxnRequest",
            "The decision is logged as PREPARE_COMMIT or PREPARE_ABORT and then answered.",
            MODELLED,
            handler="brokers.transaction_coordinator.on_end_txn",
            scenario="kip-1289-group-commit",
            test="brokers/test_transaction_metadata.py::test_end_txn_answers_as_the_table_says",
        ),
        Row(
            "WriteTxnMarkerRequest",
            "Every enlisted partition gets a marker; when all have it the transaction is complete.",
            MODELLED,
            handler="brokers.kafka_apis.on_write_txn_markers",
            scenario="kip-1289-group-commit",
            test="brokers/test_transaction_coordinator.py::test_a_transaction_is_over_when_every_partition_has_its_marker",
        ),
        Row(
            "Coordinator failover",
            "A new coordinator reads the log and finishes what was prepared.",
            MODELLED,
            handler="brokers.transaction_coordinator.on_loaded",
            test="brokers/test_transaction_coordinator.py::test_a_new_coordinator_redoes_from_the_log_and_sends_every_marker_again",
        ),
        Row(
            "transaction.timeout.ms",
            "A transaction that takes too long is aborted with a bump of the epoch.",
            SIMPLIFIED,
            handler="brokers.transaction_coordinator.on_timeout",
            scenario="kip-98-stuck-lso",
            test="brokers/test_transaction_coordinator.py::test_a_transaction_that_runs_out_of_time_is_aborted_with_a_bump",
            note="the 10 s scan is one action",
        ),
        Row(
            "Idempotent producer: sequences",
            "A repeated batch is recognised, one that does not follow is refused.",
            MODELLED,
            handler="brokers.partition_log.check_client_batch",
            test="brokers/test_partition_log.py::test_the_last_five_batches_are_recognised_as_duplicates_and_older_ones_are_out_of_order",
        ),
        Row(
            "Read Committed: LSO and aborted transactions",
            "A consumer reads below the last stable offset and skips what was aborted.",
            MODELLED,
            handler="brokers.partition_leader.on_fetch",
            scenario="kip-98-stuck-lso",
            test="brokers/test_partition_leader.py::test_a_read_committed_consumer_reads_below_the_lso_and_skips_what_was_aborted",
        ),
        Row(
            "TxnOffsetCommitRequest",
            "Offsets are staged in the transaction and count when its marker comes.",
            MODELLED,
            handler="brokers.group_coordinator.on_txn_offset_commit",
            scenario="kip-1289-group-commit",
            test="brokers/test_group_coordinator.py::test_the_marker_commits_or_drops_what_was_pending",
        ),
        Row(
            "Producer API: states and errors",
            "Which call is legal when, and which errors end the transaction or the producer.",
            SIMPLIFIED,
            handler="clients.producer.on_response",
            scenario="kip-1289-group-abort",
            test="clients/test_producer.py::test_every_error_is_retried_aborts_the_transaction_or_ends_the_producer",
            note="time limits of the client are not there",
        ),
        Row(
            "transactional.id.expiration.ms",
            "A name that nobody uses is forgotten.",
            OPEN,
            note="a timer and a tombstone",
        ),
    ),
)
